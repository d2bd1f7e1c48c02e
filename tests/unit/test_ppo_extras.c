/* Extensions of PPO from openai/ppo-ewma (its ppo.py and reward_normalizer.py): the cap on importance ratios, the KL
 * penalty, running moments of advantages, scaled rewards; and rejected values of ppo.*. tests/golden also tests the
 * arithmetic of the cap. */
#include "test.h"

#include "core/memory.h"
#include "tests/oracle/learner.h"
#include "trainer/learners/ppo.h"
#include "training_tools.h"

static CoreConfig small_config(void) {
  return CONFIGURED_SMALL("ppo.num_minibatches=1", "ppo.epochs=1", "net.width=8", "net.depth=1",
                          "ppo.max_grad_norm=inf");
}

static bool same_actor(const Training *a, const Training *b) {
  return memcmp(a->agent.actor.theta, b->agent.actor.theta, a->agent.actor.n * sizeof(float)) == 0;
}

/* ---- the cap --------------------------------------------------------------------------------------------------- */

/* A cap that no ratio reaches changes nothing; one that all reach does. */
static void test_cap_acts_where_ratios_reach_it(void **state) {
  static const char *const algorithms[] = {"algo.name=ppo", "algo.name=ppo_ewma"};
  for (int i = 0; i < 2; i++) {
    CoreConfig config = small_config();
    set(&config, algorithms[i]);
    set(&config, "ppo.epochs=4");
    set(&config, "ppo.epsilon=inf");
    set(&config, "ppo.learning_rate=0.05");
    Training *base = make(&config), *loose, *tight;
    set(&config, "ppo.ratio_cap=1e6");
    loose = make(&config);
    set(&config, "ppo.ratio_cap=1");
    tight = make(&config);
    iterate(base, 2);
    iterate(loose, 2);
    iterate(tight, 2);
    assert_true(same_actor(base, loose));
    assert_false(same_actor(base, tight));
    training_destroy(&base);
    training_destroy(&loose);
    training_destroy(&tight);
  }
}

/* ---- the penalty ----------------------------------------------------------------------------------------------- */

/* beta 0.5 mean (logp - logp_b)^2 of the rollout under other actor weights, in double. */
static double penalty(const Training *training, const double *theta, double beta) {
  const Rollout *rollout = &training->rollout;
  const NetworkShape *shape = &training->agent.actor.shape;
  const int rows = rollout->steps * rollout->worlds, inputs = shape->width[0];
  double sum = 0, x[512], z[64], entropy;
  for (int r = 0; r < rows; r++) {
    for (int i = 0; i < inputs; i++) x[i] = (double)rollout->observations[(size_t)r * (size_t)inputs + (size_t)i];
    oracle_network(shape, theta, x, z);
    const uint8_t *action = (const uint8_t *)rollout->actions + (size_t)r * (size_t)rollout->head.factors;
    double apart = oracle_logp(&rollout->head, z, action, &entropy) - (double)rollout->logp[r];
    sum += 0.5 * apart * apart;
  }
  return beta * sum / rows;
}

/* With advantages that are 0 nothing is left of the actor's loss but the penalty: rewards and values of 0, no entropy.
 * The weights are moved by hand after the rollout, since the penalty is flat where they were. */
static void test_penalty_gradient_by_differences(void **state) {
  CoreConfig config = small_config();
  static const char *const pairs[] = {"ppo.kl_penalty=3", "ppo.entropy_coef=0", "ppo.normalize_advantage=none",
                                      "ppo.reward_scale=0", "ppo.epsilon=inf", "ppo.learning_rate=0"};

  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) set(&config, pairs[i]);
  Training *training = make(&config);
  iterate(training, 1);
  AgentNetwork *actor = &training->agent.actor;

  memset(training->agent.critic.theta, 0, training->agent.critic.n * sizeof(float));
  memset(training->rollout.values, 0,
         (size_t)(training->rollout.steps + 1) * (size_t)training->rollout.worlds * sizeof(float));
  for (size_t i = 0; i < actor->n; i++) actor->theta[i] += 0.3f * (float)((int)(i * 7 % 5) - 2); /* away from it */

  const UpdateContext step = {.ops = training->ops, .rollout = &training->rollout, .iteration = 2};
  UpdateStats update;
  assert_int_equal(training->learner.kind->update(training->learner.state, &step, &update), CORE_OK);
  const float *gradient = learner_as_ppo(&training->learner)->gradient.mean.actor;

  double *theta = core_memory_allocate(actor->n * sizeof *theta), h = 1e-6;
  for (size_t i = 0; i < actor->n; i++) theta[i] = (double)actor->theta[i];
  const double loss = penalty(training, theta, 3);
  assert_true(loss > 0.1);
  assert_float_equal(update.policy_loss, loss, 1e-4 * loss);

  for (size_t i = 0; i < actor->n; i += 3) {
    double at = theta[i];
    theta[i] = at + h;
    double above = penalty(training, theta, 3);
    theta[i] = at - h;
    double want = (above - penalty(training, theta, 3)) / (2 * h);
    theta[i] = at;
    if (!(fabs((double)gradient[i] - want) <= 1e-4 * (1 + fabs(want))))
      fail_msg("element %zu: got %.9g, want %.9g", i, (double)gradient[i], want);
  }

  free(theta);
  training_destroy(&training);
}

/* It holds the policy where it was: the stronger, the less KL. */
static void test_penalty_holds_the_policy(void **state) {
  static const char *const weights[] = {"ppo.kl_penalty=0", "ppo.kl_penalty=1", "ppo.kl_penalty=100"};
  double kl[3];
  for (int i = 0; i < 3; i++) {
    CoreConfig config = small_config();
    set(&config, "ppo.epochs=8");
    set(&config, "ppo.epsilon=inf");
    set(&config, "ppo.learning_rate=0.01");
    set(&config, weights[i]);
    Training *training = make(&config);
    kl[i] = iterate(training, 1).kl;
    training_destroy(&training);
  }
  assert_true(kl[0] > 1.2 * kl[1] && kl[1] > 1.2 * kl[2]);
}

/* ---- running moments ------------------------------------------------------------------------------------------- */

/* Weights 1 and decay of two rollouts, as one set of values with these weights. */
static void test_running_moments(void **state) {
  float first[4] = {1, 2, 3, 6}, second[4] = {-1, 0, 0, 1};
  const double decay = 0.5, mean = (0.5 * 12 + 0) / 6;
  double squares = 0;
  for (int i = 0; i < 4; i++) {
    squares += decay * ((double)first[i] - mean) * ((double)first[i] - mean);
    squares += ((double)second[i] - mean) * ((double)second[i] - mean);
  }
  Moments moments = {0}, now;
  Ops *ops;
  assert_int_equal(ops_cpu_create(1, 8, 8, &ops), CORE_OK);
  ops->moments(ops, first, NULL, 4, &now);
  advantage_normalize_ewma(ops, &moments, decay, &now, first, 4);
  assert_float_equal(first[0], (1 - 3) / sqrt(14.0 / 4), 1e-6);
  ops->moments(ops, second, NULL, 4, &now);
  advantage_normalize_ewma(ops, &moments, decay, &now, second, 4);
  assert_float_equal(moments.n, 6, 0);
  assert_float_equal(second[3], (1 - mean) / sqrt(squares / 6), 1e-6);
  ops_destroy(&ops);
}

/* They are part of a checkpoint, so a resumed run continues with them. */
static void test_running_moments_resume(void **state) {
  CoreConfig config = small_config();
  set(&config, "ppo.normalize_advantage=ewma");
  set(&config, "ppo.adv_ewma_decay=0.9");
  Training *whole = make(&config), *second = make(&config);
  iterate(whole, 2);
  resume_from_checkpoint(whole, second);
  iterate(whole, 2);
  iterate(second, 2);
  assert_true(same_actor(whole, second));
  training_destroy(&whole);
  training_destroy(&second);
}

/* ---- rejected and accepted values -------------------------------------------------------------------------------- */

static void test_bad_settings(void **state) {
  static const char *const refused[] = {"ppo.com=-1", "ppo.epsilon=-0.1", "ppo.epsilon=nan", "ppo.ratio_cap=-1",
                                        "ppo.kl_penalty=-1", "ppo.adv_ewma_decay=1", "ppo.norm_epsilon=-1"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    CoreConfig config = small_config();
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(refused[i], "="), refused[i]);
    assert_int_equal(core_config_set_pair(&config, refused[i]), CORE_USAGE);
    assert_message(key);
  }
  CoreConfig config = small_config();
  set(&config, "ppo.ratio_cap=0.5");
  assert_int_equal(core_config_check(&config), CORE_USAGE);
  assert_message("ppo.ratio_cap = 0.5");
}

/* The limits of the ranges are distinct algorithms: epsilon 0, 1 and beyond, infinite; COM 0. */
static void test_ends_of_the_ranges(void **state) {
  static const char *const settings[] = {"ppo.epsilon=0", "ppo.epsilon=1",   "ppo.epsilon=2.5",      "ppo.epsilon=inf",
                                         "ppo.com=0",     "ppo.ratio_cap=1", "ppo.reward_scale=0.01"};
  static const char *const algorithms[] = {"algo.name=ppo", "algo.name=ppo_ewma"};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    for (int a = 0; a < 2; a++) {
      CoreConfig config = small_config();
      set(&config, algorithms[a]);
      set(&config, settings[i]);
      set(&config, "ppo.epochs=3");
      Training *training = make(&config);
      StoreIteration row = iterate(training, 2);
      assert_true(isfinite(row.kl) && isfinite(row.policy_loss) && isfinite(row.value_loss));
      training_destroy(&training);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cap_acts_where_ratios_reach_it),
    cmocka_unit_test(test_penalty_gradient_by_differences),
    cmocka_unit_test(test_penalty_holds_the_policy),
    cmocka_unit_test(test_running_moments),
    cmocka_unit_test(test_running_moments_resume),
    cmocka_unit_test(test_bad_settings),
    cmocka_unit_test(test_ends_of_the_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
