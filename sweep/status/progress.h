/* Progress of a sweep: the states of its runs, added up, and drawn as text. For status and submit --wait. */
#ifndef SWEEP_PROGRESS_H
#define SWEEP_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"
#include "store/database/database.h"
#include "store/workspace/run.h"
#include "sweep/spec/spec.h"

/* The fields of StoreState that status shows, without its 2 KB of buffers: sweeps have 100 000 runs. */
typedef struct SweepState {
  StoreStatus status;
  int attempt;
  int64_t pid;
  double started_unix_s, heartbeat_unix_s, finished_unix_s;
  int64_t iteration, iterations, transitions, transitions_total;
  double steps_per_second, solve_rate, episode_return, train_seconds;
  const char *host, *device, *commit, *parent, *message; /* in SweepRunState.texts, never NULL */
} SweepState;

typedef struct SweepRunState {
  char id[CORE_RUN_ID];
  bool is_absent; /* not done, and no longer in the sweep's file: nothing starts it */
  bool is_held;   /* waits, and is kept from starting on this machine (sweep hold) */
  SweepState state;
  char *texts;    /* block with the texts of the state; that of the run before if all are equal */
} SweepRunState;

typedef struct SweepProgress {
  char name[SWEEP_NAME];
  SweepRunState *run;              /* [runs], by manifest index */
  size_t runs, absent;             /* all runs, and those that are absent */
  size_t count[STORE_STATUSES];    /* runs per status, without absent ones */
  double done;                     /* 0..1, mean over runs that are not absent: failed runs count as 0, runs stopped
                                    * by rule as 1; below 1 until all are finished or stopped by rule */
  double steps_per_second;         /* sum over running runs */
  double eta_s;                    /* time until running and expected runs are done; NaN: unknown or nothing runs */
  size_t held;                     /* runs that are held */
  bool queued;                     /* the executor has the sweep in its queue, or would resume it */
  int64_t executor;                /* process id; 0: none runs */
} SweepProgress;

/* Reads the manifest and every run's state (running without a process: lost). database (optional) must be up to date:
 * finished runs are read from it, which saves opening 10 000 files. Caller frees. */
int sweep_progress_read(const char *root, const char *name, StoreDatabase *database, SweepProgress *progress);
void sweep_progress_free(SweepProgress *progress);

/* Marks the unfinished runs of flags[runs] as absent from the sweep's file and updates the sums. */
void sweep_progress_mark_absent(SweepProgress *progress, const bool *flags);

/* Updates the sums; expected[runs]: runs that will start without the user, such as those in Slurm's queue. */
void sweep_progress_set_expected(SweepProgress *progress, const bool *expected);

/* Whether a run runs on this machine, or will without the user. */
bool sweep_progress_is_active(const SweepProgress *progress);
/* Whether the run has failed, diverged or is lost. */
bool sweep_progress_needs_attention(const SweepProgress *progress, size_t index);
/* Returns why, in one line; "": no reason. */
const char *sweep_progress_reason(const SweepProgress *progress, size_t index);

/* Appends lines: the bar and the counts; unless `final`, one per running run (at most twelve), and the number of runs
 * without an executor. failures.h draws what went wrong. */
void sweep_progress_draw(const SweepProgress *progress, bool final, CoreText *text);

/* Appends ", 3 no longer in the file" if there are any. */
void sweep_progress_append_absent(const SweepProgress *progress, CoreText *text);

/* Append parts of it: "name [###---] 63 %  <counts>  steps/s  ETA", and a line for each of the first running runs. */
void sweep_progress_draw_bar(const SweepProgress *progress, const char *counts, CoreText *text);
void sweep_progress_draw_running(const SweepProgress *progress, CoreText *text);

#endif
