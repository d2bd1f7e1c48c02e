/* trainer/normalize: statistics against the two-pass definition, each rule's prior, bounds and moment of change,
 * rewards against a replay in double of gym's and ppo-ewma's normalizers; the observer's column of blocks. */
#include "test.h"

#include <omp.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/wrappers/obs_pipeline.h"

enum { FEATURES = 37, ROWS = 50, BATCHES = 4 };

/* Batches whose features differ in scale and place. */
static float *numbers(void) {
  float *x = core_memory_allocate(sizeof *x * BATCHES * ROWS * FEATURES);
  CoreRandomStream random = core_random_stream(3, CORE_RANDOM_TEST, 1, 0);
  for (int i = 0; i < BATCHES * ROWS * FEATURES; i++)
    x[i] = core_random_uniform(&random, -1, 1) * (float)pow(10, i % FEATURES % 5 - 2) + (float)(i % FEATURES) * 100;
  return x;
}

static void test_moments_by_the_definition(void **state) {
  float *x = numbers();
  double count = 0, mean[FEATURES] = {0}, m2[FEATURES] = {0};
  const int sizes[] = {1, 99, 30, 70}; /* all BATCHES * ROWS rows, cut otherwise */
  for (int b = 0, first = 0; b < 4; first += sizes[b++])
    count = normalize_merge(count, mean, m2, FEATURES, x + first * FEATURES, sizes[b]);
  assert_true(count == BATCHES * ROWS);
  for (int k = 0; k < FEATURES; k++) {
    double sum = 0, squares = 0;
    for (int r = 0; r < BATCHES * ROWS; r++) sum += (double)x[r * FEATURES + k];
    for (int r = 0; r < BATCHES * ROWS; r++) squares += pow((double)x[r * FEATURES + k] - sum / count, 2);
    assert_true(fabs(mean[k] - sum / count) <= 1e-11 * (1 + fabs(mean[k])));
    assert_true(fabs(m2[k] / squares - 1) < 1e-9);
  }
  free(x);
}

static CoreArena *make(Normalizer *normalizer, NormalizeRule rule) {
  CoreArena *arena = core_arena_create("test");
  const Shards shards = shards_alone(ROWS);
  normalize_register(normalizer, rule, FEATURES, &shards, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  normalize_start(normalizer);
  return arena;
}

static void test_rules(void **state) {
  static const struct { NormalizeRule rule; double prior, added, limit; } rules[] = {
    {NORMALIZE_STOIX, 0, 0, INFINITY}, {NORMALIZE_CLEANRL, 1e-4, 1e-8, 10}, {NORMALIZE_RL_GAMES, 1, 1e-5, 5}};
  float *x = numbers(), y[ROWS * FEATURES];
  for (size_t i = 0; i < 3; i++) {
    Normalizer normalizer;
    CoreArena *arena = make(&normalizer, rules[i].rule);
    const bool at_once = rules[i].rule == NORMALIZE_CLEANRL;

    normalize_apply(&normalizer, x, ROWS, y, FEATURES); /* unchanged, except for the prior's epsilon and the bound */
    assert_true(fabs((double)y[0] - (double)x[0]) < 1e-5);
    assert_true(fabs((double)y[FEATURES - 1] - fmin((double)x[FEATURES - 1], rules[i].limit)) < 1e-3);

    normalize_add(&normalizer, x, ROWS);
    assert_true(normalizer.moments[0] == rules[i].prior + (at_once ? ROWS : 0));
    normalize_advance(&normalizer);
    assert_true(normalizer.moments[0] == rules[i].prior + ROWS);

    normalize_apply(&normalizer, x, ROWS, y, FEATURES);

    for (int k = 0; k < FEATURES; k++) { /* by the definition, with the prior's rows of mean 0 and variance 1 */
      double n = ROWS + rules[i].prior, sum = 0, squares = rules[i].prior;
      for (int r = 0; r < ROWS; r++) sum += (double)x[r * FEATURES + k];
      for (int r = 0; r < ROWS; r++) squares += pow((double)x[r * FEATURES + k] - sum / n, 2);
      squares += rules[i].prior * pow(sum / n, 2);
      double want = ((double)x[k] - sum / n) / sqrt(squares / n + rules[i].added);
      want = fmin(fmax(want, -rules[i].limit), rules[i].limit);
      /* Stoix' one-pass sum of squares loses some digits of a feature that is far from 0 and hardly varies. */
      if (fabs((double)y[k] - want) > 1e-4) fail_msg("rule %zu feature %d: %g, want %g", i, k, (double)y[k], want);
    }
    core_arena_destroy(&arena);
  }
  free(x);
}

/* A feature that never changes and one that explodes: Stoix keeps deviations within bounds. */
static void test_deviations_have_bounds(void **state) {
  assert_true(normalize_factor(NORMALIZE_STOIX, 10, 0) == 1 / 5e-4);
  assert_true(normalize_factor(NORMALIZE_STOIX, 10, -1e-30) == 1 / 5e-4); /* a sum that rounding made negative */
  assert_true(normalize_factor(NORMALIZE_STOIX, 10, 1e30) == 1 / 5e4);
  assert_true(normalize_factor(NORMALIZE_STOIX, 0, 0) == 1);
}

static void test_threads_and_restoring(void **state) {
  float *x = numbers(), *y[2];
  Normalizer normalizer[2];
  CoreArena *arena[2];
  enum { MANY = BATCHES * ROWS };
  for (int i = 0; i < 2; i++) {
    omp_set_num_threads(1 + 2 * i);
    arena[i] = make(&normalizer[i], NORMALIZE_CLEANRL);
    y[i] = core_memory_allocate(sizeof(float) * MANY * FEATURES);
    for (int repeat = 0; repeat < 20; repeat++) normalize_add(&normalizer[i], x, MANY);
  }
  assert_memory_equal(normalizer[0].moments, normalizer[1].moments, normalize_moments(FEATURES) * sizeof(double));
  normalize_start(&normalizer[1]);
  memcpy(normalizer[1].moments, normalizer[0].moments, normalize_moments(FEATURES) * sizeof(double));
  normalize_restored(&normalizer[1]);
  for (int i = 0; i < 2; i++) {
    normalize_add(&normalizer[i], x, ROWS);
    normalize_apply(&normalizer[i], x, MANY, y[i], FEATURES);
  }
  assert_memory_equal(y[0], y[1], sizeof(float) * MANY * FEATURES);
  for (int i = 0; i < 2; i++) {
    core_arena_destroy(&arena[i]);
    free(y[i]);
  }
  free(x);
}

/* ---- rewards ------------------------------------------------------------------------------------------------------
 * */

enum { WORLDS = 3, STEPS = 40 };

/* gym's NormalizeReward and ppo-ewma's RewardNormalizer, by lists of all returns so far. */
static void test_rewards_by_replay(void **state) {
  for (int rule = REWARD_CLEANRL; rule <= REWARD_PPO_EWMA; rule++) {
    RewardScale scale;
    CoreArena *arena = core_arena_create("test");
    float rewards[STEPS * WORLDS], raw[STEPS * WORLDS];
    double all[STEPS * WORLDS], running[WORLDS] = {0};
    uint8_t dones[STEPS * WORLDS];
    int n = 0;

    CoreRandomStream random = core_random_stream(4, CORE_RANDOM_TEST, 2, 0);
    reward_register(&scale, (RewardRule)rule, 0.9, WORLDS, WORLDS, arena);
    assert_int_equal(core_arena_commit(arena), CORE_OK);
    reward_start(&scale);

    for (int i = 0; i < STEPS * WORLDS; i++) {
      raw[i] = rewards[i] = core_random_uniform(&random, -1, 3) * (i == 50 ? 1000 : 1);
      dones[i] = i % 7 == 3;
    }
    for (int t = 0; t < STEPS; t++) reward_step(&scale, rewards + t * WORLDS, dones + t * WORLDS, NULL);
    reward_finish(&scale, rewards, STEPS * WORLDS);

    for (int i = 0; i < STEPS * WORLDS; i++) {
      const int w = i % WORLDS;
      all[n++] = running[w] = running[w] * 0.9 + (double)raw[i];
      if (dones[i]) running[w] = 0;
    }

    for (int i = 0; i < STEPS * WORLDS; i++) {
      const int seen = rule == REWARD_PPO_EWMA ? n : (i / WORLDS + 1) * WORLDS;
      double count = seen + 1e-4, mean = 0, squares = 1e-4;
      for (int k = 0; k < seen; k++) mean += all[k] / count;
      for (int k = 0; k < seen; k++) squares += pow(all[k] - mean, 2);
      squares += 1e-4 * mean * mean;
      const double want = fmin(fmax((double)raw[i] / sqrt(squares / count + 1e-8), -10), 10);
      if (fabs((double)rewards[i] - want) > 1e-5)
        fail_msg("rule %d, %d: %g, want %g", rule, i, (double)rewards[i], want);
    }

    core_arena_destroy(&arena);
  }
}

/* gymnasium's NormalizeReward in each world, likewise: a terminating step's reward begins a new return, a truncated
 * one's continues. */
static void test_rewards_of_each_world(void **state) {
  RewardScale scale;
  CoreArena *arena = core_arena_create("test");
  float rewards[WORLDS], raw[WORLDS];
  double all[WORLDS][STEPS], running[WORLDS] = {0};
  CoreRandomStream random = core_random_stream(4, CORE_RANDOM_TEST, 3, 0);
  (void)state;

  reward_register(&scale, REWARD_CLEANRL_EACH, 0.9, WORLDS, WORLDS, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  reward_start(&scale);

  for (int t = 0; t < STEPS; t++) {
    uint8_t dones[WORLDS], truncated[WORLDS];
    for (int w = 0; w < WORLDS; w++) {
      raw[w] = rewards[w] = core_random_uniform(&random, -1, 3);
      dones[w] = (t + w) % 5 == 4;
      truncated[w] = dones[w] && (t + w) % 10 == 4;
    }

    reward_step(&scale, rewards, dones, truncated);
    for (int w = 0; w < WORLDS; w++) {
      double count = t + 1 + 1e-4, mean = 0, squares = 1e-4;
      all[w][t] = running[w] = (dones[w] && !truncated[w] ? 0 : running[w] * 0.9) + (double)raw[w];
      for (int k = 0; k <= t; k++) mean += all[w][k] / count;
      for (int k = 0; k <= t; k++) squares += pow(all[w][k] - mean, 2);
      squares += 1e-4 * mean * mean;
      const double want = fmin(fmax((double)raw[w] / sqrt(squares / count + 1e-8), -10), 10);
      if (fabs((double)rewards[w] - want) > 1e-5)
        fail_msg("step %d, world %d: %g, want %g", t, w, (double)rewards[w], want);
    }
  }

  core_arena_destroy(&arena);
}

/* ---- the observer -------------------------------------------------------------------------------------------------
 * */

static void test_blocks_are_the_last_column(void **state) {
  CoreConfig config = core_config_default();
  const Env env = {.observation_length = 2};
  ObsPipeline pipeline;
  CoreArena *arena = core_arena_create("test");
  float seen[6 * 3];
  snprintf(config.algo.name, sizeof config.algo.name, "sapg");
  config.sapg.blocks = 3;
  const Shards shards = shards_alone(6);
  obs_register(&pipeline, &config, &env, &shards, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  obs_start(&pipeline);
  assert_true(pipeline.active && pipeline.seen == 3 && pipeline.first_reported == 4);
  for (int i = 0; i < 12; i++) pipeline.raw[i] = (float)i;
  obs_transform(&pipeline, seen);
  for (int w = 0; w < 6; w++)
    assert_true(seen[w * 3] == (float)(2 * w) && seen[w * 3 + 1] == (float)(2 * w + 1) &&
                seen[w * 3 + 2] == (float)(w / 2));
  obs_transform_eval(&pipeline, pipeline.raw, 6, seen);
  for (int w = 0; w < 6; w++) assert_true(seen[w * 3] == (float)(2 * w) && seen[w * 3 + 2] == 2);
  core_arena_destroy(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_moments_by_the_definition), cmocka_unit_test(test_rules),
    cmocka_unit_test(test_deviations_have_bounds), cmocka_unit_test(test_threads_and_restoring),
    cmocka_unit_test(test_rewards_by_replay), cmocka_unit_test(test_rewards_of_each_world),
    cmocka_unit_test(test_blocks_are_the_last_column),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
