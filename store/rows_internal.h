/* The virtual table `iteration_row` (rows.c). */
#ifndef STORE_ROWS_INTERNAL_H
#define STORE_ROWS_INTERNAL_H
#include "store/database_internal.h"

/* Makes it known to a connection. A file before schema 6 has a table of that name, which comes first. */
int store_rows_register(StoreDatabase *database);
/* A temporary view `iteration` over it, which comes before the file's own of that name; for
 * files with iteration_chunk. */
int store_rows_make_view(StoreDatabase *database);

#endif
