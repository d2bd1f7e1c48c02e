/* Deletes runs and sweeps from results.db (delete.h); each statement is prepared once. Tables are clustered by run, so
 * runs are deleted in the order of their ids: otherwise most deletions would read and write other pages. */
#include "store/care/delete.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "store/database/database_internal.h"
#include "store/workspace/paths.h"

/* ?1: run id */
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
  "DELETE FROM run WHERE id = ?1", /* last, because another statement reads its key */
};

static int delete_rows_of_runs(StoreDatabase *database, const char *sql, const StoreDeletion *deletion) {
  sqlite3_stmt *statement = NULL;
  int code = CORE_OK;
  TRY(store_database_prepare(database, sql, &statement));
  for (size_t i = 0; i < deletion->run_count; i++) {
    sqlite3_bind_text(statement, 1, deletion->runs[i], -1, SQLITE_STATIC);
    code = store_database_run(database, statement);
    if (code != CORE_OK) break;
  }
  sqlite3_finalize(statement);
  return code;
}

static int delete_rows_of_sweep(StoreDatabase *database, const char *sql, const char *sweep) {
  sqlite3_stmt *statement = NULL;
  TRY(store_database_prepare(database, sql, &statement));
  sqlite3_bind_text(statement, 1, sweep, -1, SQLITE_STATIC);
  const int code = store_database_run(database, statement);
  sqlite3_finalize(statement);
  return code;
}

static int delete_all(StoreDatabase *database, const StoreDeletion *deletion) {
  const char *sweep = deletion->sweep;
  for (size_t i = 0; i < sizeof run_sql / sizeof *run_sql; i++)
    TRY(delete_rows_of_runs(database, run_sql[i], deletion));
  if (!sweep) return CORE_OK;
  TRY(delete_rows_of_sweep(database, "DELETE FROM sweep_run WHERE sweep = ?1", sweep));
  if (!deletion->members) {
    TRY(delete_rows_of_sweep(database, "DELETE FROM annotation WHERE subject = 'sweep' AND name = ?1", sweep));
    return delete_rows_of_sweep(database, "DELETE FROM sweep WHERE name = ?1", sweep);
  }
  for (size_t i = 0; i < deletion->member_count; i++)
    TRY(store_database_put_run(database, sweep, (int64_t)i, NULL, deletion->members[i]));
  return CORE_OK;
}

static int delete_locked(const char *path, const StoreDeletion *deletion) {
  StoreDatabase *database;
  TRY(store_database_open(path, false, &database));
  int code = store_database_begin(database);
  if (code == CORE_OK) {
    code = delete_all(database, deletion);
    if (code == CORE_OK) code = store_database_commit(database);
    if (code != CORE_OK) store_database_rollback(database);
  }
  store_database_close(&database);
  return code;
}

static int compare_ids(const void *a, const void *b) { return strcmp(a, b); }

int store_delete(const char *root, const StoreDeletion *deletion) {
  char path[CORE_PATH_MAX];
  int lock;
  bool is_held;
  TRY(store_path_database(root, path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(store_import_lock(root, true, &lock, &is_held));

  StoreDeletion sorted = *deletion;
  char(*runs)[CORE_RUN_ID] = core_memory_allocate((deletion->run_count + 1) * sizeof *runs);
  if (deletion->run_count) memcpy(runs, deletion->runs, deletion->run_count * sizeof *runs);
  qsort(runs, deletion->run_count, sizeof *runs, compare_ids);
  sorted.runs = (const char(*)[CORE_RUN_ID])runs;

  const int code = delete_locked(path, &sorted);
  free(runs);
  core_files_unlock(&lock);
  return code;
}
