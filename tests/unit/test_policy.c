/* trainer/ops, heads and losses: log-probabilities, KL, sampling and the gradients of the actor and value losses
 * against their definitions in double, finite differences, published values and frequencies. */
#include "test.h"

#include "core/memory.h"
#include "tests/unit/ops_tools.h"

static const OpsHead uneven = {.factors = 3, .logits = 17, .size = {1, 11, 5}};

/* -------- heads ---------------------------------------------------------------------------------------------- */

static void test_logp_against_the_definition(void **unused) {
  enum { ROWS = 300 };
  Ops *ops = make_ops(2);
  const OpsHead *heads[] = {&kinetix, &uneven};
  for (int h = 0; h < 2; h++) {
    size_t n = (size_t)(ROWS * heads[h]->logits);
    float *z = normals(21, n, 3), logp[ROWS];
    double *zd = doubles(z, n), entropy;
    uint8_t *actions = random_actions(heads[h], ROWS);
    ops->policy_logp(ops, heads[h], z, actions, logp, ROWS);
    for (int r = 0; r < ROWS; r++)
      assert_near((double)logp[r],
                  oracle_logp(heads[h], zd + r * heads[h]->logits, actions + r * heads[h]->factors, &entropy), 5e-6);
    free(z), free(zd), free(actions);
  }
  ops_destroy(&ops);
}

static void test_kl_published_values(void **unused) {
  Ops *ops = make_ops(1);
  OpsHead pair = {.factors = 1, .logits = 2, .size = {2}};
  float p[] = {0, 0}, q[] = {logf(0.9f), logf(0.1f)};
  double kl, reverse;
  ops->policy_kl(ops, &pair, p, q, 1, &kl, &reverse);
  assert_near(kl, 0.510826, 5e-7); /* docs/algorithms.md#kl */
  assert_near(reverse, 0.368064, 5e-7);
  /* Between near policies KL is d^2 p (1 - p) / 2: float32 sums of p log(p/q) would lose it. */
  float near[] = {1.0f / 8192, 0};
  ops->policy_kl(ops, &pair, p, near, 1, &kl, &reverse);
  assert_near(kl / (0.125 / 8192 / 8192), 1, 1e-6);
  assert_near(reverse / kl, 1, 1e-6);
  /* A category with probability 0 contributes nothing. */
  float never[] = {200, -200};
  ops->policy_kl(ops, &pair, never, p, 1, &kl, &reverse);
  assert_near(kl, log(2), 1e-7);
  assert_true(isfinite(reverse) && reverse > 100);
  ops_destroy(&ops);
}

static void test_k3_published_values(void **unused) {
  Ops *ops = make_ops(1);
  OpsHead certain = {.factors = 1, .logits = 1, .size = {1}}; /* logp = 0 exactly */
  const double cases[][2] = {{0.1, 0.0051709}, {-0.1, 0.0048374}, {1e-4, 5.0001667e-9}};
  for (int i = 0; i < 3; i++) {
    float z = 0, behavior = (float)-cases[i][0], advantage = 1, gradient;
    uint8_t action = 0;
    OpsPolicySums sums;
    ops->policy_loss(ops, &certain, &z, &action, &behavior, NULL, &advantage, 1, 0.2, 0, &gradient, &sums);
    assert_near(sums.k3, cases[i][1], 1e-5 * cases[i][1]);
    assert_near(sums.k1, -cases[i][0], 1e-8);
  }
  ops_destroy(&ops);
}

/* Chi-square of the counts against the probabilities of one repeated row. */
static void test_sampling_frequencies(void **unused) {
  enum { ROWS = 4000, REPEATS = 10 };
  Ops *ops = make_ops(2);
  float *row = normals(31, (size_t)kinetix.logits, 1.2), *z = core_memory_allocate(sizeof(float) * ROWS * 16),
        logp[ROWS], again[ROWS];
  static uint8_t actions[ROWS * 6];
  int counts[16] = {0}, pairs[3][3] = {{0}};

  for (int r = 0; r < ROWS; r++) memcpy(z + r * 16, row, 16 * sizeof(float));

  for (int step = 0; step < REPEATS; step++) {
    ops->policy_sample(ops, &kinetix, z, ROWS, 5, CORE_RANDOM_ACTION, 0, (uint32_t)step, actions, logp);
    ops->policy_logp(ops, &kinetix, z, actions, again, ROWS);
    assert_memory_equal(logp, again, sizeof logp);
    for (int r = 0; r < ROWS; r++) {
      for (int f = 0, k = 0; f < 6; k += kinetix.size[f++]) {
        assert_true(actions[r * 6 + f] < kinetix.size[f]);
        counts[k + actions[r * 6 + f]]++;
      }
      pairs[actions[r * 6]][actions[r * 6 + 1]]++;
    }
  }

  double chi = 0, chi_pairs = 0, probability[16], n = ROWS * REPEATS;
  for (int f = 0, k = 0; f < 6; k += kinetix.size[f++]) {
    double sum = 0;
    for (int i = 0; i < kinetix.size[f]; i++) sum += exp((double)row[k + i]);
    for (int i = 0; i < kinetix.size[f]; i++) {
      probability[k + i] = exp((double)row[k + i]) / sum;
      chi += pow(counts[k + i] - n * probability[k + i], 2) / (n * probability[k + i]);
    }
  }

  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double want = n * probability[i] * probability[3 + j];
      chi_pairs += pow(pairs[i][j] - want, 2) / want;
    }

  assert_true(chi < 30);       /* 10 degrees of freedom: 99.9 % point 29.6 */
  assert_true(chi_pairs < 27); /* factors are independent; 8 degrees: 99.9 % point 26.1 */
  free(row), free(z);
  ops_destroy(&ops);
}

static void test_sampling_depends_on_world_and_step_only(void **unused) {
  enum { ROWS = 700 };
  Ops *ops = make_ops(2);
  float *z = normals(32, ROWS * 16, 1), logp[ROWS];
  uint8_t whole[ROWS * 6], parts[ROWS * 6], other[ROWS * 6];
  ops->policy_sample(ops, &kinetix, z, ROWS, 5, CORE_RANDOM_ACTION, 100, 9, whole, logp);
  ops->policy_sample(ops, &kinetix, z, 33, 5, CORE_RANDOM_ACTION, 100, 9, parts, logp);
  ops->policy_sample(ops, &kinetix, z + 33 * 16, ROWS - 33, 5, CORE_RANDOM_ACTION, 133, 9, parts + 33 * 6, logp + 33);
  assert_memory_equal(whole, parts, sizeof whole);
  const struct { uint64_t seed; uint32_t purpose, step; } changed[] = {
      {6, CORE_RANDOM_ACTION, 9}, {5, CORE_RANDOM_EVALUATE, 9}, {5, CORE_RANDOM_ACTION, 10}};
  for (int i = 0; i < 3; i++) {
    ops->policy_sample(ops, &kinetix, z, ROWS, changed[i].seed, changed[i].purpose, 100, changed[i].step, other, logp);
    assert_memory_not_equal(whole, other, sizeof whole);
  }
  free(z);
  ops_destroy(&ops);
}

static void test_impossible_actions_are_never_sampled(void **unused) {
  enum { ROWS = 2000 };
  Ops *ops = make_ops(1);
  OpsHead head = {.factors = 1, .logits = 4, .size = {4}};
  static float z[ROWS * 4], logp[ROWS];
  static uint8_t actions[ROWS];
  for (int r = 0; r < ROWS; r++) z[r * 4] = -300, z[r * 4 + 1] = 20, z[r * 4 + 2] = 20, z[r * 4 + 3] = -INFINITY;
  ops->policy_sample(ops, &head, z, ROWS, 1, CORE_RANDOM_ACTION, 0, 0, actions, logp);
  for (int r = 0; r < ROWS; r++) {
    assert_true(actions[r] == 1 || actions[r] == 2);
    assert_near((double)logp[r], -log(2), 1e-6);
  }
  ops_destroy(&ops);
}

/* -------- losses --------------------------------------------------------------------------------------------- */

static void compare_policy_loss(Ops *ops, const OpsHead *head, double epsilon, int with_proximal, double entropy_coef) {
  enum { ROWS = 37 };
  size_t n = (size_t)(ROWS * head->logits);
  float *z = normals(41, n, 1), *advantage = normals(42, ROWS, 1), *shift = normals(43, ROWS, 0.3),
        *shift_proximal = normals(44, ROWS, 0.3);
  float behavior[ROWS], proximal[ROWS], *gradient = normals(45, n, 1);
  double *zd = doubles(z, n), h = 1e-6, entropy;
  uint8_t *actions = random_actions(head, ROWS);
  OpsPolicySums sums;
  for (int r = 0; r < ROWS; r++) {
    double logp = oracle_logp(head, zd + r * head->logits, actions + r * head->factors, &entropy);
    behavior[r] = (float)logp + shift[r], proximal[r] = (float)logp + shift_proximal[r];
  }
  const float *given = with_proximal ? proximal : NULL;
  ops->policy_loss(ops, head, z, actions, behavior, given, advantage, ROWS, epsilon, entropy_coef, gradient, &sums);
  double want = oracle_policy_loss(head, zd, actions, behavior, given, advantage, ROWS, epsilon, entropy_coef);
  assert_near((sums.loss - entropy_coef * sums.entropy) / ROWS, want, 3e-6);
  for (size_t i = 0; i < n; i++) {
    double z0 = zd[i];
    zd[i] = z0 + h;
    double above = oracle_policy_loss(head, zd, actions, behavior, given, advantage, ROWS, epsilon, entropy_coef);
    zd[i] = z0 - h;
    double below = oracle_policy_loss(head, zd, actions, behavior, given, advantage, ROWS, epsilon, entropy_coef);
    zd[i] = z0;
    assert_near((double)gradient[i], (above - below) / (2 * h), 1e-6);
  }
  free(z), free(advantage), free(shift), free(shift_proximal), free(gradient), free(zd), free(actions);
}

static void test_policy_loss_gradient_by_differences(void **unused) {
  Ops *ops = make_ops(2);
  const double epsilons[] = {0.05, 0.2, 1, 1.5, INFINITY};
  const OpsHead *heads[] = {&kinetix, &uneven};
  for (int e = 0; e < 5; e++)
    for (int proximal = 0; proximal < 2; proximal++)
      for (int h = 0; h < 2; h++) compare_policy_loss(ops, heads[h], epsilons[e], proximal, 0.03);
  ops_destroy(&ops);
}

/* The clip's two-sided rule and its ties (docs/algorithms.md#losses), on one sample with a known ratio. d loss/d logp
 * is read from a pair of equal logits, where d logp / d z = 1/2. */
static void test_policy_loss_clip_rule(void **unused) {
  static const struct { double log_ratio, advantage, epsilon, share; int clipped;
  } cases[] = {
      {0.5, 1, 0.2, 0, 1},        {0.5, -1, 0.2, 1, 1}, {-0.5, 1, 0.2, 1, 1}, {-0.5, -1, 0.2, 0, 1},
      {0.1, 1, 0.2, 1, 0},        {0, 1, 0, 0.625, 0},  {0, -1, 0, 0.625, 0}, {0.5, 1, INFINITY, 1, 0},
      {-0.5, -1, INFINITY, 1, 0}, {-3, -1, 1, 1, 0},    {0.1, 1, 0, 0, 1},    {0.1, -1, 0, 1, 1},
      {-0.1, -1, 0, 0, 1},
  };
  Ops *ops = make_ops(1);
  OpsHead pair = {.factors = 1, .logits = 2, .size = {2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int with_proximal = 0; with_proximal < 2; with_proximal++) {
      float z[2] = {0, 0}, logp, gradient[2], advantage = (float)cases[i].advantage;
      uint8_t action = 0;
      OpsPolicySums sums;
      ops->policy_logp(ops, &pair, z, &action, &logp, 1);
      float behavior = (float)((double)logp - cases[i].log_ratio);
      ops->policy_loss(ops, &pair, z, &action, &behavior, with_proximal ? &behavior : NULL, &advantage, 1,
                       cases[i].epsilon, 0, gradient, &sums);
      assert_near(2 * (double)gradient[0], -cases[i].advantage * exp(cases[i].log_ratio) * cases[i].share, 2e-6);
      assert_true(gradient[1] == -gradient[0]);
      assert_int_equal((int)sums.clipped, cases[i].clipped);
    }
  ops_destroy(&ops);
}

/* COM 0: the proximal policy is the policy, so nothing clips and the gradient is importance sampling's. */
static void test_policy_loss_with_itself_as_proximal(void **unused) {
  enum { ROWS = 40 };
  Ops *ops = make_ops(1);
  float *z = normals(46, ROWS * 16, 1), *advantage = normals(47, ROWS, 1), logp[ROWS], behavior[ROWS],
        clipped[ROWS * 16], free_of_clip[ROWS * 16];
  uint8_t *actions = random_actions(&kinetix, ROWS);
  OpsPolicySums sums, unclipped;
  ops->policy_logp(ops, &kinetix, z, actions, logp, ROWS);
  for (int r = 0; r < ROWS; r++) behavior[r] = logp[r] + (float)(r - 20) * 0.1f;
  ops->policy_loss(ops, &kinetix, z, actions, behavior, logp, advantage, ROWS, 0.1, 0, clipped, &sums);
  ops->policy_loss(ops, &kinetix, z, actions, behavior, NULL, advantage, ROWS, INFINITY, 0, free_of_clip, &unclipped);
  assert_memory_equal(clipped, free_of_clip, sizeof clipped);
  assert_true(sums.clipped == 0);
  assert_near(sums.loss, unclipped.loss, 1e-4);
  free(z), free(advantage), free(actions);
  ops_destroy(&ops);
}

static void test_losses_pass_nan_on(void **unused) {
  Ops *ops = make_ops(1);
  float *z = normals(48, 16 * 16, 1), *rows = normals(49, 16, 1), gradient[16 * 16], dvalue[16];
  uint8_t *actions = random_actions(&kinetix, 16);
  OpsPolicySums sums;
  OpsValueSums value;
  z[16 * 5 + 3] = NAN;
  ops->policy_loss(ops, &kinetix, z, actions, rows, NULL, rows, 16, 0.2, 0.01, gradient, &sums);
  assert_true(isnan(sums.loss) && isnan(gradient[16 * 5 + 3]) && !isnan(gradient[0]));
  float bad[16];
  memcpy(bad, rows, sizeof bad);
  bad[7] = NAN;
  ops->value_loss(ops, bad, rows, rows, 16, 1, 0.2, 0.5, dvalue, &value);
  assert_true(isnan(value.loss) && isnan(dvalue[7]) && !isnan(dvalue[6]));
  free(z), free(rows), free(actions);
  ops_destroy(&ops);
}

static void test_value_loss_gradient_by_differences(void **unused) {
  enum { ROWS = 301 };
  Ops *ops = make_ops(2);
  float *value = normals(51, ROWS, 1), *old_value = normals(52, ROWS, 0.2), *target = normals(53, ROWS, 1),
        gradient[ROWS];
  const double epsilons[] = {0.2, 1e-3, 2, INFINITY};
  for (int r = 0; r < ROWS; r++) old_value[r] += value[r];
  for (int e = 0; e < 4; e++)
    for (int clip = 0; clip < 2; clip++) {
      OpsValueSums sums;
      double *v = doubles(value, ROWS), h = 1e-6;
      ops->value_loss(ops, value, old_value, target, ROWS, clip, epsilons[e], 0.5, gradient, &sums);
      assert_near(0.5 * sums.loss / ROWS, oracle_value_loss(v, old_value, target, ROWS, clip, epsilons[e], 0.5), 1e-6);
      for (int r = 0; r < ROWS; r++) {
        double v0 = v[r];
        v[r] = v0 + h;
        double above = oracle_value_loss(v, old_value, target, ROWS, clip, epsilons[e], 0.5);
        v[r] = v0 - h;
        double below = oracle_value_loss(v, old_value, target, ROWS, clip, epsilons[e], 0.5);
        v[r] = v0;
        assert_near((double)gradient[r], (above - below) / (2 * h), 1e-8 + 1e-6 * fabs((double)gradient[r]));
      }
      free(v);
    }
  free(value), free(old_value), free(target);
  ops_destroy(&ops);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_logp_against_the_definition),
      cmocka_unit_test(test_kl_published_values),
      cmocka_unit_test(test_k3_published_values),
      cmocka_unit_test(test_sampling_frequencies),
      cmocka_unit_test(test_sampling_depends_on_world_and_step_only),
      cmocka_unit_test(test_impossible_actions_are_never_sampled),
      cmocka_unit_test(test_policy_loss_gradient_by_differences),
      cmocka_unit_test(test_policy_loss_clip_rule),
      cmocka_unit_test(test_policy_loss_with_itself_as_proximal),
      cmocka_unit_test(test_losses_pass_nan_on),
      cmocka_unit_test(test_value_loss_gradient_by_differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
