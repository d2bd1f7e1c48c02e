/* PQN as a whole on the real simulator, and its parts: the epsilon-greedy policy and its schedule, RAdam's first steps,
 * that it learns, repeats and resumes bit for bit. Targets, loss, gradients and RAdam: tests/golden/golden_pqn.h. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "trainer/learners/pqn.h"
#include "trainer/update/optimizer.h"
#include "training_tools.h"

static CoreConfig small_config(void) {
  return CONFIGURED_SMALL("algo.name=pqn", "env.actions=discrete", "net.activation=relu");
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static void test_policy_of_q_values(void **state) {
  const float q[3][4] = {{1, 3, 2, -1}, {0, -2, 0, 0}, {-5, -5, -5, -4}};
  const int greedy[] = {1, 0, 3}; /* the first of equals */
  const double epsilons[] = {0, 0.1, 1};
  Ops *ops;
  assert_int_equal(ops_cpu_create(1, 8, 8, &ops), CORE_OK);
  for (int e = 0; e < 3; e++) {
    float logp[3][4], values[3];
    memcpy(logp, q, sizeof q);
    ops->q_values(ops, q[0], 3, 4, values);
    ops->q_policy(ops, logp[0], 3, 4, epsilons[e]);
    for (int r = 0; r < 3; r++)
      for (int a = 0; a < 4; a++) {
        double want = epsilons[e] / 4 + (a == greedy[r] ? 1 - epsilons[e] : 0);
        assert_float_equal(exp((double)logp[r][a]), want, 1e-6);
        assert_true(isfinite(logp[r][a]));
        assert_true(values[r] == q[r][greedy[r]]);
      }
  }
  ops_destroy(&ops);
}

/* Actions are drawn from it: with epsilon 0 always the greatest, with 1 all alike. */
static void test_sampled_actions(void **state) {
  enum { ROWS = 4000, ACTIONS = 11 };
  const OpsHead head = {.factors = 1, .logits = ACTIONS, .size = {ACTIONS}};
  Ops *ops;
  assert_int_equal(ops_cpu_create(1, ROWS, 16, &ops), CORE_OK);
  float *q = core_memory_allocate(ROWS * ACTIONS * sizeof *q), *logp = core_memory_allocate(ROWS * sizeof *logp);
  uint8_t *actions = core_memory_allocate(ROWS);
  for (int epsilon = 0; epsilon < 2; epsilon++) {
    int count[ACTIONS] = {0};
    for (int i = 0; i < ROWS * ACTIONS; i++) q[i] = i % ACTIONS == 7 ? 1 : 0;
    ops->q_policy(ops, q, ROWS, ACTIONS, epsilon);
    ops->policy_sample(ops, &head, q, ROWS, 5, CORE_RANDOM_ACTION, 0, 0, actions, logp);
    for (int r = 0; r < ROWS; r++) count[actions[r]]++;
    if (epsilon == 0) assert_int_equal(count[7], ROWS);
    for (int a = 0; a < ACTIONS && epsilon == 1; a++)
      assert_in_range(count[a], ROWS / ACTIONS - 90, ROWS / ACTIONS + 90);
  }
  free(q), free(logp), free(actions);
  ops_destroy(&ops);
}

static void test_epsilon_falls_linearly(void **state) {
  CoreConfig config = small_config(); /* 4 iterations of 256 */
  set(&config, "train.total_steps=2560");
  set(&config, "pqn.exploration_fraction=0.5");
  const double want[] = {1, 0.81, 0.62, 0.43, 0.24, 0.05, 0.05, 0.05};
  for (int i = 0; i < 8; i++) assert_float_equal(pqn_epsilon(&config, i + 1), want[i], 1e-12);
  set(&config, "pqn.exploration_fraction=0");
  assert_float_equal(pqn_epsilon(&config, 1), 0.05, 1e-12);
  set(&config, "pqn.exploration_fraction=1");
  assert_true(pqn_epsilon(&config, 10) > 0.05);
}

/* With beta2 = 0.999 the second moment takes part from the sixth step on; a constant gradient g steps by
 * rate g before. */
static void test_radam_begins_as_momentum(void **state) {
  float theta = 0, gradient = 4, m = 0, v = 0;
  Optimizer optimizer = {.rule = OPTIMIZER_RADAM, .m = &m, .v = &v, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
  Ops *ops;
  assert_int_equal(ops_cpu_create(1, 8, 8, &ops), CORE_OK);
  for (int t = 1; t <= 6; t++) {
    float before = theta;
    optimizer_apply(ops, &optimizer, &theta, &gradient, 1, 0.01, 1);
    double rho_last = 1999, power = pow(0.999, t), rho = rho_last - 2 * t * power / (1 - power);
    double factor = sqrt((rho - 4) * (rho - 2) * rho_last / ((rho_last - 4) * (rho_last - 2) * rho));
    assert_int_equal(rho > 5, t == 6);
    assert_float_equal(before - theta, t < 6 ? 0.04 : 0.01 * factor, 1e-6);
  }
  ops_destroy(&ops);
}

/* ---- whole trainings ------------------------------------------------------------------------------------------- */

/* Statistics of an update: the first policy is uniform; there is no critic, ratio or clip. */
static void test_row_of_the_log(void **state) {
  CoreConfig config = small_config();
  Training *training = make(&config);
  assert_int_equal(training->plan.critic_parameters, 0);
  /* 16 of 16 units with layer norm, and 11 actions */
  size_t inputs = (size_t)training->plan.observation_length;
  assert_int_equal(training->plan.actor_parameters, inputs * 16 + 3 * 16 + 16 * 16 + 3 * 16 + 16 * 11 + 11);
  StoreIteration row = iterate(training, 1);
  assert_float_equal(row.entropy, log(11), 1e-9);
  assert_true(row.kl >= 0 && isfinite(row.kl_reverse) && row.value_loss > 0 && row.grad_norm_actor > 0);
  assert_true(row.learning_rate == 2.5e-4 && row.update_norm_actor > 0 && isfinite(row.explained_variance));
  assert_true(isfinite(row.dormant_actor) && isfinite(row.feature_rank_actor) && isfinite(row.grad_kurtosis_actor));
  assert_true(isnan(row.policy_loss) && isnan(row.clip_fraction) && isnan(row.clip_fraction_silent));
  assert_true(isnan(row.grad_norm_critic) && isnan(row.update_norm_critic) && isnan(row.weight_norm_critic));
  assert_true(isnan(row.feature_rank_critic) && isnan(row.dormant_critic));
  row = iterate(training, 1);
  assert_true(row.entropy < log(11) && row.learning_rate < 2.5e-4);
  training_destroy(&training);
}

/* Eight easy levels. */
static void test_learns(void **state) {
  CoreConfig config = small_config();
  static const char *const pairs[] = {"env.num=64", "ppo.num_steps=32", "ppo.epochs=4", "net.width=64",
                                      "pqn.learning_rate=1e-3", "pqn.q_lambda=0.9", "pqn.exploration_fraction=0.3",
                                      "eval.count=1", "eval.episodes=128", "train.total_steps=300000"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) set(&config, pairs[i]);
  assert_learns(&config);
}

static void test_repeats_and_depends_on_the_seed(void **state) {
  assert_repeats_and_depends_on_the_seed(small_config());
}

/* A learning rate, a schedule, a lambda, a clip: each is used. */
static void test_settings_act(void **state) {
  static const char *const settings[] = {"pqn.learning_rate=1e-3", "pqn.lr_schedule=constant", "pqn.gamma=0.9",
                                         "pqn.q_lambda=0.1", "pqn.epsilon_start=0.5", "pqn.exploration_fraction=0.9",
                                         "pqn.max_grad_norm=0.01", "net.norm=none", "ppo.minibatch_by=environments"};
  CoreConfig config = small_config();
  Training *base = make(&config);
  iterate(base, 2);
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    CoreConfig changed = config;
    set(&changed, settings[i]);
    Training *training = make(&changed);
    StoreIteration row = iterate(training, 2);
    size_t n = training->agent.actor.n < base->agent.actor.n ? training->agent.actor.n : base->agent.actor.n;
    if (memcmp(base->agent.actor.theta, training->agent.actor.theta, n * sizeof(float)) == 0)
      fail_msg("%s changes nothing", settings[i]);
    if (strstr(settings[i], "max_grad_norm")) assert_true(row.grad_clipped_actor == 1);
    training_destroy(&training);
  }
  training_destroy(&base);
}

static void test_what_it_can_not_take(void **state) {
  static const struct { const char *pair, *message;
  } cases[] = {{"env.actions=multi_discrete", "set env.actions = discrete"},
               {"env.actions=continuous", "set env.actions = discrete"},
               {"net.sharing=shared", "leave net.sharing = separate"},
               {"net.sharing=joint", "leave net.sharing = separate"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CoreConfig config = small_config();
    Training *training = NULL;
    set(&config, cases[i].pair);
    assert_int_equal(training_plan(&config, &training), CORE_USAGE);
    assert_message(cases[i].message);
    assert_null(training);
  }
}

/* The error names the value that is not finite, and the iteration. */
static void test_divergence_is_explained(void **state) {
  CoreConfig config = small_config();
  Training *training = make(&config);
  StoreIteration row;
  iterate(training, 1);
  training->agent.actor.theta[network_norm_gain(&training->agent.actor.shape, 1) + 3] = NAN;
  assert_int_equal(training_iterate(training, &row), CORE_FAIL);
  assert_message("diverged in iteration 2");
  assert_message("greatest Q");
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_policy_of_q_values),
    cmocka_unit_test(test_sampled_actions),
    cmocka_unit_test(test_epsilon_falls_linearly),
    cmocka_unit_test(test_radam_begins_as_momentum),
    cmocka_unit_test(test_row_of_the_log),
    cmocka_unit_test(test_learns),
    cmocka_unit_test(test_repeats_and_depends_on_the_seed),
    cmocka_unit_test(test_settings_act),
    cmocka_unit_test(test_what_it_can_not_take),
    cmocka_unit_test(test_divergence_is_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
