/* Translates SQLite's error codes into messages that name the problem with results.db and the remedy. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/terminal.h"
#include "store/database/database_internal.h"

/* Finds the process that holds a write lock on the file, in Linux's /proc/locks; 0 if there is none. fcntl would need
 * the file open, and closing it again would release SQLite's own locks in this process. */
static long find_lock_holder(const char *path) {
  struct stat file;
  char line[256], mode[16];
  long pid, found = 0;
  unsigned major_number, minor_number;
  uintmax_t inode;
  FILE *locks = stat(path, &file) == 0 ? fopen("/proc/locks", "re") : NULL;
  while (locks && !found && fgets(line, sizeof line, locks))
    if (sscanf(line, "%*s %*s %*s %15s %ld %x:%x:%ju", mode, &pid, &major_number, &minor_number, &inode) == 5 &&
        strcmp(mode, "WRITE") == 0 && inode == (uintmax_t)file.st_ino && major_number == major(file.st_dev) &&
        minor_number == minor(file.st_dev))
      found = pid;
  if (locks) fclose(locks);
  return found;
}

static int locked_error(const StoreDatabase *database, const char *action) {
  char side_file[CORE_PATH_MAX], name[64] = "";
  long pid = find_lock_holder(database->path);
  if (!pid && core_files_path(side_file, "%s-shm", database->path) == CORE_OK) pid = find_lock_holder(side_file);
  if (!pid)
    return core_error(CORE_FAIL, "cannot %s %s: another program has kept it locked for %d s; find it with: fuser -v %s",
                      action, database->path, STORE_BUSY_MS / 1000, database->path);
  char comm[64];
  snprintf(comm, sizeof comm, "/proc/%ld/comm", pid);
  FILE *file = fopen(comm, "re");
  if (file && fgets(name, sizeof name, file)) name[strcspn(name, "\n")] = '\0';
  if (file) fclose(file);
  return core_error(CORE_FAIL, "cannot %s %s: process %ld%s%s%s has kept it locked for %d s; wait for it or end it",
                    action, database->path, pid, *name ? " (" : "", name, *name ? ")" : "", STORE_BUSY_MS / 1000);
}

int store_database_error(StoreDatabase *database, const char *action) {
  const char *path = database->path;
  sqlite3 *handle = database->handle;
  int code = handle ? sqlite3_extended_errcode(handle) : SQLITE_NOMEM;
  int system_errno = handle ? sqlite3_system_errno(handle) : 0;
  bool is_system_error = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;

  if ((code & 0xff) == SQLITE_FULL || (is_system_error && (system_errno == ENOSPC || system_errno == EDQUOT)))
    return core_error(CORE_FAIL, "cannot %s %s: the disk is full; free some space and run this again (the database's "
                      "previous content is intact)", action, path);

  switch (code & 0xff) {
    case SQLITE_INTERRUPT:
      if (database->queries_end_s > 0 && core_clock_s() >= database->queries_end_s)
        return core_error(CORE_FAIL, "cannot %s %s: it took too long", action, path);
      return core_error(CORE_FAIL, "cannot %s %s: stopped by a signal", action, path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return locked_error(database, action);
    case SQLITE_NOTADB:
      return core_error(CORE_FAIL, "%s is not a database of sweep, or is damaged; replace it with: "
                        "sweep collect --rebuild",
                        path);
    case SQLITE_CORRUPT:
      return core_error(CORE_FAIL, "%s is damaged (%s); rebuild it from the run logs with: "
                        "sweep collect --rebuild", path,
                        sqlite3_errmsg(handle));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return core_error(CORE_FAIL, "cannot %s %s: it is read-only; change the permissions of the file and its "
                        "directory, or copy it", action, path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return core_error(CORE_FAIL, "cannot %s %s: %s", action, path,
                        system_errno ? strerror(system_errno) : sqlite3_errmsg(handle));
    default:
      return core_error(CORE_FAIL, "cannot %s %s: %s", action, path, handle ? sqlite3_errmsg(handle) : "out of memory");
  }
}
