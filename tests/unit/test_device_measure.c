/* Metrics of hidden layers and of steps on a device, against those on the host, in float64 and with another order of
 * sums. And the cost of a measured iteration: bytes between host and device, copies and launches. */
#define DEVICE_TESTS run_all
#include "test.h"

#include "tests/device_tools.h"

#include "core/memory.h"
#include "core/random.h"
#include "tests/training_tools.h"
#include "trainer/math/kurtosis.h"
#include "trainer/measure/representation.h"
#include "trainer/ops/row_half_internal.h"
#include "trainer/ops/row_round_internal.h"
#include "trainer/ops/update.h"

static void assert_equal_to(const char *what, double got, double want) {
  if (!(fabs(got - want) <= 1e-11 * (1 + fabs(want)))) fail_msg("%s: %.17g, expected %.17g", what, got, want);
}

/* Numbers around 0, a column that is always 0, and one that hardly moves. */
static float *draw(int rows, int columns, bool is_bf16) {
  float *x = core_memory_allocate((size_t)rows * (size_t)columns * sizeof *x);
  CoreRandomStream stream = core_random_stream(3, CORE_RANDOM_TEST, 0, 0);
  for (int i = 0; i < rows * columns; i++) {
    const float value = (float)core_random_below(core_random_next(&stream), 2001) / 1000 - 1;
    x[i] = i % columns == 0 ? 0 : i % columns == 1 ? 1 - value / 1e4f : value;
    if (is_bf16) x[i] = row_from_bf16(row_to_bf16(x[i]));
  }
  return x;
}

static void *on_device(const float *x, size_t n, bool is_bf16) {
  const size_t bytes = n * (is_bf16 ? sizeof(uint16_t) : sizeof *x);
  uint16_t *halves = core_memory_allocate(n * sizeof *halves);
  void *memory;
  for (size_t i = 0; i < n; i++) halves[i] = row_to_bf16(x[i]);
  assert_int_equal(device->allocate(device, bytes, &memory), CORE_OK);
  core_device_to_device(device, memory, is_bf16 ? (const void *)halves : x, bytes);
  free(halves);
  return memory;
}

typedef struct Measured {
  Representation representation;
  CoreArena *arena;
} Measured;

/* One hidden layer of `columns` units, in front of one output. */
static NetworkShape shape_of(int columns) {
  NetworkShape shape = {.layers = 2};
  shape.width[0] = 3;
  shape.width[1] = columns;
  shape.width[2] = 1;
  return shape;
}

static void start(Measured *measured, int columns, CoreDevice *where) {
  const NetworkShape shape = shape_of(columns);
  measured->arena = core_arena_create("test");
  core_arena_set_device(measured->arena, where);
  representation_register(&measured->representation, &shape, NULL, 0, measured->arena);
  assert_int_equal(core_arena_commit(measured->arena), CORE_OK);
  representation_begin(&measured->representation);
}

static void compare(Ops *ops, int rows, int columns, bool is_bf16) {
  const NetworkShape shape = shape_of(columns);
  Measured host, there;
  NetworkActivations activations = {0};
  start(&host, columns, NULL);
  start(&there, columns, device);

  float *x = draw(rows, columns, is_bf16);
  void *memory = on_device(x, (size_t)rows * (size_t)columns, is_bf16);

  for (int part = 0; part < 2; part++) { /* sums of several passes are merged */
    activations.hidden[0] = x;
    representation_add(&host.representation, &activations, rows);
    activations.hidden[0] = memory;
    representation_add_on_device(&there.representation, ops, &shape, &activations, 0, rows);
  }

  representation_reduce(&host.representation);
  representation_reduce(&there.representation);
  const Representation *a = &there.representation, *b = &host.representation;
  for (int u = 0; u < columns; u++) {
    assert_equal_to("n", a->unit[u].n, b->unit[u].n);
    assert_equal_to("mean", a->unit[u].mean, b->unit[u].mean);
    assert_equal_to("m2", a->unit[u].m2, b->unit[u].m2);
    assert_equal_to("magnitude", a->magnitude[u], b->magnitude[u]);
    for (int v = 0; v <= u; v++) assert_equal_to("gram", a->gram[u * columns + v], b->gram[u * columns + v]);
  }

  device->release(device, memory);
  free(x);
  core_arena_destroy(&host.arena);
  core_arena_destroy(&there.arena);
}

/* ---- measurements of steps --------------------------------------------------------------------------------------- */

/* Gradients of networks: entries of all magnitudes with a third of zeros, equal ones, zeros, and equal ones among
 * zeros. */
typedef enum Entries { MIXED, EQUAL, ZEROS, EQUAL_AMONG_ZEROS } Entries;

static void draw_gradient(Entries entries, size_t n, float *gradient) {
  CoreRandomStream stream = core_random_stream(5, CORE_RANDOM_TEST, 0, 0);
  for (size_t i = 0; i < n; i++) {
    const double magnitude = exp(-0.01 * core_random_below(core_random_next(&stream), 2000));
    const bool is_zero = entries == ZEROS || (entries != EQUAL && i % 3 == 0);
    gradient[i] = is_zero ? 0 : (float)(entries == MIXED ? magnitude : 0.1) * (i % 2 ? -1.0f : 1.0f);
  }
}

static void *zeros_on_device(size_t bytes) {
  void *memory;
  assert_int_equal(device->allocate(device, bytes, &memory), CORE_OK);
  return memory;
}

static void assert_both_nan_or_near(const char *what, double got, double want) {
  if (!isnan(want) || !isnan(got)) assert_equal_to(what, got, want);
}

/* Two steps of networks of these sizes. */
static void compare_steps(Ops *ops, size_t first, size_t second, Entries entries) {
  const size_t size[] = {first, second}, n = first + second;
  float *gradient = core_memory_allocate(n * sizeof *gradient), *theta = core_memory_allocate(n * sizeof *theta);

  draw_gradient(entries, n, gradient);
  float *there = on_device(gradient, n, false), *state = zeros_on_device(3 * n * sizeof(float));
  const OpsUpdateScalars scalars = {.adam = {ops_adam_scalars(1, 0.1, 0.9, 0.99, 1e-5, 1),
                                             ops_adam_scalars(1, 0.2, 0.9, 0.99, 1e-5, 1)}};
  OpsUpdatePlan plan = {.networks = second ? 2 : 1, .max_norm = INFINITY, .rows = 1, .steps = 1, .measures = 1,
                        .scalars = zeros_on_device(sizeof scalars), .stats = zeros_on_device(sizeof(OpsUpdateStats)),
                        .parts = zeros_on_device(ops_update_parts() * sizeof(double))};

  plan.network[0] = (OpsUpdateNetwork){state, there, state + n, state + 2 * n, first};
  plan.network[1] = (OpsUpdateNetwork){state + first, there + first, state + n + first, state + 2 * n + first, second};
  OpsUpdateStats stats;

  ops->update->begin(ops, &plan, &scalars, 1, 0);
  ops->update->step(ops, &plan);
  ops->update->finish(ops, &plan, &stats);
  core_device_to_host(device, theta, state, n * sizeof *theta); /* the weights were 0 */

  for (int k = 0; k < plan.networks; k++) {
    const size_t from = k ? first : 0;
    const Kurtosis want = kurtosis_measure(gradient + from, size[k]);
    double squares = 0, norm = 0;
    for (size_t i = from; i < from + size[k]; i++) {
      squares += (double)theta[i] * (double)theta[i];
      norm += (double)gradient[i] * (double)gradient[i];
    }
    assert_equal_to("norm of the gradient", stats.norm[k], sqrt(norm));
    assert_both_nan_or_near("kurtosis", stats.kurtosis[k].all, want.all);
    assert_both_nan_or_near("kurtosis of nonzero entries", stats.kurtosis[k].nonzero, want.nonzero);
    assert_equal_to("share of zeros", stats.kurtosis[k].zero_fraction, want.zero_fraction);
    assert_equal_to("length of a step", stats.step_norm[k], sqrt(squares));
    assert_true(entries == ZEROS ? squares == 0 : squares > 0);
  }

  device->release(device, there), device->release(device, state);
  device->release(device, plan.scalars), device->release(device, plan.stats), device->release(device, plan.parts);
  free(gradient), free(theta);
}

static void compare_all_steps(Ops *ops) {
  const size_t parts = 2 * 4096 + 77;
  compare_steps(ops, 256 * 4200 + 1, 1, MIXED); /* parts of more elements than a block loads at once */
  for (Entries entries = MIXED; entries <= EQUAL_AMONG_ZEROS; entries++) {
    compare_steps(ops, parts, 300, entries);
    compare_steps(ops, 2, 4097, entries);
    compare_steps(ops, 5, 0, entries);
  }
}

static void run_all(void) {
  Ops *ops = NULL;
  assert_int_equal(ops_device_create(device, OPS_BF16, 64, 40, false, &ops), CORE_OK);
  const int sizes[][2] = {{1, 2}, {32, 16}, {33, 17}, {64, 40}, {50, 3}};
  ops->stores_bf16 = false;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) compare(ops, sizes[i][0], sizes[i][1], false);
  ops->stores_bf16 = true;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) compare(ops, sizes[i][0], sizes[i][1], true);
  compare_all_steps(ops);
  ops_destroy(&ops);
  core_device_close(&device);
}

/* ---- cost of metrics --------------------------------------------------------------------------------------------- */

typedef struct Cost { double bytes, transfers, waits; } Cost;

/* Returns the cost of the third iteration, measured or not. */
static Cost cost_of(int worlds, bool is_measured) {
  char number[32];
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "metrics.states=64", "env.max_steps=9");
  snprintf(number, sizeof number, "env.num=%d", worlds);
  set(&config, number);
  set(&config, is_measured ? "metrics.representation_every=2" : "metrics.representation_every=1000");
  set(&config, is_measured ? "metrics.every=2" : "metrics.every=1000");
  if (!is_gpu_requested()) setenv("CORE_DEVICE", "emulated", 1);
  Training *training = make(&config);
  unsetenv("CORE_DEVICE");
  iterate(training, 2);
  const CoreDevice *d = training->device;
  const Cost before = {(double)d->transferred_bytes, (double)d->transfers, (double)d->synchronizations};
  iterate(training, 1);
  const Cost cost = {(double)d->transferred_bytes - before.bytes, (double)d->transfers - before.transfers,
                     (double)d->synchronizations - before.waits};
  training_destroy(&training);
  return cost;
}

/* The number of reads from the device and of waits does not depend on the number of environments. */
static void test_cost(void **state) {
  (void)state;
  Cost extra[2];
  for (int i = 0; i < 2; i++) {
    const Cost measured = cost_of(16 << i, true), other = cost_of(16 << i, false);
    extra[i] = (Cost){measured.bytes - other.bytes, measured.transfers - other.transfers, measured.waits - other.waits};
    print_message("# %d environments: %.0f bytes in %.0f transfers with %.0f waits; measured: %.0f in %.0f with %.0f\n",
                  16 << i, other.bytes, other.transfers, other.waits, measured.bytes, measured.transfers,
                  measured.waits);
  }
  assert_true(fabs(extra[1].bytes - extra[0].bytes) < 0.05 * extra[0].bytes);
  assert_true(extra[1].transfers == extra[0].transfers && extra[1].waits == extra[0].waits);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_gpu), cmocka_unit_test(test_cost)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
