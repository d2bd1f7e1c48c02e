/* All of the database is copied, what belongs to other sweeps is deleted, and the room given back. */
#include "store/care/extract.h"

#include <unistd.h>

#include "store/care/maintain.h"
#include "store/database/database_internal.h"

static int keep_sweep(StoreDatabase *target, sqlite3_stmt *statement, const char *name) {
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  TRY(store_database_run(target, statement));
  if (sqlite3_changes(target->handle) == 0)
    return core_error(CORE_USAGE, "results.db has no sweep %.100s; import it with: sweep collect", name);
  return CORE_OK;
}

/* Tables `kept` (sweeps) and `gone` (runs), of this connection. */
static int choose(StoreDatabase *target, const char *const *sweeps, size_t count) {
  sqlite3_stmt *statement = NULL;
  TRY(store_database_execute(target, "CREATE TEMP TABLE kept(name TEXT PRIMARY KEY)"));
  TRY(store_database_prepare(target, "INSERT OR IGNORE INTO kept SELECT name FROM sweep WHERE name = ?1", &statement));
  int code = CORE_OK;
  for (size_t i = 0; i < count && code == CORE_OK; i++) code = keep_sweep(target, statement, sweeps[i]);
  sqlite3_finalize(statement);
  if (code != CORE_OK) return code;
  return store_database_execute(
    target, "CREATE TEMP TABLE gone AS SELECT id, key FROM run WHERE id NOT IN"
            " (SELECT run_id FROM sweep_run WHERE sweep IN (SELECT name FROM kept))");
}

static int delete_others(StoreDatabase *target) {
  return store_database_execute(
    target,
    "DELETE FROM iteration WHERE run_id IN (SELECT id FROM gone);"
    "DELETE FROM iteration_bin WHERE run_id IN (SELECT id FROM gone);"
    "DELETE FROM run_import WHERE run IN (SELECT key FROM gone);"
    "DELETE FROM evaluation WHERE run_id IN (SELECT id FROM gone);"
    "DELETE FROM layer WHERE run_id IN (SELECT id FROM gone);"
    "DELETE FROM metric WHERE run_id IN (SELECT id FROM gone);"
    "DELETE FROM attempt WHERE run_id IN (SELECT id FROM gone);"
    "DELETE FROM run_log WHERE run_id IN (SELECT id FROM gone);"
    "DELETE FROM sweep_run WHERE sweep NOT IN (SELECT name FROM kept);"
    "DELETE FROM annotation WHERE subject = 'run' AND name IN (SELECT id FROM gone)"
    " OR subject = 'sweep' AND name NOT IN (SELECT name FROM kept);"
    "DELETE FROM run WHERE id IN (SELECT id FROM gone);"
    "DELETE FROM sweep WHERE name NOT IN (SELECT name FROM kept);"
    /* not the clock: the same results are the same bytes */
    "UPDATE merged SET since = (SELECT max(coalesce(finished, heartbeat, started)) FROM run);"
    "UPDATE schema_version SET applied = (SELECT since FROM merged);"
    "DROP TABLE gone; DROP TABLE kept");
}

static int fill(StoreDatabase *target, StoreDatabase *source, const char *const *sweeps, size_t count) {
  StoreMerge merge;
  TRY(store_merge_begin(target));
  TRY(store_merge(target, source, &merge));
  TRY(choose(target, sweeps, count));
  TRY(delete_others(target));
  return store_database_execute(target, "PRAGMA journal_mode = DELETE; VACUUM");
}

int store_extract(StoreDatabase *source, const char *const *sweeps, size_t count, const char *path) {
  StoreDatabase *target = NULL;
  int code = store_database_open(path, false, &target);
  if (code == CORE_OK) code = fill(target, source, sweeps, count);
  if (code == CORE_OK) code = store_database_seal(&target);
  if (target) store_database_close(&target);
  if (code != CORE_OK) unlink(path);
  return code;
}
