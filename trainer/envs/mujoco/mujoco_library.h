/* MuJoCo's library, opened on first use. Only the version of the headers used at build time is compatible, because the
 * layouts of mjModel and mjData change between versions. */
#ifndef TRAINER_MUJOCO_LIBRARY_H
#define TRAINER_MUJOCO_LIBRARY_H
#include <stddef.h>

#ifndef CORE_HAS_MUJOCO
#define CORE_HAS_MUJOCO 0
#endif
#if CORE_HAS_MUJOCO
#include <mujoco/mujoco.h>

#define MUJOCO_FUNCTIONS(F) \
  F(mj_version) F(mj_versionString) F(mj_loadXML) F(mj_deleteModel) F(mj_makeData) F(mj_deleteData) F(mj_resetData) \
  F(mj_forward) F(mj_step) F(mj_rnePostConstraint) F(mj_stateSize) F(mj_getState) F(mj_setState) F(mj_name2id) \
  F(mj_copyModel) F(mj_objectVelocity) F(mj_defaultVFS) F(mj_addBufferVFS) F(mj_deleteVFS)

/* MuJoCo's functions, by their names and types. */
typedef struct MujocoLibrary {
#define F(name) __typeof__(&name) name;
  MUJOCO_FUNCTIONS(F)
#undef F
} MujocoLibrary;

/* Set by mujoco_library_open. */
extern MujocoLibrary mujoco;

#define MUJOCO_RENDER_FUNCTIONS(F) \
  F(mjv_defaultScene) F(mjv_makeScene) F(mjv_freeScene) F(mjv_defaultOption) F(mjv_defaultFreeCamera) \
  F(mjv_updateScene) F(mjr_defaultContext) F(mjr_makeContext) F(mjr_freeContext) F(mjr_setBuffer) \
  F(mjr_resizeOffscreen) F(mjr_render) F(mjr_readPixels)

/* Functions for rendering only, set by mujoco_library_open_renderer. */
typedef struct MujocoRenderLibrary {
#define F(name) __typeof__(&name) name;
  MUJOCO_RENDER_FUNCTIONS(F)
#undef F
} MujocoRenderLibrary;
extern MujocoRenderLibrary mujoco_renderer;
#endif

/* Opens the library, once. CORE_USAGE: it is missing or of another version than the headers, or this trainer was built
 * without MuJoCo. */
int mujoco_library_open(void);
/* Opens the library and loads the functions for rendering. */
int mujoco_library_open_renderer(void);
/* Returns "4.0.0"; "" before it is open. */
const char *mujoco_library_version(void);
/* Finds a model file in the directory models/ of MuJoCo's home. CORE_USAGE: it is missing. */
int mujoco_library_model(const char *name, char *path, size_t size);

#endif
