/* The update of PPO on pixels with convolutions: forward and backward passes and Adam of all minibatches, with
 * CleanRL's networks and settings, on a rollout of random pixels. Prints CSV; peers/torch_convolution.py does the same
 * in PyTorch.
 *
 *   update_nature   8 worlds x 128 steps of 4 x 84 x 84, 4 minibatches, 4 epochs (ppo_atari)
 *   update_impala   64 worlds x 256 steps of 64 x 64 x 3, 8 minibatches, 1 epoch of its 3 (ppo_procgen)
 *
 * The fraction of the sgemm peak relates the products counted by the ops to the total time of an update, including
 * gathering of minibatches, losses and optimizer. */
#include "core/memory.h"
#include "tests/bench/bench_matrix.h"
#include "trainer/learners/learner.h"
#include "trainer/nets/agent_init.h"
#include "trainer/rollout/rollout.h"

enum { UPDATES_MAX = 5 };

typedef struct Case {
  const char *name, *encoder;
  EnvPixels pixels;
  int actions, worlds, steps, minibatches, epochs, updates;
  int trunk;              /* units of the dense layer after the convolutions */
} Case;

/* ---- an environment of random pixels ----------------------------------------------------------------------------- */

static uint32_t noise(Env *env) {
  uint32_t *x = env->state;
  *x ^= *x << 13, *x ^= *x >> 17, *x ^= *x << 5;
  return *x;
}

/* Frames move on by one, and the last is new. The rollout gives the same rows again where frames are stacked. */
static void show(Env *env, float *observations) {
  const size_t frame = env_pixels_frame(env->pixels), row = (size_t)env->observation_length * sizeof(float);
  const size_t before = frame * (size_t)(env->pixels->frames - 1);
  for (int w = 0; w < env->worlds; w++) {
    uint8_t *pixels = (uint8_t *)observations + (size_t)w * row;
    memmove(pixels, pixels + frame, before);
    for (size_t i = 0; i < frame; i++) pixels[before + i] = (uint8_t)(noise(env) >> 24);
  }
}

static void reset(Env *env, float *observations) {
  memset(observations, 0, (size_t)env->worlds * (size_t)env->observation_length * sizeof(float));
  show(env, observations);
}

static void step(Env *env, const void *actions, const EnvStep *out) {
  (void)actions;
  show(env, out->observations);
  for (int w = 0; w < env->worlds; w++) {
    out->rewards[w] = (float)(noise(env) >> 8) * 0x1p-24f;
    out->dones[w] = out->solved[w] = 0;
    out->episode_steps[w] = 1;
    if (out->levels) out->levels[w] = 0;
  }
}

/* ---- one network ------------------------------------------------------------------------------------------------- */

typedef struct Bench {
  CoreConfig config;
  uint32_t noise;
  Env env;
  CoreArena *arena;
  Ops *ops;
  Agent agent;
  Rollout rollout;
  Learner learner;
} Bench;

static int configure(const Case *wanted, CoreConfig *config) {
  char number[5][16];
  CoreConfig given = core_config_default();
  const int numbers[] = {wanted->worlds, wanted->steps, wanted->minibatches, wanted->epochs, wanted->trunk};
  for (int i = 0; i < 5; i++) snprintf(number[i], sizeof number[i], "%d", numbers[i]);
  const char *const settings[][2] = {
    {"env.num", number[0]}, {"ppo.num_steps", number[1]}, {"ppo.num_minibatches", number[2]},
    {"ppo.epochs", number[3]}, {"net.trunk_width", number[4]}, {"net.encoder", wanted->encoder},
    {"net.sharing", "shared"}, {"net.depth", "0"}, {"net.activation", "relu"}, {"ppo.learning_rate", "2.5e-4"},
    {"ppo.epsilon", "0.1"}, {"ppo.entropy_coef", "0.01"}, {"ppo.value_coef", "0.5"}, {"ppo.max_grad_norm", "0.5"},
    {"ppo.adam_epsilon", "1e-5"}, {"ppo.normalize_advantage", "minibatch_unbiased"}, {"eval.count", "0"}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    TRY(core_config_set(&given, settings[i][0], settings[i][1]));
  return core_config_resolve(&given, config);
}

static int make(const Case *wanted, int threads, Bench *b) {
  TRY(configure(wanted, &b->config));
  b->noise = 1;
  b->env = (Env){.name = "noise", .worlds = wanted->worlds, .pixels = &wanted->pixels, .level_count = 1,
                 .observation_length = env_pixels_length(&wanted->pixels), .max_steps = 1 << 20,
                 .head = {.factors = 1, .logits = wanted->actions, .size = {wanted->actions}}, .reset = reset,
                 .step = step, .state = &b->noise};
  b->env.whole_length = b->env.observation_length;
  const Shards shards = shards_alone(wanted->worlds);
  b->arena = core_arena_create("benchmark");
  const int rows = wanted->worlds * wanted->steps / wanted->minibatches;
  agent_register(&b->agent, &b->config, &b->env, rows, b->arena);
  rollout_register(&b->rollout, &b->config, &b->env, &shards, wanted->steps, b->arena);
  TRY(learner_create(&b->config, &b->agent, &b->rollout, b->arena, &b->learner));
  TRY(core_arena_commit(b->arena));
  agent_bind_activations(&b->agent);
  TRY(agent_create_ops(&b->agent, &b->config, threads, &b->ops));
  agent_init_weights(&b->agent, 1);
  b->learner.kind->start(b->learner.state);
  return CORE_OK;
}

static void destroy(Bench *b) {
  rollout_destroy(&b->rollout);
  learner_destroy(&b->learner);
  ops_destroy(&b->ops);
  core_arena_destroy(&b->arena);
}

/* An update before them warms up. */
static int time_updates(const Case *wanted, Bench *b, double *seconds, double *flops) {
  RolloutEpisodes episodes;
  UpdateStats update;
  double times[UPDATES_MAX];
  rollout_start(&b->rollout, &b->env, 1);
  rollout_collect(&b->rollout, &b->env, b->ops, &b->agent, 1, 1, &episodes);
  for (int i = -1; i < wanted->updates; i++) {
    const UpdateContext learnt = {.ops = b->ops, .rollout = &b->rollout, .iteration = i + 2};
    b->ops->flops = 0;
    const double begun = bench_seconds();
    TRY(b->learner.kind->update(b->learner.state, &learnt, &update));
    if (i >= 0) times[i] = bench_seconds() - begun;
  }
  *seconds = bench_median(times, wanted->updates);
  *flops = b->ops->flops;
  return CORE_OK;
}

static int measure(const Case *wanted, int threads, double peak) {
  Bench *b = core_memory_zero_allocate(1, sizeof *b);
  double seconds = 0, flops = 0;
  int code = make(wanted, threads, b);
  if (code == CORE_OK) code = time_updates(wanted, b, &seconds, &flops);
  if (code == CORE_OK) {
    const double rows = (double)wanted->worlds * wanted->steps * wanted->epochs, gflops = 1e-9 * flops / seconds;
    const char *name = wanted->name;
    bench_row("environments", name, "parameters", (double)(b->agent.actor.n + b->agent.critic.n), "numbers", threads);
    bench_row("environments", name, "seconds", seconds, "s", threads);
    bench_row("environments", name, "update_per_second", rows / seconds, "rows/s", threads);
    bench_row("environments", name, "products", gflops, "GFLOP/s", threads);
    bench_row("environments", name, "share of sgemm peak", 100 * gflops / peak, "%", threads);
  }
  destroy(b);
  free(b);
  return code;
}

int main(void) {
  static const Case cases[] = {
    {"update_nature", "nature", {84, 84, 1, 4, false}, 4, 8, 128, 4, 4, 5, 512},
    {"update_impala", "impala", {64, 64, 3, 1, true}, 15, 64, 256, 8, 1, 1, 256},
  };
  const int threads = omp_get_num_procs();
  const double peak = bench_matrix_peak(threads);
  int code = CORE_OK;
  omp_set_num_threads(threads);
  for (size_t i = 0; code == CORE_OK && i < sizeof cases / sizeof *cases; i++)
    code = measure(&cases[i], threads, peak);
  if (code != CORE_OK) printf("# environments: %s\n", core_error_message());
  return code == CORE_OK ? 0 : 1;
}
