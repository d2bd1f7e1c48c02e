/* Waiting of `sweep submit --wait`: shows progress until the submitted runs have ended. */
#ifndef SWEEP_WAIT_H
#define SWEEP_WAIT_H
#include <stdio.h>

#include "sweep/spec/grid.h"

/* Waits on this machine until the executor has removed the grid's sweep from its queue, or holds all that is left of
 * it. Result as sweep_missing_check_all; also CORE_FAIL if the executor is gone. */
int sweep_wait_here(const char *root, const SweepGrid *grid, FILE *out);

/* Waits on a cluster until the sweep's runs have left the queue. Result as sweep_missing_check. */
int sweep_wait_on_slurm(const char *root, const SweepGrid *grid, FILE *out);

#endif
