/* Pictures of one world by MuJoCo's own renderer, off screen. */
#ifndef TRAINER_MUJOCO_RENDER_H
#define TRAINER_MUJOCO_RENDER_H
#include <stdint.h>

#include "trainer/envs/mujoco/mujoco_library.h"

#if CORE_HAS_MUJOCO
typedef struct MujocoRender MujocoRender;

/* For worlds of this model, which it borrows. CORE_USAGE: nothing here can draw; the message says what to install. */
int mujoco_render_create(const mjModel *model, MujocoRender **render);
/* The world as it stands in data, whose positions mj_forward has computed -> rgb [height][width][3], rows from the top.
 * Seen by the model's camera "track", which follows the body, else from MuJoCo's default place. From the thread that
 * made it. */
void mujoco_render_draw(MujocoRender *render, mjData *data, int width, int height, uint8_t *rgb);
void mujoco_render_destroy(MujocoRender **render);
#endif
#endif
