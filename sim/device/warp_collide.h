/* First half of a warp's physics step: overlapping pairs, their contacts, and the schedule of those. Same bits as
 * sim_step_collide, whatever the division of work over lanes: a world's contacts are numbered in the model's order. */
#ifndef SIM_WARP_COLLIDE_H
#define SIM_WARP_COLLIDE_H
#include "sim/device/warp.h"

/* Results for the owner's world, except `contacts`. */
typedef struct SimWarpFound {
  int contacts;      /* total of all worlds */
  unsigned contact_count; /* contacts of this world */
  unsigned touched[SIM_PAIR_KINDS]; /* pairs of each kind that overlap */
  uint32_t overlap_pairs; /* bits of the current 32 pairs that overlap */
  int bits;          /* reward bits */
} SimWarpFound;

/* Applies gravity and computes the boxes of moving shapes. Copies the others' boxes again, since joints overwrote
 * them. */
CORE_KERNEL_FN void sim_warp_update_boxes(const SimWarp *t) {
  if (sim_warp_works(t)) {
    const SimModel *model = t->world[t->mine].model;
    SimBody *body = sim_warp_bodies(t, t->mine);
    SimBox *box = sim_warp_boxes(t, t->mine);
    for (unsigned k = t->part; k < (unsigned)t->layout->shapes; k += t->parts)
      if (!model->moves[k]) box[k] = model->box[k];
    for (int i = (int)t->part; i < model->moving_count; i += (int)t->parts) {
      const int k = model->moving[i];
      SimVec corner[SIM_VERTICES];
      sim_step_apply_gravity_to_shape(model, k, &body[k]);
      if (k < model->size.polygons) box[k] = sim_move_polygon_box(&model->outline[k], &body[k], corner);
      else box[k] = sim_move_circle_box(body[k].position, model->radius[k]);
    }
  }

  sim_warp_barrier(t);
}

/* Broad phase: returns bits of the pairs 32 * word .. + 31 of the owner's world whose boxes overlap; 0 for other
 * lanes. */
CORE_KERNEL_FN uint32_t sim_warp_broad_phase(const SimWarp *t, int word) {
  uint32_t overlap_bits = 0;

  if (sim_warp_works(t)) {
    const SimModel *model = t->world[t->mine].model;
    const char *box = (const char *)sim_warp_boxes(t, t->mine);
    const int pairs = model->pair_end[SIM_CC], end = pairs < 32 * word + 32 ? pairs : 32 * word + 32;
    for (int i = 32 * word + (int)t->part; i < end; i += (int)t->parts) {
      const uint8_t *at = model->pair_box[i];
      const SimBox *a = (const SimBox *)__builtin_assume_aligned(box + at[0], 16);
      const SimBox *b = (const SimBox *)__builtin_assume_aligned(box + at[1], 16);
      if (sim_collide_boxes(*a, *b)) overlap_bits |= 1u << i % 32;
    }
  }

  if (t->parts == 1) return overlap_bits;
  t->overlap_bits[t->lane] = overlap_bits;
  sim_warp_barrier(t);
  if (sim_warp_owns(t))
    for (unsigned k = 1; k < t->parts; k++) overlap_bits |= t->overlap_bits[t->lane + k * (unsigned)t->layout->worlds];
  sim_warp_barrier(t);
  return sim_warp_owns(t) ? overlap_bits : 0;
}

/* Returns a shape with its corners, computed here: cheaper than storing those of all shapes. */
CORE_KERNEL_FN SimPolygon sim_warp_polygon(const SimModel *model, const SimBody *body, int k,
                                           SimVec corner[SIM_VERTICES]) {
  const SimPolygon polygon = {&model->outline[k], corner, body[k]};
  for (int i = 0; i < SIM_VERTICES; i++) corner[i] = sim_body_to_world(polygon.body, polygon.outline->vertex[i]);
  return polygon;
}

/* Tests a pair like sim_step_test_pair. */
CORE_KERNEL_FN mask sim_warp_test_pair(const SimModel *model, const SimBody *body, int kind, const SimPair *pair,
                                       SimManifold *m) {
  if (kind != SIM_RR) return sim_step_test_pair(model, body, NULL, kind, pair, m);
  SimVec a_corner[SIM_VERTICES], b_corner[SIM_VERTICES];
  const SimPolygon a = sim_warp_polygon(model, body, pair->a, a_corner);
  const SimPolygon b = sim_warp_polygon(model, body, pair->b, b_corner);
  const SimOverlap overlap = sim_collide_overlap(&a, &b);
  if (overlap.active && pair->resolved) *m = sim_collide_polygons(&a, &b, &overlap);
  return overlap.active;
}

/* Prepares contact `round` of a pair of world w: index `number` in the warp, `ordinal` in its world. */
CORE_KERNEL_FN void sim_warp_make_contact(const SimWarp *t, unsigned w, int kind, const SimPair *pair,
                                          const SimManifold *m, int round, unsigned number, unsigned ordinal,
                                          unsigned rank) {
  const SimModel *model = t->world[w].model;
  const unsigned slot = pair->slot + (unsigned)round;
  const int a_moves = model->moves[pair->a], b_moves = model->moves[pair->b];
  SimContact c;

  sim_step_make_contact(model, sim_warp_bodies(t, w), pair, m, round, t->world[w].state->contact_impulse[slot], &c);
  const SimWarpContact result = {
    .normal = c.normal, .point = c.point, .a_mass = c.a_mass, .b_mass = c.b_mass, .penetration = c.penetration,
    .restitution_target = c.restitution_target, .friction = c.friction,
    .a = sim_warp_body_offset(t, w, pair->a), .b = sim_warp_body_offset(t, w, pair->b), .impulse = c.impulse,
    .sum_order = SIM_WAVEFRONT_ALONE,
    .flags = (uint8_t)((a_moves ? SIM_WARP_A_MOVES : 0) | (b_moves ? SIM_WARP_B_MOVES : 0) |
                       (pair->clears_impulse ? SIM_WARP_CLEARS_IMPULSE : 0)),
    .slot = (uint8_t)slot, .world = (uint8_t)w, .ordinal = (uint8_t)ordinal, .kind = (uint8_t)kind,
    .round = (uint8_t)round, .rank = (uint8_t)rank,
    .ends = {(uint8_t)sim_wavefronts_end(model, pair->a), (uint8_t)sim_wavefronts_end(model, pair->b)},
  };

  *sim_warp_contact(t, number, false) = result;
}

/* Counts, in the owner lane, from the ballots on hits begin .. begin + 31; its world's hits are first .. end - 1. */
CORE_KERNEL_FN void sim_warp_count_hits(const SimWarp *t, int kind, const SimPair *pair, unsigned begin, unsigned first,
                                  unsigned end, uint32_t overlapping, uint32_t one, uint32_t two, SimWarpFound *found) {
  const uint32_t before = sim_warp_below(first > begin ? first - begin : 0);
  const uint32_t own = end > begin ? sim_warp_below(end - begin) & ~before : 0;
  SimWarpWorld *world = &t->world[t->lane];
  found->touched[kind] += core_device_count_bits(overlapping & own);
  found->contact_count += core_device_count_bits(one & own) + core_device_count_bits(two & own);
  for (uint32_t left = overlapping & own; left; left &= left - 1) {
    const unsigned i = t->hit[begin + (unsigned)real_lowest_bit(left)] & 255u;
    found->overlap_pairs |= 1u << i % 32;
    found->bits |= pair[i].reward;
  }
  world->touched = (uint8_t)found->touched[kind];
  world->contact_count = (uint8_t)found->contact_count;
}

/* Narrow phase of `hits` hits of a kind, and their contacts. first .. end - 1: those of the owner's world. */
CORE_KERNEL_FN void sim_warp_test_hits(const SimWarp *t, int kind, unsigned hits, unsigned first, unsigned end,
                                       SimWarpFound *found) {
  for (unsigned begin = 0; begin < hits; begin += SIM_WARP_LANES) {
    const unsigned h = begin + t->lane;
    unsigned w = 0;
    const SimPair *pair = NULL;
    SimManifold m;
    int overlaps = 0, points = 0;
    m.active[1] = 0;

    if (h < hits) {
      w = t->hit[h] >> 8;
      const SimModel *model = t->world[w].model;
      pair = &model->pair[t->hit[h] & 255];
      overlaps = sim_warp_test_pair(model, sim_warp_bodies(t, w), kind, pair, &m) != 0;
      if (overlaps && pair->resolved) points = m.active[1] ? 2 : 1;
    }

    const uint32_t overlapping = sim_warp_ballot(t, overlaps), one = sim_warp_ballot(t, points >= 1);
    const uint32_t two = kind == SIM_RR ? sim_warp_ballot(t, points == 2) : 0;
    if (points) {
      const SimWarpWorld *world = &t->world[w];
      const uint32_t earlier = t->earlier, own = earlier & ~sim_warp_below(world->hit > begin ? world->hit - begin : 0);
      const unsigned number = 1 + (unsigned)found->contacts + core_device_count_bits(one & earlier) +
                              core_device_count_bits(two & earlier);
      const unsigned ordinal =
        world->contact_count + core_device_count_bits(one & own) + core_device_count_bits(two & own);
      const unsigned rank = world->touched + core_device_count_bits(overlapping & own);
      for (int k = 0; k < points; k++)
        sim_warp_make_contact(t, w, kind, pair, &m, k, number + (unsigned)k, ordinal + (unsigned)k, rank);
    }

    found->contacts += (int)(core_device_count_bits(one) + core_device_count_bits(two));
    sim_warp_barrier(t);
    if (sim_warp_owns(t))
      sim_warp_count_hits(t, kind, t->world[t->lane].model->pair, begin, first, end, overlapping, one, two, found);
    sim_warp_barrier(t);
  }
}

/* Tests the pairs of a kind among pairs 32 * word .. + 31; overlap_bits: bits of those whose boxes overlap. */
CORE_KERNEL_FN void sim_warp_test_kind(const SimWarp *t, int kind, int word, uint32_t overlap_bits,
                                       SimWarpFound *found) {
  const bool owns = sim_warp_owns(t);
  if (owns) {
    const int *kind_end = t->world[t->lane].model->pair_end;
    const int from = kind > 0 ? kind_end[kind - 1] - 32 * word : 0, to = kind_end[kind] - 32 * word;
    overlap_bits &= to > 0 ? sim_warp_below((unsigned)to) : 0;
    overlap_bits &= from > 0 ? ~sim_warp_below((unsigned)from) : 0xffffffffu;
  }

  const SimWarpSum sum = sim_warp_sum(t, core_device_count_bits(overlap_bits));
  if (sum.all == 0) return;
  unsigned end = sum.before;

  if (owns) {
    SimWarpWorld *world = &t->world[t->lane];
    world->hit = (uint16_t)sum.before;
    world->touched = (uint8_t)found->touched[kind];
    world->contact_count = (uint8_t)found->contact_count;
    for (uint32_t left = overlap_bits; left; left &= left - 1)
      t->hit[end++] = (uint16_t)(t->lane << 8 | (unsigned)(32 * word + real_lowest_bit(left)));
  }

  sim_warp_barrier(t);
  sim_warp_test_hits(t, kind, sum.all, sum.before, end, found);
}

/* Schedules the contacts. Returns the number of passes; *shared_out as in sim_warp_pack. */
CORE_KERNEL_FN int sim_warp_schedule_contacts(const SimWarp *t, const SimWarpFound *found, uint32_t *shared_out) {
  SimWavefrontContact *const scheduled = sim_warp_scheduled(t, found->contacts);
  const unsigned first = sim_warp_sum(t, found->contact_count).before;
  SimWavefronts wavefronts = {0, 0, 0};

  if (sim_warp_owns(t)) {
    SimWarpWorld *world = &t->world[t->lane];
    world->contact = (uint16_t)first;
    for (int kind = 0; kind < SIM_PAIR_KINDS; kind++)
      world->batch_first[kind] =
        (uint8_t)sim_step_solver_batches(world->model->pair_count[kind], found->touched[kind]).first;
  }
  sim_warp_barrier(t);

  for (unsigned i = 1 + t->lane; i <= (unsigned)found->contacts; i += SIM_WARP_LANES) {
    const SimWarpContact *c = sim_warp_contact(t, i, false);
    const SimWarpWorld *world = &t->world[c->world];
    const unsigned pairs = (unsigned)world->model->pair_count[c->kind];
    const SimSolverBatches batches = {(pairs + SIM_SOLVER_LANES - 1) / SIM_SOLVER_LANES, world->batch_first[c->kind]};
    scheduled[world->contact + c->ordinal] = (SimWavefrontContact){
      c->ends[0], c->ends[1], (uint8_t)sim_wavefronts_group(c->kind, c->round, batches, c->rank),
      SIM_WAVEFRONT_ALONE, 0, c->slot};
  }
  sim_warp_barrier(t);

  if (sim_warp_owns(t) && found->contact_count > 0)
    wavefronts = sim_wavefronts_schedule(scheduled + first, (int)found->contact_count);
  const int passes = sim_warp_pack(t, t->joint_passes, wavefronts.sizes, wavefronts.sharing, shared_out);
  sim_warp_barrier(t);

  for (unsigned i = 1 + t->lane; i <= (unsigned)found->contacts; i += SIM_WARP_LANES) {
    SimWarpContact *c = sim_warp_contact(t, i, false);
    const SimWavefrontContact mine = scheduled[t->world[c->world].contact + c->ordinal];
    c->sum_order = mine.sum_order;
    sim_warp_assign(t, t->joint_passes, c->world, mine.stage - (unsigned)SIM_WAVEFRONT_SCHEDULED, mine.position, i);
  }

  sim_warp_barrier(t);
  return passes;
}

/* Finds overlapping pairs, prepares their contacts and schedules them. Returns as sim_warp_schedule_contacts. */
CORE_KERNEL_FN int sim_warp_collide(const SimWarp *t, SimWarpFound *found, uint32_t *shared_out) {
  memset(found, 0, sizeof *found);
  for (int word = 0; word < t->layout->pair_words; word++) {
    const uint32_t overlap_bits = sim_warp_broad_phase(t, word);
    found->overlap_pairs = 0;
    sim_warp_test_kind(t, SIM_RR, word, overlap_bits, found);
    sim_warp_test_kind(t, SIM_CR, word, overlap_bits, found);
    sim_warp_test_kind(t, SIM_CC, word, overlap_bits, found);
    if (sim_warp_owns(t)) t->world[t->lane].state->overlap_pairs[word] = found->overlap_pairs;
  }
  return sim_warp_schedule_contacts(t, found, shared_out);
}

#endif
