/* Runs of sweeps, one line each: the table of `sweep status --runs` and the CSV of `--csv`. */
#ifndef SWEEP_VIEW_RUNS_H
#define SWEEP_VIEW_RUNS_H
#include "sweep/status/view.h"

/* Selection of the runs to list: whether run `index` of `view` is one. */
typedef struct SweepRunFilter {
  bool (*is_listed)(const void *context, const SweepView *view, size_t index);
  const void *context;
} SweepRunFilter;

/* Prints the table of one sweep, with a column for each setting in which its runs differ. */
void sweep_view_print_runs(SweepView *view, StoreDatabase *database, const SweepRunFilter *filter);

/* Prints one CSV of all sweeps, with a column for each setting in which runs of one of them differ. database: source of
 * the best and the last evaluations; NULL: not available. */
void sweep_view_print_csv(SweepView *view, size_t count, StoreDatabase *database, const SweepRunFilter *filter);

#endif
