/* Bounded reads, writes that survive crashes and full disks, and directories. files_guard.c opens files that are
 * written in place, files_lock.c has locks. */
#include "core/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/files_internal.h"
#include "core/memory.h"

enum { READ_DEFAULT_MAX = 64 << 20, LEFTOVER_AGE_S = 3600 };

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* Reads to the end instead of trusting st_size, which is 0 for files of /proc, and which may grow meanwhile. */
static int read_all(int fd, const char *path, size_t max_bytes, char **data, size_t *size) {
  struct stat status;
  size_t capacity = 4096, length = 0;
  if (fstat(fd, &status) == 0 && status.st_size > 0 && (size_t)status.st_size <= max_bytes)
    capacity = (size_t)status.st_size + 1;
  char *bytes = core_memory_allocate(capacity + 1);

  for (;;) {
    ssize_t count = read(fd, bytes + length, capacity - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      int code = core_error_errno(CORE_FAIL, "cannot read %s", path);
      free(bytes);
      return code;
    }
    if (count == 0) break;
    length += (size_t)count;
    if (length > max_bytes) {
      free(bytes);
      return core_error(CORE_FAIL, "cannot read %s: it is larger than %zu bytes", path, max_bytes);
    }
    if (length == capacity) {
      capacity *= 2;
      bytes = core_memory_resize(bytes, capacity + 1);
    }
  }

  bytes[length] = '\0';
  *data = bytes;
  *size = length;
  return CORE_OK;
}

int core_files_open_plain(const char *path, FILE **file) {
  int fd;
  TRY(core_files_open_reading(path, &fd));
  *file = fdopen(fd, "rb");
  if (*file) return CORE_OK;
  const int code = core_error_errno(CORE_FAIL, "cannot read %s", path);
  close(fd);
  return code;
}

/* Opens a file of any kind outside of the workspace, since command lines may name links and pipes. */
static int open_any(const char *path, int *fd) {
  if (core_files_is_guarded(path)) return core_files_open_reading(path, fd);
  *fd = open(path, O_RDONLY | O_CLOEXEC);
  return *fd >= 0 ? CORE_OK : core_error_errno(CORE_FAIL, "cannot read %s", path);
}

int core_files_read(const char *path, size_t max_bytes, char **data, size_t *size) {
  int fd;
  *data = NULL;
  *size = 0;
  TRY(open_any(path, &fd));
  int code = read_all(fd, path, max_bytes ? max_bytes : READ_DEFAULT_MAX, data, size);
  close(fd);
  return code;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

/* WRITE_OWN: synced, and writable by this user only. */
typedef enum WriteKind { WRITE_SYNCED, WRITE_OWN, WRITE_UNSYNCED } WriteKind;

static int write_all(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t count = write(fd, data, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    data += count;
    size -= (size_t)count;
  }
  return 0;
}

/* Makes a name that no other thread or process uses. It is hidden, so that listings can tell it from data. */
static int temporary_name(const char *name, char *temporary) {
  static atomic_uint counter;
  return core_files_path(temporary, ".%s.%ld-%u.tmp", name, (long)getpid(), atomic_fetch_add(&counter, 1));
}

/* Syncs a directory, or else a power failure might lose a new name. File systems that cannot do it are not an error. */
static int sync_directory(int directory) {
  int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : -1; /* writable, but not readable */
  int failed = fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS;
  int number = errno;
  close(fd);
  errno = number;
  return failed ? -1 : 0;
}

static int replace_in(int directory, const char *name, const char *path, const void *data, size_t size,
                      WriteKind kind) {
  const bool sync = kind != WRITE_UNSYNCED;
  char temporary[CORE_PATH_MAX];

  TRY(temporary_name(name, temporary));
  unlinkat(directory, temporary, 0); /* left by a killed process with the same number */
  int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return core_error_errno(CORE_FAIL, "cannot write %s", path);
  bool written = (kind != WRITE_OWN || fchmod(fd, 0644) == 0) && write_all(fd, data, size) == 0 &&
                 (!sync || fsync(fd) == 0);
  int number = errno;
  if (close(fd) < 0 && written) { /* network file systems report a full disk here */
    written = false;
    number = errno;
  }

  if (written && renameat(directory, temporary, directory, name) < 0) {
    written = false;
    number = errno;
  }
  if (!written) {
    unlinkat(directory, temporary, 0);
    errno = number;
    return core_error_errno(CORE_FAIL, "cannot write %s", path);
  }

  if (sync && sync_directory(directory) < 0)
    return core_error_errno(CORE_FAIL, "%s was written, but cannot sync its directory", path);
  return CORE_OK;
}

static bool is_device_or_pipe(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode) || S_ISFIFO(status.st_mode));
}

static int write_into(const char *path, const void *data, size_t size) {
  struct stat status;
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return core_error_errno(CORE_FAIL, "cannot write %s", path);
  errno = EAGAIN; /* a file has replaced the device */
  const bool written = fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && write_all(fd, data, size) == 0;
  const int number = errno;
  if (close(fd) == 0 && written) return CORE_OK;
  if (!written) errno = number;
  return core_error_errno(CORE_FAIL, "cannot write %s", path);
}

static int write_replacing(const char *path, const void *data, size_t size, WriteKind kind) {
  char parent[CORE_PATH_MAX];
  const char *name;
  int directory;
  if (!core_files_is_guarded(path) && is_device_or_pipe(path)) return write_into(path, data, size);
  TRY(core_files_parent(path, parent, &name));
  TRY(core_files_enter(parent, false, "cannot write", path, &directory));
  int code = replace_in(directory, name, path, data, size, kind);
  close(directory);
  return code;
}

int core_files_write_atomic(const char *path, const void *data, size_t size) {
  return write_replacing(path, data, size, WRITE_SYNCED);
}

int core_files_write_own(const char *path, const void *data, size_t size) {
  return write_replacing(path, data, size, WRITE_OWN);
}

int core_files_write_unsynced(const char *path, const void *data, size_t size) {
  return write_replacing(path, data, size, WRITE_UNSYNCED);
}

/* ---- directories ---------------------------------------------------------------------------------------------- */

/* Returns an error that names the owner of the parent directory and how to share it with a group. */
static int make_permission_error(const char *path) {
  char directory[CORE_PATH_MAX];
  struct stat status;
  TRY(core_files_parent(path, directory, NULL));
  const struct passwd *owner = stat(directory, &status) == 0 ? getpwuid(status.st_uid) : NULL;
  if (!owner) return core_error(CORE_FAIL, "cannot create directory %s: Permission denied", path);
  return core_error(CORE_FAIL,
                    "cannot create directory %s: Permission denied; %s belongs to %s, who can let the group write by "
                    "chmod g+w (and create it under umask 002)",
                    path, directory, owner->pw_name);
}

static int make_directory(const char *path) {
  struct stat status;
  if (mkdir(path, 0777) == 0) return CORE_OK;
  int number = errno;
  /* Existing directories may give EROFS and EACCES, too. */
  if (stat(path, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return CORE_OK;
    return core_error(CORE_FAIL, "cannot create directory %s: a file of that name exists", path);
  }
  if (number == EACCES) return make_permission_error(path);
  errno = number;
  return core_error_errno(CORE_FAIL, "cannot create directory %s", path);
}

/* Creates a directory below the guarded one. On error with errno == 0, for a refused link, the message is set; the
 * caller reports other errors. */
static int make_guarded(const char *path) {
  int directory;
  TRY(core_files_enter(path, true, "cannot create directory", path, &directory));
  close(directory);
  return CORE_OK;
}

int core_files_make_directories(const char *path) {
  char prefix[CORE_PATH_MAX];
  if (core_files_is_guarded(path)) {
    if (make_guarded(path) == CORE_OK) return CORE_OK;
    if (errno == 0) return CORE_FAIL;
  }
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

/* ---- removing and renaming --------------------------------------------------------------------------------------- */

/* Tree being removed. Everything below its parent is reached by descriptors that follow no link, since others may
 * exchange a directory for a link to one of ours meanwhile. */
typedef struct Tree {
  int parent;  /* directory that has the tree */
  long moved;  /* number of directories that were too deep, and have been moved into `parent` (moved_name) */
} Tree;

enum { TREE_DEPTH_MAX = 64 /* each level has a descriptor open */, TREE_PASSES = 16 };

static void moved_name(long number, char name[64]) {
  snprintf(name, 64, ".removed.%ld-%ld.tmp", (long)getpid(), number);
}

static int remove_entry(Tree *tree, int directory, const char *name, int depth);

/* Removes what the directory contains, and closes it. Returns -1 with errno. */
static int remove_entries(Tree *tree, int fd, int depth) {
  DIR *directory = fdopendir(fd);
  int result = 0, number = 0;

  if (!directory) {
    number = errno;
    close(fd);
    errno = number;
    return -1;
  }
  while (result == 0) {
    errno = 0;
    const struct dirent *entry = readdir(directory);
    if (!entry) break;
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      result = remove_entry(tree, fd, entry->d_name, depth);
  }

  /* The error of readdir() outlives closedir(). */
  number = errno;
  closedir(directory);
  errno = number;
  return result == 0 && number == 0 ? 0 : -1;
}

/* Removes a directory. If it gets new entries meanwhile or becomes a link, tries again, a few times. */
static int remove_directory(Tree *tree, int directory, const char *name, int depth) {
  for (int pass = 0;; pass++) {
    if (unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
    if (errno == ENOTDIR && unlinkat(directory, name, 0) == 0) return 0;
    if ((errno != ENOTEMPTY && errno != EEXIST && errno != EISDIR) || pass == TREE_PASSES) return -1;
    const int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) continue; /* a link by now */
    if (fd < 0 || remove_entries(tree, fd, depth + 1) < 0) return -1;
  }
}

/* Removes a file, link or directory. A directory that is too deep is moved next to the tree, to be removed later. */
static int remove_entry(Tree *tree, int directory, const char *name, int depth) {
  char moved[64];
  struct stat status;

  if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) return 0;
  const int number = errno; /* EISDIR, or EPERM by POSIX */
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode)) {
    errno = number;
    return -1;
  }

  if (depth == TREE_DEPTH_MAX) {
    moved_name(tree->moved, moved);
    if (renameat(directory, name, tree->parent, moved) < 0) return -1;
    tree->moved++;
    return 0;
  }
  return remove_directory(tree, directory, name, depth);
}

static int remove_tree(int parent, const char *name) {
  Tree tree = {.parent = parent};
  char moved[64];
  int result = remove_entry(&tree, parent, name, 0);
  for (long i = 0; result == 0 && i < tree.moved; i++) {
    moved_name(i, moved);
    result = remove_entry(&tree, parent, moved, 0);
  }
  return result;
}

/* Opens the directory that has the file. *directory is -1 if there is none. */
static int enter_parent(const char *path, const char **name, int *directory) {
  char parent[CORE_PATH_MAX];
  *directory = -1;
  TRY(core_files_parent(path, parent, name));
  if (core_files_enter(parent, false, "cannot remove", path, directory) == CORE_OK) return CORE_OK;
  if (errno != ENOENT) return CORE_FAIL;
  core_error_clear();
  return CORE_OK;
}

int core_files_remove_tree(const char *path) {
  char clean[CORE_PATH_MAX];
  const char *name;
  int directory;
  TRY(core_files_path(clean, "%s", path));
  size_t length = strlen(clean);
  while (length && clean[length - 1] == '/') clean[--length] = '\0';
  const char *slash = strrchr(clean, '/'), *last = slash ? slash + 1 : clean;
  if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
    return core_error(CORE_USAGE, "cannot remove '%s': name a directory", path);
  TRY(enter_parent(clean, &name, &directory));
  if (directory < 0) return CORE_OK;
  const int code = remove_tree(directory, name) == 0 ? CORE_OK : core_error_errno(CORE_FAIL, "cannot remove %s", path);
  close(directory);
  return code;
}

/* Renames the entry to `renamed`, in place of what an earlier removal has left of it. Returns -1 with errno. */
static int rename_for_removal(int directory, const char *name, const char *renamed) {
  if (renameat(directory, name, directory, renamed) == 0 || errno == ENOENT) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR && errno != EISDIR) return -1;
  if (remove_tree(directory, renamed) < 0) return -1;
  return renameat(directory, name, directory, renamed) == 0 || errno == ENOENT ? 0 : -1;
}

int core_files_remove_renamed(const char *path, const char *renamed) {
  const char *name;
  int directory;
  TRY(enter_parent(path, &name, &directory));
  if (directory < 0) return CORE_OK;
  const bool is_removed =
      rename_for_removal(directory, name, renamed) == 0 && remove_tree(directory, renamed) == 0;
  const int code = is_removed ? CORE_OK : core_error_errno(CORE_FAIL, "cannot remove %s", path);
  close(directory);
  return code;
}

int core_files_remove(const char *path) {
  const char *name;
  int directory;
  TRY(enter_parent(path, &name, &directory));
  if (directory < 0) return CORE_OK;
  const bool is_removed = unlinkat(directory, name, 0) == 0 || errno == ENOENT;
  const int code = is_removed ? CORE_OK : core_error_errno(CORE_FAIL, "cannot remove %s", path);
  close(directory);
  return code;
}

int core_files_rename(const char *from, const char *to) {
  char from_parent[CORE_PATH_MAX], to_parent[CORE_PATH_MAX];
  const char *from_name, *to_name;
  int source, target;

  TRY(core_files_parent(from, from_parent, &from_name));
  TRY(core_files_parent(to, to_parent, &to_name));
  TRY(core_files_enter(from_parent, false, "cannot rename", from, &source));
  int code = core_files_enter(to_parent, false, "cannot write", to, &target), number = errno;
  if (code == CORE_OK) {
    number = renameat(source, from_name, target, to_name) == 0 ? 0 : errno;
    errno = number;
    if (number) code = core_error_errno(CORE_FAIL, "cannot rename %s to %s", from, to);
    close(target);
  }

  close(source);
  errno = number;
  return code;
}

/* Whether the name is ".NAME.PID-N.tmp" (temporary_name, moved_name) of a process that is gone. Processes of other
 * hosts are unknown here, so the file must be old, too. */
static bool is_leftover(const char *path, const char *name) {
  struct stat status;
  long pid;
  unsigned number;
  int end = 0;
  const size_t length = strlen(name);
  const char *dot = length > 4 && strcmp(name + length - 4, ".tmp") == 0 ? memrchr(name, '.', length - 4) : NULL;
  if (*name != '.' || !dot || dot == name || sscanf(dot, ".%ld-%u.tmp%n", &pid, &number, &end) != 2 ||
      end == 0 || dot[end] || pid <= 0)
    return false;
  if (lstat(path, &status) < 0 || time(NULL) - status.st_mtime < LEFTOVER_AGE_S) return false;
  return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

void core_files_remove_leftovers(const char *directory) {
  char path[CORE_PATH_MAX], **names;
  size_t count = 0;
  if (core_files_list(directory, &names, &count) != CORE_OK) core_error_clear();
  for (size_t i = 0; i < count; i++) {
    if (core_files_path(path, "%s/%s", directory, names[i]) != CORE_OK ||
        (is_leftover(path, names[i]) && core_files_remove_tree(path) != CORE_OK))
      core_error_clear();
    free(names[i]);
  }
  free(names);
}

/* ---- paths and lists -------------------------------------------------------------------------------------------- */

int core_files_path(char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(path, CORE_PATH_MAX, format, arguments);
  va_end(arguments);
  if (length >= 0 && length < CORE_PATH_MAX) return CORE_OK;
  return core_error(CORE_USAGE, "path too long (%d bytes, at most %d are allowed): %.60s...", length, CORE_PATH_MAX - 1,
                    path);
}

int core_files_path_in(const char *directory, const char *name, char path[CORE_PATH_MAX]) {
  if (*name == '/') return core_files_path(path, "%s", name);
  return core_files_path(path, "%s/%s", directory, name);
}

bool core_files_is_own(const struct stat *status) {
  return status->st_uid == geteuid() && status->st_nlink == 1 && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int core_files_list(const char *path, char ***names, size_t *count) {
  *names = NULL;
  *count = 0;
  DIR *directory = opendir(path);
  if (!directory) return core_error_errno(CORE_FAIL, "cannot list directory %s", path);
  char **list = NULL;
  size_t used = 0, capacity = 0;
  struct dirent *entry;

  for (;;) {
    errno = 0;
    entry = readdir(directory);
    if (!entry) break;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (used == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      list = core_memory_resize(list, capacity * sizeof *list);
    }
    list[used++] = core_text_duplicate(entry->d_name);
  }

  int number = errno;
  closedir(directory);
  if (number) {
    while (used) free(list[--used]);
    free(list);
    errno = number;
    return core_error_errno(CORE_FAIL, "cannot list directory %s", path);
  }

  if (used) qsort(list, used, sizeof *list, by_name);
  *names = list;
  *count = used;
  return CORE_OK;
}
