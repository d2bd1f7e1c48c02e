/* Counts the runs of a submitted grid that are still to be done on this machine, and checks how they ended. */
#ifndef SWEEP_MISSING_H
#define SWEEP_MISSING_H
#include <stdbool.h>
#include <stddef.h>

#include "sweep/cluster/launch.h"
#include "sweep/spec/grid.h"

/* Counts the grid's runs by the condition that keeps them from starting (NOT_SUBMITTED: due). force: finished and
 * diverged runs are due; resume_stopped: runs that the [stop] rule has stopped are due. */
int sweep_missing_count(const char *root, const SweepGrid *grid, bool force, bool resume_stopped,
                        size_t runs[SWEEP_CONDITIONS]);

/* Checks that all runs of the grid have finished or were stopped by rule. CORE_FAIL: some failed; CORE_REQUEUE: some
 * remain. Earlier runs of the sweep that are no longer in its file are ignored. */
int sweep_missing_check(const char *root, const SweepGrid *grid);
/* Checks the sweep's current grid in the same way, which may have grown by waves of a search. CORE_REQUEUE also if the
 * search has trials left. */
int sweep_missing_check_all(const char *root, const SweepGrid *grid);

#endif
