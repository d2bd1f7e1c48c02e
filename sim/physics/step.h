/* One physics step of one world (spec kinetix.md 2): walks the pairs, contacts and joints and applies the functions of
 * collide.h, contact.h, joint.h and actuate.h to them. Knows nothing of tasks, rewards or actions (task.h).
 *
 * What can not matter is skipped: pairs whose boxes are apart, and everything that model.c did not list. The order in
 * which impulses are applied is the reference's, since it changes the motion. */
#ifndef SIM_STEP_H
#define SIM_STEP_H
#include <stddef.h>

#include "sim/physics/actuate.h"
#include "sim/physics/collide.h"
#include "sim/physics/contact.h"
#include "sim/physics/model.h"
#include "sim/physics/move.h"

/* Batches: at most 4 of polygon pairs in two rounds, 3 of circles on polygons, 1 of circles. */
enum { SIM_NO_CONTACT = 255, SIM_MAX_BATCHES = 12, SIM_MAX_GROUPS = 32 };

/* A pair that overlaps now. */
typedef struct SimTouching {
  uint8_t pair;       /* in SimModel.pair */
  uint8_t contact[2]; /* in SimScratch.contact, or SIM_NO_CONTACT */
} SimTouching;

/* Where a world's shapes are during a step. */
typedef struct SimPlaces {
  SIM_ALIGN_RECORD SimVec corner[SIM_MAX_POLYGONS][SIM_VERTICES];
  SIM_ALIGN_RECORD SimBox box[SIM_MAX_SHAPES];
} SimPlaces;

/* A thread's working memory: what a step computes anew and nobody needs after it. After a step, tests read the contacts
 * and joints here. */
typedef struct SimScratch {
  SimPlaces places;
  SimTouching touching[SIM_MAX_PAIRS];
  int touching_count;
  SimContact *contact;                  /* the step's caller says where: `own`, or room for many worlds' */
  int contact_count;
  uint8_t order[SIM_MAX_CONTACTS + 1];  /* contacts as the solver takes them */
  uint8_t group_end[SIM_MAX_GROUPS];    /* those of a group all see the same velocities */
  int order_count, group_count;
  SimJointStep joint[SIM_MAX_JOINTS];
  SimContact own[SIM_MAX_CONTACTS];
} SimScratch;

/* Motors by joint slot, -1..1; thrusters by slot, 0..1. */
typedef struct SimControl { real motor[SIM_MAX_JOINTS], thruster[SIM_MAX_THRUSTERS]; } SimControl;

/* Places what never moves; once before the first step that uses these places with this level. */
SIM_FN void sim_step_begin_level(const SimModel *model, SimPlaces *s) {
  memcpy(s->corner, model->corner, sizeof s->corner);
  memcpy(s->box, model->box, sizeof s->box);
}

/* Where shape k is now; a polygon's corners too. */
SIM_FN SimBox sim_step_place_shape(const SimModel *model, int k, const SimBody *body,
                                   SimVec (*corner)[SIM_VERTICES]) {
  if (k < model->size.polygons) return sim_move_place_polygon(&model->outline[k], body, corner[k]);
  return sim_move_circle_box(body->position, model->radius[k]);
}

SIM_FN void sim_step_place(const SimModel *model, const SimWorld *world, SimPlaces *s) {
  for (int i = 0; i < model->moving_count; i++) {
    int k = model->moving[i];
    s->box[k] = sim_step_place_shape(model, k, &world->body[k], s->corner);
  }
}

/* Contact k of a pair's manifold. body: of the world, by shape; impulse: kept of the last step. */
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

/* Whether a pair overlaps; its manifold too where it pushes. body, corner: of the world, by shape. */
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

/* How the reference deals one kind's overlapping pairs to the solver's batches: it sorts all n listed pairs, inactive
 * ones first, and deals them to nb = ceil(n / 16) batches in turn. */
typedef struct SimDeal {
  unsigned batches, lead; /* lead: of the overlapping pairs, the first in batch 0 */
} SimDeal;

SIM_FN SimDeal sim_step_deal(int listed, unsigned active) {
  const unsigned batches = (unsigned)(listed + SIM_SOLVER_LANES - 1) / SIM_SOLVER_LANES;
  const unsigned over = batches <= 1 ? 0 : ((unsigned)listed - active) % batches;
  return (SimDeal){batches, over ? batches - over : 0};
}

/* The solver's order for the overlapping pairs `first`.. of one kind: a batch's contacts are applied at once, batches
 * one after the other; polygons have their second contacts in a second round. */
SIM_FN void sim_step_order(int listed, int rounds, int first, SimScratch *s) {
  const unsigned active = (unsigned)(s->touching_count - first);
  if (active == 0) return;
  const SimDeal deal = sim_step_deal(listed, active);
  const unsigned batches = deal.batches, lead = deal.lead;
  for (int round = 0; round < rounds; round++) {
    bool some = false; /* most overlaps of joined shapes push nothing */
    for (int i = first; i < s->touching_count; i++) some |= s->touching[i].contact[round] != SIM_NO_CONTACT;
    for (unsigned batch = 0; some && batch < batches; batch++) {
      int begin = s->order_count;
      unsigned r = lead + batch;
      for (r = r < batches ? r : r - batches; r < active; r += batches) {
        uint8_t contact = s->touching[first + (int)r].contact[round];
        s->order[s->order_count] = contact; /* for good only if there is one */
        s->order_count += contact != SIM_NO_CONTACT;
      }
      if (s->order_count > begin) s->group_end[s->group_count++] = (uint8_t)s->order_count;
    }
  }
}

/* Contacts of a group that have no moving body in common do not notice each other, so that they may be applied one
 * after the other, each in a group of its own: that is simpler, and worlds look more alike to the vector kernels. What
 * a body that never moves receives is 0. Divides as long as that gives no more than SIM_MAX_GROUPS. */
SIM_FN void sim_step_divide_groups(const SimModel *model, const SimContact *contact, SimScratch *s) {
  uint8_t part_end[SIM_MAX_CONTACTS];
  int count = 0;
  for (int g = 0, begin = 0; g < s->group_count; begin = s->group_end[g++]) {
    const int lowest = count; /* the first part of this group */
    int earliest[SIM_MAX_SHAPES];
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
  }
  if (count > SIM_MAX_GROUPS) return;
  memcpy(s->group_end, part_end, (size_t)count);
  s->group_count = count;
}

/* Notes that pair i overlaps, and makes its contacts from its manifold where it pushes. */
SIM_FN void sim_step_touch(const SimModel *model, const SimWorld *world, int i, const SimManifold *m, SimScratch *s) {
  const SimPair *pair = &model->pair[i];
  SimTouching *touching = &s->touching[s->touching_count++];
  *touching = (SimTouching){(uint8_t)i, {SIM_NO_CONTACT, SIM_NO_CONTACT}};
  for (int k = 0; k < 2 && pair->resolved && m->active[k]; k++) {
    touching->contact[k] = (uint8_t)s->contact_count;
    sim_step_make_contact(model, world->body, pair, m, k, world->contact_impulse[pair->slot + k],
                          &s->contact[s->contact_count++]);
  }
}

/* No contacts yet; they will be put into `contact`. */
SIM_FN void sim_step_clear(SimScratch *s, SimContact *contact) {
  s->contact = contact;
  s->touching_count = s->contact_count = s->order_count = s->group_count = 0;
}

/* Finds all overlapping pairs and makes their contacts, in listing order. Gives the reward bits of those pairs. */
SIM_FN int sim_step_collide(const SimModel *model, const SimWorld *world, SimScratch *s) {
  int bits = 0, i = 0;
  sim_step_clear(s, s->own);
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    int first = s->touching_count;
    for (; i < model->pair_end[kind]; i++) {
      const SimPair *pair = &model->pair[i];
      SimManifold m;
      if (!sim_collide_boxes(s->places.box[pair->a], s->places.box[pair->b])) continue;
      if (!sim_step_test_pair(model, world->body, s->places.corner, kind, pair, &m)) continue;
      bits |= pair->reward;
      sim_step_touch(model, world, i, &m, s);
    }
    sim_step_order(model->listed[kind], kind == SIM_RR ? 2 : 1, first, s);
  }
  sim_step_divide_groups(model, s->contact, s);
  return bits;
}

SIM_FN void sim_step_push_a(SimBody *a, const SimPush *push) {
  a->velocity = sim_vec_add(a->velocity, push->a_velocity);
  a->angular_velocity += push->a_spin;
}
SIM_FN void sim_step_push_b(SimBody *b, const SimPush *push) {
  b->velocity = sim_vec_add(b->velocity, push->b_velocity);
  b->angular_velocity += push->b_spin;
}

/* What motors (spin[i]: of model joint i, the angular impulse) and thrusters do. */
SIM_FN void sim_step_apply_actuators(const SimModel *model, SimWorld *world, const SimControl *control,
                                     const real spin[SIM_MAX_JOINTS]) {
  for (int i = 0; i < model->joint_count; i++) {
    const SimJointModel *j = &model->joint[i];
    world->body[j->a].angular_velocity += spin[i] * j->a_mass.inverse_inertia;
    world->body[j->b].angular_velocity -= spin[i] * j->b_mass.inverse_inertia;
  }
  for (int i = 0; i < model->thruster_count; i++) {
    const SimThrusterModel *t = &model->thruster[i];
    if (control->thruster[t->slot] == 0.0f) continue;
    const SimPush push = sim_actuate_thruster(t, &world->body[t->shape], control->thruster[t->slot]);
    sim_step_push_a(&world->body[t->shape], &push);
  }
}

SIM_FN void sim_step_actuate(const SimModel *model, SimWorld *world, const SimControl *control) {
  real spin[SIM_MAX_JOINTS];
  for (int i = 0; i < model->joint_count; i++) { /* all motors see the velocities before any of them acts */
    const SimJointModel *j = &model->joint[i];
    spin[i] = sim_actuate_motor(j, &world->body[j->a], &world->body[j->b], control->motor[j->slot]);
  }
  sim_step_apply_actuators(model, world, control, spin);
}

/* Impulses do not depend on velocities here, so they may be added one by one. */
SIM_FN void sim_step_warm_start(const SimModel *model, SimWorld *world, SimScratch *s) {
  for (int i = 0; i < s->contact_count; i++) {
    const SimContact *c = &s->contact[i];
    SimBody *a = &world->body[c->a], *b = &world->body[c->b];
    SimPush push = sim_contact_warm_start(c, a, b);
    sim_step_push_a(a, &push);
    sim_step_push_b(b, &push);
  }
  for (int i = 0; i < model->joint_count; i++) {
    const SimJointModel *j = &model->joint[i];
    SimBody *a = &world->body[j->a], *b = &world->body[j->b];
    s->joint[i] = sim_joint_begin(j, a, b, world->joint_impulse[j->slot], world->joint_spin_impulse[j->slot]);
    SimPush push = sim_joint_warm_start(j, &s->joint[i]);
    sim_step_push_a(a, &push);
    sim_step_push_b(b, &push);
  }
}

/* The contacts of a batch all see the same velocities; what they give is summed. */
SIM_FN void sim_step_apply_group(SimWorld *world, SimScratch *s, const uint8_t *lane, int lanes) {
  SimPush push[SIM_SOLVER_LANES];
  for (int i = 0; i < lanes; i++) {
    SimContact *c = &s->contact[lane[i]];
    const SimBody *a = &world->body[c->a], *b = &world->body[c->b];
    SimContactArms arms = sim_contact_arms(c, a->position, b->position);
    push[i] = sim_contact_resolve(c, &arms, a, b);
    if (c->forgets) c->impulse = sim_vec(0.0f, 0.0f);
  }
  for (int i = 0; i < lanes; i++) sim_step_push_a(&world->body[s->contact[lane[i]].a], &push[i]);
  for (int i = 0; i < lanes; i++) sim_step_push_b(&world->body[s->contact[lane[i]].b], &push[i]);
}

SIM_FN void sim_step_solve(const SimModel *model, SimWorld *world, SimScratch *s) {
  for (int iteration = 0; iteration < SIM_SOLVER_ITERATIONS; iteration++) {
    for (int i = 0; i < model->joint_count; i++) {
      const SimJointModel *j = &model->joint[i];
      SimBody *a = &world->body[j->a], *b = &world->body[j->b];
      SimJointPush push = sim_joint_resolve(j, &s->joint[i], a, b);
      a->position = sim_vec_add(a->position, push.a_shift);
      b->position = sim_vec_add(b->position, push.b_shift);
      sim_step_push_a(a, &push.on);
      sim_step_push_b(b, &push.on);
    }
    for (int g = 0, begin = 0; g < s->group_count; begin = s->group_end[g++])
      sim_step_apply_group(world, s, s->order + begin, s->group_end[g] - begin);
  }
}

/* Notes that the impulse of this slot may be other than 0. */
SIM_FN void sim_step_note_contact(SimWorld *world, unsigned slot) { world->warm[slot / 64] |= 1ull << slot % 64; }

/* Clears the impulses kept from the last step, most of which are 0 anyway. */
SIM_FN void sim_step_forget_word(SimWorld *world, int i) {
  for (uint64_t left = world->warm[i]; left; left &= left - 1)
    world->contact_impulse[64 * i + real_lowest_bit(left)] = sim_vec(0.0f, 0.0f);
  world->warm[i] = 0;
}
SIM_FN void sim_step_forget_contacts(SimWorld *world) {
  for (int i = 0; i < SIM_WARM_WORDS; i++) sim_step_forget_word(world, i);
}

/* Keeps contacts' accumulated impulses for the next step; those of contacts that are not active count as 0 then. */
SIM_FN void sim_step_keep_contacts(SimWorld *world, const SimContact *contact, int count) {
  sim_step_forget_contacts(world);
  for (int i = 0; i < count; i++) {
    world->contact_impulse[contact[i].slot] = contact[i].impulse;
    sim_step_note_contact(world, contact[i].slot);
  }
}

/* Keeps which pairs overlap, for observations. */
SIM_FN void sim_step_keep_touching(SimWorld *world, const SimScratch *s) {
  memset(world->touching, 0, sizeof world->touching);
  for (int i = 0; i < s->touching_count; i++)
    world->touching[s->touching[i].pair / 32] |= (uint32_t)1 << s->touching[i].pair % 32;
}

SIM_FN void sim_step_keep_impulses(const SimModel *model, SimWorld *world, const SimScratch *s) {
  sim_step_keep_contacts(world, s->contact, s->contact_count);
  for (int i = 0; i < model->joint_count; i++) {
    world->joint_impulse[model->joint[i].slot] = s->joint[i].impulse;
    world->joint_spin_impulse[model->joint[i].slot] = s->joint[i].spin_impulse;
  }
}

SIM_FN void sim_step_fall_shape(const SimModel *model, int k, SimBody *body) {
  mask falls = model->mass[k].inverse_mass != 0.0f;
  SimVec faster = sim_vec_add(body->velocity, model->gravity_step);
  body->velocity = sim_vec_select(falls, faster, body->velocity);
}
SIM_FN void sim_step_fall(const SimModel *model, SimWorld *world) {
  for (int i = 0; i < model->moving_count; i++)
    sim_step_fall_shape(model, model->moving[i], &world->body[model->moving[i]]);
}

/* The first part of a step: what falls gets faster, and everything has its place. */
SIM_FN void sim_step_begin(const SimModel *model, SimWorld *world, SimPlaces *places) {
  sim_step_fall(model, world);
  sim_step_place(model, world, places);
}

/* The last part: everything moves. */
SIM_FN void sim_step_end(const SimModel *model, SimWorld *world) {
  for (int i = 0; i < model->moving_count; i++) {
    int k = model->moving[i];
    world->body[k] = sim_move_advance(world->body[k]);
  }
}

/* The whole step of one world. Gives the reward bits of the pairs that overlapped at its beginning. */
SIM_FN int sim_step(const SimModel *model, SimWorld *world, const SimControl *control, SimScratch *s) {
  sim_step_begin(model, world, &s->places);
  int bits = sim_step_collide(model, world, s);
  sim_step_keep_touching(world, s);
  sim_step_actuate(model, world, control);
  sim_step_warm_start(model, world, s);
  sim_step_solve(model, world, s);
  sim_step_keep_impulses(model, world, s);
  sim_step_end(model, world);
  return bits;
}

#endif
