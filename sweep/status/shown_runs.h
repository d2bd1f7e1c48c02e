/* The runs of sweeps, a line each: the table of `sweep status --runs`, and the CSV of `--csv`. */
#ifndef SWEEP_SHOWN_RUNS_H
#define SWEEP_SHOWN_RUNS_H
#include "sweep/status/shown.h"

/* Selection of the runs that are listed: run `index` of `shown`. */
typedef struct SweepRunFilter {
  bool (*is_listed)(const void *context, const SweepShown *shown, size_t index);
  const void *context;
} SweepRunFilter;

/* Prints the table of one sweep, with a column for each setting in which its runs differ. */
void sweep_shown_print_runs(SweepShown *shown, StoreDatabase *database, const SweepRunFilter *filter);

/* Prints one CSV of all of them, with a column for each setting in which runs of one of the sweeps differ. The
 * database has the best and the last evaluations; NULL: it is not available. */
void sweep_shown_print_csv(SweepShown *shown, size_t count, StoreDatabase *database, const SweepRunFilter *filter);

#endif
