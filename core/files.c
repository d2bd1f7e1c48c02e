/* Files and folders for every program: reads that are bounded, writes that survive crashes and full disks, locks that
 * end with their process. Knows nothing of what is inside. */
#include "core/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

enum { READ_DEFAULT_MAX = 64 << 20 };

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* Reads to the end instead of trusting st_size: files of /proc say 0, and a file may grow meanwhile. */
static int read_all(int fd, const char *path, size_t max_bytes, char **data, size_t *size) {
  struct stat status;
  size_t capacity = 4096, length = 0;
  if (fstat(fd, &status) == 0 && status.st_size > 0 && (size_t)status.st_size <= max_bytes)
    capacity = (size_t)status.st_size + 1;
  char *bytes = core_memory_allocate(capacity + 1);
  for (;;) {
    ssize_t got = read(fd, bytes + length, capacity - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      int code = core_error_errno(CORE_FAIL, "cannot read %s", path);
      free(bytes);
      return code;
    }
    if (got == 0) break;
    length += (size_t)got;
    if (length > max_bytes) {
      free(bytes);
      return core_error(CORE_FAIL, "cannot read %s: it is larger than %zu bytes", path, max_bytes);
    }
    if (length == capacity) bytes = core_memory_resize(bytes, (capacity *= 2) + 1);
  }
  bytes[length] = '\0';
  *data = bytes;
  *size = length;
  return CORE_OK;
}

int core_files_read(const char *path, size_t max_bytes, char **data, size_t *size) {
  *data = NULL;
  *size = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
  int code = read_all(fd, path, max_bytes ? max_bytes : READ_DEFAULT_MAX, data, size);
  close(fd);
  return code;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static int write_all(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t put = write(fd, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return -1;
    data += put;
    size -= (size_t)put;
  }
  return 0;
}

/* The folder of `path` as text that open() takes: "." when the path has none. */
static int parent_folder(const char *path, char *folder) {
  const char *slash = strrchr(path, '/');
  if (!slash) return core_files_path(folder, ".");
  if (slash == path) return core_files_path(folder, "/");
  return core_files_path(folder, "%.*s", (int)(slash - path), path);
}

/* A name that no other thread or process uses; hidden, so that listings of a folder's files can tell it from data. */
static int temporary_name(const char *path, const char *folder, char *temporary) {
  static atomic_uint counter;
  const char *slash = strrchr(path, '/');
  return core_files_path(temporary, "%s/.%s.%ld-%u.tmp", folder, slash ? slash + 1 : path, (long)getpid(),
                         atomic_fetch_add(&counter, 1));
}

/* Without this the new name itself may be lost in a power cut. Some file systems can not do it; that is no failure. */
static int sync_folder(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : -1; /* a folder that may be written but not read */
  int failed = fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS;
  int number = errno;
  close(fd);
  errno = number;
  return failed ? -1 : 0;
}

static int write_replacing(const char *path, const void *data, size_t size, bool sync) {
  char folder[CORE_PATH_MAX], temporary[CORE_PATH_MAX];
  TRY(parent_folder(path, folder));
  TRY(temporary_name(path, folder, temporary));
  unlink(temporary); /* left over by a killed process that had our number */
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return core_error_errno(CORE_FAIL, "cannot write %s", path);
  bool written = write_all(fd, data, size) == 0 && (!sync || fsync(fd) == 0);
  int number = errno;
  if (close(fd) < 0 && written) { /* network file systems report a full disk here */
    written = false;
    number = errno;
  }
  if (written && rename(temporary, path) < 0) {
    written = false;
    number = errno;
  }
  if (!written) {
    unlink(temporary);
    errno = number;
    return core_error_errno(CORE_FAIL, "cannot write %s", path);
  }
  if (sync && sync_folder(folder) < 0)
    return core_error_errno(CORE_FAIL, "%s was written, but its folder can not be brought to disk", path);
  return CORE_OK;
}

int core_files_write_atomic(const char *path, const void *data, size_t size) {
  return write_replacing(path, data, size, true);
}

int core_files_replace(const char *path, const void *data, size_t size) {
  return write_replacing(path, data, size, false);
}

/* ---- folders -------------------------------------------------------------------------------------------------- */

/* Whose folder it is in which nothing may be made, and what lets a group share it. */
static int make_no_folder(const char *path) {
  char folder[CORE_PATH_MAX];
  struct stat status;
  TRY(parent_folder(path, folder));
  const struct passwd *owner = stat(folder, &status) == 0 ? getpwuid(status.st_uid) : NULL;
  if (!owner) return core_error(CORE_FAIL, "cannot make folder %s: Permission denied", path);
  return core_error(CORE_FAIL,
                    "cannot make folder %s: Permission denied; %s is %s's: chmod g+w there, by its owner, lets the "
                    "group write (and umask 002 before making it)",
                    path, folder, owner->pw_name);
}

static int make_directory(const char *path) {
  struct stat status;
  if (mkdir(path, 0777) == 0) return CORE_OK;
  int number = errno;
  /* Also EROFS and EACCES come for folders that are there. */
  if (stat(path, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return CORE_OK;
    return core_error(CORE_FAIL, "cannot make folder %s: a file of that name is in the way", path);
  }
  if (number == EACCES) return make_no_folder(path);
  errno = number;
  return core_error_errno(CORE_FAIL, "cannot make folder %s", path);
}

int core_files_make_directories(const char *path) {
  char prefix[CORE_PATH_MAX];
  TRY(core_files_path(prefix, "%s", path));
  for (char *c = prefix + 1; *prefix && *c; c++) {
    if (*c != '/') continue;
    *c = '\0';
    TRY(make_directory(prefix));
    *c = '/';
  }
  return make_directory(prefix);
}

bool core_files_exists(const char *path) { return access(path, F_OK) == 0; }

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
  (void)status, (void)kind, (void)where;
  return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

int core_files_remove_tree(const char *path) {
  char clean[CORE_PATH_MAX];
  TRY(core_files_path(clean, "%s", path));
  size_t length = strlen(clean);
  while (length && clean[length - 1] == '/') clean[--length] = '\0';
  const char *slash = strrchr(clean, '/'), *last = slash ? slash + 1 : clean;
  if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
    return core_error(CORE_USAGE, "will not remove '%s': name a folder", path);
  if (nftw(clean, remove_one, 32, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
    return core_error_errno(CORE_FAIL, "cannot remove %s", path);
  return CORE_OK;
}

int core_files_path(char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(path, CORE_PATH_MAX, format, arguments);
  va_end(arguments);
  if (length >= 0 && length < CORE_PATH_MAX) return CORE_OK;
  return core_error(CORE_USAGE, "a path is too long (%d bytes, at most %d are possible): %.60s...", length,
                    CORE_PATH_MAX - 1, path);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int core_files_list(const char *path, char ***names, size_t *count) {
  *names = NULL;
  *count = 0;
  DIR *folder = opendir(path);
  if (!folder) return core_error_errno(CORE_FAIL, "cannot list folder %s", path);
  char **list = NULL;
  size_t used = 0, capacity = 0;
  struct dirent *entry;
  while (errno = 0, (entry = readdir(folder))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (used == capacity) list = core_memory_resize(list, (capacity = capacity ? 2 * capacity : 64) * sizeof *list);
    list[used++] = core_text_duplicate(entry->d_name);
  }
  int number = errno;
  closedir(folder);
  if (number) {
    while (used) free(list[--used]);
    free(list);
    errno = number;
    return core_error_errno(CORE_FAIL, "cannot list folder %s", path);
  }
  if (used) qsort(list, used, sizeof *list, by_name);
  *names = list;
  *count = used;
  return CORE_OK;
}

/* ---- locks ---------------------------------------------------------------------------------------------------- */

/* The holder writes itself into the file: F_GETLK would give a process number only, which means nothing when the holder
 * sits on another machine of a shared file system. */
static void name_holder(int fd) {
  char host[256] = "unknown host", text[320];
  gethostname(host, sizeof host - 1);
  int length = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
  /* For messages only: a full disk must not stop who holds the lock. */
  if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) < 0) return;
}

static int locked_by_another(const char *path, int fd) {
  char holder[320];
  ssize_t length = pread(fd, holder, sizeof holder - 1, 0);
  holder[length > 0 ? length : 0] = '\0';
  holder[strcspn(holder, "\n")] = '\0';
  return core_error(CORE_FAIL, "%s is locked by %s", path, *holder ? holder : "another process");
}

int core_files_lock(const char *path, bool wait, int *fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int taken, code;
  *fd = -1;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return core_error_errno(CORE_FAIL, "cannot open lock file %s", path);
  do taken = fcntl(file, wait ? F_SETLKW : F_SETLK, &lock);
  while (taken < 0 && errno == EINTR);
  if (taken == 0) {
    name_holder(file);
    *fd = file;
    return CORE_OK;
  }
  if (errno == EACCES || errno == EAGAIN) code = locked_by_another(path, file);
  else code = core_error_errno(CORE_FAIL, "cannot lock %s", path);
  close(file);
  return code;
}

void core_files_unlock(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}
