/* Locates the libraries of MuJoCo and Procgen (code.h). */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/files.h"
#include "core/process.h"
#include "store/code/code.h"

#ifndef CORE_MUJOCO_HOME
#define CORE_MUJOCO_HOME "" /* built without MuJoCo */
#endif

/* Returns the directory that the environment names, or else the one of the build. A package has none of a build; it has
 * share/sweep/NAME of the installation. */
static const char *find_home(const char *variable, const char *build_home, const char *name,
                             char installed[CORE_PATH_MAX]) {
  const char *home = getenv(variable);
  char programs[CORE_PATH_MAX];
  if (home && *home) return home;
  if (*build_home || core_program_directory(programs) != CORE_OK) return build_home;
  return core_files_path(installed, "%s/../share/sweep/%s", programs, name) == CORE_OK ? installed : build_home;
}

bool store_code_mujoco(const char **home, char path[CORE_PATH_MAX]) {
  static char installed[CORE_PATH_MAX];
  char pattern[CORE_PATH_MAX];
  glob_t found;
  *home = find_home("MUJOCO_HOME", CORE_MUJOCO_HOME, "mujoco", installed);
  if (!**home || snprintf(pattern, sizeof pattern, "%s/lib/libmujoco.so*", *home) >= (int)sizeof pattern) return false;
  const bool any = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
  const bool fits = any && snprintf(path, CORE_PATH_MAX, "%s", found.gl_pathv[found.gl_pathc - 1]) < CORE_PATH_MAX;
  globfree(&found);
  return fits;
}

int store_code_procgen(const char **home, char path[CORE_PATH_MAX]) {
  static char installed[CORE_PATH_MAX];
  *home = find_home("PROCGEN_HOME", CORE_PROCGEN_HOME, "procgen", installed);
  return core_files_path(path, "%s/procgen/data/prebuilt/libenv.so", *home);
}
