/* Locates the libraries of MuJoCo and Procgen (code.h). */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/code/code.h"

#ifndef CORE_MUJOCO_HOME
#define CORE_MUJOCO_HOME "" /* built without MuJoCo */
#endif

/* Returns a directory named by the environment, or else the one of the build. */
static const char *find_home(const char *variable, const char *build_home) {
  const char *home = getenv(variable);
  return home && *home ? home : build_home;
}

bool store_code_mujoco(const char **home, char path[CORE_PATH_MAX]) {
  char pattern[CORE_PATH_MAX];
  glob_t found;
  *home = find_home("MUJOCO_HOME", CORE_MUJOCO_HOME);
  if (!**home || snprintf(pattern, sizeof pattern, "%s/lib/libmujoco.so*", *home) >= (int)sizeof pattern) return false;
  const bool any = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
  const bool fits = any && snprintf(path, CORE_PATH_MAX, "%s", found.gl_pathv[found.gl_pathc - 1]) < CORE_PATH_MAX;
  globfree(&found);
  return fits;
}

int store_code_procgen(const char **home, char path[CORE_PATH_MAX]) {
  *home = find_home("PROCGEN_HOME", CORE_PROCGEN_HOME);
  return core_files_path(path, "%s/procgen/data/prebuilt/libenv.so", *home);
}
