/* Regularizers against PyTorch and Stable-Baselines3 (tests/golden/make_regularizers.py): decoupled weight decay,
 * learning-rate schedules, exact and adaptive KL penalties, early stopping, and the batch-size-invariant scaling. Then
 * whole trainings: on the CPU, on an emulated device with and without recorded updates, over shards, and resumed. */
#include "test.h"

#include "core/files.h"
#include "tests/golden/regularizers_golden.h"
#include "trainer/learners/optim.h"
#include "trainer/learners/ppo.h"
#include "training_tools.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static Ops *make_ops(void) {
  Ops *ops;
  assert_int_equal(ops_cpu_create(1, 64, 64, &ops), CORE_OK);
  return ops;
}

/* ---- golden numbers ---------------------------------------------------------------------------------------------- */

static void test_weight_decay(void **state) {
  enum { N = COUNT(golden_adamw_start) };
  float theta[N], m[N] = {0}, v[N] = {0};
  Ops *ops = make_ops();
  Optimizer optimizer = {.m = m, .v = v, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-5, .weight_decay = 3};
  (void)state;
  memcpy(theta, golden_adamw_start, sizeof theta);
  for (int t = 0; t < COUNT(golden_adamw_rate); t++)
    optimizer_apply(ops, &optimizer, theta, golden_adamw_gradient + t * N, N, golden_adamw_rate[t], 1);
  for (int i = 0; i < N; i++) assert_float_equal(theta[i], golden_adamw_end[i], 1e-6);
  const OpsAdamScalars scalars = optimizer_scalars(&optimizer, 0.01, 5);
  assert_true(scalars.keep == (float)(1 - 0.03));
  ops_destroy(&ops);
}

static void check_schedule(const char *schedule, const char *warmup, const double *golden) {
  CoreConfig config = CONFIGURED_SMALL("ppo.learning_rate=0.4", "train.total_steps=5120");
  char pair[64];
  snprintf(pair, sizeof pair, "ppo.lr_schedule=%s", schedule);
  set(&config, pair);
  set(&config, warmup);
  assert_int_equal(core_config_iterations(&config), COUNT(golden_cosine));
  for (int i = 0; i < COUNT(golden_cosine); i++)
    assert_float_equal(ppo_learning_rate(&config, i + 1), golden[i], 1e-12);
}

static void test_schedules(void **state) {
  (void)state;
  check_schedule("cosine", "ppo.lr_warmup=0", golden_cosine);
  check_schedule("linear", "ppo.lr_warmup=0", golden_linear);
  check_schedule("constant", "ppo.lr_warmup=0", golden_constant);
  check_schedule("cosine", "ppo.lr_warmup=0.25", golden_cosine_warm);
  check_schedule("linear", "ppo.lr_warmup=0.25", golden_linear_warm);
  check_schedule("constant", "ppo.lr_warmup=0.25", golden_constant_warm);
}

static void check_exact_kl(const OpsHead *head, const float *golden_gradient, double golden_kl) {
  enum { N = COUNT(golden_kl_new), ROWS = 5 };
  Ops *ops = make_ops();
  float gradient[N];
  double kl;
  for (int i = 0; i < N; i++) gradient[i] = 2; /* it is added */
  ops->exact_kl_penalty(ops, head, golden_kl_new, golden_kl_old, ROWS, 0.7, gradient, &kl);
  assert_float_equal(kl, golden_kl, 1e-6 * golden_kl);
  for (int i = 0; i < N; i++) assert_float_equal(gradient[i] - 2, golden_gradient[i], 1e-5);
  ops_destroy(&ops);
}

static void test_exact_kl(void **state) {
  const OpsHead categorical = {.kind = OPS_MULTI_DISCRETE, .factors = 3, .logits = 8, .size = {3, 3, 2}};
  const OpsHead gaussian = {.kind = OPS_GAUSSIAN, .factors = 4, .logits = 8};
  (void)state;
  check_exact_kl(&categorical, golden_categorical_gradient, golden_categorical_kl);
  check_exact_kl(&gaussian, golden_gaussian_gradient, golden_gaussian_kl);
}

enum { EPOCHS = 4, MINIBATCHES = 4, ROWS = 8 };

/* Returns the sum of k3 that the policy loss reports for a minibatch of these log-probabilities of action 0. */
static double k3_sum(Ops *ops, const float *logp, const float *old_logp) {
  const OpsHead head = {.kind = OPS_MULTI_DISCRETE, .factors = 1, .logits = 2, .size = {2}};
  const uint8_t actions[ROWS] = {0};
  const float advantages[ROWS] = {0};
  float logits[2 * ROWS], gradient[2 * ROWS];
  OpsPolicySums sums;
  for (int r = 0; r < ROWS; r++) {
    logits[2 * r] = logp[r];
    logits[2 * r + 1] = (float)log(-expm1((double)logp[r]));
  }
  ops->policy_loss(ops, &head, logits, actions, old_logp, NULL, advantages, ROWS, 0.2, 0, gradient, &sums);
  return sums.k3;
}

static int count_steps(Ops *ops, const CoreConfig *config) {
  EarlyStop stop;
  CoreArena *arena = core_arena_create("early stop");
  const Shards shards = {.shards = 1, .global_shards = 1};
  early_stop_register(&stop, config, &shards, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  early_stop_begin(&stop);
  int steps = 0;
  for (int i = 0; i < EPOCHS * MINIBATCHES && !stop.stopped; i++) {
    early_stop_begin_minibatch(&stop);
    early_stop_add(&stop, 0, k3_sum(ops, golden_logp + i * ROWS, golden_old_logp + i * ROWS));
    steps += early_stop_allows(&stop, ROWS);
    if ((i + 1) % MINIBATCHES == 0) early_stop_end_epoch(&stop);
  }
  core_arena_destroy(&arena);
  return steps;
}

static void test_early_stop(void **state) {
  Ops *ops = make_ops();
  (void)state;
  for (int i = 0; i < COUNT(golden_target_kl); i++) {
    CoreConfig config = core_config_default();
    config.ppo.target_kl = golden_target_kl[i];
    assert_int_equal(count_steps(ops, &config), golden_steps_epoch[i]);
    set(&config, "ppo.target_kl_check=minibatch");
    assert_int_equal(count_steps(ops, &config), golden_steps_minibatch[i]);
  }
  ops_destroy(&ops);
}

static void test_adaptive_penalty(void **state) {
  CoreConfig config = CONFIGURED("ppo.kl_penalty=1", "ppo.kl_penalty_target=0.01");
  KlPenalty penalty = kl_penalty_create(&config);
  (void)state;
  for (int i = 0; i < COUNT(golden_penalty); i++) {
    kl_penalty_update(&penalty, golden_penalty_kl[i]);
    assert_float_equal(penalty.coefficient, golden_penalty[i], 0);
  }
  kl_penalty_update(&penalty, NAN);
  assert_float_equal(penalty.coefficient, golden_penalty[COUNT(golden_penalty) - 1], 0);
  for (int i = 0; i < 100; i++) kl_penalty_update(&penalty, 0);
  assert_float_equal(penalty.coefficient, 1e-6, 0);
  for (int i = 0; i < 100; i++) kl_penalty_update(&penalty, INFINITY);
  assert_float_equal(penalty.coefficient, 1e6, 0);
}

static void test_batch_size_invariance(void **state) {
  (void)state;
  for (int i = 0; i < COUNT(golden_invariant_factor); i++) {
    CoreConfig config = CONFIGURED("algo.name=ppo_ewma", "ppo.com=64", "ppo.adv_ewma_decay=0.9",
                                   "ppo.normalize_advantage=ewma", "scale.scheme=batch_size_invariant"), resolved;
    config.scale.factor = golden_invariant_factor[i];
    assert_int_equal(core_config_resolve(&config, &resolved), CORE_OK);
    assert_int_equal(resolved.env.num, (int64_t)(2048 * golden_invariant_factor[i]));
    assert_int_equal(resolved.ppo.num_minibatches, config.ppo.num_minibatches);
    assert_float_equal(resolved.ppo.learning_rate, golden_invariant_rate[i], 1e-15);
    assert_float_equal(resolved.ppo.com, golden_invariant_com[i], 1e-10);
    assert_float_equal(resolved.ppo.adv_ewma_decay, golden_invariant_decay[i], 1e-12);
  }
}

/* ---- trainings --------------------------------------------------------------------------------------------------- */

#define WITH(...) (const char *const[]){__VA_ARGS__, NULL}
static CoreConfig small_config(const char *const *more) {
  CoreConfig config = CONFIGURED_SMALL("ppo.learning_rate=3e-3", "metrics.representation_every=2");
  for (int i = 0; more[i]; i++) set(&config, more[i]);
  return config;
}

static void assert_agrees(const char *what, double got, double want, double tolerance) {
  if (isnan(got) && isnan(want)) return;
  if (!(fabs(got - want) <= tolerance * (1e-3 + fabs(want)))) fail_msg("%s: %.9g is not %.9g", what, got, want);
}

/* Compares the CPU with the emulated device, whose updates the host drives or which are recorded. Returns the steps of
 * the last iteration. */
static double compare(const char *const *more) {
  CoreConfig config = small_config(more);
  set(&config, "train.device=cpu");
  Training *host = make(&config), *device[2];
  set(&config, "train.device=cuda");
  setenv("CORE_DEVICE", "emulated", 1);
  device[0] = make(&config);
  setenv("TRAINER_QUEUE", "none", 1);
  device[1] = make(&config);
  unsetenv("TRAINER_QUEUE");
  unsetenv("CORE_DEVICE");
  double updates = 0;
  for (int i = 0; i < 4; i++) {
    const StoreIteration want = iterate(host, 1);
    for (int d = 0; d < 2; d++) {
      const StoreIteration got = iterate(device[d], 1);
      assert_agrees("updates", got.updates, want.updates, 0);
      assert_agrees("kl", got.kl, want.kl, 2e-2);
      assert_agrees("kl_penalty", got.kl_penalty, want.kl_penalty, 0);
      assert_agrees("policy_loss", got.policy_loss, want.policy_loss, 3e-2);
      assert_agrees("value_loss", got.value_loss, want.value_loss, 2e-3);
      assert_agrees("clip_fraction", got.clip_fraction, want.clip_fraction, 5e-2);
      assert_agrees("weight_norm_actor", got.weight_norm_actor, want.weight_norm_actor, 1e-4);
      assert_agrees("weight_norm_critic", got.weight_norm_critic, want.weight_norm_critic, 1e-4);
    }
    updates = want.updates;
  }
  training_destroy(&host);
  training_destroy(&device[0]);
  training_destroy(&device[1]);
  return updates;
}

static void test_devices(void **state) {
  (void)state;
  assert_true(compare(WITH("ppo.weight_decay=0.5", "ppo.lr_schedule=cosine", "ppo.lr_warmup=0.5")) == 8);
  assert_true(compare(WITH("ppo.kl_penalty=2", "ppo.kl_penalty_form=exact", "ppo.kl_penalty_target=0.01",
                           "ppo.epsilon=inf")) == 8);
  compare(WITH("algo.name=ppo_ewma", "ppo.kl_penalty=2", "ppo.kl_penalty_form=exact", "env.actions=continuous"));
}

#define SHARDS(n) "comm.deterministic=yes", "comm.shards=" #n
static void test_early_stop_on_devices(void **state) {
  (void)state;
  assert_true(compare(WITH("ppo.epochs=6", "ppo.target_kl=3e-3")) < 24);
  assert_true(compare(WITH("ppo.epochs=6", "ppo.target_kl=3e-3", "ppo.target_kl_check=minibatch")) < 24);
  assert_true(compare(WITH("ppo.epochs=3", "ppo.target_kl=3e-3", "ppo.target_kl_check=minibatch", SHARDS(2))) < 12);
  assert_true(compare(WITH("ppo.epochs=3", "ppo.target_kl=3e-3", SHARDS(2), "ppo.kl_penalty=1",
                           "ppo.kl_penalty_form=exact")) < 12);
}

/* The steps before the stop are those of a run without one. */
static void test_stop_only_ends(void **state) {
  CoreConfig config = small_config(WITH("ppo.epochs=6"));
  (void)state;
  set(&config, "ppo.target_kl=3e-3");
  Training *stopped = make(&config);
  const double epochs = iterate(stopped, 1).updates / (double)config.ppo.num_minibatches;
  assert_true(epochs >= 1 && epochs < 6 && epochs == floor(epochs));
  set(&config, "ppo.target_kl=0");
  config.ppo.epochs = (int64_t)epochs;
  Training *whole = make(&config);
  iterate(whole, 1);
  assert_true(same_weights(stopped, whole));
  training_destroy(&stopped);
  training_destroy(&whole);
}

/* The coefficient follows the KL, and a resumed run continues with it. */
static void test_penalty_resumes(void **state) {
  CoreConfig config = small_config(WITH("ppo.kl_penalty=1", "ppo.kl_penalty_form=exact", "ppo.epsilon=inf",
                                        "ppo.kl_penalty_target=0.5"));
  (void)state;
  Training *whole = make(&config), *second = make(&config);
  assert_float_equal(iterate(whole, 1).kl_penalty, 1, 0);
  assert_float_equal(iterate(whole, 1).kl_penalty, 0.5, 0);
  resume_from_checkpoint(whole, second);
  assert_float_equal(iterate(whole, 2).kl_penalty, 0.125, 0);
  assert_float_equal(iterate(second, 2).kl_penalty, 0.125, 0);
  assert_true(same_weights(whole, second));
  training_destroy(&whole);
  training_destroy(&second);
}

/* The stronger it is, the less KL. */
static void test_exact_penalty_holds_the_policy(void **state) {
  static const char *const weights[] = {"ppo.kl_penalty=0.01", "ppo.kl_penalty=1", "ppo.kl_penalty=100"};
  double kl[3];
  (void)state;
  for (int i = 0; i < 3; i++) {
    CoreConfig config = small_config(WITH("ppo.kl_penalty_form=exact", "ppo.epsilon=inf", "ppo.epochs=8"));
    set(&config, weights[i]);
    Training *training = make(&config);
    kl[i] = iterate(training, 1).kl;
    training_destroy(&training);
  }
  assert_true(kl[0] > 1.2 * kl[1] && kl[1] > 1.2 * kl[2]);
}

static void test_refused(void **state) {
  CoreConfig config = CONFIGURED("ppo.kl_penalty_target=0.01");
  (void)state;
  assert_int_equal(core_config_check(&config), CORE_USAGE);
  assert_message("set ppo.kl_penalty to 1");
  config = CONFIGURED("ppo.lr_schedule=kl", "ppo.target_kl=0.01", "env.actions=continuous");
  assert_int_equal(core_config_check(&config), CORE_OK);
  set(&config, "ppo.target_kl_check=minibatch");
  assert_int_equal(core_config_check(&config), CORE_USAGE);
  assert_message("set ppo.target_kl_check to epoch");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_weight_decay), cmocka_unit_test(test_schedules), cmocka_unit_test(test_exact_kl),
    cmocka_unit_test(test_early_stop), cmocka_unit_test(test_adaptive_penalty),
    cmocka_unit_test(test_batch_size_invariance), cmocka_unit_test(test_devices),
    cmocka_unit_test(test_early_stop_on_devices), cmocka_unit_test(test_stop_only_ends),
    cmocka_unit_test(test_penalty_resumes), cmocka_unit_test(test_exact_penalty_holds_the_policy),
    cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
