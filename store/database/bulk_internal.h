/* Bulk inserts into the table `iteration`, with the sums over 64 iterations that follow from the rows (iteration_bin).
 * The only writer of both tables. */
#ifndef STORE_BULK_INTERNAL_H
#define STORE_BULK_INTERNAL_H
#include "store/database/database_internal.h"
#include "store/runlog/runlog.h"

enum { STORE_BULK_ROWS = 16384 };

typedef struct StoreBulk StoreBulk;

int store_bulk_create(StoreDatabase *database, StoreBulk **bulk);
void store_bulk_destroy(StoreBulk **bulk);

/* Adds a row of run `id`, at most STORE_BULK_ROWS in all. The order is free, but rows of equal run and iteration
 * replace earlier ones. It is fastest in the order of the table: by run id, then iteration. */
void store_bulk_add(StoreBulk *bulk, const char id[CORE_RUN_ID], const StoreIteration *row);
size_t store_bulk_count(const StoreBulk *bulk);

/* Inserts the added rows, replacing existing ones; call inside a transaction. They stay in the bulk until it is
 * cleared, so that a failed transaction can be repeated. */
int store_bulk_insert(StoreBulk *bulk);
void store_bulk_clear(StoreBulk *bulk);

/* Recomputes all of iteration_bin; call inside a transaction. */
int store_bins_rebuild(StoreDatabase *database);

#endif
