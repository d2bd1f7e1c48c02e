/* Off-screen rendering of a world by MuJoCo's renderer. */
#ifndef TRAINER_MUJOCO_RENDER_H
#define TRAINER_MUJOCO_RENDER_H
#include <stdint.h>

#include "trainer/envs/mujoco/mujoco_library.h"

#if CORE_HAS_MUJOCO
typedef struct MujocoRender MujocoRender;

/* Creates a renderer for worlds of `model`, which is borrowed. CORE_USAGE: no OpenGL library; the message says what to
 * install. */
int mujoco_render_create(const mjModel *model, MujocoRender **render);
/* Renders the state in `data`, whose positions mj_forward has computed, into rgb [height][width][3], top row first,
 * from the model's camera "track" or MuJoCo's default camera. To be called from the thread that created the
 * renderer. */
void mujoco_render_draw(MujocoRender *render, mjData *data, int width, int height, uint8_t *rgb);
void mujoco_render_destroy(MujocoRender **render);
#endif

/* ---- mujoco_canvas.c --------------------------------------------------------------------------------------------- */

/* An off-screen OpenGL context for MuJoCo's renderer, by EGL or else by OSMesa. The libraries are opened for the first
 * rendering; nothing else needs them. */

typedef struct MujocoCanvas MujocoCanvas;

/* File names of the libraries; tests override them. */
typedef struct MujocoCanvasLibraries { const char *egl, *osmesa[2]; } MujocoCanvasLibraries;
extern const MujocoCanvasLibraries MUJOCO_CANVAS_LIBRARIES;

/* Creates a context and makes it current. CORE_USAGE: neither library works; the message says why and what to
 * install. */
int mujoco_canvas_create(const MujocoCanvasLibraries *libraries, MujocoCanvas **canvas);
/* Makes the context current in this thread. */
void mujoco_canvas_make_current(MujocoCanvas *canvas);
const char *mujoco_canvas_name(const MujocoCanvas *canvas); /* "EGL" or "OSMesa" */
void mujoco_canvas_destroy(MujocoCanvas **canvas);

#endif
