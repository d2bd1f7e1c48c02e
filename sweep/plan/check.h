/* Checks that the runs of a grid would start. Finds whatever makes a trainer fail at its start before anything is
 * queued: levels, encoders, parents, evaluation sets, memory. For plan and submit, after grid.h and duplicates.h. */
#ifndef SWEEP_CHECK_H
#define SWEEP_CHECK_H
#include "sweep/spec/grid.h"
#include "sweep/spec/resources.h"

typedef struct SweepCheckOptions {
  const char *root;
  const SweepResources *resources; /* requested memory and GPUs; NULL: those of this machine */
  bool in_root;                    /* working directory of runs: the workspace (on a cluster), else the current one */
  double seconds;                  /* time limit of the check; 0: none */
} SweepCheckOptions;

/* Number of configurations. Those that differ only in settings that cannot affect a start count as one. */
typedef struct SweepCheckSummary {
  size_t distinct, checked;
  char problem[512]; /* why the trainer could not check them; "": none */
} SweepCheckSummary;

/* Checks all runs. CORE_USAGE: some would not start; the message has file and line of the setting, the reason and the
 * number of runs, once per reason. Memory limits that are unknown here are warnings. */
int sweep_check_grid(const SweepCheckOptions *check, const SweepGrid *grid, SweepCheckSummary *checked);

#endif
