/* Rollouts over a toy environment with known values: positions of stored data, and episode statistics. */
#include "test.h"

#include "core/device/arena.h"
#include "trainer/nets/agent_init.h"
#include "trainer/rollout/rollout.h"

/* Episodes of world w last 2 + w % 3 steps and are played on level w % 2; level 1 is solved. The observation is (world,
 * steps since the start of all, constant); the reward is the first action's class + 1. */
enum { WORLDS = 5, STEPS = 4, FEATURES = 3 };
typedef struct Toy { int clock, episode_step[WORLDS]; } Toy;

static void toy_observe(const Toy *toy, float *observations) {
  for (int w = 0; w < WORLDS; w++) {
    observations[w * FEATURES] = (float)w;
    observations[w * FEATURES + 1] = (float)toy->clock;
    observations[w * FEATURES + 2] = 0.5f;
  }
}

static void toy_reset(Env *env, float *observations) {
  memset(env->state, 0, sizeof(Toy));
  toy_observe(env->state, observations);
}

static void toy_step(Env *env, const void *given, const EnvStep *out) {
  const uint8_t *actions = given;
  Toy *toy = env->state;
  toy->clock++;
  for (int w = 0; w < WORLDS; w++) {
    bool done = ++toy->episode_step[w] == 2 + w % 3;
    out->rewards[w] = (float)actions[w * 2] + 1;
    out->dones[w] = done;
    out->levels[w] = w % 2;
    out->solved[w] = done && w % 2 == 1;
    out->episode_steps[w] = toy->episode_step[w];
    if (done) toy->episode_step[w] = 0;
  }
  toy_observe(toy, out->observations);
}

typedef struct Fixture {
  Toy toy;
  Env env;
  CoreArena *arena;
  Ops *ops;
  Agent agent;
  Rollout rollout;
} Fixture;

static Fixture *make(int max_rows) {
  Fixture *f = calloc(1, sizeof *f);
  CoreConfig config = core_config_default();
  config.net.width = 8;
  config.net.depth = 2;
  f->env = (Env){.worlds = WORLDS, .observation_length = FEATURES, .level_count = 3, .max_steps = 9,
                 .head = {.factors = 2, .logits = 5, .size = {3, 2}}, .solves = true,
                 .reset = toy_reset, .step = toy_step, .state = &f->toy};
  f->arena = core_arena_create("test");
  agent_register(&f->agent, &config, &f->env, max_rows, f->arena);
  const Shards shards = shards_alone(WORLDS);
  rollout_register(&f->rollout, &config, &f->env, &shards, STEPS, f->arena);
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  agent_bind_activations(&f->agent);
  assert_int_equal(ops_cpu_create(1, 16, 16, &f->ops), CORE_OK);
  agent_init_weights(&f->agent, 3);
  for (size_t i = 0; i < f->agent.actor.n; i++) f->agent.actor.theta[i] *= 5; /* a policy that is not uniform */
  rollout_start(&f->rollout, &f->env, 11);
  return f;
}

static void destroy(Fixture *f) {
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  free(f);
}

static RolloutEpisodes collect(Fixture *f, int iteration) {
  RolloutEpisodes episodes;
  rollout_collect(&f->rollout, &f->env, f->ops, &f->agent, 11, iteration, &episodes);
  return episodes;
}

static void test_states_follow_each_other(void **state) {
  Fixture *f = make(16);
  for (int iteration = 1; iteration <= 3; iteration++) {
    collect(f, iteration);
    for (int t = 0; t <= STEPS; t++)
      for (int w = 0; w < WORLDS; w++) {
        const float *x = f->rollout.observations + (t * WORLDS + w) * FEATURES;
        assert_true(x[0] == (float)w && x[1] == (float)((iteration - 1) * STEPS + t));
      }
  }
  destroy(f);
}

/* log softmax in double, from the stored logits. */
static double logp_of(const Rollout *r, int row) {
  const float *z = r->logits + row * 5;
  double logp = 0;
  for (int factor = 0, at = 0; factor < 2; at += r->head.size[factor++]) {
    double sum = 0;
    for (int k = 0; k < r->head.size[factor]; k++) sum += exp((double)z[at + k]);
    logp += (double)z[at + r->actions[row * 2 + factor]] - log(sum);
  }
  return logp;
}

static void test_policy_and_values_are_of_the_states(void **state) {
  Fixture *f = make(16);
  float logits[5], value;
  collect(f, 1);
  for (int row = 0; row < (STEPS + 1) * WORLDS; row++) {
    const float *x = f->rollout.observations + row * FEATURES;
    agent_forward(&f->agent, f->ops, &f->agent.critic, f->agent.critic.theta, x, 1, &value);
    assert_float_equal(f->rollout.values[row], value, 1e-5);
    if (row >= STEPS * WORLDS) continue;
    agent_forward(&f->agent, f->ops, &f->agent.actor, f->agent.actor.theta, x, 1, logits);
    for (int k = 0; k < 5; k++) assert_float_equal(f->rollout.logits[row * 5 + k], logits[k], 1e-4);
    assert_float_equal(f->rollout.logp[row], logp_of(&f->rollout, row), 1e-5);
    assert_true(f->rollout.rewards[row] == (float)f->rollout.actions[row * 2] + 1);
  }
  destroy(f);
}

/* Returns of episodes that span two rollouts are whole: world 2's (4 steps) and so on, over 3 rollouts of 4 steps. */
static void test_episode_book(void **state) {
  Fixture *f = make(16);
  double returns = 0, lengths = 0, running[WORLDS] = {0};
  int count = 0, in_book = 0;
  double book_returns = 0, book_lengths = 0;

  for (int iteration = 1; iteration <= 3; iteration++) {
    RolloutEpisodes episodes = collect(f, iteration);
    in_book += (int)episodes.count;
    book_returns += episodes.return_mean * (double)episodes.count;
    book_lengths += episodes.length_mean * (double)episodes.count;
    assert_float_equal(episodes.solve_rate, 0.5, 0); /* level 0 never, level 1 always, level 2 not played */

    for (int t = 0; t < STEPS; t++)
      for (int w = 0; w < WORLDS; w++) {
        int length = 2 + w % 3;
        running[w] += (double)f->rollout.rewards[t * WORLDS + w];
        bool done = ((iteration - 1) * STEPS + t + 1) % length == 0;
        assert_int_equal(f->rollout.dones[t * WORLDS + w], done);
        if (!done) continue;
        count++;
        returns += running[w];
        lengths += length;
        running[w] = 0;
      }
  }

  assert_int_equal(in_book, count);
  assert_float_equal(book_returns, returns, 1e-9);
  assert_float_equal(book_lengths, lengths, 1e-9);
  for (int w = 0; w < WORLDS; w++) assert_float_equal(f->rollout.returns[w], running[w], 1e-9);
  destroy(f);
}

static void test_no_episode_is_not_measured(void **state) {
  Fixture *f = make(16);
  f->toy.episode_step[0] = 0;
  RolloutEpisodes episodes;
  f->rollout.steps = 1; /* shorter than any episode */
  rollout_collect(&f->rollout, &f->env, f->ops, &f->agent, 11, 1, &episodes);
  assert_int_equal(episodes.count, 0);
  assert_true(isnan(episodes.return_mean) && isnan(episodes.length_mean) && isnan(episodes.solve_rate));
  destroy(f);
}

/* Evaluating the network in chunks of worlds changes memory, not the samples. */
static void test_pieces(void **state) {
  Fixture *whole = make(16), *pieces = make(2);
  collect(whole, 1);
  collect(pieces, 1);
  assert_memory_equal(whole->rollout.actions, pieces->rollout.actions, STEPS * WORLDS * 2);
  destroy(whole);
  destroy(pieces);
}

static void test_actions_depend_on_the_iteration(void **state) {
  Fixture *f = make(16);
  uint8_t first[STEPS * WORLDS * 2], again[STEPS * WORLDS * 2];
  collect(f, 1);
  memcpy(first, f->rollout.actions, sizeof first);
  rollout_start(&f->rollout, &f->env, 11);
  collect(f, 1);
  memcpy(again, f->rollout.actions, sizeof again);
  assert_memory_equal(first, again, sizeof first);
  rollout_start(&f->rollout, &f->env, 11);
  collect(f, 2);
  assert_memory_not_equal(first, f->rollout.actions, sizeof first);
  destroy(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_states_follow_each_other), cmocka_unit_test(test_policy_and_values_are_of_the_states),
    cmocka_unit_test(test_episode_book), cmocka_unit_test(test_no_episode_is_not_measured),
    cmocka_unit_test(test_pieces), cmocka_unit_test(test_actions_depend_on_the_iteration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
