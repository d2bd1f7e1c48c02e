/* A level as one number, for tests that pin levels: FNV-1a over the values in steps of 1e-4. Test programs only. */
#ifndef TESTS_LEVEL_HASH_H
#define TESTS_LEVEL_HASH_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/physics/level.h"

static const uint64_t LEVEL_HASH_START = 14695981039346656037u;

static inline const SimShape *level_shape_at(const SimLevel *level, int i) {
  return i < level->size.polygons ? &level->polygon[i] : &level->circle[i - level->size.polygons];
}

static inline uint64_t level_hash_value(uint64_t hash, double value) {
  int64_t steps = (int64_t)floor(value * 1e4 + 0.5);
  for (int i = 0; i < 8; i++) hash = (hash ^ (uint64_t)(steps >> (8 * i) & 0xff)) * 1099511628211u;
  return hash;
}

static inline uint64_t level_hash_shape(uint64_t hash, const SimShape *s) {
  const float reals[] = {s->x, s->y, s->rotation, s->inverse_mass, s->inverse_inertia, s->density, s->friction,
                         s->radius};
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) hash = level_hash_value(hash, (double)reals[i]);
  for (int i = 0; i < SIM_VERTICES; i++)
    hash = level_hash_value(level_hash_value(hash, (double)s->vertex_x[i]), (double)s->vertex_y[i]);
  return level_hash_value(hash, s->active + 2 * s->role + 8 * s->collision_mode + 32 * s->vertex_count);
}

/* Without the shapes that it joins. */
static inline uint64_t level_hash_joint(uint64_t hash, const SimJoint *j) {
  const float reals[] = {j->a_x, j->a_y, j->b_x, j->b_y, j->motor_speed, j->motor_power, j->min_rotation,
                         j->max_rotation, j->rotation};
  for (size_t r = 0; r < sizeof reals / sizeof reals[0]; r++) hash = level_hash_value(hash, (double)reals[r]);
  return hash;
}

static inline uint64_t level_hash(uint64_t hash, const SimLevel *level) {
  const SimSize size = level->size;
  for (int k = 0; k < size.polygons + size.circles; k++) hash = level_hash_shape(hash, level_shape_at(level, k));
  for (int k = 0; k < size.joints; k++) {
    const SimJoint *j = &level->joint[k];
    hash = level_hash_joint(hash, j);
    hash = level_hash_value(hash, j->a + 16 * j->b + 256 * j->motor_binding + 1024 * j->active + 2048 * j->motor_on +
                            4096 * j->has_limits + 8192 * j->fixed);
  }
  for (int k = 0; k < size.thrusters; k++)
    hash = level_hash_value(level_hash_value(hash, (double)level->thruster[k].power), (double)level->thruster[k].x);
  return hash;
}

#endif
