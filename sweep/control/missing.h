/* What of a submitted grid is still to do on this machine, and how it ended. */
#ifndef SWEEP_MISSING_H
#define SWEEP_MISSING_H
#include <stdbool.h>
#include <stddef.h>

#include "sweep/spec/grid.h"

typedef struct SweepMissing { size_t todo, finished, diverged, running, stopped; /* by rule */ } SweepMissing;

/* What the executor will find to do. */
int sweep_missing_count(const char *root, const SweepGrid *grid, bool force, SweepMissing *missing);

/* How the submitted runs ended; earlier runs of the sweep that this file no longer names do not count. CORE_FAIL: some
 * failed; CORE_REQUEUE: some are left. */
int sweep_missing_check(const char *root, const SweepGrid *grid);
/* The same of the sweep as it stands, which may have had waves of a search since; CORE_REQUEUE also where it has trials
 * left. */
int sweep_missing_check_all(const char *root, const SweepGrid *grid);

#endif
