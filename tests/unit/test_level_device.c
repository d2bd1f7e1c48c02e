/* Random levels drawn on a device against those drawn on the host: the same numbers are kept by the filter, and worlds on
 * them go the same way bit by bit, whether places are filled with levels of a sequence or worlds get new ones when their
 * episodes end. Kernels are run by the emulator, one way and the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "core/random.h"
#include "sim/batch_internal.h"
#include "sim/level_device.h"
#include "sim/level_stream.h"

static CoreDevice *device;

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
  options.device = on;
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

/* ---- places ------------------------------------------------------------------------------------------------------- */

enum { PLACES = 260, FIRST = 50, DRAWN = 250, PLACE = 7, KEY = 77 };

static SimLevelSet blank_set(SimSize size, int count) {
  SimLevelSet set = {core_memory_zero_allocate((size_t)count, sizeof *set.level), count, size};
  for (int i = 0; i < count; i++) set.level[i] = sim_level_empty(size, true);
  return set;
}

/* Every place is played for a while. */
static void play_places(Worlds *there, Worlds *here) {
  int32_t place[PLACES];
  for (int i = 0; i < PLACES; i++) place[i] = i;
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
  options.drawn_levels = true;
  Worlds there = make(options, &blank, device), here = make(options, &blank, NULL);
  assert_int_equal(sim_level_stream_create(drawn, &stream), CORE_OK);
  sim_level_stream_draw(stream, KEY, FIRST, DRAWN, levels.level, wanted);
  assert_int_equal(sim_level_set_expand(&levels, size), CORE_OK);
  assert_int_equal(sim_batch_replace_some(here.batch, PLACE, &levels), CORE_OK);
  sim_level_device_draw(there.batch, KEY, FIRST, DRAWN, PLACE, numbers);
  assert_memory_equal(numbers, wanted, sizeof wanted);
  play_places(&there, &here);
  sim_level_device_recall(there.batch, KEY, wanted + 40, 20, 0);
  assert_int_equal(sim_batch_replace_some(here.batch, 0, &(SimLevelSet){levels.level + 40, 20, size}), CORE_OK);
  play_places(&there, &here);
  sim_level_stream_destroy(&stream);
  sim_level_set_free(&blank), sim_level_set_free(&levels);
  destroy(&there), destroy(&here);
}

/* ---- new levels ---------------------------------------------------------------------------------------------------- */

/* Episodes of a few steps, one after the other; then a saved state goes on elsewhere. */
static void check_new(SimReset reset, SimSize drawn, SimSize size, SimObservationKind kind) {
  const SimLevelSet none = {.size = size};
  SimBatchOptions options = sim_batch_options_default();
  options.worlds = 12;
  options.seed = 5;
  options.first_world = 1000;
  options.max_steps = 7;
  options.reset = reset;
  options.new_size = drawn;
  options.observation = kind;
  Worlds there = make(options, &none, device), here = make(options, &none, NULL);
  for (uint32_t t = 0; t < 20; t++) {
    step(&there, t), step(&here, t);
    assert_alike(&there, &here);
  }
  const size_t bytes = sim_batch_state_bytes(here.batch);
  void *saved = core_memory_allocate(bytes), *wanted = core_memory_allocate(bytes);
  sim_batch_save(there.batch, saved), sim_batch_save(here.batch, wanted);
  assert_memory_equal(saved, wanted, bytes);
  Worlds resumed = make(options, &none, device);
  assert_int_equal(sim_batch_load(resumed.batch, wanted, bytes), CORE_OK);
  for (uint32_t t = 20; t < 30; t++) {
    step(&resumed, t), step(&here, t);
    assert_alike(&resumed, &here);
  }
  free(saved), free(wanted);
  destroy(&resumed), destroy(&there), destroy(&here);
}

/* ---- one way and the other ----------------------------------------------------------------------------------------- */

static void run_all(void) {
  check_places(SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT);
  check_places(SIM_SIZE_M, SIM_SIZE_L, SIM_OBSERVATION_ENTITY);
  check_new(SIM_RESET_NEW, SIM_SIZE_L, SIM_SIZE_L, SIM_OBSERVATION_FLAT);
  check_new(SIM_RESET_NEW, SIM_SIZE_S, SIM_SIZE_M, SIM_OBSERVATION_PADDED);
  check_new(SIM_RESET_NEW_FILTERED, SIM_SIZE_S, SIM_SIZE_S, SIM_OBSERVATION_FLAT);
  check_new(SIM_RESET_NEW_FILTERED, SIM_SIZE_M, SIM_SIZE_L, SIM_OBSERVATION_ENTITY);
  core_device_close(&device);
}

static void test_forward(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  run_all();
}

static void test_backward(void **state) {
  (void)state;
  device = core_device_emulated(CORE_DEVICE_BACKWARD);
  run_all();
}

/* TEST_DEVICE=gpu (tests/gpu/all.sh): the GPU alone, which must be there. */
static bool asked_for_gpu(void) {
  const char *asked = getenv("TEST_DEVICE");
  return asked && strcmp(asked, "gpu") == 0;
}
static void test_gpu(void **state) {
  char reason[256];
  (void)state;
  if (core_device_open("cuda", 0, &device, reason) != CORE_OK) {
    print_message("# %s\n", core_error_message());
    if (asked_for_gpu()) fail();
    skip();
  }
  run_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_gpu)};
  if (!asked_for_gpu()) setenv("SIM_TEAM_WORLDS", "alone", 1); /* how worlds are stepped is test_batch_bits' matter, and teams are slow to emulate */
  if (asked_for_gpu()) cmocka_set_test_filter("test_gpu");
  if (getenv("TEST_ONLY")) cmocka_set_test_filter(getenv("TEST_ONLY"));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
