/* Random levels drawn on a device against those drawn on the host: the same numbers are kept by the filter, and worlds
 * on them go the same way bit by bit, whether places are filled with levels of a sequence or worlds get new ones when
 * their episodes end. Kernels are run by the emulator, one way and the other. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/batch/batch_internal.h"
#include "sim/batch/batch_world.h"
#include "sim/batch/filter_key.h"
#include "sim/batch/level_stream.h"
#include "sim/device/batch_device.h"
#include "sim/device/level_kernels.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"

/* A batch and where its steps go; on a device with copies there. */
typedef struct Worlds {
  SimBatch *batch;
  CoreDevice *device;
  CoreArena *arena;
  size_t count, length;
  uint8_t *actions;
  SimStepOut out;
} Worlds;

static Worlds make(SimBatchOptions options, const SimLevelSet *set, CoreDevice *on) {
  Worlds w = {.device = on, .count = (size_t)options.worlds, .arena = core_arena_create("test")};
  options.backend = sim_device_backend(on);
  if (sim_batch_create(&options, set, &w.batch) != CORE_OK) fail_msg("%s", core_error_message());
  w.length = (size_t)sim_batch_observation_length(w.batch);
  core_arena_set_device(w.arena, on);
  CORE_ARENA_DEVICE(w.arena, w.actions, w.count * SIM_ACTIONS, "actions");
  CORE_ARENA_DEVICE(w.arena, w.out.observations, w.count * w.length, "observations");
  CORE_ARENA_DEVICE(w.arena, w.out.reward, w.count, "rewards");
  CORE_ARENA_DEVICE(w.arena, w.out.done, w.count, "dones");
  CORE_ARENA_DEVICE(w.arena, w.out.level, w.count, "levels");
  assert_int_equal(core_arena_commit(w.arena), CORE_OK);
  return w;
}

static void destroy(Worlds *w) {
  sim_batch_destroy(&w->batch);
  core_arena_destroy(&w->arena);
}

static void step(Worlds *w, uint32_t t) {
  uint8_t *actions = core_memory_allocate(w->count * SIM_ACTIONS);
  for (uint32_t i = 0; i < w->count * SIM_ACTIONS; i++)
    actions[i] = (uint8_t)core_random_below(core_random_4(2, CORE_RANDOM_TEST, t, i, 0).v[0], 2);
  core_device_to_device(w->device, w->actions, actions, w->count * SIM_ACTIONS);
  sim_batch_step(w->batch, w->actions, &w->out);
  free(actions);
}

static void assert_same(const Worlds *w, const void *there, const void *here, size_t bytes) {
  void *copy;
  const void *got = core_device_view(w->device, there, bytes, &copy);
  assert_memory_equal(got, here, bytes);
  free(copy);
}

static void assert_alike(const Worlds *there, const Worlds *here) {
  assert_same(there, there->out.observations, here->out.observations, here->count * here->length * sizeof(float));
  assert_same(there, there->out.reward, here->out.reward, here->count * sizeof(float));
  assert_same(there, there->out.done, here->out.done, here->count);
  assert_same(there, there->out.level, here->out.level, here->count * sizeof(int32_t));
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

enum { PLACES = 260, FIRST = 50, DRAWN = 250, PLACE = 7, KEY = 77 };

static SimLevelSet blank_set(SimSize size, int count) {
  SimLevelSet set = {core_memory_zero_allocate((size_t)count, sizeof *set.level), count, size};
  for (int i = 0; i < count; i++) set.level[i] = sim_level_empty(size, true);
  return set;
}

/* Every place from `first` on that levels were drawn for is played for a while. */
static void play_places(Worlds *there, Worlds *here, int first) {
  int32_t place[PLACES];
  for (int i = 0; i < PLACES; i++) place[i] = first + i % (PLACE + DRAWN - first);
  sim_batch_reset_to(there->batch, place, there->out.observations);
  sim_batch_reset_to(here->batch, place, here->out.observations);
  for (uint32_t t = 0; t < 5; t++) {
    step(there, t), step(here, t);
    assert_alike(there, here);
  }
}

/* Levels of size `drawn` with the slots of `size`. */
static void check_places(SimSize drawn, SimSize size, SimObservationKind kind) {
  SimLevelSet blank = blank_set(size, PLACES), levels = blank_set(drawn, DRAWN);
  SimBatchOptions options = sim_batch_options_default();
  SimLevelStream *stream;
  uint32_t wanted[DRAWN], numbers[DRAWN];
  options.worlds = PLACES;
  options.observation = kind;
  options.reset = SIM_RESET_SAME;
  options.new_size = drawn;
  Worlds here = make(options, &blank, NULL);
  options.drawn_slots = PLACES;
  Worlds there = make(options, &(SimLevelSet){blank.level, 1, size}, device);
  assert_int_equal(sim_level_stream_create(drawn, &stream), CORE_OK);
  sim_level_stream_draw(stream, KEY, FIRST, DRAWN, levels.level, wanted);
  assert_int_equal(sim_level_set_expand(&levels, size), CORE_OK);
  assert_int_equal(sim_batch_replace_some(here.batch, PLACE, &levels), CORE_OK);
  sim_level_device_draw(there.batch, KEY, FIRST, DRAWN, PLACE, numbers);
  assert_memory_equal(numbers, wanted, sizeof wanted);
  play_places(&there, &here, PLACE);
  sim_level_device_restore(there.batch, KEY, wanted + 40, 20, 0);
  assert_int_equal(sim_batch_replace_some(here.batch, 0, &(SimLevelSet){levels.level + 40, 20, size}), CORE_OK);
  play_places(&there, &here, 0);
  sim_level_stream_destroy(&stream);
  sim_level_set_free(&blank), sim_level_set_free(&levels);
  destroy(&there), destroy(&here);
}

/* ---- new levels -------------------------------------------------------------------------------------------------- */

typedef struct New {
  SimReset reset;
  SimSize drawn, size;
  SimObservationKind kind;
  int worlds, max_steps;
  uint32_t first_world, steps;
} New;

static SimBatchOptions options_of(const New *c) {
  SimBatchOptions options = sim_batch_options_default();
  options.worlds = c->worlds;
  options.seed = 5;
  options.first_world = c->first_world;
  options.max_steps = c->max_steps;
  options.reset = c->reset;
  options.new_size = c->drawn;
  options.observation = c->kind;
  return options;
}

static void step_both(Worlds *there, Worlds *here, uint32_t from, uint32_t to) {
  for (uint32_t t = from; t < to; t++) {
    step(there, t), step(here, t);
    assert_alike(there, here);
    assert_same(there, sim_batch_constants(there->batch).number, sim_batch_constants(here->batch).number,
                here->count * sizeof(uint32_t));
  }
}

/* Consecutive episodes; then a saved state continues elsewhere. */
static void check_new(New c) {
  const SimLevelSet none = {.size = c.size};
  const SimBatchOptions options = options_of(&c);
  Worlds there = make(options, &none, device), here = make(options, &none, NULL);
  step_both(&there, &here, 0, c.steps);
  const size_t bytes = sim_batch_state_bytes(here.batch);
  void *saved = core_memory_allocate(bytes), *wanted = core_memory_allocate(bytes);
  sim_batch_save(there.batch, saved), sim_batch_save(here.batch, wanted);
  assert_memory_equal(saved, wanted, bytes);
  Worlds resumed = make(options, &none, device);
  assert_int_equal(sim_batch_load(resumed.batch, wanted, bytes), CORE_OK);
  step_both(&resumed, &here, c.steps, c.steps + 10);
  assert_int_equal(sim_batch_load(there.batch, saved, bytes), CORE_OK); /* back to the saved state */
  assert_int_equal(sim_batch_load(here.batch, saved, bytes), CORE_OK);
  step_both(&there, &here, c.steps, c.steps + 10);
  free(saved), free(wanted);
  destroy(&resumed), destroy(&there), destroy(&here);
}

/* Worlds that are put on levels, then on drawn ones again, resting now and then. */
static void check_turns(void) {
  const New c = {SIM_RESET_NEW_FILTERED, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT, 6, 20, 300, 0};
  SimLevelSet set = blank_set(SIM_SIZE_S, 2);
  const int32_t level[6] = {0, 1, 0, 1, 0, 1};
  Worlds there = make(options_of(&c), &set, device), here = make(options_of(&c), &set, NULL);
  step_both(&there, &here, 0, 18);
  sim_batch_reset_to(there.batch, level, NULL), sim_batch_reset_to(here.batch, level, NULL);
  for (uint32_t t = 18; t < 40; t++) {
    step(&there, t), step(&here, t);
    assert_alike(&there, &here);
  }
  sim_batch_reset(there.batch, NULL), sim_batch_reset(here.batch, NULL);
  for (uint32_t t = 40; t < 100; t += 12) {
    step_both(&there, &here, t, t + 12);
    sim_batch_synchronize(there.batch);
  }
  sim_level_set_free(&set);
  destroy(&there), destroy(&here);
}

static bool solves_itself(uint64_t key, uint32_t number) {
  SimLevel level;
  assert_int_equal(sim_generate_level(SIM_SIZE_S, key, number, &level), CORE_OK);
  return sim_filter_solves_itself(&level);
}

/* A world of which the levels of `episode` solve themselves: the one that comes up first, and the other or not. */
static uint32_t find_world(uint32_t episode, bool both) {
  for (uint32_t w = 0; w < 100000; w++) {
    const uint64_t key = sim_world_level_key(5, w);
    const SimFilterPair pair = sim_filter_pair(key, episode * SIM_FILTER_RATIO);
    if (solves_itself(key, pair.early) && solves_itself(key, pair.late) == both) return w;
  }
  fail_msg("no world whose episode %u has such levels", episode);
  return 0;
}

/* Choices between levels of which one or both solve themselves: at the reset, in the step, and ahead of it. */
static void check_choices(void) {
  for (uint32_t i = 0; i < 6; i++) {
    const uint32_t episode = i / 2;
    check_new((New){SIM_RESET_NEW_FILTERED, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT, 1, 80,
                    find_world(episode, i % 2), 80 * episode + 5});
  }
}

/* After the first episode's, most levels are drawn ahead. Choosing one takes longer than short episodes. */
static void check_late(SimReset reset, int max_steps, int part) {
  const New c = {reset, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT, 32, max_steps, 0, 0};
  const SimLevelSet none = {.size = c.size};
  Worlds there = make(options_of(&c), &none, device);
  int64_t ends = 0;
  for (uint32_t t = 0; t < 300; t++) {
    void *copy;
    step(&there, t);
    const uint8_t *done = core_device_view(device, there.out.done, there.count, &copy);
    for (size_t w = 0; w < there.count; w++) ends += done[w] != 0;
    free(copy);
  }
  const int64_t late = sim_level_device_late(there.batch) - (int64_t)there.count;
  print_message("# %d of %d levels were drawn within a step\n", (int)late, (int)ends);
  assert_true(ends > 80 && late >= 0 && part * late < ends);
  destroy(&there);
}

/* Threads of any launch take each of n draws once, and the same number of lanes of each warp at most. */
static void test_spread(void **state) {
  (void)state;
  const size_t counts[] = {0, 1, 7, 8, 9, 100, 256, 257, 1000};
  enum { BLOCKS = 4, THREADS = 64, WARPS = BLOCKS * THREADS / SIM_WARP_LANES };
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    const size_t n = counts[c];
    uint8_t taken[1000] = {0};
    size_t lanes = 0;
    for (uint32_t block = 0; block < BLOCKS; block++)
      for (uint32_t thread = 0; thread < THREADS; thread++) {
        const CoreDeviceThread at = {.block = block, .thread = thread, .blocks = BLOCKS, .threads = THREADS};
        const SimSpread spread = sim_spread(&at, n);
        lanes += spread.first < n;
        for (size_t i = spread.first; i < n; i += spread.stride) taken[i]++;
      }
    for (size_t i = 0; i < n; i++) assert_int_equal(taken[i], 1);
    assert_int_equal(lanes, n < WARPS * SIM_WARP_LANES ? n : WARPS * SIM_WARP_LANES);
  }
}

/* With warps of lanes, as on a GPU, and shared memory seen as barriers leave it. */
static void test_teams(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  setenv("SIM_WARP_WORLDS", "8", 1);
  check_new((New){SIM_RESET_NEW_FILTERED, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT, 3, 20, 40, 90});
  setenv("SIM_WARP_WORLDS", "alone", 1);
  core_device_close(&device);
}

/* ---- one way and the other --------------------------------------------------------------------------------------- */

static void run_all(void) {
  check_places(SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT);
  check_places(SIM_SIZE_M, SIM_SIZE_L, SIM_OBSERVATION_ENTITY);
  check_new((New){SIM_RESET_NEW, SIM_SIZE_L, SIM_SIZE_L, SIM_OBSERVATION_FLAT, 12, 7, 1000, 20});
  check_new((New){SIM_RESET_NEW, SIM_SIZE_S, SIM_SIZE_M, SIM_OBSERVATION_PADDED, 12, 7, 1000, 20});
  check_new((New){SIM_RESET_NEW_FILTERED, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT, 12, 7, 1000, 20});
  check_new((New){SIM_RESET_NEW_FILTERED, SIM_SIZE_M, SIM_SIZE_L, SIM_OBSERVATION_ENTITY, 12, 7, 1000, 20});
  check_new((New){SIM_RESET_NEW_FILTERED, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT, 120, 20, 0, 150});
  check_new((New){SIM_RESET_NEW_FILTERED, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT, 5, 1, 3, 40});
  check_turns();
  check_choices();
  check_late(SIM_RESET_NEW, 40, 20);
  check_late(SIM_RESET_NEW_FILTERED, 100, 4);
  core_device_close(&device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_teams), cmocka_unit_test(test_spread),
                                     cmocka_unit_test(test_gpu)};
  if (!is_gpu_requested())
    setenv("SIM_WARP_WORLDS", "alone",
           1); /* test_batch_bits covers the step, and warps are slow to emulate */
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
