/* A whole random level (spec kinetix.md 5.6): in which order parts are added, the choice among several proposals for a
 * part, and the final shuffle. The parts themselves are drawn by generate_shape.c and generate_joint.c. */
#include "sim/generate.h"

#include <stdio.h>
#include <string.h>

#include "sim/collide.h"
#include "sim/generate_internal.h"
#include "sim/step.h"

enum { PROPOSALS = 8, SMALL_SHAPES = 7 }; /* scenes of at most so many slots: one proposal, nothing fixated */
enum { HIDDEN_PENALTY = 10 };             /* contacts that a hidden joined shape counts as */
static const float CONNECTED_CHANCE = 0.35f, FREE_CHANCE = 0.35f, NOTHING_CHANCE = 0.3f, THRUSTER_CHANCE = 0.3f;
static const float floor_roles[4] = {
  [SIM_ROLE_NORMAL] = 0.9f, [SIM_ROLE_GREEN] = 0, [SIM_ROLE_BLUE] = 0.02f, [SIM_ROLE_RED] = 0.08f};

typedef struct Generator {
  SimLevel *level;
  CoreRandomStream random;
  bool small;
} Generator;

/* ---- how crowded a place is ------------------------------------------------------------------------------------ */

/* A shape as the narrow phase wants it. */
typedef struct Solid {
  SimOutline outline;
  SimVec corner[SIM_VERTICES];
  SimBody body;
  SimBox box;
  float radius;
  bool circle;
} Solid;

static Solid solid_of(SimLevel *level, int index) {
  const SimShape *shape = sim_generate_shape(level, index);
  RealSinCos turn = real_sin_cos(shape->rotation);
  Solid solid = {
    .body = {.position = {shape->x, shape->y}, .rotation = shape->rotation, .sine = turn.sine, .cosine = turn.cosine},
    .radius = shape->radius, .circle = sim_generate_is_circle(level, index),
  };
  if (solid.circle) {
    solid.box = sim_move_circle_box(solid.body.position, shape->radius);
  } else {
    solid.outline = sim_model_outline(shape);
    solid.box = sim_move_place_polygon(&solid.outline, &solid.body, solid.corner);
  }
  return solid;
}

/* Contacts between two shapes, the first being earlier in the level. Generated shapes all have modes that meet. */
static int count_contacts(const Solid *first, const Solid *second) {
  if (!sim_collide_boxes(first->box, second->box)) return 0;
  if (first->circle) return sim_collide_circles(first->body, first->radius, second->body, second->radius).active[0];
  if (second->circle)
    return sim_collide_circle_polygon(second->body, second->radius, first->body, &first->outline).active[0];
  SimPolygon a = {&first->outline, first->corner, first->body}, b = {&second->outline, second->corner, second->body};
  SimOverlap overlap = sim_collide_overlap(&a, &b);
  if (!overlap.active) return 0;
  SimManifold manifold = sim_collide_polygons(&a, &b, &overlap);
  return manifold.active[0] + manifold.active[1];
}

typedef struct Scene { Solid solid[SIM_MAX_SHAPES]; bool active[SIM_MAX_SHAPES]; int shapes; } Scene;

static void look_at(SimLevel *level, Scene *scene) {
  scene->shapes = level->size.polygons + level->size.circles;
  for (int i = 0; i < scene->shapes; i++) {
    scene->active[i] = sim_generate_shape(level, i)->active;
    if (scene->active[i]) scene->solid[i] = solid_of(level, i);
  }
}

/* Contacts that shape `added` of `level` has with the scene as it was without it. The reference counts those of the
 * whole scene; all proposals share the others. */
static int count_new_contacts(const Scene *scene, SimLevel *level, int added) {
  const Solid solid = solid_of(level, added);
  int contacts = 0;
  for (int i = 0; i < scene->shapes; i++)
    if (scene->active[i])
      contacts += i < added ? count_contacts(&scene->solid[i], &solid) : count_contacts(&solid, &scene->solid[i]);
  return contacts;
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

/* What kind of shape a proposal is for. */
typedef struct Part { bool connected, force_revolute, no_fix; } Part;

static int add_part(SimLevel *level, CoreRandomStream *random, Part part, bool *hidden) {
  bool visible = true;
  int added = part.connected ? sim_generate_add_connected(level, random, part.force_revolute, &visible)
                             : sim_generate_add_shape(level, random, part.no_fix);
  *hidden = !visible;
  return added;
}

/* Adds the first of several proposals that is least in the way. */
static void propose(Generator *g, Part part) {
  const SimLevel before = *g->level;
  int least = INT32_MAX;
  bool hidden;
  Scene scene;
  part.no_fix = part.no_fix || g->small;
  if (g->small) {
    add_part(g->level, &g->random, part, &hidden);
    return;
  }
  look_at(g->level, &scene);
  for (int i = 0; i < PROPOSALS && least > 0; i++) {
    SimLevel proposal = before;
    int added = add_part(&proposal, &g->random, part, &hidden);
    if (added < 0) return; /* no room for any proposal */
    int crowd = count_new_contacts(&scene, &proposal, added) + (hidden ? HIDDEN_PENALTY : 0);
    if (crowd >= least) continue;
    least = crowd;
    *g->level = proposal;
  }
}

/* Green and blue, of which at most one is fixated; then what can be controlled: a motor, a thruster or both. */
static void add_essentials(Generator *g) {
  bool first_moves = sim_generate_chance(&g->random, 0.5f) || g->level->polygon[0].role == SIM_ROLE_BLUE;
  propose(g, (Part){.no_fix = first_moves});
  propose(g, (Part){.no_fix = !first_moves});
  uint32_t control = core_random_below(core_random_next(&g->random), 3);
  bool thruster = control != 0, motor = control != 1;
  propose(g, (Part){.connected = motor, .force_revolute = motor});
  if (thruster) sim_generate_add_thruster(g->level, &g->random);
}

static void add_clutter(Generator *g) {
  static const float weights[] = {CONNECTED_CHANCE, FREE_CHANCE, NOTHING_CHANCE};
  SimSize size = g->level->size;
  for (int i = SMALL_SHAPES; i < size.polygons + size.circles; i++) {
    int kind = sim_generate_pick(&g->random, weights, 3);
    if (kind < 2) propose(g, (Part){.connected = kind == 0});
  }
  for (int i = 1; i < size.thrusters; i++)
    if (sim_generate_chance(&g->random, THRUSTER_CHANCE)) sim_generate_add_thruster(g->level, &g->random);
}

/* Green keeps to the left and blue to the right when they are drawn: half of the levels have it the other way. */
static void swap_green_and_blue(SimLevel *level) {
  for (int i = 0; i < level->size.polygons + level->size.circles; i++) {
    SimShape *shape = sim_generate_shape(level, i);
    if (shape->role == SIM_ROLE_GREEN) shape->role = SIM_ROLE_BLUE;
    else if (shape->role == SIM_ROLE_BLUE) shape->role = SIM_ROLE_GREEN;
  }
}

/* ---- the level ------------------------------------------------------------------------------------------------- */

/* A uniform order of `count` slots; order[i] is the slot whose content comes to i. */
static void draw_order(uint64_t seed, uint32_t number, uint32_t kind, int count, uint32_t *order) {
  core_random_permutation(seed, CORE_RANDOM_LEVEL, number, SIM_GENERATE_PERMUTE + kind, order, (uint32_t)count);
}

void sim_generate_permute(SimLevel *level, uint64_t seed, uint32_t number) {
  const SimLevel old = *level;
  const int polygons = level->size.polygons, circles = level->size.circles;
  const int loose = polygons - SIM_STATIC_POLYGONS;
  uint32_t order[SIM_MAX_SHAPES];
  int moved[SIM_MAX_SHAPES] = {0, 1, 2, 3};
  draw_order(seed, number, 0, loose, order);
  for (int i = 0; i < loose; i++) {
    level->polygon[SIM_STATIC_POLYGONS + i] = old.polygon[SIM_STATIC_POLYGONS + order[i]];
    moved[SIM_STATIC_POLYGONS + order[i]] = SIM_STATIC_POLYGONS + i;
  }
  draw_order(seed, number, 1, circles, order);
  for (int i = 0; i < circles; i++) {
    level->circle[i] = old.circle[order[i]];
    moved[polygons + (int)order[i]] = polygons + i;
  }
  draw_order(seed, number, 2, level->size.joints, order);
  for (int i = 0; i < level->size.joints; i++) {
    SimJoint *joint = &level->joint[i];
    *joint = old.joint[order[i]];
    joint->a = moved[joint->a];
    joint->b = moved[joint->b];
  }
  draw_order(seed, number, 3, level->size.thrusters, order);
  for (int i = 0; i < level->size.thrusters; i++) {
    level->thruster[i] = old.thruster[order[i]];
    level->thruster[i].shape = moved[level->thruster[i].shape];
  }
}

static const char *size_name(SimSize size) {
  if (memcmp(&size, &SIM_SIZE_S, sizeof size) == 0) return "s";
  if (memcmp(&size, &SIM_SIZE_M, sizeof size) == 0) return "m";
  return memcmp(&size, &SIM_SIZE_L, sizeof size) == 0 ? "l" : "x";
}

static int check_size(SimSize size) {
  const SimLevel probe = {.name = "random", .size = size}; /* everything inactive: only the size can be at fault */
  TRY(sim_level_check(&probe));
  if (size.polygons + size.circles < SIM_STATIC_POLYGONS + 2)
    return core_error(CORE_USAGE, "a random level needs 2 slots for shapes beside the %d statics; this size has %d",
                      SIM_STATIC_POLYGONS, size.polygons + size.circles - SIM_STATIC_POLYGONS);
  return CORE_OK;
}

int sim_generate_level(SimSize size, uint64_t seed, uint32_t number, SimLevel *level) {
  TRY(check_size(size));
  *level = sim_level_empty(size, false);
  snprintf(level->name, sizeof level->name, "random_%s-%llu-%u", size_name(size), (unsigned long long)seed, number);
  Generator g = {
    .level = level,
    .random = core_random_stream(seed, CORE_RANDOM_LEVEL, number, SIM_GENERATE_LEVEL),
    .small = size.polygons + size.circles <= SMALL_SHAPES,
  };
  level->polygon[0].role = sim_generate_pick(&g.random, floor_roles, 4);
  add_essentials(&g);
  add_clutter(&g);
  bool swap = sim_generate_chance(&g.random, 0.5f);
  if (swap && level->polygon[0].role == SIM_ROLE_NORMAL) swap_green_and_blue(level);
  sim_generate_permute(level, seed, number);
  return CORE_OK;
}
