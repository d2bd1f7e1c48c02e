/* Steps of `sweep submit` (submit.c): seeds to add (seeds.c), rows of results.db (register.c), --wait (wait.c). */
#ifndef SWEEP_CONTROL_SUBMIT_INTERNAL_H
#define SWEEP_CONTROL_SUBMIT_INTERNAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sweep/cluster/launch.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

/* Parses a number of seeds ("10": 0 to 9) or a list ("0..9, 20") and sets common->extra_seeds to those that the sweep
 * does not have yet. None may be left only if an earlier extension by these seeds was interrupted, which is then
 * completed. CORE_USAGE: invalid, none is left, or --set sets seeds, too. Caller frees *seeds, also after an error. */
int sweep_seeds_add(SweepCommon *common, const char *operand, const char *text, int64_t **seeds);

/* Writes every run of the file to results.db, so that even a run that never started is known there, and the sweep's
 * text: the file's, or with a search the resolved one (sweep.ini), which `analyze search` reads. Waits for a rebuild in
 * progress, unless everything is registered already. */
int sweep_register_runs(const char *root, const SweepSpec *spec, const SweepGrid *grid, const SweepManifest *manifest);

/* Waits on this machine until the executor has removed the grid's sweep from its queue, or holds all that is left of
 * it. Result as sweep_missing_check_all; also CORE_FAIL if the executor is gone. */
int sweep_wait_here(const char *root, const SweepGrid *grid, FILE *out);

/* Waits on a cluster until the sweep's runs have left the queue. Result as sweep_missing_check. */
int sweep_wait_on_slurm(const char *root, const SweepGrid *grid, FILE *out);

/* ---- wait.c: unfinished runs ------------------------------------------------------------------------------------- */

/* Counts the runs of a submitted grid that are still to be done on this machine, and checks how they ended. */

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
