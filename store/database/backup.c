/* A copy of a database through SQLite's online backup: consistent whatever others do meanwhile. */
#include <stdio.h>
#include <unistd.h>

#include "store/database/database_internal.h"

static int copy_into(sqlite3 *source, sqlite3 *target) {
  sqlite3_backup *backup = sqlite3_backup_init(target, "main", source, "main");
  int step = backup ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
  int done = sqlite3_backup_finish(backup);
  return step == SQLITE_DONE ? done : step;
}

/* Through a connection of its own, because the open one may be in the middle of a transaction. */
static int copy_file(const char *from, const char *to) {
  enum { HOW = SQLITE_OPEN_NOMUTEX };
  sqlite3 *source = NULL, *target = NULL;
  int status = sqlite3_open_v2(from, &source, SQLITE_OPEN_READONLY | HOW, NULL);
  if (status == SQLITE_OK) sqlite3_busy_timeout(source, STORE_BUSY_MS);
  if (status == SQLITE_OK)
    status = sqlite3_open_v2(to, &target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | HOW, NULL);
  if (status == SQLITE_OK) status = copy_into(source, target);
  int code = CORE_OK;
  if (status != SQLITE_OK) code = core_error(CORE_FAIL, "cannot copy %s to %s: %s", from, to, sqlite3_errstr(status));
  sqlite3_close(source);
  if (sqlite3_close(target) != SQLITE_OK && code == CORE_OK) code = core_error(CORE_FAIL, "cannot write %s", to);
  return code == CORE_OK ? store_file_is_whole(to) : code;
}

int store_backup(StoreDatabase *database, const char *path) {
  char temporary[CORE_PATH_MAX];
  TRY(core_files_path(temporary, "%s.%ld", path, (long)getpid()));
  int fd;
  TRY(core_files_open(temporary, CORE_FILES_NEW, &fd)); /* as the umask says, and nothing that stood there */
  close(fd);
  int code = copy_file(database->path, temporary);
  if (code == CORE_OK && rename(temporary, path) < 0)
    code = core_error_errno(CORE_FAIL, "cannot name the copy %s", path);
  if (code != CORE_OK) unlink(temporary);
  return code;
}
