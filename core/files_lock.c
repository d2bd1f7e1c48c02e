/* Locks that end with their process. Waiting for one has a timeout, and logs the holder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/terminal.h"

enum { NOTICE_AFTER_S = 5, HOLDER_BYTES = 320 };

/* Writes this process and its host into the file, for messages of others. F_GETLK would give only a process number,
 * which is meaningless if the holder is on another host. */
static void write_holder(int fd) {
  char host[256] = "unknown host", text[HOLDER_BYTES];
  gethostname(host, sizeof host - 1);
  int length = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
  /* Ignore errors: a full disk must not make the lock fail. A file that was truncated to nothing would be flushed when
   * it is closed (ext4's auto_da_alloc): a disk access for each of 100 000 runs that are removed. */
  if (pwrite(fd, text, (size_t)length, 0) == length && ftruncate(fd, length) < 0) return;
}

/* Reads the holder from the file as printable text. */
static void read_holder(int fd, char holder[HOLDER_BYTES]) {
  ssize_t length = pread(fd, holder, HOLDER_BYTES - 1, 0);
  holder[length > 0 ? length : 0] = '\0';
  holder[strcspn(holder, "\n")] = '\0';
  for (char *c = holder; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
  if (!*holder) snprintf(holder, HOLDER_BYTES, "another process");
}

/* Polls for the lock, since the kernel's wait has no timeout. Returns 0, or -1 with errno; EAGAIN: timed out. */
static int acquire(const char *path, int file, double wait_s) {
  const double started_s = core_clock_s();
  char holder[HOLDER_BYTES];
  bool is_reported = false;
  for (long pause_ns = 5000000;; pause_ns = pause_ns < 250000000 ? 2 * pause_ns : pause_ns) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_SETLK, &lock) == 0) return 0;
    if (errno != EACCES && errno != EAGAIN && errno != EINTR) return -1;

    const double waited_s = core_clock_s() - started_s;
    if (waited_s >= wait_s) {
      errno = EAGAIN;
      return -1;
    }

    if (!is_reported && waited_s > NOTICE_AFTER_S) {
      read_holder(file, holder);
      core_info("waiting for %s, which has locked %s (for %.0f s at most)", holder, path, wait_s);
      is_reported = true;
    }
    nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
  }
}

int core_files_lock_within(const char *path, double wait_s, int *fd) {
  char holder[HOLDER_BYTES];
  int file, code;
  *fd = -1;
  TRY(core_files_open(path, CORE_FILES_UPDATE, &file));

  if (acquire(path, file, wait_s) == 0) {
    write_holder(file);
    *fd = file;
    return CORE_OK;
  }

  if (errno == EAGAIN) {
    read_holder(file, holder);
    code = wait_s <= 0
               ? core_error(CORE_FAIL, "%s is locked by %s", path, holder)
               : core_error(CORE_FAIL, "%s is locked by %s for more than %.0f s; wait for that process or end it", path,
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
