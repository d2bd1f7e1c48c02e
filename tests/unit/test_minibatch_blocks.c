/* ppo.shuffle = blocks and none: every transition once an epoch; a part has one unit of each block; 2 to 16 ranks have
 * equally many rows of each part, together those of one rank, and each reads its own part of the permutation only. On
 * the host and on an emulated device. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels_ranks.h"
#include "trainer/update/minibatch.h"

enum { STEPS = 4, WORLDS = 64, TOTAL = STEPS * WORLDS, SEED = 7 };

typedef struct Fixture {
  CoreArena *arena;
  CoreDevice *device;
  Ops *ops;
  Rollout rollout;
  Minibatch minibatch;
  CoreConfig config;
  float *advantages, *targets;
} Fixture;

/* One of `ranks` ranks, as far as minibatches see it. */
static Fixture *make(const char *by, const char *shuffle, int parts, int ranks, int rank, CoreDevice *device) {
  Fixture *f = calloc(1, sizeof *f);
  const int worlds = WORLDS / ranks;
  const Env env = {.worlds = worlds, .observation_length = 2, .level_count = 1,
                   .head = {.factors = 1, .logits = 3, .size = {3}}};
  const Shards shards = {.global_worlds = WORLDS, .first_world = rank * worlds, .worlds = worlds,
                         .global_shards = ranks, .shards = 1};
  f->config = core_config_default();
  f->config.env.num = WORLDS;
  f->config.ppo.num_steps = STEPS;
  f->config.ppo.num_minibatches = parts;
  snprintf(f->config.ppo.minibatch_by, sizeof f->config.ppo.minibatch_by, "%s", by);
  snprintf(f->config.ppo.shuffle, sizeof f->config.ppo.shuffle, "%s", shuffle);
  f->arena = core_arena_create("test");
  f->device = device;
  if (device) core_arena_set_device(f->arena, device);
  rollout_register(&f->rollout, &f->config, &env, &shards, STEPS, f->arena);
  assert_int_equal(minibatch_register(&f->minibatch, &f->config, &f->rollout, f->arena), CORE_OK);
  CORE_ARENA_DEVICE(f->arena, f->advantages, STEPS * worlds, "advantages");
  CORE_ARENA_DEVICE(f->arena, f->targets, STEPS * worlds, "targets");
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  f->rollout.device = device;
  if (device) assert_int_equal(ops_device_create(device, OPS_FLOAT32, TOTAL, 16, false, &f->ops), CORE_OK);
  else assert_int_equal(ops_cpu_create(1, TOTAL, 16, &f->ops), CORE_OK);
  return f;
}

static void destroy(Fixture *f) {
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  free(f);
}

/* Writes which part each of the run's transitions is in to part_of[TOTAL], for this rank's; returns the rows of a part,
 * which must be the same for all parts where `equal`. */
static int list_parts(Fixture *f, int epoch, int part_of[TOTAL], bool equal) {
  int rows = -1;
  minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, SEED, 1, epoch);
  for (int m = 0; m < (int)f->config.ppo.num_minibatches; m++) {
    int own = 0;
    minibatch_select(&f->minibatch, f->ops, &f->rollout, m);
    while (minibatch_next(&f->minibatch, f->ops, &f->rollout, f->advantages, f->targets)) {
      const size_t bytes = (size_t)f->minibatch.rows * sizeof(uint32_t);
      uint32_t *index = core_memory_allocate(bytes);
      if (f->device) core_device_to_host(f->device, index, f->minibatch.index, bytes);
      else memcpy(index, f->minibatch.index, bytes);
      for (int row = 0; row < f->minibatch.rows; row++) {
        assert_in_range(index[row], 0, TOTAL - 1);
        assert_int_equal(part_of[index[row]], -1);
        part_of[index[row]] = m;
      }
      own += f->minibatch.rows;
      free(index);
    }
    if (equal && rows >= 0) assert_int_equal(own, rows);
    rows = own;
  }
  return rows;
}

static void clear(int part_of[TOTAL]) {
  for (int i = 0; i < TOTAL; i++) part_of[i] = -1;
}

/* Number of a transition among units: world after world. */
static int unit_of(const char *by, int row) {
  const int world = row % WORLDS, step = row / WORLDS;
  return *by == 'e' ? world : world * STEPS + step;
}

static void check_blocks(const char *by, const int part_of[TOTAL], int parts) {
  int *seen = calloc((size_t)TOTAL * (size_t)parts, sizeof *seen);
  const int steps = *by == 'e' ? STEPS : 1;
  for (int i = 0; i < TOTAL; i++) {
    assert_in_range(part_of[i], 0, parts - 1);
    seen[unit_of(by, i) / parts * parts + part_of[i]]++;
  }
  for (int i = 0; i < TOTAL / steps; i++) assert_int_equal(seen[i], steps); /* one unit of each block a part */
  free(seen);
}

static void check_ranks(const char *by, int parts, CoreDevice *device) {
  int alone[TOTAL], together[TOTAL], next[TOTAL];
  Fixture *one = make(by, "blocks", parts, 1, 0, NULL);
  clear(alone), clear(next);
  list_parts(one, 0, alone, true);
  check_blocks(by, alone, parts);
  list_parts(one, 1, next, true);
  assert_memory_not_equal(alone, next, sizeof alone);
  destroy(one);
  for (int ranks = 2; ranks <= 16; ranks *= 2) {
    clear(together);
    const bool is_exact = TOTAL / ranks / (*by == 'e' ? STEPS : 1) % parts == 0;
    for (int rank = 0; rank < ranks; rank++) {
      Fixture *f = make(by, "blocks", parts, ranks, rank, device);
      assert_int_equal(f->minibatch.is_exact, is_exact);
      const int rows = list_parts(f, 0, together, is_exact);
      if (is_exact) {
        assert_int_equal(rows, TOTAL / parts / ranks);
        assert_int_equal(f->minibatch.capacity, rows); /* nothing is filled up */
      }
      destroy(f);
    }
    assert_memory_equal(alone, together, sizeof alone);
  }
}

static void test_blocks(void **state) {
  static const int parts[] = {2, 4, 16};
  (void)state;
  for (int i = 0; i < 3; i++) {
    check_ranks("transitions", parts[i], NULL);
    check_ranks("environments", parts[i], NULL);
  }
}

static void test_blocks_on_a_device(void **state) {
  CoreDevice *device = core_device_emulated(CORE_DEVICE_FORWARD);
  (void)state;
  check_ranks("transitions", 4, device);
  check_ranks("environments", 4, device);
  core_device_close(&device);
}

static void test_slices(void **state) {
  static const char *const by[] = {"transitions", "environments"};
  (void)state;
  for (int b = 0; b < 2; b++) {
    int alone[TOTAL], together[TOTAL];
    const int parts = 8, units = TOTAL / (b ? STEPS : 1);
    Fixture *one = make(by[b], "none", parts, 1, 0, NULL);
    for (int epoch = 0; epoch < 2; epoch++) {
      clear(alone);
      list_parts(one, epoch, alone, true);
      for (int i = 0; i < TOTAL; i++) assert_int_equal(alone[i], unit_of(by[b], i) / (units / parts));
    }
    destroy(one);
    clear(together);
    for (int rank = 0; rank < 4; rank++) {
      Fixture *f = make(by[b], "none", parts, 4, rank, NULL);
      list_parts(f, 0, together, false);
      destroy(f);
    }
    assert_memory_equal(alone, together, sizeof alone);
  }
}

/* Each transition comes into the first part of four about equally often: chi-square over the transitions; 99.99 % of
 * correct shuffles stay below the bound (Wilson-Hilferty for 255 degrees of freedom: 347). */
static void test_blocks_are_uniform(void **state) {
  enum { ROUNDS = 2000, PARTS = 4 };
  int in_first[TOTAL] = {0};
  Fixture *f = make("transitions", "blocks", PARTS, 1, 0, NULL);
  double chi = 0;
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, SEED, i + 1, 0);
    for (int row = 0; row < TOTAL / PARTS; row++) in_first[f->minibatch.order[row]]++;
  }
  const double expected = (double)ROUNDS / PARTS;
  for (int i = 0; i < TOTAL; i++)
    chi += (in_first[i] - expected) * (in_first[i] - expected) / (expected * (PARTS - 1) / PARTS);
  assert_true(chi < 347);
  destroy(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks), cmocka_unit_test(test_blocks_on_a_device),
                                     cmocka_unit_test(test_slices), cmocka_unit_test(test_blocks_are_uniform)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
