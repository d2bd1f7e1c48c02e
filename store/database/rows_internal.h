/* The virtual table `iteration_row` (rows.c). */
#ifndef STORE_ROWS_INTERNAL_H
#define STORE_ROWS_INTERNAL_H
#include "store/database/sqlite_internal.h"

/* Makes it known to a connection; SQLite's code. A file before schema 6 has a table of that name, which comes first. */
int store_rows_create_module(sqlite3 *handle);

#endif
