/* Opens SQLite connections (connection_internal.h). SQLite executes what a journal, a WAL and a schema say as soon as a
 * file is opened or read. Checks by name come first, for their messages. Others may exchange the files afterwards, so
 * the same holds where SQLite opens them: in its VFS and its system call `open`. */
#include "store/database/connection_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/terminal.h"
#include "store/database/database_internal.h"
#include "store/database/schema.h"

enum {
  VALUE_BYTES_MAX = 64 << 20,   /* largest text or blob; a frozen sweep.ini has at most as many bytes */
  PATTERN_BYTES_MAX = 50000,    /* longest pattern of LIKE: SQLite's own limit */
  OPERATIONS_PER_CHECK = 50000  /* operations of SQLite's virtual machine: a few milliseconds */
};

/* ---- files next to the database ---------------------------------------------------------------------------------- */

/* Whether the journal ends with the name of a super-journal: SQLite writes one when a transaction spans several files,
 * which none of ours does. A rollback would delete the file of that name. */
static bool names_other_file(const char *path) {
  static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  unsigned char end[16];
  struct stat status;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool is_read = fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= (off_t)sizeof end &&
                       pread(fd, end, sizeof end, status.st_size - (off_t)sizeof end) == (ssize_t)sizeof end;
  if (fd >= 0) close(fd); /* SQLite holds no locks on journals */
  return is_read && memcmp(end + 8, magic, sizeof magic) == 0;
}

static int check_side_file(const char *path, const char *suffix, const struct stat *database) {
  char file[CORE_PATH_MAX];
  struct stat status;

  TRY(core_files_path(file, "%s%s", path, suffix));
  if (lstat(file, &status) < 0) return CORE_OK;
  if (!S_ISREG(status.st_mode))
    return core_error(CORE_FAIL, "%s is not a regular file, but would be read with %s; check it (ls -l), and move it "
                      "away", file, path);
  TRY(core_files_check_reading(file));

  const bool has_other_writers = (database->st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (status.st_size > 0 && strcmp(suffix, "-shm") != 0 && !has_other_writers && status.st_uid != geteuid() &&
      status.st_uid != 0 && status.st_uid != database->st_uid)
    return core_error(CORE_FAIL, "%s was written by another user (%ld), who may not write %s; move it away, or run: "
                      "sweep collect --rebuild", file, (long)status.st_uid, path);

  if (strcmp(suffix, "-journal") == 0 && names_other_file(file))
    return core_error(CORE_FAIL, "%s was not written by sweep: it names another file, which opening %s would delete; "
                      "move it away, or run: sweep collect --rebuild", file, path);
  return CORE_OK;
}

const char *const store_side_files[STORE_SIDE_FILES] = {"-wal", "-shm", "-journal"};

int store_connection_check(const char *path) {
  struct stat database;
  char *resolved = realpath(path, NULL); /* a linked database has its side files where it is */
  const char *real_path = resolved ? resolved : path;
  int code = core_files_check_reading(path);
  if (stat(path, &database) < 0) database = (struct stat){.st_mode = S_IWGRP};
  for (int i = 0; i < STORE_SIDE_FILES && code == CORE_OK; i++)
    code = check_side_file(real_path, store_side_files[i], &database);
  free(resolved);
  return code;
}

/* ---- SQLite's access to files ------------------------------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sqlite3_vfs vfs; /* a copy of SQLite's own with another xOpen */
static int (*open_original)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);

/* Opens a file except a super-journal, whose content and name decide which files SQLite deletes. */
static int open_member(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags, int *result_flags) {
  file->pMethods = NULL;
  if (flags & SQLITE_OPEN_SUPER_JOURNAL) return SQLITE_CANTOPEN;
  return open_original(self, name, file, flags, result_flags);
}

/* Replaces open(2) in SQLite: neither follows a link nor waits for a pipe. Directories are opened to be synced, and
 * devices of /dev for random numbers. */
static int open_regular(const char *path, int flags, int mode) {
  struct stat status;
  const int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
  if (fd < 0 || strncmp(path, "/dev/", 5) == 0) return fd;
  if (fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return fd;
  close(fd);
  errno = ELOOP;
  return -1;
}

static void register_vfs(void) {
  sqlite3_vfs *original = sqlite3_vfs_find(NULL);
  if (!original) return;
  vfs = *original;
  vfs.zName = "sweep";
  open_original = original->xOpen;
  vfs.xOpen = open_member;
  if (vfs.iVersion >= 3 && vfs.xSetSystemCall)
    vfs.xSetSystemCall(original, "open", (sqlite3_syscall_ptr)open_regular);
  sqlite3_vfs_register(&vfs, false);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static atomic_bool is_stopped;

void store_database_stop_queries(void) { atomic_store(&is_stopped, true); }

/* Ends a query once the program has been asked to stop, also by a signal that it blocks and has yet to wait for, or
 * once the connection's time is over. */
static int should_stop(void *context) {
  sigset_t pending;
  const StoreDatabase *database = context;
  if (atomic_load(&is_stopped)) return 1;
  if (database && core_clock_s() >= database->queries_end_s) return 1;
  return sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

void store_database_end_queries_at(StoreDatabase *database, double time_s) {
  database->queries_end_s = time_s;
  sqlite3_progress_handler(database->handle, OPERATIONS_PER_CHECK, should_stop, time_s > 0 ? database : NULL);
}

/* Applies what SQLite recommends for files of unknown origin (sqlite.org/security.html). */
static int restrict_connection(sqlite3 *handle) {
  static const int options[][2] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, /* does not concern temporary views */
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) sqlite3_db_config(handle, options[i][0], options[i][1],
                                                                                  NULL);
  sqlite3_busy_timeout(handle, STORE_BUSY_MS);
  sqlite3_extended_result_codes(handle, 1);
  store_schema_limit(handle);
  return sqlite3_exec(handle, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

int store_connection_open(const char *path, int flags, bool is_immutable, sqlite3 **handle) {
  CoreText uri = {0};
  *handle = NULL;
  pthread_once(&once, register_vfs);
  if (!vfs.zName) return SQLITE_NOMEM;

  if (is_immutable) {
    core_text_append(&uri, "file:");
    for (const char *c = path; *c; c++)
      core_text_appendf(&uri, *c == '%' || *c == '?' || *c == '#' ? "%%%02x" : "%c", (unsigned char)*c);
    core_text_append(&uri, "?immutable=1");
    flags |= SQLITE_OPEN_URI;
  }
  int status = sqlite3_open_v2(is_immutable ? core_text_string(&uri) : path, handle, flags | SQLITE_OPEN_NOMUTEX,
                               vfs.zName);
  core_text_free(&uri);

  if (status == SQLITE_OK) status = restrict_connection(*handle);
  return status;
}

int store_connection_accept(sqlite3 *handle, const char *path) {
  TRY(store_schema_check(handle, path));
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
  sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES_MAX);
  sqlite3_progress_handler(handle, OPERATIONS_PER_CHECK, should_stop, NULL);
  return CORE_OK;
}
