/* PPO and PPO-EWMA as a whole on the real simulator: learning, repetition and resumption bit for bit, effects of
 * settings, and messages when values are no longer finite. tests/golden/golden_ppo.c tests the arithmetic. */
#include "test.h"

#include "trainer/learners/ppo.h"
#include "training_tools.h"

static CoreConfig small_config(void) { return CONFIGURED_SMALL(); }

/* With one minibatch an iteration's step is that minibatch's. */
static void test_norms_of_steps(void **state) {
  (void)state;
  CoreConfig config = small_config();
  set(&config, "ppo.num_minibatches=1");
  set(&config, "ppo.epochs=1");
  set(&config, "metrics.representation_every=2");
  Training *training = make(&config);
  StoreIteration first = iterate(training, 1), second = iterate(training, 1);
  assert_true(first.step_norm_actor > 0 && first.step_norm_critic > 0);
  assert_float_equal(first.step_norm_actor, first.update_norm_actor, 1e-9);
  assert_float_equal(first.step_norm_critic, first.update_norm_critic, 1e-9);
  assert_float_equal(first.grad_norm_joint, hypot(first.grad_norm_actor, first.grad_norm_critic), 1e-9);
  assert_true(isnan(second.step_norm_actor) && second.grad_norm_joint > 0 && isnan(second.kl_controller));
  training_destroy(&training);
  set(&config, "ppo.epochs=4");
  training = make(&config);
  first = iterate(training, 1); /* a sum of steps is no longer than they are together */
  assert_true(first.update_norm_actor <= 4 * first.step_norm_actor * (1 + 1e-9));
  assert_true(first.step_norm_actor < first.update_norm_actor);
  training_destroy(&training);
}

/* Eight easy levels. */
static void test_learns(void **state) {
  CoreConfig config = small_config();
  static const char *const pairs[] = {"env.num=64", "ppo.num_steps=32", "ppo.epochs=4", "net.width=64",
                                      "ppo.learning_rate=1e-3", "eval.count=1", "eval.episodes=128",
                                      "train.total_steps=64000"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) set(&config, pairs[i]);
  const char *const algorithms[] = {"algo.name=ppo", "algo.name=ppo_ewma"};
  for (int i = 0; i < 2; i++) {
    set(&config, algorithms[i]);
    const StoreIteration row = assert_learns(&config);
    assert_true(row.entropy < 4 * log(3) + 2 * log(2)); /* below the uniform policy's */
  }
}

static void test_repeats_and_depends_on_the_seed(void **state) {
  assert_repeats_and_depends_on_the_seed(small_config());
}

static void test_evaluation_leaves_training_alone(void **state) {
  CoreConfig config = small_config();
  Training *plain = make(&config);
  set(&config, "eval.count=4");
  Training *evaluated = make(&config);
  StoreEvaluation row;
  int evaluations = 0;
  iterate(plain, 4);
  for (int i = 0; i <= 4; i++) {
    if (training_evaluation_due(evaluated)) {
      training_evaluate(evaluated, &row);
      evaluations++;
    }
    if (i < 4) iterate(evaluated, 1);
  }
  assert_int_equal(evaluations, 5); /* before training and after each of the four iterations */
  assert_true(same_weights(plain, evaluated));
  training_destroy(&plain);
  training_destroy(&evaluated);
}

/* A scaled reference equals the run with the scaled values. */
static void test_scaled_is_what_it_comes_to(void **state) {
  CoreConfig config = small_config(), reference = small_config();
  set(&reference, "env.num=4");
  set(&reference, "ppo.num_minibatches=2");
  set(&reference, "scale.scheme=hybrid");
  set(&reference, "scale.factor=4");
  set(&reference, "ppo.learning_rate=4e-4");
  config.ppo.learning_rate = sqrt(2) * 4e-4;
  Training *plain = make(&config), *scaled = make(&reference);
  assert_int_equal(scaled->plan.minibatch_rows, plain->plan.minibatch_rows);
  StoreIteration a = iterate(plain, 2), b = iterate(scaled, 2);
  assert_true(same_weights(plain, scaled));
  assert_true(a.transitions == b.transitions && a.learning_rate == b.learning_rate && a.kl == b.kl);
  training_destroy(&plain);
  training_destroy(&scaled);
}

/* Rare metrics are computed when due and do not change the training. */
static void test_measuring_changes_nothing(void **state) {
  CoreConfig config = small_config();
  set(&config, "algo.name=ppo_ewma");
  set(&config, "ppo.epsilon=0.01");
  set(&config, "metrics.representation_every=2");
  Training *often = make(&config);
  set(&config, "metrics.every=1000");
  Training *rarely = make(&config);
  for (int i = 1; i <= 3; i++) {
    StoreIteration row = iterate(often, 1), other = iterate(rarely, 1);
    bool deep = i != 2;
    assert_true(isnan(row.grad_kurtosis_actor) == !deep && isnan(row.feature_rank_critic) == !deep);
    assert_true(isnan(row.clip_fraction_silent) == !deep && isnan(row.dormant_actor) == !deep);
    assert_true(isfinite(row.ess_percent) && isfinite(row.weight_norm_actor) && isfinite(row.policy_variance));
    assert_true(isnan(other.ess_percent) == (i > 1) && isnan(other.grad_zero_critic) == (i > 1));
    assert_true(isfinite(other.kl) && isfinite(other.ddr));
    assert_true(row.seconds_environment > 0 && row.seconds_environment < row.seconds_rollout);
    if (!deep) continue;
    assert_true(row.clip_fraction_silent > 0 && row.clip_fraction_silent < row.clip_fraction);
    assert_true(row.feature_rank_actor >= 1 && row.feature_rank_actor <= row.feature_srank_actor);
    assert_true(row.grad_kurtosis_critic >= 1 && row.dormant_critic <= 1);
  }
  assert_true(same_weights(often, rarely));
  training_destroy(&often);
  training_destroy(&rarely);
}

/* Four iterations at once, and two + checkpoint + fresh memory + two, with everything that carries state. */
static void assert_resumes(CoreConfig config) {
  set(&config, "algo.name=ppo_ewma");
  set(&config, "ppo.ewma_rule=bias_corrected");
  Training *whole = make(&config), *first = make(&config), *second = make(&config);
  StoreIteration expected = iterate(whole, 4);

  iterate(first, 2);
  resume_from_checkpoint(first, second);
  assert_int_equal(second->position.iteration, 2);
  StoreIteration row = iterate(second, 2);

  assert_true(same_weights(whole, second));
  assert_memory_equal(learner_as_ppo(&whole->learner)->proximal.theta, learner_as_ppo(&second->learner)->proximal.theta,
                      whole->agent.actor.n * sizeof(float));
  assert_true(learner_as_ppo(&whole->learner)->proximal.weight == learner_as_ppo(&second->learner)->proximal.weight);
  assert_true(row.kl == expected.kl && row.transitions == expected.transitions);
  assert_true(row.policy_loss == expected.policy_loss && row.value_loss == expected.value_loss);
  assert_true(row.learning_rate == expected.learning_rate);
  training_destroy(&whole);
  training_destroy(&first);
  training_destroy(&second);
}

static void test_resumes_bit_for_bit(void **state) {
  CoreConfig config = small_config();
  (void)state;
  set(&config, "ppo.lr_schedule=linear");
  assert_resumes(config);
  static const char *const rl_games[] = {"env.actions=continuous", "ppo.lr_schedule=kl", "ppo.normalize_value=yes",
                                         "ppo.bounds_coef=1e-2"};
  for (size_t i = 0; i < sizeof rl_games / sizeof *rl_games; i++) set(&config, rl_games[i]);
  assert_resumes(config);
}

/* COM 0: the proximal policy is the policy itself, so nothing is ever clipped; a huge COM leaves it where it began. */
static void test_center_of_mass(void **state) {
  CoreConfig config = small_config();
  set(&config, "algo.name=ppo_ewma");
  set(&config, "ppo.epsilon=1e-4");
  set(&config, "ppo.com=0");
  Training *none = make(&config);
  set(&config, "ppo.com=1e9");
  Training *huge = make(&config);
  float *initial = malloc(huge->agent.actor.n * sizeof(float));
  memcpy(initial, huge->agent.actor.theta, huge->agent.actor.n * sizeof(float));
  StoreIteration none_row = iterate(none, 2), huge_row = iterate(huge, 2);
  assert_memory_equal(learner_as_ppo(&none->learner)->proximal.theta, none->agent.actor.theta,
                      none->agent.actor.n * sizeof(float));
  assert_true(none_row.clip_fraction == 0);
  assert_true(huge_row.clip_fraction > 0.5);
  for (size_t i = 0; i < huge->agent.actor.n; i++)
    assert_float_equal(learner_as_ppo(&huge->learner)->proximal.theta[i], initial[i], 1e-6);
  free(initial);
  training_destroy(&none);
  training_destroy(&huge);
}

static void test_settings_reach_the_update(void **state) {
  CoreConfig config = small_config();
  Training *base = make(&config);
  StoreIteration base_row = iterate(base, 1);
  static const char *const changes[] = {
    "ppo.epsilon=1e-4", "ppo.gamma=0.5", "ppo.gae_lambda=0", "ppo.entropy_coef=1", "ppo.max_grad_norm=0.01",
    "ppo.normalize_advantage=minibatch", "ppo.normalize_advantage=none", "ppo.minibatch_by=environments",
    "ppo.adam_beta1=0.5", "ppo.adam_epsilon=0.1", "ppo.learning_rate=1e-2"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    CoreConfig changed = config;
    set(&changed, changes[i]);
    Training *training = make(&changed);
    iterate(training, 1);
    assert_memory_not_equal(base->agent.actor.theta, training->agent.actor.theta, base->agent.actor.n * sizeof(float));
    training_destroy(&training);
  }
  assert_true(base_row.grad_norm_actor > 0 && base_row.grad_norm_actor <= base_row.grad_norm_actor_max);
  assert_true(base_row.kl > 0 && base_row.ddr > 0);
  assert_float_equal(base_row.ddr, 256 / base_row.kl, 1e-6 * base_row.ddr);
  training_destroy(&base);
}

static void test_learning_rate(void **state) {
  CoreConfig config = small_config(); /* 1024 transitions of 256 an iteration: 4 iterations */
  set(&config, "ppo.learning_rate=0.4");
  assert_float_equal(ppo_learning_rate(&config, 3), 0.4, 0);
  set(&config, "ppo.lr_schedule=linear");
  for (int i = 1; i <= 4; i++) assert_float_equal(ppo_learning_rate(&config, i), 0.4 * (5 - i) / 4, 1e-12);
}

static void expect_divergence(Training *training, const char *words) {
  StoreIteration row;
  assert_int_equal(training_iterate(training, &row), CORE_FAIL);
  assert_message(words);
  assert_message("iteration 1");
}

static void test_not_a_number_is_named(void **state) {
  CoreConfig config = small_config();
  Training *training = make(&config);
  training->agent.critic.theta[network_bias(&training->agent.critic.shape, 2)] = NAN;
  expect_divergence(training, "critic.value");
  training_destroy(&training);

  training = make(&config);
  training->agent.actor.theta[network_bias(&training->agent.actor.shape, 2) + 4] = INFINITY;
  expect_divergence(training, "actor.logits[state,logit][0,4]");
  training_destroy(&training);

  /* Step size and relu layers that grow without bound within the first iteration. */
  set(&config, "ppo.learning_rate=10");
  set(&config, "net.activation=relu");
  set(&config, "net.depth=16");
  set(&config, "net.width=64");
  training = make(&config);
  expect_divergence(training, "is ");
  assert_message("epoch");
  training_destroy(&training);
}

static void test_impossible_settings(void **state) {
  CoreConfig config = small_config();
  Training *training = NULL;
  setenv("CUDA_VISIBLE_DEVICES", "", 1); /* no GPU, also where there is one */
  set(&config, "train.device=cuda");
  assert_int_equal(training_plan(&config, &training), CORE_USAGE);
  assert_message("train.device = cuda: ");
  unsetenv("CUDA_VISIBLE_DEVICES");
  assert_null(training);

  config = small_config();
  set(&config, "ppo.num_minibatches=7");
  assert_int_equal(training_plan(&config, &training), CORE_USAGE);

  config = small_config(); /* more than any machine has, known without allocating it */
  set(&config, "env.num=4194304");
  set(&config, "ppo.num_steps=512");
  assert_int_equal(training_plan(&config, &training), CORE_OK);
  assert_int_equal(training_check_memory(training), CORE_FAIL);
  assert_message("env.num");
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_norms_of_steps),
    cmocka_unit_test(test_learns),
    cmocka_unit_test(test_repeats_and_depends_on_the_seed),
    cmocka_unit_test(test_evaluation_leaves_training_alone),
    cmocka_unit_test(test_measuring_changes_nothing),
    cmocka_unit_test(test_scaled_is_what_it_comes_to),
    cmocka_unit_test(test_resumes_bit_for_bit),
    cmocka_unit_test(test_center_of_mass),
    cmocka_unit_test(test_settings_reach_the_update),
    cmocka_unit_test(test_learning_rate),
    cmocka_unit_test(test_not_a_number_is_named),
    cmocka_unit_test(test_impossible_settings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
