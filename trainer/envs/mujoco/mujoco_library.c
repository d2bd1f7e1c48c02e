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
MujocoDrawing mujoco_drawing;
static void *library;            /* of dlopen; NULL before the library is open */
static char home[CORE_PATH_MAX]; /* the folder with lib/ and models/; "" before the library is open */

#define AWAY "; run `make mujoco`, or set MUJOCO_HOME to a folder with lib/libmujoco.so.%d.%d.%d and models/"
#define WANTED mjVERSION_HEADER / 1000000, mjVERSION_HEADER / 1000 % 1000, mjVERSION_HEADER % 1000

/* What MuJoCo has to say while it reads models and steps is seen in mjData and in errors that are returned. */
static void be_quiet(const char *text) { (void)text; }

/* MuJoCo's own checks found a state that it cannot go on from: a fault of the program or of the library. */
static void give_up(const char *text) {
  fprintf(stderr, "MuJoCo: %s\n", text);
  core_error_abort(__FILE__, __LINE__, "MuJoCo can go on");
}

static int find_home(char folder[CORE_PATH_MAX], char path[CORE_PATH_MAX]) {
  const char *place;
  if (!store_code_mujoco(&place, path))
    return core_error(CORE_USAGE, "%.200s has no lib/libmujoco.so*" AWAY, place, WANTED);
  return core_text_copy(folder, CORE_PATH_MAX, place, "MUJOCO_HOME");
}

static int check_version(const char *path) {
  const int version = mujoco.mj_version();
  if (version == mjVERSION_HEADER) return CORE_OK;
  return core_error(CORE_USAGE, "%.200s is MuJoCo %.20s, and this trainer was built with the headers of %d.%d.%d" AWAY,
                    path, mujoco.mj_versionString(), WANTED, WANTED);
}

static int find_function(const char *path, const char *name, void **function) {
  *function = dlsym(library, name);
  if (*function != NULL) return CORE_OK;
  return core_error(CORE_USAGE, "%.200s has no %s" AWAY, path, name, WANTED);
}

static int load(const char *path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return core_error(CORE_USAGE, "%.200s: %.200s" AWAY, path, dlerror(), WANTED);
#define F(name) TRY(find_function(path, #name, (void **)&mujoco.name));
  MUJOCO_FUNCTIONS(F)
#undef F
  TRY(check_version(path));
  void (**warning)(const char *) = dlsym(library, "mju_user_warning");
  void (**error)(const char *) = dlsym(library, "mju_user_error");
  if (warning) *warning = be_quiet;
  if (error) *error = give_up;
  return CORE_OK;
}

int mujoco_library_open(void) {
  char folder[CORE_PATH_MAX], path[CORE_PATH_MAX];
  if (home[0]) return CORE_OK;
  TRY(find_home(folder, path));
  TRY(load(path));
  return core_text_copy(home, sizeof home, folder, "MuJoCo's folder");
}

int mujoco_library_open_drawing(void) {
  TRY(mujoco_library_open());
#define F(name) TRY(find_function("libmujoco", #name, (void **)&mujoco_drawing.name));
  MUJOCO_DRAWING_FUNCTIONS(F)
#undef F
  return CORE_OK;
}

const char *mujoco_library_version(void) { return home[0] ? mujoco.mj_versionString() : ""; }

int mujoco_library_model(const char *name, char *path, size_t size) {
  if (snprintf(path, size, "%s/models/%s", home, name) >= (int)size)
    return core_error(CORE_USAGE, "%.200s: the path is too long", home);
  if (core_files_exists(path)) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s is not there" AWAY, path, WANTED);
}

#else
int mujoco_library_open(void) {
  return core_error(CORE_USAGE, "this trainer was built without MuJoCo; `make mujoco` fetches it and builds again");
}
int mujoco_library_open_drawing(void) { return mujoco_library_open(); }
const char *mujoco_library_version(void) { return ""; }
int mujoco_library_model(const char *name, char *path, size_t size) {
  (void)name, (void)path, (void)size;
  return mujoco_library_open();
}
#endif
