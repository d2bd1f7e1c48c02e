/* Several consecutive iterations as one row of a long run's log (log.rows). */
#ifndef STORE_AGGREGATE_H
#define STORE_AGGREGATE_H
#include "store/runlog/runlog.h"

enum {
  STORE_AGGREGATE_COLUMNS = 256,
  STORE_AGGREGATE_MAX = 64, /* maximum iterations per row, so that the progress of long runs stays visible */
};

/* Accumulator of a row. Plain memory, stored in checkpoints as it is; columns added later are zero there. Initialize
 * `every` and zero the rest. */
typedef struct StoreAggregate {
  int64_t every;                          /* iterations per row */
  int64_t count;                          /* iterations accumulated */
  double sum[STORE_AGGREGATE_COLUMNS];    /* sum by the column's rule, or its last or largest value */
  double weight[STORE_AGGREGATE_COLUMNS]; /* weight of the sum; 0: not measured */
} StoreAggregate;

/* Returns the iterations per row, a power of two up to 64, so that a run of `iterations` has at most `rows` rows (0:
 * unlimited). Rows are aligned to the bins of results.db. */
int64_t store_aggregate_every(int64_t iterations, int64_t rows);

/* Adds the next iteration. Returns true if the row is complete, with `every` iterations or at the end of the run: *row
 * then holds it, with this iteration's number, and the next row begins. A row of one iteration equals that
 * iteration. */
bool store_aggregate_add(StoreAggregate *aggregate, const StoreIteration *next, bool is_last, StoreIteration *row);

#endif
