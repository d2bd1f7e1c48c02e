/* Environments without goals and with time limits, as in continuous control: a toy with known values. Truncated
 * episodes in a rollout, both ways to learn from them, statistics per world, unscaled episode returns, returns of
 * complete games with several lives, evaluation without solve rates, and by mean actions. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/learners/sapg.h"
#include "trainer/nets/agent_init.h"
#include "trainer/rollout/rollout.h"
#include "trainer/update/advantage.h"
#include "trainer/wrappers/action.h"

/* Episodes of even worlds are cut after CUT steps, those of odd ones end after END. A step's observation is (10 world,
 * step of the episode), its reward 100 (world + 1), so that normalized ones differ from it. */
enum { WORLDS = 4, STEPS = 9, FEATURES = 2, CUT = 4, END = 3, VALUES = 2, LIVES = 2 };
#define LOW (-0.4f)
#define HIGH 0.4f
typedef struct Toy { int worlds, step[WORLDS]; float action[WORLDS * VALUES]; } Toy;

static int last_step(int w) { return w % 2 ? END : CUT; }
static void observe(int w, int step, float *observation) {
  observation[0] = 10 * (float)w;
  observation[1] = (float)step;
}

static void toy_reset(Env *env, float *observations) {
  Toy *toy = env->state;
  memset(toy->step, 0, sizeof toy->step);
  for (int w = 0; w < env->worlds; w++) observe(w, 0, observations + w * FEATURES);
}

static void toy_step(Env *env, const void *actions, const EnvStep *out) {
  Toy *toy = env->state;
  if (env->action_values) memcpy(toy->action, actions, (size_t)env->worlds * VALUES * sizeof *toy->action);
  for (int w = 0; w < env->worlds; w++) {
    const int played = ++toy->step[w], life = last_step(w), game = env->has_lives ? LIVES * life : life;
    const bool done = played % life == 0, end = played == game;
    out->rewards[w] = 100 * (float)(w + 1);
    out->dones[w] = done;
    out->solved[w] = 0;
    if (out->levels) out->levels[w] = 0;
    out->episode_steps[w] = toy->step[w];
    if (out->truncated) out->truncated[w] = done && w % 2 == 0;
    if (out->final_observations && done) observe(w, toy->step[w], out->final_observations + w * FEATURES);
    if (out->ends && env->has_lives) out->ends[w] = end;
    if (end) toy->step[w] = 0;
    observe(w, toy->step[w], out->observations + w * FEATURES);
  }
}

static bool has_lives; /* whether toys created from now on have lives, LIVES per game */

static void toy_destroy(Env *env) {
  free(env->state);
  free(env);
}

static int toy_clone(const Env *env, const EnvBatch *batch, Env **made) {
  *made = core_memory_zero_allocate(1, sizeof **made);
  **made = *env;
  (*made)->worlds = batch->worlds;
  (*made)->state = core_memory_zero_allocate(1, sizeof(Toy));
  return CORE_OK;
}

static Env toy_env(Toy *toy) {
  return (Env){.name = "toy", .worlds = WORLDS, .observation_length = FEATURES, .level_count = 1,
               .max_steps = LIVES * CUT, .has_lives = has_lives,
               .action_values = VALUES, .action_low = LOW, .action_high = HIGH, .truncates = true,
               .reset = toy_reset, .step = toy_step, .clone = toy_clone, .destroy = toy_destroy, .state = toy};
}

typedef struct Fixture {
  Toy toy;
  Env env;
  CoreConfig config;
  CoreArena *arena;
  Ops *ops;
  Agent agent;
  Rollout rollout;
  Evaluator evaluator;
  SapgData sapg; /* with algo.name = sapg */
} Fixture;

static void set(CoreConfig *config, const char *setting) {
  assert_int_equal(core_config_set_pair(config, setting), CORE_OK);
}

static Fixture *make(const char *const *settings, int shards_of_run) {
  Fixture *f = calloc(1, sizeof *f);
  f->config = core_config_default();
  set(&f->config, "net.width=8");
  set(&f->config, "net.depth=1");
  set(&f->config, "eval.episodes=4");
  set(&f->config, "env.num=4");
  set(&f->config, "ppo.num_steps=9");
  for (; *settings; settings++) set(&f->config, *settings);
  f->env = toy_env(&f->toy);
  f->arena = core_arena_create("test");
  Shards shards = shards_alone(WORLDS);
  shards.shards = shards.global_shards = shards_of_run;
  agent_register(&f->agent, &f->config, &f->env, 64, f->arena);
  rollout_register(&f->rollout, &f->config, &f->env, &shards, STEPS, f->arena);
  evaluate_register(&f->evaluator, &f->config, &f->env, WORLDS, f->arena);
  if (strcmp(f->config.algo.name, "sapg") == 0)
    sapg_data_register(&f->sapg, &f->config, &f->agent, &f->rollout, f->arena);
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  agent_bind_activations(&f->agent);
  assert_int_equal(ops_cpu_create(1, agent_ops_rows(&f->agent), agent_ops_width(&f->agent), &f->ops), CORE_OK);
  agent_init_weights(&f->agent, 3);
  assert_int_equal(evaluate_create(&f->evaluator, &f->env, 1, NULL), CORE_OK);
  rollout_start(&f->rollout, &f->env, 11);
  return f;
}
#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void destroy(Fixture *f) {
  evaluate_destroy(&f->evaluator);
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  free(f);
}

static RolloutEpisodes collect(Fixture *f, int iteration) {
  RolloutEpisodes episodes;
  rollout_collect(&f->rollout, &f->env, f->ops, &f->agent, 11, iteration, &episodes);
  return episodes;
}

static float value_of(const Fixture *f, const float *seen) {
  float value;
  agent_values(&f->agent, f->ops, seen, 1, &value);
  return value;
}

/* ---- time limits ------------------------------------------------------------------------------------------------- */

/* A = delta + gamma lambda A', by hand from the rewards and values of one world. */
static void expect_advantages(const Fixture *f, int w, bool bootstraps, const float *advantage) {
  const Rollout *r = &f->rollout;
  const double gamma = 0.9, lambda = 0.8;
  double next = 0;
  for (int t = STEPS - 1; t >= 0; t--) {
    const int row = t * WORLDS + w;
    const bool ends = (t + 1) % last_step(w) == 0, goes_on = ends && w % 2 == 0 && bootstraps;
    float last[FEATURES];
    observe(w, last_step(w), last);
    const double after = goes_on ? (double)value_of(f, last) : ends ? 0 : (double)r->values[row + WORLDS];
    next = (double)r->rewards[row] + gamma * after - (double)r->values[row] + (ends ? 0 : gamma * lambda * next);
    assert_float_equal(advantage[row], next, 1e-3);
  }
}

static void test_both_ways(void **state) {
  float advantage[2][STEPS * WORLDS], target[STEPS * WORLDS];
  for (int bootstraps = 0; bootstraps < 2; bootstraps++)
    for (int shards = 1; shards <= 2; shards++) {
      Fixture *f = make(SETTINGS(bootstraps ? "env.truncation=bootstrap" : "env.truncation=terminate"), shards);
      const Rollout *r = &f->rollout;
      assert_int_equal(limits_check(&f->config, &f->env), CORE_OK);
      collect(f, 1);
      for (int i = 0; i < STEPS * WORLDS; i++) {
        const int w = i % WORLDS, t = i / WORLDS;
        assert_int_equal(r->dones[i], (t + 1) % last_step(w) == 0);
        assert_int_equal(r->limits.truncated[i], r->dones[i] && w % 2 == 0);
      }
      assert_true((rollout_truncated(r) != NULL) == (bootstraps == 1));
      advantage_estimate(f->ops, (AdvantageRule){0.9, 0.8, 1}, r->rewards, r->values, r->dones, rollout_truncated(r),
                         r->limits.values, STEPS, WORLDS, advantage[bootstraps], target);
      for (int w = 0; w < WORLDS; w++) expect_advantages(f, w, bootstraps, advantage[bootstraps]);
      destroy(f);
    }
  assert_true(advantage[0][(CUT - 1) * WORLDS] != advantage[1][(CUT - 1) * WORLDS]); /* a world that is truncated */
  assert_true(advantage[0][1] == advantage[1][1]);                                   /* a world that terminates */
}

/* The critic evaluates the observation that the agent would have seen, normalized by the current statistics. */
static void test_last_observations_are_normalized(void **state) {
  static const char *const rules[] = {"env.normalize_observations=rl_games", "env.normalize_observations=cleanrl",
                                      "env.normalize_observations=cleanrl_each"};
  for (int i = 0; i < 3; i++) {
    Fixture *f = make(SETTINGS("env.truncation=bootstrap", rules[i]), 1);
    const Rollout *r = &f->rollout;
    const Limits *limits = &r->limits;
    f->rollout.steps = CUT;
    collect(f, 1);
    float raw[FEATURES], all[WORLDS * FEATURES], seen[WORLDS * FEATURES];
    for (int w = 0; w < WORLDS; w++) observe(w, last_step(w), all + w * FEATURES);
    observe(0, CUT, raw);
    assert_memory_equal(limits->raw, raw, sizeof raw);
    normalize_apply(&r->pipeline.normalizer, all, WORLDS, seen, FEATURES);
    for (int k = 0; k < FEATURES && i < 2; k++) assert_float_equal(limits->seen[k], seen[k], 1e-6);
    for (int w = 0; w < WORLDS; w += 2)
      assert_float_equal(limits->values[(CUT - 1) * WORLDS + w], value_of(f, limits->seen + w * FEATURES), 1e-6);
    destroy(f);
  }
}

static void test_refusals(void **state) {
  Toy toy = {0};
  Env env = toy_env(&toy);
  CoreConfig config = core_config_default();
  env.truncates = false;
  assert_int_equal(limits_check(&config, &env), CORE_OK);
  set(&config, "env.truncation=bootstrap");
  assert_int_equal(limits_check(&config, &env), CORE_USAGE);
  assert_message("env.truncation = bootstrap needs time limits that are told from");
  assert_message("toy environments lack; set env.truncation to terminate");
  core_error_clear();
}

/* ---- SAPG -------------------------------------------------------------------------------------------------------- */

/* Worlds 0 and 1 are the follower's block, 2 and 3 the leader's; 0 and 2 are cut. */
enum { BLOCKS = 2, BLOCK = WORLDS / BLOCKS };
static const double FIRST_MOMENTS[3] = {40, 0.3, 60}; /* moments of values: count, mean, sum of squared differences */

/* The value in `block`'s eyes of world w after a step of its episode, in units of rewards. */
static double value_in(const Fixture *f, int w, int step, int block) {
  float seen[FEATURES + 1];
  observe(w, step, seen);
  seen[FEATURES] = (float)block;
  return (double)value_of(f, seen) * sqrt(FIRST_MOMENTS[2] / FIRST_MOMENTS[0] + 1e-5) + FIRST_MOMENTS[1];
}

/* r + gamma V(s'), where s' is the next step, the last observation of a cut episode, or nothing. */
static double one_step_return(const Fixture *f, int t, int w, int block, bool bootstraps) {
  const int step = t % last_step(w) + 1;
  const bool ends = step == last_step(w), goes_on = !ends || (bootstraps && w % 2 == 0);
  return 100.0 * (w + 1) + (goes_on ? 0.9 * value_in(f, w, step, block) : 0);
}

/* Generalized advantages, plus the value: each block by its own eyes. */
static double on_policy_return(const Fixture *f, int t, int w, bool bootstraps) {
  double next = 0, target = 0;
  for (int s = STEPS - 1; s >= t; s--) {
    const bool ends = (s + 1) % last_step(w) == 0;
    const double value = value_in(f, w, s % last_step(w), w / BLOCK);
    next = one_step_return(f, s, w, w / BLOCK, bootstraps) - value + (ends ? 0 : 0.9 * 0.8 * next);
    target = next + value;
  }
  return target;
}

static void check_sapg(Fixture *f, bool bootstraps, float *returns) {
  SapgData *data = &f->sapg;
  double moments[3] = {FIRST_MOMENTS[0], FIRST_MOMENTS[1], FIRST_MOMENTS[2]};
  UpdateStats update = {0};
  collect(f, 1);
  assert_true((data->last_values != NULL) == bootstraps && (f->rollout.limits.leader_values != NULL) == bootstraps);
  sapg_data_collect(data, f->ops, &f->config, &f->agent, &f->rollout, 1, moments, &update);
  assert_true(data->columns == BLOCK && data->follower[0] == 0);
  const double mean = moments[1], sd = sqrt(moments[2] / moments[0] + 1e-5);
  for (int t = 0; t < STEPS; t++) {
    for (int w = 0; w < WORLDS; w++)
      assert_float_equal((double)data->returns[t * WORLDS + w] * sd + mean, on_policy_return(f, t, w, bootstraps),
                         2e-3);
    for (int w = 0; w < BLOCK; w++) /* as the leader sees it */
      assert_float_equal((double)data->returns[STEPS * WORLDS + t * BLOCK + w] * sd + mean,
                         one_step_return(f, t, w, 1, bootstraps), 2e-3);
  }
  memcpy(returns, data->returns, (STEPS * WORLDS + STEPS * BLOCK) * sizeof *returns);
}

static void test_sapg(void **state) {
  float returns[2][STEPS * WORLDS + STEPS * BLOCK];
  (void)state;
  for (int bootstraps = 0; bootstraps < 2; bootstraps++) {
    Fixture *f = make(SETTINGS("algo.name=sapg", "sapg.blocks=2", "sapg.off_policy_ratio=1", "sapg.embedding=4",
                               "sapg.sequence_length=3", "ppo.num_minibatches=2", "ppo.gamma=0.9", "ppo.gae_lambda=0.8",
                               bootstraps ? "env.truncation=bootstrap" : "env.truncation=terminate"), 1);
    assert_int_equal(limits_check(&f->config, &f->env), CORE_OK);
    /* The two must observe differently, or the test could not distinguish them. */
    assert_true(fabs(value_in(f, 0, CUT, 0) - value_in(f, 0, CUT, 1)) > 0.05);
    check_sapg(f, bootstraps, returns[bootstraps]);
    destroy(f);
  }
  assert_true(memcmp(returns[0], returns[1], sizeof returns[0]) != 0);
}

/* ---- statistics a world ------------------------------------------------------------------------------------------ */

typedef struct Running { double count, mean, m2; } Running;
static void join(Running *r, double x) {
  const double d = x - r->mean;
  r->count += 1;
  r->mean += d / r->count;
  r->m2 += d * (x - r->mean);
}

/* Observations that Gymnasium's wrappers inside each world would count: at an end the last one, then the next first
 * one. */
static void test_statistics_of_each_world(void **state) {
  Fixture *f = make(SETTINGS("env.normalize_observations=cleanrl_each", "env.normalize_rewards=cleanrl_each"), 2);
  const Rollout *r = &f->rollout;
  const double *pooled = r->pipeline.normalizer.moments;
  Running everything[WORLDS] = {{0}};
  double total = 0, squares = 0, count = 0;

  for (int iteration = 1; iteration <= 2; iteration++) collect(f, iteration);
  for (int w = 0; w < WORLDS; w++) {
    Running step = {1e-4, 0, 1e-4}, sum = {1e-4, 0, 1e-4};
    double discounted = 0;

    join(&step, 0);
    for (int t = 1; t <= 2 * STEPS; t++) {
      const bool ends = t % last_step(w) == 0;
      join(&step, ends ? last_step(w) : t % last_step(w));
      if (ends) join(&step, 0);
      const double reward = 100 * (w + 1);
      discounted = (ends && w % 2 ? 0 : 0.99 * discounted) + reward;
      join(&sum, discounted);

      if (t <= STEPS) continue;
      const double scaled = fmin(reward / sqrt(sum.m2 / sum.count + 1e-8), 10);
      assert_float_equal(r->rewards[(t - STEPS - 1) * WORLDS + w], scaled, 1e-5);
      const double at = ends ? 0 : t % last_step(w), seen = (at - step.mean) / sqrt(step.m2 / step.count + 1e-8);
      assert_float_equal(r->observations[((t - STEPS) * WORLDS + w) * FEATURES + 1], seen, 1e-5);
    }

    const double *record = r->pipeline.each.moments + w * (1 + 2 * FEATURES);
    assert_float_equal(record[0], step.count, 1e-9);
    assert_float_equal(record[2], step.mean, 1e-9);
    assert_float_equal(record[4], step.m2, 1e-9);
    everything[w] = step;
    count += step.count;
    total += step.count * step.mean;
  }

  for (int w = 0; w < WORLDS; w++)
    squares += everything[w].m2 + everything[w].count * pow(everything[w].mean - total / count, 2);
  obs_pool_statistics(&f->rollout.pipeline);
  assert_float_equal(pooled[0], count, 1e-9);
  assert_float_equal(pooled[2], total / count, 1e-9);
  assert_float_equal(pooled[4], squares, 1e-9);

  double spread[WORLDS * (1 + 2 * FEATURES)];
  normalize_each_spread(pooled, WORLDS, FEATURES, spread);
  assert_true(spread[2] == pooled[2]);
  assert_float_equal(spread[4] / spread[0], pooled[4] / pooled[0], 1e-12);

  destroy(f);
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

/* Returns are of the rewards as the environment gives them, regardless of what is learned from; without goals there
 * is no solve rate. */
static void test_returns_are_not_scaled(void **state) {
  static const char *const rules[] = {"env.normalize_rewards=none", "env.normalize_rewards=cleanrl",
                                      "env.normalize_rewards=cleanrl_each", "env.normalize_rewards=ppo_ewma"};
  for (int i = 0; i < 4; i++) {
    Fixture *f = make(SETTINGS(rules[i], "env.normalize_observations=cleanrl_each", "ppo.reward_scale=0.01"), 1);
    StoreEvaluation row;
    const RolloutEpisodes episodes = collect(f, 1);
    assert_true(i == 0 || fabsf(f->rollout.rewards[0]) <= 10);
    double sum = 0;
    int count = 0;
    for (int w = 0; w < WORLDS; w++) {
      const int ended = STEPS / last_step(w);
      sum += 100.0 * (w + 1) * last_step(w) * ended;
      count += ended;
    }
    assert_int_equal(episodes.count, count);
    assert_float_equal(episodes.return_mean, sum / count, 1e-9);
    assert_true(isnan(episodes.solve_rate));
    evaluate_play(&f->evaluator, f->ops, &f->agent, &f->rollout.pipeline, 1, 0, &row);
    assert_float_equal(row.episode_return, 100.0 * (4 * 1 + 3 * 2 + 4 * 3 + 3 * 4) / 4, 1e-9);
    assert_float_equal(row.episode_length, 3.5, 1e-9);
    assert_true(isnan(row.solve_rate) && isnan(row.solve_rate_se));
    destroy(f);
  }
}

/* The learner gets signs, statistics the rewards. With normalization: that of the signs. */
static void test_clipped_rewards(void **state) {
  Fixture *plain = make(SETTINGS("env.clip_rewards=none"), 1), *f = make(SETTINGS("env.clip_rewards=sign"), 1);
  const RolloutEpisodes whole = collect(plain, 1), episodes = collect(f, 1);
  StoreEvaluation row, wanted;
  assert_true(whole.return_mean > 100 && episodes.return_mean == whole.return_mean);
  for (int i = 0; i < STEPS * WORLDS; i++) {
    assert_true(plain->rollout.rewards[i] >= 100);
    assert_true(f->rollout.rewards[i] == 1);
  }
  evaluate_play(&plain->evaluator, plain->ops, &plain->agent, &plain->rollout.pipeline, 1, 0, &wanted);
  evaluate_play(&f->evaluator, f->ops, &f->agent, &f->rollout.pipeline, 1, 0, &row);
  assert_true(row.episode_return == wanted.episode_return && row.episode_return > 100);
  float rewards[5] = {-3, 0, 0.5f, NAN, -0.25f};
  RewardScale scale = {.clips = true, .worlds = 5};
  reward_step(&scale, rewards, NULL, NULL);
  assert_true(rewards[0] == -1 && rewards[1] == 0 && rewards[2] == 1 && isnan(rewards[3]) && rewards[4] == -1);
  destroy(plain), destroy(f);
  f = make(SETTINGS("env.clip_rewards=sign", "env.normalize_rewards=cleanrl"), 1);
  collect(f, 1);
  for (int w = 1; w < WORLDS; w++) assert_true(f->rollout.rewards[w] == f->rollout.rewards[0]); /* not by size */
  destroy(f);
}

/* A lost life is an end for the learner, not for statistics: in training and in evaluation. */
static void test_returns_are_of_whole_games(void **state) {
  StoreEvaluation row;
  has_lives = true;
  Fixture *f = make(SETTINGS("env.normalize_rewards=none"), 1);
  has_lives = false;
  const RolloutEpisodes episodes = collect(f, 1);
  const double games = 100.0 * LIVES * (1 * CUT + 2 * END + 3 * CUT + 4 * END) / WORLDS;
  assert_int_equal(episodes.count, WORLDS); /* STEPS are one game of each */
  assert_float_equal(episodes.return_mean, games, 1e-9);
  assert_float_equal(episodes.length_mean, LIVES * (CUT + END) / 2.0, 1e-9);
  for (int t = 0; t < STEPS; t++)
    for (int w = 0; w < WORLDS; w++)
      assert_int_equal(f->rollout.dones[t * WORLDS + w], (t + 1) % last_step(w) == 0);
  evaluate_play(&f->evaluator, f->ops, &f->agent, &f->rollout.pipeline, 1, 0, &row);
  assert_float_equal(row.episode_return, games, 1e-9);
  assert_float_equal(row.episode_length, LIVES * (CUT + END) / 2.0, 1e-9);
  destroy(f);
}

/* An attempt that exceeds the step limit has an unknown result and is not counted. */
static void test_unfinished_attempts_are_not_measured(void **state) {
  StoreEvaluation row;
  Fixture *f = make(SETTINGS("env.normalize_rewards=none"), 1);
  double sum = 0;
  int ended = 0;
  for (int w = 0; w < WORLDS; w++)
    if (last_step(w) == END) sum += 100.0 * (w + 1) * END, ended++;
  assert_true(END < CUT && ended > 0 && ended < WORLDS);
  f->evaluator.env->max_steps = END;
  assert_int_equal(evaluate_play(&f->evaluator, f->ops, &f->agent, &f->rollout.pipeline, 1, 0, &row), CORE_OK);
  assert_float_equal(row.episodes, ended, 0);
  assert_float_equal(row.episode_return, sum / ended, 1e-9);
  assert_float_equal(row.episode_length, END, 0);
  f->evaluator.env->max_steps = END - 1;
  assert_int_equal(evaluate_play(&f->evaluator, f->ops, &f->agent, &f->rollout.pipeline, 1, 0, &row), CORE_OK);
  assert_float_equal(row.episodes, 0, 0);
  assert_true(isnan(row.episode_return) && isnan(row.episode_length) && isnan(row.solve_rate) && isnan(row.goals));
  destroy(f);
}

/* ---- mean actions ------------------------------------------------------------------------------------------------ */

static void test_mean_actions(void **state) {
  static const char *const heads[] = {"net.action_head=gaussian", "net.action_head=tanh_affine"};
  for (int i = 0; i < 2; i++) {
    StoreEvaluation row;
    Fixture *f = make(SETTINGS("eval.actions=mean", heads[i]), 1);
    for (size_t k = 0; k < f->agent.actor.n; k++) f->agent.actor.theta[k] *= i == 0 ? 60 : 5; /* beyond the bounds */
    evaluate_play(&f->evaluator, f->ops, &f->agent, &f->rollout.pipeline, 1, 0, &row);
    const Toy *toy = f->evaluator.env->state;
    int cut = 0;
    for (int w = 0; w < WORLDS; w++)
      for (int k = 0; k < VALUES; k++) {
        const float mean = f->evaluator.eval_rollout.logits[w * 2 * VALUES + k], action = toy->action[w * VALUES + k];
        const double want = i == 0 ? fmin(fmax((double)mean, (double)LOW), (double)HIGH) : 0.4 * tanh((double)mean);
        cut += action == LOW || action == HIGH;
        assert_float_equal(action, want, 1e-6);
      }
    assert_true(i == 1 || cut > 0);
    destroy(f);
  }
}

static void test_sampled_actions_differ(void **state) {
  StoreEvaluation row;
  Fixture *f = make(SETTINGS("eval.actions=sampled"), 1);
  evaluate_play(&f->evaluator, f->ops, &f->agent, &f->rollout.pipeline, 1, 0, &row);
  const Toy *toy = f->evaluator.env->state;
  int equal = 0;
  for (int w = 0; w < WORLDS; w++)
    equal += toy->action[w * VALUES] == f->evaluator.eval_rollout.logits[w * 2 * VALUES];
  assert_int_equal(equal, 0);
  destroy(f);
}

static void test_most_probable_classes(void **state) {
  const OpsHead head = {.factors = 2, .logits = 5, .size = {3, 2}};
  const float logits[2 * 5] = {1, 3, 2, 0, 0, -1, -2, -1, 4, 5};
  uint8_t actions[4];
  Ops *ops;
  assert_int_equal(ops_cpu_create(1, 16, 16, &ops), CORE_OK);
  action_mode(ops, &head, logits, 2, actions);
  assert_true(actions[0] == 1 && actions[1] == 0 && actions[2] == 0 && actions[3] == 1);
  ops_destroy(&ops);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_both_ways), cmocka_unit_test(test_last_observations_are_normalized),
    cmocka_unit_test(test_refusals), cmocka_unit_test(test_sapg),
    cmocka_unit_test(test_statistics_of_each_world),
    cmocka_unit_test(test_returns_are_not_scaled),
    cmocka_unit_test(test_returns_are_of_whole_games),
    cmocka_unit_test(test_unfinished_attempts_are_not_measured), cmocka_unit_test(test_clipped_rewards),
    cmocka_unit_test(test_mean_actions),
    cmocka_unit_test(test_sampled_actions_differ), cmocka_unit_test(test_most_probable_classes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
