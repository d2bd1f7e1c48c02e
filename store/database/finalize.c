/* Databases as single complete files: finalizing, checking and copying. In WAL mode the last commits are in a side
 * file; SQLite merges them when the last connection closes, and does not report a failure (a full disk). Before a file
 * is moved, copied or published, that has to be checked. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/database/connection_internal.h"
#include "store/database/database_internal.h"

int store_file_check_complete(const char *path) {
  static const char *const suffixes[] = {"-wal", "-journal"};
  char side_file[CORE_PATH_MAX];
  struct stat status;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    TRY(core_files_path(side_file, "%s%s", path, suffixes[i]));
    if (lstat(side_file, &status) == 0)
      return core_error(CORE_FAIL, "%s is incomplete: a part of it is in %s", path, side_file);
  }
  return CORE_OK;
}

bool store_file_passes_quick_check(const char *path) {
  sqlite3 *handle = NULL;
  sqlite3_stmt *statement = NULL;
  if (store_connection_check(path) != CORE_OK) {
    core_error_clear();
    return false;
  }
  bool passes = store_connection_open(path, SQLITE_OPEN_READONLY, false, &handle) == SQLITE_OK &&
                store_connection_accept(handle, path) == CORE_OK;
  if (!passes) core_error_clear();
  passes = passes && sqlite3_prepare_v2(handle, "PRAGMA quick_check(1)", -1, &statement, NULL) == SQLITE_OK &&
           sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) &&
           strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return passes;
}

/* ---- finalizing -------------------------------------------------------------------------------------------------- */

/* Runs a pragma and copies the first column of its result. */
static int query_pragma(StoreDatabase *database, const char *sql, char value[32]) {
  sqlite3_stmt *statement = NULL;
  *value = '\0';
  TRY(store_database_prepare(database, sql, &statement));
  const int step = sqlite3_step(statement);
  const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
  if (text) snprintf(value, 32, "%s", text);
  const int code = step == SQLITE_ROW || step == SQLITE_DONE ? CORE_OK : store_database_error(database, "write");
  sqlite3_finalize(statement);
  return code;
}

static int sync_file(const char *path) {
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool is_synced = fd >= 0 && fsync(fd) == 0;
  const int saved_errno = errno;
  if (fd >= 0) close(fd);
  errno = saved_errno;
  return is_synced ? CORE_OK : core_error_errno(CORE_FAIL, "cannot sync %s", path);
}

int store_database_finalize(StoreDatabase **database) {
  char path[CORE_PATH_MAX], value[32];
  memcpy(path, (*database)->path, sizeof path);
  int code = query_pragma(*database, "PRAGMA wal_checkpoint(TRUNCATE)", value);
  if (code == CORE_OK && *value != '0')
    code = core_error(CORE_FAIL, "cannot write all of %s: another program is reading it", path);
  if (code == CORE_OK) code = query_pragma(*database, "PRAGMA journal_mode = DELETE", value);
  if (code == CORE_OK && strcmp(value, "delete") != 0)
    code = core_error(CORE_FAIL, "cannot close %s: another program has it open", path);
  const int status = store_database_close_status(database);
  if (code == CORE_OK && status != SQLITE_OK)
    code = core_error(CORE_FAIL, "cannot close %s: %s", path, sqlite3_errstr(status));
  if (code == CORE_OK) code = store_file_check_complete(path);
  return code == CORE_OK ? sync_file(path) : code;
}

int store_database_finish(StoreDatabase **database) {
  char value[32];
  const int code = query_pragma(*database, "PRAGMA wal_checkpoint(PASSIVE)", value);
  store_database_close(database);
  if (code == CORE_OK) return CORE_OK;
  return core_error_context(code, "the newest rows are in a side file (-wal), which belongs to the database");
}

/* ---- backup ------------------------------------------------------------------------------------------------------ */

static int run_backup(sqlite3 *source, sqlite3 *target) {
  sqlite3_backup *backup = sqlite3_backup_init(target, "main", source, "main");
  int step = backup ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
  int status = sqlite3_backup_finish(backup);
  return step == SQLITE_DONE ? status : step;
}

/* Copies through a separate connection, because the open one may be in the middle of a transaction. */
static int copy_file(const char *from, const char *to) {
  sqlite3 *source = NULL, *target = NULL;
  TRY(store_connection_check(from));
  int status = store_connection_open(from, SQLITE_OPEN_READONLY, false, &source);
  if (status == SQLITE_OK)
    status = store_connection_open(to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, false, &target);
  if (status == SQLITE_OK) status = run_backup(source, target);
  int code = CORE_OK;
  if (status != SQLITE_OK) code = core_error(CORE_FAIL, "cannot copy %s to %s: %s", from, to, sqlite3_errstr(status));
  sqlite3_close(source);
  if (sqlite3_close(target) != SQLITE_OK && code == CORE_OK) code = core_error(CORE_FAIL, "cannot write %s", to);
  return code == CORE_OK ? store_file_check_complete(to) : code;
}

int store_backup(StoreDatabase *database, const char *path) {
  char temporary[CORE_PATH_MAX];
  TRY(core_files_path(temporary, "%s.%ld", path, (long)getpid()));
  int fd;
  TRY(core_files_open(temporary, CORE_FILES_NEW, &fd)); /* a new file, with the umask's permissions */
  close(fd);
  int code = copy_file(database->path, temporary);
  if (code == CORE_OK && rename(temporary, path) < 0)
    code = core_error_errno(CORE_FAIL, "cannot rename the copy to %s", path);
  if (code != CORE_OK) unlink(temporary);
  return code;
}
