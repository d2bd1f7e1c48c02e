/* The GPU's figures: environment steps a second on random levels of size S, M and L, products of the paper's layers,
 * and whole rollouts with all worlds together and in halves (train.rollout_halves). Without a GPU it says so and
 * measures nothing: what the emulator takes tells nothing about a GPU. Rows start before the first kernel of a case and
 * end when the device has finished; the first pass is not counted. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/batch/batch.h"
#include "sim/device/batch_device.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "trainer/run/training.h"

enum { WORLDS = 65536, MANY_WORLDS = 1 << 20, STEPS = 64, LEVELS = 256, ROWS = 65536 };

static CoreDevice *device;

static void fail(void) {
  fprintf(stderr, "bench_device: %s\n", core_error_message());
  exit(1);
}

static void *on_device(size_t bytes) {
  void *memory;
  if (device->allocate(device, bytes, &memory) != CORE_OK) fail();
  return memory;
}

/* Of MANY_WORLDS. */
static uint8_t *random_actions(void) {
  const size_t bytes = (size_t)MANY_WORLDS * SIM_ACTIONS;
  uint8_t *actions = core_memory_allocate(bytes), *there = on_device(bytes);
  for (size_t i = 0; i < bytes; i++) {
    const uint32_t word = core_random_4(1, CORE_RANDOM_TEST, (uint32_t)i, 0, 0).v[0];
    actions[i] = (uint8_t)core_random_below(word, i % SIM_ACTIONS < SIM_MOTOR_BINDINGS ? 3 : 2);
  }
  core_device_to_device(device, there, actions, bytes);
  free(actions);
  return there;
}

static void bench_steps(const char *name, SimSize size, int worlds, const uint8_t *actions) {
  SimLevelSet levels = {.count = LEVELS, .size = size};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  levels.level = core_memory_zero_allocate(LEVELS, sizeof *levels.level);
  for (int i = 0; i < LEVELS; i++)
    if (sim_generate_level(size, 3, (uint32_t)i, &levels.level[i]) != CORE_OK) fail();
  options.worlds = worlds;
  options.backend = sim_device_backend(device);
  if (sim_batch_create(&options, &levels, &batch) != CORE_OK) fail();
  const size_t n = (size_t)worlds;
  float *observations = on_device(n * (size_t)sim_batch_observation_length(batch) * sizeof *observations);
  float *reward = on_device(n * sizeof *reward);
  uint8_t *done = on_device(n);
  const SimStepOut out = {.observations = observations, .reward = reward, .done = done};
  double start = 0;
  for (int pass = 0; pass < 2; pass++) {
    device->synchronise(device);
    start = bench_seconds();
    for (int t = 0; t < STEPS; t++) sim_batch_step(batch, actions, &out);
    device->synchronise(device);
  }
  bench_row("device", name, "environment_steps", (double)worlds * STEPS / (bench_seconds() - start), "steps/s", 0);
  sim_batch_destroy(&batch);
  sim_level_set_free(&levels);
  device->release(device, observations);
  device->release(device, reward);
  device->release(device, done);
}

/* worlds: of a warp, in the rows' names. */
static void bench_sizes(const char *worlds, const uint8_t *actions) {
  const SimSize size[] = {SIM_SIZE_S, SIM_SIZE_M, SIM_SIZE_L};
  for (int i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "random_%c%s%s", "sml"[i], *worlds ? "_worlds_" : "", worlds);
    bench_steps(name, size[i], WORLDS, actions);
  }
}

static void bench_layer(OpsPrecision precision, const char *name, int in, int out) {
  const size_t rows = ROWS, i = (size_t)in, o = (size_t)out;
  Ops *ops;
  if (ops_device_create(device, precision, ROWS, in > out ? in : out, false, &ops) != CORE_OK) fail();
  float *x = on_device(rows * i * sizeof *x), *w = on_device(i * o * sizeof *w), *b = on_device(o * sizeof *b);
  float *y = on_device(rows * o * sizeof *y), *host = core_memory_allocate(rows * i * sizeof *host);
  for (size_t k = 0; k < rows * i; k++) /* zeros would run faster than numbers do */
    host[k] = core_random_unit(core_random_4(2, CORE_RANDOM_TEST, (uint32_t)k, 0, 0).v[0]) - 0.5f;
  core_device_to_device(device, x, host, rows * i * sizeof *x);
  core_device_to_device(device, w, host, i * o * sizeof *w);
  double start = 0;
  for (int pass = 0; pass < 2; pass++) {
    device->synchronise(device);
    start = bench_seconds();
    for (int t = 0; t < STEPS; t++) ops->dense_forward(ops, x, w, b, y, ROWS, in, out, OPS_TANH);
    device->synchronise(device);
  }
  bench_row("device", name, "dense_forward", 2.0 * ROWS * in * out * STEPS / (bench_seconds() - start) * 1e-12,
            "TFLOP/s", 0);
  free(host);
  device->release(device, x), device->release(device, w), device->release(device, b), device->release(device, y);
  ops_destroy(&ops);
}

/* Acting and stepping, 3 x 256 separate networks: as a graph, from the third pass on. */
static void bench_rollout(const char *reset, const char *halves) {
  const char *const settings[][2] = {{"train.device", "cuda"},
                                     {"train.rollout_halves", halves},
                                     {"train.observation_storage", "state"},
                                     {"env.task", "random_s"},
                                     {"env.level_count", "256"},
                                     {"env.reset", reset},
                                     {"env.num", "65536"},
                                     {"ppo.num_steps", "64"},
                                     {"ppo.num_minibatches", "64"},
                                     {"net.width", "256"},
                                     {"net.depth", "3"},
                                     {"eval.count", "0"},
                                     {"train.precision", "bf16"}};
  CoreConfig config = core_config_default();
  RolloutEpisodes episodes;
  Training *training;
  char name[64];
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (core_config_set(&config, settings[i][0], settings[i][1]) != CORE_OK) fail();
  if (training_plan(&config, &training) != CORE_OK || training_allocate(training) != CORE_OK) fail();
  training_start(training);
  double start = 0;
  for (int pass = 1; pass <= 4; pass++) {
    start = bench_seconds(); /* reading the episode statistics has waited for all steps */
    rollout_collect(&training->rollout, training->env, training->ops, &training->agent, 1, pass, &episodes);
  }
  snprintf(name, sizeof name, "rollout_s_%s_halves_%s", reset, halves);
  bench_row("device", name, "transitions", (double)WORLDS * STEPS / (bench_seconds() - start), "steps/s", 0);
  training_destroy(&training);
}

int main(void) {
  char reason[256];
  if (core_device_open("cuda", 0, &device, reason) != CORE_OK || device->stream == NULL) {
    printf("# no GPU is measured: %s\n", device ? "the emulator is none" : core_error_message());
    core_device_close(&device);
    return 0;
  }
  printf("# %s\n", device->description);
  uint8_t *actions = random_actions();
  bench_sizes("", actions);
  for (int i = 0; i < 5; i++) { /* other numbers of worlds a warp than batch_device.c chooses: does it choose well? */
    static const char *const WORLDS_OF_TEAM[] = {"alone", "4", "8", "16", "32"};
    setenv("SIM_WARP_WORLDS", WORLDS_OF_TEAM[i], 1);
    bench_sizes(WORLDS_OF_TEAM[i], actions);
    unsetenv("SIM_WARP_WORLDS");
  }
  bench_steps("random_s_worlds_1048576", SIM_SIZE_S, MANY_WORLDS, actions);
  bench_layer(OPS_FLOAT32, "float32_256x256", 256, 256);
  bench_layer(OPS_TF32, "tf32_256x256", 256, 256);
  bench_layer(OPS_BF16, "bf16_256x256", 256, 256);
  bench_layer(OPS_FLOAT32, "float32_140x256", 140, 256);
  device->release(device, actions);
  core_device_close(&device);
  for (int i = 0; i < 3; i++) {
    static const char *const RESETS[] = {"level_set", "new", "new_filtered"};
    bench_rollout(RESETS[i], "1"), bench_rollout(RESETS[i], "2");
  }
  return 0;
}
