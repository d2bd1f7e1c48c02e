/* KL within an iteration (trainer/measure/profile.h): against numbers by hand, and during a training that it must not
 * change. tests/golden/golden_metrics.h has the summary of a curve. */
#include "test.h"

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

/* ---- the limit of a frozen batch -------------------------------------------------------------------------------- */

/* Measuring the limit changes nothing that later updates depend on, whichever state a learner has. */
static void test_limit_leaves_training(void **state) {
  static const char *const more[][3] = {
    {"ppo.lr_schedule=linear", "ppo.normalize_advantage=minibatch", "ppo.clip_value=yes"},
    {"algo.name=ppo_ewma", "ppo.ddr_target=3000", "ppo.normalize_advantage=ewma"},
    {"ppo.kl_penalty=0.1", "ppo.kl_penalty_target=0.01", "ppo.lr_schedule=constant"},
    {"ppo.target_kl=0.02", "net.sharing=joint", "ppo.lr_schedule=constant"}};
  (void)state;
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    CoreConfig config = small_config();
    for (size_t k = 0; k < 3; k++) set(&config, more[i][k]);
    set(&config, "metrics.profile_every=2");
    Training *plain = make(&config);
    set(&config, "metrics.limit_epochs=17");
    Training *continued = make(&config);
    assert_int_equal(continued->limit.checks, 3); /* 4, 8 and 16 epochs */

    const StoreIteration without = iterate(plain, 1), row = iterate(continued, 1);
    assert_true(isnan(without.kl_limit) && isnan(without.limit_moved) && plain->profile.limit == 0);
    assert_true(row.kl_limit > 0 && row.kl_limit_last > 0 && row.limit_moved > 0);
    assert_true(row.kl == without.kl && row.kl_slope == without.kl_slope);
    assert_true(same_weights(plain, continued));
    iterate(plain, 2);
    assert_true(isnan(iterate(continued, 1).kl_limit)); /* not an iteration of metrics.profile_every */
    assert_true(iterate(continued, 1).kl_limit > 0);
    assert_true(same_weights(plain, continued));
    assert_true(memcmp(&plain->position.count, &continued->position.count, sizeof plain->position.count) == 0);
    training_destroy(&plain);
    training_destroy(&continued);
  }
}

/* A copy that goes on for as many epochs as an iteration has is an iteration of twice the epochs: minibatches in new
 * orders, on the same rollout and advantages. */
static void test_limit_continues_epochs(void **state) {
  CoreConfig config = small_config();
  (void)state;
  set(&config, "metrics.states=256"); /* all of them */
  set(&config, "metrics.profile_every=1");
  set(&config, "metrics.limit_epochs=4");
  Training *copied = make(&config);
  set(&config, "metrics.limit_epochs=0");
  set(&config, "ppo.epochs=4");
  Training *longer = make(&config);
  const StoreIteration copy = iterate(copied, 1), whole = iterate(longer, 1);
  assert_close(copy.kl_limit, whole.kl_reverse, 1e-4);
  assert_close(copy.kl_limit_last, longer->profile.reference[8], 1e-4); /* after two of the four epochs */
  training_destroy(&copied);
  training_destroy(&longer);
}

/* A learner that moves the one mean of a policy along a path of epochs. */
typedef struct Mover {
  const Agent *agent;
  double (*course)(double epochs);
  int64_t epochs_per_update;
  int fails_at;                /* epoch in which a value is not finite; 0: none */
} Mover;

static int move(void *state, const UpdateContext *context, UpdateStats *stats) {
  Mover *mover = state;
  const double epochs = (double)(context->first_epoch + mover->epochs_per_update);
  (void)stats;
  put_mean(mover->agent, mover->course(epochs));
  if (mover->fails_at && epochs >= mover->fails_at) return core_error(CORE_FAIL, "not finite");
  return CORE_OK;
}
static void add_no_sections(void *state, Checkpoint *checkpoint) { (void)state, (void)checkpoint; }
static void get_no_count(const void *state, LearnerCounters *count) {
  (void)state;
  *count = (LearnerCounters){0};
}
static void set_no_count(void *state, const LearnerCounters *count) { (void)state, (void)count; }

static double contract(double epochs) { return LIMIT - exp(-epochs / 4); }
static double drift(double epochs) { return epochs / 100; }
static double slow(double epochs) { return sqrt(epochs) / 10; } /* slows down, and never stops */
static double stall(double epochs) { return fmin(epochs, 8) / 10 + fmax(0, epochs - 32) / 10; }

typedef struct Continued { LimitPath path; double from_start, from_last; } Continued;

/* Moves along `course` for an iteration of four epochs of one minibatch and then for up to 64. */
static Continued go_on(double (*course)(double epochs), int fails_at) {
  CoreConfig config = CONFIGURED_SMALL("env.actions=continuous", "ppo.num_minibatches=1", "ppo.epochs=4",
                                       "metrics.profile_every=1", "metrics.limit_epochs=64");
  Training *training = make(&config);
  Profile *profile = &training->profile;
  const Agent *agent = &training->agent;
  iterate(training, 1); /* for a rollout to take states of */
  memset(agent->actor.theta, 0, agent->actor.n * sizeof(float));
  put_mean(agent, course(0));
  profile_begin(profile, training->ops, agent, &training->rollout, 1, 2);
  for (int i = 1; i <= 4; i++) {
    put_mean(agent, course(i));
    profile_snapshot(profile, training->ops, agent);
  }

  const LearnerVTable kind = {.update = move, .add_sections = add_no_sections, .get_count = get_no_count,
                              .set_count = set_no_count};
  Mover mover = {agent, course, 4, fails_at};
  const Learner learner = {&kind, &mover};
  const UpdateContext context = {.ops = training->ops, .rollout = &training->rollout, .iteration = 2};
  Continued continued = {limit_measure(&training->limit, &learner, &context, profile, agent, 4), NAN, NAN};
  profile_finish(profile, training->ops);
  const double last = continued.path.checks > 0 ? continued.path.epochs[continued.path.checks - 1] : 0;
  for (int i = 0; i < profile->points && profile->limit; i++)
    assert_close(profile->to_limit[i], kl(course(last), course(profile->update[i])), 1e-4);
  for (int i = 0; i < continued.path.checks; i++) {
    const double epochs = continued.path.epochs[i];
    assert_true(epochs == 8 << i);
    assert_true(fabs(continued.path.moved[i] - kl(course(epochs), course(epochs / 2))) < 1e-6);
    assert_close(continued.path.start[i], kl(course(epochs), course(0)), 1e-4);
  }
  continued.from_start = profile->to_limit[0];
  continued.from_last = profile->to_limit[profile->points - 1];
  training_destroy(&training);
  return continued;
}

/* A contraction has a limit, which it reaches after the epochs that its rate says. A drift, a path that slows down
 * and a stall that ends have none. */
static void test_limit_by_hand(void **state) {
  (void)state;
  const Continued limited = go_on(contract, 0), moving = go_on(drift, 0), slowing = go_on(slow, 0);
  assert_int_equal(limited.path.checks, 4); /* 8, 16, 32 and 64 epochs */
  assert_true(limit_epochs(&limited.path) == 16); /* exp(-16 / 4) is below a tenth, exp(-8 / 4) is not */
  assert_true(limit_moved(&limited.path) < 1e-5);
  assert_true(limited.from_last < limited.from_start / 4);
  assert_true(limit_epochs(&moving.path) == 0 && fabs(limit_moved(&moving.path) - 0.25) < 1e-3);
  const double half = sqrt(0.5);
  assert_true(limit_epochs(&slowing.path) == 0 && fabs(limit_moved(&slowing.path) - (1 - half) * (1 - half)) < 1e-3);
  const Continued stalled = go_on(stall, 0);
  assert_true(stalled.path.moved[1] == 0 && stalled.path.moved[2] == 0 && limit_epochs(&stalled.path) == 0);
  const Continued failed = go_on(contract, 16);
  assert_int_equal(failed.path.checks, 1);
  assert_true(limit_epochs(&failed.path) == 0);
  const Continued none = go_on(contract, 5);
  assert_int_equal(none.path.checks, 0);
  assert_true(limit_epochs(&none.path) == 0 && isnan(limit_moved(&none.path)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_profile), cmocka_unit_test(test_by_hand), cmocka_unit_test(test_limit_leaves_training),
    cmocka_unit_test(test_limit_continues_epochs), cmocka_unit_test(test_limit_by_hand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
