/* A scene, a camera and an OpenGL context for libmujoco's mjv_ and mjr_ functions (mujoco_render.h). */
#include "trainer/envs/mujoco/mujoco_render.h"

#if CORE_HAS_MUJOCO
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

enum { GEOMS_MAX = 1000 }; /* capacity of a scene; Gymnasium's models have fewer than 50 */

struct MujocoRender {
  const mjModel *model;
  MujocoCanvas *canvas;
  mjvScene scene;
  mjvCamera camera;
  mjvOption option;
  mjrContext context;
};

static void select_camera(MujocoRender *render) {
  const int track = mujoco.mj_name2id(render->model, mjOBJ_CAMERA, "track");
  mujoco_renderer.mjv_defaultFreeCamera(render->model, &render->camera);
  if (track < 0) return;
  render->camera.type = mjCAMERA_FIXED;
  render->camera.fixedcamid = track;
}

int mujoco_render_create(const mjModel *model, MujocoRender **render) {
  MujocoCanvas *canvas;
  *render = NULL;
  TRY(mujoco_library_open_renderer());
  TRY(mujoco_canvas_create(&MUJOCO_CANVAS_LIBRARIES, &canvas));

  MujocoRender *created = core_memory_zero_allocate(1, sizeof *created);
  created->model = model;
  created->canvas = canvas;
  mujoco_renderer.mjv_defaultScene(&created->scene);
  mujoco_renderer.mjv_makeScene(model, &created->scene, GEOMS_MAX);
  mujoco_renderer.mjv_defaultOption(&created->option);
  mujoco_renderer.mjr_defaultContext(&created->context);
  mujoco_renderer.mjr_makeContext(model, &created->context, mjFONTSCALE_100);
  mujoco_renderer.mjr_setBuffer(mjFB_OFFSCREEN, &created->context);
  select_camera(created);

  *render = created;
  return CORE_OK;
}

/* Flips the image vertically; OpenGL's first row is the bottom one. */
static void flip_rows(uint8_t *rgb, size_t row, int height) {
  uint8_t *above = rgb, *below = rgb + row * (size_t)(height - 1);
  while (above < below) {
    for (size_t i = 0; i < row; i++) {
      const uint8_t byte = above[i];
      above[i] = below[i];
      below[i] = byte;
    }
    above += row;
    below -= row;
  }
}

void mujoco_render_draw(MujocoRender *render, mjData *data, int width, int height, uint8_t *rgb) {
  const mjrRect all = {0, 0, width, height};
  mujoco_canvas_make_current(render->canvas);
  if (render->context.offWidth != width || render->context.offHeight != height)
    mujoco_renderer.mjr_resizeOffscreen(width, height, &render->context);
  mujoco_renderer.mjv_updateScene(render->model, data, &render->option, NULL, &render->camera, mjCAT_ALL,
                                 &render->scene);
  mujoco_renderer.mjr_render(all, &render->scene, &render->context);
  mujoco_renderer.mjr_readPixels(rgb, NULL, all, &render->context);
  flip_rows(rgb, (size_t)width * 3, height);
}

void mujoco_render_destroy(MujocoRender **render) {
  MujocoRender *old = *render;
  if (old == NULL) return;
  mujoco_canvas_make_current(old->canvas);
  mujoco_renderer.mjr_freeContext(&old->context);
  mujoco_renderer.mjv_freeScene(&old->scene);
  mujoco_canvas_destroy(&old->canvas);
  free(old);
  *render = NULL;
}
#endif
