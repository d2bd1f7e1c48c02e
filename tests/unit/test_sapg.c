/* trainer/learners/sapg: the samples of an iteration and their order, the leader's values and returns against a
 * naive recomputation, gradients through embeddings and blocks' deviations against finite differences, complete
 * trainings that stop and resume, and differences between its settings. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "tests/agent_tools.h"
#include "tests/oracle/learner.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/learners/sapg.h"
#include "trainer/wrappers/normalize.h"
#include "training_tools.h"
#include "trainer_steps.h"

static CoreConfig small_config(void) {
  return CONFIGURED(
    "algo.name=sapg", "env.actions=continuous", "env.morphologies=car", "env.difficulty=0", "env.level_count=2",
    "env.num=12", "env.max_steps=20", "sapg.blocks=3", "sapg.off_policy_ratio=2", "sapg.embedding=4",
    "sapg.entropy_scale=0.01", "ppo.num_steps=8", "ppo.num_minibatches=4", "ppo.epochs=2", "net.width=8", "net.depth=1",
    "eval.count=0", "train.threads=1", "train.total_steps=9600", "net.sharing=joint");
}

/* ---- samples ------------------------------------------------------------------------------------------------------
 * */

static void test_order_holds_every_sample_once(void **state) {
  const SapgLayout layout = {.worlds = 12, .steps = 8, .blocks = 3, .drawn = 2, .sequence = 4};
  enum { SAMPLES = 96 + 2 * 32, SEQUENCES = SAMPLES / 4 };
  uint32_t sequences[SEQUENCES], order[SAMPLES];
  int seen[SAMPLES] = {0};
  assert_int_equal(sapg_samples(&layout), SAMPLES);
  core_random_permutation(1, CORE_RANDOM_TEST, 1, 1, sequences, SEQUENCES);
  sapg_order(&layout, sequences, order);
  for (int i = 0; i < SAMPLES; i++) {
    assert_true(order[i] < SAMPLES && seen[order[i]]++ == 0);
    if (i % 4 == 0) continue;
    const uint32_t worlds = order[i] < 96 ? 12 : 4; /* a sequence continues in its world */
    assert_int_equal(order[i], order[i - 1] + worlds);
  }
}

/* Computes the samples of the last iteration from the rollout that is still there and the weights from before.
 * */
static void test_leader_learns_from_followers(void **state) {
  CoreConfig config = small_config();
  set(&config, "sapg.clip=paper");
  Training *training = make(&config);
  iterate(training, 2);
  const Rollout *rollout = &training->rollout;
  Sapg *sapg = training->learner.state;
  SapgData *data = &sapg->data;
  double moments[3] = {40, 0.3, 60}, before[3] = {40, 0.3, 60};
  const double deviation = sqrt(60.0 / 40 + 1e-5);
  UpdateStats update = {0};
  sapg_data_collect(data, training->ops, &training->config, &training->agent, rollout, 3, moments, &update);
  assert_true(data->follower[0] != data->follower[1] && data->follower[0] < 2 && data->follower[1] < 2);
  assert_true(moments[0] == before[0] + 2 * (96 + 64)); /* values, then returns */

  enum { SEEN = 1024 };
  float seen[2][SEEN], value[2], logits[2 * OPS_FACTORS_MAX], logp;
  const size_t features = (size_t)rollout->features;
  assert_true(features < SEEN);
  const double count = moments[0], sd = sqrt(moments[2] / count + 1e-5);
  for (uint32_t d = 0; d < 2; d++)
    for (uint32_t t = 0; t < 8; t++)
      for (uint32_t w = 0; w < 4; w++) {
        const uint32_t row = t * 12 + data->follower[d] * 4 + w;
        const int64_t sample = sapg_data_own(data, 96 + d * 32 + t * 4 + w);
        for (uint32_t next = 0; next < 2; next++) {
          memcpy(seen[next], rollout->observations + (row + next * 12) * features, features * sizeof(float));
          assert_true(seen[next][features - 1] == (float)data->follower[d]);
          seen[next][features - 1] = 2; /* the leader */
          agent_values(&training->agent, training->ops, seen[next], 1, &value[next]);
        }
        const double v_next = (double)value[1] * deviation + before[1];
        const double want = (double)rollout->rewards[row] + (rollout->dones[row] ? 0 : config.ppo.gamma * v_next);
        assert_float_equal((double)data->returns[sample] * sd + moments[1], want, 1e-4);
        assert_true(data->logp[sample] == rollout->logp[row]);
        agent_policy(&training->agent, training->ops, training->agent.actor.theta, seen[0], 1, logits);
        training->ops->policy_logp(training->ops, &training->agent.head, logits,
                                   rollout->actions + row * rollout->action_bytes, &logp, 1);
        assert_float_equal(data->logp_own[sample], logp, 1e-4);
      }
  for (uint32_t row = 0; row < 96; row++) assert_true(data->logp_own[row] == data->logp[row]);
  training_destroy(&training);
}

/* Gathered rows carry the block that learns; on-policy ones their own. */
static void test_minibatches_carry_the_learning_block(void **state) {
  CoreConfig config = small_config();
  Training *training = make(&config);
  iterate(training, 1);
  Sapg *sapg = training->learner.state;
  SapgData *data = &sapg->data;
  const Rollout *rollout = &training->rollout;
  const size_t features = (size_t)rollout->features;
  uint32_t order[160];
  int total = 0;

  sapg_order(&data->layout, data->sequences, order);
  assert_int_equal(data->minibatches.count, 6); /* 160 samples in minibatches of 24: the last has 40 */

  for (int m = 0; m < data->minibatches.count; m++) {
    const int rows = m == 5 ? 40 : 24;
    assert_int_equal(sapg_data_rows(data, m), rows);
    sapg_data_select(data, m);
    /* one rank: a single micro-batch */
    assert_true(sapg_data_next(data, training->ops, rollout) && data->rows == rows);

    for (int r = 0; r < rows; r++, total++) {
      const uint32_t sample = order[m * 24 + r];
      const float block = data->observations[(size_t)(r + 1) * features - 1];
      assert_true(block == (sample < 96 ? (float)(sample % 12 / 4) : 2));
      assert_int_equal(data->sample[r], sapg_data_own(data, sample));
      assert_true(data->batch_advantages[r] == data->advantages[data->sample[r]]);
    }
    assert_false(sapg_data_next(data, training->ops, rollout));
  }

  assert_int_equal(total, 160);
  training_destroy(&training);
}

/* ---- gradients ----------------------------------------------------------------------------------------------------
 * */

enum { ROWS = 9, SHOWN = 3, BLOCKS = 3, FACTORS = 2, WIDTH = 4 };

/* sum of weights times outputs, in double, with theta = actor's vector ++ critic's vector. */
static double scalar_of(const AgentFixture *f, const double *theta) {
  const Agent *agent = &f->agent;
  const double *embedding = theta + agent->actor.embedding, *sigma = theta + agent->actor.log_sigma;
  double sum = 0;
  for (int r = 0; r < ROWS; r++) {
    const int block = (int)f->x[r * (SHOWN + 1) + SHOWN];
    double input[512], output[512], trunk[512];
    for (int i = 0; i < SHOWN; i++) input[i] = (double)f->x[r * (SHOWN + 1) + i];
    for (int i = 0; i < WIDTH; i++) input[SHOWN + i] = embedding[block * WIDTH + i];
    oracle_network(&agent->actor.shape, theta, input, output);
    for (int k = 0; k < FACTORS; k++) {
      sum += (double)f->weight_actor[r * 2 * FACTORS + k] * output[k];
      sum += (double)f->weight_actor[r * 2 * FACTORS + FACTORS + k] * sigma[block * FACTORS + k];
    }
    memcpy(trunk, input, sizeof trunk);
    for (int l = 0; l < agent->trunk; l++) {
      double next[512];
      oracle_dense(trunk, theta + network_kernel(&agent->actor.shape, l), theta + network_bias(&agent->actor.shape, l),
                   next, agent->actor.shape.width[l], agent->actor.shape.width[l + 1],
                   agent->actor.shape.activation[l]);
      memcpy(trunk, next, sizeof trunk);
    }
    oracle_network(&agent->critic.shape, theta + agent->actor.n, trunk, output);
    sum += (double)f->weight_critic[r] * output[0];
  }
  return sum;
}

static void compare_gradient(const char *sharing) {
  CoreConfig config = core_config_default();
  const Env env = {.worlds = ROWS, .observation_length = SHOWN, .level_count = 1, .action_values = FACTORS};
  set(&config, "algo.name=sapg"), set(&config, "sapg.blocks=3"), set(&config, "sapg.embedding=4");
  set(&config, "net.width=5"), set(&config, "net.depth=2"), set(&config, "net.trunk_width=6");
  set(&config, "net.trunk_activation=tanh"), set(&config, sharing);
  AgentFixture *f = agent_fixture_create(&config, &env, ROWS, SHOWN + 1, 2 * FACTORS);
  const AgentNetwork *actor = &f->agent.actor;
  assert_int_equal(actor->embedding - actor->log_sigma, BLOCKS * FACTORS);
  assert_int_equal(actor->n - actor->embedding, BLOCKS * WIDTH);
  for (int r = 0; r < ROWS; r++) f->x[r * (SHOWN + 1) + SHOWN] = (float)(r * 2 % BLOCKS);
  compare_agent_gradient(f, scalar_of, sharing);
  agent_fixture_destroy(&f);
}

static void test_gradients_by_differences(void **state) {
  compare_gradient("net.sharing=separate");
  compare_gradient("net.sharing=shared");
}

static void test_names_of_parameters(void **state) {
  CoreConfig config = small_config();
  Training *training = make(&config);
  const AgentNetwork *actor = &training->agent.actor;
  char name[64];
  assert_string_equal(agent_parameter_name(actor, actor->log_sigma + 7, name), "actor.log_sigma[7]");
  assert_string_equal(agent_parameter_name(actor, actor->embedding, name), "actor.embedding[0]");
  assert_string_equal(agent_parameter_name(actor, 1, name), "actor.W0[0,1]");
  actor->theta[actor->log_sigma + 7] = NAN;
  StoreIteration row;
  assert_int_equal(training_iterate(training, &row), CORE_FAIL);
  training_destroy(&training);
}

/* ---- whole trainings ----------------------------------------------------------------------------------------------
 * */

/* Saved after two iterations, in another memory, the third and fourth are the same bits. */
static void compare_resumed(const CoreConfig *config) {
  Training *whole = make(config), *second = make(config);
  Checkpoint from = {0}, to = {0};
  iterate(whole, 2);
  training_before_save(whole);
  training_add_sections(whole, &from);
  training_add_sections(second, &to);
  assert_int_equal(from.sections, to.sections);
  for (int i = 0; i < from.sections; i++) {
    assert_string_equal(from.section[i].name, to.section[i].name);
    assert_int_equal(from.section[i].bytes, to.section[i].bytes);
    memcpy(to.section[i].data, from.section[i].data, from.section[i].bytes);
  }
  assert_int_equal(training_after_load(second), CORE_OK);
  StoreIteration a = iterate(whole, 2), b = iterate(second, 2);
  assert_memory_equal(whole->agent.actor.theta, second->agent.actor.theta, whole->agent.actor.n * sizeof(float));
  assert_memory_equal(whole->agent.critic.theta, second->agent.critic.theta, whole->agent.critic.n * sizeof(float));
  assert_true(a.kl == b.kl && a.kl > 0 && a.learning_rate == b.learning_rate && a.entropy == b.entropy);
  training_destroy(&whole);
  training_destroy(&second);
}

static void test_resumed_training_is_the_same(void **state) {
  static const char *const learners[][3] = {
    {"algo.name=sapg", "env.normalize_observations=rl_games", "env.normalize_rewards=ppo_ewma"},
    {"algo.name=sapg", "sapg.clip=paper", "net.sharing=shared"},
    {"algo.name=ppo", "env.normalize_observations=stoix", "net.action_head=tanh_affine"},
    {"algo.name=ppo_ewma", "env.normalize_observations=cleanrl", "env.normalize_rewards=cleanrl"},
    {"algo.name=ppo_ewma", "env.normalize_rewards=ppo_ewma", "net.action_head=tanh_affine"}};
  for (size_t i = 0; i < sizeof learners / sizeof *learners; i++) {
    CoreConfig config = small_config();
    for (int k = 0; k < 3; k++) set(&config, learners[i][k]);
    compare_resumed(&config);
  }
}

/* Three ranks of four worlds (one of each block and a world of the next), and two shards each: all samples once, each
 * at the rank and in the shard of the world that went through it. */
static void test_samples_of_ranks(void **state) {
  enum { SAMPLES = 96 + 2 * 32, ALL_SHARDS = 6 };
  const Shards ranks[3] = {{12, 0, 4, 6, 2, true}, {12, 4, 4, 6, 2, true}, {12, 8, 4, 6, 2, true}};
  CoreConfig config = small_config();
  int owners[SAMPLES] = {0}, samples = 0;

  for (int rank = 0; rank < 3; rank++) {
    Env *env;
    Agent agent;
    Rollout rollout;
    SapgData data;
    UpdateStats update = {0};
    Ops *ops;
    CoreArena *arena = core_arena_create("test");

    assert_int_equal(env_create(&config, 1, 0, &env), CORE_OK);
    agent_register(&agent, &config, env, 40, arena);
    rollout_register(&rollout, &config, env, &ranks[rank], 8, arena);
    sapg_data_register(&data, &config, &agent, &rollout, arena);
    assert_int_equal(core_arena_commit(arena), CORE_OK);
    agent_bind_activations(&agent);
    assert_int_equal(ops_cpu_create(1, 64, 128, &ops), CORE_OK);

    for (int i = 0; i < 32; i++) rollout.logp[i] = (float)(i % 4 + 4 * rank); /* the world of the run */
    sapg_data_collect(&data, ops, &config, &agent, &rollout, 1, NULL, &update);

    for (int m = 0; m < data.minibatches.count; m++) {
      int of_batch = 0;
      sapg_data_select(&data, m);
      while (sapg_data_next(&data, ops, &rollout)) {
        assert_true(data.rows <= data.capacity && data.capacity < 40);
        for (int r = 0; r < data.rows; r++) {
          const int world = (int)data.batch_logp[r];
          assert_int_equal(world / 2, 2 * rank + data.shard);
          assert_int_equal(data.index[r] % 4 + 4 * (uint32_t)rank, world);
        }
        of_batch += data.rows;
      }
      samples += of_batch;
    }

    for (uint32_t i = 0; i < SAMPLES; i++) owners[i] += sapg_data_own(&data, i) >= 0;
    ops_destroy(&ops);
    env_destroy(&env);
    core_arena_destroy(&arena);
  }

  assert_int_equal(samples, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) assert_int_equal(owners[i], 1);
}

/* Its episodes are the leader's: a third of the worlds. */
static void test_only_the_leader_is_reported(void **state) {
  CoreConfig config = small_config();
  set(&config, "ppo.num_steps=20");
  Training *training = make(&config);
  set(&config, "algo.name=ppo");
  Training *plain = make(&config);
  StoreIteration row = iterate(training, 1);
  assert_true(row.episodes >= 4 && row.episodes < iterate(plain, 1).episodes);
  training_destroy(&training);
  training_destroy(&plain);
}

static void test_rate_follows_the_kl(void **state) {
  assert_true(rl_games_lr(1e-3, 0.033, 0.016) == 1e-3 / 1.5 && rl_games_lr(1e-3, 0.007, 0.016) == 1e-3 * 1.5);
  assert_true(rl_games_lr(1e-3, 0.016, 0.016) == 1e-3 && rl_games_lr(1e-3, 9, 0) == 1e-3);
  assert_true(rl_games_lr(1e-6, 1, 0.016) == 1e-6 && rl_games_lr(1e-2, 0, 0.016) == 1e-2);
  assert_true(sapg_entropy_coef(0, 6, 0.005) == 0.0025 && sapg_entropy_coef(5, 6, 0.005) == 0);
  CoreConfig config = small_config();
  set(&config, "ppo.learning_rate=1e-4");
  Training *training = make(&config);
  StoreIteration row = iterate(training, 1);
  assert_true(*((Sapg *)training->learner.state)->adaptive_lr.lr > 1e-4); /* so small a step is made larger */
  const Sapg *sapg = training->learner.state;
  for (int b = 0; b < (int)config.sapg.blocks; b++)
    assert_float_equal(sapg->entropy_coef[b], sapg_entropy_coef(b, (int)config.sapg.blocks, 0.01), 1e-9);
  assert_true(row.kl_controller > 0 && row.kl_controller < 0.008 && row.clip_fraction_silent >= 0);
  assert_true(row.clip_fraction_silent <= row.clip_fraction);
  training_destroy(&training);
}

/* Without followers' samples both clips are PPO's. */
static void test_clips_differ_off_policy_only(void **state) {
  for (int ratio = 0; ratio < 2; ratio++) {
    CoreConfig config = small_config();
    config.sapg.off_policy_ratio = ratio;
    set(&config, "ppo.epsilon=0.01"); /* so that clips act from the start */
    Training *code = make(&config);
    set(&config, "sapg.clip=paper");
    Training *paper = make(&config);
    StoreIteration a = iterate(code, 2), b = iterate(paper, 2);
    if (ratio == 0) assert_true(fabs(a.kl - b.kl) < 1e-3 * a.kl);
    else assert_true(a.kl != b.kl);
    training_destroy(&code);
    training_destroy(&paper);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_order_holds_every_sample_once),
    cmocka_unit_test(test_leader_learns_from_followers),
    cmocka_unit_test(test_minibatches_carry_the_learning_block),
    cmocka_unit_test(test_gradients_by_differences),
    cmocka_unit_test(test_names_of_parameters),
    cmocka_unit_test(test_resumed_training_is_the_same),
    cmocka_unit_test(test_samples_of_ranks),
    cmocka_unit_test(test_only_the_leader_is_reported),
    cmocka_unit_test(test_rate_follows_the_kl),
    cmocka_unit_test(test_clips_differ_off_policy_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
