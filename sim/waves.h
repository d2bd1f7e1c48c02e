/* The solver's order for those who apply several contacts at once (step_team.h). The reference applies groups of
 * contacts one after the other, those of a group at once (step.h). Contacts that share no moving body do not notice
 * each other, so that all which nothing earlier in the order holds up can be one *wave*, whatever their groups: the
 * bits are the same, and a world with three contacts on three bodies needs one wave instead of three groups.
 *
 * Where contacts of a group share a moving body, all of the group must see the velocities from before any of them: such
 * a group stays together, and at most one is in a wave. Its contacts have places, in the order in which bodies add up
 * what they receive. Joints have waves too, which are the level's (model.c). */
#ifndef SIM_WAVES_H
#define SIM_WAVES_H
#include "sim/step.h"

enum {
  SIM_WAVES_MAX = SIM_MAX_BATCHES, /* a group never needs more than one further wave */
  SIM_WAVE_MOVES = 0x80,           /* with a body's number: it can move */
  SIM_WAVE_SETTLED = 0x80,         /* with a wave's number: no longer a group's */
  SIM_WAVE_ALONE = 255,            /* place of a contact that shares no moving body with its group */
  SIM_WAVE_BITS = 5,               /* for the size of a wave: alone are at most as many contacts as bodies move, and a
                                    * group that shares some of those has 16 */
  SIM_WAVE_MOST = (1 << SIM_WAVE_BITS) - 1,
};

/* A contact, by number in the order of listing. */
typedef struct SimWaveContact {
  uint8_t a, b;    /* its bodies, with SIM_WAVE_MOVES */
  uint8_t turn;    /* its group, in the order of the reference; from sim_waves_settle on SIM_WAVE_SETTLED + its wave */
  uint8_t place;   /* in its group, where contacts of that share moving bodies; else SIM_WAVE_ALONE */
  uint8_t seat;    /* which of its wave's contacts it is */
  uint8_t slot;    /* the caller's */
} SimWaveContact;

typedef struct SimWaves {
  int count;
  unsigned sharing; /* bit w: wave w has a group whose contacts share a moving body */
  uint64_t sizes;   /* SIM_WAVE_BITS a wave: how many contacts it has */
} SimWaves;

/* The number of a group in the order in which the reference applies them: kind by kind, polygons' second contacts after
 * their first ones, batch by batch. rank: of its pair among the overlapping ones of its kind. */
SIM_FN unsigned sim_waves_group(int kind, unsigned round, SimDeal deal, unsigned rank) {
  const unsigned batch = (rank + deal.batches - deal.lead) % deal.batches;
  const unsigned before = kind == SIM_RR ? 4 * round : kind == SIM_CR ? 8u : 11u;
  return before + batch;
}

/* Four bits for each of the at most 16 bodies: the first wave that finds the body free. */
typedef struct SimWaveBodies { uint64_t next; } SimWaveBodies;
SIM_FN unsigned sim_waves_free(SimWaveBodies bodies, unsigned end) {
  return end & SIM_WAVE_MOVES ? (unsigned)(bodies.next >> 4 * (end % SIM_WAVE_MOVES)) & 15u : 0u;
}
SIM_FN void sim_waves_take(SimWaveBodies *bodies, unsigned end, unsigned wave) {
  const unsigned shift = 4 * (end % SIM_WAVE_MOVES);
  if (end & SIM_WAVE_MOVES) bodies->next = (bodies->next & ~((uint64_t)15 << shift)) | (uint64_t)(wave + 1) << shift;
}

/* Body k as an end, and the first wave that finds two ends free. */
SIM_FN unsigned sim_waves_end(const SimModel *model, unsigned k) { return model->moves[k] ? k | SIM_WAVE_MOVES : k; }
SIM_FN unsigned sim_waves_later(SimWaveBodies bodies, unsigned a, unsigned b) {
  const unsigned first = sim_waves_free(bodies, a), second = sim_waves_free(bodies, b);
  return first > second ? first : second;
}

/* What a group needs, before any of its contacts is settled. */
typedef struct SimWaveGroup { unsigned wave; bool shares; } SimWaveGroup;
SIM_FN SimWaveGroup sim_waves_look(const SimWaveContact *contact, int count, unsigned group, SimWaveBodies bodies) {
  SimWaveGroup found = {0, false};
  unsigned seen = 0;
  for (int i = 0; i < count; i++) {
    const SimWaveContact c = contact[i];
    if (c.turn != group) continue;
    const unsigned later = sim_waves_later(bodies, c.a, c.b);
    const unsigned ends = (unsigned)(c.a >> 7) << (c.a & 15) | (unsigned)(c.b >> 7) << (c.b & 15);
    found.shares = found.shares || (seen & ends) != 0;
    found.wave = found.wave > later ? found.wave : later;
    seen |= ends;
  }
  return found;
}

SIM_FN unsigned sim_waves_size(uint64_t sizes, unsigned wave) {
  return (unsigned)(sizes >> SIM_WAVE_BITS * wave) & SIM_WAVE_MOST;
}

/* Gives `count` contacts, whose groups are known, their waves, places and seats. */
SIM_FN SimWaves sim_waves_settle(SimWaveContact *contact, int count) {
  SimWaves waves = {0, 0, 0};
  SimWaveBodies bodies = {0};
  unsigned present = 0;
  for (int i = 0; i < count; i++) present |= 1u << contact[i].turn;
  for (; present; present &= present - 1) {
    const unsigned group = (unsigned)real_lowest_bit(present);
    SimWaveGroup all = sim_waves_look(contact, count, group, bodies);
    unsigned place = 0;
    while (all.shares && waves.sharing >> all.wave & 1u) all.wave++;
    for (int i = 0; i < count; i++) {
      SimWaveContact *c = &contact[i];
      if (c->turn != group) continue;
      const unsigned wave = all.shares ? all.wave : sim_waves_later(bodies, c->a, c->b);
      sim_waves_take(&bodies, c->a, wave);
      sim_waves_take(&bodies, c->b, wave);
      c->turn = (uint8_t)(SIM_WAVE_SETTLED + wave);
      c->place = all.shares ? (uint8_t)place++ : SIM_WAVE_ALONE;
      c->seat = (uint8_t)sim_waves_size(waves.sizes, wave);
      waves.sizes += (uint64_t)1 << SIM_WAVE_BITS * wave;
      waves.count = waves.count > (int)wave + 1 ? waves.count : (int)wave + 1;
    }
    if (all.shares) waves.sharing |= 1u << all.wave;
  }
  return waves;
}

#endif
