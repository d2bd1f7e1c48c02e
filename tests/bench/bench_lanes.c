/* Utilization of the lanes of the GPU's physics (sim/device/warp.h), counted and not timed: the work of a warp's worlds
 * in a step under random actions, the passes of its lanes, which continue until the last one has finished, and the
 * resulting instructions of the warp. Runs anywhere; the prediction of docs/cuda-measurements.md is based on it.
 * Levels: random ones of size S, M and L, and those in the directory KINETIX_LEVELS, if set. */
#include <stdlib.h>

#include "core/memory.h"
#include "core/random.h"
#include "sim/batch/batch_internal.h"
#include "sim/device/warp_step.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "tests/bench/bench.h"

enum { WORLDS = 512, STEPS = 128, LEVELS = 256, WIDTHS = 5, PASSES_MAX = 512 };
static const int TEAM[WIDTHS] = {2, 4, 8, 16, 32};
enum { SHARED_BYTES = 227 * 1024 }; /* shared memory of an sm_90 multiprocessor for blocks */

/* Work of a world per physics step. */
typedef struct Need {
  int moving, pairs, hits[SIM_PAIR_KINDS], contacts, groups, present, joints, goals, thrusters;
  SimWavefronts wavefronts;
  uint64_t joint_wavefronts; /* sizes, as SimWavefronts has them */
  int a_rounds, b_rounds; /* rounds of the largest group that shares bodies: for body a, and for a moving body b */
} Need;

/* Instructions of a warp, as nvdisasm counts them in sim_step_warp for sm_90 (docs/cuda-measurements.md): on the way
 * that a step takes, so without slow divisions, contacts beyond shared memory and resets. */
enum {
  COST_ENVIRONMENT = 800,       /* command, joints' passes, result, reset now and then */
  COST_STEP = 520,              /* per step */
  COST_SHAPES = 28, COST_BOXES = 12, /* all shapes: load and store; per step */
  COST_MOVING = 200,            /* fall, place, advance */
  COST_PAIR = 24,               /* boxes */
  COST_KIND = 80, COST_HIT = 22, /* per kind that any world has; per element of a world, sequentially */
  COST_NEW_CONTACT = 94,
  COST_DEAL = 220, COST_PACK = 110, COST_VISIT = 14, /* 32 contacts; a pass; a look at a contact */
  COST_WARM = 75, COST_WARM_ROUND = 40, /* 32 contacts; a round of those, of which a world's each take one */
  COST_BEGIN_JOINT = 240, COST_JOINT = 200, /* motor; turn and warm start, a pass */
  COST_THRUSTER = 90, COST_KEEP = 16, COST_GOAL = 30, /* per world, sequentially */
  COST_APPLY_JOINT = 177, COST_APPLY_CONTACT = 218, COST_SHARE = 16, COST_SHARE_ROUND = 15,
};
static const int COST_TEST[SIM_PAIR_KINDS] = {870, 390, 145}; /* 32 hits, without their contacts */

static void reach(int *most, int x) { *most = *most > x ? *most : x; }

static int rounds(int n, int lanes) { return (n + lanes - 1) / lanes; }

/* Cost of a warp for the work of its worlds. */
typedef struct Load {
  Need all, most;       /* sums, and the largest */
  int passes, joint_passes, sharing, visits;
} Load;

/* Counts the passes of the wavefronts of a warp's worlds, packed as by sim_warp_pack. *sharing: passes that
 * share out. */
static int pack(const uint64_t *sizes, const unsigned *shares, int count, int *sharing) {
  uint64_t left[SIM_WARP_LANES], rest = 0;
  int wavefront[SIM_WARP_LANES] = {0}, pass = 0;
  for (int w = 0; w < count; w++) left[w] = sizes[w], rest |= sizes[w];
  for (; rest != 0; pass++) {
    unsigned before = 0;
    bool shared = false, was_more[SIM_WARP_LANES];
    for (int w = 0; w < count; w++) was_more[w] = left[w] >> SIM_WAVEFRONT_BITS != 0;
    rest = 0;
    for (int i = 0; i < 2 * count; i++) { /* parts with further wavefronts, then the others */
      const int w = i % count;
      const unsigned size = (unsigned)left[w] & SIM_WAVEFRONT_MAX;
      if (was_more[w] != (i < count)) continue;
      before += size;
      if (size > 0 && before <= SIM_WARP_LANES) {
        shared |= shares[w] >> wavefront[w]++ & 1u;
        left[w] >>= SIM_WAVEFRONT_BITS;
      }
      rest |= left[w];
    }
    *sharing += shared;
  }
  return pass;
}

static Load load_of(const Need *need, int count) {
  Load load = {0};
  uint64_t sizes[SIM_WARP_LANES], joints[SIM_WARP_LANES];
  unsigned shares[SIM_WARP_LANES], none[SIM_WARP_LANES] = {0};
  int nothing = 0;
  for (int w = 0; w < count; w++) {
    const Need *n = &need[w];
    Need *all = &load.all, *most = &load.most;
    int hits = 0;
    all->moving += n->moving, all->contacts += n->contacts, all->joints += n->joints;
    for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) all->hits[kind] += n->hits[kind], hits += n->hits[kind];
    reach(&most->moving, n->moving), reach(&most->pairs, n->pairs), reach(&most->contacts, n->contacts);
    reach(&most->joints, n->joints), reach(&most->goals, n->goals), reach(&most->thrusters, n->thrusters);
    reach(&most->a_rounds, n->a_rounds), reach(&most->b_rounds, n->b_rounds), reach(&most->hits[0], hits);
    reach(&load.visits, 2 * n->present * n->contacts);
    sizes[w] = n->wavefronts.sizes, shares[w] = n->wavefronts.sharing, joints[w] = n->joint_wavefronts;
  }
  load.passes = pack(sizes, shares, count, &load.sharing);
  load.joint_passes = pack(joints, none, count, &nothing);
  return load;
}

/* Instructions that a warp of `count` such worlds issues in a physics step; of those the narrow tests, with their
 * contacts, what gives contacts their order, and the iterations. */
typedef struct Cost { double all, tests, order, iterations; } Cost;
static Cost step_cost(const Load *load, int count, int shapes) {
  Cost cost = {0};
  const int parts = SIM_WARP_LANES / count, contacts = rounds(load->all.contacts, SIM_WARP_LANES);
  double rest = COST_STEP + (double)COST_MOVING * rounds(load->most.moving, parts);
  rest += (double)COST_BOXES * rounds(shapes, parts);
  rest += (double)COST_PAIR * rounds(load->most.pairs, parts) + (double)COST_HIT * load->most.hits[0];
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) {
    const int tests = rounds(load->all.hits[kind], SIM_WARP_LANES), points = kind == SIM_RR ? 2 : 1;
    cost.tests += COST_KIND + (double)tests * (COST_TEST[kind] + points * COST_NEW_CONTACT);
  }
  cost.order = (double)contacts * COST_DEAL + (double)COST_PACK * load->passes + (double)COST_VISIT * load->visits;
  rest += (double)contacts * (COST_WARM + (double)COST_WARM_ROUND * load->most.contacts);
  rest += (double)COST_KEEP * load->most.contacts + (double)COST_GOAL * load->most.goals;
  rest += (double)COST_BEGIN_JOINT * rounds(load->most.joints, parts) + (double)COST_JOINT * load->joint_passes;
  rest += (double)COST_THRUSTER * load->most.thrusters;
  const double share = COST_SHARE + (double)COST_SHARE_ROUND * (load->most.a_rounds + load->most.b_rounds);
  cost.iterations = SIM_SOLVER_ITERATIONS * ((double)COST_APPLY_JOINT * load->joint_passes +
                                             (double)COST_APPLY_CONTACT * load->passes + share * load->sharing);
  cost.all = rest + cost.tests + cost.order + cost.iterations;
  return cost;
}

/* Takes a world's needs from what its last physics step left in the scratch. */
static Need need_of(const SimModel *model, const SimCommand *command, SimScratch *s) {
  Need n = {.moving = model->moving_count, .pairs = model->pair_end[SIM_CC], .contacts = s->contact_count,
            .groups = s->group_count, .joints = model->joint_count, .goals = model->goal_count};
  SimWavefrontContact scheduled[SIM_CONTACTS_MAX];
  int overlap_pairs = 0;
  unsigned present = 0;

  for (int i = 0; i < model->thruster_count; i++) n.thrusters += sim_task_thruster(&model->thruster[i], command) != 0;
  for (int i = 0; i < model->joint_count; i++)
    n.joint_wavefronts += (uint64_t)1 << SIM_WAVEFRONT_BITS * model->joint[i].wavefront;

  for (int kind = 0, i = 0; kind < SIM_PAIR_KINDS; kind++) {
    unsigned rank = 0;
    int active = 0;
    for (; i < model->pair_end[kind]; i++)
      n.hits[kind] += sim_collide_boxes(s->geometry.box[model->pair[i].a], s->geometry.box[model->pair[i].b]);
    for (int k = overlap_pairs; k < s->overlap_pair_count &&
         s->overlap_pairs[k].pair < model->pair_end[kind]; k++) active++;
    const SimSolverBatches batches = sim_step_solver_batches(model->pair_count[kind], (unsigned)active);
    for (; rank < (unsigned)active; rank++, overlap_pairs++) {
      const SimPair *pair = &model->pair[s->overlap_pairs[overlap_pairs].pair];
      for (unsigned k = 0; k < 2; k++) {
        if (s->overlap_pairs[overlap_pairs].contact[k] == SIM_NO_CONTACT) continue;
        const unsigned group = sim_wavefronts_group(kind, k, batches, rank);
        scheduled[s->overlap_pairs[overlap_pairs].contact[k]] = (SimWavefrontContact){
          (uint8_t)sim_wavefronts_end(model, pair->a), (uint8_t)sim_wavefronts_end(model, pair->b),
          (uint8_t)group, 0, 0, 0};
        present |= 1u << group;
      }
    }
  }

  n.wavefronts = sim_wavefronts_schedule(scheduled, s->contact_count);
  for (; present; present &= present - 1) n.present++;
  for (int i = 0; i < s->contact_count; i++) {
    if (scheduled[i].sum_order == SIM_WAVEFRONT_ALONE) continue;
    reach(&n.a_rounds, scheduled[i].sum_order + 1);
    if (scheduled[i].b & SIM_WAVEFRONT_MOVES) reach(&n.b_rounds, scheduled[i].sum_order + 1);
  }

  return n;
}

/* Sums over all worlds and steps, and over all warps of each width. */
typedef struct Sums {
  double steps, moving, contacts, groups, wavefronts, sharing, joints, hits, most_contacts;
  double warps[WIDTHS], passes[WIDTHS], joint_passes[WIDTHS], shared_out[WIDTHS], applied[WIDTHS];
  Cost cost[WIDTHS];
  double crowded[WIDTHS]; /* steps of a warp with more contacts than shared memory has room for */
} Sums;

static void add_world(Sums *sums, const Need *n) {
  sums->steps++;
  sums->moving += n->moving, sums->contacts += n->contacts, sums->groups += n->groups;
  sums->wavefronts += n->wavefronts.count;
  sums->sharing += n->wavefronts.sharing != 0, sums->joints += n->joints;
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) sums->hits += n->hits[kind];
  if (n->contacts > sums->most_contacts) sums->most_contacts = n->contacts;
}

static void add_teams(Sums *sums, const Need *need, SimSize size) {
  for (int width = 0; width < WIDTHS; width++) {
    const int worlds = TEAM[width], capacity = sim_warp_fit(size, worlds, SHARED_BYTES).capacity;
    for (int first = 0; first + worlds <= WORLDS; first += worlds, sums->warps[width]++) {
      const Load load = load_of(need + first, worlds);
      sums->passes[width] += load.passes;
      sums->joint_passes[width] += load.joint_passes;
      sums->shared_out[width] += load.sharing > 0;
      const Cost cost = step_cost(&load, worlds, size.polygons + size.circles);
      sums->cost[width].all += cost.all, sums->cost[width].iterations += cost.iterations;
      sums->cost[width].tests += cost.tests, sums->cost[width].order += cost.order;
      sums->applied[width] += load.all.contacts + load.all.joints;
      sums->crowded[width] += load.all.contacts > capacity;
    }
  }
}

static int count(const SimLevelSet *levels, Sums *sums) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  SimScratch scratch;
  Need *need = core_memory_zero_allocate(WORLDS, sizeof *need);
  options.worlds = WORLDS;
  TRY(sim_batch_create(&options, levels, &batch));
  sim_batch_reset(batch, NULL);
  for (uint32_t t = 0; t < STEPS; t++) {
    for (int w = 0; w < WORLDS; w++) {
      CoreRandomStream stream = core_random_stream(1, CORE_RANDOM_TEST, (uint32_t)w, t);
      uint8_t choice[SIM_ACTIONS];
      for (int i = 0; i < SIM_ACTIONS; i++)
        choice[i] = (uint8_t)core_random_below(core_random_next(&stream), i < SIM_MOTOR_BINDINGS ? 3 : 2);
      const SimCommand command = sim_task_command(SIM_MULTI_DISCRETE, choice, 0);
      const SimModel *model = &batch->models[batch->worlds[w].level];
      const SimTaskResult result = sim_batch_step_world(batch, w, &command, &scratch);
      need[w] = need_of(model, &command, &scratch);
      add_world(sums, &need[w]);
      if (!result.done) continue;
      batch->worlds[w].episode++;
      sim_batch_start_world(batch, w, (w + 7 * (int)t) % levels->count);
    }
    add_teams(sums, need, levels->size);
  }
  sim_batch_destroy(&batch);
  free(need);
  return CORE_OK;
}

static void report(const char *name, const SimLevelSet *levels) {
  Sums s = {0};
  if (count(levels, &s) != CORE_OK) {
    fprintf(stderr, "bench_lanes: %s: %s\n", name, core_error_message());
    exit(1);
  }
  bench_row("lanes", name, "moving_bodies", s.moving / s.steps, "a world", 0);
  bench_row("lanes", name, "boxes_that_meet", s.hits / s.steps, "a world", 0);
  bench_row("lanes", name, "contacts", s.contacts / s.steps, "a world", 0);
  bench_row("lanes", name, "contacts_most", s.most_contacts, "a world", 0);
  bench_row("lanes", name, "divided_groups", s.groups / s.steps, "a world", 0);
  bench_row("lanes", name, "wavefronts", s.wavefronts / s.steps, "a world", 0);
  bench_row("lanes", name, "sharing", 100 * s.sharing / s.steps, "% of steps", 0);
  bench_row("lanes", name, "joints", s.joints / s.steps, "a world", 0);
  for (int i = 0; i < WIDTHS; i++) {
    const double warps = s.warps[i], passes = s.passes[i] + s.joint_passes[i];
    const int shapes = rounds((levels->size.polygons + levels->size.circles) * TEAM[i], SIM_WARP_LANES);
    const double part = 2 / warps / TEAM[i], fixed = COST_ENVIRONMENT + (double)COST_SHAPES * shapes;
    const double cost = s.cost[i].all * part + fixed / TEAM[i];
    const SimWarpLayout layout = sim_warp_fit(levels->size, TEAM[i], SHARED_BYTES);
    const unsigned fit = SHARED_BYTES / (layout.bytes + SIM_WARP_RESERVED);
    const struct { const char *metric, *unit; double value; } row[] = {
      {"passes", "a warp and iteration", s.passes[i] / warps},
      {"joint_passes", "a warp and iteration", s.joint_passes[i] / warps},
      {"shares_out", "% of a warp's steps", 100 * s.shared_out[i] / warps},
      {"solver_lanes_busy", "%", 100 * s.applied[i] / (SIM_WARP_LANES * passes)},
      {"shared_bytes", "a world", layout.bytes / (double)TEAM[i]},
      {"warps", "a processor", fit < SIM_WARP_RESIDENT ? fit : SIM_WARP_RESIDENT},
      {"contacts_beyond_shared", "% of a warp's steps", 100 * s.crowded[i] / warps},
      {"instructions", "of a warp an environment step", cost},
      {"iterations", "% of them", 100 * s.cost[i].iterations * part / cost},
      {"narrow_tests", "% of them", 100 * s.cost[i].tests * part / cost},
      {"order_of_contacts", "% of them", 100 * s.cost[i].order * part / cost},
    };
    for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
      char metric[64];
      snprintf(metric, sizeof metric, "%s_%d", row[k].metric, TEAM[i]);
      bench_row("lanes", name, metric, row[k].value, row[k].unit, 0);
    }
  }
}

int main(void) {
  const SimSize size[] = {SIM_SIZE_S, SIM_SIZE_M, SIM_SIZE_L};
  const char *name[] = {"random_s", "random_m", "random_l"}, *set[] = {"s", "m", "l"};
  const char *kinetix = getenv("KINETIX_LEVELS");
  for (int i = 0; i < 3; i++) {
    SimLevelSet levels = {.count = LEVELS, .size = size[i]};
    levels.level = core_memory_zero_allocate(LEVELS, sizeof *levels.level);
    for (int k = 0; k < LEVELS; k++)
      if (sim_generate_level(size[i], 3, (uint32_t)k, &levels.level[k]) != CORE_OK) return 1;
    report(name[i], &levels);
    sim_level_set_free(&levels);
    char directory[4096];
    if (!kinetix || !*kinetix) continue;
    if (snprintf(directory, sizeof directory, "%s/%s", kinetix, set[i]) >= (int)sizeof directory) return 1;
    if (sim_level_set_read(directory, kinetix, &levels) == CORE_OK) {
      report(set[i], &levels);
      sim_level_set_free(&levels);
    }
  }
  return 0;
}
