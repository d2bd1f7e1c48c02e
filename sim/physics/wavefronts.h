/* The solver's order for those who apply several contacts at once (warp_step.h). The reference applies groups of
 * contacts one after the other, those of a group at once (step.h). Contacts that share no moving body do not notice
 * each other, so that all which nothing earlier in the order holds up can be one *wavefront*, whatever their groups:
 * the bits are the same, and a world with three contacts on three bodies needs one wavefront instead of three groups.
 *
 * Where contacts of a group share a moving body, all of the group must see the velocities from before any of them: such
 * a group stays together, and at most one is in a wavefront. Its contacts have places, in the order in which bodies
 * add up what they receive. Joints have wavefronts too, which are the level's (model.c). */
#ifndef SIM_WAVEFRONTS_H
#define SIM_WAVEFRONTS_H
#include "sim/physics/step.h"

enum {
  SIM_WAVEFRONTS_MAX = SIM_MAX_BATCHES, /* a group never needs more than one further wavefront */
  SIM_WAVEFRONT_MOVES = 0x80,           /* with a body's number: it can move */
  SIM_WAVEFRONT_SETTLED = 0x80,         /* with a wavefront's number: no longer a group's */
  SIM_WAVEFRONT_ALONE = 255,            /* place of a contact that shares no moving body with its group */
  SIM_WAVEFRONT_BITS = 5,               /* for the size of a wavefront: alone are at most as many contacts as bodies
                                         * move, and a group that shares some of those has 16 */
  SIM_WAVEFRONT_MOST = (1 << SIM_WAVEFRONT_BITS) - 1,
};

/* A contact, by number in the order of listing. */
typedef struct SimWavefrontContact {
  uint8_t a, b;    /* its bodies, with SIM_WAVEFRONT_MOVES */
  uint8_t turn;    /* its group, in the order of the reference; after sim_wavefronts_settle SIM_WAVEFRONT_SETTLED + its
                      wavefront */
  uint8_t place;   /* in its group, where contacts of that share moving bodies; else SIM_WAVEFRONT_ALONE */
  uint8_t seat;    /* which of its wavefront's contacts it is */
  uint8_t slot;    /* the caller's */
} SimWavefrontContact;

typedef struct SimWavefronts {
  int count;
  unsigned sharing; /* bit w: wavefront w has a group whose contacts share a moving body */
  uint64_t sizes;   /* SIM_WAVEFRONT_BITS a wavefront: how many contacts it has */
} SimWavefronts;

/* The number of a group in the order in which the reference applies them: kind by kind, polygons' second contacts after
 * their first ones, batch by batch. rank: of its pair among the overlapping ones of its kind. */
SIM_FN unsigned sim_wavefronts_group(int kind, unsigned round, SimDeal deal, unsigned rank) {
  const unsigned batch = (rank + deal.batches - deal.lead) % deal.batches;
  const unsigned before = kind == SIM_RR ? 4 * round : kind == SIM_CR ? 8u : 11u;
  return before + batch;
}

/* Four bits for each of the at most 16 bodies: the first wavefront that finds the body free. */
typedef struct SimWavefrontBodies { uint64_t next; } SimWavefrontBodies;
SIM_FN unsigned sim_wavefronts_free(SimWavefrontBodies bodies, unsigned end) {
  return end & SIM_WAVEFRONT_MOVES ? (unsigned)(bodies.next >> 4 * (end % SIM_WAVEFRONT_MOVES)) & 15u : 0u;
}
SIM_FN void sim_wavefronts_take(SimWavefrontBodies *bodies, unsigned end, unsigned wavefront) {
  const unsigned shift = 4 * (end % SIM_WAVEFRONT_MOVES);
  if (end & SIM_WAVEFRONT_MOVES)
    bodies->next = (bodies->next & ~((uint64_t)15 << shift)) | (uint64_t)(wavefront + 1) << shift;
}

/* Body k as an end, and the first wavefront that finds two ends free. */
SIM_FN unsigned sim_wavefronts_end(const SimModel *model, unsigned k) {
  return model->moves[k] ? k | SIM_WAVEFRONT_MOVES : k;
}
SIM_FN unsigned sim_wavefronts_later(SimWavefrontBodies bodies, unsigned a, unsigned b) {
  const unsigned first = sim_wavefronts_free(bodies, a), second = sim_wavefronts_free(bodies, b);
  return first > second ? first : second;
}

/* What a group needs, before any of its contacts is settled. */
typedef struct SimWavefrontGroup { unsigned wavefront; bool shares; } SimWavefrontGroup;
SIM_FN SimWavefrontGroup sim_wavefronts_look(const SimWavefrontContact *contact, int count, unsigned group,
                                               SimWavefrontBodies bodies) {
  SimWavefrontGroup found = {0, false};
  unsigned seen = 0;
  for (int i = 0; i < count; i++) {
    const SimWavefrontContact c = contact[i];
    if (c.turn != group) continue;
    const unsigned later = sim_wavefronts_later(bodies, c.a, c.b);
    const unsigned ends = (unsigned)(c.a >> 7) << (c.a & 15) | (unsigned)(c.b >> 7) << (c.b & 15);
    found.shares = found.shares || (seen & ends) != 0;
    found.wavefront = found.wavefront > later ? found.wavefront : later;
    seen |= ends;
  }
  return found;
}

SIM_FN unsigned sim_wavefronts_size(uint64_t sizes, unsigned wavefront) {
  return (unsigned)(sizes >> SIM_WAVEFRONT_BITS * wavefront) & SIM_WAVEFRONT_MOST;
}

/* Gives `count` contacts, whose groups are known, their wavefronts, places and seats. */
SIM_FN SimWavefronts sim_wavefronts_settle(SimWavefrontContact *contact, int count) {
  SimWavefronts wavefronts = {0, 0, 0};
  SimWavefrontBodies bodies = {0};
  unsigned present = 0;
  for (int i = 0; i < count; i++) present |= 1u << contact[i].turn;
  for (; present; present &= present - 1) {
    const unsigned group = (unsigned)real_lowest_bit(present);
    SimWavefrontGroup all = sim_wavefronts_look(contact, count, group, bodies);
    unsigned place = 0;
    while (all.shares && wavefronts.sharing >> all.wavefront & 1u) all.wavefront++;
    for (int i = 0; i < count; i++) {
      SimWavefrontContact *c = &contact[i];
      if (c->turn != group) continue;
      const unsigned wavefront = all.shares ? all.wavefront : sim_wavefronts_later(bodies, c->a, c->b);
      sim_wavefronts_take(&bodies, c->a, wavefront);
      sim_wavefronts_take(&bodies, c->b, wavefront);
      c->turn = (uint8_t)(SIM_WAVEFRONT_SETTLED + wavefront);
      c->place = all.shares ? (uint8_t)place++ : SIM_WAVEFRONT_ALONE;
      c->seat = (uint8_t)sim_wavefronts_size(wavefronts.sizes, wavefront);
      wavefronts.sizes += (uint64_t)1 << SIM_WAVEFRONT_BITS * wavefront;
      wavefronts.count = wavefronts.count > (int)wavefront + 1 ? wavefronts.count : (int)wavefront + 1;
    }
    if (all.shares) wavefronts.sharing |= 1u << all.wavefront;
  }
  return wavefronts;
}

#endif
