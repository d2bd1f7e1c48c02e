/* Locks that end with their process. A wait for one has an end, and says for whom it waits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/terminal.h"

enum { TOLD_AFTER_S = 5, HOLDER_BYTES = 320 };

/* The holder writes itself into the file: F_GETLK would give a process number only, which means nothing when the holder
 * sits on another machine of a shared file system. */
static void name_holder(int fd) {
  char host[256] = "unknown host", text[HOLDER_BYTES];
  gethostname(host, sizeof host - 1);
  int length = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
  /* For messages only: a full disk must not stop who holds the lock. */
  if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) < 0) return;
}

/* What the file says of its holder; plain text, whoever wrote it. */
static void read_holder(int fd, char holder[HOLDER_BYTES]) {
  ssize_t length = pread(fd, holder, HOLDER_BYTES - 1, 0);
  holder[length > 0 ? length : 0] = '\0';
  holder[strcspn(holder, "\n")] = '\0';
  for (char *c = holder; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
  if (!*holder) snprintf(holder, HOLDER_BYTES, "another process");
}

/* 0, or -1 with errno: EAGAIN when another process has had it until the end. By asking again and again, as a wait
 * within the kernel has no end. */
static int take_lock(const char *path, int file, double wait_s) {
  const double begun_s = core_clock_s();
  char holder[HOLDER_BYTES];
  bool told = false;
  for (long pause_ns = 5000000;; pause_ns = pause_ns < 250000000 ? 2 * pause_ns : pause_ns) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_SETLK, &lock) == 0) return 0;
    if (errno != EACCES && errno != EAGAIN && errno != EINTR) return -1;
    const double waited_s = core_clock_s() - begun_s;
    if (waited_s >= wait_s) {
      errno = EAGAIN;
      return -1;
    }
    if (!told && waited_s > TOLD_AFTER_S) {
      read_holder(file, holder);
      core_info("waiting for %s, which has locked %s (for %.0f s at most)", holder, path, wait_s);
      told = true;
    }
    nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
  }
}

int core_files_lock_within(const char *path, double wait_s, int *fd) {
  char holder[HOLDER_BYTES];
  int file, code;
  *fd = -1;
  TRY(core_files_open(path, CORE_FILES_UPDATE, &file));
  if (take_lock(path, file, wait_s) == 0) {
    name_holder(file);
    *fd = file;
    return CORE_OK;
  }
  if (errno == EAGAIN) {
    read_holder(file, holder);
    code = wait_s <= 0 ? core_error(CORE_FAIL, "%s is locked by %s", path, holder)
                       : core_error(CORE_FAIL, "%s is locked by %s (for %.0f s and more); wait for it or end it", path,
                                    holder, wait_s);
  } else {
    code = core_error_errno(CORE_FAIL, "cannot lock %s", path);
  }
  close(file);
  return code;
}

int core_files_lock(const char *path, bool wait, int *fd) {
  return core_files_lock_within(path, wait ? CORE_FILES_LOCK_WAIT_S : 0, fd);
}

void core_files_unlock(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}
