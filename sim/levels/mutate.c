/* Edits of a level: each takes what it needs from the generator's parts (generate_internal.h) and the physics, and the
 * check of level.h stands behind all of them. */
#include "sim/levels/mutate.h"

#include "sim/levels/generate_internal.h"
#include "sim/physics/model_build.h"
#include "sim/physics/step.h"

enum { SETTLE_STEPS = 5 };

static int count_shapes(const SimLevel *level) { return level->size.polygons + level->size.circles; }

/* A uniformly drawn active shape that is no static and, if `other_role` is one, has another role; -1 when none is. */
static int pick_shape(SimLevel *level, CoreRandomStream *random, int other_role) {
  float weights[SIM_MAX_SHAPES] = {0}, total = 0;
  for (int i = SIM_STATIC_POLYGONS; i < count_shapes(level); i++) {
    const SimShape *shape = sim_generate_shape(level, i);
    weights[i] = shape->active && shape->role != other_role;
    total += weights[i];
  }
  return total > 0 ? sim_generate_pick(random, weights, count_shapes(level)) : -1;
}
enum { ANY_ROLE = -1 };

/* ---- adding and removing --------------------------------------------------------------------------------------- */

static bool add_shape(SimLevel *level, CoreRandomStream *random) {
  return sim_generate_add_shape(level, random, false) >= 0;
}

static bool add_connected(SimLevel *level, CoreRandomStream *random) {
  return sim_generate_add_connected(level, random, false, NULL) >= 0;
}

static bool remove_joint(SimLevel *level, CoreRandomStream *random) {
  float weights[SIM_MAX_JOINTS], total = 0;
  for (int i = 0; i < level->size.joints; i++) total += weights[i] = level->joint[i].active;
  if (total == 0) return false;
  level->joint[sim_generate_pick(random, weights, level->size.joints)].active = false;
  return true;
}

static bool remove_thruster(SimLevel *level, CoreRandomStream *random) {
  float weights[SIM_MAX_THRUSTERS], total = 0;
  for (int i = 0; i < level->size.thrusters; i++) total += weights[i] = level->thruster[i].active;
  if (total == 0) return false;
  level->thruster[sim_generate_pick(random, weights, level->size.thrusters)].active = false;
  return true;
}

/* With its joints and thrusters. */
static bool remove_shape(SimLevel *level, CoreRandomStream *random) {
  int index = pick_shape(level, random, ANY_ROLE);
  if (index < 0) return false;
  sim_generate_shape(level, index)->active = false;
  for (int i = 0; i < level->size.joints; i++)
    if (level->joint[i].a == index || level->joint[i].b == index) level->joint[i].active = false;
  for (int i = 0; i < level->size.thrusters; i++)
    if (level->thruster[i].shape == index) level->thruster[i].active = false;
  return true;
}

/* ---- what a shape is ------------------------------------------------------------------------------------------- */

static bool swap_role(SimLevel *level, CoreRandomStream *random) {
  int first = pick_shape(level, random, ANY_ROLE);
  if (first < 0) return false;
  SimShape *a = sim_generate_shape(level, first);
  int second = pick_shape(level, random, a->role);
  if (second < 0) return false;
  SimShape *b = sim_generate_shape(level, second);
  int role = a->role;
  a->role = b->role;
  b->role = role;
  return true;
}

static bool toggle_fixture(SimLevel *level, CoreRandomStream *random) {
  int index = pick_shape(level, random, ANY_ROLE);
  if (index < 0) return false;
  SimShape *shape = sim_generate_shape(level, index);
  bool fixated = shape->inverse_mass == 0;
  shape->inverse_mass = shape->inverse_inertia = fixated ? 1 : 0;
  if (!(shape->density > 0)) shape->density = 1; /* fixated shapes of a file need not have one */
  sim_level_recompute_mass(level);
  return true;
}

static bool change_gravity(SimLevel *level, CoreRandomStream *random) {
  const float full = -9.8f;
  level->gravity_x = 0;
  level->gravity_y = sim_generate_chance(random, 0.5f) ? full : core_random_uniform(random, full, 0);
  return true;
}

/* ---- where and how large a shape is ---------------------------------------------------------------------------- */

/* Lets joints pull their shapes together: a few steps without gravity, collisions or motors, at rest before each. */
static void settle(SimLevel *level) {
  const SimControl idle = {0};
  SimLevel weightless = *level;
  SimModel model;
  SimWorld world = {0};
  SimScratch scratch;
  weightless.gravity_x = weightless.gravity_y = 0;
  sim_model_build(&weightless, false, &model);
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) model.pair_end[kind] = 0;
  memcpy(world.body, model.start, sizeof world.body);
  sim_step_begin_level(&model, &scratch.places);
  for (int step = 0; step < SETTLE_STEPS; step++) {
    sim_step(&model, &world, &idle, &scratch);
    for (int i = 0; i < count_shapes(level); i++) {
      world.body[i].velocity = sim_vec(0, 0);
      world.body[i].angular_velocity = 0;
    }
  }
  for (int i = 0; i < count_shapes(level); i++) {
    SimShape *shape = sim_generate_shape(level, i);
    shape->x = world.body[i].position.x;
    shape->y = world.body[i].position.y;
    shape->rotation = world.body[i].rotation;
    shape->vx = shape->vy = shape->angular_velocity = 0;
  }
}

/* The factors by which a shape must grow to have these dimensions. */
static SimVec scale_of(const SimShape *shape, bool circle, SimDimensions d) {
  SimVec half = sim_generate_half_extents(shape);
  return circle ? sim_vec(d.radius / shape->radius, d.radius / shape->radius)
                : sim_vec(d.half_x / half.x, d.half_y / half.y);
}

/* The anchors of its joints move with a shape's sides; a thruster stays where it is. */
static bool change_size(SimLevel *level, CoreRandomStream *random) {
  int index = pick_shape(level, random, ANY_ROLE);
  if (index < 0) return false;
  bool circle = sim_generate_is_circle(level, index);
  SimShape *shape = sim_generate_shape(level, index);
  SimVec scale = scale_of(shape, circle, sim_generate_dimensions(random, !circle));
  if (circle) shape->radius *= scale.x;
  for (int i = 0; i < shape->vertex_count; i++) {
    shape->vertex_x[i] *= scale.x;
    shape->vertex_y[i] *= scale.y;
  }
  for (int i = 0; i < level->size.joints; i++) {
    SimJoint *joint = &level->joint[i];
    if (joint->active && joint->a == index) joint->a_x *= scale.x, joint->a_y *= scale.y;
    if (joint->active && joint->b == index) joint->b_x *= scale.x, joint->b_y *= scale.y;
  }
  settle(level);
  sim_level_recompute_mass(level);
  return true;
}

static bool change_rotation(SimLevel *level, CoreRandomStream *random) {
  int index = pick_shape(level, random, ANY_ROLE);
  if (index < 0) return false;
  float turn = core_random_uniform(random, 0, REAL_HALF_PI);
  sim_generate_shape(level, index)->rotation += turn;
  for (int i = 0; i < level->size.joints; i++) {
    SimJoint *joint = &level->joint[i];
    if (!joint->active || !joint->fixed) continue;
    if (joint->a == index) joint->rotation -= turn;
    else if (joint->b == index) joint->rotation += turn;
  }
  settle(level);
  sim_level_recompute_mass(level);
  return true;
}

/* Around all that is not static, as if no polygon were turned: the reference measures it so. */
static SimBox bounds(SimLevel *level) {
  SimBox box = {REAL_HUGE, -REAL_HUGE, REAL_HUGE, -REAL_HUGE};
  for (int i = SIM_STATIC_POLYGONS; i < count_shapes(level); i++) {
    const SimShape *s = sim_generate_shape(level, i);
    if (!s->active) continue;
    float left = 0, right = 0, bottom = 0, top = 0;
    for (int k = 0; k < s->vertex_count; k++) {
      left = real_min(left, s->vertex_x[k]);
      right = real_max(right, s->vertex_x[k]);
      bottom = real_min(bottom, s->vertex_y[k]);
      top = real_max(top, s->vertex_y[k]);
    }
    if (sim_generate_is_circle(level, i)) left = bottom = -s->radius, right = top = s->radius;
    box.left = real_min(box.left, s->x + left);
    box.right = real_max(box.right, s->x + right);
    box.bottom = real_min(box.bottom, s->y + bottom);
    box.top = real_max(box.top, s->y + top);
  }
  return box;
}

static void move_group(SimLevel *level, const int *group, int of, float dx, float dy) {
  for (int i = SIM_STATIC_POLYGONS; i < count_shapes(level); i++) {
    SimShape *shape = sim_generate_shape(level, i);
    if (group[i] != group[of]) continue;
    shape->x += dx;
    shape->y += dy;
  }
}

/* Moves a shape with all that is joined to it, and back by what then sticks out of the arena. */
static bool change_location(SimLevel *level, CoreRandomStream *random) {
  int group[SIM_MAX_SHAPES], index = pick_shape(level, random, ANY_ROLE);
  if (index < 0) return false;
  sim_model_groups(level, group);
  float dx = core_random_uniform(random, -0.5f, 0.5f);
  float dy = core_random_uniform(random, -0.5f, 0.5f);
  move_group(level, group, index, dx, dy);
  SimBox box = bounds(level);
  dx = real_max(0, -box.left) - real_max(0, box.right - SIM_GENERATE_ARENA);
  dy = real_max(0, SIM_GENERATE_FLOOR - box.bottom) - real_max(0, box.top - SIM_GENERATE_ARENA);
  move_group(level, group, index, dx, dy);
  sim_level_recompute_mass(level);
  return true;
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

typedef bool Edit(SimLevel *level, CoreRandomStream *random);
static Edit *const edits[SIM_MUTATIONS] = {
  [SIM_MUTATE_ADD_SHAPE] = add_shape, [SIM_MUTATE_ADD_CONNECTED] = add_connected,
  [SIM_MUTATE_REMOVE_JOINT] = remove_joint, [SIM_MUTATE_REMOVE_SHAPE] = remove_shape,
  [SIM_MUTATE_SWAP_ROLE] = swap_role, [SIM_MUTATE_ADD_THRUSTER] = sim_generate_add_thruster,
  [SIM_MUTATE_REMOVE_THRUSTER] = remove_thruster, [SIM_MUTATE_TOGGLE_FIXTURE] = toggle_fixture,
  [SIM_MUTATE_SIZE] = change_size, [SIM_MUTATE_LOCATION] = change_location, [SIM_MUTATE_ROTATION] = change_rotation,
  [SIM_MUTATE_GRAVITY] = change_gravity};

void sim_mutate_weights(const SimLevel *level, float weights[SIM_MUTATIONS]) {
  bool shape = sim_generate_free_polygon(level) >= 0 || sim_generate_free_circle(level) >= 0;
  bool joint = sim_generate_free_joint(level) >= 0, thruster = sim_generate_free_thruster(level) >= 0, any = false;
  for (int i = 0; i < level->size.thrusters; i++) any |= level->thruster[i].active;
  weights[SIM_MUTATE_ADD_SHAPE] = shape;
  weights[SIM_MUTATE_ADD_CONNECTED] = shape && joint;
  weights[SIM_MUTATE_REMOVE_JOINT] = weights[SIM_MUTATE_REMOVE_SHAPE] = 0;
  weights[SIM_MUTATE_SWAP_ROLE] = 1;
  weights[SIM_MUTATE_ADD_THRUSTER] = thruster;
  weights[SIM_MUTATE_REMOVE_THRUSTER] = any;
  weights[SIM_MUTATE_TOGGLE_FIXTURE] = 0.1f;
  weights[SIM_MUTATE_SIZE] = weights[SIM_MUTATE_LOCATION] = weights[SIM_MUTATE_ROTATION] = 1;
  weights[SIM_MUTATE_GRAVITY] = 0;
}

/* Joints and thrusters keep their world positions at hand, for drawing. */
static void place_caches(SimLevel *level) {
  for (int i = 0; i < level->size.joints; i++) {
    SimJoint *joint = &level->joint[i];
    if (!joint->active) continue;
    SimVec at = sim_generate_to_world(sim_generate_shape(level, joint->a), sim_vec(joint->a_x, joint->a_y));
    joint->global_x = at.x;
    joint->global_y = at.y;
  }
  for (int i = 0; i < level->size.thrusters; i++) {
    SimThruster *thruster = &level->thruster[i];
    if (!thruster->active) continue;
    SimVec at = sim_generate_to_world(sim_generate_shape(level, thruster->shape), sim_vec(thruster->x, thruster->y));
    thruster->global_x = at.x;
    thruster->global_y = at.y;
  }
}

bool sim_mutate_apply(SimLevel *level, SimMutation edit, CoreRandomStream *random) {
  SimLevel edited = *level;
  CORE_CHECK(edit >= 0 && edit < SIM_MUTATIONS);
  if (!edits[edit](&edited, random)) return false;
  place_caches(&edited);
  if (sim_level_check(&edited) != CORE_OK) { /* possible from odd outlines and extreme numbers only */
    core_error_clear();
    return false;
  }
  *level = edited;
  return true;
}

int sim_mutate_level(SimLevel *level, uint64_t seed, uint32_t number, int count) {
  CoreRandomStream random = core_random_stream(seed, CORE_RANDOM_LEVEL, number, SIM_GENERATE_MUTATE);
  TRY(sim_level_check(level));
  for (int i = 0; i < count; i++) {
    float weights[SIM_MUTATIONS];
    sim_mutate_weights(level, weights);
    sim_mutate_apply(level, (SimMutation)sim_generate_pick(&random, weights, SIM_MUTATIONS), &random);
  }
  return CORE_OK;
}
