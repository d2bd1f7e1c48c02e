/* Eight body plans of the loco512 families and their scene (docs/simulator.md#families). A plan builds the body at the
 * origin, facing +x; the scene mirrors it, sets it on the floor, and adds the goal and a step. Sizes and densities are
 * drawn for each part. Legs hang from the torso's lower edge, a unicycle's arms from the middle of its ends, both
 * spread outwards. */
#include "sim/levels/morphology_internal.h"

const char *const SIM_MORPHOLOGY_NAME[SIM_MORPHOLOGY_FAMILIES] = {"chain", "hopper", "walker", "cheetah",
                                                                  "car", "unicycle", "wheelfeet", "tree"};
enum { CHAIN, HOPPER, WALKER, CHEETAH, CAR, UNICYCLE, WHEELFEET, TREE };

enum { GOAL_SLOT = 2 };
static const float FLOOR = 0.4f, ARENA = 5.0f;

int sim_morphology_family(int index) { return index % SIM_MORPHOLOGY_FAMILIES; }
int sim_morphology_class(int index) { return index / SIM_MORPHOLOGY_FAMILIES % SIM_MORPHOLOGY_CLASSES; }

/* ---- parts ----------------------------------------------------------------------------------------------------- */

typedef struct Part { int shape; float half_x, half_y; } Part;

static void draw_density(SimBuilder *b, int shape) {
  sim_builder_shape(b, shape)->density = sim_builder_uniform(b, 0.7f, 1.3f);
}

static Part add_part(SimBuilder *b, float half_x, float half_y) {
  Part part = {sim_builder_rect(b, half_x, half_y), half_x, half_y};
  draw_density(b, part.shape);
  return part;
}

/* Adds a rectangle with both half extents drawn. */
static Part draw_part(SimBuilder *b, float x_low, float x_high, float y_low, float y_high) {
  float half_x = sim_builder_uniform(b, x_low, x_high);
  return add_part(b, half_x, sim_builder_uniform(b, y_low, y_high));
}

static SimVec top(Part part) { return sim_vec(0, part.half_y); }
static SimVec bottom(Part part) { return sim_vec(0, -part.half_y); }
static SimVec left_end(Part part) { return sim_vec(-part.half_x, 0); }
static SimVec right_end(Part part) { return sim_vec(part.half_x, 0); }

/* Adds a hinge between two rectangles, without a motor, with limits around the initial pose in nine of ten cases. */
static SimJoint *hinge(SimBuilder *b, Part parent, SimVec at_parent, Part child, SimVec at_child, float rotation) {
  int number = b->joints;
  SimJoint *joint = sim_builder_attach(b, parent.shape, at_parent, child.shape, at_child, rotation);
  joint->motor_binding = number % SIM_MOTOR_BINDINGS;
  joint->rotation = rotation - sim_builder_shape(b, parent.shape)->rotation;
  joint->has_limits = sim_builder_chance(b, 0.9f);
  if (joint->has_limits) {
    joint->min_rotation = -sim_builder_uniform(b, 0.4f, 1.2f);
    joint->max_rotation = sim_builder_uniform(b, 0.4f, 1.2f);
  }
  return joint;
}

static void motor_hinge(SimBuilder *b, Part parent, SimVec at_parent, Part child, SimVec at_child, float rotation) {
  SimJoint *joint = hinge(b, parent, at_parent, child, at_child, rotation);
  joint->motor_on = true;
  joint->motor_speed = sim_builder_uniform(b, 1.5f, 3.0f);
  joint->motor_power = sim_builder_uniform(b, 1.5f, 3.0f);
}

/* Adds a motorised limb that hangs from a point of its parent at an angle from the vertical. */
static Part hang(SimBuilder *b, Part parent, SimVec anchor, float half_x, float y_low, float y_high, float rotation) {
  Part limb = add_part(b, half_x, sim_builder_uniform(b, y_low, y_high));
  motor_hinge(b, parent, anchor, limb, top(limb), rotation);
  return limb;
}

static SimJoint *add_wheel(SimBuilder *b, Part parent, SimVec anchor, float r_low, float r_high) {
  int number = b->joints, wheel = sim_builder_disc(b, sim_builder_uniform(b, r_low, r_high));
  draw_density(b, wheel);
  SimJoint *joint = sim_builder_attach(b, parent.shape, anchor, wheel, sim_vec(0, 0), 0);
  joint->motor_binding = number % SIM_MOTOR_BINDINGS;
  joint->motor_on = true;
  joint->motor_speed = sim_builder_uniform(b, 1.5f, 3.0f);
  joint->motor_power = 1; /* more power overshoots within a step */
  return joint;
}

/* ---- the plans ------------------------------------------------------------------------------------------------- */

static void plan_chain(SimBuilder *b) {
  int count = sim_builder_whole(b, 3, 6);
  Part link = draw_part(b, 0.10f, 0.22f, 0.04f, 0.08f);
  b->root = link.shape + count / 2;
  for (int i = 1; i < count; i++) {
    Part next = draw_part(b, 0.10f, 0.22f, 0.04f, 0.08f);
    motor_hinge(b, link, right_end(link), next, left_end(next), 0);
    link = next;
  }
}

static Part upright_torso(SimBuilder *b) { return draw_part(b, 0.04f, 0.07f, 0.14f, 0.22f); }

static void plan_hopper(SimBuilder *b) {
  Part limb = upright_torso(b);
  int segments = sim_builder_whole(b, 1, 3);
  for (int i = 0; i < segments; i++) limb = hang(b, limb, bottom(limb), 0.05f, 0.12f, 0.20f, 0);
  Part foot = draw_part(b, 0.12f, 0.22f, 0.04f, 0.08f);
  motor_hinge(b, limb, bottom(limb), foot, top(foot), 0);
}

static void plan_walker(SimBuilder *b) {
  Part torso = upright_torso(b), leg[2];
  for (int side = 0; side < 2; side++) {
    SimVec anchor = sim_vec((side == 0 ? -0.5f : 0.5f) * torso.half_x, -torso.half_y);
    leg[side] = hang(b, torso, anchor, 0.05f, 0.10f, 0.17f, 0);
  }
  for (int side = 0; side < 2; side++) hang(b, leg[side], bottom(leg[side]), 0.05f, 0.10f, 0.17f, 0);
  if (!sim_builder_chance(b, 0.5f)) return;
  Part head = add_part(b, 0.06f, 0.06f);
  sim_builder_attach(b, torso.shape, top(torso), head.shape, bottom(head), 0)->fixed = true;
}

static void plan_cheetah(SimBuilder *b) {
  Part torso = draw_part(b, 0.28f, 0.46f, 0.05f, 0.08f);
  for (int side = 0; side < 2; side++) {
    float reach = torso.half_x - 0.05f;
    SimVec anchor = sim_vec(side == 0 ? -reach : reach, -torso.half_y);
    Part limb = torso;
    int segments = sim_builder_whole(b, 1, 2);
    for (int i = 0; i < segments; i++) {
      limb = hang(b, limb, anchor, 0.04f, 0.10f, 0.17f, sim_builder_uniform(b, -0.8f, 0.8f));
      anchor = bottom(limb);
    }
  }
}

/* Adds a passive part to a car: a trailer behind or a pole on top. */
static void add_load(SimBuilder *b, Part body) {
  if (sim_builder_chance(b, 0.5f)) {
    Part trailer = add_part(b, sim_builder_uniform(b, 0.1f, 0.2f), 0.04f);
    hinge(b, body, left_end(body), trailer, right_end(trailer), 0);
  } else {
    Part pole = add_part(b, 0.04f, sim_builder_uniform(b, 0.12f, 0.25f));
    hinge(b, body, top(body), pole, bottom(pole), 0);
  }
}

static void plan_car(SimBuilder *b) {
  Part body = draw_part(b, 0.25f, 0.45f, 0.05f, 0.12f);
  SimJoint *front = NULL;
  for (int side = 0; side < 2; side++) {
    float x = (side == 0 ? -1.0f : 1.0f) * sim_builder_uniform(b, 0.5f, 0.9f) * body.half_x;
    float y = -sim_builder_uniform(b, 0, body.half_y);
    front = add_wheel(b, body, sim_vec(x, y), 0.12f, 0.22f);
  }
  if (sim_builder_chance(b, 0.5f)) front->motor_binding = 0; /* both wheels on one action */
  if (sim_builder_chance(b, 0.4f)) add_load(b, body);
}

static void plan_unicycle(SimBuilder *b) {
  Part body = draw_part(b, 0.2f, 0.4f, 0.05f, 0.10f);
  add_wheel(b, body, bottom(body), 0.12f, 0.22f);
  int arms = sim_builder_whole(b, 0, 2);
  bool left = arms == 2 || sim_builder_chance(b, 0.5f);
  for (int i = 0; i < arms; i++) {
    SimVec end = left ? left_end(body) : right_end(body);
    hang(b, body, end, 0.03f, 0.12f, 0.20f, left ? -0.5f : 0.5f);
    left = false;
  }
}

static void plan_wheelfeet(SimBuilder *b) {
  Part torso = draw_part(b, 0.2f, 0.4f, 0.05f, 0.08f), leg[2];
  for (int side = 0; side < 2; side++) {
    float reach = torso.half_x - 0.03f;
    SimVec anchor = sim_vec(side == 0 ? -reach : reach, -torso.half_y);
    leg[side] = hang(b, torso, anchor, 0.04f, 0.08f, 0.14f, side == 0 ? -0.3f : 0.3f);
  }
  for (int side = 0; side < 2; side++) add_wheel(b, leg[side], bottom(leg[side]), 0.08f, 0.14f);
}

/* Adds a thruster at the root's rear end that pushes through its center; some trees have one. */
static void add_thruster(SimBuilder *b, Part root) {
  sim_level_recompute_mass(b->level);
  float mass = 0;
  for (int i = SIM_STATIC_POLYGONS; i < b->polygons; i++) mass += 1 / b->level->polygon[i].inverse_mass;
  SimVec anchor = left_end(root);
  b->level->thruster[0] =
    (SimThruster){.shape = root.shape, .x = anchor.x, .y = anchor.y, .power = mass, .active = true};
}

static void plan_tree(SimBuilder *b) {
  const float snap = REAL_PI / 6;
  Part node[6];
  int degree[6] = {0}, count = sim_builder_whole(b, 3, 6);

  node[0] = draw_part(b, 0.10f, 0.20f, 0.04f, 0.08f);
  for (int i = 1; i < count; i++) {
    node[i] = draw_part(b, 0.10f, 0.20f, 0.04f, 0.08f);
    int open = 0, candidate[6];
    for (int k = 0; k < i; k++)
      if (degree[k] < 3) candidate[open++] = k;
    int parent = candidate[sim_builder_whole(b, 0, open - 1)];
    SimVec anchor = sim_builder_chance(b, 0.5f) ? left_end(node[parent]) : right_end(node[parent]);
    motor_hinge(b, node[parent], anchor, node[i], left_end(node[i]), snap * (float)sim_builder_whole(b, -5, 6));
    degree[parent]++;
    degree[i]++;
  }

  if (sim_builder_chance(b, 0.1f)) add_thruster(b, node[0]);
}

/* ---- the scene around the body --------------------------------------------------------------------------------- */

/* Mirrors left and right. Rectangles and discs are their own mirror images. */
static void mirror(SimBuilder *b) {
  SimLevel *level = b->level;

  for (int i = SIM_STATIC_POLYGONS; i < b->polygons; i++) {
    level->polygon[i].x = -level->polygon[i].x;
    level->polygon[i].rotation = -level->polygon[i].rotation;
  }
  for (int i = 0; i < b->circles; i++) level->circle[i].x = -level->circle[i].x;

  for (int i = 0; i < b->joints; i++) {
    SimJoint *joint = &level->joint[i];
    float lowest = joint->min_rotation;
    joint->a_x = -joint->a_x;
    joint->b_x = -joint->b_x;
    joint->rotation = -joint->rotation;
    joint->min_rotation = -joint->max_rotation;
    joint->max_rotation = -lowest;
  }

  SimThruster *thruster = &level->thruster[0];
  if (!thruster->active) return;
  thruster->x = -thruster->x;
  thruster->rotation = REAL_PI - thruster->rotation;
}

static SimVec world_point(SimShape *shape, float x, float y) {
  RealSinCos turn = real_sin_cos(shape->rotation);
  SimVec arm = sim_vec_rotate(turn.sine, turn.cosine, sim_vec(x, y));
  return sim_vec(shape->x + arm.x, shape->y + arm.y);
}

/* Puts the body on the floor with 2 cm to spare and its rear near the wall behind it, then recomputes the cached
 * positions of joints and thruster. */
static void place(SimBuilder *b, float direction) {
  SimLevel *level = b->level;
  SimBox box = sim_builder_bounds(level);
  float width = box.right - box.left;
  float rear = real_min(sim_builder_uniform(b, 0.3f, 1.0f), 4.7f - width);
  float dx = (direction > 0 ? rear : ARENA - rear - width) - box.left, dy = FLOOR + 0.02f - box.bottom;

  for (int i = SIM_STATIC_POLYGONS; i < b->polygons; i++) {
    level->polygon[i].x += dx;
    level->polygon[i].y += dy;
  }
  for (int i = 0; i < b->circles; i++) {
    level->circle[i].x += dx;
    level->circle[i].y += dy;
  }
  for (int i = 0; i < b->joints; i++) {
    SimJoint *joint = &level->joint[i];
    SimVec anchor = world_point(sim_builder_shape(b, joint->a), joint->a_x, joint->a_y);
    joint->global_x = anchor.x;
    joint->global_y = anchor.y;
  }

  SimThruster *thruster = &level->thruster[0];
  if (!thruster->active) return;
  SimVec anchor = world_point(sim_builder_shape(b, thruster->shape), thruster->x, thruster->y);
  thruster->global_x = anchor.x;
  thruster->global_y = anchor.y;
}

typedef struct Difficulty {
  float near, far;          /* range of the distance from root to goal */
  float step_low, step_high; /* range of the height of a step on the way; 0: flat */
  float power;              /* factor of the motors' power */
} Difficulty;
static const Difficulty difficulties[SIM_MORPHOLOGY_CLASSES] = {
  {0.8f, 1.4f, 0, 0, 1}, {1.4f, 2.2f, 0, 0, 1}, {2.2f, 3.0f, 0.03f, 0.08f, 1}, {2.8f, 3.6f, 0.06f, 0.14f, 0.8f}};

/* Adds the goal. Only the root collides with it (modes 2 and 0), so that wheels and leading limbs cannot block the
 * way. */
static SimShape *add_goal(SimBuilder *b, float direction, bool may_rise, const Difficulty *difficulty) {
  SimShape *root = sim_builder_shape(b, b->root);
  root->role = SIM_ROLE_GREEN;
  root->collision_mode = 2;
  float radius = sim_builder_uniform(b, 0.12f, 0.25f);
  float x = root->x + direction * sim_builder_uniform(b, difficulty->near, difficulty->far);
  bool raised = may_rise && sim_builder_chance(b, 0.25f);
  float y = root->y + (raised ? sim_builder_uniform(b, 0.1f, 0.5f) : sim_builder_uniform(b, -0.1f, 0.1f));
  x = real_clip(x, 0.2f + radius, 4.8f - radius);
  y = real_clip(y, FLOOR + radius, 2.0f);
  SimShape *goal = sim_builder_goal(b, GOAL_SLOT, sim_vec(x, y), radius);
  goal->collision_mode = 0;
  return goal;
}

static void add_step(SimBuilder *b, const SimShape *goal, const Difficulty *difficulty) {
  if (difficulty->step_high == 0 || b->polygons == b->level->size.polygons) return;
  float half_x = sim_builder_uniform(b, 0.08f, 0.2f);
  float half_y = 0.5f * sim_builder_uniform(b, difficulty->step_low, difficulty->step_high);
  float from = sim_builder_shape(b, b->root)->x;
  SimShape *step = sim_builder_shape(b, sim_builder_rect(b, half_x, half_y));
  step->inverse_mass = step->inverse_inertia = 0;
  step->x = from + sim_builder_uniform(b, 0.4f, 0.7f) * (goal->x - from);
  step->y = FLOOR + half_y;
}

SimLevel sim_morphology_candidate(int index, uint32_t attempt) {
  static void (*const plan[SIM_MORPHOLOGY_FAMILIES])(SimBuilder *) = {
    [CHAIN] = plan_chain, [HOPPER] = plan_hopper, [WALKER] = plan_walker, [CHEETAH] = plan_cheetah,
    [CAR] = plan_car, [UNICYCLE] = plan_unicycle, [WHEELFEET] = plan_wheelfeet, [TREE] = plan_tree};
  int family = sim_morphology_family(index), class = sim_morphology_class(index);
  const Difficulty *difficulty = &difficulties[class];
  SimLevel level;

  SimBuilder b = sim_builder_start(&level, SIM_SIZE_LOCO, true, (uint32_t)index, attempt);
  snprintf(level.name, sizeof level.name, "%s-%d-%03d", SIM_MORPHOLOGY_NAME[family], class, index);
  plan[family](&b);
  sim_level_recompute_mass(&level);
  for (int i = 0; i < b.joints; i++) level.joint[i].motor_power *= difficulty->power;

  float direction = sim_builder_chance(&b, 0.5f) ? 1.0f : -1.0f;
  if (direction < 0) mirror(&b);
  place(&b, direction);

  const SimShape *goal = add_goal(&b, direction, family == HOPPER || family == WALKER || family == TREE, difficulty);
  add_step(&b, goal, difficulty);
  return level;
}
