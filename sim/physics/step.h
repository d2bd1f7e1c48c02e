/* One physics step of one world (docs/simulator.md#physics; PhysicsEngine.step in Jax2D's jax2d/engine.py): applies
 * collide.h, contact.h, joint.h and actuate.h to its pairs, contacts and joints. Tasks, rewards and actions are in
 * task.h.
 *
 * Pairs whose bounding boxes are apart are skipped. Impulses are applied in the reference's order, since the order
 * changes the motion. */
#ifndef SIM_STEP_H
#define SIM_STEP_H
#include <stddef.h>

#include "sim/physics/actuate.h"
#include "sim/physics/collide.h"
#include "sim/physics/contact.h"
#include "sim/physics/model.h"
#include "sim/physics/move.h"

/* Maximum batches: 4 of polygon pairs in two rounds, 3 of circles on polygons, 1 of circles. */
enum { SIM_NO_CONTACT = 255, SIM_BATCHES_MAX = 12, SIM_GROUPS_MAX = 32 };

/* Currently overlapping pair. */
typedef struct SimOverlapPair {
  uint8_t pair;       /* index in SimModel.pair */
  uint8_t contact[2]; /* indices in SimScratch.contact, or SIM_NO_CONTACT */
} SimOverlapPair;

/* World-space geometry of a world's shapes during a step: corners and bounding boxes. */
typedef struct SimGeometry {
  SIM_ALIGN_RECORD SimVec corner[SIM_POLYGONS_MAX][SIM_VERTICES];
  SIM_ALIGN_RECORD SimBox box[SIM_SHAPES_MAX];
} SimGeometry;

/* Working memory of a thread for a step. Not needed after the step, except by tests. */
typedef struct SimScratch {
  SimGeometry geometry;
  SimOverlapPair overlap_pairs[SIM_PAIRS_MAX];
  int overlap_pair_count;
  SimContact *contact;                  /* [contact_count]: `own`, or the caller's memory */
  int contact_count;
  uint8_t order[SIM_CONTACTS_MAX + 1];  /* contacts in the solver's order */
  uint8_t group_end[SIM_GROUPS_MAX];    /* ends in `order`; contacts of a group all see the same velocities */
  int order_count, group_count;
  SimJointStep joint[SIM_JOINTS_MAX];
  SimContact own[SIM_CONTACTS_MAX];
} SimScratch;

/* Controls: motors by joint slot, -1..1; thrusters by slot, 0..1. */
typedef struct SimControl { real motor[SIM_JOINTS_MAX], thruster[SIM_THRUSTERS_MAX]; } SimControl;

/* Sets the geometry of all shapes to the level's start. Call once before the first step on a level. */
SIM_FN void sim_step_begin_level(const SimModel *model, SimGeometry *g) {
  memcpy(g->corner, model->corner, sizeof g->corner);
  memcpy(g->box, model->box, sizeof g->box);
}

/* Returns the bounding box of shape k in its current pose; writes a polygon's corners, too. */
SIM_FN SimBox sim_step_shape_box(const SimModel *model, int k, const SimBody *body,
                                 SimVec (*corner)[SIM_VERTICES]) {
  if (k < model->size.polygons) return sim_move_polygon_box(&model->outline[k], body, corner[k]);
  return sim_move_circle_box(body->position, model->radius[k]);
}

SIM_FN void sim_step_update_geometry(const SimModel *model, const SimWorld *world, SimGeometry *g) {
  for (int i = 0; i < model->moving_count; i++) {
    int k = model->moving[i];
    g->box[k] = sim_step_shape_box(model, k, &world->body[k], g->corner);
  }
}

/* Prepares contact k of a pair's manifold. body: of the world, by shape; impulse: accumulated in the last step. */
SIM_FN void sim_step_make_contact(const SimModel *model, const SimBody *body, const SimPair *pair, const SimManifold *m,
                                  int k, SimVec impulse, SimContact *c) {
  c->normal = m->normal;
  c->point = m->point[k];
  c->a_mass = model->mass[pair->a];
  c->b_mass = model->mass[pair->b];
  c->penetration = m->penetration;
  c->restitution_target =
    sim_contact_restitution(&body[pair->a], &body[pair->b], m->normal, m->point[k], pair->restitution);
  c->friction = pair->friction;
  c->impulse = impulse;
  memcpy((unsigned char *)c + offsetof(SimContact, a), pair, SIM_PAIR_BYTES);
  c->slot = (uint16_t)(pair->slot + k);
}

/* Returns whether a pair overlaps; writes its manifold if it pushes. body, corner: of the world, by shape. */
SIM_FN mask sim_step_test_pair(const SimModel *model, const SimBody *body, SimVec (*corner)[SIM_VERTICES],
                               int kind, const SimPair *pair, SimManifold *m) {
  const SimBody *a = &body[pair->a], *b = &body[pair->b];
  if (kind == SIM_RR) {
    SimPolygon p = {&model->outline[pair->a], corner[pair->a], *a};
    SimPolygon q = {&model->outline[pair->b], corner[pair->b], *b};
    SimOverlap overlap = sim_collide_overlap(&p, &q);
    if (real_any(overlap.active) && pair->resolved) *m = sim_collide_polygons(&p, &q, &overlap);
    return overlap.active;
  }
  if (kind == SIM_CR) *m = sim_collide_circle_polygon(*a, model->radius[pair->a], *b, &model->outline[pair->b]);
  else *m = sim_collide_circles(*a, model->radius[pair->a], *b, model->radius[pair->b]);
  return m->active[0];
}

/* Division of the overlapping pairs of one kind into the solver's batches, as in the reference. It sorts all `pairs`
 * pairs of the kind, inactive ones first, and distributes them round-robin to ceil(pairs / 16) batches. */
typedef struct SimSolverBatches {
  unsigned count, first; /* first: index among the overlapping pairs of the first one in batch 0 */
} SimSolverBatches;

SIM_FN SimSolverBatches sim_step_solver_batches(int pairs, unsigned active) {
  const unsigned count = (unsigned)(pairs + SIM_SOLVER_LANES - 1) / SIM_SOLVER_LANES;
  const unsigned over = count <= 1 ? 0 : ((unsigned)pairs - active) % count;
  return (SimSolverBatches){count, over ? count - over : 0};
}

/* Appends the overlapping pairs `first`.. of one kind to the solver's order. Contacts of a batch are applied at once,
 * batches one after the other. Polygons' second contacts follow in a second round. pairs: of this kind, active or
 * not. */
SIM_FN void sim_step_order(int pairs, int rounds, int first, SimScratch *s) {
  const unsigned active = (unsigned)(s->overlap_pair_count - first);
  if (active == 0) return;

  const SimSolverBatches split = sim_step_solver_batches(pairs, active);
  const unsigned batches = split.count, lead = split.first;

  for (int round = 0; round < rounds; round++) {
    bool some = false; /* most overlaps of joined shapes push nothing */
    for (int i = first; i < s->overlap_pair_count; i++) some |= s->overlap_pairs[i].contact[round] != SIM_NO_CONTACT;
    for (unsigned batch = 0; some && batch < batches; batch++) {
      int begin = s->order_count;
      unsigned r = lead + batch;
      for (r = r < batches ? r : r - batches; r < active; r += batches) {
        uint8_t contact = s->overlap_pairs[first + (int)r].contact[round];
        s->order[s->order_count] = contact; /* overwritten by the next one unless the contact exists */
        s->order_count += contact != SIM_NO_CONTACT;
      }
      if (s->order_count > begin) s->group_end[s->group_count++] = (uint8_t)s->order_count;
    }
  }
}

/* Divides groups into smaller ones whose contacts share moving bodies. Contacts that share none are independent, so
 * they may be applied one after the other with the same bits. Smaller groups let vector kernels batch more worlds.
 * Keeps the groups if there would be more than SIM_GROUPS_MAX. */
SIM_FN void sim_step_divide_groups(const SimModel *model, const SimContact *contact, SimScratch *s) {
  uint8_t part_end[SIM_CONTACTS_MAX];
  int count = 0;

  for (int g = 0, begin = 0; g < s->group_count; g++) {
    const int lowest = count; /* first part of this group */
    int earliest[SIM_SHAPES_MAX];
    unsigned seen = 0;
    for (int i = begin; i < s->group_end[g]; i++) {
      const uint8_t body[2] = {contact[s->order[i]].a, contact[s->order[i]].b};
      int joins = i;
      for (int k = 0; k < 2; k++) {
        const unsigned bit = (unsigned)model->moves[body[k]] << body[k];
        if (seen & bit) joins = earliest[body[k]] < joins ? earliest[body[k]] : joins;
        else if (bit) earliest[body[k]] = i;
        seen |= bit;
      }

      while (count > lowest && part_end[count - 1] > joins) count--;
      part_end[count++] = (uint8_t)(i + 1);
    }
    begin = s->group_end[g];
  }

  if (count > SIM_GROUPS_MAX) return;
  memcpy(s->group_end, part_end, (size_t)count);
  s->group_count = count;
}

/* Records that pair i overlaps, and prepares its contacts if it pushes. */
SIM_FN void sim_step_touch(const SimModel *model, const SimWorld *world, int i, const SimManifold *m, SimScratch *s) {
  const SimPair *pair = &model->pair[i];
  SimOverlapPair *overlap_pairs = &s->overlap_pairs[s->overlap_pair_count++];
  *overlap_pairs = (SimOverlapPair){(uint8_t)i, {SIM_NO_CONTACT, SIM_NO_CONTACT}};
  for (int k = 0; k < 2 && pair->resolved && m->active[k]; k++) {
    overlap_pairs->contact[k] = (uint8_t)s->contact_count;
    sim_step_make_contact(model, world->body, pair, m, k, world->contact_impulse[pair->slot + k],
                          &s->contact[s->contact_count++]);
  }
}

/* Empties the scratch; contacts will be written to `contact`. */
SIM_FN void sim_step_clear(SimScratch *s, SimContact *contact) {
  s->contact = contact;
  s->overlap_pair_count = s->contact_count = s->order_count = s->group_count = 0;
}

/* Finds all overlapping pairs and prepares their contacts, in the model's order. Returns those pairs' reward bits. */
SIM_FN int sim_step_collide(const SimModel *model, const SimWorld *world, SimScratch *s) {
  int bits = 0, i = 0;

  sim_step_clear(s, s->own);
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    int first = s->overlap_pair_count;
    for (; i < model->pair_end[kind]; i++) {
      const SimPair *pair = &model->pair[i];
      SimManifold m;
      if (!sim_collide_boxes(s->geometry.box[pair->a], s->geometry.box[pair->b])) continue;
      if (!sim_step_test_pair(model, world->body, s->geometry.corner, kind, pair, &m)) continue;
      bits |= pair->reward;
      sim_step_touch(model, world, i, &m, s);
    }
    sim_step_order(model->pair_count[kind], kind == SIM_RR ? 2 : 1, first, s);
  }

  sim_step_divide_groups(model, s->contact, s);
  return bits;
}

SIM_FN void sim_step_add_delta_a(SimBody *a, const SimVelocityDelta *delta) {
  a->velocity = sim_vec_add(a->velocity, delta->a_velocity);
  a->angular_velocity += delta->a_angular_velocity;
}
SIM_FN void sim_step_add_delta_b(SimBody *b, const SimVelocityDelta *delta) {
  b->velocity = sim_vec_add(b->velocity, delta->b_velocity);
  b->angular_velocity += delta->b_angular_velocity;
}

/* Applies motors and thrusters. spin[i]: angular impulse of the motor of model joint i. */
SIM_FN void sim_step_apply_actuators(const SimModel *model, SimWorld *world, const SimControl *control,
                                     const real spin[SIM_JOINTS_MAX]) {
  for (int i = 0; i < model->joint_count; i++) {
    const SimJointModel *j = &model->joint[i];
    world->body[j->a].angular_velocity += spin[i] * j->a_mass.inverse_inertia;
    world->body[j->b].angular_velocity -= spin[i] * j->b_mass.inverse_inertia;
  }
  for (int i = 0; i < model->thruster_count; i++) {
    const SimThrusterModel *t = &model->thruster[i];
    if (control->thruster[t->slot] == 0.0f) continue;
    const SimVelocityDelta delta = sim_actuate_thruster(t, &world->body[t->shape], control->thruster[t->slot]);
    sim_step_add_delta_a(&world->body[t->shape], &delta);
  }
}

SIM_FN void sim_step_actuate(const SimModel *model, SimWorld *world, const SimControl *control) {
  real spin[SIM_JOINTS_MAX];
  for (int i = 0; i < model->joint_count; i++) { /* all motors see the velocities before any of them acts */
    const SimJointModel *j = &model->joint[i];
    spin[i] = sim_actuate_motor(j, &world->body[j->a], &world->body[j->b], control->motor[j->slot]);
  }
  sim_step_apply_actuators(model, world, control, spin);
}

/* Applies the warm start. Its impulses do not depend on velocities, so they are added one by one. */
SIM_FN void sim_step_warm_start(const SimModel *model, SimWorld *world, SimScratch *s) {
  for (int i = 0; i < s->contact_count; i++) {
    const SimContact *c = &s->contact[i];
    SimBody *a = &world->body[c->a], *b = &world->body[c->b];
    SimVelocityDelta delta = sim_contact_warm_start(c, a, b);
    sim_step_add_delta_a(a, &delta);
    sim_step_add_delta_b(b, &delta);
  }

  for (int i = 0; i < model->joint_count; i++) {
    const SimJointModel *j = &model->joint[i];
    SimBody *a = &world->body[j->a], *b = &world->body[j->b];
    s->joint[i] = sim_joint_begin(j, a, b, world->joint_impulse[j->slot], world->joint_spin_impulse[j->slot]);
    SimVelocityDelta delta = sim_joint_warm_start(j, &s->joint[i]);
    sim_step_add_delta_a(a, &delta);
    sim_step_add_delta_b(b, &delta);
  }
}

/* Solves a group of contacts, which all see the same velocities; their deltas are summed in order. */
SIM_FN void sim_step_apply_group(SimWorld *world, SimScratch *s, const uint8_t *lane, int lanes) {
  SimVelocityDelta delta[SIM_SOLVER_LANES];
  for (int i = 0; i < lanes; i++) {
    SimContact *c = &s->contact[lane[i]];
    const SimBody *a = &world->body[c->a], *b = &world->body[c->b];
    SimContactArms arms = sim_contact_arms(c, a->position, b->position);
    delta[i] = sim_contact_resolve(c, &arms, a, b);
    if (c->clears_impulse) c->impulse = sim_vec(0.0f, 0.0f);
  }
  for (int i = 0; i < lanes; i++) sim_step_add_delta_a(&world->body[s->contact[lane[i]].a], &delta[i]);
  for (int i = 0; i < lanes; i++) sim_step_add_delta_b(&world->body[s->contact[lane[i]].b], &delta[i]);
}

SIM_FN void sim_step_solve(const SimModel *model, SimWorld *world, SimScratch *s) {
  for (int iteration = 0; iteration < SIM_SOLVER_ITERATIONS; iteration++) {
    for (int i = 0; i < model->joint_count; i++) {
      const SimJointModel *j = &model->joint[i];
      SimBody *a = &world->body[j->a], *b = &world->body[j->b];
      SimJointDelta delta = sim_joint_resolve(j, &s->joint[i], a, b);
      a->position = sim_vec_add(a->position, delta.a_shift);
      b->position = sim_vec_add(b->position, delta.b_shift);
      sim_step_add_delta_a(a, &delta.on);
      sim_step_add_delta_b(b, &delta.on);
    }
    for (int g = 0, begin = 0; g < s->group_count; g++) {
      sim_step_apply_group(world, s, s->order + begin, s->group_end[g] - begin);
      begin = s->group_end[g];
    }
  }
}

/* Marks the impulse of a contact slot as possibly nonzero. */
SIM_FN void sim_step_mark_warm(uint64_t warm[SIM_WARM_WORDS], unsigned slot) {
  warm[slot / 64] |= 1ull << slot % 64;
}

/* Clears the impulses of the last step, word by word of the `warm` bits. */
SIM_FN void sim_step_clear_impulse_word(SimWorld *world, int i) {
  for (uint64_t left = world->warm[i]; left; left &= left - 1)
    world->contact_impulse[64 * i + real_lowest_bit(left)] = sim_vec(0.0f, 0.0f);
  world->warm[i] = 0;
}
SIM_FN void sim_step_clear_impulses(SimWorld *world) {
  for (int i = 0; i < SIM_WARM_WORDS; i++) sim_step_clear_impulse_word(world, i);
}

/* Stores contacts' accumulated impulses for the next step; all others become 0. */
SIM_FN void sim_step_store_contacts(SimWorld *world, const SimContact *contact, int count) {
  sim_step_clear_impulses(world);
  for (int i = 0; i < count; i++) {
    world->contact_impulse[contact[i].slot] = contact[i].impulse;
    sim_step_mark_warm(world->warm, contact[i].slot);
  }
}

/* Stores the overlapping pairs as bits of SimWorld.overlap_pairs, for observations. */
SIM_FN void sim_step_store_overlaps(uint32_t overlap_pairs[(SIM_PAIRS_MAX + 31) / 32], const SimScratch *s) {
  memset(overlap_pairs, 0, (SIM_PAIRS_MAX + 31) / 32 * sizeof *overlap_pairs);
  for (int i = 0; i < s->overlap_pair_count; i++)
    overlap_pairs[s->overlap_pairs[i].pair / 32] |= (uint32_t)1 << s->overlap_pairs[i].pair % 32;
}

SIM_FN void sim_step_store_impulses(const SimModel *model, SimWorld *world, const SimScratch *s) {
  sim_step_store_contacts(world, s->contact, s->contact_count);
  for (int i = 0; i < model->joint_count; i++) {
    world->joint_impulse[model->joint[i].slot] = s->joint[i].impulse;
    world->joint_spin_impulse[model->joint[i].slot] = s->joint[i].angular_impulse;
  }
}

SIM_FN void sim_step_apply_gravity_to_shape(const SimModel *model, int k, SimBody *body) {
  mask falls = model->mass[k].inverse_mass != 0.0f;
  SimVec faster = sim_vec_add(body->velocity, model->gravity_step);
  body->velocity = sim_vec_select(falls, faster, body->velocity);
}
SIM_FN void sim_step_apply_gravity(const SimModel *model, SimWorld *world) {
  for (int i = 0; i < model->moving_count; i++)
    sim_step_apply_gravity_to_shape(model, model->moving[i], &world->body[model->moving[i]]);
}

/* Begins a step: gravity, and the geometry of moving shapes. */
SIM_FN void sim_step_begin(const SimModel *model, SimWorld *world, SimGeometry *geometry) {
  sim_step_apply_gravity(model, world);
  sim_step_update_geometry(model, world, geometry);
}

/* Ends a step: positions advance. */
SIM_FN void sim_step_end(const SimModel *model, SimWorld *world) {
  for (int i = 0; i < model->moving_count; i++) {
    int k = model->moving[i];
    world->body[k] = sim_move_advance(world->body[k]);
  }
}

/* Runs a whole step of one world. Returns the reward bits of the pairs that overlapped at its beginning. */
SIM_FN int sim_step(const SimModel *model, SimWorld *world, const SimControl *control, SimScratch *s) {
  sim_step_begin(model, world, &s->geometry);
  int bits = sim_step_collide(model, world, s);
  sim_step_store_overlaps(world->overlap_pairs, s);
  sim_step_actuate(model, world, control);
  sim_step_warm_start(model, world, s);
  sim_step_solve(model, world, s);
  sim_step_store_impulses(model, world, s);
  sim_step_end(model, world);
  return bits;
}

#endif
