/* PPO's rl_games features (trainer/learners/rl_games.h): the gradient of the bound against finite differences, the
 * units of values against a naive recomputation, and the learning rate that follows the KL. SAPG's tests and the golden
 * file "sapg" are of the same code; tests/unit/test_ppo_update.c stops and resumes. */
#include "test.h"

#include "core/memory.h"
#include "tests/oracle/learner.h"
#include "trainer/learners/ppo.h"
#include "training_tools.h"

/* One minibatch an iteration. */
static CoreConfig small_config(void) {
  return CONFIGURED_SMALL("env.actions=continuous", "ppo.num_minibatches=1", "ppo.epochs=1", "net.width=8",
                          "net.depth=1", "ppo.max_grad_norm=inf");
}

static int rows_of(const Rollout *rollout) { return rollout->steps * rollout->worlds; }

/* Updates once more on the present rollout. */
static UpdateStats update_again(Training *training) {
  const UpdateContext step = {.ops = training->ops, .rollout = &training->rollout, .iteration = 2};
  UpdateStats update;
  assert_int_equal(training->learner.kind->update(training->learner.state, &step, &update), CORE_OK);
  return update;
}

/* ---- the bound --------------------------------------------------------------------------------------------------- */

/* coefficient times the mean over the rollout of the sum over means of the square beyond +-1.1, in double. */
static double beyond(const Training *training, const double *theta, double coefficient) {
  const Rollout *rollout = &training->rollout;
  const NetworkShape *shape = &training->agent.actor.shape;
  const int rows = rows_of(rollout), inputs = shape->width[0];
  double sum = 0, x[512], mean[64];
  for (int r = 0; r < rows; r++) {
    for (int i = 0; i < inputs; i++) x[i] = (double)rollout->observations[(size_t)r * (size_t)inputs + (size_t)i];
    oracle_network(shape, theta, x, mean);
    for (int k = 0; k < rollout->head.factors; k++) {
      const double out = fmax(fabs(mean[k]) - 1.1, 0);
      sum += out * out;
    }
  }
  return coefficient * sum / rows;
}

/* With advantages and entropies of 0 nothing else is left of the actor's loss. */
static void test_bound_by_differences(void **state) {
  CoreConfig config = small_config();
  (void)state;
  static const char *const pairs[] = {"ppo.bounds_coef=3", "ppo.entropy_coef=0", "ppo.normalize_advantage=none",
                                      "ppo.reward_scale=0", "ppo.learning_rate=0"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) set(&config, pairs[i]);

  Training *training = make(&config);
  iterate(training, 1);
  AgentNetwork *actor = &training->agent.actor;
  memset(training->rollout.values, 0,
         ((size_t)rows_of(&training->rollout) + (size_t)training->rollout.worlds) * sizeof(float));
  for (size_t i = 0; i < actor->log_sigma; i++) actor->theta[i] += 0.5f * (float)((int)(i * 7 % 5) - 2);

  update_again(training);
  const float *gradient = learner_as_ppo(&training->learner)->gradient.mean.actor;

  double *theta = core_memory_allocate(actor->n * sizeof *theta), h = 1e-6;
  for (size_t i = 0; i < actor->n; i++) theta[i] = (double)actor->theta[i];
  assert_true(beyond(training, theta, 3) > 0.01);
  for (size_t i = 0; i < actor->log_sigma; i += 3) {
    const double at = theta[i];
    theta[i] = at + h;
    const double above = beyond(training, theta, 3);
    theta[i] = at - h;
    const double want = (above - beyond(training, theta, 3)) / (2 * h);
    theta[i] = at;
    if (!(fabs((double)gradient[i] - want) <= 1e-4 * (1 + fabs(want))))
      fail_msg("element %zu: got %.9g, want %.9g", i, (double)gradient[i], want);
  }
  for (size_t i = actor->log_sigma; i < actor->n; i++) assert_float_equal(gradient[i], 0, 1e-7);

  free(theta);
  training_destroy(&training);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Merges x[n] into {count, mean, sum of squared differences}. */
static void count_naively(double moments[3], const double *x, int n) {
  double mean = 0, squares = 0;
  for (int i = 0; i < n; i++) mean += x[i] / n;
  for (int i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
  const double all = moments[0] + n, apart = mean - moments[1];
  moments[1] += apart * n / all;
  moments[2] += squares + apart * apart * moments[0] * n / all;
  moments[0] = all;
}

static double deviation(const double moments[3]) { return sqrt(moments[2] / moments[0] + 1e-5); }

static double within_5(double x) { return fmin(fmax(x, -5), 5); }

static void test_values_by_hand(void **state) {
  enum { STEPS = 16, WORLDS = 16, ROWS = STEPS * WORLDS };
  CoreConfig config = small_config();
  (void)state;
  set(&config, "ppo.normalize_value=yes");
  set(&config, "ppo.learning_rate=0");

  Training *training = make(&config);
  iterate(training, 1);
  Ppo *ppo = learner_as_ppo(&training->learner);
  const Rollout *rollout = &training->rollout;
  assert_true(ppo->value_moments[0] == 1 + 2 * ROWS); /* values and returns, plus the initial one */

  double moments[3] = {40, 0.3, 60}, value[ROWS + WORLDS], target[ROWS];
  memcpy(ppo->value_moments, moments, sizeof moments);
  rollout->values[3] = 7; /* counts as 5 */
  for (int i = 0; i < ROWS + WORLDS; i++)
    value[i] = within_5((double)rollout->values[i]) * deviation(moments) + moments[1];

  for (int w = 0; w < WORLDS; w++) {
    double trace = 0;
    for (int t = STEPS - 1; t >= 0; t--) {
      const int i = t * WORLDS + w;
      const double keep = rollout->dones[i] ? 0 : config.ppo.gamma;
      trace = (double)rollout->rewards[i] + keep * value[i + WORLDS] - value[i] + keep * config.ppo.gae_lambda * trace;
      target[i] = value[i] + trace;
    }
  }

  update_again(training);
  count_naively(moments, value, ROWS);
  for (int i = 0; i < ROWS; i++)
    assert_float_equal(ppo->values[i], within_5((value[i] - moments[1]) / deviation(moments)), 1e-5);
  count_naively(moments, target, ROWS);
  for (int i = 0; i < ROWS; i++)
    assert_float_equal(ppo->targets[i], within_5((target[i] - moments[1]) / deviation(moments)), 1e-5);
  for (int i = 0; i < 3; i++) assert_float_equal(ppo->value_moments[i], moments[i], 1e-5 * moments[0]);

  for (int r = 0; r < ROWS; r++) /* the critic learns with them */
    assert_true(ppo->minibatch.values[r] == ppo->values[ppo->minibatch.index[r]]);
  training_destroy(&training);
}

/* ---- the learning rate ------------------------------------------------------------------------------------------- */

/* Iteration 2's learning rate. */
static double second_rate(const char *rate, const char *threshold) {
  CoreConfig config = small_config();
  set(&config, "ppo.lr_schedule=kl");
  set(&config, "ppo.epochs=2");
  set(&config, rate);
  set(&config, threshold);
  Training *training = make(&config);
  const double first = iterate(training, 1).learning_rate, second = iterate(training, 1).learning_rate;
  assert_float_equal(first, config.ppo.learning_rate, 0);
  training_destroy(&training);
  return second / first;
}

static void test_rate_follows(void **state) {
  (void)state;
  assert_float_equal(second_rate("ppo.learning_rate=1e-5", "ppo.kl_threshold=0.016"), 1.5 * 1.5, 1e-12);
  /* The first epoch's only minibatch is that of the policy that acted: KL 0, except for the formula's small
   * constants. */
  assert_float_equal(second_rate("ppo.learning_rate=5e-3", "ppo.kl_threshold=3e-4"), 1, 1e-12);
  assert_float_equal(second_rate("ppo.learning_rate=1e-2", "ppo.kl_threshold=3e-4"), 1 / 1.5, 1e-12); /* the most */
  assert_float_equal(second_rate("ppo.learning_rate=5e-3", "ppo.kl_threshold=1e-9"), 1 / 1.5 / 1.5, 1e-12);
  assert_float_equal(second_rate("ppo.learning_rate=5e-3", "ppo.kl_threshold=0"), 1, 0);
}

/* The second epoch's KL: from the policy that acted to that of one step later. */
static void test_kl_by_hand(void **state) {
  CoreConfig config = small_config();
  (void)state;
  Training *one_step = make(&config);
  iterate(one_step, 1);
  set(&config, "ppo.lr_schedule=kl");
  set(&config, "ppo.epochs=2");
  Training *training = make(&config);
  const StoreIteration row = iterate(training, 1);
  const Rollout *rollout = &one_step->rollout;
  const int rows = rows_of(rollout), logits = rollout->head.logits;
  float *now = core_memory_allocate((size_t)rows * (size_t)logits * sizeof *now);
  agent_policy(&one_step->agent, one_step->ops, one_step->agent.actor.theta, rollout->observations, rows, now);
  double kl = 0;
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < rollout->head.factors; k++) {
      const float *p = now + r * logits, *q = rollout->logits + r * logits;
      const double s = exp((double)p[rollout->head.factors + k]), t = exp((double)q[rollout->head.factors + k]);
      const double apart = (double)p[k] - (double)q[k];
      kl += (log(t / s + 1e-5) + (s * s + apart * apart) / (2 * (t * t + 1e-5)) - 0.5) / rows;
    }
  if (!(fabs(row.kl_controller - kl) <= 1e-3 * fabs(kl))) fail_msg("%.9g is not %.9g", row.kl_controller, kl);
  free(now);
  training_destroy(&one_step);
  training_destroy(&training);
}

static void test_refused(void **state) {
  static const char *const settings[] = {"ppo.lr_schedule=kl", "ppo.bounds_coef=1e-4"};
  static const char *const others[] = {"env.actions=multi_discrete", "net.action_head=tanh_affine"};
  (void)state;
  for (int i = 0; i < 4; i++) {
    CoreConfig config = small_config();
    Training *training = NULL;
    set(&config, settings[i % 2]);
    set(&config, others[i / 2]);
    assert_int_equal(training_plan(&config, &training), CORE_USAGE);
    assert_message("net.action_head to gaussian");
    training_destroy(&training);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bound_by_differences), cmocka_unit_test(test_values_by_hand),
    cmocka_unit_test(test_rate_follows), cmocka_unit_test(test_kl_by_hand), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
