/* LD_PRELOAD of tests: a disk that fails at the N-th change that a program makes to files.
 *
 *   DISK_FAULT=full:N    from then on nothing can be written or made (ENOSPC)
 *   DISK_FAULT=error:N   that one change fails (EIO)
 *   DISK_FAULT=kill:N    the program is killed instead of it
 *   DISK_FAULT=count:0   nothing fails
 *   DISK_COUNT=FILE      gets the number of changes at the program's end
 *
 * Changes are writes, syncs, cuts, new files and directories, new names and removals. Processes that this one starts
 * have sound disks. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name)                                                           \
  static __typeof__(&name) real;                                             \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define TRY_CHANGE(takes_space, is_counted)                                  \
  do {                                                                       \
    if ((is_counted) && fails(takes_space)) return -1;                       \
  } while (0)

static enum { SOUND, COUNTED, FULL, ERROR, KILL } kind;
static long first, changes;

static void repair(void) { kind = SOUND; }

__attribute__((constructor)) static void read_settings(void) {
  static const char *const words[] = {[COUNTED] = "count", [FULL] = "full", [ERROR] = "error", [KILL] = "kill"};
  const char *fault = getenv("DISK_FAULT");
  unsetenv("LD_PRELOAD");
  pthread_atfork(NULL, NULL, repair);
  for (size_t i = COUNTED; fault && i <= KILL; i++) {
    const size_t length = strlen(words[i]);
    if (strncmp(fault, words[i], length) != 0 || fault[length] != ':') continue;
    kind = i;
    first = strtol(fault + length + 1, NULL, 10);
  }
}

__attribute__((destructor)) static void write_count(void) {
  const char *path = getenv("DISK_COUNT");
  char text[32];
  const int length = snprintf(text, sizeof text, "%ld\n", changes);
  if (!path) return;
  kind = SOUND;
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || syscall(SYS_write, fd, text, length) != length) _exit(99);
  close(fd);
}

/* Whether this change fails, with errno. */
static int fails(int takes_space) {
  const long number = ++changes;
  if (kind == FULL && number >= first && takes_space) return errno = ENOSPC;
  if (kind == ERROR && number == first) return errno = EIO;
  if (kind == KILL && number == first) kill(getpid(), SIGKILL);
  return 0;
}

/* Whether it is a file or directory of a disk: neither a terminal or pipe, nor in memory. */
static int is_on_disk(int fd) {
  struct stat status;
  char link[64], path[PATH_MAX];
  if (kind == SOUND || fstat(fd, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/memfd:", 7) != 0;
}

ssize_t write(int fd, const void *data, size_t size) {
  REAL(write);
  TRY_CHANGE(1, is_on_disk(fd));
  return real(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  REAL(pwrite);
  TRY_CHANGE(1, is_on_disk(fd));
  return real(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return pwrite(fd, data, size, offset); }

int fsync(int fd) {
  REAL(fsync);
  TRY_CHANGE(0, is_on_disk(fd));
  return real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  TRY_CHANGE(0, is_on_disk(fd));
  return real(fd);
}

int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  TRY_CHANGE(0, is_on_disk(fd));
  return real(fd, size);
}

int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

int rename(const char *from, const char *to) {
  REAL(rename);
  TRY_CHANGE(0, kind);
  return real(from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
  REAL(renameat);
  TRY_CHANGE(0, kind);
  return real(from_directory, from, to_directory, to);
}

int unlink(const char *path) {
  REAL(unlink);
  TRY_CHANGE(0, kind);
  return real(path);
}

int unlinkat(int directory, const char *name, int flags) {
  REAL(unlinkat);
  TRY_CHANGE(0, kind);
  return real(directory, name, flags);
}

int remove(const char *path) {
  REAL(remove);
  TRY_CHANGE(0, kind);
  return real(path);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  TRY_CHANGE(1, kind);
  return real(path, mode);
}

int mkdirat(int directory, const char *name, mode_t mode) {
  REAL(mkdirat);
  TRY_CHANGE(1, kind);
  return real(directory, name, mode);
}

/* The mode of a file that may be made. */
#define MODE(mode, flags)                 \
  mode_t mode = 0;                        \
  if ((flags) & (O_CREAT | O_TMPFILE)) {  \
    va_list list;                         \
    va_start(list, flags);                \
    mode = va_arg(list, mode_t);          \
    va_end(list);                         \
  }

int open(const char *path, int flags, ...) {
  REAL(open);
  MODE(mode, flags);
  TRY_CHANGE(1, kind && (flags & O_CREAT));
  return real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  REAL(open64);
  MODE(mode, flags);
  TRY_CHANGE(1, kind && (flags & O_CREAT));
  return real(path, flags, mode);
}

int openat(int directory, const char *name, int flags, ...) {
  REAL(openat);
  MODE(mode, flags);
  TRY_CHANGE(1, kind && (flags & O_CREAT));
  return real(directory, name, flags, mode);
}

int openat64(int directory, const char *name, int flags, ...) {
  REAL(openat64);
  MODE(mode, flags);
  TRY_CHANGE(1, kind && (flags & O_CREAT));
  return real(directory, name, flags, mode);
}
