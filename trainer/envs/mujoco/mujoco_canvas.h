/* An off-screen OpenGL context for MuJoCo's renderer, by EGL or else by OSMesa. The libraries are opened for the first
 * rendering; nothing else needs them. */
#ifndef TRAINER_MUJOCO_CANVAS_H
#define TRAINER_MUJOCO_CANVAS_H

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
