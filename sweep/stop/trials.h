/* The runs of a sweep as results.db has them, for the rules: what each has measured, how far it is, how it ended. */
#ifndef SWEEP_TRIALS_H
#define SWEEP_TRIALS_H
#include "store/database/database.h"
#include "store/workspace/run.h"
#include "sweep/spec/grid.h"
#include "sweep/stop/rules.h"

typedef struct SweepTrials {
  SweepTrial *items;       /* [count], by the grid's order */
  StoreStatus *status;     /* [count] as imported last */
  size_t count;
  bool is_measured;        /* one of them has a value */
  SweepPoint *points;      /* of all; items point into it */
} SweepTrials;

/* Reads the runs of the grid. With a log, what it says of them. Caller frees. */
int sweep_trials_read(StoreDatabase *database, const SweepGrid *grid, const SweepStopLog *log, SweepTrials *trials);
void sweep_trials_free(SweepTrials *trials);

#endif
