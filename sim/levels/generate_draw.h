/* Draw of a whole random level (sample_kinetix_level in Kinetix' kinetix/environment/ued/distributions.py), for the
 * host and the GPU: the order in which parts are added, the choice among several proposals for a part, and the final
 * shuffle. generate_shape.h and generate_joint.h draw the parts. */
#ifndef SIM_GENERATE_DRAW_H
#define SIM_GENERATE_DRAW_H
#include "sim/levels/generate.h"
#include "sim/levels/generate_joint.h"
#include "sim/physics/collide.h"
#include "sim/physics/model_build.h"
#include "sim/physics/move.h"

/* SMALL_SHAPES: levels with at most this many slots get one proposal per part and no fixated shapes. HIDDEN_PENALTY:
 * contacts charged for a joined shape that would be hidden. */
enum { SIM_DRAW_PROPOSALS = 8, SIM_DRAW_SMALL_SHAPES = 7, SIM_DRAW_HIDDEN_PENALTY = 10 };
static const float SIM_DRAW_CONNECTED_CHANCE = 0.35f, SIM_DRAW_FREE_CHANCE = 0.35f, SIM_DRAW_NOTHING_CHANCE = 0.3f;
static const float SIM_DRAW_THRUSTER_CHANCE = 0.3f;

typedef struct SimGenerator {
  SimLevel *level;
  CoreRandomStream random;
  bool small;
} SimGenerator;

/* ---- contacts of a proposal -------------------------------------------------------------------------------------- */

/* Shape in the form that the narrow phase takes. */
typedef struct SimSolid {
  SimOutline outline;
  SimVec corner[SIM_VERTICES];
  SimBody body;
  SimBox box;
  float radius;
  bool circle;
} SimSolid;

SIM_CALLED_FN SimSolid sim_generate_solid_of(SimLevel *level, int index) {
  const SimShape *shape = sim_generate_shape(level, index);
  RealSinCos turn = real_sin_cos(shape->rotation);
  SimSolid solid = {
    .body = {.rotation = shape->rotation, .position = {shape->x, shape->y}, .sine = turn.sine, .cosine = turn.cosine},
    .radius = shape->radius, .circle = sim_generate_is_circle(level, index),
  };
  if (solid.circle) {
    solid.box = sim_move_circle_box(solid.body.position, shape->radius);
  } else {
    solid.outline = sim_model_outline(shape);
    solid.box = sim_move_polygon_box(&solid.outline, &solid.body, solid.corner);
  }
  return solid;
}

/* Returns the number of contacts between two shapes, the first of the lower index. Generated shapes all have colliding
 * modes. */
SIM_CALLED_FN int sim_generate_count_contacts(const SimSolid *first, const SimSolid *second) {
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

typedef struct SimScene { SimSolid solid[SIM_SHAPES_MAX]; bool active[SIM_SHAPES_MAX]; int shapes; } SimScene;

SIM_CALLED_FN void sim_generate_build_scene(SimLevel *level, SimScene *scene) {
  scene->shapes = level->size.polygons + level->size.circles;
  for (int i = 0; i < scene->shapes; i++) {
    scene->active[i] = sim_generate_shape(level, i)->active;
    if (scene->active[i]) scene->solid[i] = sim_generate_solid_of(level, i);
  }
}

/* Returns the number of contacts of shape `added` with the scene before it. The reference counts the contacts of the
 * whole scene; the others are the same for all proposals. */
SIM_FN int sim_generate_count_new_contacts(const SimScene *scene, SimLevel *level, int added) {
  const SimSolid solid = sim_generate_solid_of(level, added);
  int contacts = 0;
  for (int i = 0; i < scene->shapes; i++)
    if (scene->active[i])
      contacts += i < added ? sim_generate_count_contacts(&scene->solid[i], &solid)
                            : sim_generate_count_contacts(&solid, &scene->solid[i]);
  return contacts;
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Constraints on the shape of a proposal. */
typedef struct SimPart { bool connected, force_revolute, no_fix; } SimPart;

SIM_FN int sim_generate_add_part(SimLevel *level, CoreRandomStream *random, SimPart part, bool *hidden) {
  bool visible = true;
  int added = part.connected ? sim_generate_add_connected(level, random, part.force_revolute, &visible)
                             : sim_generate_add_shape(level, random, part.no_fix);
  *hidden = !visible;
  return added;
}

/* Adds the first of several proposals with the fewest contacts. */
SIM_CALLED_FN void sim_generate_propose(SimGenerator *g, SimPart part) {
  SimLevel before, proposal;
  int least = 0x7fffffff;
  bool hidden;
  SimScene scene;

  part.no_fix = part.no_fix || g->small;
  if (g->small) {
    sim_generate_add_part(g->level, &g->random, part, &hidden);
    return;
  }

  sim_level_copy(&before, g->level);
  sim_generate_build_scene(g->level, &scene);
  for (int i = 0; i < SIM_DRAW_PROPOSALS && least > 0; i++) {
    sim_level_copy(&proposal, &before);
    int added = sim_generate_add_part(&proposal, &g->random, part, &hidden);
    if (added < 0) return; /* no proposal fits */
    int crowd = sim_generate_count_new_contacts(&scene, &proposal, added) + (hidden ? SIM_DRAW_HIDDEN_PENALTY : 0);
    if (crowd >= least) continue;
    least = crowd;
    sim_level_copy(g->level, &proposal);
  }
}

/* Adds green and blue, of which at most one is fixated, then actuators: a motor, a thruster or both. */
SIM_FN void sim_generate_add_essentials(SimGenerator *g) {
  bool first_moves = sim_generate_chance(&g->random, 0.5f) || g->level->polygon[0].role == SIM_ROLE_BLUE;
  sim_generate_propose(g, (SimPart){.no_fix = first_moves});
  sim_generate_propose(g, (SimPart){.no_fix = !first_moves});
  uint32_t control = core_random_below(core_random_next(&g->random), 3);
  bool thruster = control != 0, motor = control != 1;
  sim_generate_propose(g, (SimPart){.connected = motor, .force_revolute = motor});
  if (thruster) sim_generate_add_thruster(g->level, &g->random);
}

SIM_FN void sim_generate_add_clutter(SimGenerator *g) {
  const float weights[] = {SIM_DRAW_CONNECTED_CHANCE, SIM_DRAW_FREE_CHANCE, SIM_DRAW_NOTHING_CHANCE};
  SimSize size = g->level->size;
  for (int i = SIM_DRAW_SMALL_SHAPES; i < size.polygons + size.circles; i++) {
    int kind = sim_generate_pick(&g->random, weights, 3);
    if (kind < 2) sim_generate_propose(g, (SimPart){.connected = kind == 0});
  }
  for (int i = 1; i < size.thrusters; i++)
    if (sim_generate_chance(&g->random, SIM_DRAW_THRUSTER_CHANCE)) sim_generate_add_thruster(g->level, &g->random);
}

/* Exchanges green and blue in half of the levels, because green is drawn toward the left and blue toward the
 * right. */
SIM_FN void sim_generate_swap_green_and_blue(SimLevel *level) {
  for (int i = 0; i < level->size.polygons + level->size.circles; i++) {
    SimShape *shape = sim_generate_shape(level, i);
    if (shape->role == SIM_ROLE_GREEN) shape->role = SIM_ROLE_BLUE;
    else if (shape->role == SIM_ROLE_BLUE) shape->role = SIM_ROLE_GREEN;
  }
}

/* ---- the order of slots ------------------------------------------------------------------------------------------ */

/* Draws a uniform permutation of `count` slots; order[i] is the old slot of slot i. */
SIM_FN void sim_generate_draw_order(uint64_t seed, uint32_t number, uint32_t kind, int count, uint32_t *order) {
  core_random_permutation(seed, CORE_RANDOM_LEVEL, number, SIM_GENERATE_PERMUTE + kind, order, (uint32_t)count);
}

/* Shuffles the slots of each kind, except the statics, and remaps all indices. */
SIM_CALLED_FN void sim_generate_shuffle(SimLevel *level, uint64_t seed, uint32_t number) {
  SimLevel old;
  const int polygons = level->size.polygons, circles = level->size.circles;
  const int loose = polygons - SIM_STATIC_POLYGONS;
  uint32_t order[SIM_SHAPES_MAX] = {0};
  int moved[SIM_SHAPES_MAX] = {0, 1, 2, 3};

  sim_level_copy(&old, level);
  sim_generate_draw_order(seed, number, 0, loose, order);
  for (int i = 0; i < loose; i++) {
    level->polygon[SIM_STATIC_POLYGONS + i] = old.polygon[SIM_STATIC_POLYGONS + order[i]];
    moved[SIM_STATIC_POLYGONS + order[i]] = SIM_STATIC_POLYGONS + i;
  }

  sim_generate_draw_order(seed, number, 1, circles, order);
  for (int i = 0; i < circles; i++) {
    level->circle[i] = old.circle[order[i]];
    moved[polygons + (int)order[i]] = polygons + i;
  }

  sim_generate_draw_order(seed, number, 2, level->size.joints, order);
  for (int i = 0; i < level->size.joints; i++) {
    SimJoint *joint = &level->joint[i];
    *joint = old.joint[order[i]];
    joint->a = moved[joint->a];
    joint->b = moved[joint->b];
  }

  sim_generate_draw_order(seed, number, 3, level->size.thrusters, order);
  for (int i = 0; i < level->size.thrusters; i++) {
    level->thruster[i] = old.thruster[order[i]];
    level->thruster[i].shape = moved[level->thruster[i].shape];
  }
}

/* ---- the level --------------------------------------------------------------------------------------------------- */

/* Draws level `number` of `seed` as generate.h defines it, with an empty name. The size must be valid
 * (sim_generate_level checks it). */
SIM_CALLED_FN void sim_generate_draw(SimSize size, uint64_t seed, uint32_t number, SimLevel *level) {
  const float floor_roles[4] = {0.9f, 0, 0.02f, 0.08f}; /* normal, green, blue, red */
  SimGenerator g = {level, core_random_stream(seed, CORE_RANDOM_LEVEL, number, SIM_GENERATE_LEVEL),
                    size.polygons + size.circles <= SIM_DRAW_SMALL_SHAPES};
  sim_level_clear(size, false, level);
  level->polygon[0].role = sim_generate_pick(&g.random, floor_roles, 4);
  sim_generate_add_essentials(&g);
  sim_generate_add_clutter(&g);
  bool swap = sim_generate_chance(&g.random, 0.5f);
  if (swap && level->polygon[0].role == SIM_ROLE_NORMAL) sim_generate_swap_green_and_blue(level);
  sim_generate_shuffle(level, seed, number);
}

#endif
