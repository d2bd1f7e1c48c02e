/* Public locomotion generator: sample_locomotion_level with its default arguments, in
 * kinetix/environment/ued/locomotion_distribution.py of the Python package kinetix-env 3.0.2. A green body, two legs
 * with ankles, a third leg, and a blue disc to reach. Its oddities are kept and marked. */
#include "sim/levels/morphology_internal.h"

static const float EIGHTH_TURN = 0.785398163f, SIXTEENTH_TURN = 0.392699082f;
static const float INSET = 0.05f;   /* distance of joints from the edge */
static const float SCENE = 5.0f;

typedef struct Limb { int shape; float half_x, half_y; } Limb;

static Limb add_rect(SimBuilder *builder, float width, float height) {
  float half_x = 0.5f * width * sim_builder_uniform(builder, 0.5f, 1.5f);
  float half_y = 0.5f * height * sim_builder_uniform(builder, 0.5f, 1.5f);
  return (Limb){sim_builder_rect(builder, half_x, half_y), half_x, half_y};
}

/* Adds a limb that hangs by its top from a point of its parent, rotated against it by `turn`. */
static Limb hang(SimBuilder *builder, Limb parent, SimVec anchor, float width, float height, float turn, int binding) {
  Limb limb = add_rect(builder, width, height);
  float rotation = sim_builder_shape(builder, parent.shape)->rotation + turn;
  SimVec top = sim_vec(0, limb.half_y - INSET);
  SimJoint *joint = sim_builder_attach(builder, parent.shape, anchor, limb.shape, top, rotation);
  joint->motor_on = joint->has_limits = true;
  joint->motor_speed = 1;
  joint->motor_power = 3;
  joint->motor_binding = binding;
  joint->min_rotation = -EIGHTH_TURN; /* limits are relative to equal rotations, not to the initial pose */
  joint->max_rotation = EIGHTH_TURN;
  return limb;
}

static SimVec bottom(Limb limb) { return sim_vec(0, INSET - limb.half_y); }

static Limb hang_leg(SimBuilder *builder, Limb parent, SimVec anchor, float turn, int binding) {
  return hang(builder, parent, anchor, 0.1f, 0.3f, turn, binding);
}

static void build_body(SimBuilder *builder, float start_x) {
  Limb body = add_rect(builder, 0.6f, 0.2f);
  SimShape *shape = sim_builder_shape(builder, body.shape);
  shape->role = SIM_ROLE_GREEN;
  shape->x = start_x;
  Limb left = hang_leg(builder, body, sim_vec(INSET - body.half_x, 0), -SIXTEENTH_TURN, 0);
  Limb right = hang_leg(builder, body, sim_vec(body.half_x - INSET, 0), SIXTEENTH_TURN, 1);
  left = hang(builder, left, bottom(left), 0.1f, 0.2f, 0, 2);
  hang(builder, right, bottom(right), 0.1f, 0.2f, 0, 3);
  /* Never the right limb and never binding 3: the generator's upper bounds are exclusive. */
  int binding = sim_builder_whole(builder, 0, 2);
  Limb parent = sim_builder_chance(builder, 0.5f) ? left : body;
  hang_leg(builder, parent, bottom(parent), 0, binding);
}

/* Moves all shapes into the scene by a bounding box that ignores rotations, as the generator does; that includes unused
 * slots and the joints' cached positions. */
static void shift_into_scene(SimLevel *level) {
  float left = REAL_HUGE, right = -REAL_HUGE, low = REAL_HUGE;

  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons; i++) {
    const SimShape *shape = &level->polygon[i];
    if (!shape->active) continue;
    for (int k = 0; k < SIM_VERTICES; k++) {
      left = real_min(left, shape->x + shape->vertex_x[k]);
      right = real_max(right, shape->x + shape->vertex_x[k]);
      low = real_min(low, shape->y + shape->vertex_y[k]);
    }
  }

  float dx = real_max(0, 0.2f - left) - real_max(0, right - 4.8f), dy = real_max(0, 0.5f - low);
  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons; i++) {
    level->polygon[i].x += dx;
    level->polygon[i].y += dy;
  }
  for (int i = 0; i < level->size.joints; i++) {
    level->joint[i].global_x += dx;
    level->joint[i].global_y += dy;
  }
}

SimLevel sim_morphology_public(uint32_t key) {
  SimLevel level;
  SimBuilder builder = sim_builder_start(&level, SIM_SIZE_L, false, key, 0);
  snprintf(level.name, sizeof level.name, "public-%03u", (unsigned)key);
  bool swap = sim_builder_chance(&builder, 0.5f);
  build_body(&builder, swap ? SCENE : 0);
  sim_level_recompute_mass(&level);
  shift_into_scene(&level);
  float goal_x = 2.0f + 2.5f * sim_builder_uniform(&builder, 0, 1);
  sim_builder_goal(&builder, 0, sim_vec(swap ? SCENE - goal_x : goal_x, 1), 0.3f);
  level.polygon[0].role = sim_builder_chance(&builder, 0.25f) ? SIM_ROLE_RED : SIM_ROLE_NORMAL;
  return level;
}
