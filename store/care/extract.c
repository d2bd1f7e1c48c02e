/* Extracts sweeps by copying the whole database, deleting the rows of other sweeps, and vacuuming. */
#include "store/care/maintain.h"

#include <unistd.h>

#include "store/database/database_internal.h"

static int select_sweep(StoreDatabase *target, sqlite3_stmt *statement, const char *name) {
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  TRY(store_database_run(target, statement));
  if (sqlite3_changes(target->handle) == 0)
    return core_error(CORE_USAGE, "results.db does not contain sweep %.100s; import it with: sweep collect", name);
  return CORE_OK;
}

/* Fills the temporary tables selected_sweep and other_run. */
static int select_sweeps(StoreDatabase *target, const char *const *sweeps, size_t count) {
  sqlite3_stmt *statement = NULL;
  TRY(store_database_execute(target, "CREATE TEMP TABLE selected_sweep(name TEXT PRIMARY KEY)"));
  TRY(store_database_prepare(
    target, "INSERT OR IGNORE INTO selected_sweep SELECT name FROM sweep WHERE name = ?1", &statement));
  int code = CORE_OK;
  for (size_t i = 0; i < count; i++) {
    code = select_sweep(target, statement, sweeps[i]);
    if (code != CORE_OK) break;
  }
  sqlite3_finalize(statement);
  if (code != CORE_OK) return code;
  return store_database_execute(
    target, "CREATE TEMP TABLE other_run AS SELECT id, key FROM run WHERE id NOT IN"
            " (SELECT run_id FROM sweep_run WHERE sweep IN (SELECT name FROM selected_sweep))");
}

static int delete_others(StoreDatabase *target) {
  return store_database_execute(
    target,
    "DELETE FROM iteration WHERE run_id IN (SELECT id FROM other_run);"
    "DELETE FROM iteration_bin WHERE run_id IN (SELECT id FROM other_run);"
    "DELETE FROM run_import WHERE run IN (SELECT key FROM other_run);"
    "DELETE FROM evaluation WHERE run_id IN (SELECT id FROM other_run);"
    "DELETE FROM layer WHERE run_id IN (SELECT id FROM other_run);"
    "DELETE FROM metric WHERE run_id IN (SELECT id FROM other_run);"
    "DELETE FROM attempt WHERE run_id IN (SELECT id FROM other_run);"
    "DELETE FROM run_log WHERE run_id IN (SELECT id FROM other_run);"
    "DELETE FROM sweep_run WHERE sweep NOT IN (SELECT name FROM selected_sweep);"
    "DELETE FROM annotation WHERE subject = 'run' AND name IN (SELECT id FROM other_run)"
    " OR subject = 'sweep' AND name NOT IN (SELECT name FROM selected_sweep);"
    "DELETE FROM run WHERE id IN (SELECT id FROM other_run);"
    "DELETE FROM sweep WHERE name NOT IN (SELECT name FROM selected_sweep);"
    /* Times of the runs instead of the clock's, so that equal results give equal bytes. */
    "UPDATE merged SET since = (SELECT max(coalesce(finished, heartbeat, started)) FROM run);"
    "UPDATE schema_version SET applied = (SELECT since FROM merged);"
    "DROP TABLE other_run; DROP TABLE selected_sweep");
}

static int fill(StoreDatabase *target, StoreDatabase *source, const char *const *sweeps, size_t count) {
  StoreMerge merge;
  TRY(store_merge_begin(target));
  TRY(store_merge(target, source, &merge));
  TRY(select_sweeps(target, sweeps, count));
  TRY(delete_others(target));
  return store_database_execute(target, "PRAGMA journal_mode = DELETE; VACUUM");
}

int store_extract(StoreDatabase *source, const char *const *sweeps, size_t count, const char *path) {
  StoreDatabase *target = NULL;
  int code = store_database_open(path, false, &target);
  if (code == CORE_OK) code = fill(target, source, sweeps, count);
  if (code == CORE_OK) code = store_database_finalize(&target);
  if (target) store_database_close(&target);
  if (code != CORE_OK) unlink(path);
  return code;
}
