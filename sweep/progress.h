/* How far a sweep is: the states of its runs, added up, and drawn for people. Used by status and submit --wait. */
#ifndef SWEEP_PROGRESS_H
#define SWEEP_PROGRESS_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"
#include "store/database.h"
#include "store/run.h"
#include "sweep/spec.h"

enum { SWEEP_STATUSES = STORE_LOST + 1 };

typedef struct SweepRunState { char id[CORE_RUN_ID]; StoreState state; } SweepRunState;

typedef struct SweepProgress {
  char name[SWEEP_NAME];
  SweepRunState *run;              /* [runs], by manifest index */
  size_t runs, count[SWEEP_STATUSES];
  double done;                     /* fraction of the known work, 0..1: finished and failed runs count whole */
  double steps_per_second;         /* of all that run now */
  double eta_s;                    /* NaN when unknown or nothing runs */
  bool queued;                     /* the executor has it, or would go on with it */
  int64_t executor;                /* process id, 0 when none lives */
} SweepProgress;

/* Reads the manifest and every run's state (a dead "running" is shown as lost). `database`, when not NULL, has just
 * been brought up to date: runs that it knows as finished are taken from there, which spares opening 10 000 files.
 * sweep_progress_free after it. */
int sweep_progress_read(const char *root, const char *name, StoreDatabase *database, SweepProgress *progress);
void sweep_progress_free(SweepProgress *progress);

/* Appends lines: the bar and the counts; unless `final`, one for each running run; one for each that failed, diverged
 * or was lost, with its reason. Twelve of a kind at most, then their number. */
void sweep_progress_draw(const SweepProgress *progress, bool final, CoreText *text);

/* Its parts: "name [###---] 63 %  <counts>  steps/s  ETA", and a line for each of the first running runs. */
void sweep_progress_draw_bar(const SweepProgress *progress, const char *counts, CoreText *text);
void sweep_progress_draw_running(const SweepProgress *progress, CoreText *text);

/* "3 finished, 2 running, 1 failed" without the zeros. */
void sweep_progress_counts(const SweepProgress *progress, CoreText *text);

#endif
