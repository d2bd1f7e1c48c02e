/* Acting: policy and critic on the observations, sample, step, store; and the book of episodes. */
#include "trainer/rollout.h"

#include <math.h>

#include "core/random.h"
#include "core/terminal.h"
#include "trainer/action.h"
#include "trainer/ranks.h"

void rollout_register(Rollout *rollout, const CoreConfig *config, const Env *env, const Shards *shards, int steps,
                      CoreArena *arena) {
  const OpsHead head = action_head(config, env);
  const int worlds = shards->worlds;
  *rollout = (Rollout){.steps = steps, .worlds = worlds, .features = observer_features(config, env), .shards = *shards,
                       .levels = env->levels, .begins_anew = core_config_has_curriculum(config), .head = head,
                       .action_bytes = ops_head_action_bytes(&head)};
  size_t k = (size_t)steps, n = (size_t)worlds;
  observer_register(&rollout->observer, config, env, shards, arena);
  reward_register(&rollout->reward_scale, reward_rule(config->env.normalize_rewards),
                  config->env.normalize_rewards_gamma, worlds, shards->all_worlds, arena);
  CORE_ARENA(arena, rollout->observations, (k + 1) * n * (size_t)rollout->features,
             "rollout observations [steps + 1][worlds][features]");
  CORE_ARENA(arena, rollout->values, (k + 1) * n, "rollout values [steps + 1][worlds]");
  CORE_ARENA(arena, rollout->logits, k * n * (size_t)head.logits, "rollout logits [steps][worlds][logits]");
  CORE_ARENA(arena, rollout->logp, k * n, "rollout log-probabilities [steps][worlds]");
  CORE_ARENA(arena, rollout->rewards, k * n, "rollout rewards [steps][worlds]");
  CORE_ARENA(arena, rollout->dones, k * n, "rollout dones [steps][worlds]");
  CORE_ARENA(arena, rollout->actions, k * n * rollout->action_bytes, "rollout actions [steps][worlds][bytes]");
  CORE_ARENA(arena, rollout->bounded, head.kind == OPS_GAUSSIAN ? n * (size_t)head.factors : 0,
             "actions within bounds [worlds][factors]");
  CORE_ARENA(arena, rollout->returns, n, "returns so far [worlds]");
  CORE_ARENA(arena, rollout->solved, n, "solved [worlds]");
  CORE_ARENA(arena, rollout->level, n, "level [worlds]");
  CORE_ARENA(arena, rollout->episode_steps, n, "episode steps [worlds]");
  CORE_ARENA(arena, rollout->attempts, (size_t)env->levels, "attempts [levels]");
  CORE_ARENA(arena, rollout->solutions, (size_t)env->levels, "solutions [levels]");
}

static float *observations_at(const Rollout *rollout, int t) {
  return rollout->observations + (size_t)t * (size_t)rollout->worlds * (size_t)rollout->features;
}

float *rollout_last_observations(const Rollout *rollout) { return observations_at(rollout, rollout->steps); }

/* Where the environment writes what follows row block `t`. */
static float *shown_at(Rollout *rollout, int t) {
  return rollout->observer.active ? rollout->observer.raw : observations_at(rollout, t);
}

/* One step of the environment from row block t to t + 1. */
static void step_env(Rollout *rollout, Env *env, int t) {
  const size_t n = (size_t)rollout->worlds, row = (size_t)t * n;
  const void *actions = action_for_env(&rollout->head, rollout->actions + row * rollout->action_bytes, rollout->worlds,
                                       rollout->bounded);
  const EnvStep out = {.observations = shown_at(rollout, t + 1), .rewards = rollout->rewards + row,
                       .dones = rollout->dones + row, .solved = rollout->solved, .levels = rollout->level,
                       .episode_steps = rollout->episode_steps};
  env->step(env, actions, &out);
  if (rollout->coverage) coverage_see(rollout->coverage, t, out.observations);
  if (!rollout->observer.active) return;
  observer_count_arrived(&rollout->observer);
  observer_see(&rollout->observer, observations_at(rollout, t + 1));
}

/* Statistics of observations before the first iteration, outside of the budget. */
static void warm_up(Rollout *rollout, Env *env, uint64_t seed) {
  env->reset(env, shown_at(rollout, 0));
  for (int step = 0; step < rollout->observer.warm_up; step++) {
    action_random(&rollout->head, rollout->worlds, seed, CORE_RANDOM_WARM_UP, (uint32_t)rollout->shards.first_world,
                  (uint32_t)step, rollout->actions);
    observer_count_acted_on(&rollout->observer);
    step_env(rollout, env, 0);
  }
  observer_advance(&rollout->observer);
}

void rollout_start(Rollout *rollout, Env *env, uint64_t seed) {
  observer_start(&rollout->observer);
  reward_start(&rollout->reward_scale);
  if (rollout->observer.warm_up > 0) warm_up(rollout, env, seed);
  env->reset(env, shown_at(rollout, rollout->steps));
  observer_count_arrived(&rollout->observer);
  memset(rollout->returns, 0, (size_t)rollout->worlds * sizeof *rollout->returns);
}

void rollout_start_on(Rollout *rollout, Env *env, const int32_t *level) {
  env->reset_to(env, level, shown_at(rollout, rollout->steps));
  observer_count_arrived(&rollout->observer);
  reward_restart(&rollout->reward_scale);
  memset(rollout->returns, 0, (size_t)rollout->worlds * sizeof *rollout->returns);
}

void rollout_add_sections(Rollout *rollout, Sections *sections) {
  const size_t n = (size_t)rollout->worlds;
  Observer *observer = &rollout->observer;
  RewardScale *rewards = &rollout->reward_scale;
  if (!rollout->begins_anew) {
    sections_add_worlds(sections, "observations", shown_at(rollout, rollout->steps),
                        n * (size_t)(observer->active ? observer->shown : rollout->features) * sizeof(float));
    sections_add_worlds(sections, "returns", rollout->returns, n * sizeof *rollout->returns);
  }
  if (observer->active)
    checkpoint_add(sections->checkpoint, OBSERVER_SECTION, observer->normaliser.moments,
                   observer_section_bytes(observer));
  if (rewards->rule == REWARD_NONE) return;
  if (!rollout->begins_anew)
    sections_add_worlds(sections, "discounted rewards", rewards->returns, n * sizeof *rewards->returns);
  checkpoint_add(sections->checkpoint, "reward moments", rewards->moments, 3 * sizeof *rewards->moments);
}

void rollout_restored(Rollout *rollout) {
  if (rollout->observer.active) normalise_restored(&rollout->observer.normaliser);
}

/* Row block 0 is what the last rollout ended with, seen with the statistics of now. */
static void begin(Rollout *rollout) {
  if (rollout->observer.active) observer_see(&rollout->observer, observations_at(rollout, 0));
  else memcpy(observations_at(rollout, 0), rollout_last_observations(rollout),
              (size_t)rollout->worlds * (size_t)rollout->features * sizeof *rollout->observations);
}

/* Adds step t's rewards and finished episodes (of the leader's worlds, where there are blocks) to the book, world by
 * world, so that its sums have one order. */
static void count_episodes(Rollout *rollout, int t, RolloutEpisodes *episodes) {
  const float *rewards = rollout->rewards + (size_t)t * (size_t)rollout->worlds;
  const uint8_t *dones = rollout->dones + (size_t)t * (size_t)rollout->worlds;
  for (int w = 0; w < rollout->worlds; w++) {
    rollout->returns[w] += (double)rewards[w];
    if (!dones[w]) continue;
    const double total = rollout->returns[w];
    rollout->returns[w] = 0;
    if (w < rollout->observer.first_reported) continue;
    episodes->count++;
    episodes->return_mean += total;
    episodes->length_mean += rollout->episode_steps[w];
    const int32_t place = rollout->level[w], level = rollout->level_of_place ? rollout->level_of_place[place] : place;
    rollout->attempts[level]++;
    rollout->solutions[level] += rollout->solved[w] != 0;
  }
}

/* Sums over all ranks, then to means. */
static void close_book(const Rollout *rollout, RolloutEpisodes *episodes) {
  double sums[] = {episodes->return_mean, episodes->length_mean}, rates = 0;
  int64_t levels = 0;
  ranks_sum_counts(&episodes->count, 1);
  ranks_sum_counts(rollout->attempts, (size_t)rollout->levels);
  ranks_sum_counts(rollout->solutions, (size_t)rollout->levels);
  ranks_sum(sums, 2);
  episodes->return_mean = sums[0];
  episodes->length_mean = sums[1];
  for (int i = 0; i < rollout->levels; i++) {
    if (rollout->attempts[i] == 0) continue;
    levels++;
    rates += (double)rollout->solutions[i] / (double)rollout->attempts[i];
  }
  episodes->solve_rate = levels > 0 ? rates / (double)levels : NAN;
  episodes->return_mean = episodes->count > 0 ? episodes->return_mean / (double)episodes->count : NAN;
  episodes->length_mean = episodes->count > 0 ? episodes->length_mean / (double)episodes->count : NAN;
}

/* Policy and values, one shard of worlds after the other: what a shard gives must not depend on its neighbours. */
static void act(const Rollout *rollout, Ops *ops, const Agent *agent, const float *observations, float *logits,
                float *values) {
  const int worlds = shards_worlds(&rollout->shards);
  for (int first = 0; first < rollout->worlds; first += worlds)
    agent_act(agent, ops, observations + (size_t)first * (size_t)rollout->features, worlds,
              logits + (size_t)first * (size_t)rollout->head.logits, values + first);
}

static void value(const Rollout *rollout, Ops *ops, const Agent *agent, const float *observations, float *values) {
  const int worlds = shards_worlds(&rollout->shards);
  for (int first = 0; first < rollout->worlds; first += worlds)
    agent_values(agent, ops, observations + (size_t)first * (size_t)rollout->features, worlds, values + first);
}

void rollout_collect(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, uint64_t seed, int64_t iteration,
                     RolloutEpisodes *episodes) {
  size_t n = (size_t)rollout->worlds;
  memset(rollout->attempts, 0, (size_t)rollout->levels * sizeof *rollout->attempts);
  memset(rollout->solutions, 0, (size_t)rollout->levels * sizeof *rollout->solutions);
  begin(rollout);
  *episodes = (RolloutEpisodes){0};

  for (int t = 0; t < rollout->steps; t++) {
    size_t row = (size_t)t * n;
    const float *observations = observations_at(rollout, t);
    float *logits = rollout->logits + row * (size_t)rollout->head.logits;
    uint8_t *actions = rollout->actions + row * rollout->action_bytes;
    uint64_t step = (uint64_t)(iteration - 1) * (uint64_t)rollout->steps + (uint64_t)t;
    /* The step's upper half goes where 32-bit seeds leave room, so that the stream never repeats. */
    uint64_t key = seed ^ (step & 0xffffffff00000000u);

    act(rollout, ops, agent, observations, logits, rollout->values + row);
    ops->policy_sample(ops, &rollout->head, logits, rollout->worlds, key, CORE_RANDOM_ACTION,
                       (uint32_t)rollout->shards.first_world, (uint32_t)step, actions, rollout->logp + row);
    observer_count_acted_on(&rollout->observer);
    double stepped = core_clock_s();
    step_env(rollout, env, t);
    episodes->environment_s += core_clock_s() - stepped;
    count_episodes(rollout, t, episodes);
    reward_step(&rollout->reward_scale, rollout->rewards + row, rollout->dones + row);
  }
  value(rollout, ops, agent, rollout_last_observations(rollout), rollout->values + (size_t)rollout->steps * n);
  reward_finish(&rollout->reward_scale, rollout->rewards, (size_t)rollout->steps * n);
  close_book(rollout, episodes);
}

void rollout_gather_actions(const Rollout *rollout, const uint32_t *index, int rows, uint8_t *actions) {
  const size_t bytes = rollout->action_bytes;
  for (int row = 0; row < rows; row++)
    memcpy(actions + (size_t)row * bytes, rollout->actions + (size_t)index[row] * bytes, bytes);
}
