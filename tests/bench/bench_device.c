/* Performance of the GPU, in parts that can be named on the command line:
 * - ceilings: bandwidth of copies, and time of a launch and of a graph node;
 * - physics: environment steps per second on random levels of size S, M and L, with and without observations;
 * - products: those of the paper's layers, forward and backward, one by one and as chains in bf16;
 * - rollouts: with all worlds together and in halves (train.rollout_halves).
 * Without a GPU it says so and measures nothing, because the emulator's times are meaningless for a GPU. Timing starts
 * before the first kernel of a case and ends when the device has finished; the first pass is not counted. BENCH_SMALL=1
 * reduces all sizes, for a trial without a GPU (tests/runtime). */
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
#include "trainer/ops/device/device_internal.h"
#include "trainer/run/training.h"

static struct { int worlds, many_worlds, steps, levels, rows; } size_of = {65536, 1 << 20, 64, 256, 65536};

static CoreDevice *device;

/* For everything that follows. */
static void make_small(void) {
  size_of.worlds = size_of.rows = 64;
  size_of.many_worlds = 128;
  size_of.steps = 2;
  size_of.levels = 4;
}

static void fail(void) {
  fprintf(stderr, "bench_device: %s\n", core_error_message());
  exit(1);
}

static void *on_device(size_t bytes) {
  void *memory;
  if (device->allocate(device, bytes, &memory) != CORE_OK) fail();
  return memory;
}

/* Configuration of many_worlds. */
static uint8_t *random_actions(void) {
  const size_t bytes = (size_t)size_of.many_worlds * SIM_ACTIONS;
  uint8_t *actions = core_memory_allocate(bytes), *there = on_device(bytes);
  for (size_t i = 0; i < bytes; i++) {
    const uint32_t word = core_random_4(1, CORE_RANDOM_TEST, (uint32_t)i, 0, 0).v[0];
    actions[i] = (uint8_t)core_random_below(word, i % SIM_ACTIONS < SIM_MOTOR_BINDINGS ? 3 : 2);
  }
  core_device_to_device(device, there, actions, bytes);
  free(actions);
  return there;
}

/* ---- ceilings ---------------------------------------------------------------------------------------------------- */

static void bench_copy(void) {
  const size_t bytes = (size_t)size_of.rows << 14; /* 1 GiB */
  enum { TIMES = 8 };
  char *from = on_device(bytes), *to = on_device(bytes);
  device->copy(device, to, from, bytes);
  device->begin_time(device);
  for (int i = 0; i < TIMES; i++) device->copy(device, to, from, bytes);
  const double seconds = device->end_time(device) / TIMES;
  bench_row("device", "copy", "read_and_written", 2e-9 * (double)bytes / seconds, "GB/s", 0);
  device->release(device, from), device->release(device, to);
}

/* Kernels that do nothing much, one by one and as nodes of a graph. */
static void bench_launches(void) {
  enum { NODES = 1000, TIMES = 16 };
  float *x = on_device(2 * sizeof *x);
  const OpsAdd one = {x, x + 1, 1};
  double seconds[2] = {0, 0};
  for (int pass = 0; pass < 2; pass++) {
    device->begin_time(device);
    for (int i = 0; i < NODES; i++) device->launch(device, &ops_add_launch, 1, 32, 0, &one);
    seconds[0] = device->end_time(device);
  }
  device->begin_capture(device);
  for (int i = 0; i < NODES; i++) device->launch(device, &ops_add_launch, 1, 32, 0, &one);
  CoreGraph *graph = device->end_capture(device);
  for (int pass = 0; pass < 2; pass++) {
    device->begin_time(device);
    for (int i = 0; i < TIMES; i++) device->launch_graph(device, graph);
    seconds[1] = device->end_time(device) / TIMES;
  }
  bench_row("device", "launch", "one_after_the_other", 1e6 * seconds[0] / NODES, "us", 0);
  bench_row("device", "graph_node", "one_after_the_other", 1e6 * seconds[1] / NODES, "us", 0);
  device->destroy_graph(device, graph);
  device->release(device, x);
}

static void bench_ceilings(void) {
  bench_copy();
  bench_launches();
}

/* ---- physics ----------------------------------------------------------------------------------------------------- */

/* size_of.steps steps after as many others, a second. */
static double steps_a_second(SimBatch *batch, int worlds, const uint8_t *actions, const SimStepOut *out) {
  double start = 0;
  for (int pass = 0; pass < 2; pass++) {
    device->synchronize(device);
    start = bench_seconds();
    for (int t = 0; t < size_of.steps; t++) sim_batch_step(batch, actions, out);
    device->synchronize(device);
  }
  return (double)worlds * size_of.steps / (bench_seconds() - start);
}

static void bench_steps(const char *name, SimSize size, int worlds, const uint8_t *actions) {
  SimLevelSet levels = {.count = size_of.levels, .size = size};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  levels.level = core_memory_zero_allocate((size_t)size_of.levels, sizeof *levels.level);
  for (int i = 0; i < size_of.levels; i++)
    if (sim_generate_level(size, 3, (uint32_t)i, &levels.level[i]) != CORE_OK) fail();
  options.worlds = worlds;
  options.backend = sim_device_backend(device);
  if (sim_batch_create(&options, &levels, &batch) != CORE_OK) fail();
  const size_t n = (size_t)worlds;
  float *observations = on_device(n * (size_t)sim_batch_observation_length(batch) * sizeof *observations);
  float *reward = on_device(n * sizeof *reward);
  uint8_t *done = on_device(n);
  const SimStepOut out = {.observations = observations, .reward = reward, .done = done};
  const SimStepOut unseen = {.reward = reward, .done = done};
  const double seen = steps_a_second(batch, worlds, actions, &out);
  const double alone = steps_a_second(batch, worlds, actions, &unseen);
  bench_row("device", name, "environment_steps", seen, "steps/s", 0);
  bench_row("device", name, "steps_without_observation", alone, "steps/s", 0);
  bench_row("device", name, "observation", 1e9 * (1 / seen - 1 / alone), "ns a world", 0);
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
    bench_steps(name, size[i], size_of.worlds, actions);
  }
}

static void bench_physics(void) {
  /* Other numbers of worlds a warp than batch_device.c chooses: does it choose well? */
  static const char *const WORLDS_OF_WARP[] = {"alone", "4", "8", "16", "32"};
  uint8_t *actions = random_actions();
  bench_sizes("", actions);
  bench_steps("random_s_worlds_1048576", SIM_SIZE_S, size_of.many_worlds, actions);
  for (int i = 0; i < 5; i++) {
    setenv("SIM_WARP_WORLDS", WORLDS_OF_WARP[i], 1);
    bench_sizes(WORLDS_OF_WARP[i], actions);
    unsetenv("SIM_WARP_WORLDS");
  }
  device->release(device, actions);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* n random numbers, since zeros would run faster than numbers do. */
static float *numbers_on_device(size_t n) {
  float *there = on_device(n * sizeof *there), *host = core_memory_allocate(n * sizeof *host);
  for (size_t k = 0; k < n; k++)
    host[k] = core_random_unit(core_random_4(2, CORE_RANDOM_TEST, (uint32_t)k, 0, 0).v[0]) - 0.5f;
  core_device_to_device(device, there, host, n * sizeof *host);
  free(host);
  return there;
}

/* Converts to bf16. */
static uint16_t *halves_on_device(size_t n) {
  uint16_t *there = on_device(n * sizeof *there), *host = core_memory_allocate(n * sizeof *host);
  for (size_t k = 0; k < n; k++)
    host[k] = row_to_bf16(core_random_unit(core_random_4(2, CORE_RANDOM_TEST, (uint32_t)k, 0, 0).v[0]) - 0.5f);
  core_device_to_device(device, there, host, n * sizeof *host);
  free(host);
  return there;
}

static void bench_layer(OpsPrecision precision, const char *name, int in, int out) {
  const size_t rows = (size_t)size_of.rows, i = (size_t)in, o = (size_t)out;
  Ops *ops;
  if (ops_device_create(device, precision, size_of.rows, in > out ? in : out, false, &ops) != CORE_OK) fail();
  float *x = numbers_on_device(rows * i), *w = numbers_on_device(i * o), *b = on_device(o * sizeof *b);
  float *y = on_device(rows * o * sizeof *y);
  double start = 0;
  for (int pass = 0; pass < 2; pass++) {
    device->synchronize(device);
    start = bench_seconds();
    for (int t = 0; t < size_of.steps; t++) ops->dense_forward(ops, x, w, b, y, size_of.rows, in, out, OPS_TANH);
    device->synchronize(device);
  }
  const double seconds = (bench_seconds() - start) / size_of.steps;
  bench_row("device", name, "dense_forward", 2e-12 * size_of.rows * in * out / seconds, "TFLOP/s", 0);
  device->release(device, x), device->release(device, w), device->release(device, b), device->release(device, y);
  ops_destroy(&ops);
}

/* One product of bf16 matrices: microseconds, and its share of the tensor cores and of memory. */
static void bench_product(Ops *ops, const char *name, DeviceProduct p) {
  const double numbers = (double)p.m * (double)p.k + (double)p.k * (double)p.n;
  const double result = (p.result == OPS_NUMBERS_BF16 ? 2.0 : 4.0) * (double)p.m * (double)p.n;
  uint16_t *a = halves_on_device(p.m * p.k), *b = halves_on_device(p.k * p.n);
  float *c = on_device(p.m * p.n * sizeof *c);
  p.a = a, p.b = b, p.c = c, p.factors = OPS_NUMBERS_BF16;
  device_multiply(device_state(ops), &p);
  device->begin_time(device);
  for (int t = 0; t < size_of.steps; t++) device_multiply(device_state(ops), &p);
  const double seconds = device->end_time(device) / size_of.steps;
  bench_row("device", name, "product", 1e6 * seconds, "us", 0);
  bench_row("device", name, "operations", 2e-12 * (double)p.m * (double)p.n * (double)p.k / seconds, "TFLOP/s", 0);
  bench_row("device", name, "memory", 1e-9 * (2 * numbers + result) / seconds, "GB/s", 0);
  device->release(device, a), device->release(device, b), device->release(device, c);
}

/* Products of a layer of 256 and of a value head, by the library and, for one column, by own kernels. */
static void bench_products(void) {
  const size_t rows = (size_t)size_of.rows;
  const DeviceProduct forward = {.m = rows, .n = 256, .k = 256, .result = OPS_NUMBERS_BF16};
  const DeviceProduct inputs = {.transpose_b = 1, .m = rows, .n = 256, .k = 256, .result = OPS_NUMBERS_BF16};
  const DeviceProduct weights = {.transpose_a = 1, .m = 256, .n = 256, .k = rows};
  const DeviceProduct value = {.m = rows, .n = 1, .k = 256}, slope = {.transpose_a = 1, .m = 256, .n = 1, .k = rows};
  const DeviceProduct outer = {.transpose_b = 1, .m = rows, .n = 256, .k = 1, .result = OPS_NUMBERS_BF16};
  Ops *ops;
  for (int alone = 0; alone < 2; alone++) {
    if (ops_device_create(device, OPS_BF16, size_of.rows, 256, false, &ops) != CORE_OK) fail();
    DeviceLibrary *library = device_state(ops)->library;
    if (alone) device_state(ops)->library = NULL;
    if (!alone) {
      bench_product(ops, "bf16_forward", forward);
      bench_product(ops, "bf16_input_gradient", inputs);
      bench_product(ops, "bf16_weight_gradient", weights);
    }
    bench_product(ops, alone ? "bf16_column_forward_own" : "bf16_column_forward", value);
    bench_product(ops, alone ? "bf16_column_weight_gradient_own" : "bf16_column_weight_gradient", slope);
    bench_product(ops, alone ? "bf16_column_input_gradient_own" : "bf16_column_input_gradient", outer);
    device_state(ops)->library = library;
    ops_destroy(&ops);
  }
}

/* A minibatch's passes through the actor's or the critic's network, 3 x 256, in bf16. */
static void bench_chain(const char *name, OpsActivation activation, int outputs) {
  enum { LAYERS = 4 };
  const int width[LAYERS + 1] = {140, 256, 256, 256, outputs};
  const size_t rows = (size_t)size_of.rows;
  size_t parameters = 0, offset = 0;
  double forward = 0, backward = 0;
  OpsLayer layer[LAYERS];
  Ops *ops;
  if (ops_device_create(device, OPS_BF16, size_of.rows, 256, false, &ops) != CORE_OK) fail();
  for (int l = 0; l < LAYERS; l++) parameters += ((size_t)width[l] + 1) * (size_t)width[l + 1];
  float *theta = numbers_on_device(parameters), *gradient = on_device(parameters * sizeof *gradient);
  float *x = numbers_on_device(rows * 140), *dy = numbers_on_device(rows * (size_t)outputs);
  float *scratch = on_device(2 * rows * 256 * sizeof *scratch);
  for (int l = 0; l < LAYERS; l++) {
    const size_t kernel = (size_t)width[l] * (size_t)width[l + 1];
    layer[l] = (OpsLayer){width[l], width[l + 1], l + 1 < LAYERS ? activation : OPS_LINEAR, theta + offset,
                          theta + offset + kernel, on_device(rows * (size_t)width[l + 1] * sizeof(float)),
                          gradient + offset, gradient + offset + kernel};
    offset += kernel + (size_t)width[l + 1];
  }
  for (int pass = 0; pass < 2; pass++) {
    device->begin_time(device);
    for (int t = 0; t < size_of.steps; t++) ops->chain_forward(ops, x, layer, LAYERS, size_of.rows);
    forward = device->end_time(device) / size_of.steps;
    device->begin_time(device);
    for (int t = 0; t < size_of.steps; t++)
      ops->chain_backward(ops, x, layer, LAYERS, dy, NULL, scratch, size_of.rows, NULL);
    backward = device->end_time(device) / size_of.steps;
  }
  bench_row("device", name, "chain_forward", 1e6 * forward, "us", 0);
  bench_row("device", name, "chain_backward", 1e6 * backward, "us", 0);
  bench_row("device", name, "chain", 1e9 * (forward + backward) / size_of.rows, "ns a row", 0);
  for (int l = 0; l < LAYERS; l++) device->release(device, layer[l].y);
  device->release(device, theta), device->release(device, gradient), device->release(device, x);
  device->release(device, dy), device->release(device, scratch);
  ops_destroy(&ops);
}

/* Chains as they are; layer by layer; then without ops_tile_gradient, or with the fastest of cuBLASLt's algorithms. */
static void bench_chains(void) {
  static const char *const VARIABLE[] = {"TRAINER_FUSED", "TRAINER_TILES", "TRAINER_PRODUCTS"};
  static const struct { const char *suffix, *value[3]; } WAY[] = {
    {"", {0}}, {"_apart", {"off"}}, {"_no_tiles", {"off", "none"}}, {"_timed", {"off", NULL, "timed"}}};
  static const struct { const char *name; OpsActivation activation; int outputs; } CASE[] = {
    {"actor_tanh", OPS_TANH, 16}, {"critic_tanh", OPS_TANH, 1}, {"actor_relu", OPS_RELU, 16}};
  for (int way = 0; way < 4; way++)
    for (int i = 0; i < 3; i++) {
      char name[64];
      snprintf(name, sizeof name, "%s%s", CASE[i].name, WAY[way].suffix);
      for (int v = 0; v < 3; v++)
        if (WAY[way].value[v]) setenv(VARIABLE[v], WAY[way].value[v], 1);
      bench_chain(name, CASE[i].activation, CASE[i].outputs);
      for (int v = 0; v < 3; v++) unsetenv(VARIABLE[v]);
    }
}

static void bench_layers(void) {
  bench_layer(OPS_FLOAT32, "float32_256x256", 256, 256);
  bench_layer(OPS_TF32, "tf32_256x256", 256, 256);
  bench_layer(OPS_BF16, "bf16_256x256", 256, 256);
  bench_layer(OPS_FLOAT32, "float32_140x256", 140, 256);
  bench_products();
  bench_chains();
}

/* ---- rollouts ---------------------------------------------------------------------------------------------------- */

/* Acting and stepping, 3 x 256 separate networks: as a graph, from the third pass on. */
static void bench_rollout(const char *reset, const char *halves) {
  char worlds[16], steps[16];
  snprintf(worlds, sizeof worlds, "%d", size_of.worlds);
  snprintf(steps, sizeof steps, "%d", size_of.steps);
  const char *const settings[][2] = {{"train.device", "cuda"},
                                     {"train.rollout_halves", halves},
                                     {"train.observation_storage", "state"},
                                     {"env.task", "random_s"},
                                     {"env.level_count", "256"},
                                     {"env.reset", reset},
                                     {"env.num", worlds},
                                     {"ppo.num_steps", steps},
                                     {"ppo.num_minibatches", steps},
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
  const double seconds = bench_seconds() - start;
  bench_row("device", name, "transitions", (double)size_of.worlds * size_of.steps / seconds, "steps/s", 0);
  training_destroy(&training);
}

static void bench_rollouts(void) {
  static const char *const RESETS[] = {"level_set", "new", "new_filtered"};
  for (int i = 0; i < 3; i++) bench_rollout(RESETS[i], "1"), bench_rollout(RESETS[i], "2");
}

int main(int count, char **words) {
  static const struct { const char *name; void (*run)(void); bool opens; } PARTS[] = {
    {"ceilings", bench_ceilings, true}, {"physics", bench_physics, true}, {"products", bench_layers, true},
    {"rollouts", bench_rollouts, false}}; /* opens: a device here; trainings open their own */
  char reason[256];
  if (getenv("BENCH_SMALL")) make_small();
  for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
    bool wanted = count < 2;
    for (int k = 1; k < count; k++) wanted |= strcmp(words[k], PARTS[i].name) == 0;
    if (!wanted) continue;
    if (core_device_open("cuda", 0, &device, reason) != CORE_OK || device->stream == NULL) {
      printf("# no GPU is measured: %s\n", device ? "the emulator is none" : core_error_message());
      core_device_close(&device);
      return 0;
    }
    printf("# %s: %s\n", device->description, PARTS[i].name);
    if (!PARTS[i].opens) core_device_close(&device);
    PARTS[i].run();
    core_device_close(&device);
  }
  return 0;
}
