/* Construction of levels, on the host and the GPU: the empty scene, mass from shape, expansion. Arguments are not
 * checked; level.c has the checked functions for the host. */
#ifndef SIM_LEVEL_BUILD_H
#define SIM_LEVEL_BUILD_H
#include "sim/physics/level.h"
#include "sim/real.h"

/* Copies by a loop on GPUs: a level is 2 KB, and an assignment would become hundreds of instructions. */
SIM_CALLED_FN void sim_level_copy(SimLevel *to, const SimLevel *from) {
#if defined(__CUDA_ARCH__)
  for (size_t i = 0; i < sizeof *to / sizeof(uint32_t); i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
#else
  *to = *from;
#endif
}

/* ---- the empty scene: create_empty_sim in Jax2D's jax2d/engine.py ------------------------------------------------ */

SIM_FN void sim_level_set_static(SimShape *shape, float x, float y, const float vertices[SIM_VERTICES][2]) {
  shape->x = x;
  shape->y = y;
  for (int i = 0; i < SIM_VERTICES; i++) {
    shape->vertex_x[i] = vertices[i][0];
    shape->vertex_y[i] = vertices[i][1];
  }
  shape->collision_mode = 2;
  shape->active = true;
}

/* Builds the empty scene with the four statics; ceiling corrected as in the level files when `corrected`. */
SIM_CALLED_FN void sim_level_clear(SimSize size, bool corrected, SimLevel *level) {
  const float floor[4][2] = {{2.5f, 5.2f}, {2.5f, -5.2f}, {-2.5f, -5.2f}, {-2.5f, 5.2f}};
  const float left[4][2] = {{-5, 5}, {0, 5}, {0, 0}, {-5, 0}};
  const float right[4][2] = {{5, 5}, {10, 5}, {10, 0}, {5, 0}};
  /* The engine's own ceiling has this slanted outer side; the published level files do not. */
  const float slanted[4][2] = {{5, 5.2f}, {2.5f, -5.2f}, {-2.5f, -5.2f}, {-2.5f, 5.2f}};

  memset(level, 0, sizeof *level);
  level->size = size;
  level->gravity_y = -9.81f;
  for (int i = 0; i < size.polygons + size.circles; i++) {
    bool polygon = i < size.polygons;
    SimShape *shape = polygon ? &level->polygon[i] : &level->circle[i - size.polygons];
    shape->vertex_count = polygon ? 4 : 0;
    shape->collision_mode = 1;
    shape->friction = 1;
    shape->density = 1;
  }

  for (int i = 0; i < size.joints; i++) level->joint[i].global_x = level->joint[i].global_y = 256;
  sim_level_set_static(&level->polygon[0], 2.5f, -4.8f, floor);
  sim_level_set_static(&level->polygon[1], 0, 0, left);
  sim_level_set_static(&level->polygon[2], 0, 0, right);
  sim_level_set_static(&level->polygon[3], 2.5f, 10.2f, corrected ? floor : slanted);
}

/* ---- mass and inertia: recalculate_mass_and_inertia in Jax2D's jax2d/engine.py ----------------------------------- */

SIM_FN float sim_level_inverse(float value) { return 1 / (value == 0 ? 1 : value); }

SIM_FN void sim_level_weigh_circle(SimShape *shape) {
  if (shape->inverse_mass == 0) return;
  const float pi = 3.14159265358979f;
  float square = shape->radius * shape->radius;
  shape->inverse_mass = sim_level_inverse(pi * square * shape->density);
  shape->inverse_inertia = sim_level_inverse(pi * square * square / 4 * shape->density);
}

SIM_FN void sim_level_weigh_polygon(SimShape *shape) {
  const float *x = shape->vertex_x, *y = shape->vertex_y;
  int count = shape->vertex_count;
  if (shape->inverse_mass != 0 && count > 0) {
    float center_x = 0, center_y = 0, area = 0;
    for (int i = 0; i < count; i++) {
      center_x += x[i] / (float)count;
      center_y += y[i] / (float)count;
    }
    shape->x += center_x;
    shape->y += center_y;

    for (int i = 0; i < SIM_VERTICES; i++) {
      shape->vertex_x[i] -= center_x;
      shape->vertex_y[i] -= center_y;
    }

    for (int i = 0; i < count - 2; i++)
      area += real_abs((x[i + 1] - x[0]) * (y[i + 2] - y[0]) - (y[i + 1] - y[0]) * (x[i + 2] - x[0])) / 2;
    shape->inverse_mass = sim_level_inverse(area * shape->density);
  }

  if (shape->inverse_inertia != 0) {
    float inertia = 0;
    for (int i = 0; i < count; i++) {
      /* modulo 4 even for a triangle, as in the reference */
      float x1 = x[(i + 1) % SIM_VERTICES], y1 = y[(i + 1) % SIM_VERTICES], x2 = x[i], y2 = y[i];
      float squares = x1 * x1 + y1 * y1 + x1 * x2 + y1 * y2 + x2 * x2 + y2 * y2;
      inertia += real_abs(0.25f / 3 * (x1 * y2 - y1 * x2) * squares);
    }
    shape->inverse_inertia = sim_level_inverse(inertia * shape->density);
  }
}

/* Computes mass, centroid and inertia of every shape from its density and outline; fixated shapes stay fixated. */
SIM_CALLED_FN void sim_level_weigh(SimLevel *level) {
  for (int i = 0; i < level->size.polygons; i++) sim_level_weigh_polygon(&level->polygon[i]);
  for (int i = 0; i < level->size.circles; i++) sim_level_weigh_circle(&level->circle[i]);
}

/* ---- expansion to more slots: expand_env_state in Kinetix' kinetix/util/saving.py -------------------------------- */

/* `size` must have at least as many slots of each kind. */
SIM_CALLED_FN void sim_level_grow(SimLevel *level, SimSize size) {
  const SimSize old = level->size;
  const SimShape no_shape = {0};
  const SimJoint no_joint = {0};
  const SimThruster no_thruster = {0};
  int shift = size.polygons - old.polygons;
  for (int i = old.polygons; i < size.polygons; i++) level->polygon[i] = no_shape;
  for (int i = old.circles; i < size.circles; i++) level->circle[i] = no_shape;

  for (int i = 0; i < old.joints; i++) {
    if (level->joint[i].a >= old.polygons) level->joint[i].a += shift;
    if (level->joint[i].b >= old.polygons) level->joint[i].b += shift;
  }
  for (int i = 0; i < old.thrusters; i++)
    if (level->thruster[i].shape >= old.polygons) level->thruster[i].shape += shift;

  for (int i = old.joints; i < size.joints; i++) level->joint[i] = no_joint;
  for (int i = old.thrusters; i < size.thrusters; i++) level->thruster[i] = no_thruster;
  level->size = size;
}

#endif
