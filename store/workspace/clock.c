/* Reads the file system's time by creating a file, and extrapolates it with the monotonic clock. */
#include "store/workspace/clock_internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"

enum { ASKED_EVERY_S = 60 };

/* Reads the time; false: no file can be created there. */
static bool ask(const char *folder, double *unix_s) {
  char path[CORE_PATH_MAX];
  struct stat file;
  int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); /* unnamed, so that a kill leaves nothing */
  const bool is_named = fd < 0;
  if (is_named && core_files_path(path, "%s/.clock-XXXXXX", folder) != CORE_OK) return false;
  if (is_named) fd = mkostemp(path, O_CLOEXEC);
  if (fd < 0) return false;
  const bool good = fstat(fd, &file) == 0;
  close(fd);
  if (is_named) unlink(path);
  if (good) *unix_s = (double)file.st_mtim.tv_sec + 1e-9 * (double)file.st_mtim.tv_nsec;
  return good;
}

double store_clock_unix_s(const char *folder) {
  static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
  static char asked_folder[CORE_PATH_MAX];
  static double asked_s, offset_s; /* time of the last read; offset from the monotonic clock */
  double there;
  pthread_mutex_lock(&guard);
  const double now = core_clock_s();
  if (strcmp(asked_folder, folder) != 0 || now - asked_s > ASKED_EVERY_S) {
    offset_s = (ask(folder, &there) ? there : core_clock_unix_s()) - now;
    asked_s = now;
    snprintf(asked_folder, sizeof asked_folder, "%s", folder);
  }
  there = now + offset_s;
  pthread_mutex_unlock(&guard);
  return there;
}
