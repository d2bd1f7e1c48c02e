/* Does a run log whose bytes are not those that were imported hold what was imported all the same? One that lost its
 * end (a disk, a copy that broke off) must not take rows with it that the database still has; one that was really
 * replaced is imported anew. Its rows tell. */
#include <math.h>
#include <string.h>

#include "store/database/ingest_internal.h"
#include "store/runlog/runlog_internal.h"

enum { OTHER_CONTENT = -1, SEEN_ENOUGH = -2 }; /* from row callbacks: no errors */

#define COMMA_NAME(name, unit, comment) ", " #name
/* One key before the columns, so that each has a comma before it. */
static const char find_sql[] =
  "SELECT iteration" STORE_ITERATION_COLUMNS(COMMA_NAME) " FROM iteration WHERE run_id = ?1 AND iteration = ?2";

typedef struct Comparison {
  sqlite3_stmt *find;
  const char *id;
  int64_t end;  /* iterations from here on were written by a later attempt */
} Comparison;

static int compare_row(void *context, const StoreIteration *row, const StoreEvaluation *evaluation,
                       const StoreLayer *layer, const StoreMetric *metric) {
  const Comparison *comparison = context;
  (void)evaluation, (void)layer, (void)metric;
  if (!row || row->iteration >= comparison->end) return CORE_OK;
  sqlite3_bind_text(comparison->find, 1, comparison->id, -1, SQLITE_STATIC);
  sqlite3_bind_int64(comparison->find, 2, row->iteration);
  bool same = true;
  if (sqlite3_step(comparison->find) == SQLITE_ROW) { /* one that the database lacks is new */
    const double *values = store_iteration_values(row);
    for (int i = 0; i < STORE_ITERATION_COUNT && same; i++) {
      const bool absent = sqlite3_column_type(comparison->find, i + 1) == SQLITE_NULL;
      same = absent ? isnan(values[i]) : sqlite3_column_double(comparison->find, i + 1) == values[i];
    }
  }
  sqlite3_reset(comparison->find);
  return same ? CORE_OK : OTHER_CONTENT;
}

static int take_first(void *context, const StoreIteration *row, const StoreEvaluation *evaluation,
                      const StoreLayer *layer, const StoreMetric *metric) {
  int64_t *end = context;
  (void)evaluation, (void)layer, (void)metric;
  if (row && row->iteration < *end) *end = row->iteration;
  return SEEN_ENOUGH;
}

int store_log_holds(StoreDatabase *database, const char *id, const char *path, const char *const *later,
                    size_t later_count, bool *holds) {
  Comparison comparison = {.id = id, .end = INT64_MAX};
  StoreLogDamage damage;
  int64_t end;
  for (size_t i = 0; i < later_count; i++)
    if (store_runlog_read(later[i], 0, take_first, &comparison.end, &end, &damage) == CORE_FAIL) core_error_clear();
  TRY(store_database_prepare(database, find_sql, &comparison.find));
  const int code = store_runlog_read(path, 0, compare_row, &comparison, &end, &damage);
  *holds = code == CORE_OK;
  if (code == CORE_FAIL) core_error_clear();
  sqlite3_finalize(comparison.find);
  return CORE_OK;
}
