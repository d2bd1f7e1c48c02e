/* Iteration rows into results.db by the thousand, and the sums of 64 iterations that follow from them (iteration_bin).
 * The only writer of both tables. */
#ifndef STORE_BULK_INTERNAL_H
#define STORE_BULK_INTERNAL_H
#include "store/database/database_internal.h"
#include "store/runlog/runlog.h"

enum { STORE_BULK_ROWS = 16384 };

typedef struct StoreBulk StoreBulk;

int store_bulk_create(StoreDatabase *database, StoreBulk **bulk);
void store_bulk_destroy(StoreBulk **bulk);

/* Takes a row of the run `id`, in any order; of equal (run, iteration) the one added last counts. At most
 * STORE_BULK_ROWS. Rows of one run are best added together, and runs in the order of their ids, in which they lie. */
void store_bulk_add(StoreBulk *bulk, const char id[CORE_RUN_ID], const StoreIteration *row);
size_t store_bulk_count(const StoreBulk *bulk);

/* Puts the rows added into the tables, in place of those that are there already; inside a transaction. They stay in
 * the bulk until it is cleared, so that a transaction that failed can be repeated. */
int store_bulk_insert(StoreBulk *bulk);
void store_bulk_clear(StoreBulk *bulk);

/* Makes all of iteration_bin anew; inside a transaction. */
int store_bins_rebuild(StoreDatabase *database);

#endif
