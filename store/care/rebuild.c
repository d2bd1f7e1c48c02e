/* Rebuilds results.db from the workspace: sweeps/<name>/ (sweep.ini, manifest.tsv) and runs/<id>/. The new file is
 * built next to the old one and replaces it at the end, so that a failed rebuild changes nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "store/care/maintain.h"
#include "store/database/connection_internal.h"
#include "store/database/database_internal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"

/* ---- manifests -------------------------------------------------------------------------------------------------- */

/* Records the members of a sweep without their configurations: the import reads these from the run directories, and a
 * submit from the sweep. */
static int put_members(StoreDatabase *database, const char *name, char *text, StoreImport *result) {
  char *save = NULL;
  int64_t line_number = 0, index;
  const char *id;

  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    line_number++;
    if (*line == '#' || strcmp(line, "index\trun") == 0) continue;
    if (store_manifest_line(line, &index, &id)) {
      TRY(store_database_put_run(database, name, index, NULL, id));
      continue;
    }

    result->damaged_lines++;
    if (!*result->first_damage)
      snprintf(result->first_damage, sizeof result->first_damage, "sweeps/%s/manifest.tsv:%lld: damaged line, skipped",
               name, (long long)line_number);
  }
  return CORE_OK;
}

/* Records a sweep. Unreadable files are reported in `result`; its runs are still imported. */
static int put_sweep(StoreDatabase *database, const char *root, const char *name, StoreImport *result) {
  char path[CORE_PATH_MAX], *ini = NULL, *manifest = NULL;
  size_t size;

  if (store_path_sweep(root, name, "sweep.ini", path) != CORE_OK) return CORE_OK; /* not the name of a sweep */
  int code = core_files_read(path, 0, &ini, &size);
  if (code == CORE_OK) code = store_path_sweep(root, name, "manifest.tsv", path);
  if (code == CORE_OK) code = core_files_read(path, 0, &manifest, &size);

  if (code != CORE_OK) {
    if (!*result->first_damage) snprintf(result->first_damage, sizeof result->first_damage, "%s", core_error_message());
    code = CORE_OK;
  } else {
    code = store_database_put_sweep(database, name, ini);
    if (code == CORE_OK) code = put_members(database, name, manifest, result);
  }

  free(ini);
  free(manifest);
  return code;
}

static int put_sweeps(StoreDatabase *database, const char *root, StoreImport *result) {
  char path[CORE_PATH_MAX], **names;
  size_t count;
  TRY(core_files_path(path, "%s/sweeps", root));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_list(path, &names, &count));
  int code = store_database_begin(database);
  for (size_t i = 0; i < count; i++) {
    if (code == CORE_OK) code = put_sweep(database, root, names[i], result);
    free(names[i]);
  }
  free(names);
  if (code == CORE_OK) code = store_database_commit(database);
  if (code != CORE_OK) store_database_rollback(database);
  return code;
}

/* ---- replacement ------------------------------------------------------------------------------------------------ */

/* Removes side files that are not to be opened, nor by readers of the old database. */
static int remove_refused_side_files(const char *path) {
  char file[CORE_PATH_MAX];
  if (store_connection_check(path) == CORE_OK) return CORE_OK;
  core_warn("the files next to %s are removed: %s", path, core_error_message());
  for (int i = 0; i < STORE_SIDE_FILES; i++) {
    TRY(core_files_path(file, "%s%s", path, store_side_files[i]));
    TRY(core_files_remove_tree(file));
  }
  return CORE_OK;
}

/* Moves SQLite's side files with their database: SQLite would replay an old WAL into a new file. */
static int move_side_files(const char *from, const char *to) {
  char source[CORE_PATH_MAX], target[CORE_PATH_MAX];
  for (int i = 0; i < STORE_SIDE_FILES; i++) {
    TRY(core_files_path(source, "%s%s", from, store_side_files[i]));
    TRY(core_files_path(target, "%s%s", to, store_side_files[i]));
    unlink(target);
    if (rename(source, target) < 0 && errno != ENOENT)
      return core_error_errno(CORE_FAIL, "cannot move %s to %s", source, target);
  }
  return CORE_OK;
}

/* Selects the name under which the old file is kept. A damaged file does not replace an intact results.db.old. */
static int select_backup_path(const char *path, char backup[CORE_PATH_MAX]) {
  TRY(core_files_path(backup, "%s.old", path));
  if (!core_files_exists(backup) || store_file_passes_quick_check(path)) return CORE_OK;
  TRY(core_files_path(backup, "%s.damaged", path));
  core_warn("%s is damaged: it is kept as %s, and %s.old is unchanged", path, backup, path);
  return CORE_OK;
}

static int replace_database(const char *path, const char *new_path) {
  char backup[CORE_PATH_MAX];
  if (core_files_exists(path)) {
    TRY(remove_refused_side_files(path));
    TRY(select_backup_path(path, backup));
    if (unlink(backup) < 0 && errno != ENOENT) return core_error_errno(CORE_FAIL, "cannot remove %s", backup);
    /* A hard link, so that results.db exists at every moment; rename on file systems without links. */
    if (link(path, backup) < 0 && rename(path, backup) < 0)
      return core_error_errno(CORE_FAIL, "cannot keep %s as %s", path, backup);
    TRY(move_side_files(path, backup));
  }
  if (rename(new_path, path) < 0) return core_error_errno(CORE_FAIL, "cannot replace %s with %s", path, new_path);
  return CORE_OK;
}

/* ---- attempts ---------------------------------------------------------------------------------------------------- */

#define STATE_COLUMNS "status, host, pid, device, git_commit, started, heartbeat, finished, message"
#define ATTEMPT_COLUMNS STATE_COLUMNS ", code, code_files"
enum { ATTEMPT_VALUES = 13 }; /* run_id, attempt and ATTEMPT_COLUMNS */

/* Opens the old database and prepares a query of its attempts; older versions lack the columns code and code_files. */
static int query_old_attempts(const char *path, StoreDatabase **old, sqlite3_stmt **query) {
  int64_t has_code;
  TRY(store_database_open_any_version(path, old));
  TRY(store_database_int(*old, "SELECT count(*) FROM pragma_table_info('attempt') WHERE name = 'code'", &has_code));
  const char *sql = has_code ? "SELECT run_id, attempt, " ATTEMPT_COLUMNS " FROM attempt WHERE status IS NOT NULL"
                             : "SELECT run_id, attempt, " STATE_COLUMNS ", NULL, NULL FROM attempt"
                               " WHERE status IS NOT NULL";
  return store_database_prepare(*old, sql, query);
}

static int insert_attempts(StoreDatabase *database, sqlite3_stmt *query) {
  sqlite3_stmt *insert = NULL;
  int code = CORE_OK;

  TRY(store_database_prepare(database,
    "INSERT INTO attempt(run_id, attempt, " ATTEMPT_COLUMNS ")"
    " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13"
    " WHERE EXISTS (SELECT 1 FROM run WHERE id = ?1)"
    " ON CONFLICT(run_id, attempt) DO UPDATE"
    " SET (" ATTEMPT_COLUMNS ") = (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    " WHERE attempt.status IS NULL", &insert));

  TRY_GOTO(code, out, store_database_begin(database));
  while (sqlite3_step(query) == SQLITE_ROW) {
    for (int c = 0; c < ATTEMPT_VALUES; c++) sqlite3_bind_value(insert, c + 1, sqlite3_column_value(query, c));
    code = store_database_run(database, insert);
    if (code != CORE_OK) break;
  }
  if (code == CORE_OK) code = store_database_commit(database);
  if (code != CORE_OK) store_database_rollback(database);
out:
  sqlite3_finalize(insert);
  return code;
}

/* Copies attempts that only the old database has, because they predate attempts.tsv. Ignores an unreadable old
 * database. */
static int copy_old_attempts(StoreDatabase *database, const char *old_path) {
  StoreDatabase *old = NULL;
  sqlite3_stmt *query = NULL;
  int code = CORE_OK;
  if (!core_files_exists(old_path) || !store_file_passes_quick_check(old_path)) return CORE_OK;
  if (query_old_attempts(old_path, &old, &query) == CORE_OK) code = insert_attempts(database, query);
  else core_error_clear();
  sqlite3_finalize(query);
  store_database_close(&old);
  return code;
}

/* ---- rebuild ----------------------------------------------------------------------------------------------------- */

static int build(const char *root, const char *path, const char *new_path, StoreImport *result) {
  StoreDatabase *database;
  StoreImport imported = {0};
  TRY(store_database_open(new_path, false, &database));
  int code = store_database_disable_sync(database);
  if (code == CORE_OK) code = put_sweeps(database, root, result);
  if (code == CORE_OK) code = store_import_unlocked(database, root, NULL, &imported);
  if (code == CORE_OK) code = copy_old_attempts(database, path);
  if (code == CORE_OK) code = store_database_finalize(&database);
  else store_database_close(&database);
  result->rows = imported.rows;
  result->runs = imported.runs;
  result->damaged_lines += imported.damaged_lines;
  if (!*result->first_damage) memcpy(result->first_damage, imported.first_damage, sizeof result->first_damage);
  return code;
}

static void remove_database(const char *path) {
  char file[CORE_PATH_MAX];
  unlink(path);
  for (int i = 0; i < STORE_SIDE_FILES; i++)
    if (core_files_path(file, "%s%s", path, store_side_files[i]) == CORE_OK) unlink(file);
}

/* Refuses to replace a union of several workspaces, which cannot be rebuilt from this one. */
static int refuse_merged(const char *path) {
  StoreDatabase *database = NULL;
  if (!core_files_exists(path) || store_database_open_any_version(path, &database) != CORE_OK) {
    core_error_clear(); /* damaged, or of a newer version: a rebuild replaces it */
    return CORE_OK;
  }
  const bool merged = store_is_merged(database);
  store_database_close(&database);
  if (!merged) return CORE_OK;
  return core_error(CORE_USAGE, "%s was made by analyze merge, and contains more than this workspace; rename it, and "
                    "rebuild again", path);
}

int store_rebuild_lock(const char *root, int *fd) {
  char path[CORE_PATH_MAX];
  TRY(core_files_path(path, "%s/.rebuild.lock", root));
  return core_files_lock(path, true, fd);
}

static int rebuild_locked(const char *root, StoreImport *result) {
  char path[CORE_PATH_MAX], new_path[CORE_PATH_MAX];
  int lock;
  bool is_held;

  TRY(store_path_database(root, path));
  TRY(core_files_path(new_path, "%s.new", path));
  TRY(refuse_merged(path));
  TRY(store_import_lock(root, true, &lock, &is_held));

  remove_database(new_path); /* left over by a killed rebuild */
  int code = build(root, path, new_path, result);
  if (code == CORE_OK) code = replace_database(path, new_path);
  if (code != CORE_OK) {
    remove_database(new_path);
    code = core_error_context(code, "nothing was rebuilt, and %s is unchanged", path);
  }

  core_files_unlock(&lock);
  return code;
}

int store_rebuild(const char *root, StoreImport *result) {
  int lock;
  *result = (StoreImport){0};
  TRY(store_rebuild_lock(root, &lock));
  const int code = rebuild_locked(root, result);
  core_files_unlock(&lock);
  return code;
}
