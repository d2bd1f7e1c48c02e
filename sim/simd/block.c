/* Environment step of a block of worlds. Work that differs between worlds runs here, one world after the other; work
 * that they have in common is gathered for the vector kernels of lanes.h. */
#include "sim/simd/block.h"

#include <stddef.h>
#include <stdlib.h>

/* Layout of the records, as the kernels assume it. */
_Static_assert(sizeof(SimBody) == SIM_LANES_BODY * sizeof(float), "bodies");
_Static_assert(sizeof(SimContact) == SIM_LANES_CONTACT * sizeof(float), "contacts");
_Static_assert(sizeof(SimJointModel) == SIM_LANES_JOINT * sizeof(float), "joints");
#define SAME_OFFSET(member) offsetof(SimContact, member) - offsetof(SimContact, a) == offsetof(SimPair, member)
_Static_assert(offsetof(SimContact, a) == SIM_CONTACT_REALS * sizeof(float), "bytes after a contact's reals");
_Static_assert(SAME_OFFSET(a) && SAME_OFFSET(b) && SAME_OFFSET(reward) && SAME_OFFSET(resolved) &&
               SAME_OFFSET(clears_impulse) && SAME_OFFSET(number) && SAME_OFFSET(slot),
               "what a contact has of its pair");
_Static_assert(sizeof(SimPair) == SIM_LANES_PAIR * sizeof(float) && offsetof(SimPair, friction) == SIM_PAIR_BYTES &&
               offsetof(SimPair, restitution) == SIM_PAIR_BYTES + sizeof(float) && offsetof(SimPair, slot) == 6,
               "pairs");
_Static_assert(offsetof(SimJointModel, a) == SIM_JOINT_REALS * sizeof(float) &&
               offsetof(SimJointModel, b) == offsetof(SimJointModel, a) + 1 &&
               offsetof(SimJointModel, slot) == offsetof(SimJointModel, a) + 2, "bytes after a joint's reals");
_Static_assert(sizeof(SimOutline) == SIM_LANES_OUTLINE * sizeof(float) &&
               offsetof(SimOutline, triangle) == 32 * sizeof(float), "outlines");
_Static_assert(sizeof(SimBox) == SIM_LANES_BOX * sizeof(float), "boxes");
_Static_assert((int)SIM_LANES_JOINTS == (int)SIM_JOINTS_MAX && (int)SIM_LANES_CONTACTS >= (int)SIM_CONTACTS_MAX &&
               (int)SIM_LANES_GROUPS == (int)SIM_GROUPS_MAX && (int)SIM_LANES_SLOTS >= (int)SIM_SHAPES_MAX &&
               (int)SIM_LANES_POSITIONS == (int)SIM_LANES_GROUPS * (int)SIM_SOLVER_LANES, "sizes");

/* ---- choice of the kernels --------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}
static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}
#endif

const SimLanesKernels *sim_block_kernels(void) {
  const char *wanted = getenv("SIM_KERNELS");
  if (wanted && strcmp(wanted, "scalar") == 0) return NULL;
#if defined(__x86_64__)
  if (wanted && strcmp(wanted, "avx2x2") == 0 && has_avx2()) return &SIM_LANES_AVX2X2;
  if (has_avx512() && !(wanted && strcmp(wanted, "avx2") == 0)) return &SIM_LANES_AVX512;
  if (has_avx2()) return &SIM_LANES_AVX2;
#endif
  return NULL;
}

/* ---- moving bodies ----------------------------------------------------------------------------------------------- */

/* Lists the moving bodies, moving polygons and driven motors of world w, and copies the corners and boxes of its
 * resting shapes. */
static void begin_world(SimBlock *block, int w) {
  const SimModel *model = block->model[w];
  SimBody *body = block->world[w]->body;
  SimGeometry *geometry = &block->geometry[w];

  memcpy(geometry->box, model->box, (size_t)model->shapes * sizeof geometry->box[0]);
  memcpy(geometry->corner, model->corner, (size_t)model->size.polygons * sizeof geometry->corner[0]);
  for (int i = 0; i < model->moving_count; i++) {
    const int k = model->moving[i];
    block->body[block->body_count++] = (float *)&body[k];
    if (k < model->size.polygons)
      block->polygon[block->polygon_count++] = (SimLanesPolygon){
        (float *)&body[k], (const float *)&model->outline[k], (float *)geometry->corner[k], (float *)&geometry->box[k]};
  }

  block->body_end[w] = block->body_count;
  int motors = w > 0 ? block->motor_end[w - 1] : 0;
  for (int i = 0; i < model->joint_count; i++) {
    const SimJointModel *j = &model->joint[i];
    const float control = block->control[w].motor[j->slot];
    block->spin[w][i] = 0;
    if (!j->motor_on || j->fixed || control == 0) continue;
    block->motor[motors++] = (SimLanesMotor){(float *)&body[j->a], (float *)&body[j->b], (const float *)j, control,
                                             &block->spin[w][i]};
  }

  block->motor_end[w] = motors;
}

static void fall_and_update(SimBlock *block, int count) {
  for (int w = 0; w < count; w++) {
    const SimModel *model = block->model[w];
    SimWorld *world = block->world[w];
    sim_step_apply_gravity(model, world);
    for (int i = model->moving_count - 1; i >= 0 && model->moving[i] >= model->size.polygons; i--) {
      const int k = model->moving[i];
      block->geometry[w].box[k] = sim_move_circle_box(world->body[k].position, model->radius[k]);
    }
  }
  block->kernels->update_polygons(block->polygon, block->polygon_count);
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

static void run_pending(SimBlockPending *pending) {
  pending->kernel(pending->pair, pending->count);
  pending->count = 0;
}

/* Queues pair i of world w, of kind `kind`, for its narrow-phase kernel. */
static void test_pair(SimBlock *block, int w, int kind, int i, SimContact *contact, uint8_t *points) {
  const SimModel *model = block->model[w];
  const SimPair *pair = &model->pair[i];
  SimWorld *world = block->world[w];
  SimGeometry *geometry = &block->geometry[w];
  SimBlockPending *pending = &block->pending[kind == SIM_RR ? !pair->resolved : kind + 1];
  pending->pair[pending->count++] = (SimLanesPair){
    .a_body = (float *)&world->body[pair->a], .b_body = (float *)&world->body[pair->b],
    .a_outline = (const float *)&model->outline[pair->a], .b_outline = (const float *)&model->outline[pair->b],
    .a_corner = kind == SIM_RR ? (const float *)geometry->corner[pair->a] : NULL,
    .b_corner = kind == SIM_RR ? (const float *)geometry->corner[pair->b] : NULL,
    .pair = (const float *)pair, .impulse = (const float *)&world->contact_impulse[pair->slot],
    .contact = (float *)contact, .points = points};
  if (pending->count == SIM_BLOCK_PENDING) run_pending(pending);
}

/* Lists the pairs of world w with overlapping boxes from pair[first] on and queues their narrow phases. Contacts are
 * written from `contact` on; returns the end of the memory reserved for them. */
static SimContact *find_pairs(SimBlock *block, int w, int first, SimContact *contact) {
  const SimModel *model = block->model[w];
  const int pairs = model->pair_end[SIM_CC];
  uint64_t overlap_bits[(SIM_PAIRS_MAX + 63) / 64];
  int kind = SIM_RR;

  block->kernels->find_overlaps((const float *)block->geometry[w].box, model->pair_box, pairs, overlap_bits);
  for (int word = 0; 64 * word < pairs; word++) {
    const uint64_t existing = pairs - 64 * word < 64 ? (1ull << (pairs - 64 * word)) - 1 : ~0ull;
    for (uint64_t left = overlap_bits[word] & existing; left; left &= left - 1, first++) {
      const int i = 64 * word + __builtin_ctzll(left);
      while (i >= model->pair_end[kind]) kind++; /* pairs are listed kind by kind */
      block->pair[first] = (uint8_t)i;
      test_pair(block, w, kind, i, contact, &block->points[first]);
      contact += kind == SIM_RR ? 2 : 1; /* the largest number of contacts of the pair */
    }
  }

  block->pair_end[w] = first;
  return contact;
}

/* Records a pair with overlapping boxes. Its contacts, numbered from `number` on, join the listing in the model's
 * order. */
static void plan_pair(SimBlockPlan *plan, SimScratch *s, const SimPair *pair, int index, int points, int number) {
  SimOverlapPair *overlap_pairs = &s->overlap_pairs[s->overlap_pair_count];
  SimLanesWorld *lane = &plan->lane;
  overlap_pairs->pair = (uint8_t)index;
  overlap_pairs->contact[0] = overlap_pairs->contact[1] = SIM_NO_CONTACT;
  s->overlap_pair_count += points > 0;
  plan->bits |= points > 0 ? pair->reward : 0;
  for (int k = 0; k < points && pair->resolved; k++) {
    overlap_pairs->contact[k] = (uint8_t)(number + k);
    lane->listing[lane->contact_count++] = (uint8_t)(number + k); /* the contact's number; plan_order replaces it */
    sim_step_mark_warm(plan->warm, (unsigned)pair->slot + (unsigned)k);
  }
}

/* Orders the contacts of world w as sim_step_collide does, once in the model's order (listing) and once in the
 * solver's. */
static void plan_contacts(SimBlock *block, int w, const SimContact *contact) {
  const SimModel *model = block->model[w];
  SimBlockPlan *plan = &block->plan[w];
  SimScratch *s = &block->scratch;
  int number = 0, i = 0;

  sim_step_clear(s, NULL);
  plan->bits = plan->lane.contact_count = 0;
  memset(plan->warm, 0, sizeof plan->warm);
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    const int first_overlap_pair = s->overlap_pair_count, contacts_per_pair = kind == SIM_RR ? 2 : 1;
    for (; i < plan->pair_count && plan->pair[i] < model->pair_end[kind]; i++, number += contacts_per_pair)
      plan_pair(plan, s, &model->pair[plan->pair[i]], plan->pair[i], plan->points[i], number);
    sim_step_order(model->pair_count[kind], contacts_per_pair, first_overlap_pair, s);
  }

  sim_step_divide_groups(model, contact, s);
  sim_step_store_overlaps(plan->overlap_pairs, s);
}

/* ---- the solver -------------------------------------------------------------------------------------------------- */

/* Keys by which worlds are sorted for the solver, most significant first: the numbers of joints and contacts; the
 * level, so that contacts join the same bodies; the group sizes. Contact counts descend for even numbers of joints and
 * ascend for odd ones, so that a vector that spans two numbers of joints holds worlds with similar contact counts. */
enum { COUNTED_CONTACTS = 32, COUNTED_LEVELS = 256, COUNTED_GROUPS = 64 };
enum { SORT_KEYS = (SIM_JOINTS_MAX + 1) * COUNTED_CONTACTS };

static SimLanesSortKey sort_key_of(const SimLanesWorld *lane, int level) {
  const int contacts = lane->contact_count < COUNTED_CONTACTS ? lane->contact_count : COUNTED_CONTACTS - 1;
  const int rank = lane->joint_count % 2 ? contacts : COUNTED_CONTACTS - 1 - contacts;
  unsigned ends = 0;
  for (int g = 0; g < lane->group_count; g++) ends += (g + 7u) * lane->group_end[g];
  return (SimLanesSortKey){(uint8_t)(lane->joint_count * COUNTED_CONTACTS + rank), (uint8_t)(level % COUNTED_LEVELS),
                            (uint8_t)(ends % COUNTED_GROUPS)};
}

/* Assignment of a world's bodies to solver slots. */
typedef struct Slots {
  SimLanesWorld *lane;
  const SimModel *model;
  int moving, still;          /* next free slot of each kind */
  uint8_t of[SIM_SHAPES_MAX]; /* [shape] slot, valid where `given` has the shape's bit */
  unsigned given;
} Slots;

static unsigned slot_of(Slots *slots, int k) {
  if (!(slots->given >> k & 1)) {
    const int slot = slots->model->moves[k] ? slots->moving++ : slots->still--;
    slots->given |= 1u << k;
    slots->of[k] = (uint8_t)slot;
    slots->lane->slots |= (uint16_t)(1u << slot);
    slots->lane->slot_body[slot] = (uint8_t)k;
  }
  return slots->of[k];
}

/* Writes the contacts in the solver's order, and each contact's position in it for the listing. `in_order` is set when
 * every moving body meets its contacts by ascending number. */
static void plan_order(SimLanesWorld *lane, const SimScratch *s, const SimContact *contact, Slots *slots) {
  uint8_t place[SIM_LANES_CONTACTS], least[SIM_SHAPES_MAX] = {0};
  lane->in_order = true;

  for (int i = 0; i < s->order_count; i++) {
    const unsigned number = s->order[i];
    const uint8_t body[2] = {contact[number].a, contact[number].b};
    for (int k = 0; k < 2; k++) {
      if (!slots->model->moves[body[k]]) continue;
      lane->in_order = lane->in_order && number >= least[body[k]];
      least[body[k]] = (uint8_t)number;
    }
    const unsigned a = slot_of(slots, body[0]), b = slot_of(slots, body[1]);
    lane->order[i] = (SimLanesEntry)(number | a << SIM_LANES_ENTRY_A | b << SIM_LANES_ENTRY_B);
    place[number] = (uint8_t)i;
  }

  for (int i = 0; i < lane->contact_count; i++) lane->listing[i] = place[lane->listing[i]];
}

/* Builds the solver's view of world w; call after plan_contacts. Joints get slots before contacts, so that worlds with
 * similar joints have their bodies in the same slots. */
static void plan_solver(SimBlock *block, int w, const SimContact *contact) {
  const SimScratch *s = &block->scratch;
  const SimModel *model = block->model[w];
  SimLanesWorld *lane = &block->plan[w].lane;

  Slots slots = {.lane = lane, .model = model, .still = SIM_LANES_SLOTS - 1};
  lane->body = (float *)block->world[w]->body;
  lane->contact_impulse = (float *)block->world[w]->contact_impulse;
  lane->joint = (const float *)model->joint;
  lane->joint_impulse = (float *)block->world[w]->joint_impulse;
  lane->joint_spin_impulse = block->world[w]->joint_spin_impulse;
  lane->group_count = s->group_count;
  lane->joint_count = model->joint_count;
  lane->slots = 0;

  for (int i = 0; i < model->joint_count; i++) {
    const unsigned a = slot_of(&slots, model->joint[i].a), b = slot_of(&slots, model->joint[i].b);
    lane->joint_slots[i] = (uint8_t)(a | b << 4);
  }
  plan_order(lane, s, contact, &slots);
  memcpy(lane->group_end, s->group_end, (size_t)s->group_count);
  lane->sort_key = sort_key_of(lane, block->world[w]->level);
}

/* Compares `count` bytes, usually fewer than 16. May read up to the next multiple of eight. */
static bool same_bytes(const uint8_t *a, const uint8_t *b, int count) {
  typedef uint64_t word __attribute__((aligned(1), may_alias));
  for (; count >= 8; count -= 8, a += 8, b += 8) {
    if (*(const word *)a != *(const word *)b) return false;
  }
  return count == 0 || (*(const word *)a ^ *(const word *)b) << (64 - 8 * count) == 0;
}

/* Updates the plan of world w, whose overlapping pairs start at pair[first] and whose contacts start at `contact`.
 * Impulses of contacts that persist are kept: the solver has loaded them and writes new ones. */
static void plan_world(SimBlock *block, int w, int first, const SimContact *contact) {
  SimBlockPlan *plan = &block->plan[w];
  SimWorld *world = block->world[w];
  const int count = block->pair_end[w] - first;
  const uint8_t *pair = block->pair + first, *points = block->points + first;

  plan->lane.contact = (const float *)contact;
  if (plan->model != block->model[w] || plan->pair_count != count || !same_bytes(plan->pair, pair, count) ||
      !same_bytes(plan->points, points, count)) {
    plan->model = block->model[w];
    plan->pair_count = count;
    memcpy(plan->pair, pair, (size_t)count);
    memcpy(plan->points, points, (size_t)count);
    plan_contacts(block, w, contact);
    plan_solver(block, w, contact);
  }

  memcpy(world->overlap_pairs, plan->overlap_pairs, sizeof world->overlap_pairs);
  if (memcmp(world->warm, plan->warm, sizeof world->warm) == 0) return;
  sim_step_clear_impulses(world);
  memcpy(world->warm, plan->warm, sizeof world->warm);
}

/* Sorts `count` worlds by the byte at offset `member` of their sort_key, all below `keys`. Stable counting sort. */
static void sort(SimLanesWorld *const *from, SimLanesWorld **to, int count, size_t member, int keys) {
  int start[COUNTED_LEVELS + 1] = {0};
  for (int i = 0; i < count; i++) start[((const uint8_t *)&from[i]->sort_key)[member] + 1]++;
  for (int i = 0; i < keys; i++) start[i + 1] += start[i];
  for (int i = 0; i < count; i++) to[start[((const uint8_t *)&from[i]->sort_key)[member]]++] = from[i];
}

/* Solves worlds first .. end - 1, sorted so that similar worlds share a vector. */
static void solve(SimBlock *block, int first, int end) {
  SimLanesWorld *sorted[SIM_BLOCK_WORLDS], *other[SIM_BLOCK_WORLDS];
  int count = 0;
  for (int w = first; w < end; w++) {
    SimLanesWorld *lane = &block->plan[w].lane;
    if (lane->contact_count + lane->joint_count > 0) sorted[count++] = lane;
  }
  sort(sorted, other, count, offsetof(SimLanesSortKey, groups), COUNTED_GROUPS);
  sort(other, sorted, count, offsetof(SimLanesSortKey, level), COUNTED_LEVELS);
  sort(sorted, other, count, offsetof(SimLanesSortKey, counts), SORT_KEYS);
  const int most = block->kernels->solve_most;
  for (int i = 0; i < count; i += most)
    block->kernels->solve(other + i, count - i < most ? count - i : most, block->solver_memory);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

enum { AHEAD = 4 }; /* distance in worlds at which plans are prefetched */

/* Collides, actuates and solves worlds first .. end - 1, where `end` is bounded by the memory for pairs and contacts.
 * Returns end. */
static int push_worlds(SimBlock *block, int first, int count) {
  SimContact *contact[SIM_BLOCK_WORLDS + 1]; /* start of each world's contacts */
  int end = first, pairs = 0;
  contact[first] = block->contact;

  for (; end < count && pairs <= SIM_BLOCK_PAIRS - SIM_PAIRS_MAX; end++) {
    contact[end + 1] = find_pairs(block, end, pairs, contact[end]);
    pairs = block->pair_end[end];
  }
  for (int i = 0; i < SIM_BLOCK_TESTS; i++) run_pending(&block->pending[i]);
  const int motor = first > 0 ? block->motor_end[first - 1] : 0;
  block->kernels->drive_motors(block->motor + motor, block->motor_end[end - 1] - motor);

  for (int w = first; w < end; w++) {
    if (w + AHEAD < end) {
      __builtin_prefetch(block->plan[w + AHEAD].pair);
      __builtin_prefetch(block->world[w + AHEAD]->warm);
    }
    plan_world(block, w, w > first ? block->pair_end[w - 1] : 0, contact[w]);
    sim_step_apply_actuators(block->model[w], block->world[w], &block->control[w], block->spin[w]);
  }

  solve(block, first, end);
  return end;
}

void sim_block_step(SimBlock *block, const SimTaskRules *rules, int count) {
  memset(block->result, 0, (size_t)count * sizeof block->result[0]);
  block->pending[SIM_BLOCK_POLYGONS].kernel = block->kernels->collide_polygons;
  block->pending[SIM_BLOCK_OVERLAPS].kernel = block->kernels->overlap_polygons;
  block->pending[SIM_BLOCK_CIRCLE_POLYGONS].kernel = block->kernels->collide_circle_polygons;
  block->pending[SIM_BLOCK_CIRCLES].kernel = block->kernels->collide_circles;

  for (int i = 0; i < SIM_BLOCK_TESTS; i++) block->pending[i].count = 0;
  block->body_count = block->polygon_count = 0;
  for (int w = 0; w < count; w++) begin_world(block, w);

  for (int k = 0; k < rules->frame_skip; k++) {
    fall_and_update(block, count);
    for (int w = 0; w < count;) w = push_worlds(block, w, count);
    block->kernels->advance(block->body, block->body_count);
    for (int w = 0; w < count; w++)
      sim_task_score(block->model[w], block->world[w]->body, block->plan[w].bits, &block->result[w]);
  }

  if (block->shows) block->kernels->show(block->body, block->body_count, block->shown[0]);
  for (int w = 0; w < count; w++) sim_task_end(rules, block->model[w], block->world[w], &block->result[w]);
}
