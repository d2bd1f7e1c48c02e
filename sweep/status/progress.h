/* How far a sweep is: the states of its runs, added up, and drawn for people. Used by status and submit --wait. */
#ifndef SWEEP_PROGRESS_H
#define SWEEP_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"
#include "store/database/database.h"
#include "store/workspace/run.h"
#include "sweep/spec/spec.h"

enum { SWEEP_STATUSES = STORE_LOST + 1 };

typedef struct SweepRunState {
  char id[CORE_RUN_ID];
  StoreState state;
  bool is_absent; /* not done, and no longer in the sweep's file: nothing starts it */
} SweepRunState;

typedef struct SweepProgress {
  char name[SWEEP_NAME];
  SweepRunState *run;              /* [runs], by manifest index */
  size_t runs, absent, count[SWEEP_STATUSES]; /* count: without the dropped ones */
  double done;                     /* 0..1, mean over the runs that are not dropped: failed ones count nothing, those
                                    * stopped by rule are done, and 1 is reached only when all are finished or that */
  double steps_per_second;         /* of all that run now */
  double eta_s;                    /* until what runs, or will by itself, is done; NaN when unknown or nothing runs */
  bool queued;                     /* the executor has it, or would go on with it */
  int64_t executor;                /* process id, 0 when none lives */
} SweepProgress;

/* Reads the manifest and every run's state (a dead "running" is shown as lost). `database`, when not NULL, has just
 * been brought up to date: runs that it knows as finished are taken from there, which spares opening 10 000 files.
 * sweep_progress_free after it. */
int sweep_progress_read(const char *root, const char *name, StoreDatabase *database, SweepProgress *progress);
void sweep_progress_free(SweepProgress *progress);

/* Marks unfinished runs as dropped (flags[runs]) and adds up again. */
void sweep_progress_mark_absent(SweepProgress *progress, const bool *flags);

/* Adds up again, where somebody else knows better which runs are still to come by themselves (flags[runs]): those in
 * Slurm's queue. */
void sweep_progress_set_expected(SweepProgress *progress, const bool *expected);

/* Failed, diverged or lost; and why, in one line. */
bool sweep_progress_needs_attention(const SweepProgress *progress, size_t index);
const char *sweep_progress_reason(const SweepProgress *progress, size_t index);

/* Appends lines: the bar and the counts; unless `final`, one for each running run, twelve at most, and how many nobody
 * works on. What went wrong is failures.h's to say. */
void sweep_progress_draw(const SweepProgress *progress, bool final, CoreText *text);

/* Appends "..., 3 no longer in the file" where there are some. */
void sweep_progress_append_absent(const SweepProgress *progress, CoreText *text);

/* Its parts: "name [###---] 63 %  <counts>  steps/s  ETA", and a line for each of the first running runs. */
void sweep_progress_draw_bar(const SweepProgress *progress, const char *counts, CoreText *text);
void sweep_progress_draw_running(const SweepProgress *progress, CoreText *text);

#endif
