/* trainer/agent: actor and critic with separate networks and with a shared trunk. Compares the gradient of a loss of
 * both outputs with finite differences of the networks in double; acting in chunks, and the effect of net.sharing on
 * a complete training. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "tests/agent_tools.h"
#include "tests/oracle/learner.h"
#include "trainer/learners/ppo.h"
#include "trainer/nets/agent.h"
#include "training_tools.h"

enum { INPUTS = 5, ROWS = 23, LOGITS = 5 };

static AgentFixture *make_agent(const char *const *settings, size_t count, int max_rows) {
  CoreConfig config = core_config_default();
  const Env env = {.worlds = ROWS,
                   .observation_length = INPUTS,
                   .level_count = 1,
                   .head = {.factors = 2, .logits = LOGITS, .size = {3, 2}}};
  set(&config, "net.width=6");
  set(&config, "net.depth=2");
  for (size_t i = 0; i < count; i++) set(&config, settings[i]);
  return agent_fixture_create(&config, &env, max_rows, INPUTS, LOGITS);
}

/* The critic as one network from the observations on: a common trunk's layers, then its own. */
static NetworkShape whole_critic(const Agent *agent) {
  NetworkShape shape = agent->critic.shape;
  if (agent->trunk == 0) return shape;
  network_prepend(&shape, agent->actor.shape.width + 1, agent->trunk, agent->actor.shape.activation[0]);
  shape.width[0] = INPUTS;
  return shape;
}

/* sum of weights times outputs of both networks. theta: actor's vector ++ critic's vector. */
static double loss(const AgentFixture *f, const double *theta) {
  const Agent *agent = &f->agent;
  const NetworkShape critic = whole_critic(agent);
  const size_t trunk = network_kernel(&agent->actor.shape, agent->trunk);
  double *chain = core_memory_allocate((trunk + agent->critic.n) * sizeof *chain);
  memcpy(chain, theta, trunk * sizeof *chain);
  memcpy(chain + trunk, theta + agent->actor.n, agent->critic.n * sizeof *chain);
  double sum = oracle_network_scalar(&agent->actor.shape, theta, f->x, ROWS, f->weight_actor) +
               oracle_network_scalar(&critic, chain, f->x, ROWS, f->weight_critic);
  free(chain);
  return sum;
}

static void compare_gradient(const char *const *settings, size_t count) {
  AgentFixture *f = make_agent(settings, count, ROWS);
  compare_agent_gradient(f, loss, settings[0]);
  agent_fixture_destroy(&f);
}

static void test_gradients_by_differences(void **state) {
  static const char *const separate[] = {"net.sharing=separate", "net.norm=layer"};
  static const char *const joint[] = {"net.sharing=joint", "net.activation=silu"};
  static const char *const shared[] = {"net.sharing=shared", "net.trunk_width=7", "net.trunk_activation=tanh"};
  static const char *const deep[] = {"net.sharing=shared", "net.trunk_widths=8-5-7", "net.widths=6-4",
                                     "net.norm=layer", "net.trunk_activation=silu"};
  static const char *const heads[] = {"net.sharing=shared", "net.trunk_width=7", "net.trunk_depth=2", "net.depth=0",
                                      "net.trunk_activation=elu"};
  compare_gradient(separate, 2);
  compare_gradient(joint, 2);
  compare_gradient(shared, 3);
  compare_gradient(deep, 5);
  compare_gradient(heads, 5);
}

/* Rows go through in pieces, for one output or for both at once. (A matrix product of few rows may sum in another order
 * than one of many.) */
static void test_acting_in_pieces(void **state) {
  static const char *const settings[] = {"net.sharing=shared", "net.norm=layer"};
  for (size_t sharing = 0; sharing <= 2; sharing += 2) {
    AgentFixture *whole = make_agent(settings, sharing, ROWS), *pieces = make_agent(settings, sharing, 4);
    float logits[3][ROWS * LOGITS], values[3][ROWS];
    agent_act(&whole->agent, whole->ops, whole->x, ROWS, logits[0], values[0]);
    agent_act(&pieces->agent, pieces->ops, pieces->x, ROWS, logits[1], values[1]);
    agent_policy(&pieces->agent, pieces->ops, pieces->agent.actor.theta, pieces->x, ROWS, logits[2]);
    agent_values(&pieces->agent, pieces->ops, pieces->x, ROWS, values[2]);
    assert_memory_equal(logits[1], logits[2], sizeof logits[1]);
    assert_memory_equal(values[1], values[2], sizeof values[1]);
    for (int i = 0; i < ROWS * LOGITS; i++) assert_float_equal(logits[0][i], logits[1][i], 1e-5);
    for (int i = 0; i < ROWS; i++) assert_float_equal(values[0][i], values[1][i], 1e-5);
    agent_fixture_destroy(&whole);
    agent_fixture_destroy(&pieces);
  }
}

/* Kinetix' flat network on 140 inputs: 185361 parameters (ActorCriticSymbolicRNN in its actor_critic.py), CleanRL's and
 * Stoix' layouts. */
static void test_parameter_counts(void **state) {
  static const struct { const char *sharing; int width, depth; size_t actor, critic; } cases[] = {
    {"shared", 128, 5, 140 * 128 + 128 + 5 * (128 * 128 + 128) + 128 * 16 + 16, 5 * (128 * 128 + 128) + 128 + 1},
    {"separate", 256, 3, 171792, 167937}};
  for (size_t i = 0; i < 2; i++) {
    CoreConfig config = core_config_default();
    const Env env = {.worlds = 1, .observation_length = 140, .level_count = 1,
                     .head = {.factors = 6, .logits = 16, .size = {3, 3, 3, 3, 2, 2}}};
    CoreArena *arena = core_arena_create("test");
    Agent agent;
    assert_int_equal(core_config_set(&config, "net.sharing", cases[i].sharing), CORE_OK);
    config.net.width = cases[i].width;
    config.net.depth = cases[i].depth;
    agent_register(&agent, &config, &env, 1, arena);
    assert_int_equal(agent.actor.n, cases[i].actor);
    assert_int_equal(agent.critic.n, cases[i].critic);
    if (i == 0) assert_int_equal(agent.actor.n + agent.critic.n, 185361);
    core_arena_destroy(&arena);
  }
}

/* ---- whole trainings ------------------------------------------------------------------------------------------- */

static CoreConfig small_config(void) { return CONFIGURED_SMALL(); }

/* Without a clip a common gradient norm changes nothing; with one it does. */
static void test_joint_differs_by_the_clip_alone(void **state) {
  for (int clips = 0; clips < 2; clips++) {
    CoreConfig config = small_config();
    set(&config, clips ? "ppo.max_grad_norm=0.01" : "ppo.max_grad_norm=inf");
    Training *separate = make(&config);
    set(&config, "net.sharing=joint");
    Training *joint = make(&config);
    iterate(separate, 2);
    StoreIteration row = iterate(joint, 2);
    assert_int_equal(same_weights(separate, joint), !clips);
    assert_true(row.grad_clipped_actor == clips && row.grad_clipped_critic == clips);
    training_destroy(&separate);
    training_destroy(&joint);
  }
}

/* Initial standard deviations of actions; the other random values do not change. */
static void test_deviations_begin_as_set(void **state) {
  CoreConfig config = small_config();
  set(&config, "env.actions=continuous");
  Training *wide = make(&config);
  set(&config, "net.log_std_init=-1.5");
  Training *narrow = make(&config);
  const AgentNetwork *a = &wide->agent.actor, *b = &narrow->agent.actor;
  assert_true(a->embedding > a->log_sigma);
  for (size_t k = a->log_sigma; k < a->embedding; k++) assert_true(a->theta[k] == 0 && b->theta[k] == -1.5f);
  assert_memory_equal(a->theta, b->theta, a->log_sigma * sizeof *a->theta);
  training_destroy(&wide);
  training_destroy(&narrow);
}

/* Every layout learns, measures and repeats, with either algorithm. */
static void test_layouts_train(void **state) {
  static const char *const layouts[][4] = {
    {"net.sharing=shared", "net.trunk_width=24", "algo.name=ppo", "net.depth=0"},
    {"net.sharing=shared", "net.trunk_width=24", "algo.name=ppo_ewma", "net.norm=layer"},
    {"net.sharing=joint", "ppo.norm_epsilon=1e-6", "algo.name=ppo_ewma", "net.depth=1"}};
  for (int i = 0; i < 3; i++) {
    CoreConfig config = small_config();
    for (int k = 0; k < 4; k++) set(&config, layouts[i][k]);
    Training *a = make(&config), *b = make(&config);
    StoreIteration row = iterate(a, 3);
    iterate(b, 3);
    assert_true(same_weights(a, b));
    assert_true(row.kl > 0 && row.kl < 1 && row.grad_norm_actor > 0 && row.grad_norm_critic > 0);
    assert_true(row.update_norm_actor > 0 && row.update_norm_critic > 0);
    training_destroy(&a);
    training_destroy(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gradients_by_differences),
    cmocka_unit_test(test_acting_in_pieces),
    cmocka_unit_test(test_parameter_counts),
    cmocka_unit_test(test_joint_differs_by_the_clip_alone),
    cmocka_unit_test(test_deviations_begin_as_set),
    cmocka_unit_test(test_layouts_train),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
