/* The deletions of store_forget, each prepared once. */
#include "store/care/forget.h"

#include "core/files.h"
#include "store/database/database_internal.h"
#include "store/workspace/paths.h"

/* ?1: the run's id */
static const char *const run_sql[] = {
  "DELETE FROM iteration WHERE run_id = ?1",
  "DELETE FROM iteration_bin WHERE run_id = ?1",
  "DELETE FROM run_import WHERE run = (SELECT key FROM run WHERE id = ?1)",
  "DELETE FROM evaluation WHERE run_id = ?1",
  "DELETE FROM layer WHERE run_id = ?1",
  "DELETE FROM metric WHERE run_id = ?1",
  "DELETE FROM attempt WHERE run_id = ?1",
  "DELETE FROM run_log WHERE run_id = ?1",
  "DELETE FROM annotation WHERE subject = 'run' AND name = ?1",
  "DELETE FROM sweep_run WHERE run_id = ?1",
  "DELETE FROM run WHERE id = ?1", /* last: the others ask it for the key */
};

static int forget_runs(StoreDatabase *database, const char *sql, const StoreForget *what) {
  sqlite3_stmt *statement = NULL;
  int code = CORE_OK;
  TRY(store_database_prepare(database, sql, &statement));
  for (size_t i = 0; i < what->run_count && code == CORE_OK; i++) {
    sqlite3_bind_text(statement, 1, what->runs[i], -1, SQLITE_STATIC);
    code = store_database_run(database, statement);
  }
  sqlite3_finalize(statement);
  return code;
}

static int forget_sweep(StoreDatabase *database, const char *sql, const char *sweep) {
  sqlite3_stmt *statement = NULL;
  TRY(store_database_prepare(database, sql, &statement));
  sqlite3_bind_text(statement, 1, sweep, -1, SQLITE_STATIC);
  const int code = store_database_run(database, statement);
  sqlite3_finalize(statement);
  return code;
}

static int forget_all(StoreDatabase *database, const StoreForget *what) {
  for (size_t i = 0; i < sizeof run_sql / sizeof *run_sql; i++) TRY(forget_runs(database, run_sql[i], what));
  if (!what->sweep) return CORE_OK;
  TRY(forget_sweep(database, "DELETE FROM sweep_run WHERE sweep = ?1", what->sweep));
  if (!what->members) {
    TRY(forget_sweep(database, "DELETE FROM annotation WHERE subject = 'sweep' AND name = ?1", what->sweep));
    return forget_sweep(database, "DELETE FROM sweep WHERE name = ?1", what->sweep);
  }
  for (size_t i = 0; i < what->member_count; i++)
    TRY(store_database_put_run(database, what->sweep, (int64_t)i, NULL, what->members[i]));
  return CORE_OK;
}

static int forget_locked(const char *path, const StoreForget *what) {
  StoreDatabase *database;
  TRY(store_database_open(path, false, &database));
  int code = store_database_begin(database);
  if (code == CORE_OK) {
    code = forget_all(database, what);
    if (code == CORE_OK) code = store_database_commit(database);
    if (code != CORE_OK) store_database_rollback(database);
  }
  store_database_close(&database);
  return code;
}

int store_forget(const char *root, const StoreForget *what) {
  char path[CORE_PATH_MAX];
  int lock;
  bool held_elsewhere;
  TRY(store_path_database(root, path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(store_import_lock(root, true, &lock, &held_elsewhere));
  const int code = forget_locked(path, what);
  core_files_unlock(&lock);
  return code;
}
