/* Reads the file system's time by creating a file, and extrapolates it with the monotonic clock. */
#include "store/workspace/run_internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"

enum { REFRESH_S = 60 };

/* Reads the time; false: no file can be created there. */
static bool read_time(const char *directory, double *unix_s) {
  char path[CORE_PATH_MAX];
  struct stat file;
  int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); /* unnamed, so that a kill leaves nothing */
  const bool is_named = fd < 0;
  if (is_named && core_files_path(path, "%s/.clock-XXXXXX", directory) != CORE_OK) return false;
  if (is_named) fd = mkostemp(path, O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = fstat(fd, &file) == 0;
  close(fd);
  if (is_named) unlink(path);
  if (ok) *unix_s = (double)file.st_mtim.tv_sec + 1e-9 * (double)file.st_mtim.tv_nsec;
  return ok;
}

double store_clock_unix_s(const char *directory) {
  static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
  static char last_directory[CORE_PATH_MAX];
  static double last_read_s, offset_s; /* time of the last read; offset from the monotonic clock */
  double unix_s;
  pthread_mutex_lock(&guard);
  const double now = core_clock_s();
  if (strcmp(last_directory, directory) != 0 || now - last_read_s > REFRESH_S) {
    offset_s = (read_time(directory, &unix_s) ? unix_s : core_clock_unix_s()) - now;
    last_read_s = now;
    snprintf(last_directory, sizeof last_directory, "%s", directory);
  }
  unix_s = now + offset_s;
  pthread_mutex_unlock(&guard);
  return unix_s;
}
