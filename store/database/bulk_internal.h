/* Iteration rows into results.db by the thousand. */
#ifndef STORE_BULK_INTERNAL_H
#define STORE_BULK_INTERNAL_H
#include "store/database/database_internal.h"
#include "store/runlog/runlog.h"

enum { STORE_BULK_ROWS = 16384 };

typedef struct StoreBulk StoreBulk;

int store_bulk_create(StoreDatabase *database, StoreBulk **bulk);
void store_bulk_destroy(StoreBulk **bulk);

/* Takes a row of run.key `run`, in any order; of equal (run, iteration) the one added last counts. At most
 * STORE_BULK_ROWS; the iteration fits 32 bits. */
void store_bulk_add(StoreBulk *bulk, int64_t run, const StoreIteration *row);
size_t store_bulk_count(const StoreBulk *bulk);

/* The rows added go into their chunks, in place of rows that are there already; inside a transaction. They stay in the
 * bulk until it is cleared, so that a transaction that failed can be repeated. */
int store_bulk_insert(StoreBulk *bulk);
void store_bulk_clear(StoreBulk *bulk);

#endif
