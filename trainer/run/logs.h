/* What a run writes while it trains, apart from checkpoints and its state: the run logs of this attempt, and a file
 * each for what is too long for their lines. First rank only. */
#ifndef TRAINER_LOGS_H
#define TRAINER_LOGS_H
#include "store/workspace/paths.h"
#include "trainer/run/progress.h"

typedef struct RunLogs {
  const char *root, *id;
  StoreRunlog *stats, *evaluations, *layers; /* NULL: not open; layers: unless metrics.layers */
  double flushed_s;            /* core_clock_s */
  bool failing;                /* the last flush did */
} RunLogs;

int run_logs_open(RunLogs *logs, const CoreConfig *config, const char *root, const char *id, int attempt);
/* Closes those that are open, after an attempt that came to `code`. Lost lines fail a run that went well; where
 * something failed before, that message and code stay. */
int run_logs_close(RunLogs *logs, int code);

/* Hands on what waits in memory; durable: to the disk. A full disk does not stop training: lines wait and are tried
 * again, and a person is told once. */
int run_logs_flush(RunLogs *logs, Progress *progress, bool durable);

/* An iteration: its line, its layers, and its files. Flushes every few seconds. Training goes on without files that can
 * not be written. */
void run_logs_iteration(RunLogs *logs, Progress *progress, Training *training, const StoreIteration *row);
void run_logs_evaluation(RunLogs *logs, const StoreEvaluation *row, int attempts);

#endif
