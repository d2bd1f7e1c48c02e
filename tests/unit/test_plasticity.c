/* The probe of plasticity (trainer/measure/plasticity.h): against Adam in double on a linear network, whose targets are
 * made by hand; dead and saturated units, which it must notice; and repetition. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/measure/plasticity.h"
#include "trainer/nets/agent_init.h"
#include "training_tools.h"

enum { STATES = 128, BATCH = 32, STEPS = 100 };

/* A probe of small networks on random states. */
typedef struct Fixture { CoreConfig config; Env *env; CoreArena *arena; Plasticity probe; } Fixture;

static void begin(Fixture *f, bool sines, bool around_output, const char *const *pairs) {
  const PlasticityOptions options = {.states = STATES, .batch = BATCH, .steps = STEPS, .learning_rate = 1e-2,
                                     .sines = sines, .around_output = around_output};
  CoreRandomStream random = core_random_stream(5, CORE_RANDOM_TEST, 0, 0);
  *f = (Fixture){.config = CONFIGURED_SMALL("net.width=32")};
  for (int i = 0; pairs[i]; i++) set(&f->config, pairs[i]);
  assert_int_equal(env_create(&f->config, 1, 0, &f->env), CORE_OK);
  f->arena = core_arena_create("test");
  plasticity_register(&f->probe, &options, &f->config, f->env, f->arena);
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  assert_int_equal(plasticity_start(&f->probe, &f->config, 1), CORE_OK);
  for (size_t i = 0; i < (size_t)STATES * (size_t)f->probe.agent.inputs; i++)
    f->probe.states[i] = core_random_uniform(&random, -1, 1);
}
#define BEGIN(f, sines, around_output, ...) begin(f, sines, around_output, (const char *const[]){__VA_ARGS__, NULL})

static void end(Fixture *f) {
  plasticity_destroy(&f->probe);
  core_arena_destroy(&f->arena);
  env_destroy(&f->env);
}

static float *copy_theta(const AgentNetwork *network) {
  float *copy = core_memory_allocate(network->n * sizeof *copy);
  memcpy(copy, network->theta, network->n * sizeof *copy);
  return copy;
}

/* ---- a linear network by hand ------------------------------------------------------------------------------------ */

/* Output of a linear network [inputs][1] with its bias for each state. */
static void apply_linear(const Fixture *f, const double *theta, double *y) {
  const size_t inputs = (size_t)f->probe.agent.inputs;
  for (size_t r = 0; r < STATES; r++) {
    y[r] = theta[inputs];
    for (size_t i = 0; i < inputs; i++) y[r] += (double)f->probe.states[r * inputs + i] * theta[i];
  }
}

static double mean_of(const double *y) {
  double sum = 0;
  for (int r = 0; r < STATES; r++) sum += y[r];
  return sum / STATES;
}

static void standardize(double *y) {
  double squares = 0;
  const double mean = mean_of(y);
  for (int r = 0; r < STATES; r++) y[r] -= mean, squares += y[r] * y[r];
  for (int r = 0; r < STATES; r++) y[r] /= sqrt(squares / STATES);
}

static double error_of(const double *y, const double *target) {
  double sum = 0;
  for (int r = 0; r < STATES; r++) sum += (y[r] - target[r]) * (y[r] - target[r]);
  return sum / STATES;
}

/* Adam of PyTorch's defaults on the mean squared error of BATCH states, as the paper of Kingma and Ba writes it. */
static void adam_step(const Fixture *f, const double *target, uint64_t seed, int t, double *theta, double *m,
                      double *v) {
  const size_t inputs = (size_t)f->probe.agent.inputs;
  double y[STATES], *gradient = core_memory_zero_allocate(inputs + 1, sizeof *gradient);
  CoreRandomStream random = core_random_stream(seed, CORE_RANDOM_STATES, (uint32_t)t, 0);
  apply_linear(f, theta, y);
  for (int k = 0; k < BATCH; k++) {
    const size_t r = core_random_below(core_random_next(&random), STATES);
    for (size_t i = 0; i <= inputs; i++)
      gradient[i] += 2 * (y[r] - target[r]) / BATCH * (i < inputs ? (double)f->probe.states[r * inputs + i] : 1);
  }
  for (size_t i = 0; i <= inputs; i++) {
    m[i] = 0.9 * m[i] + 0.1 * gradient[i];
    v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
    theta[i] -= 1e-2 * (m[i] / (1 - pow(0.9, t))) / (sqrt(v[i] / (1 - pow(0.999, t))) + 1e-8);
  }
  free(gradient);
}

/* Compares the critic's curve, which is that of a linear regression, with the same steps in double. */
static void compare_linear(bool sines, bool around_output) {
  const uint64_t seed = 11;
  Fixture f;
  PlasticityCurve curve;
  double target[STATES], y[STATES];
  BEGIN(&f, sines, around_output, "net.depth=0");
  const Agent *agent = &f.probe.agent;
  const size_t n = agent->critic.n;
  assert_int_equal(n, agent->inputs + 1);
  double *theta = core_memory_zero_allocate(3 * n, sizeof *theta), *m = theta + n, *v = m + n;

  agent_init_weights(&f.probe.agent, seed | UINT64_C(1) << 40);
  for (size_t i = 0; i < n; i++) theta[i] = (double)agent->critic.theta[i];
  apply_linear(&f, theta, target);
  for (int r = 0; r < STATES && sines; r++) target[r] = sin(1e5 * target[r]);
  standardize(target);
  agent_init_weights(&f.probe.agent, 3);
  float *actor = copy_theta(&agent->actor), *critic = copy_theta(&agent->critic);
  critic[n - 1] = 2.5f; /* a bias, so that the mean of outputs matters */
  for (size_t i = 0; i < n; i++) theta[i] = (double)critic[i];
  apply_linear(&f, theta, y);
  for (int r = 0; r < STATES; r++) target[r] += around_output ? y[r] : mean_of(y);

  plasticity_fit(&f.probe, actor, critic, seed, &curve);
  assert_int_equal(curve.points, 9); /* 0, 1, 2, 4, ... 64, 100 */
  assert_int_equal(curve.step[8], STEPS);
  for (int t = 0, point = 0; t <= STEPS; t++) {
    if (t > 0) adam_step(&f, target, seed, t, theta, m, v);
    if (t != curve.step[point]) continue;
    apply_linear(&f, theta, y);
    const double want = error_of(y, target);
    if (!(fabs(curve.critic[point] - want) < (sines ? 0.05 : 1e-3) * want + 1e-5)) /* 1e5 times rounding errors */
      fail_msg("after %d steps: %g, expected %g", t, curve.critic[point], want);
    point++;
  }
  assert_true(curve.critic[8] < 0.5 * curve.critic[0]);
  free(theta), free(actor), free(critic);
  end(&f);
}

static void test_linear(void **state) {
  (void)state;
  compare_linear(false, false);
  compare_linear(false, true);
  compare_linear(true, false);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* Sets the units of each hidden layer from `first` on to a bias that no input exceeds. */
static void kill_units(const AgentNetwork *network, int first, float bias) {
  const NetworkShape *shape = &network->shape;
  for (int l = 0; l + 1 < shape->layers; l++)
    for (int unit = first; unit < shape->width[l + 1]; unit++) {
      for (int i = 0; i < shape->width[l]; i++)
        network->theta[network_kernel(shape, l) + (size_t)(i * shape->width[l + 1] + unit)] = 0;
      network->theta[network_bias(shape, l) + (size_t)unit] = bias;
    }
}

/* Returns how much larger the final errors become, as the mean of logarithms over seeds, with the units dead. */
static void compare_damage(const char *activation, int first, float bias, double *actor, double *critic) {
  enum { SEEDS = 4 };
  Fixture f;
  PlasticityCurve damaged, fresh;
  BEGIN(&f, false, false, activation);
  *actor = *critic = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    agent_init_weights(&f.probe.agent, 100 + seed);
    kill_units(&f.probe.agent.actor, first, bias);
    kill_units(&f.probe.agent.critic, first, bias);
    float *of_actor = copy_theta(&f.probe.agent.actor), *of_critic = copy_theta(&f.probe.agent.critic);
    plasticity_fit(&f.probe, of_actor, of_critic, seed, &damaged);
    plasticity_fit(&f.probe, NULL, NULL, seed, &fresh);
    *actor += log(damaged.actor[damaged.points - 1] / fresh.actor[fresh.points - 1]) / SEEDS;
    *critic += log(damaged.critic[damaged.points - 1] / fresh.critic[fresh.points - 1]) / SEEDS;
    free(of_actor), free(of_critic);
  }
  end(&f);
}

static void test_dead_units(void **state) {
  double actor, critic, more_actor, more_critic;
  (void)state;
  compare_damage("net.activation=relu", 32, 0, &actor, &critic); /* none: other fresh weights */
  assert_true(fabs(actor) < 0.3 && fabs(critic) < 0.3);
  compare_damage("net.activation=relu", 2, -9, &actor, &critic); /* 30 of 32 units */
  assert_true(actor > 0.7 && critic > 0.7);
  compare_damage("net.activation=relu", 0, -9, &more_actor, &more_critic); /* all: the mean is what is left */
  assert_true(more_actor > actor && more_critic > critic);
  compare_damage("net.activation=tanh", 2, 9, &actor, &critic); /* saturated */
  assert_true(actor > 0.7 && critic > 0.7);
}

/* Networks without any unit that moves predict the mean. */
static void test_all_dead(void **state) {
  Fixture f;
  PlasticityCurve curve;
  (void)state;
  BEGIN(&f, false, false, "net.activation=relu");
  kill_units(&f.probe.agent.actor, 0, -9);
  kill_units(&f.probe.agent.critic, 0, -9);
  float *actor = copy_theta(&f.probe.agent.actor), *critic = copy_theta(&f.probe.agent.critic);
  plasticity_fit(&f.probe, actor, critic, 0, &curve);
  assert_float_equal(curve.actor[0], 1, 1e-4);
  assert_true(fabs(curve.actor[curve.points - 1] - 1) < 0.2 && fabs(curve.critic[curve.points - 1] - 1) < 0.2);
  free(actor), free(critic);
  end(&f);
}

/* ---- repetition -------------------------------------------------------------------------------------------------- */

static void test_repeats(void **state) {
  static const char *const kinds[][2] = {
    {"net.sharing=separate", "net.activation=tanh"}, {"net.sharing=shared", "net.norm=layer"},
    {"env.actions=continuous", "net.sharing=joint"}, {"algo.name=pqn", "env.actions=discrete"}};
  (void)state;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    Fixture f;
    PlasticityCurve first, again, other, explicit;

    BEGIN(&f, i % 2 == 1, true, kinds[i][0], kinds[i][1]);
    plasticity_fit(&f.probe, NULL, NULL, 7, &first);
    plasticity_fit(&f.probe, NULL, NULL, 8, &other);
    plasticity_fit(&f.probe, NULL, NULL, 7, &again);

    agent_init_weights(&f.probe.agent, UINT64_C(7) | UINT64_C(2) << 40);
    float *actor = copy_theta(&f.probe.agent.actor), *critic = copy_theta(&f.probe.agent.critic);
    plasticity_fit(&f.probe, actor, critic, 7, &explicit);

    const int last = first.points - 1;
    const bool has_critic = f.probe.agent.critic.n > 0;
    assert_int_equal(has_critic, i != 3);
    assert_memory_equal(first.actor, again.actor, sizeof first.actor);
    assert_memory_equal(first.actor, explicit.actor, sizeof first.actor);
    assert_true(first.actor[last] != other.actor[last] && first.actor[last] < 0.95);
    assert_float_equal(first.actor[0], 1, 1e-4); /* around the output */
    assert_true(has_critic ? memcmp(first.critic, again.critic, sizeof first.critic) == 0 && first.critic[last] < 0.95
                           : isnan(first.critic[last]));
    free(actor), free(critic);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_dead_units),
                                     cmocka_unit_test(test_all_dead), cmocka_unit_test(test_repeats)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
