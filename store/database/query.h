/* Queries of results.db: prepared statements whose values are bound by position, never pasted into SQL. */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H
#include <stdbool.h>
#include <stdint.h>

#include "store/database/database.h"

typedef struct StoreQuery StoreQuery;

/* SQL expression: training seconds of a run at an iteration, from the row that the iteration was merged into; NULL
 * without one. */
#define STORE_SECONDS_SQL(run, iteration)                                                                           \
  "(SELECT iif(iteration - coalesce(merged_iterations, 1) < " iteration ", wall_seconds, NULL) FROM iteration"      \
  " WHERE run_id = " run " AND iteration >= " iteration " ORDER BY iteration LIMIT 1)"

/* SQL expressions: the transitions that the KL of a row of `iteration` covers, per merged iteration, as in
 * iteration_bin; NULL without a KL. An unmerged row tells them by its ddr, which logs hold to nine digits; whole
 * numbers are restored. Merged rows are the trainer's, whose iterations are equally long. */
#define STORE_KL_PRODUCT_SQL "(ddr * max(kl, 1e-12))"
#define STORE_KL_TRANSITIONS_SQL                                                                                    \
  "iif(kl IS NULL, NULL, iif(merged_iterations IS NULL AND " STORE_KL_PRODUCT_SQL " < 1e18, iif(abs("                \
  STORE_KL_PRODUCT_SQL " - round(" STORE_KL_PRODUCT_SQL ")) <= 1e-7 * " STORE_KL_PRODUCT_SQL ", round("              \
  STORE_KL_PRODUCT_SQL "), " STORE_KL_PRODUCT_SQL "), transitions / iteration))"

typedef enum StoreValue { STORE_VALUE_NULL, STORE_VALUE_INT, STORE_VALUE_REAL, STORE_VALUE_TEXT } StoreValue;

/* Prepares one constant statement. CORE_USAGE: SQLite cannot parse it. CORE_FAIL: the file is damaged, locked ... */
int store_query_open(StoreDatabase *database, const char *sql, StoreQuery **query);
/* Prepares one statement given by the user, which may only read (no ATTACH, VACUUM INTO or PRAGMA that sets), whatever
 * the connection permits. CORE_USAGE: it does more. Use a separate connection: the restriction stays. */
int store_query_open_reading(StoreDatabase *database, const char *sql, StoreQuery **query);
/* Bind a value; index from 1. NULL and NaN bind NULL. */
void store_query_bind_text(StoreQuery *query, int index, const char *value);
void store_query_bind_int(StoreQuery *query, int index, int64_t value);
void store_query_bind_real(StoreQuery *query, int index, double value);
/* Fetches the next row; *row = false at the end. */
int store_query_step(StoreQuery *query, bool *row);
/* Rewinds, to run again with other values. */
void store_query_reset(StoreQuery *query);
int store_query_columns(const StoreQuery *query);
const char *store_query_name(const StoreQuery *query, int column);
StoreValue store_query_value(StoreQuery *query, int column); /* type of the value in this column */
const char *store_query_text(StoreQuery *query, int column); /* valid until the next step; NULL for NULL */
int64_t store_query_int(StoreQuery *query, int column);
double store_query_real(StoreQuery *query, int column);      /* NaN for NULL */
void store_query_close(StoreQuery **query);

/* Begins to read one state of the database: many small statements up to store_query_end_reading lock the file once. Not
 * longer than a few seconds, since some file systems allow no import meanwhile. Returns false inside a transaction. */
bool store_query_begin_reading(StoreDatabase *database);
/* Ends it. begun: result of store_query_begin_reading. */
void store_query_end_reading(StoreDatabase *database, bool begun);

#endif
