/* The physics step of step.h by a team of threads of a GPU's warp: bodies, corners, boxes and contacts of a world are
 * in shared memory, and the same functions of collide.h, contact.h, joint.h and actuate.h are applied to them by many
 * lanes at once. Same bits as step.h: what is summed is summed in its order.
 *
 * Who does what: a lane takes every lanes-th moving body, pair and contact of a wave (waves.h); joints go in waves too,
 * and a lane's joint stays in its registers. Between a
 * lane's write and another's read is a barrier of the team, and never one of the block, so that worlds of a warp may
 * need different numbers of everything. Knows nothing of tasks (batch_kernels.h). */
#ifndef SIM_STEP_TEAM_H
#define SIM_STEP_TEAM_H
#include "core/device_kernel.h"
#include "sim/task.h"
#include "sim/waves.h"

/* Where a world's things are in its team's share of shared memory, in bytes; a function of the size only. */
typedef struct SimTeamLayout {
  int contacts;                 /* that there is room for; further ones go to device memory */
  int overflow;                 /* how many those can be */
  uint32_t corner, box, contact, push, turn, hit, order, note, bytes; /* bodies are at 0 */
} SimTeamLayout;

/* Room for more contacts than this is not worth the worlds that it keeps off a processor: random levels have 2 to 4,
 * and at most 7, 11 and 17 at size S, M and L (docs/cuda.md). */
enum { SIM_TEAM_CONTACTS = 12, SIM_TEAM_OVERLAPS = 0x80 };

/* What lane 0 has to tell the others. */
typedef struct SimTeamNote { SimWaves waves; } SimTeamNote;

/* A thread's view of its world. */
typedef struct SimTeam {
  const CoreDeviceThread *at;
  unsigned lane, lanes;
  const SimModel *model;        /* device memory */
  SimWorld *world;              /* device memory */
  SimBody *body;                /* the rest in shared memory: [shapes] */
  SimVec (*corner)[SIM_VERTICES]; /* [polygons] */
  SimBox *box;                  /* [shapes] */
  SimContact *contact;          /* [room] */
  SimPush *push;                /* [SIM_SOLVER_LANES]: of a group whose contacts share bodies, by place */
  SimWaveContact *turn;         /* [contact slots] */
  uint8_t *hit;                 /* [pairs]: numbers of those whose boxes meet, with SIM_TEAM_OVERLAPS if they overlap */
  uint8_t *order;               /* [contact slots]: contacts by wave */
  SimTeamNote *note;
  SimContact *overflow;         /* device memory: contacts from `room` on */
  int room;
} SimTeam;

/* What all lanes know alike of a step's pairs. */
typedef struct SimTeamFound {
  int hits, hit_end[SIM_PAIR_KINDS], contacts;
  unsigned touching[SIM_PAIR_KINDS];
  int bits;                     /* of this lane's pairs */
} SimTeamFound;

/* A lane's joint. */
typedef struct SimTeamJoint {
  SimJointModel model; /* read anew in every step: registers that narrow tests need must not be kept for it */
  SimJointStep step;
  real control;
  int wave;            /* the joint's; -1: the lane has none */
} SimTeamJoint;

SIM_FN uint32_t sim_team_place(uint32_t *end, size_t bytes, uint32_t alignment) {
  const uint32_t start = (*end + alignment - 1) / alignment * alignment;
  *end = start + (uint32_t)bytes;
  return start;
}

/* pairs, contacts: how many slots of each the size has (sim_model_pairs, sim_model_contacts). */
SIM_FN SimTeamLayout sim_team_layout(SimSize size, int pairs, int contacts) {
  const size_t polygons = (size_t)size.polygons, shapes = polygons + (size_t)size.circles;
  SimTeamLayout l;
  l.contacts = contacts < SIM_TEAM_CONTACTS ? contacts : SIM_TEAM_CONTACTS;
  l.overflow = contacts - l.contacts;
  l.bytes = (uint32_t)(shapes * sizeof(SimBody));
  l.contact = sim_team_place(&l.bytes, (size_t)l.contacts * sizeof(SimContact), 32);
  l.corner = sim_team_place(&l.bytes, polygons * SIM_VERTICES * sizeof(SimVec), 16);
  l.box = sim_team_place(&l.bytes, shapes * sizeof(SimBox), 16);
  l.push = sim_team_place(&l.bytes, SIM_SOLVER_LANES * sizeof(SimPush), 8);
  l.turn = sim_team_place(&l.bytes, (size_t)contacts * sizeof(SimWaveContact), 4);
  l.note = sim_team_place(&l.bytes, sizeof(SimTeamNote), 8);
  l.hit = sim_team_place(&l.bytes, (size_t)pairs, 1);
  l.order = sim_team_place(&l.bytes, (size_t)contacts, 1);
  l.bytes = (l.bytes + 31) / 32 * 32;
  return l;
}

CORE_KERNEL_FN void sim_team_barrier(const SimTeam *t) { core_device_team_barrier(t->at, t->lanes); }
CORE_KERNEL_FN uint32_t sim_team_ballot(const SimTeam *t, int vote) {
  return core_device_ballot(t->at, t->lanes, vote);
}
CORE_KERNEL_FN SimContact *sim_team_contact(const SimTeam *t, int i) {
  return i < t->room ? &t->contact[i] : &t->overflow[i - t->room];
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

/* Lists the pairs whose boxes meet, in the order of listing. */
CORE_KERNEL_FN void sim_team_find_hits(const SimTeam *t, SimTeamFound *found) {
  const SimModel *model = t->model;
  const int pairs = model->pair_end[SIM_CC], lanes = (int)t->lanes;
  found->hits = 0;
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) found->hit_end[kind] = 0;
  for (int begin = 0; begin < pairs; begin += lanes) {
    const int i = begin + (int)t->lane;
    int meets = 0;
    if (i < pairs) meets = sim_collide_boxes(t->box[model->pair[i].a], t->box[model->pair[i].b]);
    const uint32_t meeting = sim_team_ballot(t, meets);
    if (meets) t->hit[found->hits + (int)core_device_count_bits(meeting & ((1u << t->lane) - 1))] = (uint8_t)i;
    for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
      const int below = model->pair_end[kind] - begin;
      const uint32_t of_kind = below >= 32 ? meeting : below > 0 ? meeting & ((1u << below) - 1) : 0;
      found->hit_end[kind] += (int)core_device_count_bits(of_kind);
    }
    found->hits += (int)core_device_count_bits(meeting);
  }
}

/* Tests a kind's hits and makes their contacts, numbered in the order of listing. A contact's turn is its round, its
 * place its pair's rank, until sim_team_deal. */
CORE_KERNEL_FN void sim_team_test_hits(const SimTeam *t, int kind, SimTeamFound *found) {
  const SimModel *model = t->model;
  const int first = kind > 0 ? found->hit_end[kind - 1] : 0, end = found->hit_end[kind];
  unsigned touching = 0;
  for (int begin = first; begin < end; begin += (int)t->lanes) {
    const int h = begin + (int)t->lane;
    const uint32_t earlier = (1u << t->lane) - 1;
    const SimPair *pair = &model->pair[h < end ? t->hit[h] : 0];
    SimManifold m;
    int overlaps = 0, points = 0;
    m.active[1] = 0;
    if (h < end) overlaps = sim_step_test_pair(model, t->body, t->corner, kind, pair, &m) != 0;
    if (overlaps) {
      t->hit[h] |= SIM_TEAM_OVERLAPS;
      found->bits |= pair->reward;
      if (pair->resolved) points = m.active[1] ? 2 : 1;
    }
    const uint32_t overlapping = sim_team_ballot(t, overlaps), one = sim_team_ballot(t, points >= 1);
    const uint32_t two = kind == SIM_RR ? sim_team_ballot(t, points == 2) : 0;
    const unsigned rank = touching + core_device_count_bits(overlapping & earlier);
    const int number =
      found->contacts + (int)(core_device_count_bits(one & earlier) + core_device_count_bits(two & earlier));
    for (int k = 0; k < points; k++) {
      sim_step_make_contact(model, t->body, pair, &m, k, t->world->contact_impulse[pair->slot + k],
                            sim_team_contact(t, number + k));
      const uint8_t a = (uint8_t)sim_waves_end(model, pair->a), b = (uint8_t)sim_waves_end(model, pair->b);
      t->turn[number + k] = (SimWaveContact){a, b, (uint8_t)k, (uint8_t)rank};
    }
    touching += core_device_count_bits(overlapping);
    found->contacts += (int)(core_device_count_bits(one) + core_device_count_bits(two));
  }
  found->touching[kind] = touching;
}

/* The groups of all contacts. kind_end: contacts up to the end of each kind. */
CORE_KERNEL_FN void sim_team_deal(const SimTeam *t, const SimTeamFound *found, const int kind_end[SIM_PAIR_KINDS]) {
  for (int i = (int)t->lane; i < found->contacts; i += (int)t->lanes) {
    const int kind = (i >= kind_end[SIM_RR]) + (i >= kind_end[SIM_CR]);
    const unsigned active = kind == SIM_RR ? found->touching[SIM_RR]
                            : kind == SIM_CR ? found->touching[SIM_CR] : found->touching[SIM_CC];
    SimWaveContact *c = &t->turn[i];
    c->turn = (uint8_t)sim_waves_group(kind, c->turn, sim_step_deal(t->model->listed[kind], active), c->place);
  }
}

/* Finds overlapping pairs, makes their contacts and puts them in order. The lanes' bits together are the reward's. */
CORE_KERNEL_FN void sim_team_collide(const SimTeam *t, SimTeamFound *found) {
  int kind_end[SIM_PAIR_KINDS];
  sim_team_find_hits(t, found);
  sim_team_barrier(t);
  found->contacts = found->bits = 0;
  sim_team_test_hits(t, SIM_RR, found);
  kind_end[SIM_RR] = found->contacts;
  sim_team_test_hits(t, SIM_CR, found);
  kind_end[SIM_CR] = found->contacts;
  sim_team_test_hits(t, SIM_CC, found);
  kind_end[SIM_CC] = found->contacts;
  sim_team_barrier(t);
  sim_team_deal(t, found, kind_end);
  sim_team_barrier(t);
  if (t->lane == 0) {
    SimWaves *waves = &t->note->waves;
    *waves = sim_waves_settle(t->turn, found->contacts);
    sim_waves_sort(t->turn, found->contacts, waves, t->order);
  }
  sim_team_barrier(t);
}

/* Keeps which pairs overlap, for observations: a lane makes whole words. */
CORE_KERNEL_FN void sim_team_keep_touching(const SimTeam *t, const SimTeamFound *found) {
  enum { WORDS = sizeof t->world->touching / sizeof t->world->touching[0] };
  for (int word = (int)t->lane; word < WORDS; word += (int)t->lanes) {
    uint32_t bits = 0;
    for (int h = 0; h < found->hits; h++) {
      const int pair = t->hit[h] & ~SIM_TEAM_OVERLAPS;
      if (t->hit[h] & SIM_TEAM_OVERLAPS && pair / 32 == word) bits |= (uint32_t)1 << pair % 32;
    }
    t->world->touching[word] = bits;
  }
}

/* ---- pushes ------------------------------------------------------------------------------------------------------ */

/* A body that can not move receives 0, and several lanes may give it that at once: it is not written, unless with the
 * NaN that a world out of bounds gives even to it. */
CORE_KERNEL_FN void sim_team_give(SimBody *body, bool moves, SimVec velocity, real spin) {
  if (!moves && velocity.x == 0.0f && velocity.y == 0.0f && spin == 0.0f) return;
  body->velocity = sim_vec_add(body->velocity, velocity);
  body->angular_velocity += spin;
}
CORE_KERNEL_FN void sim_team_give_a(const SimTeam *t, unsigned a, const SimPush *push) {
  sim_team_give(&t->body[a & ~(unsigned)SIM_WAVE_MOVES], (a & SIM_WAVE_MOVES) != 0, push->a_velocity, push->a_spin);
}
CORE_KERNEL_FN void sim_team_give_b(const SimTeam *t, unsigned b, const SimPush *push) {
  sim_team_give(&t->body[b & ~(unsigned)SIM_WAVE_MOVES], (b & SIM_WAVE_MOVES) != 0, push->b_velocity, push->b_spin);
}

CORE_KERNEL_FN void sim_team_turn(const SimTeam *t, unsigned k, real spin) {
  if (t->model->moves[k] || spin != 0.0f) t->body[k].angular_velocity += spin;
}

CORE_KERNEL_FN void sim_team_push_joint(const SimTeam *t, const SimJointModel *j, const SimPush *push) {
  sim_team_give_a(t, sim_waves_end(t->model, j->a), push);
  sim_team_give_b(t, sim_waves_end(t->model, j->b), push);
}

/* Motors and thrusters; motors all see the velocities before any of them acts. */
CORE_KERNEL_FN void sim_team_actuate(const SimTeam *t, const SimTeamJoint *joint, const SimCommand *command) {
  const SimModel *model = t->model;
  real spin = 0.0f;
  if (joint->wave >= 0)
    spin = sim_actuate_motor(&joint->model, &t->body[joint->model.a], &t->body[joint->model.b], joint->control);
  sim_team_barrier(t);
  for (int wave = 0; wave < model->joint_waves; wave++) {
    if (joint->wave == wave) {
      sim_team_turn(t, joint->model.a, spin * joint->model.a_mass.inverse_inertia);
      sim_team_turn(t, joint->model.b, -(spin * joint->model.b_mass.inverse_inertia));
    }
    sim_team_barrier(t);
  }
  for (int i = 0; i < model->thruster_count; i++) {
    const SimThrusterModel *thruster = &model->thruster[i];
    const real control = sim_task_thruster(thruster, command);
    if (t->lane == 0 && control != 0.0f) {
      const SimPush push = sim_actuate_thruster(thruster, &t->body[thruster->shape], control);
      sim_team_give_a(t, sim_waves_end(model, thruster->shape), &push);
    }
  }
  sim_team_barrier(t);
}

/* Contacts one after the other in the order of listing, then joints. */
CORE_KERNEL_FN void sim_team_warm_start(const SimTeam *t, int contacts, SimTeamJoint *joint) {
  const int lane = (int)t->lane;
  for (int begin = 0; begin < contacts; begin += (int)t->lanes) {
    const int mine = begin + lane, end = contacts - begin < (int)t->lanes ? contacts - begin : (int)t->lanes;
    SimWaveContact ends = {0, 0, 0, 0};
    SimPush push = {{0, 0}, {0, 0}, 0, 0};
    if (mine < contacts) {
      const SimContact *c = sim_team_contact(t, mine);
      ends = t->turn[mine];
      push = sim_contact_warm_start(c, &t->body[c->a], &t->body[c->b]);
    }
    for (int i = 0; i < end; i++) {
      if (i == lane) {
        sim_team_give_a(t, ends.a, &push);
        sim_team_give_b(t, ends.b, &push);
      }
      sim_team_barrier(t);
    }
  }
  if (joint->wave >= 0) {
    const SimJointModel *j = &joint->model;
    joint->step = sim_joint_begin(j, &t->body[j->a], &t->body[j->b], joint->step.impulse, joint->step.spin_impulse);
  }
  for (int wave = 0; wave < t->model->joint_waves; wave++) {
    if (joint->wave == wave) {
      const SimPush push = sim_joint_warm_start(&joint->model, &joint->step);
      sim_team_push_joint(t, &joint->model, &push);
    }
    sim_team_barrier(t);
  }
}

/* ---- the solver's iterations ------------------------------------------------------------------------------------- */

CORE_KERNEL_FN void sim_team_resolve_joint(const SimTeam *t, SimTeamJoint *joint) {
  const SimJointModel *j = &joint->model;
  SimBody *a = &t->body[j->a], *b = &t->body[j->b];
  const SimJointPush push = sim_joint_resolve(j, &joint->step, a, b);
  if (t->model->moves[j->a]) a->position = sim_vec_add(a->position, push.a_shift);
  if (t->model->moves[j->b]) b->position = sim_vec_add(b->position, push.b_shift);
  sim_team_push_joint(t, j, &push.on);
}

/* A contact of the present wave. */
CORE_KERNEL_FN void sim_team_resolve_contact(const SimTeam *t, SimContact *c, SimWaveContact ends) {
  const SimBody *a = &t->body[ends.a & 15], *b = &t->body[ends.b & 15];
  const SimContactArms arms = sim_contact_arms(c, a->position, b->position);
  const SimPush push = sim_contact_resolve(c, &arms, a, b);
  if (c->forgets) c->impulse = sim_vec(0.0f, 0.0f);
  if (ends.place != SIM_WAVE_ALONE) {
    t->push[ends.place] = push;
    return;
  }
  sim_team_give_a(t, ends.a, &push);
  sim_team_give_b(t, ends.b, &push);
}

/* A body's part in a group whose contacts share bodies: what it receives as their a, in order, then as their b. */
CORE_KERNEL_FN void sim_team_add_up(const SimTeam *t, int contacts, unsigned turn, unsigned end) {
  for (int i = 0; i < contacts; i++) {
    const SimWaveContact c = t->turn[i];
    if (c.turn == turn && c.place != SIM_WAVE_ALONE && c.a == end) sim_team_give_a(t, end, &t->push[c.place]);
  }
  for (int i = 0; i < contacts; i++) {
    const SimWaveContact c = t->turn[i];
    if (c.turn == turn && c.place != SIM_WAVE_ALONE && c.b == end) sim_team_give_b(t, end, &t->push[c.place]);
  }
}

/* Applies a wave: contacts order[begin..end). */
CORE_KERNEL_FN void sim_team_apply_wave(const SimTeam *t, int begin, int end) {
  for (int i = begin + (int)t->lane; i < end; i += (int)t->lanes)
    sim_team_resolve_contact(t, sim_team_contact(t, t->order[i]), t->turn[t->order[i]]);
  sim_team_barrier(t);
}

/* Afterwards, where a group of the wave shares bodies. */
CORE_KERNEL_FN void sim_team_share_out(const SimTeam *t, int contacts, unsigned turn) {
  for (int i = (int)t->lane; i < t->model->active_count; i += (int)t->lanes)
    sim_team_add_up(t, contacts, turn, sim_waves_end(t->model, t->model->active[i]));
  sim_team_barrier(t);
}

CORE_KERNEL_FN void sim_team_solve(const SimTeam *t, int contacts, SimTeamJoint *joint) {
  const SimWaves *waves = &t->note->waves;
  const int joint_waves = t->model->joint_waves, count = waves->count;
  const unsigned sharing = waves->sharing;
  for (int iteration = 0; iteration < SIM_SOLVER_ITERATIONS; iteration++) {
    for (int wave = 0; wave < joint_waves; wave++) {
      if (joint->wave == wave) sim_team_resolve_joint(t, joint);
      sim_team_barrier(t);
    }
    for (int w = 0; w < count; w++) {
      sim_team_apply_wave(t, w > 0 ? waves->end[w - 1] : 0, waves->end[w]);
      if (sharing >> w & 1u) sim_team_share_out(t, contacts, SIM_WAVE_SETTLED + (unsigned)w);
    }
  }
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/* Keeps contacts' impulses for the next step. */
CORE_KERNEL_FN void sim_team_keep_contacts(const SimTeam *t, int contacts) {
  SimWorld *world = t->world;
  for (int word = (int)t->lane; word < SIM_WARM_WORDS; word += (int)t->lanes) {
    uint64_t warm = 0;
    sim_step_forget_word(world, word);
    for (int i = 0; i < contacts; i++) {
      const int slot = sim_team_contact(t, i)->slot;
      if (slot / 64 == word) warm |= 1ull << slot % 64;
    }
    world->warm[word] = warm;
  }
  sim_team_barrier(t);
  for (int i = (int)t->lane; i < contacts; i += (int)t->lanes) {
    const SimContact *c = sim_team_contact(t, i);
    world->contact_impulse[c->slot] = c->impulse;
  }
}

/* Before the first step: what never moves has its place, and the lane its joint. */
CORE_KERNEL_FN void sim_team_begin(const SimTeam *t, const SimCommand *command, SimTeamJoint *joint) {
  const SimModel *model = t->model;
  for (int k = (int)t->lane; k < model->shapes; k += (int)t->lanes) {
    t->body[k] = t->world->body[k];
    t->box[k] = model->box[k];
    if (k < model->size.polygons)
      for (int i = 0; i < SIM_VERTICES; i++) t->corner[k][i] = model->corner[k][i];
  }
  memset(joint, 0, sizeof *joint);
  joint->wave = -1;
  if ((int)t->lane < model->joint_count) {
    const SimJointModel *j = &model->joint[t->lane];
    joint->step.impulse = t->world->joint_impulse[j->slot];
    joint->step.spin_impulse = t->world->joint_spin_impulse[j->slot];
    joint->control = sim_task_motor(j, command);
    joint->wave = j->wave;
  }
  sim_team_barrier(t);
}

/* A physics step. Gives the reward bits of the pairs that overlapped at its beginning, to every lane. */
CORE_KERNEL_FN int sim_team_step(const SimTeam *t, const SimCommand *command, SimTeamJoint *joint) {
  const SimModel *model = t->model;
  SimTeamFound found;
  for (int i = (int)t->lane; i < model->moving_count; i += (int)t->lanes) {
    const int k = model->moving[i];
    sim_step_fall_shape(model, k, &t->body[k]);
    t->box[k] = sim_step_place_shape(model, k, &t->body[k], t->corner);
  }
  sim_team_barrier(t);
  sim_team_collide(t, &found);
  joint->model = model->joint[joint->wave >= 0 ? t->lane : 0];
  sim_team_keep_touching(t, &found);
  sim_team_actuate(t, joint, command);
  sim_team_warm_start(t, found.contacts, joint);
  sim_team_solve(t, found.contacts, joint);
  sim_team_keep_contacts(t, found.contacts);
  for (int i = (int)t->lane; i < model->moving_count; i += (int)t->lanes) {
    const int k = model->moving[i];
    t->body[k] = sim_move_advance(t->body[k]);
  }
  sim_team_barrier(t);
  const uint32_t touch = sim_team_ballot(t, found.bits & SIM_TOUCH), lava = sim_team_ballot(t, found.bits & SIM_LAVA);
  return (touch ? SIM_TOUCH : 0) | (lava ? SIM_LAVA : 0);
}

/* After the last step: whether the world is no longer finite, to every lane; bodies and joints go back to device
 * memory. */
CORE_KERNEL_FN bool sim_team_end_steps(const SimTeam *t, const SimTeamJoint *joint) {
  const SimModel *model = t->model;
  real zero = 0.0f;
  for (int i = (int)t->lane; i < model->moving_count; i += (int)t->lanes)
    zero += sim_task_body_zero(&t->body[model->moving[i]]);
  if (joint->wave >= 0) {
    const int slot = model->joint[t->lane].slot;
    zero += sim_task_joint_zero(joint->step.impulse, joint->step.spin_impulse);
    t->world->joint_impulse[slot] = joint->step.impulse;
    t->world->joint_spin_impulse[slot] = joint->step.spin_impulse;
  }
  const bool nonfinite = sim_team_ballot(t, real_is_nan(zero)) != 0;
  for (int k = (int)t->lane; k < model->shapes; k += (int)t->lanes)
    if (model->moves[k] || nonfinite) t->world->body[k] = t->body[k];
  return nonfinite;
}

#endif
