/* SQLite's error codes as messages that say what is wrong with results.db and what to do about it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "store/database/database_internal.h"

/* The process that holds a write lock on the file, from Linux's /proc/locks; 0 when none is found. Opening the file to
 * ask fcntl would be wrong: closing it again would drop SQLite's own locks in this process. */
static long lock_holder(const char *path) {
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

static int locked(const StoreDatabase *database, const char *doing) {
  char side_file[CORE_PATH_MAX], name[64] = "";
  long pid = lock_holder(database->path);
  if (!pid && core_files_path(side_file, "%s-shm", database->path) == CORE_OK) pid = lock_holder(side_file);
  if (!pid)
    return core_error(CORE_FAIL, "cannot %s %s: another program has kept it locked for %d s; find it with: fuser -v %s",
                      doing, database->path, STORE_BUSY_MS / 1000, database->path);
  char comm[64];
  snprintf(comm, sizeof comm, "/proc/%ld/comm", pid);
  FILE *file = fopen(comm, "re");
  if (file && fgets(name, sizeof name, file)) name[strcspn(name, "\n")] = '\0';
  if (file) fclose(file);
  return core_error(CORE_FAIL, "cannot %s %s: process %ld%s%s%s has kept it locked for %d s; wait for it or end it",
                    doing, database->path, pid, *name ? " (" : "", name, *name ? ")" : "", STORE_BUSY_MS / 1000);
}

int store_database_error(StoreDatabase *database, const char *doing) {
  const char *path = database->path;
  sqlite3 *handle = database->handle;
  int code = handle ? sqlite3_extended_errcode(handle) : SQLITE_NOMEM;
  int number = handle ? sqlite3_system_errno(handle) : 0;
  bool system_fault = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  if ((code & 0xff) == SQLITE_FULL || (system_fault && (number == ENOSPC || number == EDQUOT)))
    return core_error(CORE_FAIL, "cannot %s %s: the disk is full; free some space and run this again (what the "
                      "database held is intact)", doing, path);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return locked(database, doing);
    case SQLITE_NOTADB:
      return core_error(CORE_FAIL, "%s is no database of sweep, or is damaged; put a new one in its place with: "
                        "sweep rebuild", path);
    case SQLITE_CORRUPT:
      return core_error(CORE_FAIL, "%s is damaged (%s); make it anew from the run logs with: sweep rebuild", path,
                        sqlite3_errmsg(handle));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return core_error(CORE_FAIL, "cannot %s %s: it is read-only here; change its permissions and its folder's, or "
                        "copy it", doing, path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return core_error(CORE_FAIL, "cannot %s %s: %s", doing, path, number ? strerror(number) : sqlite3_errmsg(handle));
    default:
      return core_error(CORE_FAIL, "cannot %s %s: %s", doing, path, handle ? sqlite3_errmsg(handle) : "out of memory");
  }
}
