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
#endif
