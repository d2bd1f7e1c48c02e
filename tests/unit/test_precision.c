/* train.precision and train.observation_storage in complete trainings: half-precision values to the bit, equal
 * inputs for acting and learning, memory, and rejected settings. test_bf16.c tests bf16 products. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "tests/training_tools.h"
#include "trainer/ops/cpu/cpu_internal.h"

/* ---- half precision ---------------------------------------------------------------------------------------------- */

/* By definition: 10 stored bits behind a leading one from 2^-14 on, fixed point of 2^-24 below. */
static double half_value(uint16_t half) {
  const int exponent = half >> 10 & 31, digits = half & 1023;
  const double magnitude = exponent == 31 ? (digits ? NAN : INFINITY)
                           : exponent == 0 ? ldexp(digits, -24) : ldexp(1024 + digits, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

static void test_every_half_is_read_exactly(void **unused) {
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const uint16_t half = (uint16_t)bits;
    uint16_t back;
    float x;
    cpu_halves_to_floats(&half, 1, &x);
    if (isnan(half_value(half))) {
      assert_true(isnan(x));
      continue;
    }
    assert_true((double)x == half_value(half) && !signbit(x) == !(half >> 15));
    cpu_floats_to_halves(&x, 1, &back);
    assert_int_equal(back, half);
  }
}

/* Between neighboring halves, around the points half-way, where the nearer or even one is right. */
static void test_floats_become_the_nearest_half(void **unused) {
  for (uint16_t half = 0; half < 0x7bff; half++) {
    const double low = half_value(half), high = half_value((uint16_t)(half + 1)), middle = (low + high) / 2;
    const float x[] = {(float)middle, nextafterf((float)middle, 0), nextafterf((float)middle, INFINITY),
                       -(float)middle};
    const uint16_t even = half & 1 ? half + 1 : half;
    const uint16_t want[] = {even, half, (uint16_t)(half + 1), even | 0x8000};
    uint16_t got[4];
    cpu_floats_to_halves(x, 4, got);
    for (int i = 0; i < 4; i++) assert_int_equal(got[i], want[i]);
  }
  const float edges[] = {65504, 65519, 65536, 3e38f, -1e6f, INFINITY, -INFINITY, 1e-9f, -0.0f};
  const uint16_t want[] = {0x7bff, 0x7bff, 0x7bff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0, 0x8000};
  uint16_t got[9], nan_half;
  const float nan_float = NAN;
  cpu_floats_to_halves(edges, 9, got);
  assert_memory_equal(got, want, sizeof want);
  cpu_floats_to_halves(&nan_float, 1, &nan_half);
  assert_true(isnan(half_value(nan_half)));
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) static uint16_t by_the_processor(float x) {
  return (uint16_t)__builtin_ia32_vcvtps2ph((__attribute__((vector_size(16))) float){x}, 0)[0];
}

static void test_the_processor_says_the_same(void **unused) {
  if (!__builtin_cpu_supports("f16c")) skip();
  for (uint32_t i = 0; i < 200000; i++) {
    const CoreRandom4 random = core_random_4(3, CORE_RANDOM_TEST, 1, i, 0);
    float x;
    uint16_t half;
    memcpy(&x, &random.v[0], sizeof x);
    if (isnan(x) || fabsf(x) > 65504) continue;
    cpu_floats_to_halves(&x, 1, &half);
    assert_int_equal(half, by_the_processor(x));
  }
}
#else
static void test_the_processor_says_the_same(void **unused) { skip(); }
#endif

/* ---- trainings --------------------------------------------------------------------------------------------------- */

static CoreConfig small_config(const char *algorithm, const char *storage, const char *precision) {
  CoreConfig config = core_config_default();
  const char *const pairs[] = {
    "env.morphologies=car",     "env.difficulty=0", "env.level_count=4", "env.num=48",  "ppo.num_steps=16",
    "ppo.num_minibatches=1",    "ppo.epochs=1",     "net.width=16",      "net.depth=2", "eval.count=0",
    "train.total_steps=100000", "train.threads=2"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) set(&config, pairs[i]);
  if (core_config_set(&config, "algo.name", algorithm) != CORE_OK ||
      core_config_set(&config, "train.observation_storage", storage) != CORE_OK ||
      core_config_set(&config, "train.precision", precision) != CORE_OK)
    fail_msg("%s", core_error_message());
  if (strcmp(algorithm, "sapg") == 0) {
    set(&config, "env.actions=continuous");
    set(&config, "sapg.blocks=4");
  }
  if (strcmp(algorithm, "pqn") == 0) set(&config, "env.actions=discrete");
  return config;
}

/* One step over all transitions, without a clip range: a ratio other than exactly 1 would count as clipped. */
static void test_what_acts_is_what_learns(void **unused) {
  static const char *const storages[] = {"float32", "float16"}, *const precisions[] = {"float32", "bf16"};
  for (int i = 0; i < 8; i++) {
    CoreConfig config = small_config(i / 4 ? "ppo_ewma" : "ppo", storages[i & 1], precisions[i / 2 & 1]);
    set(&config, "ppo.epsilon=0");
    set(&config, "ppo.com=0"); /* ppo_ewma: around the weights themselves */
    if (i / 4) set(&config, "env.normalize_observations=cleanrl");
    Training *training = make(&config);
    StoreIteration row;
    for (int k = 0; k < 2; k++) {
      if (training_iterate(training, &row) != CORE_OK) fail_msg("%s", core_error_message());
      if (row.clip_fraction != 0 || !(row.kl > 0))
        fail_msg("case %d, iteration %d: clip fraction %g, KL %g", i, k + 1, row.clip_fraction, row.kl);
    }
    training_destroy(&training);
  }
}

static Training *trained(const char *algorithm, const char *storage, const char *precision) {
  const CoreConfig config = small_config(algorithm, storage, precision);
  Training *training = make(&config);
  StoreIteration row;
  for (int i = 0; i < 2; i++)
    if (training_iterate(training, &row) != CORE_OK) fail_msg("%s: %s", algorithm, core_error_message());
  return training;
}

/* Every learner's results change, but only slightly, and its observations are half-precision values. */
static void test_every_learner_learns_from_halves(void **unused) {
  static const char *const algorithms[] = {"ppo", "ppo_ewma", "sapg", "pqn"};
  for (int i = 0; i < 4; i++) {
    Training *full = trained(algorithms[i], "float32", "float32"), *half = trained(algorithms[i], "float16", "float32");
    const AgentNetwork *a = &full->agent.actor, *b = &half->agent.actor;
    double apart = 0, norm = 0;
    for (size_t k = 0; k < a->n; k++) {
      apart += pow((double)a->theta[k] - (double)b->theta[k], 2);
      norm += pow((double)a->theta[k], 2);
    }
    assert_true(apart > 0 && sqrt(apart / norm) < 0.05);
    const Rollout *rollout = &half->rollout;
    const size_t numbers = (size_t)rollout->worlds * (size_t)rollout->features;
    float *rounded = core_memory_allocate(numbers * sizeof *rounded);
    memcpy(rounded, rollout->observations, numbers * sizeof *rounded);
    ops_round_to_halves(rounded, numbers);
    assert_memory_equal(rounded, rollout->observations, numbers * sizeof *rounded);
    cpu_halves_to_floats(rollout->halves + (size_t)rollout->steps * numbers, numbers, rounded);
    assert_memory_equal(rounded, rollout->observations, numbers * sizeof *rounded);
    free(rounded);
    training_destroy(&full);
    training_destroy(&half);
  }
}

static double planned_bytes(const CoreConfig *config) {
  Training *training;
  if (training_plan(config, &training) != CORE_OK) fail_msg("%s", core_error_message());
  const double bytes = training->plan.buffer_bytes;
  training_destroy(&training);
  return bytes;
}

/* Half the memory of (steps + 1) blocks of observations, except two float32 blocks of one step: raw and transformed. */
static void test_memory_is_planned(void **unused) {
  CoreConfig full = small_config("ppo", "float32", "float32"), half = small_config("ppo", "float16", "float32");
  Training *training = make(&full);
  const double block = 48.0 * training->rollout.features;
  training_destroy(&training);
  const double saved = planned_bytes(&full) - planned_bytes(&half);
  assert_true(fabs(saved - (17 * 2 - 2 * 4) * block) < 4 * CORE_MEMORY_ALIGNMENT);
}

static void test_lack_of_memory_names_the_setting(void **unused) {
  CoreConfig config = small_config("ppo", "float32", "float32");
  Training *training;
  set(&config, "env.num=4194304");
  set(&config, "ppo.num_steps=512");
  set(&config, "ppo.num_minibatches=1024");
  assert_int_equal(training_plan(&config, &training), CORE_OK);
  assert_int_equal(training_check_memory(training), CORE_FAIL);
  assert_message("train.observation_storage to float16");
  training_destroy(&training);
}

static void assert_refused(const CoreConfig *config, const char *message) {
  Training *training;
  assert_int_equal(training_plan(config, &training), CORE_USAGE);
  assert_message(message);
}

static void test_what_is_refused(void **unused) {
  const CoreConfig config = small_config("noisy_sgd", "float32", "bf16");
  assert_refused(&config, "train.precision = bf16: algo.name = noisy_sgd has no matrix products");
}

/* Settings that affect results: each gives another run. */
static void test_run_ids_differ(void **unused) {
  char ids[3][CORE_RUN_ID];
  const CoreConfig configs[] = {small_config("ppo", "float32", "float32"), small_config("ppo", "float16", "float32"),
                                small_config("ppo", "float32", "bf16")};
  for (int i = 0; i < 3; i++) core_config_id(&configs[i], ids[i]);
  assert_string_not_equal(ids[0], ids[1]);
  assert_string_not_equal(ids[0], ids[2]);
  assert_string_not_equal(ids[1], ids[2]);
}

/* Entities go through encoders of both kinds. */
static void test_encoders_learn_in_bf16(void **unused) {
  static const char *const encoders[] = {"net.encoder=set", "net.encoder=transformer"};
  for (int i = 0; i < 2; i++) {
    CoreConfig config = small_config("ppo", "float16", "bf16");
    set(&config, "env.observations=entity");
    set(&config, encoders[i]);
    set(&config, "env.num=8");
    set(&config, "ppo.epsilon=0");
    Training *training = make(&config);
    StoreIteration row;
    for (int k = 0; k < 2; k++) {
      if (training_iterate(training, &row) != CORE_OK) fail_msg("%s", core_error_message());
      assert_true(row.clip_fraction == 0 && row.kl > 0);
    }
    training_destroy(&training);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_half_is_read_exactly),
      cmocka_unit_test(test_floats_become_the_nearest_half),
      cmocka_unit_test(test_the_processor_says_the_same),
      cmocka_unit_test(test_what_acts_is_what_learns),
      cmocka_unit_test(test_every_learner_learns_from_halves),
      cmocka_unit_test(test_memory_is_planned),
      cmocka_unit_test(test_lack_of_memory_names_the_setting),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_run_ids_differ),
      cmocka_unit_test(test_encoders_learn_in_bf16),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
