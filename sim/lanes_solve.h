/* The solver of step.h for SIM_LANES worlds side by side, each with its own joints, contacts and order of contacts: the
 * k-th joint of all worlds at once, then the k-th contact of each group. Worlds that have fewer get idle ones, which push
 * a dummy body by nothing. block.c puts worlds with like counts together.
 *
 * Bodies stay in memory, one after the other: an application reads the two bodies of every lane, and adds to each a row
 * of what it receives (where it receives nothing the row has -0, which changes no float). So the order of additions to
 * a body is the scalar code's. Included by lanes_kernels.h only. */
#ifndef SIM_LANES_SOLVE_H
#define SIM_LANES_SOLVE_H
#if defined(SIM_LANES)
#include "sim/contact.h"
#include "sim/joint.h"
#include "sim/lanes_record.h"

/* The two bodies of every lane that a contact or joint is between. */
typedef struct LanesEnds { float *a[SIM_LANES], *b[SIM_LANES]; } LanesEnds;

typedef union LanesContact {
  real row[SIM_LANES_CONTACT];
  SimContact contact;
} LanesContact;

typedef struct LanesSolver {
  LanesContact contact[SIM_LANES_PLACES]; /* by place in the common order */
  LanesEnds contact_ends[SIM_LANES_PLACES];
  float *contact_impulse[SIM_LANES_PLACES][SIM_LANES];
  SimContactArms arms[SIM_LANES_PLACES];
  mask forgets[SIM_LANES_PLACES];
  int group_end[SIM_LANES_GROUPS], group_count;
  LanesJoint joint[SIM_LANES_JOINTS];
  SimJointStep joint_step[SIM_LANES_JOINTS];
  LanesEnds joint_ends[SIM_LANES_JOINTS];
  int joint_count;
  lanes_row a_push[SIM_SOLVER_LANES][LANES_QUAD_ROWS], b_push[SIM_SOLVER_LANES][LANES_QUAD_ROWS];
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

/* What a body receives, as rows to be added to its motion; -0 changes no float. */
SIM_FN void lanes_push_rows(SimVec velocity, real spin, lanes_row row[LANES_QUAD_ROWS]) {
  real f[4] = {velocity.x, velocity.y, spin, real_of(-0.0f)};
  lanes_four_to_rows(f, row);
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

/* The bytes that follow a contact's or joint's reals. */
enum { LANES_CONTACT_A = 0, LANES_CONTACT_B = 1, LANES_CONTACT_FORGETS = 4, LANES_CONTACT_SLOT = 6, LANES_JOINT_SLOT = 2 };
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

/* The common order: in every group as many places as the world with most contacts in it needs. */
SIM_FN void lanes_gather_contacts(LanesSolver *s, SimLanesWorld *const *world, int count) {
  int places = 0;
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
    for (int k = 0; k < size; k++, places++) {
      const float *record[SIM_LANES];
      for (int i = 0; i < SIM_LANES; i++) {
        bool has = k < members[i];
        record[i] = has ? world[i]->contact + SIM_LANES_CONTACT * world[i]->order[begin[i] + k] : s->idle_contact;
        const uint8_t *bytes = lanes_contact_bytes(record[i]);
        lanes_set_ends(s, &s->contact_ends[places], i, has ? world[i]->body : NULL, bytes);
        s->contact_impulse[places][i] = has ? world[i]->contact_impulse + 2 * lanes_contact_slot(record[i]) : s->idle_impulse;
        s->forgets[places][i] = -(int)bytes[LANES_CONTACT_FORGETS];
      }
      lanes_load_contact(&s->contact[places], record);
      SimBody a = lanes_load_body(s->contact_ends[places].a), b = lanes_load_body(s->contact_ends[places].b);
      s->arms[places] = sim_contact_arms(&s->contact[places].contact, a.position, b.position);
    }
    s->group_end[g] = places;
  }
}

/* ---- the steps of the solver ------------------------------------------------------------------------------------- */

/* In listing order, which is not the solver's. */
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
      record[i] = has ? world[i]->contact + SIM_LANES_CONTACT * world[i]->listed[k] : s->idle_contact;
      lanes_set_ends(s, &ends, i, has ? world[i]->body : NULL, lanes_contact_bytes(record[i]));
    }
    lanes_load_contact(&c, record);
    SimBody a = lanes_load_body(ends.a), b = lanes_load_body(ends.b);
    SimPush push = sim_contact_warm_start(&c.contact, &a, &b);
    lanes_apply_push(&ends, &a, &b, &push);
  }
}

SIM_FN void lanes_begin_joints(LanesSolver *s, SimLanesWorld *const *world, int count) {
  s->joint_count = 0;
  for (int i = 0; i < count; i++) {
    if (world[i]->joint_count > s->joint_count) s->joint_count = world[i]->joint_count;
  }
  for (int k = 0; k < s->joint_count; k++) {
    const float *records[SIM_LANES];
    LanesEnds *ends = &s->joint_ends[k];
    SimJointModel *j = &s->joint[k].joint;
    SimVec impulse;
    real spin_impulse;
    for (int i = 0; i < SIM_LANES; i++) {
      bool has = i < count && k < world[i]->joint_count;
      const float *record = has ? world[i]->joint + SIM_LANES_JOINT * k : s->idle_joint;
      const uint8_t *bytes = lanes_joint_bytes(record);
      records[i] = record;
      lanes_set_ends(s, ends, i, has ? world[i]->body : NULL, bytes);
      impulse.x[i] = has ? world[i]->joint_impulse[2 * bytes[LANES_JOINT_SLOT]] : 0.0f;
      impulse.y[i] = has ? world[i]->joint_impulse[2 * bytes[LANES_JOINT_SLOT] + 1] : 0.0f;
      spin_impulse[i] = has ? world[i]->joint_spin_impulse[bytes[LANES_JOINT_SLOT]] : 0.0f;
    }
    lanes_load_joint(records, &s->joint[k]);
    SimBody a = lanes_load_body(ends->a), b = lanes_load_body(ends->b);
    s->joint_step[k] = sim_joint_begin(j, &a, &b, impulse, spin_impulse);
    SimPush push = sim_joint_warm_start(j, &s->joint_step[k]);
    lanes_apply_push(ends, &a, &b, &push);
  }
}

SIM_FN void lanes_resolve_joint(LanesSolver *s, int k) {
  const LanesEnds *ends = &s->joint_ends[k];
  SimBody a = lanes_load_body(ends->a), b = lanes_load_body(ends->b);
  SimJointPush push = sim_joint_resolve(&s->joint[k].joint, &s->joint_step[k], &a, &b);
  a.position = sim_vec_add(a.position, push.a_shift);
  b.position = sim_vec_add(b.position, push.b_shift);
  lanes_store_pose(ends->a, &a);
  lanes_store_pose(ends->b, &b);
  lanes_apply_push(ends, &a, &b, &push.on);
}

SIM_FN SimPush lanes_resolve_contact(LanesSolver *s, int place, SimBody *a, SimBody *b) {
  const LanesEnds *ends = &s->contact_ends[place];
  SimContact *c = &s->contact[place].contact;
  lanes_load_motion(ends->a, a);
  lanes_load_motion(ends->b, b);
  if (s->joint_count > 0) {
    lanes_load_pose(ends->a, a);
    lanes_load_pose(ends->b, b);
    s->arms[place] = sim_contact_arms(c, a->position, b->position);
  }
  SimPush push = sim_contact_resolve(c, &s->arms[place], a, b);
  c->impulse = sim_vec_select(s->forgets[place], sim_vec(real_of(0.0f), real_of(0.0f)), c->impulse);
  return push;
}

/* A group's contacts all see the same velocities. One alone needs no waiting. */
SIM_FN void lanes_resolve_group(LanesSolver *s, int begin, int end) {
  SimBody a, b;
  if (end - begin == 1) {
    SimPush push = lanes_resolve_contact(s, begin, &a, &b);
    lanes_apply_push(&s->contact_ends[begin], &a, &b, &push);
    return;
  }
  for (int k = begin; k < end; k++) {
    SimPush push = lanes_resolve_contact(s, k, &a, &b);
    lanes_push_rows(push.a_velocity, push.a_spin, s->a_push[k - begin]);
    lanes_push_rows(push.b_velocity, push.b_spin, s->b_push[k - begin]);
  }
  for (int k = begin; k < end; k++) lanes_add_rows(s->contact_ends[k].a, LANES_MOTION, s->a_push[k - begin]);
  for (int k = begin; k < end; k++) lanes_add_rows(s->contact_ends[k].b, LANES_MOTION, s->b_push[k - begin]);
}

/* Accumulated impulses back to the worlds. */
SIM_FN void lanes_keep_impulses(LanesSolver *s, SimLanesWorld *const *world, int count) {
  const int places = s->group_count ? s->group_end[s->group_count - 1] : 0;
  for (int k = 0; k < places; k++) {
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

/* Several solvers take turns: one's next application waits for its last, and the processor works on another's. */
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
    lanes_gather_contacts(one, part[solvers], size[solvers]);
    lanes_warm_start_contacts(one, part[solvers], size[solvers]);
    lanes_begin_joints(one, part[solvers], size[solvers]);
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
  for (int i = 0; i < solvers; i++) lanes_keep_impulses(&s[i], part[i], size[i]);
}

#endif
#endif
