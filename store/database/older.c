/* Which version a file is of, and reading an older one without changing it (older_internal.h): a program of that
 * version may still be writing it, and would refuse it once it were brought forward. */
#include "store/database/older_internal.h"

#include <string.h>

#include "store/database/schema.h"
#include "store/runlog/runlog_internal.h"

/* ---- imitation -------------------------------------------------------------------------------------------------- */

static bool has_column(StoreDatabase *database, const char *table, const char *column, int *code) {
  sqlite3_stmt *info = NULL;
  bool found = false;
  *code = store_database_prepare(database, "SELECT 1 FROM pragma_table_info(?1, 'main') WHERE name = ?2", &info);
  if (*code != CORE_OK) return false;
  sqlite3_bind_text(info, 1, table, -1, SQLITE_STATIC);
  sqlite3_bind_text(info, 2, column, -1, SQLITE_STATIC);
  const int step = sqlite3_step(info);
  if (step == SQLITE_ROW) found = true;
  else if (step != SQLITE_DONE) *code = store_database_error(database, "read");
  sqlite3_finalize(info);
  return found;
}

/* key: a column that every version of the table has; without it there is no such table to imitate. */
static int imitate_table(StoreDatabase *database, const char *table, const char *key, StoreLogKind kind) {
  size_t count, missing = 0;
  const StoreLogColumn *columns = store_runlog_columns(kind, &count);
  CoreText sql = {0};
  int code;
  const bool is_there = has_column(database, table, key, &code);
  core_text_appendf(&sql, "CREATE TEMP VIEW %s AS SELECT *", table);
  for (size_t i = 0; i < count && is_there && code == CORE_OK; i++) {
    if (has_column(database, table, columns[i].name, &code)) continue;
    core_text_appendf(&sql, ", NULL AS %s", columns[i].name);
    missing++;
  }
  core_text_appendf(&sql, " FROM main.%s", table);
  if (code == CORE_OK && missing > 0) code = store_database_execute(database, core_text_string(&sql));
  core_text_free(&sql);
  return code;
}

/* The views of today in the place of the file's. */
static int imitate_views(StoreDatabase *database) {
  static const char create[] = "CREATE VIEW ";
  CoreText sql = {0};
  const char *at = store_schema_views, *next;
  for (; (next = strstr(at, create)); at = next + strlen(create)) {
    core_text_append_bytes(&sql, at, (size_t)(next - at));
    core_text_append(&sql, "CREATE TEMP VIEW ");
  }
  core_text_append(&sql, at);
  int code = store_database_execute(database, core_text_string(&sql));
  core_text_free(&sql);
  return code;
}

int store_older_imitate(StoreDatabase *database, int64_t version) {
  TRY(imitate_table(database, "evaluation", "run_id", STORE_LOG_EVAL));
  if (version < STORE_SCHEMA_LAYERS) TRY(store_database_execute(database, store_schema_no_layers));
  if (version < STORE_SCHEMA_ANNOTATIONS) TRY(store_database_execute(database, store_schema_no_annotations));
  if (version < STORE_SCHEMA_CODE) TRY(store_database_execute(database, store_schema_no_code));
  if (version < STORE_SCHEMA_VERSION) TRY(imitate_views(database));
  if (version >= STORE_SCHEMA_CHUNKS) return CORE_OK;
  TRY(imitate_table(database, "iteration_row", "row", STORE_LOG_STATS));
  return store_database_execute(database, store_schema_fast_view);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* 0: no file, an empty one, or none that tells its version: opening it says what is wrong. */
static int64_t version_of(const char *path) {
  StoreDatabase probe = {.read_only = true};
  int64_t version = 0;
  if (!core_files_exists(path) || core_files_path(probe.path, "%s%s", *path == '/' ? "" : "./", path) != CORE_OK)
    return 0;
  if (core_files_check_reading(probe.path) != CORE_OK) {
    core_error_clear();
    return 0;
  }
  if (sqlite3_open_v2(probe.path, &probe.handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
    sqlite3_busy_timeout(probe.handle, STORE_BUSY_MS);
    if (store_database_int(&probe, "PRAGMA user_version", &version) != CORE_OK) version = 0;
  }
  sqlite3_close(probe.handle);
  core_error_clear();
  return version;
}

int store_database_open_to_show(const char *path, StoreDatabase **database, int64_t *older) {
  const int64_t version = version_of(path);
  *older = version > 0 && version < STORE_SCHEMA_VERSION ? version : 0;
  return store_database_open(path, *older > 0, database);
}
