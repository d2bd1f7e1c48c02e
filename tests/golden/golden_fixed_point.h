/* Golden cases of the points where PPO's clip stops an update (Honari et al. 2025, section 4.2): closed forms of fixed
 * points in three small problems, compared with the gradients of the trainer's own losses, and the KL profile of a
 * policy approaching one. */
#ifndef TESTS_GOLDEN_FIXED_POINT_H
#define TESTS_GOLDEN_FIXED_POINT_H
#include "tests/golden/golden_check.h"
#include "trainer/measure/profile.h"

enum { FIXED_CASES_MAX = 4096 };

static size_t fixed_count(Check *check, const char *tensor) {
  const size_t n = (size_t)check_entry(check, tensor)->dimension[0];
  if (n < 1 || n > FIXED_CASES_MAX) check_give_up(check, "%s has %zu cases", tensor, n);
  return n;
}

/* One thing that must hold counts as a value that is right or wrong. */
static void fixed_expect(Check *check, bool holds, const char *prefix, const char *name, size_t i) {
  check_note(check, holds ? 0 : INFINITY, prefix, name, i);
  check->values++;
}

/* Two Gaussians of one dimension as parameters [mean, log deviation] -> exact KL(p || q) and its reverse. */
static double fixed_kl(Check *check, double mean_p, double mean_q, double sigma) {
  const OpsHead head = {.kind = OPS_GAUSSIAN, .factors = 1, .logits = 2, .low = -1, .high = 1};
  const float p[2] = {(float)mean_p, (float)log(sigma)}, q[2] = {(float)mean_q, (float)log(sigma)};
  double kl, reverse;
  check->ops->policy_kl(check->ops, &head, p, q, 1, &kl, &reverse);
  return kl;
}

/* The path mu_i = c + (mu_0 - c)(1 - 2 eta)^i of exact ascent on -(a - c)^2: KL between its policies, and the slope of
 * log KL to its limit, 2 log |1 - 2 eta|. */
static void fixed_quadratic(Check *check) {
  size_t n = (size_t)check_int(check, "quadratic/hp/steps", 3, FIXED_CASES_MAX) + 1;
  const double sigma = check_real(check, "quadratic/hp/sigma"), target = check_real(check, "quadratic/hp/target");
  const double *mu = check_input(check, "quadratic/out/mu", &n);
  const double *expected[] = {check_input(check, "quadratic/out/seq_kl", &(size_t){n - 1}),
                              check_input(check, "quadratic/out/ref_kl_to_limit", &n),
                              check_input(check, "quadratic/out/ref_kl_to_last", &n)};
  const char *const names[] = {"seq_kl", "ref_kl_to_limit", "ref_kl_to_last"};
  double *to_limit = check_memory(check, n * sizeof *to_limit);
  int *update = check_memory(check, n * sizeof *update);
  for (size_t i = 0; i < n; i++) {
    const double ours[] = {i + 1 < n ? fixed_kl(check, mu[i + 1], mu[i], sigma) : 0,
                           fixed_kl(check, target, mu[i], sigma), fixed_kl(check, mu[n - 1], mu[i], sigma)};
    for (int k = 0; k < 3; k++) {
      if (k == 0 && i + 1 == n) continue;
      /* Means are float32 here: a difference of them is off by 1e-7 of the means, and its square by
       * twice the product. */
      const double off = 2e-7 * (fabs(mu[i]) + fabs(target)) / sigma,
                   tolerance = off * (sqrt(2 * expected[k][i]) + off);
      check_note(check, fabs(ours[k] - expected[k][i]) / (tolerance + 1e-6 * expected[k][i]), "quadratic/", names[k],
                 i);
      check->values++;
    }
    update[i] = (int)i;
    to_limit[i] = expected[1][i];
  }
  const ProfileSummary summary = profile_summarize(to_limit, update, (int)n, 1);
  check_scalar(check, "quadratic/", "log_ref_slope", CHECK_DOUBLE, summary.slope);
  fixed_expect(check, summary.monotone == 1, "quadratic/", "monotone", 0);
}

/* -d loss / d mean of one sample, which is where ascent goes. */
static double fixed_push(Check *check, float action, double mean_old, double sigma, double mean, float advantage,
                         double epsilon) {
  const OpsHead head = {.kind = OPS_GAUSSIAN, .factors = 1, .logits = 2, .low = -1, .high = 1};
  const float old[2] = {(float)mean_old, (float)log(sigma)}, now[2] = {(float)mean, (float)log(sigma)};
  float logp, gradient[2];
  OpsPolicySums sums;
  check->ops->policy_logp(check->ops, &head, old, &action, &logp, 1);
  check->ops->policy_loss(check->ops, &head, now, &action, &logp, NULL, &advantage, 1, epsilon, 0, gradient, &sums);
  return -(double)gradient[0];
}

/* One clipped sample: the mean is pushed toward the fixed point (the action itself, where no ratio reaches the clip)
 * up to it, and not beyond. */
static void fixed_gaussian(Check *check) {
  size_t n = fixed_count(check, "gaussian/in/action");
  const double *action = check_input(check, "gaussian/in/action", &n),
               *old = check_input(check, "gaussian/in/mu_old", &n);
  const double *sigma = check_input(check, "gaussian/in/sigma", &n),
               *a = check_input(check, "gaussian/in/advantage", &n);
  const double *epsilon = check_input(check, "gaussian/in/eps", &n),
               *fixed = check_input(check, "gaussian/out/mu_fixed", &n);
  const double *ratio = check_input(check, "gaussian/out/ratio", &n), *kl = check_input(check, "gaussian/out/kl", &n);
  for (size_t i = 0; i < n; i++) {
    if (isnan(fixed[i])) continue; /* the closed form has none */
    const double way = fixed[i] - old[i], bit = 1e-3 * sigma[i] * (way > 0 ? 1 : -1);
    const float act = (float)action[i], advantage = (float)a[i];
    if (fabs(way) < 4e-3 * sigma[i]) continue; /* no room to look at both sides */
    const double before = fixed_push(check, act, old[i], sigma[i], fixed[i] - bit, advantage, epsilon[i]);
    const double after = fixed_push(check, act, old[i], sigma[i], fixed[i] + bit, advantage, epsilon[i]);
    fixed_expect(check, before * way > 0, "gaussian/", "pushed up to the fixed point", i);
    fixed_expect(check, after * way <= 0, "gaussian/", "and not beyond", i);
    const double at = exp((pow(action[i] - old[i], 2) - pow(action[i] - fixed[i], 2)) / (2 * sigma[i] * sigma[i]));
    check_note(check, fabs(at - ratio[i]) / (1e-9 * at), "gaussian/", "ratio", i);
    check_note(check, fabs(fixed_kl(check, fixed[i], old[i], sigma[i]) - kl[i]) / (1e-5 * kl[i] + 1e-9), "gaussian/",
               "kl", i);
    check->values += 2;
  }
}

/* Two arms, advantages +1 and -1, in expectation over the old policy: its probabilities are the samples' weights. */
static void fixed_bandit(Check *check) {
  const OpsHead head = {.factors = 1, .logits = 2, .size = {2}};
  size_t n = fixed_count(check, "bandit/in/p_old");
  const double *old = check_input(check, "bandit/in/p_old", &n), *epsilon = check_input(check, "bandit/in/eps", &n);
  const double *fixed = check_input(check, "bandit/out/p_fixed", &n);
  const double *kl_new_old = check_input(check, "bandit/out/kl_new_old", &n);
  const double *kl_old_new = check_input(check, "bandit/out/kl_old_new", &n);
  const uint8_t actions[2] = {0, 1};
  for (size_t i = 0; i < n; i++) {
    const double p = old[i], at = fixed[i];
    if (!(at < 1)) continue; /* it runs to a certain action */
    const float logp[2] = {(float)log(p), (float)log(1 - p)}, advantage[2] = {(float)p, (float)(p - 1)};
    const double bit = 1e-3 * (at - p);
    for (int side = -1; side <= 1; side += 2) {
      const double now = at + side * bit;
      const float z[4] = {(float)log(now), (float)log(1 - now), (float)log(now), (float)log(1 - now)};
      float gradient[4];
      OpsPolicySums sums;
      check->ops->policy_loss(check->ops, &head, z, actions, logp, NULL, advantage, 2, epsilon[i], 0, gradient, &sums);
      const double push = -((double)gradient[0] + (double)gradient[2]);
      fixed_expect(check, side < 0 ? push > 0 : push == 0, "bandit/", side < 0 ? "pushed up to it" : "and not beyond",
                   i);
    }
    const float from[2] = {(float)log(p), (float)log(1 - p)}, to[2] = {(float)log(at), (float)log(1 - at)};
    double kl, reverse;
    check->ops->policy_kl(check->ops, &head, to, from, 1, &kl, &reverse);
    check_note(check, fabs(kl - kl_new_old[i]) / (1e-5 * kl + 1e-7), "bandit/", "kl_new_old", i);
    check_note(check, fabs(reverse - kl_old_new[i]) / (1e-5 * reverse + 1e-7), "bandit/", "kl_old_new", i);
    check->values += 2;
  }
}

static void case_fixed_point(Check *check) {
  fixed_quadratic(check);
  fixed_gaussian(check);
  fixed_bandit(check);
  check->left_out = "the constants of Lemma 1, which nothing here uses";
}

#endif
