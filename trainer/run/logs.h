/* Files that a run writes while it trains, apart from checkpoints and its state: the run logs of this attempt, and
 * separate files for what is too long for their lines. First rank only. */
#ifndef TRAINER_LOGS_H
#define TRAINER_LOGS_H
#include "store/runlog/aggregate.h"
#include "store/workspace/paths.h"
#include "trainer/run/progress.h"

/* Checkpoint sections of runs with several iterations per row. */
#define RUN_LOGS_SECTION "merged iterations"
#define RUN_LOGS_INFO_SECTION "merged info"

typedef struct RunLogs {
  const char *root, *id;
  StoreRunlog *stats, *evaluations, *layers; /* NULL: not open; layers: unless metrics.layers */
  StoreRunlog *metrics;        /* numbers that the environment reports; NULL: not open, or it reports none */
  double flushed_s;            /* core_clock_s */
  bool failing;                /* whether the last flush failed */
  StoreAggregate aggregate;    /* unfinished row of `stats` */
  EnvInfoTable info;           /* sums over the iterations of that row */
  bool ignored_warned;         /* whether a warning of ignored numbers has been printed */
} RunLogs;

/* Determines the number of iterations per row: that of the run's earlier attempts, else by log.rows. With more than
 * one, registers the unfinished row with the checkpoint. Call before run_logs_open, which keeps the unfinished row. */
int run_logs_prepare(RunLogs *logs, const Training *training, const char *root, const char *id, int attempt,
                     Checkpoint *checkpoint);

int run_logs_open(RunLogs *logs, const Training *training, const char *root, const char *id, int attempt);
/* Closes the open logs, after an attempt that ended with `code`. Lost lines fail a run that succeeded; an earlier
 * failure's message and code stay. */
int run_logs_close(RunLogs *logs, int code);

/* Writes buffered lines; durable: to the disk. A full disk does not stop training: lines stay buffered and are retried,
 * with one warning. */
int run_logs_flush(RunLogs *logs, Progress *progress, bool durable);

/* Logs an iteration: its row, or its share of one, its layers, and its files. Flushes every few seconds. Training
 * continues without files that cannot be written. */
void run_logs_iteration(RunLogs *logs, Progress *progress, Training *training, const StoreIteration *row);
void run_logs_evaluation(RunLogs *logs, const StoreEvaluation *row, int attempts);
/* Logs the means of the numbers that an evaluation's attempts reported, as "eval/info/NAME". */
void run_logs_evaluation_info(RunLogs *logs, Progress *progress, const StoreEvaluation *row, const EnvInfoTable *info);

#endif
