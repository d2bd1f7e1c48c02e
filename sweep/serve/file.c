/* Walks from runs/ down without following links. runs/ itself may be a link to another disk. */
#include "sweep/serve/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/workspace/paths.h"
#include "sweep/serve/routes.h"

static int file_error(const char *name) {
  if (errno == ENOENT) return core_error(SERVE_NOT_FOUND, "the run has no %s", name);
  if (errno == ELOOP || errno == ENOTDIR)
    return core_error(CORE_FAIL, "%s: a directory of its path is a symbolic link or not a directory", name);
  return core_error_errno(CORE_FAIL, "cannot read %s", name);
}

/* Opens the directory `name` in `parent`, which is closed; -1: errno is set. */
static int open_directory(int parent, const char *name) {
  const int next = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), number = errno;
  close(parent);
  errno = number;
  return next;
}

int serve_file_open(const char *root, const char *id, const char *name, int *fd, off_t *size) {
  char path[CORE_PATH_MAX], folder[STORE_RUN_DIRECTORY], *save = NULL;
  struct stat status;
  *fd = -1;
  TRY(store_path_run_directory(id, folder));
  TRY(core_files_path(path, "%s/runs", root));

  int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  char *piece = strtok_r(folder + strlen("runs/"), "/", &save);
  for (; piece && directory >= 0; piece = strtok_r(NULL, "/", &save)) directory = open_directory(directory, piece);
  if (directory < 0) return file_error(name);

  const int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), number = errno;
  close(directory);
  errno = number;
  if (file < 0) return file_error(name);
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return core_error(CORE_FAIL, "%s is not a regular file", name);
  }

  *fd = file;
  *size = status.st_size;
  return CORE_OK;
}
