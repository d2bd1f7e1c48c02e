/* Reading results.db: rows of a prepared statement, values bound by position, never pasted into SQL. */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H
#include <stdbool.h>
#include <stdint.h>

#include "store/database/database.h"

typedef struct StoreQuery StoreQuery;

/* SQL: training seconds of a run at an iteration, by the row that the iteration went into; NULL: there is none. */
#define STORE_SECONDS_SQL(run, iteration)                                                                           \
  "(SELECT iif(iteration - coalesce(merged_iterations, 1) < " iteration ", wall_seconds, NULL) FROM iteration"      \
  " WHERE run_id = " run " AND iteration >= " iteration " ORDER BY iteration LIMIT 1)"

typedef enum StoreValue { STORE_VALUE_NULL, STORE_VALUE_INT, STORE_VALUE_REAL, STORE_VALUE_TEXT } StoreValue;

/* `sql` is a constant of ours (or the user's own text in `analyze sql`, then on a read-only connection): one statement.
 * CORE_USAGE: SQLite does not understand it. CORE_FAIL: the file is damaged, locked ... */
int store_query_open(StoreDatabase *database, const char *sql, StoreQuery **query);
/* The same for a text of the user's: only reading is allowed (no ATTACH, no VACUUM INTO, no PRAGMA that sets), whatever
 * the connection could do. CORE_USAGE names what was refused. Use a connection of its own: it stays so. */
int store_query_open_reading(StoreDatabase *database, const char *sql, StoreQuery **query);
/* index from 1; NULL and NaN bind NULL. */
void store_query_bind_text(StoreQuery *query, int index, const char *value);
void store_query_bind_int(StoreQuery *query, int index, int64_t value);
void store_query_bind_real(StoreQuery *query, int index, double value);
/* *row = false at the end. */
int store_query_step(StoreQuery *query, bool *row);
void store_query_reset(StoreQuery *query); /* to run again with other values */
int store_query_columns(const StoreQuery *query);
const char *store_query_name(const StoreQuery *query, int column);
StoreValue store_query_value(StoreQuery *query, int column); /* what the row has in this column */
const char *store_query_text(StoreQuery *query, int column); /* valid until the next step; NULL for NULL */
int64_t store_query_int(StoreQuery *query, int column);
double store_query_real(StoreQuery *query, int column);      /* NaN for NULL */
void store_query_close(StoreQuery **query);

#endif
