/* Device memory that kernels read and write: counted on the emulator (core/device/access_counts.h), and extrapolated to
 * other sizes (tests/instruments/cost.h). */
#include "test.h"

#include "core/device/access_counts.h"
#include "core/memory.h"
#include "trainer/ops/device/device_internal.h"
#include "tests/instruments/cost.h"
#include "training_tools.h"

static const CoreEmulatedBody *const TABLES[] = {ops_counted_bodies, sim_counted_bodies};

/* Starts counting, or skips the test where the compiler adds no calls. */
static void begin_counting(void) {
  if (core_access_start(TABLES, 2) != CORE_OK) skip();
}

static const CoreAccessCount *find_count(const char *kernel, int phase) {
  size_t n;
  const CoreAccessCount *count = core_access_counts(&n);
  for (size_t i = 0; i < n; i++)
    if (count[i].by.phase == phase && strcmp(count[i].kernel, kernel) == 0) return &count[i];
  fail_msg("%s has no counts in phase %d", kernel, phase);
  return NULL;
}

/* x += y reads both and writes x; a copy reads and writes; a product reads its factors once, whatever it repeats. */
static void test_counts(void **state) {
  enum { N = 1000, ROWS = 24, IN = 16, OUT = 8 };
  (void)state;

  begin_counting();
  CoreDevice *device = core_device_emulated(CORE_DEVICE_FORWARD);
  core_access_stop();
  Ops *ops;
  void *memory;

  assert_int_equal(ops_device_create(device, OPS_FLOAT32, ROWS, IN, false, &ops), CORE_OK);
  assert_int_equal(device->allocate(device, 4 * N * sizeof(float), &memory), CORE_OK);
  float *x = memory, *y = x + N, *w = y + N, *z = w + N;
  core_device_zero(device, memory, 4 * N * sizeof(float));
  device->synchronize(device);

  begin_counting();
  core_access_clear();
  core_device_begin_phase(device, CORE_PHASE_ROLLOUT);
  ops->add(ops, x, y, N);
  core_device_copy(device, x, y, N * sizeof *x);
  core_device_begin_phase(device, CORE_PHASE_UPDATE);
  ops->dense_forward(ops, x, w, w + IN * OUT, z, ROWS, IN, OUT, OPS_LINEAR);
  device->synchronize(device);
  core_access_stop();

  const CoreAccessCount *add = find_count("ops_add", CORE_PHASE_ROLLOUT);
  assert_true(add->launches == 1 && add->read == 2 * N * sizeof *x && add->written == N * sizeof *x);
  const CoreAccessCount *copy = find_count("copy", CORE_PHASE_ROLLOUT);
  assert_true(copy->read == N * sizeof *x && copy->written == N * sizeof *x);
  const CoreAccessCount *product = find_count("ops_product", CORE_PHASE_UPDATE);
  assert_in_range(product->read, (ROWS * IN + IN * OUT) * sizeof *x, (ROWS * IN + (IN + 1) * OUT) * sizeof *x);
  assert_int_equal(product->written, ROWS * OUT * sizeof *x);

  core_access_clear();
  device->release(device, memory);
  ops_destroy(&ops);
  core_device_close(&device);
}

/* Bytes and launches of the phases of a run's second iteration. */
static void count_run(const CoreConfig *config, CostSum phase[CORE_PHASES]) {
  begin_counting();
  setenv("CORE_DEVICE", "emulated", 1);
  Training *training = make(config);
  iterate(training, 1);
  training->device->synchronize(training->device);
  core_access_clear();
  iterate(training, 1);
  training->device->synchronize(training->device);
  core_access_stop();
  size_t n;
  const CoreAccessCount *count = core_access_counts(&n);
  for (size_t i = 0; i < n; i++) {
    CostSum *sum = &phase[count[i].by.phase];
    sum->launches += (double)count[i].launches;
    sum->read += (double)count[i].read;
    sum->written += (double)count[i].written;
  }
  core_access_clear();
  training_destroy(&training);
}

static void assert_counted(const char *what, double expected, double counted, double slack) {
  if (fabs(expected - counted) > slack * counted)
    fail_msg("%s: %.0f extrapolated, %.0f counted", what, expected, counted);
}

/* The cost of a run, extrapolated from smaller ones, is what the run itself accesses. */
static void test_extrapolation(void **state) {
  static const char *const phase_name[] = {"other", "search", "rollout", "update", "minibatches", "measure"};
  (void)state;
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "env.num=96", "ppo.num_steps=16", "ppo.num_minibatches=4",
                                       "ppo.epochs=3", "eval.count=0", "metrics.states=1536", "net.width=32",
                                       "train.precision=bf16", "metrics.representation_every=10");
  Cost *cost = core_memory_allocate(sizeof *cost);
  CostSum counted[CORE_PHASES] = {{0}};
  begin_counting();
  core_access_stop();
  assert_int_equal(cost_of(&config, cost), CORE_OK);
  count_run(&config, counted);

  for (int p = CORE_PHASE_ROLLOUT; p <= CORE_PHASE_MEASURE; p++) {
    const CostSum *sum = &cost->phase[p];
    print_message("# %s: %.0f launches, %.0f bytes; counted %.0f, %.0f\n", phase_name[p], sum->launches,
                  sum->read + sum->written, counted[p].launches, counted[p].read + counted[p].written);
    /* a shuffle counts for each minibatch instead of each epoch */
    const bool is_measure = p == CORE_PHASE_MEASURE; /* one pass instead of several */
    if (!is_measure)
      assert_counted(phase_name[p], sum->launches, counted[p].launches, p == CORE_PHASE_MINIBATCHES ? 0.1 : 0.02);
    assert_counted(phase_name[p], sum->read + sum->written, counted[p].read + counted[p].written,
                   is_measure ? 0.2 : 0.05);
  }

  assert_true(cost_bytes_per_transition(cost) > 0 && cost->kernels > 20);
  free(cost);
}

/* Returns bytes and launches of an iteration, searches aside. */
static CostSum total_of(const CostSum *phase) {
  CostSum total = {0};
  for (int p = 0; p < CORE_PHASES; p++) {
    if (p == CORE_PHASE_SEARCH) continue;
    total.launches += phase[p].launches;
    total.read += phase[p].read;
    total.written += phase[p].written;
  }
  return total;
}

/* An iteration with representation metrics moves at most 7 KB a transition more than another, whatever the
 * environments: less than a tenth of what the layers moved one after the other. */
static void check_measured(const char *worlds, const char *minibatches) {
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "env.task=random_s", "env.max_steps=256", "eval.count=0",
                                       "ppo.num_steps=256", "ppo.epochs=8", "metrics.states=65536", "net.width=64",
                                       "net.depth=3", "net.sharing=separate", "train.precision=bf16",
                                       "train.total_steps=10000000000");
  set(&config, worlds);
  set(&config, minibatches);
  Cost *cost = core_memory_allocate(sizeof *cost);
  begin_counting();
  core_access_stop();
  if (cost_of(&config, cost) != CORE_OK) fail_msg("%s", core_error_message());
  const CostSum plain = total_of(cost->phase), measured = total_of(cost->measured);
  print_message("# %s: %.4g bytes in %.0f launches; measured: %.4g in %.0f\n", worlds, plain.read + plain.written,
                plain.launches, measured.read + measured.written, measured.launches);
  const double more = measured.read + measured.written - plain.read - plain.written;
  assert_true(more > 0 && more <= 7000.0 * (double)config.env.num * config.ppo.num_steps);
  free(cost);
}

static void test_measured(void **state) {
  (void)state;
  if (getenv("TEST_LONG")) check_measured("env.num=2048", "ppo.num_minibatches=32");
  check_measured("env.num=1048576", "ppo.num_minibatches=8192");
}

/* ---- an encoder -------------------------------------------------------------------------------------------------- */

/* Returns the sum of a kernel that an encoder launches in a phase. */
static CostSum encoder_kernel(const Cost *cost, const char *name, CoreDevicePhase phase) {
  for (int i = 0; i < cost->kernels; i++) {
    const CostKernel *k = &cost->kernel[i];
    if (k->is_encoding && k->phase == phase && strcmp(k->name, name) == 0) return k->sum;
  }
  fail_msg("no encoder launches %s", name);
  return (CostSum){0};
}

/* The transformer's passes over a minibatch of size S are seven launches: its weights rounded, both passes, gradients
 * of weights and a fold of them, a fold of other sums, and a copy of all. */
static void test_encoder(void **state) {
  (void)state;
  CoreConfig config = CONFIGURED_SMALL("train.device=cuda", "env.task=random_s", "env.observations=entity",
                                       "env.num=64", "ppo.num_steps=16", "ppo.num_minibatches=4", "ppo.epochs=1",
                                       "eval.count=0", "net.encoder=transformer", "net.sharing=shared", "net.width=64",
                                       "net.depth=1", "train.precision=bf16", "metrics.representation_every=10");
  Cost *cost = core_memory_allocate(sizeof *cost);
  begin_counting();
  core_access_stop();
  if (cost_of(&config, cost) != CORE_OK) fail_msg("%s", core_error_message());

  const CostSum *of_encoder = &cost->encoder[CORE_PHASE_MINIBATCHES], *all = &cost->phase[CORE_PHASE_MINIBATCHES];
  const double bytes = (of_encoder->read + of_encoder->written) / cost->transitions;
  print_message("# a transition: %.0f bytes of %.0f in minibatches\n", bytes,
                (all->read + all->written) / cost->transitions);
  assert_true(cost->minibatches == 4 && cost->pieces == 1);
  assert_int_equal((int)round(of_encoder->launches / cost->minibatches), 7);
  assert_true(bytes > 200e3 && bytes <= 280e3 && of_encoder->read < all->read);

  /* matrices that the backward pass reads are written in minibatches and not in rollouts */
  const double learning = encoder_kernel(cost, "ops_encoder", CORE_PHASE_MINIBATCHES).written / cost->transitions;
  const double acting = encoder_kernel(cost, "ops_encoder", CORE_PHASE_ROLLOUT).written / cost->transitions;
  print_message("# the forward pass writes %.0f bytes a transition, acting %.0f\n", learning, acting);
  assert_true(learning >= 50e3 && acting > 0 && acting <= 4e3);
  free(cost);
}

/* ---- expected times ---------------------------------------------------------------------------------------------- */

/* A kernel of one block per processor moves memory and multiplies in turn, one of two at the same time. */
static void test_times(void **state) {
  (void)state;
  Cost *cost = core_memory_zero_allocate(1, sizeof *cost);
  cost->rows[CORE_PHASE_MINIBATCHES] = 1e6;
  cost->encoder_products = (CostProducts){10e6, 8e6, 1e3, 1e6};
  cost->tower_products = (CostProducts){1e6, 0.5e6, 1e3, 1e3};
  const CostSum sum = {.launches = 1000, .read = 3e9, .written = 1.272e9}; /* 3 ms and 1 ms */
  const double adds_s = 2e6 / (0.45 * 989e12); /* a multiply-add of each row */

  const CostTime first = cost_time(cost, &(CostKernel){"ops_encoder", CORE_PHASE_MINIBATCHES, true, sum});
  assert_true(first.blocks == 1 && fabs(first.launches_s - 3e-3) < 1e-9 && fabs(first.memory_s - 1e-3) < 1e-5);
  assert_true(fabs(first.products_s / adds_s / 10e6 - 1) < 1e-9);
  assert_true(fabs(first.all_s - first.launches_s - first.memory_s - first.products_s) < 1e-9);
  const CostTime back = cost_time(cost, &(CostKernel){"ops_encoder_backward", CORE_PHASE_MINIBATCHES, true, sum});
  assert_true(back.blocks == 1 && fabs(back.products_s / adds_s / 8e6 - 1) < 1e-9);
  const CostTime weights = cost_time(cost, &(CostKernel){"ops_weights", CORE_PHASE_MINIBATCHES, true, sum});
  assert_true(weights.blocks == 2 && fabs(weights.factors_s - 1e12 / 5.5e12) < 1e-9);
  assert_true(fabs(weights.all_s - weights.launches_s - weights.factors_s) < 1e-9);
  const CostTime learn = cost_time(cost, &(CostKernel){"ops_mlp_learn", CORE_PHASE_MINIBATCHES, false, sum});
  assert_true(learn.blocks == 1 && fabs(learn.products_s / adds_s / 1.5e6 - 1) < 1e-9);
  const CostTime other = cost_time(cost, &(CostKernel){"ops_add", CORE_PHASE_MINIBATCHES, false, sum});
  assert_true(other.blocks == 0 && other.products_s == 0 && fabs(other.all_s - 4e-3) < 1e-5);

  cost->worlds[CORE_PHASE_ROLLOUT] = 137e6; /* a second a step, and none of the simulator's own kernels */
  cost->steps[CORE_PHASE_ROLLOUT] = 2;
  cost->kernel[cost->kernels++] = (CostKernel){sim_counted_bodies[0].name, CORE_PHASE_ROLLOUT, false, sum};
  cost->kernel[cost->kernels++] = (CostKernel){"ops_add", CORE_PHASE_MINIBATCHES, false, sum};
  assert_true(fabs(cost_seconds(cost) - 2 - other.all_s) < 1e-9);
  free(cost);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_extrapolation),
                                     cmocka_unit_test(test_measured), cmocka_unit_test(test_encoder),
                                     cmocka_unit_test(test_times)};
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
