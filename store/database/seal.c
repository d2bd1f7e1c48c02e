/* A database as one whole file. In WAL mode what was committed last lies beside it; SQLite plays it in when the last
 * connection closes, and says nothing when that fails (a full disk). Whoever moves, copies or hands on a file needs to
 * know. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/database/database_internal.h"

int store_file_is_whole(const char *path) {
  static const char *const endings[] = {"-wal", "-journal"};
  char side[CORE_PATH_MAX];
  struct stat status;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    TRY(core_files_path(side, "%s%s", path, endings[i]));
    if (lstat(side, &status) == 0)
      return core_error(CORE_FAIL, "not all of %s is in it: a part lies in %s", path, side);
  }
  return CORE_OK;
}

/* One answer of a pragma, as text. */
static int ask(StoreDatabase *database, const char *sql, char answer[32]) {
  sqlite3_stmt *statement = NULL;
  *answer = '\0';
  TRY(store_database_prepare(database, sql, &statement));
  const int step = sqlite3_step(statement);
  const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
  if (text) snprintf(answer, 32, "%s", text);
  const int code = step == SQLITE_ROW || step == SQLITE_DONE ? CORE_OK : store_database_error(database, "write");
  sqlite3_finalize(statement);
  return code;
}

static int bring_to_disk(const char *path) {
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool good = fd >= 0 && fsync(fd) == 0;
  const int number = errno;
  if (fd >= 0) close(fd);
  errno = number;
  return good ? CORE_OK : core_error_errno(CORE_FAIL, "cannot bring %s to disk", path);
}

int store_database_seal(StoreDatabase **database) {
  char path[CORE_PATH_MAX], answer[32];
  memcpy(path, (*database)->path, sizeof path);
  int code = ask(*database, "PRAGMA wal_checkpoint(TRUNCATE)", answer);
  if (code == CORE_OK && *answer != '0')
    code = core_error(CORE_FAIL, "not all of %s could be written into it: another program reads it", path);
  if (code == CORE_OK) code = ask(*database, "PRAGMA journal_mode = DELETE", answer);
  if (code == CORE_OK && strcmp(answer, "delete") != 0)
    code = core_error(CORE_FAIL, "%s cannot be closed: another program has it open", path);
  const int closed = store_database_end(database);
  if (code == CORE_OK && closed != SQLITE_OK)
    code = core_error(CORE_FAIL, "cannot close %s: %s", path, sqlite3_errstr(closed));
  if (code == CORE_OK) code = store_file_is_whole(path);
  return code == CORE_OK ? bring_to_disk(path) : code;
}

int store_database_finish(StoreDatabase **database) {
  char answer[32];
  const int code = ask(*database, "PRAGMA wal_checkpoint(PASSIVE)", answer);
  store_database_close(database);
  return code == CORE_OK ? CORE_OK
                         : core_error_context(code, "the newest rows lie beside the file (-wal), which belongs to it");
}

bool store_file_is_sound(const char *path) {
  sqlite3 *handle = NULL;
  sqlite3_stmt *statement = NULL;
  if (core_files_check_reading(path) != CORE_OK) {
    core_error_clear();
    return false;
  }
  bool sound = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK;
  if (sound) sqlite3_busy_timeout(handle, STORE_BUSY_MS);
  sound = sound && sqlite3_prepare_v2(handle, "PRAGMA quick_check(1)", -1, &statement, NULL) == SQLITE_OK &&
          sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) &&
          strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return sound;
}
