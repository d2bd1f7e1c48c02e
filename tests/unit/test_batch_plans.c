/* Orders of contacts that a batch caches between steps (SimBlockPlan): worlds beyond the cache, replaced levels and
 * restored states, against worlds that step sequentially without a cache. On a processor without vector kernels both
 * sides are the same. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "sim/batch/batch_internal.h"
#include "sim/levels/generate.h"

enum { LEVELS = 4, STEPS = 24, SEED = 7 };

typedef struct Play {
  SimBatch *batch;
  uint8_t *actions;
} Play;

static void make_levels(uint64_t seed, SimLevel level[LEVELS]) {
  for (uint32_t i = 0; i < LEVELS; i++)
    assert_int_equal(sim_generate_level(SIM_SIZE_S, seed, i, &level[i]), CORE_OK);
}

static Play begin(const char *kernels, int worlds) {
  SimLevel level[LEVELS];
  const SimLevelSet set = {level, LEVELS, SIM_SIZE_S};
  SimBatchOptions options = sim_batch_options_default();
  Play play;
  make_levels(1, level);
  options.worlds = worlds;
  options.max_steps = 20;
  if (kernels) setenv("SIM_KERNELS", kernels, 1);
  assert_int_equal(sim_batch_create(&options, &set, &play.batch), CORE_OK);
  unsetenv("SIM_KERNELS");
  play.actions = core_memory_zero_allocate((size_t)worlds * SIM_ACTIONS, 1);
  return play;
}

static void end(Play *play) {
  sim_batch_destroy(&play->batch);
  free(play->actions);
}

/* Draws actions, the same for every batch. */
static void steps(Play *play, int first, int count) {
  const size_t n = (size_t)sim_batch_worlds(play->batch) * SIM_ACTIONS;
  const SimStepOut nothing = {0};
  for (int t = first; t < first + count; t++) {
    CoreRandomStream stream = core_random_stream(SEED, CORE_RANDOM_TEST, (uint32_t)t, 0);
    for (size_t i = 0; i < n; i++)
      play->actions[i] =
        (uint8_t)core_random_below(core_random_next(&stream), i % SIM_ACTIONS < SIM_MOTOR_BINDINGS ? 3 : 2);
    sim_batch_step(play->batch, play->actions, &nothing);
  }
}

static void *state_of(const SimBatch *batch) {
  void *state = core_memory_allocate(sim_batch_state_bytes(batch));
  sim_batch_save(batch, state);
  return state;
}

static void expect_same(const SimBatch *a, const SimBatch *b) {
  void *x = state_of(a), *y = state_of(b);
  assert_memory_equal(x, y, sim_batch_state_bytes(a));
  free(x), free(y);
}

static void worlds_that_keep_no_plan(void **state) {
  (void)state;
  enum { WORLDS = SIM_BATCH_PLANNED + 300 };
  Play blocks = begin(NULL, WORLDS), alone = begin("scalar", WORLDS);
  if (blocks.batch->kernels) assert_int_equal(sim_batch_planned(blocks.batch), SIM_BATCH_PLANNED);
  assert_int_equal(sim_batch_planned(alone.batch), 0);
  steps(&blocks, 0, STEPS), steps(&alone, 0, STEPS);
  expect_same(blocks.batch, alone.batch);
  end(&blocks), end(&alone);
}

/* Replaces levels in use: the same shapes may now be joined, or collide. */
static void levels_that_are_replaced(void **state) {
  (void)state;
  Play play[2] = {begin(NULL, 200), begin("scalar", 200)};
  SimLevel level[LEVELS];
  make_levels(2, level);
  const SimLevelSet set = {level, LEVELS, SIM_SIZE_S};
  for (int i = 0; i < 2; i++) {
    steps(&play[i], 0, STEPS);
    assert_int_equal(sim_batch_replace_levels(play[i].batch, &set), CORE_OK);
    steps(&play[i], STEPS, STEPS);
  }
  expect_same(play[0].batch, play[1].batch);
  end(&play[0]), end(&play[1]);
}

/* A world's state of another time, whose impulses are of other contacts than its plan's. */
static void states_that_are_put_back(void **state) {
  (void)state;
  Play play[2] = {begin(NULL, 200), begin("scalar", 200)};
  for (int i = 0; i < 2; i++) {
    steps(&play[i], 0, 10);
    void *early = state_of(play[i].batch);
    steps(&play[i], 10, STEPS);
    assert_int_equal(sim_batch_load(play[i].batch, early, sim_batch_state_bytes(play[i].batch)), CORE_OK);
    steps(&play[i], 10, STEPS);
    free(early);
  }
  expect_same(play[0].batch, play[1].batch);
  end(&play[0]), end(&play[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(worlds_that_keep_no_plan),
    cmocka_unit_test(levels_that_are_replaced),
    cmocka_unit_test(states_that_are_put_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
