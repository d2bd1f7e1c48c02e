/* An OpenGL context without a window, for MuJoCo's renderer: by EGL, else by OSMesa. Both libraries are opened when the
 * first picture is asked for; nothing else needs them. */
#ifndef TRAINER_MUJOCO_CANVAS_H
#define TRAINER_MUJOCO_CANVAS_H

typedef struct MujocoCanvas MujocoCanvas;

/* File names to look for; tests take others. */
typedef struct MujocoCanvasLibraries { const char *egl, *osmesa[2]; } MujocoCanvasLibraries;
extern const MujocoCanvasLibraries MUJOCO_CANVAS_LIBRARIES;

/* Makes a context that is this thread's from now on. CORE_USAGE: neither way is possible here; the message says why and
 * what to install. */
int mujoco_canvas_create(const MujocoCanvasLibraries *libraries, MujocoCanvas **canvas);
/* Makes it this thread's again, after another one was. */
void mujoco_canvas_use(MujocoCanvas *canvas);
const char *mujoco_canvas_name(const MujocoCanvas *canvas); /* "EGL" or "OSMesa" */
void mujoco_canvas_destroy(MujocoCanvas **canvas);

#endif
