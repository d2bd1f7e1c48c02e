/* A world with one element of every kind, for tests of drawing. */
#ifndef TESTS_UNIT_DRAW_SCENE_H
#define TESTS_UNIT_DRAW_SCENE_H
#include "test.h"

#include "sim/batch/batch.h"
#include "sim/draw/draw.h"
#include "sim/draw/draw_image.h"

enum { PIXELS = 520 }; /* 100 a metre */

static inline void set_rect(SimShape *shape, float x, float y, float half_x, float half_y, int role, bool fixated) {
  const float sx[] = {-1, 1, 1, -1}, sy[] = {1, 1, -1, -1};
  *shape = (SimShape){.x = x, .y = y, .role = role, .vertex_count = 4, .active = true, .density = 1, .friction = 1};
  shape->inverse_mass = shape->inverse_inertia = fixated ? 0 : 1;
  for (int i = 0; i < 4; i++) {
    shape->vertex_x[i] = sx[i] * half_x;
    shape->vertex_y[i] = sy[i] * half_y;
  }
}

static inline void set_disc(SimShape *shape, float x, float y, float radius, int role, bool fixated) {
  *shape = (SimShape){.x = x, .y = y, .radius = radius, .role = role, .active = true, .density = 1, .friction = 1};
  shape->inverse_mass = shape->inverse_inertia = fixated ? 0 : 1;
}

static inline SimLevel scene(void) {
  SimLevel level = sim_level_empty(SIM_SIZE_L, true);
  set_rect(&level.polygon[4], 1, 1, 0.4f, 0.2f, SIM_ROLE_GREEN, false);
  set_rect(&level.polygon[5], 3, 1, 0.3f, 0.3f, SIM_ROLE_NORMAL, false);
  set_rect(&level.polygon[6], 4.5f, 4, 0.3f, 0.1f, SIM_ROLE_NORMAL, true);
  set_rect(&level.polygon[7], 4.5f, 3, 0.3f, 0.1f, SIM_ROLE_RED, true);
  set_disc(&level.circle[0], 1, 3, 0.5f, SIM_ROLE_BLUE, true);
  set_disc(&level.circle[1], 3.005f, 3.005f, 0.5f, SIM_ROLE_RED, false); /* its line covers whole pixels */
  level.joint[0] = (SimJoint){.a = 4, .b = 5, .a_x = 0.4f, .b_x = -1.6f, .active = true, .motor_on = true,
                              .motor_binding = 2, .motor_speed = 1, .motor_power = 1};
  level.joint[1] = (SimJoint){.a = 6, .b = 12, .active = true, .fixed = true};
  level.thruster[0] = (SimThruster){.shape = 5, .y = -0.3f, .rotation = 1.5707963f, .power = 1, .binding = 1,
                                    .active = true};
  assert_int_equal(sim_level_check(&level), CORE_OK);
  return level;
}

static inline SimDrawSheet sheet_of(SimDrawCell *cell, int count, int columns, int rows, int pixels, bool labeled) {
  return (SimDrawSheet){columns, rows, pixels, labeled, count, cell};
}

#endif
