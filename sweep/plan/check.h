/* Would the runs of a grid start? Everything that makes a trainer end at its start is found here, before anything is
 * queued: levels, encoders, parents, evaluation sets, memory. plan and submit ask, after grid.h and duplicates.h. */
#ifndef SWEEP_CHECK_H
#define SWEEP_CHECK_H
#include "sweep/spec/grid.h"
#include "sweep/spec/resources.h"

typedef struct SweepCheck {
  const char *root;
  const SweepResources *resources; /* whose memory counts; NULL: this machine's memory and GPUs */
  bool in_root;               /* the runs will work in the workspace (on a cluster), not in this folder */
  double seconds;             /* give up after so long; 0: look at all */
} SweepCheck;

/* What was looked at: configurations that differ in nothing that a start depends on are one. */
typedef struct SweepChecked {
  size_t distinct, checked;
  char problem[512];          /* why the trainer could not be asked; "" when it could */
} SweepChecked;

/* CORE_USAGE: some would not start: file and line of the setting, why, and how many runs; equal messages once. Memory
 * that nobody can judge from here is a warning. */
int sweep_check_grid(const SweepCheck *check, const SweepGrid *grid, SweepChecked *checked);

#endif
