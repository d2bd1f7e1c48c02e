/* Included by tests of `analyze claims`: runs with a known truth, and the claims found in them. */
#ifndef TESTS_UNIT_CLAIMS_WORLD_H
#define TESTS_UNIT_CLAIMS_WORLD_H
#include "test.h"

#include "analysis/claims/claims.h"
#include "core/random.h"

/* 16 seeds: a setting with fewer may hide that a fifth of its runs fails (allowance.h). */
enum { RUNS_MAX = 2000, SEEDS = 16 };

typedef struct World {
  AnalysisRun *runs;
  AnalysisRunMetrics *measured;
  size_t count;
} World;

static World world_create(void) {
  return (World){calloc(RUNS_MAX, sizeof(AnalysisRun)), calloc(RUNS_MAX, sizeof(AnalysisRunMetrics)), 0};
}

static void world_free(World *world) {
  for (size_t r = 0; r < world->count; r++) free((void *)world->runs[r].config.shared);
  free(world->runs);
  free(world->measured);
}

/* A finished run in which every measure is `score`. */
static AnalysisRunMetrics *add_run(World *world, const CoreConfig *config, double score) {
  AnalysisRun *run = &world->runs[world->count];
  AnalysisRunMetrics *measured = &world->measured[world->count++];
  CoreConfig *own = malloc(sizeof *own);
  *own = *config;
  run->config = (AnalysisConfig){own, config->train.seed};
  run->status = STORE_FINISHED;
  core_config_id(config, run->id);
  core_config_cell_id(config, run->cell);
  run->transitions_per_iteration = core_config_transitions_per_iteration(config);
  for (size_t m = 0; m < ANALYSIS_MEASURES; m++) measured->value[m] = score;
  measured->value[ANALYSIS_MEASURE_late_gain] = 0.01 * score; /* on a plateau, and no two alike */
  measured->ended = measured->rated = true;
  return measured;
}

static double noise(uint64_t seed, uint32_t a, uint32_t b) {
  CoreRandom4 words = core_random_4(seed, CORE_RANDOM_TEST, a, b, 0);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

static CoreConfig ewma(double com, int seed) {
  CoreConfig config = core_config_default();
  snprintf(config.algo.name, sizeof config.algo.name, "ppo_ewma");
  config.ppo.com = com;
  config.train.seed = seed;
  return config;
}

static inline AnalysisClaimResult finding_of(const World *world, const char *id) {
  static AnalysisCode codes[] = {{"aa", "a.py aa"}, {"bb", "a.py bb"}, {"aa+bb", "a.py bb; before: a.py aa"}};
  AnalysisSelection selection = {.runs = world->runs, .count = world->count, .code = codes, .codes = 3};
  AnalysisClaimResult *list, found = {0};
  size_t count;
  const AnalysisClaimsOptions asked = {.ids = &id, .id_count = 1};
  if (analysis_claims_test(NULL, &selection, world->measured, NULL, &asked, &list, &count) != CORE_OK)
    fail_msg("%s", core_error_message());
  found = list[0];
  analysis_claims_free(&list, count);
  assert_non_null(found.claim);
  return found;
}

/* COM 2, 8, ..., 512 with the given mean scores. */
static inline World com_world(const double *mean, double sd) {
  World world = world_create();
  for (int c = 0; c < 5; c++) {
    for (int seed = 0; seed < SEEDS; seed++) {
      CoreConfig config = ewma(2 * pow(4, c), seed);
      add_run(&world, &config, mean[c] + sd * noise(1, (uint32_t)c, (uint32_t)seed));
    }
  }
  return world;
}
#endif
