/* Solver of step.h for SIM_LANES worlds, one per lane, each with its own joints, contacts and contact order. It
 * resolves the k-th joint of all worlds at once, then the k-th contact of each group; worlds with fewer are padded with
 * joints and contacts that have no effect. block.c puts worlds with similar counts together. During the iterations
 * bodies are in slots (lanes_slot.h). Velocity deltas are added to a body in the scalar code's order. Included only by
 * lanes_kernels.h. */
#ifndef SIM_LANES_SOLVE_H
#define SIM_LANES_SOLVE_H
#if defined(SIM_LANES)
#include "sim/physics/contact.h"
#include "sim/physics/joint.h"
#include "sim/simd/lanes_slot.h"

typedef union LanesContact {
  real row[SIM_LANES_CONTACT];
  SimContact contact;
} LanesContact;

/* One contact of each lane. */
typedef struct LanesPosition {
  LanesContact contact;
  SimContactArms arms;             /* constant, so kept, where no joint moves bodies */
  LanesBodyRef a, b;
  unsigned has;                    /* bits: lanes with a contact here */
} LanesPosition;

typedef struct LanesSolver {
  LanesPosition at[SIM_LANES_POSITIONS]; /* common schedule of all lanes */
  int group_end[SIM_LANES_GROUPS], group_count, position_count;
  bool clears_impulse;                    /* whether any contact clears its impulse (SimPair) */
  LanesJoint joint[SIM_LANES_JOINTS];
  SimJointStep joint_step[SIM_LANES_JOINTS];
  LanesBodyRef joint_a[SIM_LANES_JOINTS], joint_b[SIM_LANES_JOINTS];
  int joint_count;
  SimVelocityDelta delta[SIM_SOLVER_LANES]; /* deltas of the current group */
  LanesSlots slots;
  float pad_body[SIM_LANES_BODY], pad_contact[SIM_LANES_CONTACT], pad_joint[SIM_LANES_JOINT];
} LanesSolver;

/* ---- gathering --------------------------------------------------------------------------------------------------- */

/* Second word after a contact's reals: whether it clears its impulse in the low byte, and its slot from bit 16 on
 * (SimContact). */
enum { LANES_CONTACT_FLAGS = SIM_CONTACT_REALS + 1, LANES_CLEARS_IMPULSE = 255, LANES_SLOT = 16 };
enum { LANES_JOINT_SLOT = 2 };
SIM_FN const uint8_t *lanes_joint_bytes(const float *record) { return (const uint8_t *)(record + SIM_JOINT_REALS); }

SIM_FN void lanes_gather_joints(LanesSolver *s, SimLanesWorld *const *world, int count) {
  s->joint_count = 0;
  for (int i = 0; i < count; i++) {
    if (world[i]->joint_count > s->joint_count) s->joint_count = world[i]->joint_count;
  }

  for (int k = 0; k < s->joint_count; k++) {
    const float *record[SIM_LANES];
    unsigned has = 0;
    integer ends = integer_of(0);
    SimJointStep *step = &s->joint_step[k];
    step->impulse = sim_vec(real_of(0.0f), real_of(0.0f));
    step->angular_impulse = real_of(0.0f);
    for (int i = 0; i < SIM_LANES; i++) record[i] = s->pad_joint;

    for (int i = 0; i < count; i++) {
      if (k >= world[i]->joint_count) continue;
      record[i] = world[i]->joint + SIM_LANES_JOINT * k;
      const int slot = lanes_joint_bytes(record[i])[LANES_JOINT_SLOT];
      has |= 1u << i;
      ends[i] = world[i]->joint_slots[k];
      step->impulse.x[i] = world[i]->joint_impulse[2 * slot];
      step->impulse.y[i] = world[i]->joint_impulse[2 * slot + 1];
      step->angular_impulse[i] = world[i]->joint_spin_impulse[slot];
    }

    lanes_load_joint(record, &s->joint[k]);
    lanes_make_body_ref(&s->joint_a[k], ends & 15, has);
    lanes_make_body_ref(&s->joint_b[k], ends >> 4, has);
  }
}

/* Next contacts of each lane. */
typedef struct LanesQueue {
  const float *contact[SIM_LANES];
  const SimLanesEntry *next[SIM_LANES];
  int members[SIM_LANES];
} LanesQueue;

/* Loads the k-th contact of each lane's queue; lanes with fewer get the padding contact. */
SIM_FN void lanes_gather_contact(LanesSolver *s, const LanesQueue *queue, int k, LanesPosition *at) {
  const float *record[SIM_LANES], *second[SIM_LANES];
  integer entry;

  at->has = 0;
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) {
    const bool has = k < queue->members[i];
    const SimLanesEntry e = queue->next[i][k]; /* in bounds: the array is longer than any world's list */
    entry[i] = e;
    record[i] = has ? queue->contact[i] + SIM_LANES_CONTACT * (e & SIM_LANES_ENTRY_NUMBER) : s->pad_contact;
    at->has |= (unsigned)has << i;
  }

  lanes_load(record, at->contact.row);
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) second[i] = record[i] + 8;
  lanes_load(second, at->contact.row + 8);
  lanes_make_body_ref(&at->a, entry >> SIM_LANES_ENTRY_A & 15, at->has);
  lanes_make_body_ref(&at->b, entry >> SIM_LANES_ENTRY_B, at->has);
}

SIM_FN int lanes_group_size(const SimLanesWorld *world, int g) {
  return g < world->group_count ? world->group_end[g] - (g > 0 ? world->group_end[g - 1] : 0) : 0;
}

/* Builds the common schedule: each group is as long as the longest of any world. */
SIM_FN void lanes_gather_contacts(LanesSolver *s, SimLanesWorld *const *world, int count) {
  LanesQueue queue;
  s->group_count = s->position_count = 0;
  s->clears_impulse = false;

  for (int i = 0; i < SIM_LANES; i++) {
    const SimLanesWorld *w = world[i < count ? i : 0];
    queue.contact[i] = w->contact;
    queue.next[i] = w->order;
    queue.members[i] = 0;
    if (w->group_count > s->group_count) s->group_count = w->group_count;
  }

  for (int g = 0; g < s->group_count; g++) {
    int size = 0;
    for (int i = 0; i < count; i++) {
      queue.next[i] += queue.members[i];
      queue.members[i] = lanes_group_size(world[i], g);
      if (queue.members[i] > size) size = queue.members[i];
    }
    for (int k = 0; k < size; k++) {
      LanesPosition *at = &s->at[s->position_count++];
      lanes_gather_contact(s, &queue, k, at);
      s->clears_impulse |=
        real_any((mask)(real_bits(at->contact.row[LANES_CONTACT_FLAGS]) & LANES_CLEARS_IMPULSE) != 0);
    }

    s->group_end[g] = s->position_count;
  }
}

/* ---- the steps of the solver ------------------------------------------------------------------------------------- */

SIM_FN void lanes_add_deltas(LanesSlots *slots, const LanesBodyRef *a, const LanesBodyRef *b,
                             const SimVelocityDelta *delta) {
  lanes_ref_add_delta(slots, a, delta->a_velocity, delta->a_angular_velocity);
  lanes_ref_add_delta(slots, b, delta->b_velocity, delta->b_angular_velocity);
}

SIM_FN void lanes_warm_start_contact(LanesSlots *slots, LanesPosition *at) {
  SimBody a, b;
  lanes_ref_position(slots, &at->a, &a);
  lanes_ref_position(slots, &at->b, &b);
  const SimVelocityDelta delta = sim_contact_warm_start(&at->contact.contact, &a, &b);
  lanes_add_deltas(slots, &at->a, &at->b, &delta);
}

/* Lists a world's contacts in the model's order. */
SIM_FN int lanes_list_contacts(const SimLanesWorld *world, SimLanesEntry entry[SIM_LANES_CONTACTS]) {
  for (int k = 0; k < world->contact_count; k++) entry[k] = world->order[world->listing[k]];
  return world->contact_count;
}

/* Applies the warm start in the model's order, with contacts gathered again; for vectors with a world where that order
 * differs from the solver's. */
SIM_FN void lanes_warm_start_listed(LanesSolver *s, SimLanesWorld *const *world, int count) {
  SimLanesEntry entry[SIM_LANES][SIM_LANES_CONTACTS];
  LanesQueue queue;
  LanesPosition at;
  int most = 0;
  for (int i = 0; i < SIM_LANES; i++) {
    queue.contact[i] = world[i < count ? i : 0]->contact;
    queue.next[i] = entry[i];
    queue.members[i] = i < count ? lanes_list_contacts(world[i], entry[i]) : 0;
    if (queue.members[i] > most) most = queue.members[i];
  }
  for (int k = 0; k < most; k++) {
    lanes_gather_contact(s, &queue, k, &at);
    lanes_warm_start_contact(&s->slots, &at);
  }
}

/* Applies the warm start in the model's order, which is not always the solver's. */
SIM_FN void lanes_warm_start_contacts(LanesSolver *s, SimLanesWorld *const *world, int count) {
  bool in_order = true;
  for (int i = 0; i < count; i++) in_order = in_order && world[i]->in_order;
  if (!in_order) lanes_warm_start_listed(s, world, count);
  for (int k = 0; in_order && k < s->position_count; k++) lanes_warm_start_contact(&s->slots, &s->at[k]);
}

SIM_FN void lanes_begin_contacts(LanesSolver *s) {
  if (s->joint_count > 0) return;
  for (int k = 0; k < s->position_count; k++) {
    SimBody a, b;
    lanes_ref_position(&s->slots, &s->at[k].a, &a);
    lanes_ref_position(&s->slots, &s->at[k].b, &b);
    s->at[k].arms = sim_contact_arms(&s->at[k].contact.contact, a.position, b.position);
  }
}

SIM_FN void lanes_begin_joints(LanesSolver *s) {
  for (int k = 0; k < s->joint_count; k++) {
    SimJointModel *j = &s->joint[k].joint;
    SimJointStep *step = &s->joint_step[k];
    SimBody a, b;
    lanes_ref_body(&s->slots, &s->joint_a[k], &a);
    lanes_ref_body(&s->slots, &s->joint_b[k], &b);
    *step = sim_joint_begin(j, &a, &b, step->impulse, step->angular_impulse);
    SimVelocityDelta delta = sim_joint_warm_start(j, step);
    lanes_add_deltas(&s->slots, &s->joint_a[k], &s->joint_b[k], &delta);
  }
}

SIM_FN void lanes_resolve_joint(LanesSolver *s, int k) {
  const LanesBodyRef *a_side = &s->joint_a[k], *b_side = &s->joint_b[k];
  SimBody a, b;
  lanes_ref_position(&s->slots, a_side, &a);
  lanes_ref_position(&s->slots, b_side, &b);
  SimJointDelta delta = sim_joint_resolve(&s->joint[k].joint, &s->joint_step[k], &a, &b);
  lanes_ref_pose(&s->slots, a_side, delta.on.a_velocity, delta.on.a_angular_velocity, delta.a_shift);
  lanes_ref_pose(&s->slots, b_side, delta.on.b_velocity, delta.on.b_angular_velocity, delta.b_shift);
}

SIM_FN SimVelocityDelta lanes_resolve_contact(LanesSolver *s, int position) {
  LanesPosition *at = &s->at[position];
  SimContact *c = &at->contact.contact;
  SimContactArms arms;
  SimBody a, b;

  if (s->joint_count > 0) {
    lanes_ref_position(&s->slots, &at->a, &a);
    lanes_ref_position(&s->slots, &at->b, &b);
    arms = sim_contact_arms(c, a.position, b.position);
  } else {
    lanes_ref_motion(&s->slots, &at->a, &a);
    lanes_ref_motion(&s->slots, &at->b, &b);
    arms = at->arms;
  }

  SimVelocityDelta delta = sim_contact_resolve(c, &arms, &a, &b);
  if (s->clears_impulse) {
    const mask clears_impulse = (mask)(real_bits(at->contact.row[LANES_CONTACT_FLAGS]) & LANES_CLEARS_IMPULSE) != 0;
    c->impulse = sim_vec_select(clears_impulse, sim_vec(real_of(0.0f), real_of(0.0f)), c->impulse);
  }
  return delta;
}

/* Resolves a group, whose contacts all read the same velocities. A single contact is applied at once. */
SIM_FN void lanes_resolve_group(LanesSolver *s, int begin, int end) {
  if (end - begin == 1) {
    SimVelocityDelta delta = lanes_resolve_contact(s, begin);
    lanes_add_deltas(&s->slots, &s->at[begin].a, &s->at[begin].b, &delta);
    return;
  }
  for (int k = begin; k < end; k++) s->delta[k - begin] = lanes_resolve_contact(s, k);
  for (int k = begin; k < end; k++)
    lanes_ref_add_delta(&s->slots, &s->at[k].a, s->delta[k - begin].a_velocity, s->delta[k - begin].a_angular_velocity);
  for (int k = begin; k < end; k++)
    lanes_ref_add_delta(&s->slots, &s->at[k].b, s->delta[k - begin].b_velocity, s->delta[k - begin].b_angular_velocity);
}

/* Writes the accumulated impulses back to the worlds. */
SIM_FN void lanes_store_impulses(LanesSolver *s, SimLanesWorld *const *world, int count) {
  for (int k = 0; k < s->position_count; k++) {
    const LanesPosition *at = &s->at[k];
    const real_word flags = real_bits(at->contact.row[LANES_CONTACT_FLAGS]);
    for (unsigned left = at->has; left; left &= left - 1) {
      const int i = __builtin_ctz(left);
      float *impulse = world[i]->contact_impulse + 2 * (flags[i] >> LANES_SLOT);
      impulse[0] = at->contact.contact.impulse.x[i];
      impulse[1] = at->contact.contact.impulse.y[i];
    }
  }

  for (int k = 0; k < s->joint_count; k++) {
    const SimJointStep *j = &s->joint_step[k];
    for (int i = 0; i < count; i++) {
      if (k >= world[i]->joint_count) continue;
      const int slot = lanes_joint_bytes(world[i]->joint + SIM_LANES_JOINT * k)[LANES_JOINT_SLOT];
      world[i]->joint_impulse[2 * slot] = j->impulse.x[i];
      world[i]->joint_impulse[2 * slot + 1] = j->impulse.y[i];
      world[i]->joint_spin_impulse[slot] = j->angular_impulse[i];
    }
  }
}

/* Runs SIM_LANES_SOLVERS solvers interleaved: each update depends on the one before, so the processor overlaps
 * independent ones. memory: for the solvers, up to 2 MB, too much for a thread's stack. */
SIM_FN void lanes_solve(SimLanesWorld *const *world, int count, void *memory) {
  LanesSolver *const s = memory;
  SimLanesWorld *const *part[SIM_LANES_SOLVERS];
  int size[SIM_LANES_SOLVERS] = {0}, solvers = 0, joints = 0, groups = 0;

  for (; solvers * SIM_LANES < count; solvers++) {
    LanesSolver *one = &s[solvers];
    part[solvers] = world + solvers * SIM_LANES;
    size[solvers] = count - solvers * SIM_LANES < SIM_LANES ? count - solvers * SIM_LANES : SIM_LANES;
    memset(one->pad_body, 0, sizeof one->pad_body);
    memset(one->pad_contact, 0, sizeof one->pad_contact);
    memset(one->pad_joint, 0, sizeof one->pad_joint);
    lanes_slots_load(&one->slots, part[solvers], size[solvers], one->pad_body);
    lanes_gather_joints(one, part[solvers], size[solvers]);
    lanes_gather_contacts(one, part[solvers], size[solvers]);
    lanes_warm_start_contacts(one, part[solvers], size[solvers]);
    lanes_begin_contacts(one);
    lanes_begin_joints(one);
    if (one->joint_count > joints) joints = one->joint_count;
    if (one->group_count > groups) groups = one->group_count;
  }

  for (int iteration = 0; iteration < SIM_SOLVER_ITERATIONS; iteration++) {
    for (int k = 0; k < joints; k++) {
      for (int i = 0; i < solvers; i++) {
        if (k < s[i].joint_count) lanes_resolve_joint(&s[i], k);
      }
    }
    for (int g = 0; g < groups; g++) {
      for (int i = 0; i < solvers; i++) {
        if (g < s[i].group_count) lanes_resolve_group(&s[i], g > 0 ? s[i].group_end[g - 1] : 0, s[i].group_end[g]);
      }
    }
  }

  for (int i = 0; i < solvers; i++) {
    lanes_slots_store(&s[i].slots, joints > 0);
    lanes_store_impulses(&s[i], part[i], size[i]);
  }
}

#endif
#endif
