/* trainer/optimizer: the clip's two rules, Adam's first step, and both rules of the proximal weights against closed
 * forms (docs/algorithms.md#optimizers, docs/algorithms.md#proximal-policy). */
#include "test.h"

#include "trainer/update/optimizer.h"
#include "trainer_steps.h"

static Ops *ops;
static int set_up(void **unused) { return ops_cpu_create(2, 16, 16, &ops); }
static int tear_down(void **unused) { return ops_destroy(&ops), 0; }

/* beta 0 and a large epsilon make Adam's step rate * g / epsilon: the gradient after clipping can be read from it. */
static double effective_gradient(double gradient, double max_norm, double norm_epsilon, double *norm, int *clipped) {
  float theta = 0, g = (float)gradient, m = 0, v = 0;
  Optimizer optimizer = {.m = &m, .v = &v, .epsilon = 1e6, .max_norm = max_norm, .norm_epsilon = norm_epsilon};
  optimizer_step(ops, &optimizer, &theta, &g, 1, 1, norm, clipped);
  assert_int_equal(optimizer.t, 1);
  return -(double)theta * 1e6;
}

static void test_clip_rules(void **unused) {
  static const struct { double gradient, max_norm, norm_epsilon, want; int clipped; } cases[] = {
      {0.4, 0.5, 0, 0.4, 0},        {0.5, 0.5, 0, 0.5, 0}, {2, 0.5, 0, 0.5, 1},           {-2, 0.5, 0, -0.5, 1},
      {3, INFINITY, 0, 3, 0},       {0, 0.5, 0, 0, 0},     {2, 0.5, 0.1, 0.5 / 2.1 * 2, 1}, {0.3, 0.5, 0.1, 0.3, 0},
      {0.45, 0.5, 0.1, 0.5 / 0.55 * 0.45, 0}, /* PyTorch's rule may shrink a gradient that is below the bound */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double norm;
    int clipped;
    double got = effective_gradient(cases[i].gradient, cases[i].max_norm, cases[i].norm_epsilon, &norm, &clipped);
    assert_true(fabs(got - cases[i].want) < 1e-5);
    assert_true(fabs(norm - fabs(cases[i].gradient)) < 1e-6);
    if (cases[i].norm_epsilon == 0) assert_int_equal(clipped, cases[i].clipped);
  }
}

/* With bias correction the first step is rate * sign(gradient), whatever its size, while it is
 * large against epsilon. */
static void test_first_adam_step(void **unused) {
  float theta[3] = {1, 1, 1}, gradient[3] = {10, -0.1f, 0}, m[3] = {0}, v[3] = {0};
  Optimizer optimizer = {.m = m, .v = v, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .max_norm = INFINITY};
  double norm;
  int clipped;
  optimizer_step(ops, &optimizer, theta, gradient, 3, 0.01, &norm, &clipped);
  assert_true(fabs(theta[0] - 0.99) < 1e-6 && fabs(theta[1] - 1.01) < 1e-6 && theta[2] == 1);
}

static void test_nan_gradient_is_not_hidden(void **unused) {
  double norm;
  int clipped;
  assert_true(isnan(effective_gradient(NAN, 0.5, 0, &norm, &clipped)) && isnan(norm));
}

/* After t steps: sum over s of (1 - beta) beta^(t-s) theta_s + beta^t theta_0. */
static void test_plain_rule(void **unused) {
  float theta = 2, proximal = 2;
  double want = 2, beta = 8.0 / 9; /* COM 8 */
  Proximal p = {.theta = &proximal, .com = 8, .weight = 1, .rule = PROXIMAL_PLAIN};
  for (int t = 1; t <= 50; t++) {
    theta = (float)sin(t);
    want = beta * want + (1 - beta) * (double)theta;
    proximal_update(ops, &p, &theta, 1);
  }
  assert_true(fabs((double)proximal - want) < 1e-6);
}

/* Exactly the normalized average of theta_0..theta_t with weights beta^(t-i). */
static void test_bias_corrected_rule(void **unused) {
  enum { STEPS = 40 };
  float theta = 1, proximal = 1;
  double history[STEPS + 1] = {1}, sum = 0, weights = 0, beta = 100.0 / 101;
  Proximal p = {.theta = &proximal, .com = 100, .weight = 1, .rule = PROXIMAL_BIAS_CORRECTED};
  for (int t = 1; t <= STEPS; t++) {
    theta = (float)cos(3 * t);
    history[t] = (double)theta;
    proximal_update(ops, &p, &theta, 1);
  }
  for (int t = 0; t <= STEPS; t++) {
    sum += pow(beta, STEPS - t) * history[t];
    weights += pow(beta, STEPS - t);
  }
  assert_true(fabs((double)proximal - sum / weights) < 1e-6);
  assert_true(fabs(p.weight - weights) < 1e-10);
}

static void test_com_zero_copies_the_weights(void **unused) {
  const ProximalRule rules[] = {PROXIMAL_PLAIN, PROXIMAL_BIAS_CORRECTED};
  for (int rule = 0; rule < 2; rule++) {
    float theta[3] = {0.1f, 3e8f, -1e-30f}, proximal[3] = {1e8f, 1, 5};
    Proximal p = {.theta = proximal, .com = 0, .weight = 1, .rule = rules[rule]};
    proximal_update(ops, &p, theta, 3);
    assert_memory_equal(theta, proximal, sizeof theta);
  }
}

static void test_huge_com_hardly_moves(void **unused) {
  float theta = 1, proximal = 0;
  Proximal p = {.theta = &proximal, .com = 1e9, .weight = 1, .rule = PROXIMAL_PLAIN};
  for (int t = 0; t < 1000; t++) proximal_update(ops, &p, &theta, 1);
  assert_true(fabs((double)proximal - 1e-6) < 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clip_rules),          cmocka_unit_test(test_first_adam_step),
      cmocka_unit_test(test_nan_gradient_is_not_hidden), cmocka_unit_test(test_plain_rule),
      cmocka_unit_test(test_bias_corrected_rule), cmocka_unit_test(test_com_zero_copies_the_weights),
      cmocka_unit_test(test_huge_com_hardly_moves),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
