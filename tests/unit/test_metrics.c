/* Measurements of an iteration against closed forms (docs/algorithms.md#measurements). */
#include "test.h"

#include "core/device/arena.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/math/sample.h"
#include "trainer/measure/metrics.h"

enum { STEPS = 10, WORLDS = 20, TOTAL = STEPS * WORLDS };

typedef struct Fixture {
  CoreArena *arena;
  Ops *ops;
  Agent agent;
  Rollout rollout;
  Metrics metrics;
} Fixture;

/* Two actions, weights 0: the policy is its last bias, in every state. The behavior policy is (1/2, 1/2). */
static Fixture *make(int64_t states) {
  Fixture *f = calloc(1, sizeof *f);
  CoreConfig config = core_config_default();
  const Env env = {.worlds = WORLDS, .observation_length = 3, .level_count = 1,
                   .head = {.factors = 1, .logits = 2, .size = {2}}};
  config.net.width = 4;
  config.net.depth = 1;
  f->arena = core_arena_create("test");
  agent_register(&f->agent, &config, &env, 64, f->arena);
  const Shards shards = shards_alone(WORLDS);
  rollout_register(&f->rollout, &config, &env, &shards, STEPS, f->arena);
  metrics_register(&f->metrics, &f->agent, &f->rollout, states, 0, f->arena);
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  agent_bind_activations(&f->agent);
  assert_int_equal(ops_cpu_create(1, 64, 16, &f->ops), CORE_OK);
  for (int i = 0; i < TOTAL; i++) {
    f->rollout.actions[i] = (uint8_t)(i % 2);
    f->rollout.logp[i] = logf(0.5f);
  }
  return f;
}

static void destroy(Fixture *f) {
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  free(f);
}

static void set_policy(Fixture *f, double first) {
  float *bias = f->agent.actor.theta + network_bias(&f->agent.actor.shape, f->agent.actor.shape.layers - 1);
  bias[0] = (float)log(first);
  bias[1] = (float)log(1 - first);
}

static void test_unchanged_policy(void **state) {
  Fixture *f = make(1000);
  MetricsPolicyChange change;
  set_policy(f, 0.5);
  metrics_begin(&f->metrics, &f->agent);
  metrics_policy_change(&f->metrics, f->ops, &f->agent, &f->rollout, 1, 1, &change);
  assert_float_equal(change.kl, 0, 1e-7);
  assert_float_equal(change.kl_reverse, 0, 1e-7);
  assert_float_equal(change.k3, 0, 1e-7);
  assert_true(change.update_norm_actor == 0 && change.update_norm_critic == 0);
  destroy(f);
}

static void test_known_divergence(void **state) {
  Fixture *f = make(1000);
  MetricsPolicyChange change;
  metrics_begin(&f->metrics, &f->agent);
  set_policy(f, 0.9);
  f->agent.critic.theta[2] = 3;
  f->agent.critic.theta[5] = -4;
  metrics_policy_change(&f->metrics, f->ops, &f->agent, &f->rollout, 1, 1, &change);
  assert_int_equal(f->metrics.states, TOTAL);
  assert_float_equal(change.kl, 0.510826, 1e-6);
  assert_float_equal(change.kl_reverse, 0.368064, 1e-6);
  /* Half the actions have l = log(0.9/0.5), half log(0.1/0.5); the two estimators of the same mean agree with it. */
  assert_float_equal(change.k1, -(log(1.8) + log(0.2)) / 2, 1e-6);
  assert_float_equal(change.k3, (1.8 + 0.2) / 2 - 1 - (log(1.8) + log(0.2)) / 2, 1e-6);
  assert_float_equal(change.update_norm_actor, hypot(log(0.9), log(0.1)), 1e-6);
  assert_float_equal(change.update_norm_critic, 5, 1e-6);
  destroy(f);
}

/* Ratios 1.8 and 0.2, each of half the states: ESS = (sum r)^2 / (n sum r^2); one policy everywhere: no variance. */
static void test_depth(void **state) {
  Fixture *f = make(1000);
  MetricsPolicyChange change;
  CoreConfig config = core_config_default();

  config.metrics.every = 4;
  config.metrics.representation_every = 3; /* metrics.every is the least */

  metrics_choose(&f->metrics, &config, 1);
  assert_int_equal(f->metrics.depth, METRICS_REPRESENTATION);
  metrics_choose(&f->metrics, &config, 4);
  assert_int_equal(f->metrics.depth, METRICS_KL);

  metrics_begin(&f->metrics, &f->agent);
  set_policy(f, 0.9);
  metrics_policy_change(&f->metrics, f->ops, &f->agent, &f->rollout, 1, 1, &change);
  assert_true(isnan(change.ess_percent) && isnan(change.policy_variance) && isnan(change.actor.weight_norm));
  assert_true(isnan(change.actor.rank.pca) && isnan(change.critic.units.dead) && change.kl > 0.5);

  metrics_choose(&f->metrics, &config, 5);
  metrics_policy_change(&f->metrics, f->ops, &f->agent, &f->rollout, 1, 1, &change);
  assert_float_equal(change.ess_percent, 100 * 1 / ((1.8 * 1.8 + 0.2 * 0.2) / 2), 1e-4);
  assert_float_equal(change.k2, (log(1.8) * log(1.8) + log(0.2) * log(0.2)) / 4, 1e-6);
  assert_float_equal(change.policy_variance, 0, 1e-12);
  assert_float_equal(change.actor.weight_norm, hypot(log(0.9), log(0.1)), 1e-6);

  assert_float_equal(change.actor.units.dormant, 1, 0); /* all weights before the head are 0 */
  assert_float_equal(change.actor.dormant_strict, 1, 0);
  assert_float_equal(change.actor.dormant_loose, 1, 0);
  assert_float_equal(change.critic.units.dead, 1, 0);
  assert_float_equal(change.actor.rank.pca, 1, 0);

  destroy(f);
}

/* The mean over a subset of rows. */
/* Norms against sums over the layer's numbers by its tensors' places; shares by layer add up to those of all units. */
static void test_layers(void **state) {
  Fixture *f = make(1000);
  MetricsPolicyChange change;
  CoreConfig config = core_config_default();
  (void)state;

  metrics_choose(&f->metrics, &config, 1);
  metrics_begin(&f->metrics, &f->agent);
  metrics_policy_change(&f->metrics, f->ops, &f->agent, &f->rollout, 1, 1, &change);

  for (int critic = 0; critic < 2; critic++) {
    const AgentNetwork *network = critic ? &f->agent.critic : &f->agent.actor;
    const NetworkShape *shape = &network->shape;
    const double all = critic ? change.critic.weight_norm : change.actor.weight_norm;
    double squares = 0, dormant = 0, units = 0;
    for (size_t k = 0; k < network->n; k++) network->theta[k] = sinf((float)k);

    for (int layer = 1; layer <= shape->layers; layer++) {
      const StoreLayer row = metrics_layer(&f->metrics, f->ops, &f->agent, critic, layer, 7);
      const int in = shape->width[layer - 1], out = shape->width[layer];
      const float *kernel = network->theta + network_kernel(shape, layer - 1),
                  *bias = network->theta + network_bias(shape, layer - 1);
      double expected = 0;

      for (int k = 0; k < in * out; k++) expected += (double)kernel[k] * (double)kernel[k];
      for (int k = 0; k < out; k++) expected += (double)bias[k] * (double)bias[k];
      assert_true(row.iteration == 7 && row.layer == layer && strcmp(row.network, critic ? "critic" : "actor") == 0);
      assert_float_equal(row.weight_norm, sqrt(expected), 1e-12 * sqrt(expected));

      squares += row.weight_norm * row.weight_norm;
      assert_true(isnan(row.dormant) == (layer == shape->layers));
      if (layer == shape->layers) continue;
      dormant += row.dormant * out;
      units += out;
    }

    assert_true(!isnan(all));
    assert_float_equal(squares, f->ops->norm_squared(f->ops, network->theta, network->n), 1e-9 * squares);
    if (units > 0)
      assert_float_equal(dormant / units, critic ? change.critic.units.dormant : change.actor.units.dormant, 1e-12);
  }
  destroy(f);
}

static void test_subset(void **state) {
  Fixture *f = make(7);
  MetricsPolicyChange change;
  metrics_begin(&f->metrics, &f->agent);
  set_policy(f, 0.9);
  metrics_policy_change(&f->metrics, f->ops, &f->agent, &f->rollout, 1, 1, &change);
  assert_int_equal(f->metrics.states, 7);
  assert_float_equal(change.kl, 0.510826, 1e-6);
  destroy(f);
}

static void test_states_are_stratified(void **state) {
  for (int64_t j = 0; j < 100; j++) assert_int_equal(sample_state(5, 9, j, 100, 100), j);
  int differs = 0;
  for (int64_t j = 0; j < 7; j++) {
    uint32_t i = sample_state(5, 9, j, 7, 1000);
    assert_in_range(i, j * 1000 / 7, (j + 1) * 1000 / 7 - 1);
    differs += i != sample_state(5, 10, j, 7, 1000);
  }
  assert_true(differs > 0);
}

static void test_evaluation_attempts(void **state) {
  assert_int_equal(evaluate_attempts(512, 512), 512);
  assert_int_equal(evaluate_attempts(1000, 512), 512);
  assert_int_equal(evaluate_attempts(1024, 512), 1024);
  assert_int_equal(evaluate_attempts(100, 512), 100);
  int plays[8] = {0};
  for (int w = 0; w < 24; w++) plays[evaluate_level(w, 24, 8)]++;
  for (int i = 0; i < 8; i++) assert_int_equal(plays[i], 3);
  for (int w = 0; w < 4; w++) assert_int_equal(evaluate_level(w, 4, 8), 2 * w); /* spread, no level twice */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_unchanged_policy), cmocka_unit_test(test_known_divergence), cmocka_unit_test(test_depth),
    cmocka_unit_test(test_subset), cmocka_unit_test(test_layers),
    cmocka_unit_test(test_states_are_stratified), cmocka_unit_test(test_evaluation_attempts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
