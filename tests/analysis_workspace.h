/* Writes a workspace as a sweep of two grids would leave it (run directories, run logs, results.db with the sweep),
 * through the store's own interfaces, for tests and measurements of the analysis. The numbers are a model of learning,
 * not a result: a setting that moves the policy far for its data learns fast and stalls early. Test programs only. */
#ifndef TESTS_ANALYSIS_WORKSPACE_H
#define TESTS_ANALYSIS_WORKSPACE_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "store/database/database.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"

typedef struct Workspace {
  const char *root;
  int64_t iterations, evaluations; /* per run */
  int seeds;
} Workspace;

enum { WORKSPACE_EWMA = 6, WORKSPACE_PPO = 6, WORKSPACE_NK = 8192 };

/* Configuration 0..5: PPO-EWMA with a growing center of mass; 6..11: PPO with a growing epsilon. */
static inline CoreConfig workspace_config(const Workspace *w, int configuration, int seed) {
  static const double com[WORKSPACE_EWMA] = {2, 8, 32, 128, 512, 2048},
                      epsilon[WORKSPACE_PPO] = {0.025, 0.05, 0.1, 0.2, 0.4, 0.8};
  CoreConfig config = core_config_default();
  bool ewma = configuration < WORKSPACE_EWMA;
  snprintf(config.algo.name, sizeof config.algo.name, "%s", ewma ? "ppo_ewma" : "ppo");
  if (ewma) config.ppo.com = com[configuration];
  else config.ppo.epsilon = epsilon[configuration - WORKSPACE_EWMA];
  config.env.num = 128;
  config.ppo.num_steps = WORKSPACE_NK / 128;
  config.train.total_steps = w->iterations * WORKSPACE_NK - 100; /* not whole iterations, as people write budgets */
  config.train.seed = seed;
  config.eval.count = w->evaluations;
  return config;
}

/* KL an iteration, falling with COM and rising with epsilon. */
static inline double workspace_kl(const CoreConfig *config) {
  bool ewma = config->algo.name[3] == '_';
  return ewma ? 0.5 / pow(config->ppo.com, 0.62) : 0.4 * pow(config->ppo.epsilon, 0.9);
}

static inline double workspace_noise(const CoreConfig *config, uint32_t a, uint32_t b) {
  CoreRandom4 words =
      core_random_4((uint64_t)config->train.seed * 7919 + (uint64_t)(config->ppo.com * 64 + config->ppo.epsilon * 1e6),
                    CORE_RANDOM_TEST, a, b, 0);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

/* Solve rate after a share `t` of the budget. */
static inline double workspace_solve_rate(const CoreConfig *config, double t) {
  double speed = log10(1 + 2000 * workspace_kl(config)),
         plateau = 0.95 - 0.23 * speed + 0.03 * workspace_noise(config, 1, 0);
  double learnt = 1 - exp(-t * 1.6 * speed * speed);
  return fmin(1, fmax(0, 0.03 + (plateau - 0.03) * learnt));
}

static inline StoreIteration workspace_iteration(const Workspace *w, const CoreConfig *config, int64_t iteration) {
  StoreIteration row = store_iteration_unmeasured(iteration);
  double t = (double)iteration / (double)w->iterations;
  row.transitions = (double)(iteration * WORKSPACE_NK);
  row.kl = workspace_kl(config) * exp(0.25 * workspace_noise(config, 2, (uint32_t)iteration)) * (1.1 - 0.3 * t);
  row.kl_reverse = 1.1 * row.kl;
  row.ddr = WORKSPACE_NK / fmax(row.kl, 1e-12);
  row.grad_norm_actor = 0.4 + 0.6 * exp(-4 * t) + 0.02 * workspace_noise(config, 3, (uint32_t)iteration);
  row.entropy = 6 - 3 * t;
  row.solve_rate = workspace_solve_rate(config, t);
  row.steps_per_second = 40000;
  row.wall_seconds = row.transitions / row.steps_per_second;
  return row;
}

/* One run: its directory, its logs up to iteration `until`, its state. */
static inline int workspace_write_run(const Workspace *w, const CoreConfig *config, int64_t until, StoreStatus status) {
  char id[CORE_RUN_ID];
  StoreRunlog *stats = NULL, *eval = NULL;
  TRY(store_run_prepare(w->root, config, id));
  TRY(store_runlog_open(w->root, id, 1, STORE_LOG_STATS, &stats));
  TRY(store_runlog_open(w->root, id, 1, STORE_LOG_EVAL, &eval));
  for (int64_t i = 0; i <= until; i++) {
    StoreIteration row = workspace_iteration(w, config, i);
    if (i > 0) store_runlog_iteration(stats, &row);
    int64_t every = w->iterations / w->evaluations > 0 ? w->iterations / w->evaluations : 1;
    if (i % every != 0 && i != w->iterations) continue;
    double rate = fmin(1, fmax(0, row.solve_rate + 0.008 * workspace_noise(config, 4, (uint32_t)i)));
    StoreEvaluation point = {.iteration = i,
                             .level_set = "train",
                             .transitions = (double)(i * WORKSPACE_NK),
                             .solve_rate = rate,
                             .solve_rate_se = NAN,
                             .episodes = 512,
                             .episode_return = rate,
                             .episode_length = 200};
    store_runlog_evaluation(eval, &point);
    memcpy(point.level_set, "easy", sizeof "easy"); /* levels that every policy solves: figures speak of "train" */
    point.solve_rate = 1;
    store_runlog_evaluation(eval, &point);
  }
  StoreState state = {.status = status,
                      .attempt = 1,
                      .host = "test",
                      .pid = 1,
                      .iteration = until,
                      .iterations = w->iterations,
                      .started_unix_s = 1.7e9,
                      .heartbeat_unix_s = 1.7e9,
                      .finished_unix_s = 1.7e9,
                      .transitions = until * WORKSPACE_NK,
                      .transitions_total = config->train.total_steps,
                      .device = "cpu",
                      .commit = "abc1234",
                      .solve_rate = NAN,
                      .steps_per_second = 40000};
  if (status == STORE_DIVERGED) snprintf(state.message, sizeof state.message, "NaN in the loss");
  int first = store_runlog_close(&stats), second = store_runlog_close(&eval);
  TRY(first);
  TRY(second);
  return store_run_state_write(w->root, id, &state);
}

/* All runs of 12 configurations; the last seed of eps 0.8 diverged at 40 %, that of com 2048 stopped at 60 %. */
static inline int workspace_write(const Workspace *w) {
  for (int c = 0; c < WORKSPACE_EWMA + WORKSPACE_PPO; c++) {
    for (int seed = 0; seed < w->seeds; seed++) {
      CoreConfig config = workspace_config(w, c, seed);
      bool last = seed == w->seeds - 1, diverged = last && c == 11, stopped = last && c == 5;
      int64_t until = diverged ? w->iterations * 2 / 5 : stopped ? w->iterations * 3 / 5 : w->iterations;
      TRY(workspace_write_run(w, &config, until, diverged ? STORE_DIVERGED : stopped ? STORE_STOPPED : STORE_FINISHED));
    }
  }
  return CORE_OK;
}

/* results.db with the sweep "two_grids" and its members; the runs' data are left to the import. */
static inline int workspace_register(const Workspace *w) {
  char path[CORE_PATH_MAX], id[CORE_RUN_ID];
  StoreDatabase *database = NULL;
  TRY(store_path_database(w->root, path));
  TRY(store_database_open(path, false, &database));
  int code = store_database_begin(database);
  if (code == CORE_OK) code = store_database_put_sweep(database, "two_grids", "[sweep]\nname = two_grids\n");
  for (int c = 0; c < WORKSPACE_EWMA + WORKSPACE_PPO && code == CORE_OK; c++) {
    for (int seed = 0; seed < w->seeds && code == CORE_OK; seed++) {
      CoreConfig config = workspace_config(w, c, seed);
      core_config_id(&config, id);
      code = store_database_put_run(database, "two_grids", c * w->seeds + seed, &config, id);
    }
  }
  if (code == CORE_OK) code = store_database_commit(database);
  else store_database_rollback(database);
  store_database_close(&database);
  return code;
}

#endif
