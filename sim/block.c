/* Walks a block of worlds through an environment step: what differs from world to world is done here one by one, what
 * many have in common is gathered for the kernels of lanes.h. */
#include "sim/block.h"

#include <stddef.h>
#include <stdlib.h>

/* What the kernels take for granted about the records. */
_Static_assert(sizeof(SimBody) == SIM_LANES_BODY * sizeof(float), "bodies");
_Static_assert(sizeof(SimContact) == SIM_LANES_CONTACT * sizeof(float), "contacts");
_Static_assert(sizeof(SimJointModel) == SIM_LANES_JOINT * sizeof(float), "joints");
_Static_assert(offsetof(SimContact, a) == SIM_CONTACT_REALS * sizeof(float) &&
               offsetof(SimContact, b) == offsetof(SimContact, a) + 1 &&
               offsetof(SimContact, forgets) == offsetof(SimContact, a) + 2, "bytes after a contact's reals");
_Static_assert(offsetof(SimJointModel, a) == SIM_JOINT_REALS * sizeof(float) &&
               offsetof(SimJointModel, b) == offsetof(SimJointModel, a) + 1 &&
               offsetof(SimJointModel, slot) == offsetof(SimJointModel, a) + 2, "bytes after a joint's reals");
_Static_assert(sizeof(SimOutline) == SIM_LANES_OUTLINE * sizeof(float) &&
               offsetof(SimOutline, triangle) == 32 * sizeof(float), "outlines");
_Static_assert(offsetof(SimManifold, active) == (SIM_LANES_MANIFOLD - 1) * sizeof(float), "manifolds");
_Static_assert((int)SIM_LANES_JOINTS == (int)SIM_MAX_JOINTS && (int)SIM_LANES_CONTACTS >= (int)SIM_MAX_CONTACTS, "sizes");

/* ---- which kernels ----------------------------------------------------------------------------------------------- */

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
  if (has_avx512() && !(wanted && strcmp(wanted, "avx2") == 0)) return &SIM_LANES_AVX512;
  if (has_avx2()) return &SIM_LANES_AVX2;
#endif
  return NULL;
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

static void run_pending(SimBlockPending *pending) {
  pending->kernel(pending->pair, pending->count);
  pending->count = 0;
}

/* Lets a kernel find out about pair i of world w, in its time; two circles, which are rare, are tested at once. */
static void test_pair(SimBlock *block, int w, int kind, int i, float *manifold) {
  const SimModel *model = block->model[w];
  const SimPair *pair = &model->pair[i];
  const SimBody *a = &block->world[w]->body[pair->a], *b = &block->world[w]->body[pair->b];
  if (kind == SIM_CC) {
    SimManifold m = sim_collide_circles(*a, model->radius[pair->a], *b, model->radius[pair->b]);
    int32_t points = m.active[0];
    memcpy(manifold, &m, (SIM_LANES_MANIFOLD - 1) * sizeof *manifold);
    memcpy(manifold + SIM_LANES_MANIFOLD - 1, &points, sizeof points);
    return;
  }
  SimBlockPending *pending = kind == SIM_CR ? &block->circles : pair->resolved ? &block->polygons : &block->overlaps;
  SimLanesPair *next = &pending->pair[pending->count++];
  next->a_body = (const float *)a;
  next->b_body = (const float *)b;
  next->a_outline = (const float *)&model->outline[kind == SIM_CR ? 0 : pair->a];
  next->b_outline = (const float *)&model->outline[pair->b];
  next->a_corner = (const float *)block->places[w].corner[kind == SIM_CR ? 0 : pair->a];
  next->b_corner = (const float *)block->places[w].corner[pair->b];
  next->radius = model->radius[pair->a];
  next->manifold = manifold;
  if (pending->count == SIM_BLOCK_PENDING) run_pending(pending);
}

/* Tests the pairs of world w whose boxes meet. */
static void find_pairs(SimBlock *block, int w, int first) {
  const SimModel *model = block->model[w];
  const SimBox *box = block->places[w].box;
  int found = first, i = 0;
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    for (; i < model->pair_end[kind]; i++) {
      const SimPair *pair = &model->pair[i];
      if (!sim_collide_boxes(box[pair->a], box[pair->b])) continue;
      block->pair[found] = (uint8_t)i;
      test_pair(block, w, kind, i, block->manifold[found++]);
    }
  }
  block->pair_end[w] = found;
}

static void test_pending(SimBlock *block) {
  run_pending(&block->polygons);
  run_pending(&block->overlaps);
  run_pending(&block->circles);
}

static SimManifold manifold_of(const float *record) {
  SimManifold m;
  int32_t points;
  memcpy(&m, record, (SIM_LANES_MANIFOLD - 1) * sizeof *record);
  memcpy(&points, record + SIM_LANES_MANIFOLD - 1, sizeof points);
  m.active[0] = points > 0;
  m.active[1] = points > 1;
  return m;
}

/* World w's contacts, as sim_step_collide makes them, in the block's scratch. Gives the reward bits. */
static int make_contacts(SimBlock *block, int w, int first) {
  const SimModel *model = block->model[w];
  SimScratch *s = &block->scratch;
  int bits = 0;
  sim_step_clear(s, block->contact + block->contact_count);
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    int first_touching = s->touching_count;
    for (; first < block->pair_end[w] && block->pair[first] < model->pair_end[kind]; first++) {
      SimManifold m = manifold_of(block->manifold[first]);
      if (!m.active[0]) continue;
      bits |= model->pair[block->pair[first]].reward;
      sim_step_touch(model, block->world[w], block->pair[first], &m, s);
    }
    sim_step_order(model->listed[kind], kind == SIM_RR ? 2 : 1, first_touching, s);
  }
  block->contact_count += s->contact_count;
  return bits;
}

/* ---- the solver -------------------------------------------------------------------------------------------------- */

enum { COUNTED_CONTACTS = 16, LIKENESSES = (SIM_MAX_JOINTS + 1) * (SIM_LANES_GROUPS + 1) * COUNTED_CONTACTS };

/* Worlds with as many joints, groups and contacts are alike to the solver ... */
static int likeness(const SimLanesWorld *lane) {
  int contacts = lane->contact_count < COUNTED_CONTACTS ? lane->contact_count : COUNTED_CONTACTS - 1;
  return (lane->joint_count * (SIM_LANES_GROUPS + 1) + lane->group_count) * COUNTED_CONTACTS + contacts;
}

/* ... and even more so with groups of the same sizes. */
static uint64_t sort_key(const SimLanesWorld *lane) {
  uint64_t sizes = 0;
  for (int g = 0, begin = 0; g < lane->group_count; begin = lane->group_end[g++])
    sizes = sizes << 4 | (uint64_t)(lane->group_end[g] - begin - 1);
  return (uint64_t)likeness(lane) << 48 | sizes;
}

/* World w as the solver wants it. */
static void add_to_solver(SimBlock *block, int w) {
  const SimScratch *s = &block->scratch;
  SimLanesWorld *lane = &block->lane[w];
  lane->body = (float *)block->world[w]->body;
  lane->contact = (float *)s->contact;
  lane->joint = (const float *)block->model[w]->joint;
  lane->joint_impulse = (float *)block->world[w]->joint_impulse;
  lane->joint_spin_impulse = block->world[w]->joint_spin_impulse;
  lane->contact_count = s->contact_count;
  lane->group_count = s->group_count;
  lane->joint_count = block->model[w]->joint_count;
  memcpy(lane->order, s->order, (size_t)s->order_count);
  memcpy(lane->group_end, s->group_end, (size_t)s->group_count);
  lane->sort_key = sort_key(lane);
}

/* Solves worlds first..end-1, like ones side by side. */
static void solve(SimBlock *block, int first, int end) {
  int start[LIKENESSES + 1] = {0};
  SimLanesWorld *sorted[SIM_BLOCK_WORLDS];
  for (int w = first; w < end; w++) start[likeness(&block->lane[w]) + 1]++;
  const int idle = start[1], count = end - first; /* idle: nothing to solve */
  for (int i = 0; i < LIKENESSES; i++) start[i + 1] += start[i];
  for (int w = first; w < end; w++) sorted[start[likeness(&block->lane[w])]++] = &block->lane[w];
  for (int i = 1; i < count; i++) { /* within equals by insertion */
    SimLanesWorld *lane = sorted[i];
    int at = i;
    for (; at > 0 && sorted[at - 1]->sort_key > lane->sort_key; at--) sorted[at] = sorted[at - 1];
    sorted[at] = lane;
  }
  for (int i = idle; i < count; i += SIM_LANES_SOLVE)
    block->kernels->solve(sorted + i, count - i < SIM_LANES_SOLVE ? count - i : SIM_LANES_SOLVE);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/* A physics step of worlds first.. as far as there is room for their pairs. Gives where it stopped. */
static int physics_step(SimBlock *block, int first, int count) {
  int end = first, pairs = 0;
  for (; end < count && pairs <= SIM_BLOCK_PAIRS - SIM_MAX_PAIRS; end++) {
    sim_step_begin(block->model[end], block->world[end], &block->places[end]);
    find_pairs(block, end, pairs);
    pairs = block->pair_end[end];
  }
  test_pending(block);
  block->contact_count = 0;
  for (int w = first; w < end; w++) {
    block->bits[w] = make_contacts(block, w, w > first ? block->pair_end[w - 1] : 0);
    sim_step_keep_touching(block->world[w], &block->scratch);
    sim_step_actuate(block->model[w], block->world[w], &block->control[w]);
    add_to_solver(block, w);
  }
  solve(block, first, end);
  for (int w = first; w < end; w++) {
    const SimLanesWorld *lane = &block->lane[w];
    sim_step_keep_contacts(block->model[w], block->world[w], (const SimContact *)lane->contact, lane->contact_count);
    sim_step_end(block->model[w], block->world[w]);
  }
  return end;
}

void sim_block_step(SimBlock *block, const SimTaskRules *rules, int count) {
  memset(block->result, 0, (size_t)count * sizeof block->result[0]);
  block->polygons.kernel = block->kernels->collide_polygons;
  block->overlaps.kernel = block->kernels->overlap_polygons;
  block->circles.kernel = block->kernels->collide_circles;
  block->polygons.count = block->overlaps.count = block->circles.count = 0;
  for (int w = 0; w < count; w++) sim_step_begin_level(block->model[w], &block->places[w]);
  for (int k = 0; k < rules->frame_skip; k++) {
    for (int w = 0; w < count;) w = physics_step(block, w, count);
    for (int w = 0; w < count; w++)
      sim_task_judge(block->model[w], block->world[w], block->bits[w], &block->result[w]);
  }
  for (int w = 0; w < count; w++) sim_task_end(rules, block->model[w], block->world[w], &block->result[w]);
}
