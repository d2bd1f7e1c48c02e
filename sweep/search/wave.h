/* Waves of an adaptive search. The first wave follows from the file (startup random trials). When every run of the
 * present trials has ended, the next wave is proposed from their results and recorded (sweep/spec/search.h) before any
 * of its runs start, so that any later submission finds the same trials. `sweep submit` proposes waves; on the local
 * machine the executor does when it has no runs left. */
#ifndef SWEEP_WAVE_H
#define SWEEP_WAVE_H
#include <stdbool.h>
#include <stddef.h>

#include "sweep/spec/spec.h"

/* Sets *has_ended to whether a wave can be proposed: a search of the spec has trials left, and all runs of the trials
 * before have ended. The spec is that of the submitted sweep (sweep_common_frozen). */
int sweep_wave_has_ended(const char *root, const SweepSpec *spec, bool *has_ended);

/* Proposes the next wave of each search whose wave has ended; a wave that only repeats existing runs counts as ended at
 * once. *proposed: number of trials; 0: runs are unfinished, or nothing is left to propose. A trial's values are those
 * of results.h. Draws of TPE that are invalid in a cell of the grid (sweep_grid_check_trial) are replaced by others; a
 * program is asked again for what is invalid or repeats a trial.
 * CORE_USAGE: no run has a value of the goal, no draw is valid, or the user does not trust a sweep whose program is
 * due; the message names the line, and nothing is written.
 * CORE_FAIL: results.db cannot be written, analyze fails, or a program does (ask.h). */
int sweep_wave_propose(const char *root, SweepSpec *spec, size_t *proposed);

/* Returns why the last attempt to propose trials of a search failed, as sweeps/<name>/search.<search>.problem records
 * it, in one line without characters that a terminal executes; "": it has not failed. Caller frees. */
char *sweep_wave_problem(const char *root, const char *sweep, const char *search);

#endif
