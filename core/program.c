/* The running program's place (program.h). */
#include "core/program.h"

#include <string.h>
#include <unistd.h>

#include "core/error.h"

int core_program_path(char path[CORE_PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, CORE_PATH_MAX - 1);
  if (length <= 0) return core_error_errno(CORE_FAIL, "/proc/self/exe");
  path[length] = '\0';
  return CORE_OK;
}

int core_program_folder(char folder[CORE_PATH_MAX]) {
  TRY(core_program_path(folder));
  *strrchr(folder, '/') = '\0'; /* the path is a whole one */
  return CORE_OK;
}
