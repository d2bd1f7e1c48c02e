/* SAPG and half-precision storage on a device against the host, on the emulator in every order of threads and in
 * isolation, which exposes missing barriers: the samples of ranks and shards and their order, gathered data, and the
 * functions of ops.h that only they use. All bits are equal. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "tests/device_tools.h"
#include "tests/training_tools.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/learners/sapg.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_rows.h"

enum { ROWS = 300, FACTORS = 3, LOGITS = 2 * FACTORS, NUMBERS = ROWS * LOGITS };

static const CoreDeviceOrder orders[] = {CORE_DEVICE_FORWARD, CORE_DEVICE_BACKWARD, CORE_DEVICE_ISOLATED};
enum { ORDERS = sizeof orders / sizeof *orders };
static CoreDevice *device;
static Ops *ops, *host_ops;

static void open_ops(CoreDevice *opened) {
  device = opened;
  assert_int_equal(ops_cpu_create(1, ROWS, 128, &host_ops), CORE_OK);
  if (ops_device_create(device, OPS_FLOAT32, ROWS, 128, false, &ops) != CORE_OK) fail_msg("%s", core_error_message());
}

static void close_ops(void) {
  ops_destroy(&ops);
  ops_destroy(&host_ops);
  core_device_close(&device);
}

/* Numbers from -range to range. */
static float *numbers(uint32_t stream, size_t n, float range) {
  CoreRandomStream random = core_random_stream(3, CORE_RANDOM_TEST, stream, 0);
  float *x = core_memory_allocate(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = core_random_uniform(&random, -range, range);
  return x;
}

/* Device memory with a copy of host's. */
static void *up(const void *host, size_t bytes) {
  void *memory;
  assert_int_equal(device->allocate(device, bytes, &memory), CORE_OK);
  core_device_to_device(device, memory, host, bytes);
  return memory;
}

static void assert_same(const void *host, const void *memory, size_t bytes) {
  void *copy;
  assert_memory_equal(core_device_view(device, memory, bytes, &copy), host, bytes);
  free(copy);
}

/* ---- functions of ops.h ------------------------------------------------------------------------------------------ */

static void check_controller_kl(void) {
  const OpsHead head = {.kind = OPS_GAUSSIAN, .factors = FACTORS, .logits = LOGITS, .low = -1, .high = 1};
  float *logits = numbers(1, NUMBERS, 1), *reference = numbers(2, NUMBERS, 1);
  uint32_t index[ROWS];
  core_random_permutation(7, CORE_RANDOM_TEST, 0, 0, index, ROWS);
  float *on_device = up(logits, NUMBERS * sizeof *logits), *last = up(reference, NUMBERS * sizeof *reference);
  uint32_t *device_index = up(index, sizeof index);
  double sum, host_sum, again, expected = 0;
  for (int r = 0; r < ROWS; r++) /* docs/algorithms.md#sapg */
    for (int k = 0; k < FACTORS; k++) {
      const float *p = logits + r * LOGITS, *q = reference + index[r] * LOGITS;
      const double of_p = exp((double)p[FACTORS + k]), of_q = exp((double)q[FACTORS + k]),
                   move = (double)q[k] - (double)p[k];
      expected += log(of_q / of_p + 1e-5) + (of_p * of_p + move * move) / (2 * (of_q * of_q + 1e-5)) - 0.5;
    }
  host_ops->controller_kl(host_ops, &head, logits, index, ROWS, reference, &host_sum);
  ops->controller_kl(ops, &head, on_device, device_index, ROWS, last, &sum);
  assert_true(fabs(host_sum - expected) < 1e-9 * expected && fabs(sum - host_sum) < 1e-9 * fabs(host_sum));
  assert_same(reference, last, NUMBERS * sizeof *reference);
  ops->controller_kl(ops, &head, on_device, device_index, ROWS, last, &again); /* to itself, except for the constants */
  assert_true(fabs(again) < 2e-4 * ROWS * FACTORS && fabs(sum) > 100 * fabs(again));
  device->release(device, on_device), device->release(device, last), device->release(device, device_index);
  free(logits), free(reference);
}

static void check_units(void) {
  float *x = numbers(3, NUMBERS, 4), *y = up(x, NUMBERS * sizeof *x);
  host_ops->normalize_within(host_ops, x, NUMBERS, 0.3, 2, 5);
  ops->normalize_within(ops, y, NUMBERS, 0.3, 2, 5);
  assert_same(x, y, NUMBERS * sizeof *x);
  float least = 0, most = 0;
  for (int i = 0; i < NUMBERS; i++) least = fminf(least, x[i]), most = fmaxf(most, x[i]);
  assert_true(least == -5 && most == 5);
  x[0] = 7, x[1] = 1;
  core_device_to_device(device, y, x, 2 * sizeof *x);
  host_ops->denormalize_within(host_ops, x, NUMBERS, 0.3, 0.5, 5);
  ops->denormalize_within(ops, y, NUMBERS, 0.3, 0.5, 5);
  assert_same(x, y, NUMBERS * sizeof *x);
  assert_true(x[0] == (float)(5 * 0.5 + 0.3) && x[1] == (float)(0.5 + 0.3));
  device->release(device, y);
  free(x);
}

/* Every kind of number that a float can be: the host's halves are tested one by one (test_precision.c). */
static void check_halves(void) {
  enum { MANY = 1 << 12 };
  float x[MANY];
  uint16_t halves[MANY];
  uint32_t index[ROWS];
  float gathered[ROWS * 4];
  for (uint32_t i = 0; i < MANY; i++) x[i] = fast_from_bits((int32_t)(i << 20 | (i * 2654435761u & 0xfffff)));
  for (uint32_t r = 0; r < ROWS; r++) index[r] = (r * 7919) % (MANY / 4);
  float *memory = up(x, sizeof x), *rows = up(gathered, sizeof gathered);
  uint16_t *stored = up(halves, sizeof halves);
  uint32_t *device_index = up(index, sizeof index);
  host_ops->store_halves(host_ops, x, MANY, halves);
  ops->store_halves(ops, memory, MANY, stored);
  assert_same(halves, stored, sizeof halves);
  host_ops->gather_halves(host_ops, halves, index, gathered, ROWS, 4);
  ops->gather_halves(ops, stored, device_index, rows, ROWS, 4);
  assert_same(gathered, rows, sizeof gathered);
  ops_round_to_halves(x, MANY);
  kernels_launch(device, &ops_round_halves_launch, MANY, &(OpsRoundHalves){memory, MANY});
  assert_same(x, memory, sizeof x);
  device->release(device, memory), device->release(device, rows), device->release(device, stored);
  device->release(device, device_index);
}

static void check_ops(CoreDevice *opened) {
  open_ops(opened);
  check_controller_kl();
  check_units();
  check_halves();
  close_ops();
}

static void test_ops(void **state) {
  (void)state;
  for (int i = 0; i < ORDERS; i++) check_ops(core_device_emulated(orders[i]));
}

static void test_gpu(void **state) {
  (void)state;
  check_ops(open_gpu(false));
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* The samples of a rank, on a device (NULL: the host). */
typedef struct Side { CoreArena *arena; Env *env; Agent agent; Rollout rollout; SapgData data; } Side;

static void open_side(Side *side, CoreDevice *on, const CoreConfig *config, const Shards *shards) {
  side->arena = core_arena_create("test");
  core_arena_set_device(side->arena, on);
  assert_int_equal(env_create(config, 1, 0, &side->env), CORE_OK);
  agent_register(&side->agent, config, side->env, 64, side->arena);
  rollout_register(&side->rollout, config, side->env, shards, (int)config->ppo.num_steps, side->arena);
  sapg_data_register(&side->data, config, &side->agent, &side->rollout, side->arena);
  assert_int_equal(core_arena_commit(side->arena), CORE_OK);
}

static void close_side(Side *side) {
  env_destroy(&side->env);
  core_arena_destroy(&side->arena);
}

/* All chunks of all minibatches: the same samples in the same order, the same rows, each with the block that learns. */
static int compare_pieces(Side *there, Side *here) {
  const Rollout *rollout = &here->rollout;
  const size_t features = (size_t)rollout->features;
  int samples = 0;
  for (int m = 0; m < here->data.minibatches.count; m++) {
    sapg_data_select(&there->data, m);
    sapg_data_select(&here->data, m);
    while (sapg_data_next(&here->data, host_ops, rollout)) {
      assert_true(sapg_data_next(&there->data, ops, &there->rollout));
      const size_t rows = (size_t)here->data.rows;
      assert_int_equal(there->data.rows, here->data.rows);
      assert_int_equal(there->data.shard, here->data.shard);
      assert_same(here->data.sample, there->data.sample, rows * sizeof(uint32_t));
      assert_same(here->data.index, there->data.index, rows * sizeof(uint32_t));
      assert_same(here->data.observations, there->data.observations, rows * features * sizeof(float));
      samples += here->data.rows;
    }
    assert_false(sapg_data_next(&there->data, ops, &there->rollout));
  }
  return samples;
}

/* One rank, one rank in shards, and three ranks of which the middle one has worlds of two blocks; some of these have no
 * column of some followers. */
static void test_samples(void **state) {
  const Shards ways[] = {{12, 0, 12, 1, 1, false},
                         {12, 0, 12, 6, 6, true},
                         {12, 0, 4, 6, 2, true},
                         {12, 4, 4, 6, 2, true},
                         {12, 8, 4, 6, 2, true}};
  CoreConfig config = CONFIGURED_SMALL("algo.name=sapg", "env.actions=continuous", "env.num=12", "sapg.blocks=4",
                                       "sapg.sequence_length=4", "ppo.num_steps=32");
  (void)state;
  for (int i = 0; i < ORDERS; i++)
    for (int ratio = 0; ratio < 3; ratio += 2) {
      int samples[2] = {0};
      config.sapg.off_policy_ratio = ratio;
      open_ops(core_device_emulated(orders[i]));

      for (int way = 0; way < 5; way++) {
        Side there, here;
        open_side(&there, device, &config, &ways[way]);
        open_side(&here, NULL, &config, &ways[way]);

        const size_t bytes = 32 * (size_t)ways[way].worlds * (size_t)here.rollout.features * sizeof(float);
        float *seen = numbers(9, bytes / sizeof(float), 1);
        memcpy(here.rollout.observations, seen, bytes);
        core_device_to_device(device, there.rollout.observations, seen, bytes);

        for (int64_t iteration = 1; iteration < 4; iteration++) {
          sapg_data_draw(&there.data, ops, 5, iteration);
          sapg_data_draw(&here.data, host_ops, 5, iteration);
          assert_int_equal(there.data.columns, here.data.columns);
          samples[way > 1] += compare_pieces(&there, &here);
        }
        free(seen);
        close_side(&there), close_side(&here);
      }

      const int each = 12 * 32 + ratio * 3 * 32;
      assert_int_equal(samples[0], 2 * 3 * each); /* each way of one rank has all, */
      assert_int_equal(samples[1], 3 * each);     /* and so have three ranks together */
      close_ops();
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops), cmocka_unit_test(test_samples),
                                     cmocka_unit_test(test_gpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
