/* Encoders in front of actor and critic (trainer/nets/agent.h): the gradient of a loss of both outputs against
 * finite differences in double, with separate encoders and with a shared one; invalid combinations. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "oracle/encoder.h"
#include "oracle/learner.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/nets/agent_init.h"
#include "training_tools.h"

enum { ROWS = 3, FACTORS_LOGITS = 16, CHECKED = 10 };

typedef struct Fixture {
  CoreArena *arena;
  Ops *ops;
  Env *env;
  Agent agent;
  AgentGradient gradient;
  double *theta;            /* actor's vector ++ critic's vector */
  float *x, weight_actor[ROWS * FACTORS_LOGITS], weight_critic[ROWS];
} Fixture;

static void fill(uint32_t stream, float *x, size_t n, float scale) {
  CoreRandomStream random = core_random_stream(13, CORE_RANDOM_TEST, stream, 0);
  for (size_t i = 0; i < n; i++) x[i] += core_random_uniform(&random, -scale, scale);
}

static CoreConfig config_of(const char *encoder, const char *sharing) {
  CoreConfig config = core_config_default();
  set(&config, "env.task=random_m");
  set(&config, "env.level_count=4");
  set(&config, "env.observations=entity");
  set(&config, "net.width=12");
  set(&config, "net.depth=2");
  snprintf(config.net.encoder, sizeof config.net.encoder, "%s", encoder);
  snprintf(config.net.sharing, sizeof config.net.sharing, "%s", sharing);
  return config;
}

static Fixture *make_agent(const char *encoder, const char *sharing) {
  Fixture *f = core_memory_zero_allocate(1, sizeof *f);
  const CoreConfig config = config_of(encoder, sharing);
  assert_int_equal(agent_check(&config), CORE_OK);
  assert_int_equal(env_create(&config, ROWS, 2, &f->env), CORE_OK);
  f->arena = core_arena_create("test");
  agent_register(&f->agent, &config, f->env, ROWS, f->arena);
  agent_register_gradient(&f->agent, &f->gradient, ROWS, f->arena);
  CORE_ARENA(f->arena, f->x, (size_t)(ROWS * f->env->observation_length), "observations");
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  agent_bind_activations(&f->agent);
  assert_int_equal(ops_cpu_create(1, agent_ops_rows(&f->agent), agent_ops_width(&f->agent), &f->ops), CORE_OK);
  f->env->reset(f->env, f->x);
  agent_init_weights(&f->agent, 7);
  fill(1, f->agent.actor.theta, f->agent.actor.n, 0.05f);
  fill(2, f->agent.critic.theta, f->agent.critic.n, 0.05f);
  CORE_CHECK(f->agent.head.logits == FACTORS_LOGITS);
  f->theta = core_memory_allocate((f->agent.actor.n + f->agent.critic.n) * sizeof *f->theta);
  for (size_t k = 0; k < f->agent.actor.n; k++) f->theta[k] = (double)f->agent.actor.theta[k];
  for (size_t k = 0; k < f->agent.critic.n; k++) f->theta[f->agent.actor.n + k] = (double)f->agent.critic.theta[k];
  fill(4, f->weight_actor, ROWS * FACTORS_LOGITS, 1);
  fill(5, f->weight_critic, ROWS, 1);
  return f;
}

static void destroy_agent(Fixture *f) {
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  env_destroy(&f->env);
  free(f->theta);
  free(f);
}

/* Weighted outputs of one network over the embeddings of all rows. */
static double network_loss(const Fixture *f, const AgentNetwork *network, const double *theta, const double *encoder,
                           const float *weight) {
  const NetworkShape *shape = &network->shape;
  const size_t outputs = (size_t)shape->width[shape->layers];
  double sum = 0, now[256], next[256];
  for (size_t r = 0; r < ROWS; r++) {
    oracle_encoder(&f->agent.encoder.shape, encoder, f->x + r * (size_t)f->agent.inputs, now);
    for (int l = 0; l < shape->layers; l++) {
      oracle_dense(now, theta + network_kernel(shape, l), theta + network_bias(shape, l), next, shape->width[l],
                   shape->width[l + 1], shape->activation[l]);
      memcpy(now, next, sizeof now);
    }
    for (size_t o = 0; o < outputs; o++) sum += (double)weight[r * outputs + o] * now[o];
  }
  return sum;
}

static double loss(const Fixture *f) {
  const AgentNetwork *actor = &f->agent.actor, *critic = &f->agent.critic;
  const double *of_critic = f->theta + actor->n, *actor_encoder = f->theta + actor->encoder;
  const double *critic_encoder = f->agent.sharing == AGENT_SHARED ? actor_encoder : of_critic + critic->encoder;
  return network_loss(f, actor, f->theta, actor_encoder, f->weight_actor) +
         network_loss(f, critic, of_critic, critic_encoder, f->weight_critic);
}

static void run_backward(Fixture *f) {
  float doutput[ROWS * FACTORS_LOGITS], dvalue[ROWS];
  memcpy(doutput, f->weight_actor, sizeof doutput);
  memcpy(dvalue, f->weight_critic, sizeof dvalue);
  agent_pass(&f->agent, f->ops, &f->agent.actor, f->x, ROWS);
  agent_backward(&f->agent, f->ops, &f->agent.actor, f->x, ROWS, doutput, &f->gradient);
  agent_pass(&f->agent, f->ops, &f->agent.critic, f->x, ROWS);
  agent_backward(&f->agent, f->ops, &f->agent.critic, f->x, ROWS, dvalue, &f->gradient);
}

/* By central differences; where a relu bends within the step, a smaller step decides. */
static void check_element(const Fixture *f, double *theta, double gradient, double largest) {
  const double kept = *theta;
  double difference = 0;
  for (double step = 1e-5; step > 1e-9; step /= 10) {
    *theta = kept + step;
    difference = loss(f);
    *theta = kept - step;
    difference = (difference - loss(f)) / (2 * step);
    *theta = kept;
    if (fabs(difference - gradient) <= 5e-4 * largest) return;
  }
  fail_msg("gradient %g, by differences %g", gradient, difference);
}

/* Elements begin .. end - 1 of a network's vector, which is at `theta`, the largest first. */
static void check_part(const Fixture *f, double *theta, const float *gradient, size_t begin, size_t end) {
  size_t top = begin;
  for (size_t k = begin; k < end; k++) top = fabsf(gradient[k]) > fabsf(gradient[top]) ? k : top;
  const double largest = fabs((double)gradient[top]);
  assert_true(largest > 0);
  for (uint32_t i = 0; i < CHECKED; i++) {
    const uint32_t word = core_random_4(6, CORE_RANDOM_TEST, (uint32_t)begin, i, 0).v[0];
    const size_t k = i == 0 ? top : begin + core_random_below(word, (uint32_t)(end - begin));
    check_element(f, theta + k, (double)gradient[k], largest);
  }
}

static void check_gradients(const char *encoder, const char *sharing) {
  Fixture *f = make_agent(encoder, sharing);
  const AgentNetwork *actor = &f->agent.actor, *critic = &f->agent.critic;
  assert_true(actor->encoder < actor->n);
  assert_int_equal(critic->encoder < critic->n, f->agent.sharing != AGENT_SHARED);
  run_backward(f);
  check_part(f, f->theta, f->gradient.actor, 0, actor->encoder);
  check_part(f, f->theta, f->gradient.actor, actor->encoder, actor->n);
  check_part(f, f->theta + actor->n, f->gradient.critic, 0, critic->encoder);
  if (critic->encoder < critic->n)
    check_part(f, f->theta + actor->n, f->gradient.critic, critic->encoder, critic->n);
  destroy_agent(f);
}

static void gradients_with_an_encoder_each(void **state) {
  (void)state;
  check_gradients("stoix_set", "separate");
  check_gradients("transformer", "joint");
}

static void gradients_with_a_common_encoder(void **state) {
  (void)state;
  check_gradients("set", "shared");
  check_gradients("transformer", "shared");
}

/* Acting, the policy alone and the values alone are the same numbers. */
static void acting_is_policy_and_values(void **state) {
  static const char *const sharing[] = {"separate", "shared"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    Fixture *f = make_agent("set", sharing[i]);
    float policy[2][ROWS * FACTORS_LOGITS], values[2][ROWS];
    agent_act(&f->agent, f->ops, f->x, ROWS, policy[0], values[0]);
    agent_policy(&f->agent, f->ops, f->agent.actor.theta, f->x, ROWS, policy[1]);
    agent_values(&f->agent, f->ops, f->x, ROWS, values[1]);
    assert_memory_equal(policy[0], policy[1], sizeof policy[0]);
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_memory_equal(agent_pass(&f->agent, f->ops, &f->agent.actor, f->x, ROWS), policy[0], sizeof policy[0]);
    assert_memory_equal(agent_pass(&f->agent, f->ops, &f->agent.critic, f->x, ROWS), values[0], sizeof values[0]);
    destroy_agent(f);
  }
}

static void parameters_of_encoders_have_names(void **state) {
  (void)state;
  char name[64];
  Fixture *f = make_agent("transformer", "separate");
  const AgentNetwork *critic = &f->agent.critic;
  assert_string_equal(agent_parameter_name(critic, 0, name), "critic.W0[0,0]");
  assert_string_equal(agent_parameter_name(critic, critic->encoder, name), "critic.polygon W[0,0]");
  assert_string_equal(agent_parameter_name(critic, critic->n - 1, name), "critic.layer 1 thruster b[127]");
  destroy_agent(f);
}

static void settings_must_go_together(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"env.observations=flat", "env.observations = flat; set env.observations to entity"},
      {"env.observations=padded", "env.observations = padded; set env.observations to entity"},
      {"net.encoder=none", "env.observations = entity: requires an encoder"},
      {"env.normalize_observations=stoix", "must stay unchanged"},
      {"algo.name=sapg", "algo.name = sapg has one policy per block"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CoreConfig config = config_of("set", "separate");
    set(&config, wrong[i][0]);
    assert_int_equal(agent_check(&config), CORE_USAGE);
    if (!strstr(core_error_message(), wrong[i][1])) fail_msg("%s: %s", wrong[i][0], core_error_message());
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(gradients_with_an_encoder_each),
    cmocka_unit_test(gradients_with_a_common_encoder),
    cmocka_unit_test(acting_is_policy_and_values),
    cmocka_unit_test(parameters_of_encoders_have_names),
    cmocka_unit_test(settings_must_go_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
