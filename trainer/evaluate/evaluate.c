/* Playing evaluation episodes and averaging them. */
#include "trainer/evaluate/evaluate.h"

#include <math.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/random.h"
#include "trainer/envs/levels.h"
#include "trainer/ranks/ranks.h"

int evaluate_attempts(int64_t episodes, int levels) {
  return (int)(episodes < levels ? episodes : episodes / levels * levels);
}

int32_t evaluate_level(int world, int attempts, int levels) {
  if (attempts >= levels) return world % levels;
  return (int32_t)((int64_t)world * levels / attempts);
}

void evaluate_register(Evaluator *evaluator, const CoreConfig *config, const Env *levels, int trained,
                       CoreArena *arena) {
  const int64_t total = evaluate_attempts(config->eval.episodes, levels->level_count);
  const int64_t rank = ranks_rank(), ranks = ranks_size();
  *evaluator = (Evaluator){.global_attempts = (int)total, .first_attempt = (int)(total * rank / ranks),
                           .levels = levels->level_count, .solves = levels->solves, .has_info = levels->info != NULL,
                           .counts_goals = levels->counts_goals};
  evaluator->attempts = (int)(total * (rank + 1) / ranks) - evaluator->first_attempt;
  evaluator->worlds = env_concurrent_worlds(levels, evaluator->attempts, trained);
  size_t n = (size_t)evaluator->worlds;

  CORE_ARENA(arena, evaluator->level, (size_t)evaluator->attempts, "evaluation level [attempts]");
  eval_rollout_register(&evaluator->eval_rollout, config, levels, evaluator->worlds, arena);
  evaluator->eval_rollout.acts_by_mean = strcmp(config->eval.actions, "mean") == 0;
  CORE_ARENA(arena, evaluator->finished, n, "evaluation finished [worlds]");
  CORE_ARENA(arena, evaluator->returns, n, "evaluation returns [worlds]");
  CORE_ARENA(arena, evaluator->ended, (size_t)levels->level_count, "evaluation attempts [levels]");
  CORE_ARENA(arena, evaluator->solutions, (size_t)levels->level_count, "evaluation solutions [levels]");
}

int evaluate_create(Evaluator *evaluator, const Env *levels, uint64_t seed, CoreDevice *device) {
  const EnvBatch batch = {evaluator->worlds, (uint32_t)evaluator->first_attempt, seed, device};
  for (int i = 0; i < evaluator->attempts; i++)
    evaluator->level[i] = evaluate_level(evaluator->first_attempt + i, evaluator->global_attempts, levels->level_count);
  if (evaluator->worlds == 0) return CORE_OK;
  return levels->clone(levels, &batch, &evaluator->env);
}

void evaluate_destroy(Evaluator *evaluator) { env_destroy(&evaluator->env); }

/* Counts the worlds whose attempt ended in this step, and returns their number. level: of this turn's attempts. */
static int stats_step(Evaluator *evaluator, const int32_t *level, StoreEvaluation *row) {
  const uint8_t *ends = evaluator->eval_rollout.ends ? evaluator->eval_rollout.ends : evaluator->eval_rollout.dones;
  int ended = 0;

  for (int w = 0; w < evaluator->worlds; w++) {
    if (evaluator->finished[w]) continue;
    evaluator->returns[w] += (double)evaluator->eval_rollout.rewards[w];
    if (!ends[w]) continue;
    evaluator->finished[w] = 1;
    evaluator->ended[level[w]]++;
    evaluator->solutions[level[w]] += evaluator->eval_rollout.solved[w] != 0;
    row->episode_return += evaluator->returns[w];
    row->episode_length += evaluator->eval_rollout.episode_steps[w];
    row->goals += evaluator->eval_rollout.solved[w];
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
  row->solve_rate = played > 0 ? rates / played : NAN;
  row->solve_rate_se = played > 0 && fewest > 1 ? sqrt(variances) / played : NAN;
}

/* Turn: attempts first .. first + worlds - 1 of this rank, as far as they exist. */
typedef struct Turn { const EvalPlayer *player; EvalKey key; int64_t number; int first, attempts; } Turn;

static void begin_turn(Evaluator *evaluator, const Turn *turn) {
  Env *env = evaluator->env;
  const size_t n = (size_t)evaluator->worlds;
  for (int w = 0; w < evaluator->worlds; w++) evaluator->finished[w] = w >= turn->attempts;
  memset(evaluator->returns, 0, n * sizeof *evaluator->returns);
  env_seed(env, &(EnvSeeds){CORE_RANDOM_WORLD_EVALUATE, (uint32_t)turn->number, turn->key.first_world});
  if (env->levels) env->levels->reset_to(env, evaluator->level + turn->first, evaluator->eval_rollout.raw);
  else env->reset(env, evaluator->eval_rollout.raw);
  eval_rollout_begin(&evaluator->eval_rollout, turn->player->ops->device);
}

/* Adds the numbers of the turn's attempts that ended. */
static int read_info(Evaluator *evaluator, const Turn *turn) {
  Env *env = evaluator->env;
  if (!evaluator->has_info) return CORE_OK;
  for (int w = turn->attempts; w < evaluator->worlds; w++) evaluator->finished[w] = 0;
  env->info->read(env, evaluator->finished, &evaluator->info);
  return env_check(env);
}

/* Plays a turn and adds its results to *row; *left: attempts that did not end. */
static int play_turn(Evaluator *evaluator, const Turn *turn, StoreEvaluation *row, int *left) {
  Env *env = evaluator->env;
  EvalKey key = turn->key;
  const EvaluateWatcher *watcher = key.first_world == 0 ? &evaluator->watcher : &(EvaluateWatcher){0};

  *left = turn->attempts;
  begin_turn(evaluator, turn);
  for (int t = 0; t < env->max_steps && *left > 0; t++) {
    TRY(ranks_check_stop());
    if (watcher->look && !evaluator->finished[0]) watcher->look(watcher->context, env, t);
    key.step = (uint32_t)(turn->number * env->max_steps + t);
    eval_rollout_step(&evaluator->eval_rollout, env, turn->player, &key);
    eval_rollout_download(&evaluator->eval_rollout, turn->player);
    *left -= stats_step(evaluator, evaluator->level + turn->first, row);
    TRY(env_check(env)); /* a dead worker ends no episode */
  }

  return read_info(evaluator, turn);
}

/* Plays this rank's attempts and adds up their results. */
static int play(Evaluator *evaluator, const EvalPlayer *player, uint64_t seed, int64_t number, StoreEvaluation *row) {
  for (int first = 0; first < evaluator->attempts; first += evaluator->worlds) {
    const int unplayed = evaluator->attempts - first;
    const int attempts = unplayed < evaluator->worlds ? unplayed : evaluator->worlds;
    const Turn turn = {player, {seed, CORE_RANDOM_EVALUATE, (uint32_t)(evaluator->first_attempt + first), 0, NULL},
                       number, first, attempts};
    int left;
    TRY(play_turn(evaluator, &turn, row, &left));
    if (first == 0 && left == attempts) break;
  }
  return CORE_OK;
}

/* Sets the solve rate to the share of attempts that reported success. */
static void average_successes(const EnvInfoTable *info, StoreEvaluation *row) {
  double m;
  const double p = env_info_solve_rate(info, &m);
  row->solve_rate = p;
  if (m > 1) row->solve_rate_se = sqrt(p * (1 - p) / (m - 1));
}

/* Returns the mean over attempts that ended. */
static double mean(double sum, double ended) { return ended > 0 ? sum / ended : NAN; }

int evaluate_play(Evaluator *evaluator, Ops *ops, const Agent *agent, const ObsPipeline *pipeline, uint64_t seed,
                  int64_t number, StoreEvaluation *row) {
  const EvalPlayer player = {agent, pipeline, ops};
  const size_t levels = (size_t)evaluator->levels;
  memset(evaluator->ended, 0, levels * sizeof *evaluator->ended);
  memset(evaluator->solutions, 0, levels * sizeof *evaluator->solutions);
  evaluator->info = (EnvInfoTable){0};
  *row = (StoreEvaluation){0};
  core_text_copy(row->level_set, sizeof row->level_set, "train", "level set");
  TRY(ranks_agree(evaluator->env ? play(evaluator, &player, seed, number, row) : CORE_OK));
  if (evaluator->has_info) env_info_reduce(&evaluator->info);

  double sums[] = {row->episode_return, row->episode_length, row->goals};
  ranks_sum(sums, 3);
  ranks_sum_counts(evaluator->ended, (size_t)evaluator->levels);
  ranks_sum_counts(evaluator->solutions, (size_t)evaluator->levels);
  for (int i = 0; i < evaluator->levels; i++) row->episodes += (double)evaluator->ended[i];
  row->episode_return = mean(sums[0], row->episodes);
  row->episode_length = mean(sums[1], row->episodes);
  row->goals = evaluator->counts_goals ? mean(sums[2], row->episodes) : NAN;

  row->solve_rate = row->solve_rate_se = NAN;
  if (evaluator->solves) evaluate_average(evaluator->ended, evaluator->solutions, evaluator->levels, row);
  else average_successes(&evaluator->info, row);
  return CORE_OK;
}

/* ---- level sets of eval.levels ----------------------------------------------------------------------------------- */

_Static_assert((int)EVALUATION_SETS_MAX == (int)LEVELS_PARTS_MAX && (int)ENV_SET_NAME == (int)LEVELS_NAME,
               "limits of sets and names agree");

/* Checks a set's name, which is a key in the log. */
static int check_name(const EvaluationSets *sets, int i) {
  bool is_duplicate = strcmp(sets->set[i].name, "train") == 0;
  for (int k = 0; k < i; k++) is_duplicate |= strcmp(sets->set[i].name, sets->set[k].name) == 0;
  if (!is_duplicate) return CORE_OK;
  return core_error(CORE_USAGE, "eval.levels: two sets are named %s; rename the directory or file",
                    sets->set[i].name);
}

int evaluation_sets_register(EvaluationSets *sets, const CoreConfig *config, const Env *trained, int worlds,
                             CoreArena *arena) {
  int count = 0;
  if (config->eval.count > 0) TRY(env_evaluation_sets(config, trained, &count));
  for (int i = 0; i < count; i++) {
    EvaluationSet *set = &sets->set[i];
    TRY(env_create_evaluation(config, trained, i, &(EnvBatch){.worlds = 1}, &set->levels, set->name));
    sets->count++;
    TRY(check_name(sets, i));
    evaluate_register(&set->evaluator, config, set->levels, worlds, arena);
  }
  return CORE_OK;
}

int evaluation_sets_estimate_bytes(const EvaluationSets *sets, double *bytes) {
  *bytes = 0;
  for (int i = 0; i < sets->count; i++) {
    double of_set;
    TRY(env_estimate_bytes(sets->set[i].levels, sets->set[i].evaluator.worlds, &of_set));
    *bytes += of_set;
  }
  return CORE_OK;
}

int evaluation_sets_create(EvaluationSets *sets, uint64_t seed, CoreDevice *device) {
  for (int i = 0; i < sets->count; i++)
    TRY(evaluate_create(&sets->set[i].evaluator, sets->set[i].levels, seed, device));
  return CORE_OK;
}

void evaluation_sets_destroy(EvaluationSets *sets) {
  for (int i = 0; i < sets->count; i++) {
    evaluate_destroy(&sets->set[i].evaluator);
    env_destroy(&sets->set[i].levels);
  }
  sets->count = 0;
}

int evaluation_sets_play(EvaluationSets *sets, int i, Ops *ops, const Agent *agent, const ObsPipeline *pipeline,
                         uint64_t seed, int64_t number, StoreEvaluation *row) {
  const uint64_t stream = seed | (uint64_t)(i + 1) << 32; /* seeds have 32 bits */
  TRY(evaluate_play(&sets->set[i].evaluator, ops, agent, pipeline, stream, number, row));
  core_text_copy(row->level_set, sizeof row->level_set, sets->set[i].name, "level set");
  return CORE_OK;
}
