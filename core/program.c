/* Location of the running program (program.h). */
#include "core/program.h"

#include <string.h>
#include <unistd.h>

#include "core/error.h"

int core_program_path(char path[CORE_PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, CORE_PATH_MAX - 1);
  if (length <= 0) return core_error_errno(CORE_FAIL, "/proc/self/exe");
  path[length] = '\0';
  /* After an upgrade, the running file has no name; the new one has its place. */
  static const char deleted[] = " (deleted)";
  const size_t suffix = sizeof deleted - 1;
  if ((size_t)length > suffix && strcmp(path + length - suffix, deleted) == 0 && access(path, F_OK) < 0)
    path[(size_t)length - suffix] = '\0';
  return CORE_OK;
}

int core_program_directory(char directory[CORE_PATH_MAX]) {
  TRY(core_program_path(directory));
  *strrchr(directory, '/') = '\0'; /* the path is absolute */
  return CORE_OK;
}

int core_program_library_file(const char *name, char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];
  TRY(core_program_path(directory));
  for (char *slash; (slash = strrchr(directory, '/')) != NULL;) {
    *slash = '\0';
    TRY(core_files_path(path, "%s/lib/sweep/%s", directory, name));
    if (core_files_exists(path)) return CORE_OK;
  }
  return core_error(CORE_FAIL, "lib/sweep/%s is not there; make it with `make`, or install it with `make install`",
                    name);
}
