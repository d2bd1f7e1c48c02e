/* The gradient noise scale (trainer/measure/noise_scale.h): against a linear problem whose gradients have a known mean
 * and covariance, against the gradients of single transitions by differences of the losses in double, on a device
 * against the CPU, and training that it leaves as it is. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "tests/oracle/learner.h"
#include "trainer/learners/ppo.h"
#include "device_tools.h"
#include "training_tools.h"

/* ---- known mean and covariance ----------------------------------------------------------------------------------- */

enum { DIMENSIONS = 20, ROWS = 32, MINIBATCHES = 8, REPEATS = 2000 };

static double draw_normal(CoreRandomStream *random) {
  const double u = (double)core_random_uniform(random, 1e-7f, 1), v = (double)core_random_uniform(random, 0, 1);
  return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Mean gradient over ROWS samples of (x'w - y)^2 / 2, where x is N(0, 1) and x'w - y = x'd - e with e of N(0, sd^2):
 * a sample's gradient is x (x'd - e). */
static void draw_gradient(CoreRandomStream *random, const double *d, double sd, float *gradient) {
  double sum[DIMENSIONS] = {0};
  for (int row = 0; row < ROWS; row++) {
    double x[DIMENSIONS], error = -sd * draw_normal(random);
    for (int i = 0; i < DIMENSIONS; i++) x[i] = draw_normal(random);
    for (int i = 0; i < DIMENSIONS; i++) error += x[i] * d[i];
    for (int i = 0; i < DIMENSIONS; i++) sum[i] += x[i] * error;
  }
  for (int i = 0; i < DIMENSIONS; i++) gradient[i] = (float)(sum[i] / ROWS);
}

typedef struct Average { double sum, squares; } Average;
static void add(Average *average, double value) { average->sum += value, average->squares += value * value; }
static void assert_mean(const char *what, const Average *average, double want, double most) {
  const double mean = average->sum / REPEATS;
  const double error = sqrt((average->squares / REPEATS - mean * mean) / REPEATS);
  if (!(fabs(mean - want) < 4 * error && error < most * want))
    fail_msg("%s: %g +- %g, expected %g", what, mean, error, want);
}

/* E[g] = d, and Cov(g) = (|d|^2 + sd^2) I + dd' for normal x. */
static void test_linear(void **state) {
  double d[DIMENSIONS], square = 0;
  const double sd = 1.5;
  float actor[DIMENSIONS], critic[DIMENSIONS];
  CoreArena *arena = core_arena_create("test");
  Agent agent = {.actor.n = DIMENSIONS, .critic.n = DIMENSIONS};
  const AgentGradient gradient = {.actor = actor, .critic = critic};
  NoiseScale noise;
  Ops *ops;
  Average variance = {0, 0}, mean = {0, 0}, of_critic = {0, 0};
  CoreRandomStream random = core_random_stream(7, CORE_RANDOM_TEST, 1, 0);
  (void)state;
  for (int i = 0; i < DIMENSIONS; i++) d[i] = (i % 3 - 1) / 5.0, square += d[i] * d[i];
  noise_scale_register(&noise, &agent, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  assert_int_equal(ops_cpu_create(1, ROWS, DIMENSIONS, &ops), CORE_OK);

  for (int repeat = 0; repeat < REPEATS; repeat++) {
    noise_scale_begin(&noise);
    for (int m = 0; m < MINIBATCHES; m++) {
      draw_gradient(&random, d, sd, actor);
      for (int i = 0; i < DIMENSIONS; i++) critic[i] = 3 * actor[i];
      noise_scale_add(&noise, ops, &agent, &gradient);
    }
    noise_scale_finish(&noise, ops, &agent, ROWS);
    add(&variance, noise.actor.result.variance);
    add(&mean, noise.actor.result.square);
    add(&of_critic, noise.critic.result.square);
  }

  assert_mean("tr(Sigma)", &variance, DIMENSIONS * (square + sd * sd) + square, 0.01);
  assert_mean("|G|^2", &mean, square, 0.01);
  assert_mean("|G|^2 of gradients three times as long", &of_critic, 9 * square, 0.01);
  ops_destroy(&ops);
  core_arena_destroy(&arena);
}

/* The formulas by hand: gradients 1 and 3 of 10 samples each, with the mean 2. */
static void test_formula(void **state) {
  const GradientNoise noise = estimators_gradient_noise(5, 10, 4, 20);
  (void)state;
  assert_float_equal(noise.variance, 20, 1e-12); /* 10 times the variance 2 of the two */
  assert_float_equal(noise.square, 3, 1e-12);    /* 1 times 3 */
  const GradientNoise none = estimators_gradient_noise(5, 10, 5, 10);
  assert_true(isnan(none.variance) && isnan(none.square));
}

/* ---- gradients of single transitions ----------------------------------------------------------------------------- */

enum { SIZE = 512 };

/* Outputs of a network for one row of a rollout. */
static void pass(const Training *training, const AgentNetwork *network, const double *theta, int row, double *y) {
  const size_t inputs = (size_t)network->shape.width[0];
  double x[SIZE];
  for (size_t i = 0; i < inputs; i++) x[i] = (double)training->rollout.observations[(size_t)row * inputs + i];
  oracle_network(&network->shape, theta, x, y);
}

static double actor_loss(const Training *training, const double *theta, int row) {
  const CoreConfig *config = &training->config;
  const Rollout *rollout = &training->rollout;
  double logits[SIZE];
  pass(training, &training->agent.actor, theta, row, logits);
  return oracle_policy_loss(&rollout->head, logits, (const uint8_t *)rollout->actions + row * rollout->head.factors,
                            rollout->logp + row, NULL, learner_as_ppo(&training->learner)->advantages + row, 1,
                            config->ppo.epsilon, config->ppo.entropy_coef);
}

static double critic_loss(const Training *training, const double *theta, int row) {
  const CoreConfig *config = &training->config;
  double value;
  pass(training, &training->agent.critic, theta, row, &value);
  return oracle_value_loss(&value, training->rollout.values + row, learner_as_ppo(&training->learner)->targets + row, 1,
                           config->ppo.clip_value, config->ppo.epsilon, config->ppo.value_coef);
}

typedef double (*Loss)(const Training *training, const double *theta, int row);

/* Returns the gradients of all rows [rows][parameters] by central differences. */
static double *differentiate(const Training *training, const AgentNetwork *network, Loss loss, int rows) {
  const double h = 1e-6;
  double *theta = core_memory_allocate(network->n * sizeof *theta);
  double *gradients = core_memory_allocate((size_t)rows * network->n * sizeof *gradients);
  for (size_t i = 0; i < network->n; i++) theta[i] = (double)network->theta[i];
  for (int row = 0; row < rows; row++)
    for (size_t i = 0; i < network->n; i++) {
      const double at = theta[i];
      theta[i] = at + h;
      const double above = loss(training, theta, row);
      theta[i] = at - h;
      gradients[(size_t)row * network->n + i] = (above - loss(training, theta, row)) / (2 * h);
      theta[i] = at;
    }
  free(theta);
  return gradients;
}

/* Compares with the covariance of the minibatches' means, which are those of `order`: in another form than the
 * trainer's, as deviations from the mean. */
static void compare(const char *what, const double *gradients, size_t n, const uint32_t *order, int rows,
                    int minibatches, const GradientNoise *got) {
  const int size = rows / minibatches;
  double square = 0, deviation = 0;
  for (size_t i = 0; i < n; i++) {
    double mean = 0;
    for (int r = 0; r < rows; r++) mean += gradients[(size_t)r * n + i] / rows;
    square += mean * mean;
    for (int m = 0; m < minibatches; m++) {
      double of = 0;
      for (int r = m * size; r < (m + 1) * size; r++) of += gradients[(size_t)order[r] * n + i] / size;
      deviation += (of - mean) * (of - mean);
    }
  }
  const double variance = size * deviation / (minibatches - 1), unbiased = square - variance / rows;
  if (!(fabs(got->variance - variance) < 1e-3 * variance && fabs(got->square - unbiased) < 1e-3 * square))
    fail_msg("%s in %d minibatches: variance %g, square %g, expected %g and %g", what, minibatches, got->variance,
             got->square, variance, unbiased);
}

/* Minibatches of one transition have the covariance of transitions. */
static void test_transitions(void **state) {
  (void)state;
  for (int minibatches = 2; minibatches <= 64; minibatches *= 32) {
    CoreConfig config = CONFIGURED_SMALL("env.num=4", "ppo.epochs=1", "net.width=6", "net.depth=1",
                                         "ppo.learning_rate=0", "ppo.entropy_coef=0.01", "metrics.noise_every=2");
    config.ppo.num_minibatches = minibatches;
    Training *training = make(&config);
    assert_true(isnan(iterate(training, 2).noise_scale_actor)); /* 1, 3, ... */
    const StoreIteration row = iterate(training, 1);
    const Agent *agent = &training->agent;
    const int rows = training->rollout.steps * training->rollout.worlds;
    uint32_t order[64];
    assert_int_equal(rows, 64);
    core_random_permutation((uint64_t)config.train.seed, CORE_RANDOM_SHUFFLE, 3, 0, order, 64);

    double *actor = differentiate(training, &agent->actor, actor_loss, rows);
    double *critic = differentiate(training, &agent->critic, critic_loss, rows);
    compare("actor", actor, agent->actor.n, order, rows, minibatches,
            &(GradientNoise){row.grad_variance_actor, row.grad_square_actor});
    compare("critic", critic, agent->critic.n, order, rows, minibatches,
            &(GradientNoise){row.grad_variance_critic, row.grad_square_critic});
    if (row.grad_square_critic > 0)
      assert_float_equal(row.noise_scale_critic, row.grad_variance_critic / row.grad_square_critic, 1e-9);
    free(actor), free(critic);
    training_destroy(&training);
  }
}

/* ---- training stays as it is ------------------------------------------------------------------------------------- */

static void compare_training(const char *const *more, bool is_measured) {
  CoreConfig config = CONFIGURED_SMALL("metrics.noise_every=0");
  for (int i = 0; more[i]; i++) set(&config, more[i]);
  Training *plain = make(&config);
  set(&config, "metrics.noise_every=2");
  Training *measured = make(&config);
  for (int i = 0; i < 4; i++) {
    const StoreIteration without = iterate(plain, 1), with = iterate(measured, 1);
    assert_true(isnan(without.grad_square_actor) && isnan(without.noise_scale_actor));
    assert_true(isnan(with.grad_square_actor) == (i % 2 == 1 || !is_measured));
    assert_true(isnan(with.grad_square_actor) || with.grad_variance_actor > 0);
    assert_true(with.kl == without.kl && (with.policy_loss == without.policy_loss || isnan(with.policy_loss)));
    assert_true(with.clip_fraction == without.clip_fraction || isnan(with.clip_fraction));
    assert_true(with.learning_rate == without.learning_rate && with.value_loss == without.value_loss);
    assert_true(with.updates == without.updates && with.entropy == without.entropy);
    assert_true(same_weights(plain, measured));
  }
  training_destroy(&plain);
  training_destroy(&measured);
}
#define COMPARE(is_measured, ...) compare_training((const char *const[]){__VA_ARGS__, NULL}, is_measured)

static void test_leaves_training(void **state) {
  (void)state;
  COMPARE(true, "ppo.normalize_advantage=minibatch");
  COMPARE(true, "algo.name=ppo_ewma", "ppo.normalize_advantage=ewma", "ppo.ddr_target=3000");
  COMPARE(true, "env.actions=continuous", "ppo.lr_schedule=kl", "ppo.normalize_value=yes", "ppo.bounds_coef=1e-3");
  COMPARE(true, "ppo.target_kl=0.001", "ppo.target_kl_check=minibatch", "net.sharing=joint");
  COMPARE(true, "ppo.kl_penalty=0.1", "ppo.kl_penalty_target=0.01", "ppo.shuffle=blocks");
  COMPARE(true, "env.actions=continuous", "net.action_head=tanh_affine", "ppo.entropy_coef=0.01");
  COMPARE(true, "net.memory=lstm", "net.memory_width=8", "ppo.sequence_length=8");
  COMPARE(true, "comm.deterministic=yes", "comm.shards=4");
  COMPARE(true, "algo.name=pqn", "env.actions=discrete");
  COMPARE(false, "algo.name=sapg", "env.actions=continuous", "env.num=12", "sapg.blocks=3");
  COMPARE(false, "ppo.num_minibatches=1"); /* nothing to compare with */
}

/* Gradients of all minibatches at the first weights, before the queued steps, of which nothing else is to change. */
static void compare_device(const char *const *more) {
  CoreConfig config = CONFIGURED_SMALL("env.num=8", "train.device=cuda");
  for (int i = 0; more[i]; i++) set(&config, more[i]);
  if (!is_gpu_requested()) setenv("CORE_DEVICE", "emulated", 1);
  Training *b = make(&config);
  set(&config, "metrics.noise_every=2");
  Training *a = make(&config);
  unsetenv("CORE_DEVICE");
  set(&config, "train.device=cpu");
  Training *c = make(&config);
  for (int i = 0; i < 3; i++) {
    const StoreIteration x = iterate(a, 1), y = iterate(b, 1), z = iterate(c, 1);
    assert_true(isnan(x.grad_variance_actor) == (i == 1) && isnan(y.grad_variance_actor));
    assert_relatively_near("grad_variance_actor", x.grad_variance_actor, z.grad_variance_actor, 1e-2);
    assert_relatively_near("grad_variance_critic", x.grad_variance_critic, z.grad_variance_critic, 1e-2);
    if (i == 1) continue;
    assert_float_equal(x.grad_square_actor, z.grad_square_actor, 1e-3 * x.grad_variance_actor);
    assert_relatively_near("kl", x.kl, y.kl, 0);
  }
  assert_close_weights(a, &a->agent.actor, b, &b->agent.actor, 0);
  assert_close_weights(a, &a->agent.critic, b, &b->agent.critic, 0);
  training_destroy(&a);
  training_destroy(&b);
  training_destroy(&c);
}

#define COMPARE_DEVICE(...) compare_device((const char *const[]){__VA_ARGS__, NULL})

static void test_device(void **state) {
  (void)state;
  COMPARE_DEVICE("algo.name=ppo", "ppo.normalize_advantage=minibatch", "ppo.num_minibatches=4");
  COMPARE_DEVICE("algo.name=ppo_ewma", "comm.deterministic=yes", "comm.shards=4", "net.sharing=shared");
  COMPARE_DEVICE("algo.name=ppo", "env.actions=continuous", "ppo.lr_schedule=kl");
  COMPARE_DEVICE("algo.name=pqn", "env.actions=discrete");
  setenv("TRAINER_MICROBATCH", "19", 1);
  COMPARE_DEVICE("algo.name=ppo");
  unsetenv("TRAINER_MICROBATCH");
}

/* A loss that is not finite is the update's to report: the measurement leaves NaN. */
static void test_divergence(void **state) {
  CoreConfig config = CONFIGURED_SMALL("metrics.noise_every=1");
  UpdateStats update;
  (void)state;
  Training *training = make(&config);
  iterate(training, 1);
  assert_true(training->noise.actor.result.variance > 0);
  const UpdateContext step = {.ops = training->ops, .rollout = &training->rollout, .iteration = 2,
                              .noise = &training->noise};
  training->agent.critic.theta[training->agent.critic.n - 1] = NAN; /* after the rollout, whose values are finite */
  noise_scale_begin(&training->noise);
  assert_int_equal(training->learner.kind->update(training->learner.state, &step, &update), CORE_FAIL);
  assert_message("epoch 1, minibatch 1");
  assert_true(isnan(training->noise.actor.result.variance) && isnan(training->noise.critic.result.square));
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_formula),
                                     cmocka_unit_test(test_transitions), cmocka_unit_test(test_leaves_training),
                                     cmocka_unit_test(test_device),
                                     cmocka_unit_test(test_divergence)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
