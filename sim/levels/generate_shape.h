/* Draws of a level's parts, for the host and the GPU: sizes, roles and points (Kinetix'
 * kinetix/environment/ued/util.py), a free shape and a thruster (mutate_add_shape and mutate_add_thruster in its
 * mutators.py). generate_joint.h draws shapes on joints, generate_draw.h whole levels.
 *
 * All draws take from `random` in a fixed order; arithmetic is float32 with the sines of real.h. Functions that add a
 * part use the first free slot. If there is none, or no shape to attach to, they leave the level unchanged and report
 * it. */
#ifndef SIM_GENERATE_SHAPE_H
#define SIM_GENERATE_SHAPE_H
#include "core/random.h"
#include "sim/physics/level_build.h"
#include "sim/physics/model.h"

/* Side of the arena and height of the floor, in meters. */
#define SIM_GENERATE_ARENA 5.0f
#define SIM_GENERATE_FLOOR 0.4f

static const float SIM_DRAW_RECT_HALF_MIN = 0.05f, SIM_DRAW_RECT_HALF_MAX = 0.353553391f; /* 1 / (2 sqrt 2) */
static const float SIM_DRAW_RADIUS_MIN = 0.1f, SIM_DRAW_RADIUS_MAX = 0.4f;
static const float SIM_DRAW_LONG_CHANCE = 0.3f, SIM_DRAW_LONG_SCALE = 2; /* for one side of a rectangle */
static const float SIM_DRAW_SIDE_CHANCE = 0.5f; /* green in the left half, blue in the right one */
static const float SIM_DRAW_FIX_CHANCE = 0.02f, SIM_DRAW_FIX_CHANCE_PER_KG = 4;
static const float SIM_DRAW_FIX_LOW_CHANCE = 0.6f; /* a fixated shape with a role goes to the lower half */
static const float SIM_DRAW_SQRT_2 = 1.41421356f;

/* Half extents of a rectangle and radius of a disc. All are always set: the reference measures a shape by all of
 * them. */
typedef struct SimDimensions { float half_x, half_y, radius; } SimDimensions;

/* ---- draws ----------------------------------------------------------------------------------------------------- */

SIM_FN bool sim_generate_chance(CoreRandomStream *random, float probability) {
  return core_random_unit(core_random_next(random)) < probability;
}

/* Picks an index with probability proportional to its weight >= 0; returns 0 if all weights are 0 (the reference's
 * rule). */
SIM_CALLED_FN int sim_generate_pick(CoreRandomStream *random, const float *weights, int count) {
  float total = 0, sum = 0;
  for (int i = 0; i < count; i++) total += weights[i];
  float reach = total * (1 - core_random_unit(core_random_next(random))); /* above 0, so that weights of 0 never win */
  for (int i = 0; i < count; i++) {
    sum += weights[i];
    if (sum >= reach) return i;
  }
  return 0;
}

/* Draws half extents of a rectangle or the radius of a disc, with the minimum for the others. */
SIM_CALLED_FN SimDimensions sim_generate_dimensions(CoreRandomStream *random, bool rect) {
  SimDimensions d = {SIM_DRAW_RECT_HALF_MIN, SIM_DRAW_RECT_HALF_MIN, SIM_DRAW_RADIUS_MIN};
  if (rect) {
    d.half_x = core_random_uniform(random, SIM_DRAW_RECT_HALF_MIN, SIM_DRAW_RECT_HALF_MAX);
    d.half_y = core_random_uniform(random, SIM_DRAW_RECT_HALF_MIN, SIM_DRAW_RECT_HALF_MAX);
  } else {
    d.radius = core_random_uniform(random, SIM_DRAW_RADIUS_MIN, SIM_DRAW_RADIUS_MAX);
  }
  if (sim_generate_chance(random, SIM_DRAW_LONG_CHANCE)) {
    float *side = sim_generate_chance(random, 0.5f) ? &d.half_x : &d.half_y;
    *side *= SIM_DRAW_LONG_SCALE;
  }
  return d;
}

/* Returns the number of active shapes with a role, statics included. */
SIM_FN int sim_generate_count_role(const SimLevel *level, int role) {
  int count = 0;
  for (int i = 0; i < level->size.polygons; i++) count += level->polygon[i].active && level->polygon[i].role == role;
  for (int i = 0; i < level->size.circles; i++) count += level->circle[i].active && level->circle[i].role == role;
  return count;
}

/* Draws a role: green and blue first, then normal, or red while there is none. allowed: factor for each of the four
 * roles. */
SIM_CALLED_FN int sim_generate_role(CoreRandomStream *random, const SimLevel *level, const float *allowed) {
  bool green = sim_generate_count_role(level, SIM_ROLE_GREEN) > 0;
  bool blue = sim_generate_count_role(level, SIM_ROLE_BLUE) > 0;
  bool red = sim_generate_count_role(level, SIM_ROLE_RED) > 0;
  const float weights[4] = { /* by role: normal, green, blue, red */
    green && blue ? allowed[SIM_ROLE_NORMAL] : 0, green ? 0 : allowed[SIM_ROLE_GREEN],
    blue ? 0 : allowed[SIM_ROLE_BLUE], green && blue && !red ? allowed[SIM_ROLE_RED] / 3 : 0};
  return sim_generate_pick(random, weights, 4);
}

/* Returns the half extents of a polygon's vertices. */
SIM_CALLED_FN SimVec sim_generate_half_extents(const SimShape *polygon) {
  const float *x = polygon->vertex_x, *y = polygon->vertex_y;
  SimBox box = {x[0], x[0], y[0], y[0]};
  for (int i = 1; i < polygon->vertex_count; i++) {
    box.left = real_min(box.left, x[i]);
    box.right = real_max(box.right, x[i]);
    box.bottom = real_min(box.bottom, y[i]);
    box.top = real_max(box.top, y[i]);
  }
  return sim_vec((box.right - box.left) / 2, (box.top - box.bottom) / 2);
}

/* Draws a point uniformly in the bounding box of a polygon's vertices. The origin is the mean of the vertices, not the
 * center of the box. */
SIM_CALLED_FN SimVec sim_generate_point_on_polygon(CoreRandomStream *random, const SimShape *polygon) {
  SimVec half = sim_generate_half_extents(polygon);
  float left = polygon->vertex_x[0], bottom = polygon->vertex_y[0];
  for (int i = 1; i < polygon->vertex_count; i++) {
    left = real_min(left, polygon->vertex_x[i]);
    bottom = real_min(bottom, polygon->vertex_y[i]);
  }
  float x = core_random_uniform(random, left, left + 2 * half.x);
  return sim_vec(x, core_random_uniform(random, bottom, bottom + 2 * half.y));
}

/* Draws a point with more density toward the center, as the reference does. */
SIM_FN SimVec sim_generate_point_on_circle(CoreRandomStream *random, float radius) {
  float distance = core_random_uniform(random, 0, radius);
  RealSinCos turn = real_sin_cos(core_random_uniform(random, 0, 2 * REAL_PI));
  return sim_vec(distance * turn.cosine, distance * turn.sine);
}

/* ---- slots and bodies ------------------------------------------------------------------------------------------ */

/* Return the index of a free slot; -1: all are in use. */
SIM_FN int sim_generate_free_polygon(const SimLevel *level) {
  for (int i = 0; i < level->size.polygons; i++)
    if (!level->polygon[i].active) return i;
  return -1;
}

SIM_FN int sim_generate_free_circle(const SimLevel *level) {
  for (int i = 0; i < level->size.circles; i++)
    if (!level->circle[i].active) return i;
  return -1;
}

SIM_FN int sim_generate_free_joint(const SimLevel *level) {
  for (int i = 0; i < level->size.joints; i++)
    if (!level->joint[i].active) return i;
  return -1;
}

SIM_FN int sim_generate_free_thruster(const SimLevel *level) {
  for (int i = 0; i < level->size.thrusters; i++)
    if (!level->thruster[i].active) return i;
  return -1;
}

SIM_FN bool sim_generate_is_circle(const SimLevel *level, int index) { return index >= level->size.polygons; }

/* Return the shape with a global index, and whether it is a circle. */
SIM_FN SimShape *sim_generate_shape(SimLevel *level, int index) {
  return sim_generate_is_circle(level, index) ? &level->circle[index - level->size.polygons] : &level->polygon[index];
}

/* Transforms a point from the body frame to the world. */
SIM_CALLED_FN SimVec sim_generate_to_world(const SimShape *shape, SimVec local) {
  RealSinCos turn = real_sin_cos(shape->rotation);
  return sim_vec_add(sim_vec(shape->x, shape->y), sim_vec_rotate(turn.sine, turn.cosine, local));
}

/* Returns a resting body at the origin; sim_level_recompute_mass sets its masses. */
SIM_CALLED_FN SimShape sim_generate_body(SimDimensions d, bool rect, int role) {
  SimShape shape = {
    .inverse_mass = 1, .inverse_inertia = 1, /* nonzero: 0 would mean fixated */
    .density = 1, .friction = 1, .collision_mode = 1, .role = role, .radius = d.radius, .active = true,
  };
  if (!rect) return shape;
  shape.vertex_count = 4;
  for (int i = 0; i < SIM_VERTICES; i++) {
    shape.vertex_x[i] = i < 2 ? d.half_x : -d.half_x;
    shape.vertex_y[i] = i == 0 || i == 3 ? d.half_y : -d.half_y;
  }
  return shape;
}

/* ---- a free shape ---------------------------------------------------------------------------------------------- */

/* Draws a position inside the arena at any rotation; with probability 0.5 in the half that the role prefers. */
SIM_FN SimVec sim_generate_place(CoreRandomStream *random, SimDimensions d, int role) {
  const float half_arena = SIM_GENERATE_ARENA / 2;
  float largest = real_max(real_max(SIM_DRAW_SQRT_2 * d.half_x, SIM_DRAW_SQRT_2 * d.half_y), d.radius);
  float left = largest, right = SIM_GENERATE_ARENA - largest;
  if (sim_generate_chance(random, SIM_DRAW_SIDE_CHANCE)) {
    if (role == SIM_ROLE_GREEN) right -= half_arena;
    if (role == SIM_ROLE_BLUE) left += half_arena;
  }
  float x = core_random_uniform(random, left, right);
  return sim_vec(x, core_random_uniform(random, largest + SIM_GENERATE_FLOOR, SIM_GENERATE_ARENA - largest));
}

/* Fixates heavy shapes with greater probability; those with a role then usually go low, even into the floor. */
SIM_FN void sim_generate_fixation(CoreRandomStream *random, SimShape *shape) {
  const float half_arena = SIM_GENERATE_ARENA / 2;
  const float chance = SIM_DRAW_FIX_CHANCE + SIM_DRAW_FIX_CHANCE_PER_KG / shape->inverse_mass;
  if (!sim_generate_chance(random, real_min(chance, 1))) return;
  shape->inverse_mass = shape->inverse_inertia = 0;
  bool low = shape->role != SIM_ROLE_NORMAL && sim_generate_chance(random, SIM_DRAW_FIX_LOW_CHANCE);
  if (low && shape->y >= half_arena) shape->y -= half_arena;
}

/* Adds a free shape, sometimes fixated unless no_fix; returns its global index, or -1. */
SIM_CALLED_FN int sim_generate_add_shape(SimLevel *level, CoreRandomStream *random, bool no_fix) {
  const float any_role[4] = {1, 1, 1, 1};
  int polygon = sim_generate_free_polygon(level), circle = sim_generate_free_circle(level);
  if (polygon < 0 && circle < 0) return -1;

  const float kinds[] = {(float)(polygon >= 0), (float)(circle >= 0)};
  bool rect = sim_generate_pick(random, kinds, 2) == 0;
  int role = sim_generate_role(random, level, any_role);
  SimDimensions dimensions = sim_generate_dimensions(random, rect);
  SimVec position = sim_generate_place(random, dimensions, role);

  int index = rect ? polygon : level->size.polygons + circle;
  SimShape *shape = sim_generate_shape(level, index);
  *shape = sim_generate_body(dimensions, rect, role);
  shape->x = position.x;
  shape->y = position.y;
  shape->rotation = core_random_uniform(random, 0, 2 * REAL_PI);

  sim_level_weigh(level);
  if (!no_fix) sim_generate_fixation(random, shape);
  return index;
}

/* ---- a thruster ------------------------------------------------------------------------------------------------ */

/* Adds a thruster to a shape that can move. */
SIM_CALLED_FN bool sim_generate_add_thruster(SimLevel *level, CoreRandomStream *random) {
  const float aligned_chance = 0.8f, power_per_kg = 2;
  float weights[SIM_SHAPES_MAX], total = 0;
  int slot = sim_generate_free_thruster(level), shapes = level->size.polygons + level->size.circles;

  for (int i = 0; i < shapes; i++) {
    const SimShape *shape = sim_generate_shape(level, i);
    weights[i] = shape->active && shape->inverse_mass != 0;
    total += weights[i];
  }
  if (slot < 0 || total == 0) return false;

  int index = sim_generate_pick(random, weights, shapes);
  const SimShape *shape = sim_generate_shape(level, index);
  SimVec at = sim_generate_is_circle(level, index) ? sim_generate_point_on_circle(random, shape->radius)
                                                   : sim_generate_point_on_polygon(random, shape);
  SimVec direction = sim_generate_chance(random, 0.5f) ? sim_vec(-at.x, -at.y) : at;
  if (at.x == 0 && at.y == 0) direction = sim_vec(1, 0);

  bool aligned = sim_generate_chance(random, aligned_chance);
  float rotation = aligned ? real_atan2(direction.y, direction.x) : core_random_uniform(random, 0, 2 * REAL_PI);
  float strength = core_random_uniform(random, 0.5f, 2);
  SimVec global = sim_generate_to_world(shape, at);

  const SimThruster thruster = {
    .shape = index, .x = at.x, .y = at.y, .rotation = rotation,
    .power = power_per_kg / shape->inverse_mass * strength, .global_x = global.x, .global_y = global.y,
    .binding = (int)core_random_below(core_random_next(random), SIM_THRUSTER_BINDINGS), .active = true,
  };
  level->thruster[slot] = thruster;
  return true;
}

#endif
