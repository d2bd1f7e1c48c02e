/* golden_ppo's cases of moments and estimators: kurtosis, effective sample size, KL, ratios, gradients. */
#ifndef TESTS_GOLDEN_PPO_MOMENTS_H
#define TESTS_GOLDEN_PPO_MOMENTS_H
#include "tests/golden/golden_check.h"
#include "tests/golden/golden_metrics.h"
#include "trainer/math/estimators.h"

static void record(const Moments *moments, double *five) {
  five[0] = moments->n, five[1] = moments->mean, five[2] = moments->m2, five[3] = moments->m3, five[4] = moments->m4;
}

/* Each number of a record has its own scale (a count, a mean, sums of powers), so each is compared alone; the tolerance
 * allows for the spread and size of the data, which bound the rounding of a sum. */
static void compare_record(Check *check, const char *name, const Moments *ours, const double *truth, double largest) {
  double five[5], sigma = truth[0] > 0 ? sqrt(truth[2] / truth[0]) : 0, reach = fmax(sigma, 1e-6 * largest), power = 1;
  record(ours, five);
  for (int i = 0; i < 5; i++) {
    double scale = i == 0 ? truth[0] : i == 1 ? fmax(fabs(truth[1]), reach) : truth[0] * power;
    double off = fabs(five[i] - truth[i]), share = off == 0 ? 0 : off / (1e-10 * fmax(scale, fabs(truth[i])));
    if (i >= 1) power *= reach;
    check_note(check, share, "", name, (size_t)i);
  }
  check->values += 5;
}

static void moments_sets(Check *check) {
  static const char *const sets[] = {"moments/plain/", "moments/offset/", "moments/skew/", "moments/constant/"};
  size_t parts = 0;
  double *sizes = check_input(check, "moments/hp/parts", &parts);
  for (int set = 0; set < 4; set++) {
    size_t n = 0, records = 5 * parts, five = 5, at = 0;
    double *x = check_input(check, check_name(check, sets[set], "in/x"), &n), largest = 0;
    double *truth = check_input(check, check_name(check, sets[set], "out/parts"), &records);
    double *whole = check_input(check, check_name(check, sets[set], "out/all"), &five);
    Moments all = {0};
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
    for (size_t part = 0; part < parts; part++) {
      Moments one = {0};
      for (double i = 0; i < sizes[part] && at < n; i++) moments_add(&one, x[at++]);
      compare_record(check, check_name(check, sets[set], "parts"), &one, truth + 5 * part, largest);
      moments_merge(&all, &one);
    }
    compare_record(check, check_name(check, sets[set], "all"), &all, whole, largest);
  }
}

static void moments_ess(Check *check) {
  static const char *const sets[] = {"ess/small/", "ess/wide/", "ess/huge/", "ess/equal/", "ess/neg_inf/"};
  for (int set = 0; set < 5; set++) {
    size_t n = 0;
    double *l = check_input(check, check_name(check, sets[set], "in/l"), &n);
    LogSum half[2][2] = {{log_sum_empty(), log_sum_empty()}, {log_sum_empty(), log_sum_empty()}};
    for (size_t i = 0; i < n; i++) { /* two records, merged below */
      log_sum_add(&half[i % 2][0], l[i]);
      log_sum_add(&half[i % 2][1], 2 * l[i]);
    }
    log_sum_merge(&half[0][0], &half[1][0]);
    log_sum_merge(&half[0][1], &half[1][1]);
    double ess = estimators_ess(&half[0][0], &half[0][1]);
    check_scalar(check, sets[set], "lse", CHECK_DOUBLE, log_sum_value(&half[0][0]));
    check_scalar(check, sets[set], "lse2", CHECK_DOUBLE, log_sum_value(&half[0][1]));
    check_scalar(check, sets[set], "ess", CHECK_DOUBLE, ess);
    check_scalar(check, sets[set], "ess_percent", CHECK_DOUBLE, 100 * ess / (double)n);
  }
}

/* A head of one category has logp = 0 exactly, so logp_behavior = -l gives the loss exactly the file's l. */
static void moments_kl(Check *check) {
  OpsHead head = {.factors = 1, .logits = 1, .size = {1}};
  size_t n = 0;
  float *l = check_input_float(check, "kl_estimators/in/l", &n),
        *proximal = check_input_float(check, "kl_estimators/in/l_proximal", &n);
  float *advantage = check_input_float(check, "kl_estimators/in/advantage", &n);
  float *zeros = check_floats(check, n), *unused = check_floats(check, n), *k1 = check_floats(check, n),
        *k3 = check_floats(check, n);
  uint8_t *action = check_memory(check, n);
  double epsilon = check_real(check, "kl_estimators/hp/eps"), rows = (double)n;
  OpsPolicySums sums;
  Ops *ops = check->ops;
  for (size_t i = 0; i < n; i++) l[i] = -l[i], proximal[i] = -proximal[i];
  for (size_t i = 0; i < n; i++) {
    ops->policy_loss(ops, &head, zeros + i, action + i, l + i, NULL, advantage + i, 1, epsilon, 0, unused, &sums);
    k1[i] = (float)sums.k1, k3[i] = (float)sums.k3;
  }
  check_singles(check, "kl_estimators/", "k1", CHECK_SINGLE, k1, n);
  check_singles(check, "kl_estimators/", "k3", CHECK_SINGLE, k3, n);
  ops->policy_loss(ops, &head, zeros, action, l, NULL, advantage, (int)n, epsilon, 0, unused, &sums);
  check_scalar(check, "kl_estimators/", "mean_k1", CHECK_SINGLE, sums.k1 / rows);
  check_scalar(check, "kl_estimators/", "mean_k3", CHECK_SINGLE, sums.k3 / rows);
  check_scalar(check, "kl_estimators/", "clip_fraction", CHECK_SINGLE, sums.clipped / rows);
  ops->policy_loss(ops, &head, zeros, action, l, proximal, advantage, (int)n, epsilon, 0, unused, &sums);
  check_scalar(check, "kl_estimators/", "clip_fraction_proximal", CHECK_SINGLE, sums.clipped / rows);
}

static void moments_ratios(Check *check) {
  static const char *const sets[] = {"ev/good/", "ev/bad/", "ev/constant_target/"};
  size_t n = 0;
  double *kl = check_input(check, "ddr/in/kl", &n), *transitions = check_input(check, "ddr/in/transitions", &n);
  double *ddr = check_memory(check, n * sizeof(double)), sum_kl = 0, sum_transitions = 0;
  for (size_t i = 0; i < n; i++) {
    ddr[i] = estimators_ddr(transitions[i], kl[i]);
    sum_kl += estimators_guard_kl(kl[i]);
    sum_transitions += transitions[i];
  }
  check_doubles(check, "ddr/", "per_iteration", CHECK_DOUBLE, ddr, n);
  check_scalar(check, "ddr/", "run", CHECK_DOUBLE, estimators_ddr(sum_transitions, sum_kl));
  for (int set = 0; set < 3; set++) {
    size_t count = 0;
    double *target = check_input(check, check_name(check, sets[set], "in/target"), &count);
    double *value = check_input(check, check_name(check, sets[set], "in/value"), &count);
    Moments targets = {0}, residuals = {0};
    for (size_t i = 0; i < count; i++) {
      moments_add(&targets, target[i]);
      moments_add(&residuals, target[i] - value[i]);
    }
    check_scalar(check, sets[set], "explained_variance", CHECK_DOUBLE,
                 estimators_explained_variance(&targets, &residuals));
  }
}

static void moments_gradients(Check *check) {
  static const char *const sets[] = {"kurtosis/normal/", "kurtosis/sparse/", "kurtosis/constant/"};
  for (int set = 0; set < 3; set++) {
    size_t n = 0;
    float *gradient = check_input_float(check, check_name(check, sets[set], "in/grad"), &n);
    check_scalar(check, sets[set], "grad_norm", CHECK_DOUBLE, sqrt(check->ops->norm_squared(check->ops, gradient, n)));
  }
}

static void case_moments(Check *check) {
  moments_sets(check);
  moments_ess(check);
  moments_kl(check);
  moments_ratios(check);
  moments_gradients(check);
  metrics_kurtosis(check);
  metrics_silent(check);
  check->left_out = "k2, median DDR";
}

#endif
