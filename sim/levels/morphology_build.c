/* Builder functions of morphology_internal.h. Arithmetic is float32 with sines from real.h, so that a level has the
 * same bits on every machine. */
#include "sim/levels/morphology_internal.h"

SimBuilder sim_builder_start(SimLevel *level, SimSize size, bool corrected, uint32_t index, uint32_t attempt) {
  *level = sim_level_empty(size, corrected);
  return (SimBuilder){
    .level = level,
    .random = core_random_stream(SIM_MORPHOLOGY_SEED, CORE_RANDOM_LEVEL, index, attempt),
    .polygons = SIM_STATIC_POLYGONS,
    .root = SIM_STATIC_POLYGONS,
  };
}

float sim_builder_uniform(SimBuilder *builder, float low, float high) {
  return core_random_uniform(&builder->random, low, high);
}

bool sim_builder_chance(SimBuilder *builder, float probability) {
  return core_random_unit(core_random_next(&builder->random)) < probability;
}

int sim_builder_whole(SimBuilder *builder, int low, int high) {
  return low + (int)core_random_below(core_random_next(&builder->random), (uint32_t)(high - low + 1));
}

SimShape *sim_builder_shape(SimBuilder *builder, int index) {
  SimLevel *level = builder->level;
  return index < level->size.polygons ? &level->polygon[index] : &level->circle[index - level->size.polygons];
}

/* Marks a shape as moving: nonzero, because 0 would mean fixated; recomputed once the body is complete. */
static void set_moving(SimShape *shape) {
  shape->active = true;
  shape->inverse_mass = shape->inverse_inertia = 1;
}

int sim_builder_rect(SimBuilder *builder, float half_x, float half_y) {
  CORE_CHECK(builder->polygons < builder->level->size.polygons);
  SimShape *shape = &builder->level->polygon[builder->polygons];
  const float x[SIM_VERTICES] = {-half_x, half_x, half_x, -half_x};
  const float y[SIM_VERTICES] = {half_y, half_y, -half_y, -half_y};
  for (int i = 0; i < SIM_VERTICES; i++) {
    shape->vertex_x[i] = x[i];
    shape->vertex_y[i] = y[i];
  }
  set_moving(shape);
  return builder->polygons++;
}

int sim_builder_disc(SimBuilder *builder, float radius) {
  CORE_CHECK(builder->circles < builder->level->size.circles);
  SimShape *shape = &builder->level->circle[builder->circles];
  shape->radius = radius;
  set_moving(shape);
  return builder->level->size.polygons + builder->circles++;
}

SimJoint *sim_builder_attach(SimBuilder *builder, int parent, SimVec at_parent, int child, SimVec at_child,
                             float rotation) {
  CORE_CHECK(builder->joints < builder->level->size.joints);

  SimShape *a = sim_builder_shape(builder, parent), *b = sim_builder_shape(builder, child);
  RealSinCos a_turn = real_sin_cos(a->rotation), b_turn = real_sin_cos(rotation);
  SimVec a_arm = sim_vec_rotate(a_turn.sine, a_turn.cosine, at_parent);
  SimVec b_arm = sim_vec_rotate(b_turn.sine, b_turn.cosine, at_child);
  b->rotation = rotation;
  b->x = a->x + a_arm.x - b_arm.x;
  b->y = a->y + a_arm.y - b_arm.y;

  SimJoint *joint = &builder->level->joint[builder->joints++];
  joint->active = true;
  joint->a = parent;
  joint->b = child;
  joint->a_x = at_parent.x;
  joint->a_y = at_parent.y;
  joint->b_x = at_child.x;
  joint->b_y = at_child.y;
  return joint;
}

SimShape *sim_builder_goal(SimBuilder *builder, int slot, SimVec position, float radius) {
  SimShape *goal = &builder->level->circle[slot];
  goal->active = true;
  goal->role = SIM_ROLE_BLUE;
  goal->radius = radius;
  goal->x = position.x;
  goal->y = position.y;
  return goal;
}

static void grow(SimBox *box, float x, float y, float margin) {
  box->left = real_min(box->left, x - margin);
  box->right = real_max(box->right, x + margin);
  box->bottom = real_min(box->bottom, y - margin);
  box->top = real_max(box->top, y + margin);
}

SimBox sim_builder_bounds(const SimLevel *level) {
  SimBox box = {REAL_HUGE, -REAL_HUGE, REAL_HUGE, -REAL_HUGE};

  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons; i++) {
    const SimShape *shape = &level->polygon[i];
    if (!shape->active || shape->inverse_mass == 0) continue;
    RealSinCos turn = real_sin_cos(shape->rotation);
    for (int k = 0; k < shape->vertex_count; k++) {
      SimVec arm = sim_vec_rotate(turn.sine, turn.cosine, sim_vec(shape->vertex_x[k], shape->vertex_y[k]));
      grow(&box, shape->x + arm.x, shape->y + arm.y, 0);
    }
  }

  for (int i = 0; i < level->size.circles; i++) {
    const SimShape *shape = &level->circle[i];
    if (shape->active && shape->inverse_mass != 0) grow(&box, shape->x, shape->y, shape->radius);
  }
  return box;
}
