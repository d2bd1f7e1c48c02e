/* Iteration rows into results.db by the thousand. See bulk.c for how. */
#ifndef STORE_BULK_INTERNAL_H
#define STORE_BULK_INTERNAL_H
#include "store/database_internal.h"
#include "store/runlog.h"

enum { STORE_BULK_ROWS = 16384 };

typedef struct StoreBulk StoreBulk;

/* Attaches a staging database to the connection; destroy detaches it. */
int store_bulk_create(StoreDatabase *database, StoreBulk **bulk);
void store_bulk_destroy(StoreBulk **bulk);

/* Takes a row of run.key `run`, in any order; of equal (run, iteration) the one added last counts. At most
 * STORE_BULK_ROWS; the iteration fits 32 bits. */
void store_bulk_add(StoreBulk *bulk, int64_t run, const StoreIteration *row);
size_t store_bulk_count(const StoreBulk *bulk);

/* Makes the staging table of the rows added; outside a transaction. */
int store_bulk_stage(StoreBulk *bulk);
/* Staged rows into iteration_row, in place of rows that have their key already; inside a transaction. */
int store_bulk_insert(StoreBulk *bulk);
void store_bulk_clear(StoreBulk *bulk);

#endif
