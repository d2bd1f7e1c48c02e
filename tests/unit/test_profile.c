/* KL within an iteration (trainer/measure/profile.h): against numbers by hand, and during a training that it must not
 * change. tests/golden/golden_metrics.h has the summary of a curve. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "training_tools.h"

static CoreConfig small_config(void) { return CONFIGURED_SMALL(); }

static void assert_close(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance * fabs(expected)))
    fail_msg("%.9g is not %.9g to a share of %g", value, expected, tolerance);
}

/* KL within an iteration: a curve that ends at 0, that of effective sample sizes, and training as
 * without it. */
static void test_profile(void **state) {
  CoreConfig config = small_config();
  set(&config, "metrics.states=256"); /* all of them */
  Training *plain = make(&config);
  set(&config, "metrics.profile_every=2");
  Training *profiled = make(&config);
  StoreIteration row = iterate(profiled, 1);
  const Profile *profile = &profiled->profile;
  assert_int_equal(profile->points, 9); /* 2 epochs of 4 minibatches, and before the first */
  assert_int_equal(profile->update[8], 8);
  assert_true(profile->reference[8] == 0 && row.kl_monotone > 0 && row.kl_monotone <= 1 && row.kl_slope < 0);
  for (int i = 0; i < 8; i++) assert_true(profile->consecutive[i] > 0 && profile->reference[i] > 0);
  /* The first snapshot is the rollout's policy, in all states since they are few. */
  assert_true(fabs(profile->reference[0] - row.kl_reverse) < 1e-4 * row.kl_reverse);
  assert_true(fabs(profile->reference[7] - profile->consecutive[7]) < 1e-12);
  assert_true(fabs(profile->ess_percent[0] - 100) < 1e-3 && profile->ess_percent[1] < profile->ess_percent[0]);
  assert_true(fabs(profile->ess_percent[8] - row.ess_percent) < 1e-3);
  row = iterate(profiled, 1);
  assert_true(!profiled->profiled && isnan(row.kl_slope) && isnan(row.kl_consecutive));
  iterate(plain, 2);
  assert_true(same_weights(plain, profiled));
  training_destroy(&plain);
  training_destroy(&profiled);
}

/* ---- by hand ---------------------------------------------------------------------------------------------------- */

/* One mean of a policy that sees nothing: it nears `LIMIT` by a factor of exp(-RATE) an iteration, and is there after
 * the last minibatch. Deviations are 1, so KL is half the square of a difference. */
static const double LIMIT = 0.75, RATE = 3;
static double path(int minibatch, int updates) {
  return minibatch == updates ? LIMIT : LIMIT - exp(-RATE * minibatch / updates);
}
static double kl(double mean, double other) { return 0.5 * (mean - other) * (mean - other); }

static void put_mean(const Agent *agent, double mean) {
  agent->actor.theta[network_bias(&agent->actor.shape, agent->actor.shape.layers - 1)] = (float)mean;
}

/* A training of 8 `epochs` minibatches, whose learner never runs. Returns the mean of neighbors' KL. */
static double go_along(const char *epochs, int *points) {
  CoreConfig config = CONFIGURED_SMALL("env.actions=continuous", "ppo.num_minibatches=8", "metrics.profile_every=1");
  set(&config, epochs);
  Training *training = make(&config);
  Profile *profile = &training->profile;
  const Agent *agent = &training->agent;
  const int n = profile->updates;
  iterate(training, 1); /* for a rollout to take states of */
  memset(agent->actor.theta, 0, agent->actor.n * sizeof(float));
  put_mean(agent, path(0, n));
  profile_begin(profile, training->ops, agent, &training->rollout, 1, 2);
  for (int i = 1; i <= n; i++) {
    put_mean(agent, path(i, n));
    profile_snapshot(profile, training->ops, agent);
  }
  const ProfileSummary summary = profile_finish(profile, training->ops);
  const int last = *points = profile->points - 1;
  assert_int_equal(profile->points, profile->max_points);
  assert_true(profile->update[0] == 0 && profile->update[last] == n && profile->reference[last] == 0);
  double sum = 0;
  for (int i = 0; i < last; i++) {
    const int at = profile->update[i];
    assert_true(fabs(at - (double)i * n / last) < 1); /* equal shares of the data, to a minibatch */
    sum += kl(path(at + 1, n), path(at, n));
    assert_close(profile->consecutive[i], kl(path(at + 1, n), path(at, n)), 2e-3);
    assert_close(profile->reference[i], kl(LIMIT, path(at, n)), 1e-4);
  }
  assert_close(summary.slope, -2 * RATE, 1e-5); /* however many minibatches there are */
  assert_true(summary.monotone == 1);
  const double mean = profile_mean_consecutive(profile);
  assert_close(mean, sum / last, 1e-3);
  training_destroy(&training);
  return mean;
}

/* Below and beyond the limit of points: 32 minibatches, 256, 264 (some points are 2 apart, most are 1) and 800. */
static void test_by_hand(void **state) {
  int points;
  (void)state;
  const double few = go_along("ppo.epochs=4", &points);
  assert_int_equal(points, 32);
  const double many = go_along("ppo.epochs=32", &points);
  assert_int_equal(points, 256);
  go_along("ppo.epochs=33", &points);
  assert_int_equal(points, 256);
  const double most = go_along("ppo.epochs=100", &points);
  assert_int_equal(points, 256);
  assert_true(few > 10 * many && many > 4 * most); /* steps of one minibatch each, which become shorter */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_profile), cmocka_unit_test(test_by_hand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
