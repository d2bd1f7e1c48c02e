/* Level scheduling of contacts, for a solver that applies several at once (warp_step.h). The reference applies groups
 * of contacts one after the other, and those of a group at once (step.h). Contacts that share no moving body are
 * independent. So a contact may join the first *wavefront* after the last earlier contact of its bodies, whatever its
 * group: the bits are the same. A world with three contacts on three bodies needs one wavefront instead of three
 * groups.
 *
 * Where contacts of a group share a moving body, all of them must see the velocities from before the group. Such a
 * group stays together, with at most one in a wavefront. Bodies add up what its contacts give in a fixed order
 * (sum_order). Joints have wavefronts too, constant for a level (model_build.h). */
#ifndef SIM_WAVEFRONTS_H
#define SIM_WAVEFRONTS_H
#include "sim/physics/step.h"

enum {
  SIM_WAVEFRONTS_MAX = SIM_BATCHES_MAX, /* a group never needs more than one additional wavefront */
  SIM_WAVEFRONT_MOVES = 0x80,           /* flag of a body's index: it can move */
  SIM_WAVEFRONT_SCHEDULED = 0x80,       /* flag of SimWavefrontContact.stage: a wavefront's index, not a group's */
  SIM_WAVEFRONT_ALONE = 255,            /* sum_order of a contact that shares no moving body with its group */
  SIM_WAVEFRONT_BITS = 5,               /* bits of a wavefront's size: at most 16 contacts of a group that shares
                                         * bodies, and fewer others than bodies can move */
  SIM_WAVEFRONT_MAX = (1 << SIM_WAVEFRONT_BITS) - 1,
};

/* Contact to schedule, by index in the model's order. */
typedef struct SimWavefrontContact {
  uint8_t a, b;      /* its bodies, with SIM_WAVEFRONT_MOVES */
  /* its group in the reference's order; after sim_wavefronts_schedule SIM_WAVEFRONT_SCHEDULED + its wavefront */
  uint8_t stage;
  uint8_t sum_order; /* position in its group's sums; SIM_WAVEFRONT_ALONE where the group shares no moving body */
  uint8_t position;  /* position among the contacts of its wavefront */
  uint8_t slot;      /* slot in SimWorld.contact_impulse, for the caller */
} SimWavefrontContact;

typedef struct SimWavefronts {
  int count;
  unsigned sharing; /* bit w: wavefront w has a group whose contacts share a moving body */
  uint64_t sizes;   /* number of contacts of each wavefront, in SIM_WAVEFRONT_BITS each */
} SimWavefronts;

/* Returns the index of a contact's group in the reference's order: kind by kind, polygons' second contacts after their
 * first ones, batch by batch. rank: of its pair among the overlapping ones of its kind. */
SIM_FN unsigned sim_wavefronts_group(int kind, unsigned round, SimSolverBatches batches, unsigned rank) {
  const unsigned batch = (rank + batches.count - batches.first) % batches.count;
  const unsigned before = kind == SIM_RR   ? 4 * round
                          : kind == SIM_CR ? 8u
                                           : 11u;
  return before + batch;
}

/* Four bits for each of the at most 16 bodies: the first wavefront in which no scheduled contact uses it. */
typedef struct SimWavefrontBodies { uint64_t next; } SimWavefrontBodies;
SIM_FN unsigned sim_wavefronts_free(SimWavefrontBodies bodies, unsigned end) {
  return end & SIM_WAVEFRONT_MOVES ? (unsigned)(bodies.next >> 4 * (end % SIM_WAVEFRONT_MOVES)) & 15u : 0u;
}
SIM_FN void sim_wavefronts_assign(SimWavefrontBodies *bodies, unsigned end, unsigned wavefront) {
  const unsigned shift = 4 * (end % SIM_WAVEFRONT_MOVES);
  if (end & SIM_WAVEFRONT_MOVES)
    bodies->next = (bodies->next & ~((uint64_t)15 << shift)) | (uint64_t)(wavefront + 1) << shift;
}

/* Return body k with its flag, and the first wavefront in which two bodies are free. */
SIM_FN unsigned sim_wavefronts_end(const SimModel *model, unsigned k) {
  return model->moves[k] ? k | SIM_WAVEFRONT_MOVES : k;
}
SIM_FN unsigned sim_wavefronts_later(SimWavefrontBodies bodies, unsigned a, unsigned b) {
  const unsigned first = sim_wavefronts_free(bodies, a), second = sim_wavefronts_free(bodies, b);
  return first > second ? first : second;
}

/* Schedule of a group: its first possible wavefront, and whether its contacts share moving bodies. */
typedef struct SimWavefrontGroup { unsigned wavefront; bool shares; } SimWavefrontGroup;
SIM_FN SimWavefrontGroup sim_wavefronts_analyze(const SimWavefrontContact *contact, int count, unsigned group,
                                             SimWavefrontBodies bodies) {
  SimWavefrontGroup found = {0, false};
  unsigned seen = 0;
  for (int i = 0; i < count; i++) {
    const SimWavefrontContact c = contact[i];
    if (c.stage != group) continue;
    const unsigned later = sim_wavefronts_later(bodies, c.a, c.b);
    const unsigned ends = (unsigned)(c.a >> 7) << (c.a & 15) | (unsigned)(c.b >> 7) << (c.b & 15);
    found.shares = found.shares || (seen & ends) != 0;
    found.wavefront = found.wavefront > later ? found.wavefront : later;
    seen |= ends;
  }
  return found;
}

SIM_FN unsigned sim_wavefronts_size(uint64_t sizes, unsigned wavefront) {
  return (unsigned)(sizes >> SIM_WAVEFRONT_BITS * wavefront) & SIM_WAVEFRONT_MAX;
}

/* Schedules `count` contacts whose stage is their group: sets stage, sum_order and position. */
SIM_FN SimWavefronts sim_wavefronts_schedule(SimWavefrontContact *contact, int count) {
  SimWavefronts wavefronts = {0, 0, 0};
  SimWavefrontBodies bodies = {0};
  unsigned present = 0;

  for (int i = 0; i < count; i++) present |= 1u << contact[i].stage;
  for (; present; present &= present - 1) {
    const unsigned group = (unsigned)real_lowest_bit(present);
    SimWavefrontGroup all = sim_wavefronts_analyze(contact, count, group, bodies);
    unsigned order = 0;
    while (all.shares && wavefronts.sharing >> all.wavefront & 1u) all.wavefront++;

    for (int i = 0; i < count; i++) {
      SimWavefrontContact *c = &contact[i];
      if (c->stage != group) continue;
      const unsigned wavefront = all.shares ? all.wavefront : sim_wavefronts_later(bodies, c->a, c->b);
      sim_wavefronts_assign(&bodies, c->a, wavefront);
      sim_wavefronts_assign(&bodies, c->b, wavefront);
      c->stage = (uint8_t)(SIM_WAVEFRONT_SCHEDULED + wavefront);
      c->sum_order = all.shares ? (uint8_t)order++ : SIM_WAVEFRONT_ALONE;
      c->position = (uint8_t)sim_wavefronts_size(wavefronts.sizes, wavefront);
      wavefronts.sizes += (uint64_t)1 << SIM_WAVEFRONT_BITS * wavefront;
      wavefronts.count = wavefronts.count > (int)wavefront + 1 ? wavefronts.count : (int)wavefront + 1;
    }

    if (all.shares) wavefronts.sharing |= 1u << all.wavefront;
  }
  return wavefronts;
}

#endif
