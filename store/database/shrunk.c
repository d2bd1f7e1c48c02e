/* Decides whether a run log whose bytes have changed was truncated or replaced, by comparing its rows with those that
 * were imported. A truncated log (a disk fault, an incomplete copy) must not remove rows that the database still has;
 * a replaced one is imported again. */
#include <math.h>
#include <string.h>

#include "store/database/ingest_internal.h"
#include "store/runlog/runlog_internal.h"

enum { ROW_DIFFERS = -1, STOP_READING = -2 }; /* results of row callbacks that are not errors */

#define COMMA_NAME(name, unit, comment) ", " #name
/* A key column comes first, so that each further column has a comma before it. */
static const char find_sql[] =
  "SELECT iteration" STORE_ITERATION_COLUMNS(COMMA_NAME) " FROM iteration WHERE run_id = ?1 AND iteration = ?2";

typedef struct Comparison {
  sqlite3_stmt *find;
  const char *id;
  int64_t end;  /* first iteration written by a later attempt */
} Comparison;

static int compare_row(void *context, const StoreIteration *row, const StoreEvaluation *evaluation,
                       const StoreLayer *layer, const StoreMetric *metric) {
  const Comparison *comparison = context;
  (void)evaluation, (void)layer, (void)metric;
  if (!row || row->iteration >= comparison->end) return CORE_OK;

  sqlite3_bind_text(comparison->find, 1, comparison->id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(comparison->find, 2, row->iteration);
  bool same = true;
  if (sqlite3_step(comparison->find) == SQLITE_ROW) { /* a row that the database lacks is new */
    const double *values = store_iteration_values(row);
    for (int i = 0; i < STORE_ITERATION_COUNT && same; i++) {
      const bool absent = sqlite3_column_type(comparison->find, i + 1) == SQLITE_NULL;
      same = absent ? isnan(values[i]) : sqlite3_column_double(comparison->find, i + 1) == values[i];
    }
  }

  sqlite3_reset(comparison->find);
  return same ? CORE_OK : ROW_DIFFERS;
}

static int record_first(void *context, const StoreIteration *row, const StoreEvaluation *evaluation,
                        const StoreLayer *layer, const StoreMetric *metric) {
  int64_t *end = context;
  (void)evaluation, (void)layer, (void)metric;
  if (row && row->iteration < *end) *end = row->iteration;
  return STOP_READING;
}

int store_log_matches_rows(StoreDatabase *database, const char *id, const char *path, const char *const *later,
                           size_t later_count, bool *matches) {
  Comparison comparison = {.id = id, .end = INT64_MAX};
  StoreLogDamage damage;
  int64_t end;
  for (size_t i = 0; i < later_count; i++)
    if (store_runlog_read(later[i], 0, record_first, &comparison.end, &end, &damage) == CORE_FAIL) core_error_clear();
  TRY(store_database_prepare(database, find_sql, &comparison.find));
  const int code = store_runlog_read(path, 0, compare_row, &comparison, &end, &damage);
  *matches = code == CORE_OK;
  if (code == CORE_FAIL) core_error_clear();
  sqlite3_finalize(comparison.find);
  return CORE_OK;
}
