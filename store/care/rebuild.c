/* results.db anew from what lies in the workspace: sweeps/<name>/ (sweep.ini, manifest.tsv) and runs/<id>/. Built
 * beside the old file and put in its place at the end, so that a rebuild that fails changes nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "store/care/maintain.h"
#include "store/database/database_internal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"

/* ---- manifests -------------------------------------------------------------------------------------------------- */

/* Members are recorded without their configuration; the import takes it from the run's folder, a submit from the
 * sweep. */
static int put_members(StoreDatabase *database, const char *name, char *text, StoreImport *result) {
  char *save = NULL;
  int64_t number = 0, index;
  const char *id;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    number++;
    if (*line == '#' || strcmp(line, "index\trun") == 0) continue;
    if (store_manifest_line(line, &index, &id)) {
      TRY(store_database_put_run(database, name, index, NULL, id));
      continue;
    }
    result->damaged_lines++;
    if (!*result->first_damage)
      snprintf(result->first_damage, sizeof result->first_damage, "sweeps/%s/manifest.tsv:%lld: damaged line, skipped",
               name, (long long)number);
  }
  return CORE_OK;
}

/* A sweep whose files cannot be read is told of; its runs are imported all the same. */
static int put_sweep(StoreDatabase *database, const char *root, const char *name, StoreImport *result) {
  char path[CORE_PATH_MAX], *ini = NULL, *manifest = NULL;
  size_t size;
  if (store_path_sweep(root, name, "sweep.ini", path) != CORE_OK) return CORE_OK; /* not a sweep's name */
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

/* ---- the exchange ----------------------------------------------------------------------------------------------- */

/* SQLite's side files go with their database: an old WAL beside a new file would be played into it. */
static int move_side_files(const char *from, const char *to) {
  static const char *const endings[] = {"-wal", "-shm", "-journal"};
  char source[CORE_PATH_MAX], target[CORE_PATH_MAX];
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    TRY(core_files_path(source, "%s%s", from, endings[i]));
    TRY(core_files_path(target, "%s%s", to, endings[i]));
    unlink(target);
    if (rename(source, target) < 0 && errno != ENOENT)
      return core_error_errno(CORE_FAIL, "cannot move %s to %s", source, target);
  }
  return CORE_OK;
}

/* Where the old file goes. A sound results.db.old does not give way to a damaged file. */
static int choose_place(const char *path, char place[CORE_PATH_MAX]) {
  TRY(core_files_path(place, "%s.old", path));
  if (!core_files_exists(place) || store_file_is_sound(path)) return CORE_OK;
  TRY(core_files_path(place, "%s.damaged", path));
  core_warn("%s is damaged: it is kept as %s, and %s.old stays as it was", path, place, path);
  return CORE_OK;
}

static int exchange(const char *path, const char *fresh) {
  char old[CORE_PATH_MAX];
  if (core_files_exists(path)) {
    TRY(choose_place(path, old));
    if (unlink(old) < 0 && errno != ENOENT) return core_error_errno(CORE_FAIL, "cannot remove %s", old);
    /* A second name for the old file, so that results.db is there at every moment; some filesystems have no links. */
    if (link(path, old) < 0 && rename(path, old) < 0)
      return core_error_errno(CORE_FAIL, "cannot keep %s as %s", path, old);
    TRY(move_side_files(path, old));
  }
  if (rename(fresh, path) < 0) return core_error_errno(CORE_FAIL, "cannot put %s in place of %s", fresh, path);
  return CORE_OK;
}

/* What only the old database knows of attempts: those of before attempts.tsv was written. Whatever is wrong with it is
 * no matter here. */
static int keep_attempts(StoreDatabase *fresh, const char *path) {
#define STATE "status, host, pid, device, git_commit, started, heartbeat, finished, message"
#define ATTEMPT STATE ", code, code_files"
  StoreDatabase *old = NULL;
  sqlite3_stmt *read = NULL, *write = NULL;
  int64_t has_code = 0;
  int code = CORE_OK, step;
  if (!core_files_exists(path) || !store_file_is_sound(path) || store_database_open_any(path, &old) != CORE_OK ||
      store_database_int(old, "SELECT count(*) FROM pragma_table_info('attempt') WHERE name = 'code'", &has_code) !=
        CORE_OK ||
      store_database_prepare(old,
                             has_code ? "SELECT run_id, attempt, " ATTEMPT " FROM attempt WHERE status IS NOT NULL"
                                      : "SELECT run_id, attempt, " STATE ", NULL, NULL FROM attempt"
                                        " WHERE status IS NOT NULL",
                             &read) != CORE_OK) {
    store_database_close(&old);
    core_error_clear();
    return CORE_OK;
  }
  TRY_GOTO(code, out, store_database_prepare(fresh,
    "INSERT INTO attempt(run_id, attempt, " ATTEMPT ") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13"
    " WHERE EXISTS (SELECT 1 FROM run WHERE id = ?1)"
    " ON CONFLICT(run_id, attempt) DO UPDATE SET (" ATTEMPT ") = (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    " WHERE attempt.status IS NULL", &write));
  TRY_GOTO(code, out, store_database_begin(fresh));
  while (code == CORE_OK && (step = sqlite3_step(read)) == SQLITE_ROW) {
    for (int c = 0; c < 13; c++) sqlite3_bind_value(write, c + 1, sqlite3_column_value(read, c));
    code = store_database_run(fresh, write);
  }
  if (code == CORE_OK) code = store_database_commit(fresh);
  if (code != CORE_OK) store_database_rollback(fresh);
out:
  sqlite3_finalize(read);
  sqlite3_finalize(write);
  store_database_close(&old);
  return code;
#undef ATTEMPT
#undef STATE
}

static int build(const char *root, const char *path, const char *fresh, StoreImport *result) {
  StoreDatabase *database;
  StoreImport imported = {0};
  TRY(store_database_open(fresh, false, &database));
  int code = put_sweeps(database, root, result);
  if (code == CORE_OK) code = store_import_unlocked(database, root, NULL, &imported);
  if (code == CORE_OK) code = keep_attempts(database, path);
  if (code == CORE_OK) code = store_database_seal(&database);
  else store_database_close(&database);
  result->rows = imported.rows;
  result->runs = imported.runs;
  result->damaged_lines += imported.damaged_lines;
  if (!*result->first_damage) memcpy(result->first_damage, imported.first_damage, sizeof result->first_damage);
  return code;
}

static void remove_database(const char *path) {
  static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
  char file[CORE_PATH_MAX];
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (core_files_path(file, "%s%s", path, endings[i]) == CORE_OK) unlink(file);
}

/* A union of several workspaces cannot be made from this one. */
static int refuse_merged(const char *path) {
  StoreDatabase *database = NULL;
  if (!core_files_exists(path) || store_database_open_any(path, &database) != CORE_OK) {
    core_error_clear(); /* damaged, or of a newer version: that is what a rebuild is for */
    return CORE_OK;
  }
  const bool merged = store_is_merged(database);
  store_database_close(&database);
  return merged ? core_error(CORE_USAGE, "%s was made by analyze merge, and holds more than this workspace; give it "
                             "another name, and rebuild again", path)
                : CORE_OK;
}

int store_rebuild_lock(const char *root, int *fd) {
  char path[CORE_PATH_MAX];
  TRY(core_files_path(path, "%s/.rebuild.lock", root));
  return core_files_lock(path, true, fd);
}

static int rebuild_locked(const char *root, StoreImport *result) {
  char path[CORE_PATH_MAX], fresh[CORE_PATH_MAX];
  int lock;
  bool busy;
  TRY(store_path_database(root, path));
  TRY(core_files_path(fresh, "%s.new", path));
  TRY(refuse_merged(path));
  TRY(store_import_lock(root, true, &lock, &busy));
  remove_database(fresh); /* left over by a rebuild that was killed */
  int code = build(root, path, fresh, result);
  if (code == CORE_OK) code = exchange(path, fresh);
  if (code != CORE_OK) {
    remove_database(fresh);
    code = core_error_context(code, "nothing was rebuilt, and %s is as it was", path);
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
