/* Runs of a sweep from results.db as input of the rules: measured values, progress and status. */
#ifndef SWEEP_STOP_RUNS_H
#define SWEEP_STOP_RUNS_H
#include "store/database/database.h"
#include "store/workspace/run.h"
#include "sweep/spec/grid.h"
#include "sweep/stop/rules.h"

typedef struct SweepStopRuns {
  SweepStopRun *items; /* [count] in the order of the grid */
  StoreStatus *status; /* [count] as of the last import */
  size_t count;
  bool is_measured;   /* whether a run has a value */
  SweepPoint *points; /* points of all runs; items point into it */
} SweepStopRuns;

/* Reads the runs of the grid and their states in the log. Caller frees. */
int sweep_stop_runs_read(StoreDatabase *database, const SweepGrid *grid, const SweepStopLog *log, SweepStopRuns *runs);
void sweep_stop_runs_free(SweepStopRuns *runs);

#endif
