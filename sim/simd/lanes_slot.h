/* Bodies during the solver's iterations. A slot holds one body of every lane, so that an update reads and writes whole
 * vectors. lanes.h defines the assignment of bodies to slots: similar worlds have corresponding bodies in the same
 * slot. Where the bodies of a contact are in different slots, selects gather them. Included only by lanes_solve.h. */
#ifndef SIM_LANES_SLOT_H
#define SIM_LANES_SLOT_H
#if defined(SIM_LANES)
#include "sim/simd/lanes_record.h"

/* Placed before loops over the slots of a body reference, usually two or three of sixteen: unrolled, they would push
 * the rest of the solver out of the instruction cache. */
#define LANES_ROLLED _Pragma("GCC unroll 1")

/* Reference to one of the two bodies of a contact or joint: the slots of that body, each with the lanes where it is in
 * that slot. */
typedef struct LanesBodyRef {
  int count, whole;                /* whole: one slot, used by every lane */
  uint8_t slot[SIM_LANES];
  lanes_set lanes[SIM_LANES];
} LanesBodyRef;

typedef struct LanesSlots {
  SimBody body[SIM_LANES_SLOTS];
  float *record[SIM_LANES_SLOTS][SIM_LANES]; /* [slot][lane] body in memory */
  unsigned used;                             /* bits: slots in use */
} LanesSlots;

/* Loads the bodies of `count` worlds. pad_body: record for lanes with an empty slot. */
SIM_FN void lanes_slots_load(LanesSlots *s, SimLanesWorld *const *world, int count, float *pad_body) {
  s->used = 0;
  for (int i = 0; i < count; i++) s->used |= world[i]->slots;
  for (unsigned left = s->used; left; left &= left - 1) {
    const int slot = __builtin_ctz(left);
    for (int i = 0; i < SIM_LANES; i++) {
      const SimLanesWorld *w = world[i < count ? i : 0];
      const bool has = i < count && w->slots >> slot & 1;
      s->record[slot][i] = has ? w->body + SIM_LANES_BODY * w->slot_body[slot] : pad_body;
    }
    s->body[slot] = lanes_load_body(s->record[slot]);
  }
}

SIM_FN void lanes_slots_store(const LanesSlots *s, int with_pose) {
  for (unsigned left = s->used; left; left &= left - 1) {
    const int slot = __builtin_ctz(left);
    lanes_store_motion(s->record[slot], &s->body[slot]);
    if (with_pose) lanes_store_pose(s->record[slot], &s->body[slot]);
  }
}

/* Makes a reference to the bodies in `slot` of each lane with a bit in `has`. */
SIM_FN void lanes_make_body_ref(LanesBodyRef *ref, integer slot, unsigned has) {
  int count = 0;
  for (unsigned left = has; left; count++) {
    const int first = slot[__builtin_ctz(left)];
    const unsigned same = lanes_bits(slot == first) & left;
    ref->slot[count] = (uint8_t)first;
    ref->lanes[count] = lanes_set_of(same);
    left &= ~same;
  }
  ref->count = count;
  ref->whole = count == 1 && has == (1u << SIM_LANES) - 1;
}

/* ---- reads and updates of referenced bodies ---------------------------------------------------------------------- */

SIM_FN SimVec lanes_choose_vec(lanes_set set, SimVec yes, SimVec no) {
  return sim_vec(lanes_choose(set, yes.x, no.x), lanes_choose(set, yes.y, no.y));
}

SIM_FN void lanes_choose_motion(lanes_set set, const SimBody *yes, SimBody *body) {
  body->velocity = lanes_choose_vec(set, yes->velocity, body->velocity);
  body->angular_velocity = lanes_choose(set, yes->angular_velocity, body->angular_velocity);
}
SIM_FN void lanes_add_delta_to_lanes(lanes_set set, SimBody *body, SimVec velocity, real spin) {
  body->velocity = lanes_choose_vec(set, sim_vec_add(body->velocity, velocity), body->velocity);
  body->angular_velocity = lanes_choose(set, body->angular_velocity + spin, body->angular_velocity);
}

/* Read motion, motion and position, or all of the referenced bodies. */
SIM_FN void lanes_ref_motion(const LanesSlots *s, const LanesBodyRef *ref, SimBody *body) {
  const SimBody *first = &s->body[ref->slot[0]];
  body->velocity = first->velocity;
  body->angular_velocity = first->angular_velocity;
  LANES_ROLLED for (int n = 1; n < ref->count; n++)
    lanes_choose_motion(ref->lanes[n], &s->body[ref->slot[n]], body);
}
SIM_FN void lanes_ref_position(const LanesSlots *s, const LanesBodyRef *ref, SimBody *body) {
  const SimBody *first = &s->body[ref->slot[0]];
  body->velocity = first->velocity;
  body->angular_velocity = first->angular_velocity;
  body->position = first->position;
  LANES_ROLLED for (int n = 1; n < ref->count; n++) {
    const SimBody *other = &s->body[ref->slot[n]];
    lanes_choose_motion(ref->lanes[n], other, body);
    body->position = lanes_choose_vec(ref->lanes[n], other->position, body->position);
  }
}

SIM_FN void lanes_ref_body(const LanesSlots *s, const LanesBodyRef *ref, SimBody *body) {
  const SimBody *first = &s->body[ref->slot[0]];
  lanes_ref_position(s, ref, body);
  body->rotation = first->rotation;
  body->sine = first->sine;
  body->cosine = first->cosine;
  LANES_ROLLED for (int n = 1; n < ref->count; n++) {
    const SimBody *other = &s->body[ref->slot[n]];
    body->rotation = lanes_choose(ref->lanes[n], other->rotation, body->rotation);
    body->sine = lanes_choose(ref->lanes[n], other->sine, body->sine);
    body->cosine = lanes_choose(ref->lanes[n], other->cosine, body->cosine);
  }
}

/* Add a velocity delta, or a velocity delta and a position shift, to the referenced bodies. Bodies in other lanes keep
 * their values, except perhaps the sign of a zero. */
SIM_FN void lanes_ref_add_delta(LanesSlots *s, const LanesBodyRef *ref, SimVec velocity, real spin) {
  if (ref->whole) {
    SimBody *body = &s->body[ref->slot[0]];
    body->velocity = sim_vec_add(body->velocity, velocity);
    body->angular_velocity += spin;
    return;
  }
  LANES_ROLLED for (int n = 0; n < ref->count; n++)
    lanes_add_delta_to_lanes(ref->lanes[n], &s->body[ref->slot[n]], velocity, spin);
}
SIM_FN void lanes_ref_pose(LanesSlots *s, const LanesBodyRef *ref, SimVec velocity, real spin, SimVec shift) {
  LANES_ROLLED for (int n = 0; n < ref->count; n++) {
    SimBody *body = &s->body[ref->slot[n]];
    lanes_add_delta_to_lanes(ref->lanes[n], body, velocity, spin);
    body->position = lanes_choose_vec(ref->lanes[n], sim_vec_add(body->position, shift), body->position);
  }
}

#endif
#endif
