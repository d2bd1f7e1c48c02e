/* Memory per world, measured as the difference made by more worlds: a million small ones must fit into 2 GB. A batch
 * also has memory of a fixed size, part of which small batches use. */
#include "test.h"

#include "sim/batch/batch.h"
#include "sim/levels/generate.h"

static size_t batch_bytes(SimSize size, int worlds) {
  SimLevel level;
  SimLevelSet set = {.level = &level, .count = 1, .size = size};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  options.worlds = worlds;
  assert_int_equal(sim_generate_level(size, 1, 0, &level), CORE_OK);
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
  const size_t bytes = sim_batch_bytes(batch);
  sim_batch_destroy(&batch);
  return bytes;
}

enum { FEW = 5000, MANY = 10000 };

static size_t world_bytes(SimSize size) {
  const size_t few = batch_bytes(size, FEW), many = batch_bytes(size, MANY);
  assert_true(many > few);
  return (many - few + MANY - FEW - 1) / (MANY - FEW);
}

static void worlds_are_small(void **state) {
  (void)state;
  const size_t s = world_bytes(SIM_SIZE_S), m = world_bytes(SIM_SIZE_M), l = world_bytes(SIM_SIZE_L);
  print_message("# bytes a world: S %zu, M %zu, L %zu\n", s, m, l);
  assert_true(s <= 2048);
  assert_true(m <= 4096);
  assert_true(l <= 12288);
}

static void a_million_small_worlds_take_two_gigabytes(void **state) {
  (void)state;
  const size_t few = batch_bytes(SIM_SIZE_S, FEW);
  assert_true(few + (1000000 - FEW) * world_bytes(SIM_SIZE_S) <= (size_t)2 << 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(worlds_are_small),
    cmocka_unit_test(a_million_small_worlds_take_two_gigabytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
