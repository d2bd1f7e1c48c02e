/* How full the lanes of the GPU's physics are (sim/step_team.h), counted and not timed: what each world of a warp needs
 * in a step under random actions, the most that any of them needs, since a warp goes on until the last of its worlds is
 * done, and what that comes to in instructions of a warp. Runs anywhere; the prediction of docs/cuda.md rests on it.
 * Levels: random ones of size S, M and L and, where KINETIX_LEVELS names a folder of Kinetix levels, those. */
#include <stdlib.h>

#include "core/memory.h"
#include "core/random.h"
#include "sim/batch_internal.h"
#include "sim/generate.h"
#include "sim/step_team.h"
#include "tests/bench/bench.h"

enum { WORLDS = 512, STEPS = 128, LEVELS = 256, WARP = 32, WIDTHS = 4 };
static const int LANES[WIDTHS] = {1, 4, 8, 16};

/* What a world needs in a physics step. */
typedef struct Need {
  int moving, pairs, hits[SIM_PAIR_KINDS], contacts, groups, waves, sharing, joints, joint_waves, goals;
  int passes[WIDTHS]; /* for all waves, with so many lanes: a wave of more contacts than lanes takes several */
} Need;

/* Instructions of a warp, as nvdisasm counts them in sim_step_team_8 for sm_90 (docs/cuda.md). Of a part: once for all
 * lanes that take it at once. */
enum {
  COST_ENVIRONMENT = 650,      /* command, bodies in and out, result */
  COST_STEP = 450,             /* barriers, ballots, settling, forgetting, warm start without their loops */
  COST_MOVING = 290,           /* fall, place, advance */
  COST_PAIR = 60,              /* boxes */
  COST_CONTACT = 150,          /* deal, settle, warm start, keep: one after the other */
  COST_GOAL = 30,
  COST_JOINT = 150,            /* motor, warm start: one after the other */
  COST_APPLY_JOINT = 210, COST_APPLY_CONTACT = 250, COST_WAVE = 30, COST_SHARE = 60, COST_SHARE_CONTACT = 24,
};
static const int COST_HIT[SIM_PAIR_KINDS] = {900, 560, 280}; /* test and contacts */

static void reach(int *most, int x) { *most = *most > x ? *most : x; }

static int rounds(int n, int lanes) { return (n + lanes - 1) / lanes; }

/* The most that any of a warp's worlds needs. */
static Need most_of(const Need *need, int count) {
  Need most = need[0];
  for (int i = 1; i < count; i++) {
    const Need *n = &need[i];
    reach(&most.moving, n->moving), reach(&most.pairs, n->pairs), reach(&most.contacts, n->contacts);
    reach(&most.groups, n->groups), reach(&most.waves, n->waves), reach(&most.sharing, n->sharing);
    reach(&most.joints, n->joints), reach(&most.joint_waves, n->joint_waves), reach(&most.goals, n->goals);
    for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) reach(&most.hits[kind], n->hits[kind]);
    for (int width = 0; width < WIDTHS; width++) reach(&most.passes[width], n->passes[width]);
  }
  return most;
}

/* Instructions that a warp of such worlds issues in a physics step. One lane a world applies contact after contact. */
static double step_cost(Need n, int width) {
  const int lanes = LANES[width], joints = lanes == 1 ? n.joints : n.joint_waves, applied = n.passes[width];
  double cost = COST_STEP + (double)COST_MOVING * rounds(n.moving, lanes) + (double)COST_PAIR * rounds(n.pairs, lanes);
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) cost += (double)COST_HIT[kind] * rounds(n.hits[kind], lanes);
  cost += (double)COST_CONTACT * n.contacts + (double)COST_GOAL * n.goals + (double)COST_JOINT * joints;
  const double shares = n.sharing > 0 ? n.sharing * (COST_SHARE + (double)COST_SHARE_CONTACT * n.contacts) : 0;
  const double waves = (double)COST_APPLY_CONTACT * applied + (double)COST_WAVE * n.waves + shares;
  return cost + SIM_SOLVER_ITERATIONS * ((double)COST_APPLY_JOINT * joints + waves);
}

/* Takes a world's needs from what its last physics step left in the scratch. */
static Need need_of(const SimModel *model, SimScratch *s) {
  Need n = {.moving = model->moving_count, .pairs = model->pair_end[SIM_CC], .contacts = s->contact_count,
            .groups = s->group_count, .joints = model->joint_count, .joint_waves = model->joint_waves,
            .goals = model->goal_count};
  SimWaveContact turn[SIM_MAX_CONTACTS];
  int touching = 0;
  for (int kind = 0, i = 0; kind < SIM_PAIR_KINDS; kind++) {
    unsigned rank = 0;
    int active = 0;
    for (; i < model->pair_end[kind]; i++)
      n.hits[kind] += sim_collide_boxes(s->places.box[model->pair[i].a], s->places.box[model->pair[i].b]);
    for (int k = touching; k < s->touching_count && s->touching[k].pair < model->pair_end[kind]; k++) active++;
    const SimDeal deal = sim_step_deal(model->listed[kind], (unsigned)active);
    for (; rank < (unsigned)active; rank++, touching++) {
      const SimPair *pair = &model->pair[s->touching[touching].pair];
      for (unsigned k = 0; k < 2; k++) {
        if (s->touching[touching].contact[k] == SIM_NO_CONTACT) continue;
        turn[s->touching[touching].contact[k]] = (SimWaveContact){
          (uint8_t)(pair->a | (model->moves[pair->a] ? SIM_WAVE_MOVES : 0)),
          (uint8_t)(pair->b | (model->moves[pair->b] ? SIM_WAVE_MOVES : 0)),
          (uint8_t)sim_waves_group(kind, k, deal, rank), 0};
      }
    }
  }
  SimWaves waves = sim_waves_settle(turn, s->contact_count);
  sim_waves_sort(turn, s->contact_count, &waves, s->order);
  n.waves = waves.count;
  for (int width = 0; width < WIDTHS; width++) {
    for (int w = 0; w < waves.count; w++)
      n.passes[width] += rounds(waves.end[w] - (w > 0 ? waves.end[w - 1] : 0), LANES[width]);
  }
  for (unsigned left = waves.sharing; left; left &= left - 1) n.sharing++;
  return n;
}

/* Sums over all worlds and steps, and over all warps of each width. */
typedef struct Sums {
  double steps, moving, contacts, groups, waves, sharing, joints, hits, most_contacts;
  double warps[WIDTHS], warp_waves[WIDTHS], warp_joints[WIDTHS], cost[WIDTHS], applied[WIDTHS], lanes[WIDTHS];
  double crowded; /* steps of a world with more contacts than shared memory has room for */
} Sums;

static void add_world(Sums *sums, const Need *n) {
  sums->steps++;
  sums->moving += n->moving, sums->contacts += n->contacts, sums->groups += n->groups, sums->waves += n->waves;
  sums->sharing += n->sharing > 0, sums->joints += n->joints, sums->crowded += n->contacts > SIM_TEAM_CONTACTS;
  for (int kind = 0; kind < SIM_PAIR_KINDS; kind++) sums->hits += n->hits[kind];
  if (n->contacts > sums->most_contacts) sums->most_contacts = n->contacts;
}

static void add_warps(Sums *sums, const Need *need) {
  for (int width = 0; width < WIDTHS; width++) {
    const int worlds = WARP / LANES[width];
    for (int first = 0; first + worlds <= WORLDS; first += worlds, sums->warps[width]++) {
      const Need most = most_of(need + first, worlds);
      sums->warp_waves[width] += most.waves;
      sums->warp_joints[width] += most.joint_waves;
      sums->cost[width] += step_cost(most, width);
      sums->lanes[width] += WARP * (double)(most.waves + most.joint_waves);
      for (int i = 0; i < worlds; i++) sums->applied[width] += need[first + i].contacts + need[first + i].joints;
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
      need[w] = need_of(model, &scratch);
      add_world(sums, &need[w]);
      if (!result.done) continue;
      batch->worlds[w].episode++;
      sim_batch_start_world(batch, w, (w + 7 * (int)t) % levels->count);
    }
    add_warps(sums, need);
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
  bench_row("lanes", name, "contacts_beyond_shared", 1e6 * s.crowded / s.steps, "of a million steps", 0);
  bench_row("lanes", name, "divided_groups", s.groups / s.steps, "a world", 0);
  bench_row("lanes", name, "waves", s.waves / s.steps, "a world", 0);
  bench_row("lanes", name, "sharing", 100 * s.sharing / s.steps, "% of steps", 0);
  bench_row("lanes", name, "joints", s.joints / s.steps, "a world", 0);
  for (int i = 0; i < WIDTHS; i++) {
    char metric[64];
    snprintf(metric, sizeof metric, "waves_of_warp_%d", LANES[i]);
    if (LANES[i] > 1) bench_row("lanes", name, metric, s.warp_waves[i] / s.warps[i], "most", 0);
    snprintf(metric, sizeof metric, "joint_waves_of_warp_%d", LANES[i]);
    if (LANES[i] > 1) bench_row("lanes", name, metric, s.warp_joints[i] / s.warps[i], "most", 0);
    snprintf(metric, sizeof metric, "solver_lanes_busy_%d", LANES[i]);
    if (LANES[i] > 1) bench_row("lanes", name, metric, 100 * s.applied[i] / s.lanes[i], "%", 0);
    const double cost = (2 * s.cost[i] / s.warps[i] + COST_ENVIRONMENT) * LANES[i] / WARP;
    snprintf(metric, sizeof metric, "instructions_%d", LANES[i]);
    bench_row("lanes", name, metric, cost, "of a warp an environment step", 0);
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
    char folder[4096];
    if (!kinetix || !*kinetix) continue;
    if (snprintf(folder, sizeof folder, "%s/%s", kinetix, set[i]) >= (int)sizeof folder) return 1;
    if (sim_level_set_read(folder, kinetix, &levels) == CORE_OK) {
      report(set[i], &levels);
      sim_level_set_free(&levels);
    }
  }
  return 0;
}
