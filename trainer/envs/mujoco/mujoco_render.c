/* A scene, a camera and an OpenGL context for libmujoco's mjv_ and mjr_ functions (mujoco_render.h). */
#include "trainer/envs/mujoco/mujoco_render.h"

#if CORE_HAS_MUJOCO
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "trainer/envs/mujoco/mujoco_canvas.h"

enum { GEOMS_MAX = 1000 }; /* room in a scene; Gymnasium's models have less than 50 */

struct MujocoRender {
  const mjModel *model;
  MujocoCanvas *canvas;
  mjvScene scene;
  mjvCamera camera;
  mjvOption option;
  mjrContext context;
};

static void choose_camera(MujocoRender *render) {
  const int track = mujoco.mj_name2id(render->model, mjOBJ_CAMERA, "track");
  mujoco_drawing.mjv_defaultFreeCamera(render->model, &render->camera);
  if (track < 0) return;
  render->camera.type = mjCAMERA_FIXED;
  render->camera.fixedcamid = track;
}

int mujoco_render_create(const mjModel *model, MujocoRender **render) {
  MujocoCanvas *canvas;
  *render = NULL;
  TRY(mujoco_library_open_drawing());
  TRY(mujoco_canvas_create(&MUJOCO_CANVAS_LIBRARIES, &canvas));
  MujocoRender *made = core_memory_zero_allocate(1, sizeof *made);
  made->model = model;
  made->canvas = canvas;
  mujoco_drawing.mjv_defaultScene(&made->scene);
  mujoco_drawing.mjv_makeScene(model, &made->scene, GEOMS_MAX);
  mujoco_drawing.mjv_defaultOption(&made->option);
  mujoco_drawing.mjr_defaultContext(&made->context);
  mujoco_drawing.mjr_makeContext(model, &made->context, mjFONTSCALE_100);
  mujoco_drawing.mjr_setBuffer(mjFB_OFFSCREEN, &made->context);
  choose_camera(made);
  *render = made;
  return CORE_OK;
}

/* OpenGL's rows begin at the bottom. */
static void turn_over(uint8_t *rgb, size_t row, int height) {
  uint8_t *above = rgb, *below = rgb + row * (size_t)(height - 1);
  for (; above < below; above += row, below -= row)
    for (size_t i = 0; i < row; i++) {
      const uint8_t kept = above[i];
      above[i] = below[i];
      below[i] = kept;
    }
}

void mujoco_render_draw(MujocoRender *render, mjData *data, int width, int height, uint8_t *rgb) {
  const mjrRect all = {0, 0, width, height};
  mujoco_canvas_use(render->canvas);
  if (render->context.offWidth != width || render->context.offHeight != height)
    mujoco_drawing.mjr_resizeOffscreen(width, height, &render->context);
  mujoco_drawing.mjv_updateScene(render->model, data, &render->option, NULL, &render->camera, mjCAT_ALL,
                                 &render->scene);
  mujoco_drawing.mjr_render(all, &render->scene, &render->context);
  mujoco_drawing.mjr_readPixels(rgb, NULL, all, &render->context);
  turn_over(rgb, (size_t)width * 3, height);
}

void mujoco_render_destroy(MujocoRender **render) {
  MujocoRender *old = *render;
  if (old == NULL) return;
  mujoco_canvas_use(old->canvas);
  mujoco_drawing.mjr_freeContext(&old->context);
  mujoco_drawing.mjv_freeScene(&old->scene);
  mujoco_canvas_destroy(&old->canvas);
  free(old);
  *render = NULL;
}
#endif
