/* Finding and opening MuJoCo (mujoco_library.h). */
#include "trainer/envs/mujoco/mujoco_library.h"

#include <string.h>

#include "core/error.h"

#if CORE_HAS_MUJOCO
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/files.h"
#include "core/text.h"
#include "store/code/code.h"

MujocoLibrary mujoco;
MujocoRenderLibrary mujoco_renderer;
static void *library;            /* handle of dlopen; NULL before the library is open */
static char home[CORE_PATH_MAX]; /* directory with lib/ and models/; "" before the library is open */

#define REMEDY "; run `make mujoco`, or set MUJOCO_HOME to a directory with lib/libmujoco.so.%d.%d.%d and models/"
#define HEADER_VERSION mjVERSION_HEADER / 1000000, mjVERSION_HEADER / 1000 % 1000, mjVERSION_HEADER % 1000

/* Ignores warnings, which are also reported by mjData and by returned errors. */
static void ignore_warning(const char *text) { (void)text; }

/* Aborts on an internal error of MuJoCo. */
static void abort_on_error(const char *text) {
  fprintf(stderr, "MuJoCo: %s\n", text);
  core_error_abort(__FILE__, __LINE__, "MuJoCo has no internal error");
}

static int find_home(char directory[CORE_PATH_MAX], char path[CORE_PATH_MAX]) {
  const char *candidate;
  if (!store_code_mujoco(&candidate, path))
    return core_error(CORE_USAGE, "%.200s has no lib/libmujoco.so*" REMEDY, candidate, HEADER_VERSION);
  return core_text_copy(directory, CORE_PATH_MAX, candidate, "MUJOCO_HOME");
}

static int check_version(const char *path) {
  const int version = mujoco.mj_version();
  if (version == mjVERSION_HEADER) return CORE_OK;
  return core_error(CORE_USAGE, "%.200s is MuJoCo %.20s, but this trainer was built for %d.%d.%d" REMEDY,
                    path, mujoco.mj_versionString(), HEADER_VERSION, HEADER_VERSION);
}

static int find_function(const char *path, const char *name, void **function) {
  *function = dlsym(library, name);
  if (*function != NULL) return CORE_OK;
  return core_error(CORE_USAGE, "%.200s has no %s" REMEDY, path, name, HEADER_VERSION);
}

static int load(const char *path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return core_error(CORE_USAGE, "%.200s: %.200s" REMEDY, path, dlerror(), HEADER_VERSION);
#define F(name) TRY(find_function(path, #name, (void **)&mujoco.name));
  MUJOCO_FUNCTIONS(F)
#undef F
  TRY(check_version(path));
  void (**warning)(const char *) = dlsym(library, "mju_user_warning");
  void (**error)(const char *) = dlsym(library, "mju_user_error");
  if (warning) *warning = ignore_warning;
  if (error) *error = abort_on_error;
  return CORE_OK;
}

int mujoco_library_open(void) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX];
  if (home[0]) return CORE_OK;
  TRY(find_home(directory, path));
  TRY(load(path));
  return core_text_copy(home, sizeof home, directory, "MUJOCO_HOME");
}

int mujoco_library_open_renderer(void) {
  TRY(mujoco_library_open());
#define F(name) TRY(find_function("libmujoco", #name, (void **)&mujoco_renderer.name));
  MUJOCO_RENDER_FUNCTIONS(F)
#undef F
  return CORE_OK;
}

const char *mujoco_library_version(void) { return home[0] ? mujoco.mj_versionString() : ""; }

int mujoco_library_model(const char *name, char *path, size_t size) {
  if (snprintf(path, size, "%s/models/%s", home, name) >= (int)size)
    return core_error(CORE_USAGE, "%.200s: the path is too long", home);
  if (core_files_exists(path)) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s is missing" REMEDY, path, HEADER_VERSION);
}

#else
int mujoco_library_open(void) {
  return core_error(CORE_USAGE, "this trainer was built without MuJoCo; run `make mujoco`, which downloads it and "
                                "rebuilds");
}
int mujoco_library_open_renderer(void) { return mujoco_library_open(); }
const char *mujoco_library_version(void) { return ""; }
int mujoco_library_model(const char *name, char *path, size_t size) {
  (void)name;
  (void)path;
  (void)size;
  return mujoco_library_open();
}
#endif
