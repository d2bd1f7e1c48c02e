/* Draw of a random shape on a random joint (mutate_add_connected_shape in Kinetix'
 * kinetix/environment/ued/mutators.py): the target shape, anchors, motor, and whether one of the two would hide the
 * other. For the host and the GPU; see generate_shape.h. */
#ifndef SIM_GENERATE_JOINT_H
#define SIM_GENERATE_JOINT_H
#include "sim/levels/generate_shape.h"

static const float SIM_DRAW_FIXATED_TARGET = 0.05f;      /* weight of a fixated shape as a target */
static const int SIM_DRAW_REVOLUTE_FIRST = 2;            /* number of joints that are revolute before any is fixed */
static const float SIM_DRAW_REVOLUTE_CHANCE = 0.5f, SIM_DRAW_MOTOR_CHANCE = 0.8f, SIM_DRAW_LIMIT_CHANCE = 0.4f;
static const float SIM_DRAW_SPEED_MIN = 0.4f, SIM_DRAW_SPEED_MAX = 3;
/* Wheels have less power than other motors (Kinetix' wheel_max_power): stronger ones overshoot within a step. */
static const float SIM_DRAW_POWER_MIN = 1, SIM_DRAW_POWER_MAX = 3, SIM_DRAW_WHEEL_POWER = 1;
static const float SIM_DRAW_VISIBLE_MIN = 0.05f;         /* meters by which one shape must reach out of the other */

/* ---- the target ------------------------------------------------------------------------------------------------ */

/* Writes each shape's weight as a target: none for a static, little for a fixated shape; a rectangle may have one joint
 * already, a disc none. */
SIM_FN void sim_generate_weigh_targets(SimLevel *level, float weights[SIM_SHAPES_MAX]) {
  int degree[SIM_SHAPES_MAX] = {0}, shapes = level->size.polygons + level->size.circles;
  for (int i = 0; i < level->size.joints; i++) {
    if (!level->joint[i].active) continue;
    degree[level->joint[i].a]++;
    degree[level->joint[i].b]++;
  }
  for (int i = 0; i < shapes; i++) {
    const SimShape *shape = sim_generate_shape(level, i);
    float weight = sim_generate_is_circle(level, i) ? (float)(degree[i] == 0) : real_max((2 - (float)degree[i]) / 2, 0);
    weights[i] = i >= SIM_STATIC_POLYGONS && shape->active ? weight : 0;
    if (shape->inverse_mass == 0) weights[i] *= SIM_DRAW_FIXATED_TARGET;
  }
}

SIM_FN float sim_generate_sum(const float *weights, int count) {
  float total = 0;
  for (int i = 0; i < count; i++) total += weights[i];
  return total;
}

/* Picks one of the shapes first .. first + count - 1 by weight. If all weights are 0, picks any active one, the four
 * statics among the polygons included, as the reference does. */
SIM_CALLED_FN int sim_generate_pick_target(CoreRandomStream *random, SimLevel *level, float *weights, int first,
                                           int count) {
  if (sim_generate_sum(weights + first, count) == 0)
    for (int i = first; i < first + count; i++) weights[i] = sim_generate_shape(level, i)->active;
  return first + sim_generate_pick(random, weights + first, count);
}

/* Picks the target and returns its global index. *new_rect: whether the new shape is a rectangle. Never joins two
 * discs. */
SIM_CALLED_FN int sim_generate_draw_kinds(CoreRandomStream *random, SimLevel *level, bool *new_rect) {
  float weights[SIM_SHAPES_MAX];
  int polygons = level->size.polygons, circles = level->size.circles, rects = 0;
  bool has_rect = sim_generate_free_polygon(level) >= 0, has_circle = sim_generate_free_circle(level) >= 0;
  sim_generate_weigh_targets(level, weights);
  for (int i = 0; i < polygons; i++) rects += level->polygon[i].active;
  const float target_kinds[] = {(float)(rects > SIM_STATIC_POLYGONS),
                                (float)(sim_generate_sum(weights + polygons, circles) > 0)};
  const float kinds[] = {(float)has_rect, (float)has_circle};
  bool target_rect = sim_generate_pick(random, target_kinds, 2) == 0 || !has_rect;
  *new_rect = sim_generate_pick(random, kinds, 2) == 0 || (!target_rect && has_rect);
  return target_rect ? sim_generate_pick_target(random, level, weights, 0, polygons)
                     : sim_generate_pick_target(random, level, weights, polygons, circles);
}

/* Returns whether a shape joined to one of role `target` may have `role`: not if the pair would end the episode at
 * once. */
SIM_FN float sim_generate_allowed(int target, int role) {
  if (target == SIM_ROLE_NORMAL || role == SIM_ROLE_NORMAL) return 1;
  return target == role;
}

/* ---- the joint ------------------------------------------------------------------------------------------------- */

/* Draws an anchor: the center of a disc, any point of a rectangle. */
SIM_FN SimVec sim_generate_draw_anchor(CoreRandomStream *random, const SimShape *shape, bool circle) {
  return circle ? sim_vec(0, 0) : sim_generate_point_on_polygon(random, shape);
}

/* Draws motor and limits of a revolute joint. Its rest angle is 0 whatever the shapes' angles are, so that limits may
 * be violated at the start. */
SIM_FN void sim_generate_draw_motor(CoreRandomStream *random, bool rects, SimJoint *joint) {
  joint->motor_on = sim_generate_chance(random, SIM_DRAW_MOTOR_CHANCE);
  joint->motor_speed = core_random_uniform(random, SIM_DRAW_SPEED_MIN, SIM_DRAW_SPEED_MAX);
  joint->motor_power = SIM_DRAW_WHEEL_POWER;
  if (rects) joint->motor_power = core_random_uniform(random, SIM_DRAW_POWER_MIN, SIM_DRAW_POWER_MAX);
  joint->has_limits = rects && sim_generate_chance(random, SIM_DRAW_LIMIT_CHANCE);
  if (!joint->has_limits) return;
  joint->min_rotation = core_random_uniform(random, -REAL_PI, 0);
  joint->max_rotation = core_random_uniform(random, 0, REAL_PI);
}

/* Draws the remaining fields of `joint`, whose shapes and anchors are set. */
SIM_CALLED_FN void sim_generate_draw_joint(CoreRandomStream *random, SimLevel *level, bool force_revolute,
                                           SimJoint *joint) {
  int revolute = 0;
  for (int i = 0; i < level->size.joints; i++) revolute += level->joint[i].active && !level->joint[i].fixed;
  bool rects = !sim_generate_is_circle(level, joint->a) && !sim_generate_is_circle(level, joint->b);
  const SimShape *a = sim_generate_shape(level, joint->a), *b = sim_generate_shape(level, joint->b);
  joint->active = true;
  joint->motor_binding = (int)core_random_below(core_random_next(random), SIM_MOTOR_BINDINGS);
  joint->fixed = !sim_generate_chance(random, SIM_DRAW_REVOLUTE_CHANCE) && !force_revolute &&
                 revolute >= SIM_DRAW_REVOLUTE_FIRST;
  if (joint->fixed) joint->rotation = b->rotation - a->rotation;
  else sim_generate_draw_motor(random, rects, joint);
}

/* ---- visibility of both shapes --------------------------------------------------------------------------------- */

/* Distances from a point of a rectangle to its nearest side and to its farthest corner. */
SIM_FN float sim_generate_nearest_side(const SimShape *rect, SimVec point) {
  SimVec half = sim_generate_half_extents(rect);
  return real_min(half.x - real_abs(point.x), half.y - real_abs(point.y));
}
SIM_FN float sim_generate_farthest_corner(const SimShape *rect, SimVec point) {
  SimVec half = sim_generate_half_extents(rect);
  float x = half.x + real_abs(point.x), y = half.y + real_abs(point.y);
  return real_sqrt(x * x + y * y);
}

/* Returns whether `small`, joined to `big`, reaches out of it at some angle. A disc's joint is at its center. */
SIM_FN bool sim_generate_reaches_out(const SimShape *small, bool small_circle, SimVec small_at, const SimShape *big,
                                     bool big_circle, SimVec big_at) {
  float reach = small_circle ? small->radius : sim_generate_farthest_corner(small, small_at);
  float cover = big_circle ? big->radius : sim_generate_nearest_side(big, big_at);
  return reach > cover + SIM_DRAW_VISIBLE_MIN;
}

/* Checks that neither shape is hidden by the other. The reference passes the anchors in the joint's order (a, b)
 * but the shapes as new and target: anchors are exchanged whenever the new shape has the larger index. */
SIM_CALLED_FN bool sim_generate_are_both_visible(SimLevel *level, int added, int target, const SimJoint *joint) {
  const SimShape *first = sim_generate_shape(level, added), *second = sim_generate_shape(level, target);
  bool first_circle = sim_generate_is_circle(level, added), second_circle = sim_generate_is_circle(level, target);
  SimVec a = sim_vec(joint->a_x, joint->a_y), b = sim_vec(joint->b_x, joint->b_y);
  return sim_generate_reaches_out(first, first_circle, a, second, second_circle, b) &&
         sim_generate_reaches_out(second, second_circle, b, first, first_circle, a);
}

/* ---- the shape ------------------------------------------------------------------------------------------------- */

SIM_FN bool sim_generate_has_target(const SimLevel *level) {
  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons; i++)
    if (level->polygon[i].active) return true;
  for (int i = 0; i < level->size.circles; i++)
    if (level->circle[i].active) return true;
  return false;
}

/* Adds a shape of random size and angle with its point *own on the target's point *at. */
SIM_CALLED_FN int sim_generate_place_shape(SimLevel *level, CoreRandomStream *random, int target, bool rect,
                                           SimVec *own, SimVec *at) {
  int index = rect ? sim_generate_free_polygon(level) : level->size.polygons + sim_generate_free_circle(level);
  const SimShape *partner = sim_generate_shape(level, target);
  SimShape shape = sim_generate_body(sim_generate_dimensions(random, rect), rect, SIM_ROLE_NORMAL);
  shape.rotation = core_random_uniform(random, 0, 2 * REAL_PI);
  *own = sim_generate_draw_anchor(random, &shape, !rect);
  *at = sim_generate_draw_anchor(random, partner, sim_generate_is_circle(level, target));
  SimVec arm = sim_generate_to_world(&shape, *own), overlap_bits = sim_generate_to_world(partner, *at);
  shape.x = overlap_bits.x - arm.x;
  shape.y = overlap_bits.y - arm.y;
  float allowed[4];
  for (int role = 0; role < 4; role++) allowed[role] = sim_generate_allowed(partner->role, role);
  shape.role = sim_generate_role(random, level, allowed);
  *sim_generate_shape(level, index) = shape;
  return index;
}

/* Adds a shape joined to an existing one; returns its global index, or -1. *visible: whether neither hides the other at
 * some angle of the joint; may be NULL. */
SIM_CALLED_FN int sim_generate_add_connected(SimLevel *level, CoreRandomStream *random, bool force_revolute,
                                             bool *visible) {
  int slot = sim_generate_free_joint(level);
  bool rect, has_slot = sim_generate_free_polygon(level) >= 0 || sim_generate_free_circle(level) >= 0;
  if (visible) *visible = false;
  if (slot < 0 || !has_slot || !sim_generate_has_target(level)) return -1;

  SimVec own, at;
  int target = sim_generate_draw_kinds(random, level, &rect);
  int added = sim_generate_place_shape(level, random, target, rect, &own, &at);
  SimVec overlap_bits = sim_generate_to_world(sim_generate_shape(level, target), at);

  bool first = added < target;
  SimVec a = first ? own : at, b = first ? at : own;
  SimJoint joint = {
    .a = first ? added : target, .b = first ? target : added, .a_x = a.x, .a_y = a.y, .b_x = b.x, .b_y = b.y,
    .global_x = overlap_bits.x, .global_y = overlap_bits.y,
  };

  sim_generate_draw_joint(random, level, force_revolute, &joint);
  level->joint[slot] = joint;
  sim_level_weigh(level);
  if (visible) *visible = sim_generate_are_both_visible(level, added, target, &joint);
  return added;
}

#endif
