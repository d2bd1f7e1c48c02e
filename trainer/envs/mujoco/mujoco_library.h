/* MuJoCo's library, opened when a run first needs it. Its headers were used at build time, so only a library of their
 * version fits: mjModel and mjData are structs whose fields move from version to version. */
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

/* The functions that are used, by their own names and types. */
typedef struct MujocoLibrary {
#define F(name) __typeof__(&name) name;
  MUJOCO_FUNCTIONS(F)
#undef F
} MujocoLibrary;

/* Filled by mujoco_library_open. */
extern MujocoLibrary mujoco;

#define MUJOCO_DRAWING_FUNCTIONS(F) \
  F(mjv_defaultScene) F(mjv_makeScene) F(mjv_freeScene) F(mjv_defaultOption) F(mjv_defaultFreeCamera) \
  F(mjv_updateScene) F(mjr_defaultContext) F(mjr_makeContext) F(mjr_freeContext) F(mjr_setBuffer) \
  F(mjr_resizeOffscreen) F(mjr_render) F(mjr_readPixels)

/* Those that only pictures need; filled by mujoco_library_open_drawing. */
typedef struct MujocoDrawing {
#define F(name) __typeof__(&name) name;
  MUJOCO_DRAWING_FUNCTIONS(F)
#undef F
} MujocoDrawing;
extern MujocoDrawing mujoco_drawing;
#endif

/* Opens the library; doing so again does nothing. CORE_USAGE: it is not there, or not of the headers' version, or this
 * trainer was built without its headers; the message says what to do. */
int mujoco_library_open(void);
/* The same with the functions for pictures, mujoco_drawing. */
int mujoco_library_open_drawing(void);
/* "4.0.0"; "" before it is open. */
const char *mujoco_library_version(void);
/* The file of a model, from the folder of models beside the library. CORE_USAGE: it is not there. */
int mujoco_library_model(const char *name, char *path, size_t size);

#endif
