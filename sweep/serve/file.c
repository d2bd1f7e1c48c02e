/* From runs/ down step by step, following no link (file.h). runs/ itself may be one: people put it on another disk. */
#include "sweep/serve/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/workspace/paths.h"
#include "sweep/serve/routes.h"

static int fault(const char *name) {
  if (errno == ENOENT) return core_error(SERVE_ABSENT, "the run has no %s", name);
  if (errno == ELOOP || errno == ENOTDIR)
    return core_error(CORE_FAIL, "%s is not read: a symbolic link or no folder is on the way to it", name);
  return core_error_errno(CORE_FAIL, "%s cannot be read", name);
}

/* The folder `name` in `at`, which is closed; -1. */
static int step(int at, const char *name) {
  const int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), number = errno;
  close(at);
  errno = number;
  return next;
}

int serve_file_open(const char *root, const char *id, const char *name, int *fd, off_t *size) {
  char path[CORE_PATH_MAX], folder[STORE_RUN_FOLDER], *save = NULL;
  struct stat status;
  *fd = -1;
  TRY(store_path_run_folder(root, id, folder));
  TRY(core_files_path(path, "%s/runs", root));
  int at = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (char *part = strtok_r(folder + strlen("runs/"), "/", &save); part && at >= 0; part = strtok_r(NULL, "/", &save))
    at = step(at, part);
  if (at < 0) return fault(name);
  const int file = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), number = errno;
  close(at);
  errno = number;
  if (file < 0) return fault(name);
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return core_error(CORE_FAIL, "%s is not read: it is no plain file", name);
  }
  *fd = file;
  *size = status.st_size;
  return CORE_OK;
}
