/* Bodies during the solver's iterations: a slot holds one body of every lane, so that an application reads and changes
 * whole vectors. Each world assigns its bodies to slots in the order in which joints and contacts name them: moving
 * bodies from slot 0 up, others from the last slot down. So worlds in similar situations have corresponding bodies in
 * the same slot. Where a contact's bodies are in different slots, selects gather them. Included by lanes_solve.h
 * only. */
#ifndef SIM_LANES_SLOT_H
#define SIM_LANES_SLOT_H
#if defined(SIM_LANES)
#include "sim/simd/lanes_record.h"

/* One side of a contact or joint: the slots that its bodies are in, each with the lanes for which that is so. */
typedef struct LanesSide {
  int count, whole;                /* whole: one slot, and every lane takes part */
  uint8_t slot[SIM_LANES];
  mask lanes[SIM_LANES];
} LanesSide;

typedef struct LanesSlots {
  SimBody body[SIM_MAX_SHAPES];
  float *record[SIM_MAX_SHAPES][SIM_LANES]; /* each lane's body in memory */
  unsigned used;                            /* bits of slots */
  uint8_t of[SIM_LANES][SIM_MAX_SHAPES];    /* a body's slot, or LANES_NO_SLOT */
  int moving[SIM_LANES], still[SIM_LANES];  /* the next free slots */
} LanesSlots;
enum { LANES_NO_SLOT = 255 };

SIM_FN void lanes_slots_begin(LanesSlots *s, float *idle_body) {
  memset(s->of, LANES_NO_SLOT, sizeof s->of);
  s->used = 0;
  for (int i = 0; i < SIM_LANES; i++) s->moving[i] = 0, s->still[i] = SIM_MAX_SHAPES - 1;
  for (int k = 0; k < SIM_MAX_SHAPES; k++) {
    for (int i = 0; i < SIM_LANES; i++) s->record[k][i] = idle_body;
  }
}

/* The slot of body k of the lane's world. */
SIM_FN unsigned lanes_slot_of(LanesSlots *s, int lane, const SimLanesWorld *world, int k) {
  if (s->of[lane][k] == LANES_NO_SLOT) {
    const int slot = world->moves[k] ? s->moving[lane]++ : s->still[lane]--;
    s->of[lane][k] = (uint8_t)slot;
    s->record[slot][lane] = world->body + SIM_LANES_BODY * k;
    s->used |= 1u << slot;
  }
  return s->of[lane][k];
}

/* The lanes whose bits are set. */
SIM_FN mask lanes_of_bits(unsigned bits) {
  mask m;
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) m[i] = 1 << i;
  return (m & (integer_of((int)bits))) != 0;
}

/* A side while it is gathered: bits of its slots, and bits of the lanes of each. */
typedef struct LanesSideDraft { unsigned slots, lanes[SIM_MAX_SHAPES]; } LanesSideDraft;

SIM_FN void lanes_draft_side(LanesSideDraft *draft, unsigned slot, int lane) {
  const unsigned bit = 1u << slot;
  draft->lanes[slot] = (draft->slots & bit ? draft->lanes[slot] : 0) | 1u << lane;
  draft->slots |= bit;
}

SIM_FN void lanes_make_side(LanesSide *side, const LanesSideDraft *draft) {
  side->count = 0;
  side->slot[0] = 0;
  side->whole = 0;
  for (unsigned left = draft->slots; left; left &= left - 1) {
    const int slot = __builtin_ctz(left);
    side->slot[side->count] = (uint8_t)slot;
    side->lanes[side->count++] = lanes_of_bits(draft->lanes[slot]);
    side->whole = draft->lanes[slot] == (1u << SIM_LANES) - 1;
  }
}

SIM_FN void lanes_slots_load(LanesSlots *s) {
  for (unsigned left = s->used; left; left &= left - 1) {
    const int slot = __builtin_ctz(left);
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

/* Motion, position, or all of a side's bodies. */
SIM_FN void lanes_side_motion(const LanesSlots *s, const LanesSide *side, SimBody *body) {
  const SimBody *first = &s->body[side->slot[0]];
  body->velocity = first->velocity;
  body->angular_velocity = first->angular_velocity;
  for (int n = 1; n < side->count; n++) {
    const SimBody *other = &s->body[side->slot[n]];
    body->velocity = sim_vec_select(side->lanes[n], other->velocity, body->velocity);
    body->angular_velocity = real_select(side->lanes[n], other->angular_velocity, body->angular_velocity);
  }
}
SIM_FN void lanes_side_position(const LanesSlots *s, const LanesSide *side, SimBody *body) {
  body->position = s->body[side->slot[0]].position;
  for (int n = 1; n < side->count; n++)
    body->position = sim_vec_select(side->lanes[n], s->body[side->slot[n]].position, body->position);
}

SIM_FN void lanes_side_body(const LanesSlots *s, const LanesSide *side, SimBody *body) {
  const SimBody *first = &s->body[side->slot[0]];
  lanes_side_motion(s, side, body);
  lanes_side_position(s, side, body);
  body->rotation = first->rotation;
  body->sine = first->sine;
  body->cosine = first->cosine;
  for (int n = 1; n < side->count; n++) {
    const SimBody *other = &s->body[side->slot[n]];
    body->rotation = real_select(side->lanes[n], other->rotation, body->rotation);
    body->sine = real_select(side->lanes[n], other->sine, body->sine);
    body->cosine = real_select(side->lanes[n], other->cosine, body->cosine);
  }
}

/* Applies a push, or a shift, to a side's bodies. Other lanes are unchanged, to the sign of a zero. */
SIM_FN void lanes_side_push(LanesSlots *s, const LanesSide *side, SimVec velocity, real spin) {
  if (side->whole) {
    SimBody *body = &s->body[side->slot[0]];
    body->velocity = sim_vec_add(body->velocity, velocity);
    body->angular_velocity += spin;
    return;
  }
  for (int n = 0; n < side->count; n++) {
    SimBody *body = &s->body[side->slot[n]];
    body->velocity = sim_vec_select(side->lanes[n], sim_vec_add(body->velocity, velocity), body->velocity);
    body->angular_velocity = real_select(side->lanes[n], body->angular_velocity + spin, body->angular_velocity);
  }
}
SIM_FN void lanes_side_shift(LanesSlots *s, const LanesSide *side, SimVec shift) {
  for (int n = 0; n < side->count; n++) {
    SimBody *body = &s->body[side->slot[n]];
    body->position = sim_vec_select(side->lanes[n], sim_vec_add(body->position, shift), body->position);
  }
}

#endif
#endif
