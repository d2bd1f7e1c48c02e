/* Playing evaluation episodes and averaging them. */
#include "trainer/evaluate/evaluate.h"

#include <math.h>

#include "core/device/arena.h"
#include "core/random.h"
#include "trainer/ranks/ranks.h"

int evaluate_attempts(int64_t episodes, int levels) {
  return (int)(episodes < levels ? episodes : episodes / levels * levels);
}

int32_t evaluate_level(int world, int attempts, int levels) {
  if (attempts >= levels) return world % levels;
  return (int32_t)((int64_t)world * levels / attempts);
}

void evaluate_register(Evaluator *evaluator, const CoreConfig *config, const Env *levels, CoreArena *arena) {
  const int64_t all = evaluate_attempts(config->eval.episodes, levels->level_count);
  const int64_t rank = ranks_rank(), ranks = ranks_size();
  *evaluator = (Evaluator){.all_worlds = (int)all, .first_world = (int)(all * rank / ranks),
                           .levels = levels->level_count, .solves = levels->solves,
                           .counts_goals = levels->counts_goals};
  evaluator->worlds = (int)(all * (rank + 1) / ranks) - evaluator->first_world;
  size_t n = (size_t)evaluator->worlds;
  CORE_ARENA(arena, evaluator->level, n, "evaluation level [worlds]");
  trial_register(&evaluator->trial, config, levels, evaluator->worlds, arena);
  evaluator->trial.acts_by_mean = strcmp(config->eval.actions, "mean") == 0;
  CORE_ARENA(arena, evaluator->finished, n, "evaluation finished [worlds]");
  CORE_ARENA(arena, evaluator->returns, n, "evaluation returns [worlds]");
  CORE_ARENA(arena, evaluator->attempts, (size_t)levels->level_count, "evaluation attempts [levels]");
  CORE_ARENA(arena, evaluator->solutions, (size_t)levels->level_count, "evaluation solutions [levels]");
}

int evaluate_create(Evaluator *evaluator, const Env *levels, uint64_t seed, CoreDevice *device) {
  const EnvBatch batch = {evaluator->worlds, (uint32_t)evaluator->first_world, seed, device};
  for (int w = 0; w < evaluator->worlds; w++)
    evaluator->level[w] = evaluate_level(evaluator->first_world + w, evaluator->all_worlds, levels->level_count);
  if (evaluator->worlds == 0) return CORE_OK;
  return levels->sibling(levels, &batch, &evaluator->env);
}

void evaluate_destroy(Evaluator *evaluator) { env_destroy(&evaluator->env); }

/* Counts the worlds whose first episode ended in this step; returns how many. */
static int stats_step(Evaluator *evaluator, StoreEvaluation *row) {
  const uint8_t *ends = evaluator->trial.ends ? evaluator->trial.ends : evaluator->trial.dones;
  int ended = 0;
  for (int w = 0; w < evaluator->worlds; w++) {
    if (evaluator->finished[w]) continue;
    evaluator->returns[w] += (double)evaluator->trial.rewards[w];
    if (!ends[w]) continue;
    evaluator->finished[w] = 1;
    evaluator->solutions[evaluator->level[w]] += evaluator->trial.solved[w] != 0;
    row->episode_return += evaluator->returns[w];
    row->episode_length += evaluator->trial.episode_steps[w];
    row->goals += evaluator->trial.solved[w];
    ended++;
  }
  return ended;
}

void evaluate_average(const int64_t *attempts, const int64_t *solutions, int levels, StoreEvaluation *row) {
  int played = 0;
  int64_t fewest = INT64_MAX;
  double rates = 0, variances = 0;
  for (int i = 0; i < levels; i++) {
    int64_t m = attempts[i];
    if (m == 0) continue;
    double p = (double)solutions[i] / (double)m;
    played++;
    rates += p;
    if (m > 1) variances += p * (1 - p) / (double)(m - 1);
    if (m < fewest) fewest = m;
  }
  row->solve_rate = rates / played;
  row->solve_rate_se = fewest > 1 ? sqrt(variances) / played : NAN;
}

static void clear_stats(Evaluator *evaluator) {
  const size_t n = (size_t)evaluator->worlds, levels = (size_t)evaluator->levels;
  memset(evaluator->finished, 0, n);
  memset(evaluator->returns, 0, n * sizeof *evaluator->returns);
  memset(evaluator->attempts, 0, levels * sizeof *evaluator->attempts);
  memset(evaluator->solutions, 0, levels * sizeof *evaluator->solutions);
  for (int w = 0; w < evaluator->worlds; w++) evaluator->attempts[evaluator->level[w]]++;
}

/* This rank's attempts, into sums. */
static void play(Evaluator *evaluator, Ops *ops, const Agent *agent, const Observer *observer, uint64_t seed,
                 int64_t number, StoreEvaluation *row) {
  Env *env = evaluator->env;
  const TrialPlayer player = {agent, observer, ops};
  TrialKey key = {seed, CORE_RANDOM_EVALUATE, (uint32_t)evaluator->first_world, 0};
  if (env->levels) env->levels->reset_to(env, evaluator->level, evaluator->trial.raw);
  else env->reset(env, evaluator->trial.raw);
  trial_begin(&evaluator->trial, ops->device);
  const EvaluateWatcher *watcher = evaluator->first_world == 0 ? &evaluator->watcher : &(EvaluateWatcher){0};
  for (int t = 0, left = evaluator->worlds; t < env->max_steps && left > 0; t++) {
    if (watcher->look && !evaluator->finished[0]) watcher->look(watcher->context, env, t);
    key.step = (uint32_t)(number * env->max_steps + t);
    trial_step(&evaluator->trial, env, &player, &key);
    trial_fetch(&evaluator->trial, &player);
    left -= stats_step(evaluator, row);
    if (env_check(env) != CORE_OK) return; /* a lost worker ends no episode; whoever asked finds out */
  }
}

void evaluate_play(Evaluator *evaluator, Ops *ops, const Agent *agent, const Observer *observer, uint64_t seed,
                   int64_t number, StoreEvaluation *row) {
  clear_stats(evaluator);
  *row = (StoreEvaluation){.episodes = evaluator->all_worlds};
  core_text_copy(row->level_set, sizeof row->level_set, "train", "level set");
  if (evaluator->env) play(evaluator, ops, agent, observer, seed, number, row);

  double sums[] = {row->episode_return, row->episode_length, row->goals};
  ranks_sum(sums, 3);
  ranks_sum_counts(evaluator->attempts, (size_t)evaluator->levels);
  ranks_sum_counts(evaluator->solutions, (size_t)evaluator->levels);
  row->episode_return = sums[0] / evaluator->all_worlds;
  row->episode_length = sums[1] / evaluator->all_worlds;
  row->goals = evaluator->counts_goals ? sums[2] / evaluator->all_worlds : NAN;
  row->solve_rate = row->solve_rate_se = NAN;
  if (evaluator->solves) evaluate_average(evaluator->attempts, evaluator->solutions, evaluator->levels, row);
}
