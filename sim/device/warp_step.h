/* The physics step of step.h by a warp of a GPU that has several worlds (warp.h). Many lanes at once apply collide.h,
 * contact.h, joint.h and actuate.h to bodies, contacts and joints in shared memory. Same bits as step.h, since sums are
 * in its order.
 *
 * What a pass applies, of any world, is independent or sees the same velocities (wavefronts.h). Between a lane's write
 * and another's read is a barrier. Tasks are in batch_kernels.h. */
#ifndef SIM_WARP_STEP_H
#define SIM_WARP_STEP_H
#include "sim/device/warp_collide.h"

/* ---- velocity deltas --------------------------------------------------------------------------------------------- */

/* Adds a delta to a body that can move. was: the body as read by this lane. Lanes of a pass share immovable bodies,
 * whose delta is 0, or NaN in a world out of bounds: a write would race with the other lanes' reads. */
CORE_KERNEL_FN void sim_warp_add_delta(SimBody *body, const SimBody *was, bool moves, SimVec velocity, real spin) {
  if (!moves) return;
  body->velocity = sim_vec_add(was->velocity, velocity);
  body->angular_velocity = was->angular_velocity + spin;
}
CORE_KERNEL_FN void sim_warp_set_velocity(const SimWarp *t, unsigned at, bool moves, SimVec velocity, real spin) {
  SimBody *body = sim_warp_body(t, at);
  const SimBody was = *body;
  sim_warp_add_delta(body, &was, moves, velocity, spin);
}

CORE_KERNEL_FN void sim_warp_angular_impulse(const SimWarp *t, unsigned at, bool moves, real spin) {
  if (moves) sim_warp_body(t, at)->angular_velocity += spin;
}

/* ---- joints ------------------------------------------------------------------------------------------------------ */

SIM_FN unsigned sim_warp_joint_number(const SimWarp *t, unsigned world, int j) {
  return 1 + world * (unsigned)t->layout->joints + (unsigned)j;
}
SIM_FN SimWarpJoint *sim_warp_joint(const SimWarp *t, unsigned world, int j) {
  return &t->joint[sim_warp_joint_number(t, world, j)];
}

/* Returns the arguments of sim_joint_resolve from a record; fields that it does not read are 0. */
CORE_KERNEL_FN SimJointModel sim_warp_joint_model(const SimWarpJoint *r) {
  SimJointModel j;
  memset(&j, 0, sizeof j);
  j.fixed = r->fixed;
  j.a_mass = r->a_mass;
  j.b_mass = r->b_mass;
  j.a_share = r->a_share;
  j.b_share = r->b_share;
  j.inverse_sum_mass = r->inverse_sum_mass;
  j.inverse_sum_inertia = r->inverse_sum_inertia;
  return j;
}
CORE_KERNEL_FN SimJointStep sim_warp_joint_step(const SimWarpJoint *r) {
  const SimJointStep s = {.a_arm = r->a_arm, .b_arm = r->b_arm, .angular_bias = r->angular_bias,
                          .has_angular_constraint = r->has_angular_constraint,
                          .impulse = r->impulse, .angular_impulse = r->angular_impulse};
  return s;
}

/* Begins joint j of world `mine`: its motor's impulse, and the constants of the step. */
CORE_KERNEL_FN void sim_warp_begin_joint(const SimWarp *t, int j) {
  const SimWarpWorld *world = &t->world[t->mine];
  const SimJointModel *model = &world->model->joint[j];
  const bool *moves = world->model->moves;
  const uint16_t a_at = sim_warp_body_offset(t, t->mine, model->a), b_at = sim_warp_body_offset(t, t->mine, model->b);
  const SimBody *a = sim_warp_body(t, a_at), *b = sim_warp_body(t, b_at);

  const SimJointStep s = sim_joint_begin(model, a, b, world->state->joint_impulse[model->slot],
                                         world->state->joint_spin_impulse[model->slot]);
  const SimWarpJoint result = {
    .a_share = model->a_share, .b_share = model->b_share, .inverse_sum_mass = model->inverse_sum_mass,
    .inverse_sum_inertia = model->inverse_sum_inertia, .a_mass = model->a_mass, .b_mass = model->b_mass,
    .a_arm = s.a_arm, .b_arm = s.b_arm, .impulse = s.impulse, .angular_impulse = s.angular_impulse,
      .angular_bias = s.angular_bias,
    .a = a_at, .b = b_at,
    .flags = (uint8_t)((moves[model->a] ? SIM_WARP_A_MOVES : 0) | (moves[model->b] ? SIM_WARP_B_MOVES : 0)),
    .fixed = model->fixed != 0, .has_angular_constraint = s.has_angular_constraint != 0,
    .spin = sim_actuate_motor(model, a, b, sim_task_motor(model, &world->command)),
  };

  *sim_warp_joint(t, t->mine, j) = result;
}

/* Returns this lane's joint of a pass. */
CORE_KERNEL_FN SimWarpJoint *sim_warp_joint_of(const SimWarp *t, int pass, bool in_shared) {
  return &t->joint[*sim_warp_entry(t, pass, in_shared)];
}

/* Schedules the joints of all worlds, once per environment step. */
CORE_KERNEL_FN void sim_warp_schedule_joints(SimWarp *t) {
  uint64_t sizes = 0, assigned = 0;
  uint32_t shared_out;
  const SimModel *model = sim_warp_owns(t) ? t->world[t->lane].model : NULL;
  const int joints = model ? model->joint_count : 0;
  for (int j = 0; j < joints; j++) sizes += (uint64_t)1 << SIM_WAVEFRONT_BITS * model->joint[j].wavefront;
  t->joint_passes = sim_warp_pack(t, 0, sizes, 0, &shared_out);
  sim_warp_barrier(t);
  for (int j = 0; j < joints; j++) {
    const unsigned wavefront = model->joint[j].wavefront;
    sim_warp_assign(t, 0, t->lane, wavefront, sim_wavefronts_size(assigned, wavefront),
                    sim_warp_joint_number(t, t->lane, j));
    assigned += (uint64_t)1 << SIM_WAVEFRONT_BITS * wavefront;
  }
  sim_warp_barrier(t);
}

/* ---- before the iterations --------------------------------------------------------------------------------------- */

/* Applies motors and thrusters. All motors see the velocities before any of them acts. */
CORE_KERNEL_FN void sim_warp_actuate(const SimWarp *t) {
  if (t->lane == 0) sim_warp_pad_joint(t);
  if (sim_warp_works(t))
    for (int j = (int)t->part; j < t->world[t->mine].model->joint_count; j += (int)t->parts) sim_warp_begin_joint(t, j);

  sim_warp_barrier(t);
  for (int pass = 0; pass < t->joint_passes; pass++) {
    const SimWarpJoint joint = *sim_warp_joint_of(t, pass, false);
    sim_warp_angular_impulse(t, joint.a, joint.flags & SIM_WARP_A_MOVES, joint.spin * joint.a_mass.inverse_inertia);
    sim_warp_angular_impulse(t, joint.b, joint.flags & SIM_WARP_B_MOVES, -(joint.spin * joint.b_mass.inverse_inertia));
    sim_warp_barrier(t);
  }

  if (sim_warp_owns(t)) {
    const SimWarpWorld *world = &t->world[t->lane];
    for (int i = 0; i < world->model->thruster_count; i++) {
      const SimThrusterModel *thruster = &world->model->thruster[i];
      const real control = sim_task_thruster(thruster, &world->command);
      const unsigned at = sim_warp_body_offset(t, t->lane, thruster->shape);
      if (control == 0.0f) continue;
      const SimVelocityDelta delta = sim_actuate_thruster(thruster, sim_warp_body(t, at), control);
      sim_warp_set_velocity(t, at, world->model->moves[thruster->shape], delta.a_velocity, delta.a_angular_velocity);
    }
  }

  sim_warp_barrier(t);
}

/* Returns the argument of sim_contact_* from a record. */
CORE_KERNEL_FN SimContact sim_warp_read_contact(const SimWarpContact *r) {
  const SimContact c = {.normal = r->normal, .point = r->point, .a_mass = r->a_mass, .b_mass = r->b_mass,
                        .penetration = r->penetration, .restitution_target = r->restitution_target,
                        .friction = r->friction, .impulse = r->impulse};
  return c;
}

/* Applies the warm start of contacts, a world's one after the other in the model's order, then of joints. */
CORE_KERNEL_FN void sim_warp_warm_start(const SimWarp *t, int contacts) {
  for (int begin = 0; begin < contacts; begin += SIM_WARP_LANES) {
    const bool some = begin + (int)t->lane < contacts;
    const SimWarpContact r = *sim_warp_contact(t, some ? 1 + (unsigned)begin + t->lane : SIM_WARP_PAD, false);
    const SimContact c = sim_warp_read_contact(&r);
    const SimVelocityDelta delta = sim_contact_warm_start(&c, sim_warp_body(t, r.a), sim_warp_body(t, r.b));

    /* Contacts of one world follow in its order, those of different worlds run together. */
    for (uint32_t left = sim_warp_ballot(t, some), next = 0; left; next++) {
      const bool now = some && r.ordinal == next;
      if (now) {
        sim_warp_set_velocity(t, r.a, r.flags & SIM_WARP_A_MOVES, delta.a_velocity, delta.a_angular_velocity);
        sim_warp_set_velocity(t, r.b, r.flags & SIM_WARP_B_MOVES, delta.b_velocity, delta.b_angular_velocity);
      }
      left &= ~sim_warp_ballot(t, now);
      sim_warp_barrier(t);
    }
  }

  for (int pass = 0; pass < t->joint_passes; pass++) {
    const SimWarpJoint r = *sim_warp_joint_of(t, pass, false);
    const SimJointModel model = sim_warp_joint_model(&r);
    const SimJointStep step = sim_warp_joint_step(&r);
    const SimVelocityDelta delta = sim_joint_warm_start(&model, &step);
    sim_warp_set_velocity(t, r.a, r.flags & SIM_WARP_A_MOVES, delta.a_velocity, delta.a_angular_velocity);
    sim_warp_set_velocity(t, r.b, r.flags & SIM_WARP_B_MOVES, delta.b_velocity, delta.b_angular_velocity);
    sim_warp_barrier(t);
  }
}

/* ---- the solver's iterations ------------------------------------------------------------------------------------- */

CORE_KERNEL_FN void sim_warp_apply_joints(const SimWarp *t, int pass, bool in_shared) {
  const unsigned number = *sim_warp_entry(t, pass, in_shared);
  SimWarpJoint *joint = &t->joint[number];
  const SimWarpJoint r = *joint;

  const SimJointModel model = sim_warp_joint_model(&r);
  SimJointStep step = sim_warp_joint_step(&r);
  const bool a_moves = r.flags & SIM_WARP_A_MOVES, b_moves = r.flags & SIM_WARP_B_MOVES;
  SimBody *a = sim_warp_body(t, r.a), *b = sim_warp_body(t, r.b);
  const SimBody a_was = *a, b_was = *b;

  const SimJointDelta delta = sim_joint_resolve(&model, &step, &a_was, &b_was);
  if (number != SIM_WARP_PAD) { /* the padding contact, which several lanes have */
    joint->impulse = step.impulse;
    joint->angular_impulse = step.angular_impulse;
  }

  if (a_moves) a->position = sim_vec_add(a_was.position, delta.a_shift);
  if (b_moves) b->position = sim_vec_add(b_was.position, delta.b_shift);
  sim_warp_add_delta(a, &a_was, a_moves, delta.on.a_velocity, delta.on.a_angular_velocity);
  sim_warp_add_delta(b, &b_was, b_moves, delta.on.b_velocity, delta.on.b_angular_velocity);

  sim_warp_barrier(t);
}

/* Applies the deltas of contacts whose groups share bodies, in sum_order: first to all bodies a, then to all b. */
CORE_KERNEL_FN void sim_warp_apply_shared(const SimWarp *t, const SimWarpContact *r, const SimVelocityDelta *delta) {
  bool shares = r->sum_order != SIM_WAVEFRONT_ALONE;
  for (uint32_t left = sim_warp_ballot(t, shares), next = 0; left; next++) {
    const bool now = r->sum_order == next;
    if (now) sim_warp_set_velocity(t, r->a, r->flags & SIM_WARP_A_MOVES, delta->a_velocity, delta->a_angular_velocity);
    left &= ~sim_warp_ballot(t, now);
    sim_warp_barrier(t);
  }
  shares = shares && (r->flags & SIM_WARP_B_MOVES) != 0;
  for (uint32_t left = sim_warp_ballot(t, shares), next = 0; left; next++) {
    const bool now = r->sum_order == next;
    if (now) sim_warp_set_velocity(t, r->b, r->flags & SIM_WARP_B_MOVES, delta->b_velocity, delta->b_angular_velocity);
    left &= ~sim_warp_ballot(t, now);
    sim_warp_barrier(t);
  }
}

CORE_KERNEL_FN void sim_warp_apply_contacts(const SimWarp *t, int pass, bool shared_out, bool in_shared) {
  const unsigned number = *sim_warp_entry(t, pass, in_shared);
  SimWarpContact *contact = sim_warp_contact(t, number, in_shared);
  const SimWarpContact r = *contact;
  SimContact c = sim_warp_read_contact(&r);
  SimBody *a = sim_warp_body(t, r.a), *b = sim_warp_body(t, r.b);
  const SimBody a_was = *a, b_was = *b;

  const SimContactArms arms = sim_contact_arms(&c, a_was.position, b_was.position);
  const SimVelocityDelta delta = sim_contact_resolve(&c, &arms, &a_was, &b_was);
  if (number != SIM_WARP_PAD) contact->impulse = r.flags & SIM_WARP_CLEARS_IMPULSE ? sim_vec(0.0f, 0.0f) : c.impulse;

  if (r.sum_order == SIM_WAVEFRONT_ALONE) {
    sim_warp_add_delta(a, &a_was, r.flags & SIM_WARP_A_MOVES, delta.a_velocity, delta.a_angular_velocity);
    sim_warp_add_delta(b, &b_was, r.flags & SIM_WARP_B_MOVES, delta.b_velocity, delta.b_angular_velocity);
  }

  sim_warp_barrier(t);
  if (shared_out) sim_warp_apply_shared(t, &r, &delta);
}

CORE_KERNEL_FN void sim_warp_iterate(const SimWarp *t, int passes, uint32_t shared_out, bool in_shared) {
  for (int iteration = 0; iteration < SIM_SOLVER_ITERATIONS; iteration++) {
    for (int pass = 0; pass < t->joint_passes; pass++) sim_warp_apply_joints(t, pass, in_shared);
    for (int pass = 0; pass < passes; pass++)
      sim_warp_apply_contacts(t, t->joint_passes + pass, shared_out >> (pass < 31 ? pass : 31) & 1u, in_shared);
  }
}

/* Two instances of the loop: in the first, the usual one, the compiler knows that all is in shared memory. */
CORE_KERNEL_FN void sim_warp_solve(const SimWarp *t, int contacts, int passes, uint32_t shared_out) {
  if (contacts <= t->layout->capacity && t->joint_passes + passes <= SIM_WARP_PASSES)
    sim_warp_iterate(t, passes, shared_out, true);
  else sim_warp_iterate(t, passes, shared_out, false);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/* Stores the impulses of contacts and joints for the next step; those of other contacts become 0. */
CORE_KERNEL_FN void sim_warp_store_impulses(const SimWarp *t, const SimWarpFound *found) {
  if (sim_warp_owns(t)) {
    const SimWarpWorld *world = &t->world[t->lane];
    const SimWavefrontContact *scheduled = sim_warp_scheduled(t, found->contacts) + world->contact;
    for (int word = 0; word < t->layout->warm_words; word++) {
      uint64_t warm = 0;
      for (unsigned i = 0; i < found->contact_count; i++)
        if (scheduled[i].slot / 64 == word) warm |= 1ull << scheduled[i].slot % 64;
      for (uint64_t left = world->state->warm[word] & ~warm; left; left &= left - 1)
        world->state->contact_impulse[64 * word + real_lowest_bit(left)] = sim_vec(0.0f, 0.0f);
      world->state->warm[word] = warm;
    }
  }

  for (unsigned i = 1 + t->lane; i <= (unsigned)found->contacts; i += SIM_WARP_LANES) {
    const SimWarpContact *c = sim_warp_contact(t, i, false);
    t->world[c->world].state->contact_impulse[c->slot] = c->impulse;
  }

  if (sim_warp_works(t)) {
    const SimWarpWorld *world = &t->world[t->mine];
    for (int j = (int)t->part; j < world->model->joint_count; j += (int)t->parts) {
      const SimWarpJoint *joint = sim_warp_joint(t, t->mine, j);
      const int slot = world->model->joint[j].slot;
      world->state->joint_impulse[slot] = joint->impulse;
      world->state->joint_spin_impulse[slot] = joint->angular_impulse;
    }
  }
}

/* Loads bodies to shared memory and schedules joints, before the first physics step. The owners have set their worlds'
 * model, state and command. */
CORE_KERNEL_FN void sim_warp_begin(SimWarp *t) {
  if (t->lane == 0) sim_warp_pad_contact(t);
  sim_warp_barrier(t);
  if (sim_warp_works(t)) {
    const SimWorld *state = t->world[t->mine].state;
    SimBody *body = sim_warp_bodies(t, t->mine);
    for (unsigned k = t->part; k < (unsigned)t->layout->shapes; k += t->parts) body[k] = state->body[k];
  }
  sim_warp_schedule_joints(t);
}

/* Runs a physics step. Returns the reward bits of the pairs that overlapped at its beginning, of the owner's world. */
CORE_KERNEL_FN int sim_warp_step(const SimWarp *t) {
  SimWarpFound found;
  uint32_t shared_out;

  sim_warp_update_boxes(t);
  const int passes = sim_warp_collide(t, &found, &shared_out);
  sim_warp_actuate(t);
  sim_warp_warm_start(t, found.contacts);
  sim_warp_solve(t, found.contacts, passes, shared_out);
  sim_warp_store_impulses(t, &found);

  if (sim_warp_works(t)) {
    const SimModel *model = t->world[t->mine].model;
    SimBody *body = sim_warp_bodies(t, t->mine);
    for (int i = (int)t->part; i < model->moving_count; i += (int)t->parts)
      body[model->moving[i]] = sim_move_advance(body[model->moving[i]]);
  }

  sim_warp_barrier(t);
  return found.bits;
}

/* Stores bodies to device memory, after the last physics step. Returns whether world `mine` has NaN or infinity. */
CORE_KERNEL_FN bool sim_warp_end_steps(const SimWarp *t) {
  const SimWarpWorld *world = &t->world[t->mine];
  real zero = 0.0f;
  uint32_t lanes = 0;
  for (unsigned k = 0; k < t->parts; k++) lanes |= 1u << (t->mine + k * (unsigned)t->layout->worlds);

  if (sim_warp_works(t)) {
    const SimBody *body = sim_warp_bodies(t, t->mine);
    for (int i = (int)t->part; i < world->model->moving_count; i += (int)t->parts)
      zero += sim_task_body_zero(&body[world->model->moving[i]]);
    for (int j = (int)t->part; j < world->model->joint_count; j += (int)t->parts) {
      const SimWarpJoint *joint = sim_warp_joint(t, t->mine, j);
      zero += sim_task_joint_zero(joint->impulse, joint->angular_impulse);
    }
  }

  const bool nonfinite = (sim_warp_ballot(t, real_is_nan(zero)) & lanes) != 0;
  if (sim_warp_works(t)) {
    const SimBody *body = sim_warp_bodies(t, t->mine);
    for (unsigned k = t->part; k < (unsigned)t->layout->shapes; k += t->parts)
      if (world->model->moves[k] || nonfinite) world->state->body[k] = body[k];
  }
  sim_warp_barrier(t);
  return nonfinite;
}

#endif
