/* trainer/advantage, moments and estimators: GAE against its definition as a sum, standardization, and values computed
 * by hand. */
#include "test.h"

#include "core/random.h"
#include "tests/oracle/learner.h"
#include "trainer/math/estimators.h"
#include "trainer/update/advantage.h"
#include "trainer_steps.h"

static Ops *ops;
static int set_up(void **unused) { return ops_cpu_create(2, 4096, 16, &ops); }
static int tear_down(void **unused) { return ops_destroy(&ops), 0; }

enum { STEPS = 40, WORLDS = 300 };
typedef struct Case {
  float reward[STEPS][WORLDS], value[STEPS + 1][WORLDS], bootstrap[STEPS][WORLDS], advantage[STEPS][WORLDS],
      target[STEPS][WORLDS];
  uint8_t done[STEPS][WORLDS], truncated[STEPS][WORLDS];
} Case;
static Case c;

static void fill(uint32_t done_of_16, uint32_t truncated_of_16) {
  CoreRandomStream random = core_random_stream(2, CORE_RANDOM_TEST, done_of_16, truncated_of_16);
  for (int t = 0; t <= STEPS; t++)
    for (int n = 0; n < WORLDS; n++) {
      c.value[t][n] = core_random_uniform(&random, -2, 2);
      if (t == STEPS) continue;
      c.reward[t][n] = core_random_uniform(&random, -1, 1);
      c.bootstrap[t][n] = core_random_uniform(&random, -2, 2);
      c.done[t][n] = core_random_below(core_random_next(&random), 16) < done_of_16;
      c.truncated[t][n] = !c.done[t][n] && core_random_below(core_random_next(&random), 16) < truncated_of_16;
    }
}

/* One world's columns as the definition wants them. */
static void compare_with_definition(double gamma, double lambda, double scale, int with_truncation) {
  AdvantageRule rule = {gamma, lambda, scale};
  advantage_estimate(ops, rule, c.reward[0], c.value[0], c.done[0], with_truncation ? c.truncated[0] : NULL,
                     with_truncation ? c.bootstrap[0] : NULL, STEPS, WORLDS, c.advantage[0], c.target[0]);
  for (int n = 0; n < WORLDS; n++) {
    double reward[STEPS], value[STEPS], next[STEPS];
    uint8_t done[STEPS], truncated[STEPS];
    for (int t = 0; t < STEPS; t++) {
      reward[t] = scale * (double)c.reward[t][n], value[t] = (double)c.value[t][n], done[t] = c.done[t][n];
      truncated[t] = with_truncation && c.truncated[t][n];
      next[t] = truncated[t] ? (double)c.bootstrap[t][n] : (double)c.value[t + 1][n];
    }
    for (int t = 0; t < STEPS; t++) {
      double want = oracle_gae(reward, value, next, done, truncated, STEPS, t, gamma, lambda);
      assert_true(fabs((double)c.advantage[t][n] - want) < 2e-5);
      assert_true(fabs((double)c.target[t][n] - (want + value[t])) < 2e-5);
    }
  }
}

static void test_gae_against_its_definition(void **unused) {
  const uint32_t rates[][2] = {{2, 0}, {0, 0}, {16, 0}, {2, 3}, {0, 16}};
  for (int i = 0; i < 5; i++) {
    fill(rates[i][0], rates[i][1]);
    compare_with_definition(0.995, 0.9, 1, rates[i][1] > 0);
    compare_with_definition(0.99, 1, 0.01, rates[i][1] > 0);
    compare_with_definition(0.9, 0, 1, rates[i][1] > 0);
  }
}

/* Values beyond an episode's end have no influence, however large. */
static void test_nothing_leaks_over_an_episode_end(void **unused) {
  float reward[2] = {1, 5}, value[3] = {0.5f, 1e30f, 7}, advantage[2], target[2];
  uint8_t done[2] = {1, 1};
  AdvantageRule rule = {0.99, 0.95, 1};
  advantage_estimate(ops, rule, reward, value, done, NULL, NULL, 2, 1, advantage, target);
  assert_true(advantage[0] == 0.5f && target[0] == 1);
}

static void test_standardization(void **unused) {
  static const struct { AdvantageNorm norm; double extra_variance, extra_std; int unbiased;
  } rules[] = {{ADVANTAGE_STOIX_BATCH, 1e-5, 0, 0},
               {ADVANTAGE_KINETIX_MINIBATCH, 0, 1e-8, 0},
               {ADVANTAGE_CLEANRL_MINIBATCH, 0, 1e-8, 1}};
  for (int i = 0; i < 3; i++) {
    float a[5] = {1, 2, 3, 4, 5};
    Moments before;
    advantage_normalize(ops, rules[i].norm, a, 5, &before);
    double spread = sqrt((rules[i].unbiased ? 2.5 : 2.0) + rules[i].extra_variance) + rules[i].extra_std;
    assert_true(before.mean == 3 && before.m2 == 10);
    for (int k = 0; k < 5; k++) assert_true(fabs((double)a[k] - (k - 2) / spread) < 1e-6);
  }
  float raw[2] = {1, 2};
  advantage_normalize(ops, ADVANTAGE_RAW, raw, 2, NULL);
  assert_true(raw[0] == 1 && raw[1] == 2);
}

/* A spread of 1e-3 about 1e4 is a few float32 steps: E[A^2] - m^2 in float32 gives nonsense there. */
static void test_standardization_survives_a_large_mean(void **unused) {
  float a[1024];
  for (int i = 0; i < 1024; i++) a[i] = i % 2 ? 10000.001f : 9999.999f;
  double low = (double)a[0], high = (double)a[1], spread = sqrt((high - low) * (high - low) / 4 + 1e-5);
  advantage_normalize(ops, ADVANTAGE_STOIX_BATCH, a, 1024, NULL);
  for (int i = 0; i < 1024; i++) assert_true(fabs((double)a[i] - (i % 2 ? 1 : -1) * (high - low) / 2 / spread) < 1e-6);
}

static void test_standardizing_equal_advantages_gives_zeros(void **unused) {
  const AdvantageNorm norms[] = {ADVANTAGE_STOIX_BATCH, ADVANTAGE_KINETIX_MINIBATCH, ADVANTAGE_CLEANRL_MINIBATCH};
  for (int i = 0; i < 3; i++) {
    float a[100];
    for (int k = 0; k < 100; k++) a[k] = 0.3f;
    advantage_normalize(ops, norms[i], a, 100, NULL);
    for (int k = 0; k < 100; k++) assert_true(a[k] == 0);
  }
}

static void test_published_moments(void **unused) {
  Moments moments = {0};
  for (int i = 1; i <= 5; i++) moments_add(&moments, i);
  assert_true(moments.m2 == 10 && fabs(moments.m4 - 34) < 1e-12 && fabs(moments.m3) < 1e-12);
  assert_true(fabs(moments_kurtosis(&moments) - 1.7) < 1e-12);
  assert_true(moments_variance(&moments) == 2 && moments_variance_unbiased(&moments) == 2.5);
  Moments none = {0}, one = {0};
  moments_add(&one, 3);
  assert_true(isnan(moments_variance(&none)) && isnan(moments_variance_unbiased(&one)) &&
              isnan(moments_kurtosis(&one)));
}

static void test_merged_moments_are_those_of_the_whole(void **unused) {
  CoreRandomStream random = core_random_stream(8, CORE_RANDOM_TEST, 0, 0);
  Moments whole = {0}, merged = {0};
  const int sizes[] = {0, 1, 50, 2, 0, 700};
  for (int part = 0; part < 6; part++) {
    Moments own = {0};
    for (int i = 0; i < sizes[part]; i++) {
      double x = 100 + exp((double)core_random_uniform(&random, -1, 2));
      moments_add(&own, x);
      moments_add(&whole, x);
    }
    moments_merge(&merged, &own);
  }
  assert_true(merged.n == whole.n && fabs(merged.mean - whole.mean) < 1e-12 * whole.mean);
  assert_true(fabs(merged.m2 - whole.m2) < 1e-12 * whole.m2 && fabs(merged.m4 - whole.m4) < 1e-12 * whole.m4);
  assert_true(fabs(merged.m3 - whole.m3) < 1e-11 * whole.m4);
}

static double ess(const double *weights, int n) {
  LogSum l = log_sum_empty(), twice = log_sum_empty();
  for (int i = 0; i < n; i++) {
    log_sum_add(&l, log(weights[i]));
    log_sum_add(&twice, 2 * log(weights[i]));
  }
  return estimators_ess(&l, &twice);
}

static void test_published_estimators(void **unused) {
  const double equal[] = {1, 1, 1, 1}, uneven[] = {3, 1, 1, 1}, huge[] = {1e300, 1e300, 0};
  assert_true(fabs(ess(equal, 4) - 4) < 1e-12 && fabs(ess(uneven, 4) - 3) < 1e-12 && fabs(ess(huge, 3) - 2) < 1e-9);
  const double t[] = {1, 2, 3}, v[] = {1, 2, 2};
  Moments target = {0}, residual = {0}, constant = {0};
  for (int i = 0; i < 3; i++) {
    moments_add(&target, t[i]);
    moments_add(&residual, t[i] - v[i]);
    moments_add(&constant, 4);
  }
  assert_true(fabs(estimators_explained_variance(&target, &residual) - 0.666667) < 1e-6);
  assert_true(isnan(estimators_explained_variance(&constant, &residual)));
  assert_true(estimators_ddr(1000, 0) == 1000 / 1e-12 && estimators_ddr(1000, 0.5) == 2000);
  assert_true(estimators_guard_kl(-1e-9) == 1e-12 && estimators_guard_kl(0.1) == 0.1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gae_against_its_definition),
      cmocka_unit_test(test_nothing_leaks_over_an_episode_end),
      cmocka_unit_test(test_standardization),
      cmocka_unit_test(test_standardization_survives_a_large_mean),
      cmocka_unit_test(test_standardizing_equal_advantages_gives_zeros),
      cmocka_unit_test(test_published_moments),
      cmocka_unit_test(test_merged_moments_are_those_of_the_whole),
      cmocka_unit_test(test_published_estimators),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
