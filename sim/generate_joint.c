/* A random shape on a random joint (spec kinetix.md 5.4): which shape it is joined to, where, with what motor; and
 * whether the two would hide each other. */
#include "sim/generate_internal.h"

static const float FIXATED_TARGET = 0.05f;      /* weight of a fixated shape as a target */
static const int REVOLUTE_FIRST = 2;            /* so many joints are revolute before any is fixed */
static const float REVOLUTE_CHANCE = 0.5f, MOTOR_CHANCE = 0.8f, LIMIT_CHANCE = 0.4f;
static const float SPEED_MIN = 0.4f, SPEED_MAX = 3;
static const float POWER_MIN = 1, POWER_MAX = 3, WHEEL_POWER = 1; /* stronger wheels over-correct (spec 2.6) */
static const float VISIBLE_MIN = 0.05f;         /* metres of one shape that stick out of the other */

/* ---- the target ------------------------------------------------------------------------------------------------ */

/* How likely each shape is as a target: never a static, rarely a fixated one, a rectangle with up to one joint more, a
 * disc only without any. */
static void weigh_targets(SimLevel *level, float weights[SIM_MAX_SHAPES]) {
  int degree[SIM_MAX_SHAPES] = {0}, shapes = level->size.polygons + level->size.circles;
  for (int i = 0; i < level->size.joints; i++) {
    if (!level->joint[i].active) continue;
    degree[level->joint[i].a]++;
    degree[level->joint[i].b]++;
  }
  for (int i = 0; i < shapes; i++) {
    const SimShape *shape = sim_generate_shape(level, i);
    float room = sim_generate_is_circle(level, i) ? (float)(degree[i] == 0) : real_max((2 - (float)degree[i]) / 2, 0);
    weights[i] = i >= SIM_STATIC_POLYGONS && shape->active ? room : 0;
    if (shape->inverse_mass == 0) weights[i] *= FIXATED_TARGET;
  }
}

static float sum(const float *weights, int count) {
  float total = 0;
  for (int i = 0; i < count; i++) total += weights[i];
  return total;
}

/* One of the shapes first .. first + count - 1 by its weight. Where all weights are 0 any active one may be it, the
 * four statics among the polygons included, as in the reference. */
static int pick_target(CoreRandomStream *random, SimLevel *level, float *weights, int first, int count) {
  if (sum(weights + first, count) == 0)
    for (int i = first; i < first + count; i++) weights[i] = sim_generate_shape(level, i)->active;
  return first + sim_generate_pick(random, weights + first, count);
}

/* Target's global index; *new_rect: is the new shape to be a rectangle? Never two discs. */
static int draw_kinds(CoreRandomStream *random, SimLevel *level, bool *new_rect) {
  float weights[SIM_MAX_SHAPES];
  int polygons = level->size.polygons, circles = level->size.circles, rects = 0;
  bool room_rect = sim_generate_free_polygon(level) >= 0, room_circle = sim_generate_free_circle(level) >= 0;
  weigh_targets(level, weights);
  for (int i = 0; i < polygons; i++) rects += level->polygon[i].active;
  const float target_kinds[] = {rects > SIM_STATIC_POLYGONS, sum(weights + polygons, circles) > 0};
  const float kinds[] = {room_rect, room_circle};
  bool target_rect = sim_generate_pick(random, target_kinds, 2) == 0 || !room_rect;
  *new_rect = sim_generate_pick(random, kinds, 2) == 0 || (!target_rect && room_rect);
  return target_rect ? pick_target(random, level, weights, 0, polygons)
                     : pick_target(random, level, weights, polygons, circles);
}

/* Roles that a shape joined to one of `target_role` may take: none that would end the episode at once. */
static const float allowed_roles[4][4] = {
  [SIM_ROLE_NORMAL] = {1, 1, 1, 1}, [SIM_ROLE_GREEN] = {1, 1, 0, 0}, [SIM_ROLE_BLUE] = {1, 0, 1, 0},
  [SIM_ROLE_RED] = {1, 0, 0, 1}};

/* ---- the joint ------------------------------------------------------------------------------------------------- */

/* Joints are on a disc's centre, anywhere on a rectangle. */
static SimVec draw_anchor(CoreRandomStream *random, const SimShape *shape, bool circle) {
  return circle ? sim_vec(0, 0) : sim_generate_point_on_polygon(random, shape);
}

/* Motor and limits of a revolute joint. Its rest angle is 0 whatever the shapes' angles are, so limits may be violated
 * at the start. */
static void draw_motor(CoreRandomStream *random, bool rects, SimJoint *joint) {
  joint->motor_on = sim_generate_chance(random, MOTOR_CHANCE);
  joint->motor_speed = core_random_uniform(random, SPEED_MIN, SPEED_MAX);
  joint->motor_power = rects ? core_random_uniform(random, POWER_MIN, POWER_MAX) : WHEEL_POWER;
  joint->has_limits = rects && sim_generate_chance(random, LIMIT_CHANCE);
  if (!joint->has_limits) return;
  joint->min_rotation = core_random_uniform(random, -REAL_PI, 0);
  joint->max_rotation = core_random_uniform(random, 0, REAL_PI);
}

/* Draws the rest of `joint`, whose ends and anchors are set. */
static void draw_joint(CoreRandomStream *random, SimLevel *level, bool force_revolute, SimJoint *joint) {
  int revolute = 0;
  for (int i = 0; i < level->size.joints; i++) revolute += level->joint[i].active && !level->joint[i].fixed;
  bool rects = !sim_generate_is_circle(level, joint->a) && !sim_generate_is_circle(level, joint->b);
  const SimShape *a = sim_generate_shape(level, joint->a), *b = sim_generate_shape(level, joint->b);
  joint->active = true;
  joint->motor_binding = (int)core_random_below(core_random_next(random), SIM_MOTOR_BINDINGS);
  joint->fixed = !sim_generate_chance(random, REVOLUTE_CHANCE) && !force_revolute && revolute >= REVOLUTE_FIRST;
  if (joint->fixed) joint->rotation = b->rotation - a->rotation;
  else draw_motor(random, rects, joint);
}

/* ---- are both to be seen? -------------------------------------------------------------------------------------- */

/* From a point on a rectangle to its nearest side and to its farthest corner. */
static float nearest_side(const SimShape *rect, SimVec at) {
  SimVec half = sim_generate_half_extents(rect);
  return real_min(half.x - real_abs(at.x), half.y - real_abs(at.y));
}
static float farthest_corner(const SimShape *rect, SimVec at) {
  SimVec half = sim_generate_half_extents(rect);
  float x = half.x + real_abs(at.x), y = half.y + real_abs(at.y);
  return real_sqrt(x * x + y * y);
}

/* Does `small`, joined to `big`, reach out of it in some position? A disc's joint is on its centre. */
static bool reaches_out(const SimShape *small, bool small_circle, SimVec small_at, const SimShape *big, bool big_circle,
                        SimVec big_at) {
  float reach = small_circle ? small->radius : farthest_corner(small, small_at);
  float cover = big_circle ? big->radius : nearest_side(big, big_at);
  return reach > cover + VISIBLE_MIN;
}

/* The reference hands over the anchors in the joint's order (a, b), but the shapes as new and old: the anchors are
 * exchanged whenever the new shape has the larger index. */
static bool are_both_visible(SimLevel *level, int added, int target, const SimJoint *joint) {
  const SimShape *first = sim_generate_shape(level, added), *second = sim_generate_shape(level, target);
  bool first_circle = sim_generate_is_circle(level, added), second_circle = sim_generate_is_circle(level, target);
  SimVec a = sim_vec(joint->a_x, joint->a_y), b = sim_vec(joint->b_x, joint->b_y);
  return reaches_out(first, first_circle, a, second, second_circle, b) &&
         reaches_out(second, second_circle, b, first, first_circle, a);
}

/* ---- the shape ------------------------------------------------------------------------------------------------- */

static bool has_target(const SimLevel *level) {
  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons; i++)
    if (level->polygon[i].active) return true;
  for (int i = 0; i < level->size.circles; i++)
    if (level->circle[i].active) return true;
  return false;
}

/* A new shape of random size and angle, its point *own on the target's point *at. */
static int place_shape(SimLevel *level, CoreRandomStream *random, int target, bool rect, SimVec *own, SimVec *at) {
  int index = rect ? sim_generate_free_polygon(level) : level->size.polygons + sim_generate_free_circle(level);
  const SimShape *partner = sim_generate_shape(level, target);
  SimShape shape = sim_generate_body(sim_generate_dimensions(random, rect), rect, SIM_ROLE_NORMAL);
  shape.rotation = core_random_uniform(random, 0, 2 * REAL_PI);
  *own = draw_anchor(random, &shape, !rect);
  *at = draw_anchor(random, partner, sim_generate_is_circle(level, target));
  SimVec arm = sim_generate_to_world(&shape, *own), meeting = sim_generate_to_world(partner, *at);
  shape.x = meeting.x - arm.x;
  shape.y = meeting.y - arm.y;
  shape.role = sim_generate_role(random, level, allowed_roles[partner->role]);
  *sim_generate_shape(level, index) = shape;
  return index;
}

int sim_generate_add_connected(SimLevel *level, CoreRandomStream *random, bool force_revolute, bool *visible) {
  int slot = sim_generate_free_joint(level);
  bool rect, room = sim_generate_free_polygon(level) >= 0 || sim_generate_free_circle(level) >= 0;
  if (visible) *visible = false;
  if (slot < 0 || !room || !has_target(level)) return -1;
  SimVec own, at;
  int target = draw_kinds(random, level, &rect);
  int added = place_shape(level, random, target, rect, &own, &at);
  SimVec meeting = sim_generate_to_world(sim_generate_shape(level, target), at);
  bool first = added < target;
  SimVec a = first ? own : at, b = first ? at : own;
  SimJoint joint = {
    .a = first ? added : target, .b = first ? target : added, .a_x = a.x, .a_y = a.y, .b_x = b.x, .b_y = b.y,
    .global_x = meeting.x, .global_y = meeting.y,
  };
  draw_joint(random, level, force_revolute, &joint);
  level->joint[slot] = joint;
  sim_level_recompute_mass(level);
  if (visible) *visible = are_both_visible(level, added, target, &joint);
  return added;
}
