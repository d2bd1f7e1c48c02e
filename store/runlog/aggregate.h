/* Several consecutive iterations as one row of a long run's log (log.rows). */
#ifndef STORE_AGGREGATE_H
#define STORE_AGGREGATE_H
#include "store/runlog/runlog.h"

enum {
  STORE_AGGREGATE_COLUMNS = 256,
  STORE_AGGREGATE_MOST = 64, /* iterations of a row: who watches a run without an end sees it go on */
};

/* A row in the making. It is plain memory, and goes into checkpoints as it is: columns that come later find their places
 * zero there. Begins with `every` alone set. */
typedef struct StoreAggregate {
  int64_t every;                          /* iterations of a row; 1: each is one */
  int64_t count;                          /* of those taken in */
  double sum[STORE_AGGREGATE_COLUMNS];    /* by the column's rule; of the last or largest value that value */
  double weight[STORE_AGGREGATE_COLUMNS]; /* of what was summed; 0: nothing was measured */
} StoreAggregate;

/* Iterations of a row, a power of two up to 64, so that a run of so many has at most `rows` (0: any number). Rows then
 * begin and end with the bins of results.db. */
int64_t store_aggregate_every(int64_t iterations, int64_t rows);

/* Takes in the next iteration. True: the row is complete, since it has `every` or this is the last of the run. Then *row
 * holds it, at this iteration's number, and the next one begins. A row of one iteration is that iteration. */
bool store_aggregate_add(StoreAggregate *aggregate, const StoreIteration *next, bool is_last, StoreIteration *row);

#endif
