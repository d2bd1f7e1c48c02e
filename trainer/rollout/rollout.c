/* Rollout loop: policy and critic on the observations, sample, step, store; and the episode statistics.
 *
 * On a device no step of a rollout waits for the host, so its steps are captured once as a graph. With two parts
 * (train.rollout_halves) one part's worlds step, on a separate stream, while the policy runs for the other's. */
#include "trainer/rollout/rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/terminal.h"
#include "trainer/ranks/ranks.h"
#include "trainer/rollout/rollout_internal.h"
#include "trainer/wrappers/action.h"

typedef struct Statistic { void *data; size_t bytes; } Statistic;

/* Lists the statistics that rollouts change. */
static void list_statistics(const Rollout *rollout, Statistic statistic[3]) {
  const ObsPipeline *pipeline = &rollout->pipeline;
  const RewardScale *rewards = &rollout->reward_scale;
  memset(statistic, 0, 3 * sizeof *statistic);
  if (pipeline->has_moments)
    statistic[0] = (Statistic){pipeline->normalizer.moments, obs_section_bytes(pipeline)};
  if (pipeline->is_each) statistic[1] = (Statistic){pipeline->each.moments, obs_each_section_bytes(pipeline)};
  if (rewards->rule != REWARD_NONE)
    statistic[2] = (Statistic){rewards->moments, reward_moments(rewards) * sizeof *rewards->moments};
}

static size_t statistics_bytes(const Rollout *rollout) {
  Statistic statistics[3];
  list_statistics(rollout, statistics);
  return statistics[0].bytes + statistics[1].bytes + statistics[2].bytes;
}

void rollout_register(Rollout *rollout, const CoreConfig *config, const Env *env, const Shards *shards, int steps,
                      CoreArena *arena) {
  const OpsHead head = action_head(config, env);
  const int worlds = shards->worlds;
  *rollout = (Rollout){.steps = steps, .worlds = worlds, .features = obs_features(config, env), .shards = *shards,
                       .levels = env->level_count, .solves = env->solves, .counts_goals = env->counts_goals,
                       .begins_anew = core_config_has_curriculum(config), .head = head,
                       .action_bytes = ops_head_action_bytes(&head), .device = core_arena_device(arena),
                       .divided = (int)config->train.rollout_halves, .max_launches = ROLLOUT_GRAPH_NODES_MAX};

  size_t k = (size_t)steps, n = (size_t)worlds;
  obs_register(&rollout->pipeline, config, env, shards, arena);
  limits_register(&rollout->limits, config, env, &rollout->pipeline, steps, arena);
  states_register(&rollout->states, config, shards, steps, arena);
  reward_register(&rollout->reward_scale, reward_rule(config->env.normalize_rewards),
                  config->env.normalize_rewards_gamma, worlds, shards->global_worlds, arena);
  rollout->reward_scale.clips = strcmp(config->env.clip_rewards, "sign") == 0;

  /* Storage in another form keeps only the last observations as floats. */
  const size_t block = n * (size_t)rollout->features;
  const char *label = "last observations [worlds][features]";
  size_t float_blocks = 1;
  rollout->is_compact = strcmp(config->train.observation_storage, "state") == 0;
  if (rollout->is_compact) {
    compact_register(&rollout->compact, config, env, steps, worlds, arena);
  } else if (frames_apply(env, rollout->device)) {
    frames_register(&rollout->frames, env, steps, worlds, arena);
  } else if (rollout->pipeline.is_half) {
    CORE_ARENA_DEVICE(arena, rollout->halves, (k + 1) * block,
                      "rollout observations, halves [steps + 1][worlds][features]");
  } else {
    float_blocks = k + 1;
    label = "rollout observations [steps + 1][worlds][features]";
  }
  CORE_ARENA_DEVICE(arena, rollout->observations, float_blocks * block, label);

  CORE_ARENA_DEVICE(arena, rollout->values, (k + 1) * n, "rollout values [steps + 1][worlds]");
  rollout_register_logits(rollout, config, arena);
  CORE_ARENA_DEVICE(arena, rollout->logp, k * n, "rollout log-probabilities [steps][worlds]");
  CORE_ARENA_DEVICE(arena, rollout->rewards, k * n, "rollout rewards [steps][worlds]");
  CORE_ARENA_DEVICE(arena, rollout->dones, k * n, "rollout dones [steps][worlds]");
  CORE_ARENA_DEVICE(arena, rollout->actions, k * n * rollout->action_bytes, "rollout actions [steps][worlds][bytes]");
  CORE_ARENA_DEVICE(arena, rollout->bounded, head.kind == OPS_GAUSSIAN ? n * (size_t)head.factors : 0,
             "actions within bounds [worlds][factors]");

  CORE_ARENA_DEVICE(arena, rollout->returns, n, "returns so far [worlds]");
  CORE_ARENA_DEVICE(arena, rollout->solved, n, "solved [worlds]");
  if (env->has_lives) CORE_ARENA_DEVICE(arena, rollout->ends, n, "ends of episodes [worlds]");
  CORE_ARENA_DEVICE(arena, rollout->level, n, "level [worlds]");
  CORE_ARENA_DEVICE(arena, rollout->episode_steps, n, "episode steps [worlds]");
  CORE_ARENA(arena, rollout->attempts, (size_t)env->level_count, "attempts [levels]");
  CORE_ARENA(arena, rollout->solutions, (size_t)env->level_count, "solutions [levels]");

  CORE_ARENA_DEVICE(arena, rollout->stats.finished, core_arena_device(arena) ? n : 1, "returns of finished episodes");
  CORE_ARENA_DEVICE(arena, rollout->stats.count, OPS_EPISODE_COUNTS, "episodes, their steps and goals");
  rollout_register_samples(rollout, config, env, arena);
  if (env->remote) CORE_ARENA(arena, rollout->before, statistics_bytes(rollout), "statistics before a rollout");

  if (core_arena_device(arena) == NULL) return;
  CORE_ARENA_DEVICE(arena, rollout->clock, 1, "the first step's number");
  CORE_ARENA_DEVICE(arena, rollout->stats.attempts, (size_t)env->level_count, "attempts [levels]");
  CORE_ARENA_DEVICE(arena, rollout->stats.solutions, (size_t)env->level_count, "solutions [levels]");
}

static size_t observation_block(const Rollout *rollout) { return (size_t)rollout->worlds * (size_t)rollout->features; }

/* Returns row block t; where blocks are stored in another form, the latest one, whatever t is. */
static float *observations_at(const Rollout *rollout, int t) {
  const bool only_last = rollout->halves || rollout->is_compact || rollout->frames.stack > 0;
  return rollout->observations + (only_last ? 0 : (size_t)t) * observation_block(rollout);
}

float *rollout_last_observations(const Rollout *rollout) { return observations_at(rollout, rollout->steps); }

/* Returns where the environment writes the observations that follow row block `t`. */
static float *shown_at(Rollout *rollout, int t) {
  return rollout->pipeline.active ? rollout->pipeline.raw : observations_at(rollout, t);
}

/* Stores row block t of the part's worlds, where it is stored in another form. done: as in compact_store. */
static void keep(Rollout *rollout, const Env *env, int t, RolloutPart part, const uint8_t *done) {
  const float *observations = observations_at(rollout, t);
  if (rollout->is_compact)
    compact_store(&rollout->compact, env, t, part.first, part.worlds, observations, done);
  if (rollout->frames.stack > 0) frames_store(&rollout->frames, t, part.first, part.worlds, observations);
}

/* Transforms the observations of row block t; stores them, unless ops is NULL, in half precision too if configured. */
static void see(Rollout *rollout, Ops *ops, int t) {
  const size_t block = observation_block(rollout);
  float *observations = observations_at(rollout, t);
  obs_transform(&rollout->pipeline, observations);
  if (rollout->halves && ops) ops->store_halves(ops, observations, block, rollout->halves + (size_t)t * block);
}

static RolloutPart global_worlds(const Rollout *rollout) { return (RolloutPart){0, rollout->worlds}; }
/* Returns the part's actions of step t clamped to the environment's bounds, if any; the array covers all worlds. */
static const void *bound_actions(Rollout *rollout, Ops *ops, int t, RolloutPart part) {
  const OpsHead *head = &rollout->head;
  const size_t bytes = rollout->action_bytes, first = (size_t)part.first;
  const uint8_t *actions = rollout->actions + (size_t)t * (size_t)rollout->worlds * bytes;
  float *bounded = rollout->bounded + first * (size_t)head->factors;
  return action_for_env(ops, head, actions + first * bytes, part.worlds,
                        bounded) == bounded ? (const void *)rollout->bounded
                                                                                      : actions;
}

static uint8_t *truncated_at(const Rollout *rollout, int t) {
  uint8_t *truncated = rollout->limits.truncated;
  return truncated ? truncated + (size_t)t * (size_t)rollout->worlds : NULL;
}

/* Returns where step t's results are written. */
static EnvStep out_of(Rollout *rollout, int t) {
  const size_t row = (size_t)t * (size_t)rollout->worlds;
  return (EnvStep){.observations = shown_at(rollout, t + 1), .rewards = rollout->rewards + row,
                   .dones = rollout->dones + row, .solved = rollout->solved, .levels = rollout->level,
                   .episode_steps = rollout->episode_steps, .truncated = truncated_at(rollout, t),
                   .final_observations = rollout->limits.raw, .ends = rollout->ends};
}

/* Steps the part's worlds from row block t to t + 1; without a device only starts the step, unless the part is all
 * worlds. ops NULL: the actions are within bounds, and nothing is stored. */
static void step_env(Rollout *rollout, Env *env, Ops *ops, int t, RolloutPart part) {
  const size_t row = (size_t)t * (size_t)rollout->worlds;
  const void *actions = ops ? bound_actions(rollout, ops, t, part) : rollout->actions + row * rollout->action_bytes;
  const EnvStep out = out_of(rollout, t);
  const bool apart = part.worlds != rollout->worlds;
  if (apart && !rollout->device) {
    env->parts->step_async(env, part.first, part.worlds, actions);
    return;
  }

  if (apart) rollout->device->stream_push(rollout->device, CORE_STREAM_WORLDS);
  if (apart) env->parts->step(env, part.first, part.worlds, actions, &out);
  else env->step(env, actions, &out);
  keep(rollout, env, t + 1, part, out.dones);
  if (apart) rollout->device->stream_pop(rollout->device);

  if (!rollout->pipeline.active) return;
  const ObsLast last = {out.dones, rollout->limits.raw, rollout->limits.seen};
  obs_count_arrived(&rollout->pipeline, last.raw ? &last : NULL);
  if (last.seen) obs_transform_last(&rollout->pipeline, &last);
  see(rollout, ops, t + 1);
}

/* Draws random actions on the host and copies them where they are needed. */
static void draw_actions(Rollout *rollout, uint64_t seed, int step) {
  const size_t bytes = (size_t)rollout->worlds * rollout->action_bytes;
  void *drawn = rollout->device ? core_memory_allocate(bytes) : rollout->actions;
  action_random(&rollout->head, rollout->worlds, seed, CORE_RANDOM_WARM_UP, (uint32_t)rollout->shards.first_world,
                (uint32_t)step, drawn);
  core_device_to_device(rollout->device, rollout->actions, drawn, bytes);
  if (rollout->device) free(drawn);
}

/* Collects statistics of observations by random play before the first iteration, outside the budget. In each step ranks
 * exchange their observations, so they also agree on stopping. */
static int warm_up(Rollout *rollout, Env *env, uint64_t seed) {
  const uint32_t first = (uint32_t)rollout->shards.first_world;
  env_seed(env, &(EnvSeeds){CORE_RANDOM_WORLD_WARM_UP, 0, first});
  env->reset(env, shown_at(rollout, 0));
  for (int step = 0; step < rollout->pipeline.warm_up; step++) {
    const int code = ranks_check_stop();
    TRY(ranks_agree(code == CORE_OK ? env_check(env) : code));
    draw_actions(rollout, seed, step);
    obs_count_acted_on(&rollout->pipeline);
    step_env(rollout, env, NULL, 0, global_worlds(rollout));
  }
  obs_advance(&rollout->pipeline);
  env_seed(env, &(EnvSeeds){.first_world = first});
  return CORE_OK;
}

void rollout_connect(Rollout *rollout, struct Communicator *communicator) {
  rollout->pipeline.normalizer.communicator = communicator;
  rollout->reward_scale.communicator = communicator;
}

/* Clears what is carried over from running episodes. */
static void clear_episodes(const Rollout *rollout) {
  core_device_zero(rollout->device, rollout->returns, (size_t)rollout->worlds * sizeof *rollout->returns);
  states_clear(&rollout->states);
}

int rollout_start(Rollout *rollout, Env *env, uint64_t seed) {
  obs_start(&rollout->pipeline);
  reward_start(&rollout->reward_scale);
  if (rollout->pipeline.warm_up > 0) TRY(warm_up(rollout, env, seed));
  env->reset(env, shown_at(rollout, rollout->steps));
  TRY(ranks_agree(env_check(env)));
  obs_count_arrived(&rollout->pipeline, NULL);
  clear_episodes(rollout);
  return CORE_OK;
}

void rollout_start_on(Rollout *rollout, Env *env, const int32_t *level) {
  env->levels->reset_to(env, level, shown_at(rollout, rollout->steps));
  obs_count_arrived(&rollout->pipeline, NULL);
  reward_restart(&rollout->reward_scale);
  clear_episodes(rollout);
}

void rollout_begin_again(Rollout *rollout, Env *env) {
  env->reset(env, shown_at(rollout, rollout->steps));
  reward_restart(&rollout->reward_scale);
  clear_episodes(rollout);
}

/* ---- undoing a rollout ------------------------------------------------------------------------------------------- */

static void keep_statistics(Rollout *rollout) {
  Statistic statistics[3];
  uint8_t *cursor = rollout->before;
  list_statistics(rollout, statistics);
  for (int i = 0; i < 3; i++) {
    if (statistics[i].bytes > 0) core_device_to_host(rollout->device, cursor, statistics[i].data, statistics[i].bytes);
    cursor += statistics[i].bytes;
  }
}

void rollout_undo(Rollout *rollout) {
  Statistic statistics[3];
  const uint8_t *cursor = rollout->before;
  list_statistics(rollout, statistics);
  for (int i = 0; i < 3; i++) {
    if (statistics[i].bytes > 0)
      core_device_to_device(rollout->device, statistics[i].data, cursor, statistics[i].bytes);
    cursor += statistics[i].bytes;
  }
}

void rollout_add_sections(Rollout *rollout, Sections *sections) {
  const size_t n = (size_t)rollout->worlds;
  ObsPipeline *pipeline = &rollout->pipeline;
  RewardScale *rewards = &rollout->reward_scale;

  if (!rollout->begins_anew) {
    sections_add_worlds(sections, "observations", shown_at(rollout, rollout->steps),
                        n * (size_t)(pipeline->active ? pipeline->shown : rollout->features) * sizeof(float));
    sections_add_worlds(sections, "returns", rollout->returns, n * sizeof *rollout->returns);
    if (states_apply(&rollout->states))
      sections_add_worlds(sections, "memory", rollout->states.current,
                          n * (size_t)rollout->states.state_size * sizeof *rollout->states.current);
  }

  if (pipeline->has_moments)
    checkpoint_add(sections->checkpoint, OBS_SECTION, pipeline->normalizer.moments,
                   obs_section_bytes(pipeline));
  if (pipeline->is_each)
    sections_add_worlds(sections, OBS_EACH_SECTION, pipeline->each.moments, obs_each_section_bytes(pipeline));

  if (rewards->rule == REWARD_NONE) return;
  if (!rollout->begins_anew)
    sections_add_worlds(sections, "discounted rewards", rewards->returns, n * sizeof *rewards->returns);
  const size_t moments = reward_moments(rewards) * sizeof *rewards->moments;
  if (rewards->rule == REWARD_CLEANRL_EACH)
    sections_add_worlds(sections, "reward moments of each", rewards->moments, moments);
  else checkpoint_add(sections->checkpoint, "reward moments", rewards->moments, moments);
}

void rollout_restored(Rollout *rollout) {
  if (rollout->pipeline.has_moments) normalize_restored(&rollout->pipeline.normalizer);
}

/* Begins a rollout: row block 0 is the last rollout's final state, transformed with the current statistics. */
static void begin(Rollout *rollout, const Env *env, Ops *ops) {
  if (rollout->pipeline.active) see(rollout, ops, 0);
  else if (rollout->is_compact || rollout->frames.stack > 0) keep(rollout, env, 0, global_worlds(rollout), NULL);
  else core_device_copy(rollout->device, observations_at(rollout, 0), rollout_last_observations(rollout),
                        (size_t)rollout->worlds * (size_t)rollout->features * sizeof *rollout->observations);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Divides the worlds into two parts where requested and where no step depends on all worlds. Cut at a chunk boundary of
 * the policy's passes, so that chunks have the same shapes as undivided; a device's sums do not depend on shapes. */
static int parts_of(const Rollout *rollout, const Env *env, const Agent *agent, RolloutPart part[2]) {
  const int n = rollout->worlds, shard = shards_worlds(&rollout->shards), rows = agent->max_rows;
  const bool divides = rollout->divided == 2 && env->parts && !rollout->pipeline.active;
  int cut = n > rows ? (n + rows - 1) / rows / 2 * rows : n / 2;
  if (n > shard) cut = n / shard / 2 * shard;
  part[0] = global_worlds(rollout);
  if (!divides || cut < 1 || (env->parts->can_split && !env->parts->can_split(env, cut))) return 1;
  if (!rollout->device && (!env->parts->step_async || (n <= shard && n <= rows))) return 1;
  part[0] = (RolloutPart){0, cut};
  part[1] = (RolloutPart){cut, n - cut};
  return 2;
}

/* Key of the sampled actions: the seed, and the step's index in the run, if the host knows it. */
typedef struct Draw { uint64_t seed, first_step; } Draw;

/* Returns the logits of step t, [worlds][logits]. */
static float *logits_at(const Rollout *rollout, int t) {
  const size_t step = rollout->samples_logits ? 0 : (size_t)t;
  return rollout->logits + step * (size_t)rollout->worlds * (size_t)rollout->head.logits;
}

static void sample(const Rollout *rollout, Ops *ops, const Draw *draw, int t, RolloutPart part) {
  const size_t row = (size_t)t * (size_t)rollout->worlds + (size_t)part.first;
  const float *logits = logits_at(rollout, t) + (size_t)part.first * (size_t)rollout->head.logits;
  const uint32_t world = (uint32_t)(rollout->shards.first_world + part.first);
  void *actions = rollout->actions + row * rollout->action_bytes;
  if (rollout->clock) {
    ops->policy_sample_at(ops, &rollout->head, logits, part.worlds, draw->seed, CORE_RANDOM_ACTION, world,
                          rollout->clock, (uint32_t)t, actions, rollout->logp + row);
    return;
  }
  const uint64_t step = draw->first_step + (uint64_t)t;
  /* the upper half goes into unused bits of 32-bit seeds, so that the stream never repeats */
  const uint64_t key = draw->seed ^ (step & 0xffffffff00000000u);
  ops->policy_sample(ops, &rollout->head, logits, part.worlds, key, CORE_RANDOM_ACTION, world, (uint32_t)step, actions,
                     rollout->logp + row);
}

/* Computes policy and values, one shard of worlds after the other, since a shard's results must not depend on its
 * neighbors. Then samples the actions of step t. */
static void act(const Rollout *rollout, Ops *ops, const Agent *agent, const Draw *draw, int t, RolloutPart part) {
  const int shard = shards_worlds(&rollout->shards), end = part.first + part.worlds;
  const size_t row = (size_t)t * (size_t)rollout->worlds;
  const float *observations = observations_at(rollout, t);
  states_store(&rollout->states, t, part.first, part.worlds);
  for (int first = part.first, worlds; first < end; first += worlds) {
    worlds = shard - first % shard < end - first ? shard - first % shard : end - first;
    const size_t world = (size_t)first;
    states_bind(&rollout->states, agent, first, true);
    agent_act(agent, ops, observations + world * (size_t)rollout->features, worlds,
              logits_at(rollout, t) + world * (size_t)rollout->head.logits, rollout->values + row + world);
  }
  if (rollout->samples_logits && end == rollout->worlds) /* all parts have acted */
    logit_samples_gather(&rollout->logit_samples, ops, t, logits_at(rollout, t), rollout->head.logits);
  sample(rollout, ops, draw, t, part);
}

/* Finishes the part's step t; with the last part also the work that needs all worlds. */
static void finish_step(Rollout *rollout, Ops *ops, const Agent *agent, int t, RolloutPart part, int features) {
  const size_t row = (size_t)t * (size_t)rollout->worlds;
  rollout_count_episodes(rollout, ops, t, part);
  if (rollout->limits.values)
    limits_value(&rollout->limits, &rollout->pipeline, ops, agent, &rollout->shards, &rollout->states, t, part.first,
                 part.worlds);
  states_clear_done(&rollout->states, t, part.first, part.worlds, rollout->dones + row);
  if (part.first + part.worlds < rollout->worlds) return;
  rollout_add_samples(rollout, ops, t, shown_at(rollout, t + 1), features);
  reward_step(&rollout->reward_scale, rollout->rewards + row, rollout->dones + row, truncated_at(rollout, t));
}

/* Waits for the part's step t, which step_env started, and returns the seconds waited. */
static double finish_part(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, int t, RolloutPart part) {
  const double begun = core_clock_s();
  if (rollout->device) {
    rollout->device->stream_wait(rollout->device, CORE_STREAM_WORLDS);
  } else {
    const EnvStep out = out_of(rollout, t);
    env->parts->step_wait(env, part.first, part.worlds, &out);
    keep(rollout, env, t + 1, part, out.dones);
  }
  const double waited = core_clock_s() - begun;
  finish_step(rollout, ops, agent, t, part, env->observation_length);
  return waited;
}

/* Runs all steps; returns the environment's seconds, or with two parts the seconds waited for it. The policy runs for
 * one part while the other steps; on a device the policy's work has ended before the next part's step begins. */
static double run_steps(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, const Draw *draw) {
  RolloutPart part[2];
  const int parts = parts_of(rollout, env, agent, part), all = rollout->steps * parts;
  double environment_s = 0;

  for (int i = 0, last = -1; i < all; last = i++) {
    const int t = i / parts;
    const bool joins = parts == 2 && last >= 0;
    act(rollout, ops, agent, draw, t, part[i % parts]);
    if (parts == 1) obs_count_acted_on(&rollout->pipeline);
    if (joins && rollout->device)
      environment_s += finish_part(rollout, env, ops, agent, last / 2, part[last % 2]);

    const double stepped = core_clock_s();
    step_env(rollout, env, ops, t, part[i % parts]);
    environment_s += core_clock_s() - stepped;
    if (parts == 1) finish_step(rollout, ops, agent, t, part[0], env->observation_length);
    if (joins && !rollout->device)
      environment_s += finish_part(rollout, env, ops, agent, last / 2, part[last % 2]);
  }
  if (parts == 2) environment_s += finish_part(rollout, env, ops, agent, rollout->steps - 1, part[1]);
  return environment_s;
}

static void value(const Rollout *rollout, Ops *ops, const Agent *agent, const float *observations, float *values) {
  const int worlds = shards_worlds(&rollout->shards);
  for (int first = 0; first < rollout->worlds; first += worlds) {
    states_bind(&rollout->states, agent, first, false);
    agent_values(agent, ops, observations + (size_t)first * (size_t)rollout->features, worlds, values + first);
  }
}

/* Runs from row block 0 to the values of the last one. Returns the environment's seconds. */
static double run(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, const Draw *draw) {
  const size_t n = (size_t)rollout->worlds, steps = (size_t)rollout->steps;
  rollout_open_stats(rollout);
  begin(rollout, env, ops);
  states_begin(&rollout->states);
  const double environment_s = run_steps(rollout, env, ops, agent, draw);
  states_finish(&rollout->states);
  value(rollout, ops, agent, rollout_last_observations(rollout), rollout->values + steps * n);
  reward_finish(&rollout->reward_scale, rollout->rewards, steps * n);
  env_synchronize(env);
  return environment_s;
}

static void forget_graph(Rollout *rollout) {
  if (rollout->graph) rollout->device->destroy_graph(rollout->device, rollout->graph);
  rollout->graph = NULL;
  rollout->is_warm = false;
}

void rollout_destroy(Rollout *rollout) {
  forget_graph(rollout);
  frames_destroy(&rollout->frames);
}

static bool sums_over_ranks(const Rollout *rollout) {
  const ObsPipeline *pipeline = &rollout->pipeline;
  const RewardScale *rewards = &rollout->reward_scale;
  return (pipeline->active && pipeline->normalizer.communicator) ||
         (rewards->rule != REWARD_NONE && rewards->communicator);
}

/* Whether the steps can be captured as a graph. Not where the host has the worlds, reads their observations or takes
 * part in sums over ranks, as those of normalized observations and rewards. */
static bool is_recordable(const Rollout *rollout, const Env *env) {
  return rollout->device && rollout->launches <= rollout->max_launches && !rollout->coverage && !rollout->visited &&
         !sums_over_ranks(rollout) && !env_is_hosted(env) && !rollout->device->times;
}

/* Runs the steps on a device: kernel by kernel the first time, as a capture the second. Everything outside device
 * memory is the same in all rollouts, except the epsilon of Q policies. */
static double run_queued(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, const Draw *draw) {
  CoreDevice *device = rollout->device;
  const OpsClock clock = {.step = draw->first_step};
  if (device) core_device_to_device(device, rollout->clock, &clock, sizeof clock);

  if (agent->epsilon != rollout->epsilon) forget_graph(rollout);
  rollout->epsilon = agent->epsilon;
  if (!is_recordable(rollout, env) || !rollout->is_warm) {
    const uint64_t before = device ? device->launches : 0;
    const double environment_s = run(rollout, env, ops, agent, draw);
    if (device) rollout->launches = device->launches - before;
    rollout->is_warm = true;
    return environment_s;
  }

  env_synchronize(env); /* work started by a reset or a restored checkpoint is not part of the graph */
  if (rollout->graph == NULL) {
    device->begin_capture(device);
    run(rollout, env, ops, agent, draw);
    rollout->graph = device->end_capture(device);
  }
  device->launch_graph(device, rollout->graph);
  return 0;
}

void rollout_collect(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, uint64_t seed, int64_t iteration,
                     RolloutEpisodes *episodes) {
  const Draw draw = {seed, (uint64_t)(iteration - 1) * (uint64_t)rollout->steps};
  *episodes = (RolloutEpisodes){0};
  if (env->remote) keep_statistics(rollout);
  if (env_is_hosted(env)) env->device->host_seconds(env); /* discards earlier steps' time */
  rollout_sample_logit_states(rollout, seed, iteration);
  rollout_begin_samples(rollout);
  episodes->environment_s = run_queued(rollout, env, ops, agent, &draw);
  rollout_read_stats(rollout, episodes);
  rollout_finish_samples(rollout);
  if (env_is_hosted(env)) episodes->environment_s = env->device->host_seconds(env);
  rollout_close_stats(rollout, episodes);
}
