/* The solver of step.h for SIM_LANES worlds, one per lane, each with its own joints, contacts and order of contacts. It
 * takes the k-th joint of all worlds at once, then the k-th contact of each group. Worlds that have fewer get idle ones
 * without effect. block.c puts worlds with similar counts together. During the iterations bodies are in slots
 * (lanes_slot.h). Additions to a body are in the scalar code's order. Included by lanes_kernels.h only. */
#ifndef SIM_LANES_SOLVE_H
#define SIM_LANES_SOLVE_H
#if defined(SIM_LANES)
#include "sim/physics/contact.h"
#include "sim/physics/joint.h"
#include "sim/simd/lanes_slot.h"

/* Each lane's two bodies of a contact or joint. */
typedef struct LanesEnds { float *a[SIM_LANES], *b[SIM_LANES]; } LanesEnds;

typedef union LanesContact {
  real row[SIM_LANES_CONTACT];
  SimContact contact;
} LanesContact;

typedef struct LanesSolver {
  LanesContact contact[SIM_LANES_POSITIONS]; /* by position in the common schedule */
  LanesSide contact_a[SIM_LANES_POSITIONS], contact_b[SIM_LANES_POSITIONS];
  float *contact_impulse[SIM_LANES_POSITIONS][SIM_LANES];
  SimContactArms arms[SIM_LANES_POSITIONS];
  mask forgets[SIM_LANES_POSITIONS];
  int group_end[SIM_LANES_GROUPS], group_count;
  LanesJoint joint[SIM_LANES_JOINTS];
  SimJointStep joint_step[SIM_LANES_JOINTS];
  LanesSide joint_a[SIM_LANES_JOINTS], joint_b[SIM_LANES_JOINTS];
  int joint_count;
  SimPush push[SIM_SOLVER_LANES]; /* of a group */
  LanesSlots slots;
  float idle_body[SIM_LANES_BODY], idle_contact[SIM_LANES_CONTACT], idle_joint[SIM_LANES_JOINT], idle_impulse[2];
} LanesSolver;

SIM_FN void lanes_push(SimBody *body, SimVec velocity, real spin) {
  body->velocity = sim_vec_add(body->velocity, velocity);
  body->angular_velocity += spin;
}

/* Gives two bodies, as just loaded, what they receive. */
SIM_FN void lanes_apply_push(const LanesEnds *ends, SimBody *a, SimBody *b, const SimPush *push) {
  lanes_push(a, push->a_velocity, push->a_spin);
  lanes_push(b, push->b_velocity, push->b_spin);
  lanes_store_motion(ends->a, a);
  lanes_store_motion(ends->b, b);
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

/* The bytes that follow a contact's or joint's reals. */
enum { LANES_CONTACT_A = 0, LANES_CONTACT_B = 1, LANES_CONTACT_FORGETS = 4, LANES_CONTACT_SLOT = 6 };
enum { LANES_JOINT_A = 0, LANES_JOINT_B = 1, LANES_JOINT_SLOT = 2 };
SIM_FN const uint8_t *lanes_contact_bytes(const float *record) { return (const uint8_t *)(record + SIM_CONTACT_REALS); }
SIM_FN const uint8_t *lanes_joint_bytes(const float *record) { return (const uint8_t *)(record + SIM_JOINT_REALS); }

SIM_FN void lanes_set_ends(LanesSolver *s, LanesEnds *ends, int lane, float *body, const uint8_t *bytes) {
  ends->a[lane] = body ? body + SIM_LANES_BODY * bytes[0] : s->idle_body;
  ends->b[lane] = body ? body + SIM_LANES_BODY * bytes[1] : s->idle_body;
}

SIM_FN unsigned lanes_contact_slot(const float *record) {
  uint16_t slot;
  memcpy(&slot, lanes_contact_bytes(record) + LANES_CONTACT_SLOT, sizeof slot);
  return slot;
}

SIM_FN void lanes_load_contact(LanesContact *c, const float *const record[SIM_LANES]) {
  const float *second[SIM_LANES];
  lanes_load(record, c->row);
  LANES_UNROLL for (int i = 0; i < SIM_LANES; i++) second[i] = record[i] + 8;
  lanes_load(second, c->row + 8);
}

/* Joints are gathered before contacts, so that worlds with similar joints have their bodies in the same slots. */
SIM_FN void lanes_gather_joints(LanesSolver *s, SimLanesWorld *const *world, int count) {
  s->joint_count = 0;
  for (int i = 0; i < count; i++) {
    if (world[i]->joint_count > s->joint_count) s->joint_count = world[i]->joint_count;
  }
  for (int k = 0; k < s->joint_count; k++) {
    const float *record[SIM_LANES];
    LanesSideDraft a = {.slots = 0}, b = {.slots = 0};
    SimJointStep *step = &s->joint_step[k];
    step->impulse = sim_vec(real_of(0.0f), real_of(0.0f));
    step->spin_impulse = real_of(0.0f);
    for (int i = 0; i < SIM_LANES; i++) {
      bool has = i < count && k < world[i]->joint_count;
      record[i] = has ? world[i]->joint + SIM_LANES_JOINT * k : s->idle_joint;
      if (!has) continue;
      const uint8_t *bytes = lanes_joint_bytes(record[i]);
      const int slot = bytes[LANES_JOINT_SLOT];
      lanes_draft_side(&a, lanes_slot_of(&s->slots, i, world[i], bytes[LANES_JOINT_A]), i);
      lanes_draft_side(&b, lanes_slot_of(&s->slots, i, world[i], bytes[LANES_JOINT_B]), i);
      step->impulse.x[i] = world[i]->joint_impulse[2 * slot];
      step->impulse.y[i] = world[i]->joint_impulse[2 * slot + 1];
      step->spin_impulse[i] = world[i]->joint_spin_impulse[slot];
    }
    lanes_load_joint(record, &s->joint[k]);
    lanes_make_side(&s->joint_a[k], &a);
    lanes_make_side(&s->joint_b[k], &b);
  }
}

/* The common schedule: each group is as long as in the world that has most contacts in it. */
SIM_FN void lanes_gather_contacts(LanesSolver *s, SimLanesWorld *const *world, int count) {
  int position = 0;
  s->group_count = 0;
  for (int i = 0; i < count; i++) {
    if (world[i]->group_count > s->group_count) s->group_count = world[i]->group_count;
  }
  for (int g = 0; g < s->group_count; g++) {
    int size = 0, begin[SIM_LANES], members[SIM_LANES];
    for (int i = 0; i < SIM_LANES; i++) {
      bool has = i < count && g < world[i]->group_count;
      begin[i] = has && g > 0 ? world[i]->group_end[g - 1] : 0;
      members[i] = has ? world[i]->group_end[g] - begin[i] : 0;
      if (members[i] > size) size = members[i];
    }
    for (int k = 0; k < size; k++, position++) {
      const float *record[SIM_LANES];
      LanesEnds ends;
      LanesSideDraft a_side = {.slots = 0}, b_side = {.slots = 0};
      for (int i = 0; i < SIM_LANES; i++) {
        bool has = k < members[i];
        record[i] = has ? world[i]->contact + SIM_LANES_CONTACT * world[i]->order[begin[i] + k] : s->idle_contact;
        const uint8_t *bytes = lanes_contact_bytes(record[i]);
        lanes_set_ends(s, &ends, i, has ? world[i]->body : NULL, bytes);
        if (has) lanes_draft_side(&a_side, lanes_slot_of(&s->slots, i, world[i], bytes[LANES_CONTACT_A]), i);
        if (has) lanes_draft_side(&b_side, lanes_slot_of(&s->slots, i, world[i], bytes[LANES_CONTACT_B]), i);
        s->contact_impulse[position][i] =
          has ? world[i]->contact_impulse + 2 * lanes_contact_slot(record[i]) : s->idle_impulse;
        s->forgets[position][i] = -(int)bytes[LANES_CONTACT_FORGETS];
      }
      lanes_load_contact(&s->contact[position], record);
      lanes_make_side(&s->contact_a[position], &a_side);
      lanes_make_side(&s->contact_b[position], &b_side);
      SimBody a, b;
      lanes_load_pose(ends.a, &a);
      lanes_load_pose(ends.b, &b);
      s->arms[position] = sim_contact_arms(&s->contact[position].contact, a.position, b.position);
    }
    s->group_end[g] = position;
  }
}

/* ---- the steps of the solver ------------------------------------------------------------------------------------- */

/* In the order of the model, not of the solver. */
SIM_FN void lanes_warm_start_contacts(LanesSolver *s, SimLanesWorld *const *world, int count) {
  int most = 0;
  for (int i = 0; i < count; i++) {
    if (world[i]->contact_count > most) most = world[i]->contact_count;
  }
  for (int k = 0; k < most; k++) {
    const float *record[SIM_LANES];
    LanesEnds ends;
    LanesContact c;
    for (int i = 0; i < SIM_LANES; i++) {
      bool has = i < count && k < world[i]->contact_count;
      record[i] = has ? world[i]->contact + SIM_LANES_CONTACT * world[i]->listing[k] : s->idle_contact;
      lanes_set_ends(s, &ends, i, has ? world[i]->body : NULL, lanes_contact_bytes(record[i]));
    }
    lanes_load_contact(&c, record);
    SimBody a = lanes_load_body(ends.a), b = lanes_load_body(ends.b);
    SimPush push = sim_contact_warm_start(&c.contact, &a, &b);
    lanes_apply_push(&ends, &a, &b, &push);
  }
}

SIM_FN void lanes_push_sides(LanesSlots *slots, const LanesSide *a, const LanesSide *b, const SimPush *push) {
  lanes_side_push(slots, a, push->a_velocity, push->a_spin);
  lanes_side_push(slots, b, push->b_velocity, push->b_spin);
}

SIM_FN void lanes_begin_joints(LanesSolver *s) {
  for (int k = 0; k < s->joint_count; k++) {
    SimJointModel *j = &s->joint[k].joint;
    SimJointStep *step = &s->joint_step[k];
    SimBody a, b;
    lanes_side_body(&s->slots, &s->joint_a[k], &a);
    lanes_side_body(&s->slots, &s->joint_b[k], &b);
    *step = sim_joint_begin(j, &a, &b, step->impulse, step->spin_impulse);
    SimPush push = sim_joint_warm_start(j, step);
    lanes_push_sides(&s->slots, &s->joint_a[k], &s->joint_b[k], &push);
  }
}

SIM_FN void lanes_resolve_joint(LanesSolver *s, int k) {
  const LanesSide *a_side = &s->joint_a[k], *b_side = &s->joint_b[k];
  SimBody a, b;
  lanes_side_motion(&s->slots, a_side, &a);
  lanes_side_motion(&s->slots, b_side, &b);
  lanes_side_position(&s->slots, a_side, &a);
  lanes_side_position(&s->slots, b_side, &b);
  SimJointPush push = sim_joint_resolve(&s->joint[k].joint, &s->joint_step[k], &a, &b);
  lanes_side_shift(&s->slots, a_side, push.a_shift);
  lanes_side_shift(&s->slots, b_side, push.b_shift);
  lanes_push_sides(&s->slots, a_side, b_side, &push.on);
}

SIM_FN SimPush lanes_resolve_contact(LanesSolver *s, int position) {
  const LanesSide *a_side = &s->contact_a[position], *b_side = &s->contact_b[position];
  SimContact *c = &s->contact[position].contact;
  SimBody a, b;
  lanes_side_motion(&s->slots, a_side, &a);
  lanes_side_motion(&s->slots, b_side, &b);
  if (s->joint_count > 0) {
    lanes_side_position(&s->slots, a_side, &a);
    lanes_side_position(&s->slots, b_side, &b);
    s->arms[position] = sim_contact_arms(c, a.position, b.position);
  }
  SimPush push = sim_contact_resolve(c, &s->arms[position], &a, &b);
  c->impulse = sim_vec_select(s->forgets[position], sim_vec(real_of(0.0f), real_of(0.0f)), c->impulse);
  return push;
}

/* A group's contacts all see the same velocities. A single one is applied at once. */
SIM_FN void lanes_resolve_group(LanesSolver *s, int begin, int end) {
  if (end - begin == 1) {
    SimPush push = lanes_resolve_contact(s, begin);
    lanes_push_sides(&s->slots, &s->contact_a[begin], &s->contact_b[begin], &push);
    return;
  }
  for (int k = begin; k < end; k++) s->push[k - begin] = lanes_resolve_contact(s, k);
  for (int k = begin; k < end; k++)
    lanes_side_push(&s->slots, &s->contact_a[k], s->push[k - begin].a_velocity, s->push[k - begin].a_spin);
  for (int k = begin; k < end; k++)
    lanes_side_push(&s->slots, &s->contact_b[k], s->push[k - begin].b_velocity, s->push[k - begin].b_spin);
}

/* Accumulated impulses back to the worlds. */
SIM_FN void lanes_keep_impulses(LanesSolver *s, SimLanesWorld *const *world, int count) {
  const int positions = s->group_count ? s->group_end[s->group_count - 1] : 0;
  for (int k = 0; k < positions; k++) {
    const SimContact *c = &s->contact[k].contact;
    for (int i = 0; i < count; i++) {
      s->contact_impulse[k][i][0] = c->impulse.x[i];
      s->contact_impulse[k][i][1] = c->impulse.y[i];
    }
  }
  for (int k = 0; k < s->joint_count; k++) {
    const SimJointStep *j = &s->joint_step[k];
    for (int i = 0; i < count; i++) {
      if (k >= world[i]->joint_count) continue;
      const int slot = lanes_joint_bytes(world[i]->joint + SIM_LANES_JOINT * k)[LANES_JOINT_SLOT];
      world[i]->joint_impulse[2 * slot] = j->impulse.x[i];
      world[i]->joint_impulse[2 * slot + 1] = j->impulse.y[i];
      world[i]->joint_spin_impulse[slot] = j->spin_impulse[i];
    }
  }
}

/* Interleaves several solvers: each application depends on the one before, so the processor overlaps independent
 * ones. */
SIM_FN void lanes_solve(SimLanesWorld *const *world, int count) {
  enum { SOLVERS = SIM_LANES_SOLVE / SIM_LANES };
  LanesSolver s[SOLVERS];
  SimLanesWorld *const *part[SOLVERS];
  int size[SOLVERS] = {0}, solvers = 0, joints = 0, groups = 0;
  for (; solvers * SIM_LANES < count; solvers++) {
    LanesSolver *one = &s[solvers];
    part[solvers] = world + solvers * SIM_LANES;
    size[solvers] = count - solvers * SIM_LANES < SIM_LANES ? count - solvers * SIM_LANES : SIM_LANES;
    memset(one->idle_body, 0, sizeof one->idle_body);
    memset(one->idle_contact, 0, sizeof one->idle_contact);
    memset(one->idle_joint, 0, sizeof one->idle_joint);
    lanes_slots_begin(&one->slots, one->idle_body);
    lanes_gather_joints(one, part[solvers], size[solvers]);
    lanes_gather_contacts(one, part[solvers], size[solvers]);
    lanes_warm_start_contacts(one, part[solvers], size[solvers]);
    lanes_slots_load(&one->slots);
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
    lanes_keep_impulses(&s[i], part[i], size[i]);
  }
}

#endif
#endif
