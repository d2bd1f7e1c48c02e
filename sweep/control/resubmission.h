/* Runs of a submitted sweep that `sweep submit` is to submit again: named ones, failed ones (--failed) and those that
 * the [stop] rule has stopped (--by-rule), with more memory or time (--mem, --time). */
#ifndef SWEEP_RESUBMISSION_H
#define SWEEP_RESUBMISSION_H
#include "core/command/options.h"
#include "sweep/control/selection.h"
#include "sweep/spec/resources.h"

enum { SWEEP_RUN_CONDITION = CORE_RUN_ID + 4 };

typedef struct SweepResubmission {
  bool failed, by_rule;      /* options */
  const char *mem, *time;    /* options; NULL: as before */
  const char **runs;         /* [run_count] operands after the sweep */
  size_t run_count;
  SweepSelection selection;  /* the chosen runs */
  char (*conditions)[SWEEP_RUN_CONDITION]; /* "run=<id>" of each */
} SweepResubmission;

/* Whether only some runs are to be submitted. */
bool sweep_resubmission_is_requested(const SweepResubmission *again);

/* Checks the options. CORE_USAGE: --mem or --time without a choice of runs. */
int sweep_resubmission_check(const SweepResubmission *again);

/* Chooses the runs: by name; with --failed those that sweep status --failed lists, except cancelled and diverged ones;
 * with --by-rule stopped ones; and orphaned children of chosen runs. Adds conditions for them to `where`, which borrows
 * them. *count: their number. CORE_USAGE: the sweep was not submitted, or a named run is not in its file any more;
 * CORE_FAIL: Slurm does not answer. Caller calls sweep_resubmission_free, also after an error. */
int sweep_resubmission_choose(const char *root, const char *name, SweepResubmission *again, CoreOptionList *where,
                              size_t *count);
void sweep_resubmission_free(SweepResubmission *again);

/* Exempts the chosen runs from the [stop] rule that has stopped them. */
int sweep_resubmission_lift_stops(const SweepResubmission *again);

/* Changes the resource sets of `part`, the grid of the chosen runs: the memory limit of their last submission, or what
 * --mem and --time request. Stores limits that a run has exceeded, so that another attempt does not hide them.
 * CORE_USAGE: invalid, or a run has already exceeded that limit. */
int sweep_resubmission_set_resources(const SweepResubmission *again, const SweepGrid *part,
                                     SweepResources *resources);

#endif
