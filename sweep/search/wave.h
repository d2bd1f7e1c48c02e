/* The waves of a tpe search. Its first wave follows from the file (startup random trials). When every run of the trials
 * so far has ended, the next is proposed from what they came to, and journalled (sweep/spec/search.h) before anything
 * of it starts: whoever submits next finds the same trials, whatever was killed in between. `sweep submit` proposes;
 * on this machine the executor calls it when it has nothing left to do. */
#ifndef SWEEP_WAVE_H
#define SWEEP_WAVE_H
#include <stdbool.h>
#include <stddef.h>

#include "sweep/spec/spec.h"

/* Is a wave to be proposed: has a search of the spec trials left, and have all runs of those before ended? The spec is
 * the sweep as it stands (sweep_common_frozen). */
int sweep_wave_has_ended(const char *root, const SweepSpec *spec, bool *ended);

/* Proposes the next wave of each search of the spec whose wave has ended; waves that repeat earlier runs only count as
 * ended at once. *proposed: trials, 0 when there is still something to run, or nothing to propose. A trial is as good
 * as the mean over its runs (seeds, grid cells; the geometric one of DDR and KL); one with a run that failed or
 * diverged counts as worse than all others. Only what every cell of the grid takes is proposed
 * (sweep_grid_check_trial); in the place of other draws there are more. CORE_USAGE: no run has measured the goal, or
 * no draw can be run; names the line, and writes nothing. CORE_FAIL: sweep_judge. */
int sweep_wave_propose(const char *root, SweepSpec *spec, size_t *proposed);

#endif
