/* Entity encoders with train.precision = bf16 on a device, whose matrices are bf16 in memory, against the CPU in
 * float32: embeddings, and the gradient of each tensor. The kernels alone: test_device_entity_bf16.c. */
#define DEVICE_TESTS run_all
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/batch/batch.h"
#include "sim/levels/generate.h"
#include "trainer/nets/encoder.h"
#include "trainer/ops/device/device_internal.h"
#include "tests/device_tools.h"

enum { ROWS = 61 };

/* An encoder in the memory of a device (NULL: the host), with the results of a forward and a backward pass there. */
typedef struct Case {
  CoreArena *arena;
  Encoder encoder;
  Ops *ops;
  float *theta, *x, *weight, *embedding, *gradient;
  size_t n, width;
} Case;

static float unit(uint32_t stream, uint32_t i) {
  return 2 * core_random_unit(core_random_4(21, CORE_RANDOM_TEST, stream, i, 0).v[0]) - 1;
}

/* Observations of random levels, a few steps on, so that some shapes touch. */
static float *observe_random_worlds(SimSize size, int rows) {
  enum { LEVELS = 12, STEPS = 20 };
  SimLevel level[LEVELS];
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  for (uint32_t i = 0; i < LEVELS; i++) assert_int_equal(sim_generate_level(size, 3, i, &level[i]), CORE_OK);
  options.worlds = rows;
  options.observation = SIM_OBSERVATION_ENTITY;
  assert_int_equal(sim_batch_create(&options, &(SimLevelSet){level, LEVELS, size}, &batch), CORE_OK);
  float *x = core_memory_zero_allocate((size_t)rows * (size_t)sim_entity_layout(size).length, sizeof *x);
  uint8_t *idle = core_memory_zero_allocate((size_t)rows, SIM_ACTIONS);
  for (int t = 0; t < STEPS; t++) sim_batch_step(batch, idle, &(SimStepOut){.observations = x});
  sim_batch_destroy(&batch);
  free(idle);
  return x;
}

static Case make_case(EncoderKind kind, SimSize size, CoreDevice *on) {
  const EncoderShape shape = encoder_shape(kind, sim_entity_layout(size));
  Case c = {.arena = core_arena_create("encoder"), .n = shape.parameters, .width = (size_t)shape.width};

  if (on) core_arena_set_device(c.arena, on);
  encoder_register(&c.encoder, &shape, ROWS, c.arena);
  CORE_ARENA_DEVICE(c.arena, c.theta, c.n, "theta");
  CORE_ARENA_DEVICE(c.arena, c.gradient, c.n, "gradient");
  CORE_ARENA_DEVICE(c.arena, c.weight, ROWS * c.width, "weight");
  CORE_ARENA_DEVICE(c.arena, c.embedding, ROWS * c.width, "embedding");
  CORE_ARENA_DEVICE(c.arena, c.x, (size_t)(ROWS * shape.length), "x");
  assert_int_equal(core_arena_commit(c.arena), CORE_OK);

  const int rows = encoder_ops_rows(&c.encoder), width = encoder_ops_width(&shape, on != NULL);
  if (on) assert_int_equal(ops_device_create(on, OPS_BF16, rows, width, false, &c.ops), CORE_OK);
  else assert_int_equal(ops_cpu_create(1, rows, width, &c.ops), CORE_OK);

  float *theta = core_memory_allocate(c.n * sizeof *theta);
  float *weight = core_memory_allocate(ROWS * c.width * sizeof *weight);
  float *x = observe_random_worlds(size, ROWS);
  encoder_init(&shape, 8, 200, theta);
  for (size_t k = 0; k < c.n; k++) theta[k] += 0.05f * unit(90, (uint32_t)k);
  for (size_t k = 0; k < ROWS * c.width; k++) weight[k] = unit(91, (uint32_t)k);

  core_device_to_device(on, c.theta, theta, c.n * sizeof *theta);
  core_device_to_device(on, c.weight, weight, ROWS * c.width * sizeof *weight);
  core_device_to_device(on, c.x, x, (size_t)(ROWS * shape.length) * sizeof *x);
  free(theta), free(weight), free(x);

  encoder_forward(&c.encoder, c.ops, c.theta, c.x, ROWS, c.embedding);
  encoder_backward(&c.encoder, c.ops, c.theta, c.x, ROWS, c.embedding, c.weight, c.gradient);
  return c;
}

static void destroy_case(Case *c) {
  ops_destroy(&c->ops);
  core_arena_destroy(&c->arena);
}

/* Returns |a - b| / |a|. */
static double distance(const float *a, const float *b, size_t n) {
  double apart = 0, all = 0;
  for (size_t i = 0; i < n; i++) {
    apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    all += (double)a[i] * (double)a[i];
  }
  return all > 0 ? sqrt(apart / all) : sqrt(apart);
}

/* Limits: of the embedding, the gradient, and each tensor of it. A ReLU whose input rounding moves to the other side of
 * 0 changes the gradient of an entity; a tensor that few entities use averages over few. */
static void compare(EncoderKind kind, SimSize size, double embedding_limit, double gradient_limit,
                    double tensor_limit) {
  Case host = make_case(kind, size, NULL), there = make_case(kind, size, device);
  float *embedding = core_memory_allocate(ROWS * host.width * sizeof *embedding);
  float *gradient = core_memory_allocate(host.n * sizeof *gradient);
  double worst = 0;
  core_device_to_host(device, embedding, there.embedding, ROWS * host.width * sizeof *embedding);
  core_device_to_host(device, gradient, there.gradient, host.n * sizeof *gradient);
  const double apart = distance(host.embedding, embedding, ROWS * host.width);
  for (int i = 0; i < host.encoder.shape.tensors; i++) {
    const EncoderTensor *t = &host.encoder.shape.tensor[i];
    const size_t n = (size_t)t->rows * (size_t)t->columns;
    const double tensor = distance(host.gradient + t->offset, gradient + t->offset, n);
    if (!(tensor <= tensor_limit)) fail_msg("%s: gradient %g apart, at most %g", t->name, tensor, tensor_limit);
    worst = fmax(worst, tensor);
  }
  const double whole = distance(host.gradient, gradient, host.n);
  print_message("# embedding %.4f, gradient %.4f, of a tensor %.4f\n", apart, whole, worst);
  assert_true(apart > 0 && apart <= embedding_limit && whole <= gradient_limit);
  free(embedding), free(gradient);
  destroy_case(&host), destroy_case(&there);
}

static void run_all(void) {
  compare(ENCODER_TRANSFORMER, SIM_SIZE_S, 0.01, 0.1, 0.3);
  compare(ENCODER_TRANSFORMER, SIM_SIZE_L, 0.01, 0.1, 0.3);
  compare(ENCODER_SET, SIM_SIZE_S, 0.01, 0.1, 0.15);
  compare(ENCODER_STOIX_SET, SIM_SIZE_M, 0.01, 0.1, 0.15);
  core_device_close(&device);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static int rounds, folds; /* launches of ops_round and ops_fold */
static void (*launch)(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                      const void *arguments);

static void launch_and_count(CoreDevice *on, const CoreKernel *kernel, unsigned blocks, unsigned threads,
                             size_t shared, const void *arguments) {
  rounds += kernel == &ops_round_launch;
  folds += kernel == &ops_fold_launch;
  launch(on, kernel, blocks, threads, shared, arguments);
}

/* Weights are rounded once for both passes; and nothing else, since the matrices are bf16. The sums of columns of all
 * layers are folded at once, but those of the layers of four kinds one by one. */
static void test_launches(void **state) {
  static const EncoderKind encoder[] = {ENCODER_TRANSFORMER, ENCODER_SET};
  static const int most_folds[] = {1 + 4, 4};
  (void)state;
  for (size_t i = 0; i < sizeof encoder / sizeof *encoder; i++) {
    device = core_device_emulated(CORE_DEVICE_FORWARD);
    launch = device->launch;
    device->launch = launch_and_count;
    rounds = folds = 0;
    Case c = make_case(encoder[i], SIM_SIZE_S, device);
    assert_int_equal(rounds, 1);
    assert_in_range(folds, 1, most_folds[i]);
    destroy_case(&c);
    core_device_close(&device);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_gpu), cmocka_unit_test(test_launches)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
