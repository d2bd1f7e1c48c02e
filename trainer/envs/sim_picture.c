/* Pictures of the simulator's worlds, as EnvPicture has them (sim/draw draws). */
#include "sim/draw/draw_image.h"
#include "trainer/envs/sim_internal.h"

static const double STEP_S = 1.0 / 30;

/* A square, its height being its width. A sheet has a margin, which is part of the picture. */
static int draw(Env *env, int world, int width, int height, uint8_t *rgb) {
  SimLevel level;
  SimDrawCell cell = {.label = ""};
  SimDrawSheet sheet = {1, 1, width, false, 1, &cell};
  const SimEnv *sim = env_sim_of(env);
  if (sim->options.backend.device && sim->options.drawn_slots > 0)
    return core_error(CORE_USAGE, "levels that are drawn on a GPU cannot be pictured");
  sheet.pixels -= sim_draw_sheet_width(&sheet) - width;
  CORE_CHECK(sim_draw_sheet_width(&sheet) == width && sim_draw_sheet_height(&sheet) == height);
  sim_batch_get_world(sim->batch, world, &level);
  sim_draw_world(&level, NULL, &cell.drawing);
  return sim_draw_rgb(&sheet, rgb);
}

static double step_seconds(const Env *env) { return STEP_S; }

const EnvPicture env_sim_picture_table = {.draw = draw, .step_seconds = step_seconds};
