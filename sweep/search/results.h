/* Results of a search's trials: the values of its goals, measured from the runs that have ended. */
#ifndef SWEEP_SEARCH_RESULTS_H
#define SWEEP_SEARCH_RESULTS_H
#include <stdbool.h>

#include "sweep/spec/grid.h"

/* Values of a trial: of each goal, the mean over its runs (seeds, grid cells; the geometric mean for DDR and KL). */
typedef struct SweepTrialResult {
  double value[CORE_SEARCH_GOALS_MAX];
  bool has_value; /* false: a run has failed, diverged or lacks a value; the trial ranks below all others */
} SweepTrialResult;

/* Sets *has_ended to whether every run of the search has ended by itself. Stopped and lost runs resume with the next
 * submit. */
int sweep_results_check_ended(const char *root, const SweepGrid *grid, const SweepSearch *search, bool *has_ended);

/* Imports new rows of the sweep and fills results[search->trials]. CORE_USAGE: no run has a value of a goal; the
 * message names the line. CORE_FAIL: results.db cannot be written, or analyze fails; $SWEEP_ANALYZE overrides its
 * path. */
int sweep_results_read(const char *root, const SweepGrid *grid, const SweepSearch *search, SweepTrialResult *results);

#endif
