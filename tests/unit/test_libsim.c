/* libsim's interface: same results as batch.h, worlds viewed in place, and errors for unsupported calls.
 * tests/install/test_libsim.sh tests installation and linking. */
#include "test.h"

#include <omp.h>

#include "core/error.h"
#include "core/files.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"
#include "sim/library/sim.h"

enum { WORLDS = 20, STEPS = 30 };
#define GOOD "tests/fuzz/corpus/level/good.json"
#define RUNS_TO_NAN "tests/fuzz/corpus/level/runs-to-nan.json"

static void expect(int code, int expected, const char *part) {
  if (code != expected) fail_msg("code %d, not %d: %s", code, expected, libsim_error());
  if (!strstr(libsim_error(), part)) fail_msg("'%s' is not in: %s", part, libsim_error());
}
#define assert_done(call) do { if ((call) != LIBSIM_OK) fail_msg("%s", libsim_error()); } while (0)

static LibsimBatch *make(LibsimOptions options, const char *paths) {
  LibsimLevels *levels;
  LibsimBatch *batch;
  if (paths) assert_done(libsim_levels_read(paths, &levels));
  else assert_done(libsim_levels_loco512("all", "all", 24, &levels));
  assert_done(libsim_create(&options, levels, &batch));
  libsim_levels_destroy(&levels);
  assert_null(levels);
  return batch;
}

static LibsimOptions small(void) {
  LibsimOptions options = libsim_options_default();
  options.worlds = WORLDS;
  options.seed = 4;
  options.max_steps = 12;
  return options;
}

static void fill(uint8_t *bytes, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24) % 3;
}

/* ---- the same as batch.h ----------------------------------------------------------------------------------------- */

static void steps_are_those_of_a_batch(void **state) {
  SimLevelSet set;
  SimBatch *inside;
  SimBatchOptions options = sim_batch_options_default();
  LibsimOptions outer = small();
  options.worlds = WORLDS, options.seed = 4, options.max_steps = 12;
  outer.threads = 2;
  assert_int_equal(sim_morphology_set("all", "all", 24, &set), CORE_OK);
  assert_int_equal(sim_batch_create(&options, &set, &inside), CORE_OK);

  LibsimBatch *batch = make(outer, NULL);
  size_t length = (size_t)libsim_observation_length(batch), bytes = WORLDS * length * sizeof(float);
  assert_int_equal(length, sim_batch_observation_length(inside));
  assert_int_equal(libsim_actions(batch), SIM_ACTIONS);

  float *a = malloc(bytes), *b = malloc(bytes), reward[2][WORLDS];
  uint8_t actions[WORLDS * SIM_ACTIONS], done[2][WORLDS];
  int32_t level[2][WORLDS], threads = omp_get_max_threads();
  SimStepOut out = {.observations = a, .reward = reward[0], .done = done[0], .level = level[0]};
  LibsimStep outer_out = {.observations = b, .reward = reward[1], .done = done[1], .level = level[1]};

  sim_batch_reset(inside, a);
  assert_done(libsim_reset(batch, b));
  assert_memory_equal(a, b, bytes);

  for (uint32_t t = 0; t < STEPS; t++) {
    fill(actions, sizeof actions, t);
    sim_batch_step(inside, actions, &out);
    assert_done(libsim_step(batch, actions, &outer_out));
    assert_memory_equal(a, b, bytes);
    assert_memory_equal(reward[0], reward[1], sizeof reward[0]);
    assert_memory_equal(done[0], done[1], sizeof done[0]);
    assert_memory_equal(level[0], level[1], sizeof level[0]);
  }

  memset(b, 0, bytes);
  assert_done(libsim_observe(batch, b));
  assert_memory_equal(a, b, bytes);
  assert_int_equal(omp_get_max_threads(), threads); /* the caller's setting is as it was */

  free(a), free(b);
  sim_batch_destroy(&inside);
  sim_level_set_free(&set);
  libsim_destroy(&batch);
  assert_null(batch);
}

/* Worlds that continue after their end show the same as worlds that are reset. */
static void last_observations_are_those_before_the_reset(void **state) {
  LibsimOptions goes_on = small();
  goes_on.auto_reset = 0;
  LibsimBatch *batch = make(small(), NULL), *blind = make(small(), NULL), *other = make(goes_on, NULL);
  const size_t length = (size_t)libsim_observation_length(batch), row = length * sizeof(float);
  float *last = calloc(WORLDS, row), *unseen = calloc(WORLDS, row), *shown = calloc(WORLDS, row),
        *next = calloc(WORLDS, row), *none = calloc(1, row);
  uint8_t actions[WORLDS * SIM_ACTIONS], done[WORLDS], has_ended[WORLDS] = {0};
  const LibsimStep out = {.observations = next, .done = done}, other_out = {.observations = shown};

  assert_done(libsim_reset(batch, NULL));
  assert_done(libsim_reset(blind, NULL));
  assert_done(libsim_reset(other, NULL));

  for (uint32_t t = 0; t < 12; t++) {
    fill(actions, sizeof actions, t);
    assert_done(libsim_step_final(batch, actions, &out, last));
    assert_done(libsim_step_final(blind, actions, NULL, unseen)); /* kernels that need not show anything */
    assert_done(libsim_step(other, actions, &other_out));

    assert_memory_equal(last, unseen, WORLDS * row);
    for (size_t w = 0; w < WORLDS; w++) {
      const float *expected = done[w] && !has_ended[w] ? shown + w * length : has_ended[w] ? NULL : none;
      if (expected) assert_memory_equal(last + w * length, expected, row);
      if (expected == shown + w * length) assert_memory_not_equal(next + w * length, expected, row);
      has_ended[w] |= done[w];
    }
  }

  for (int w = 0; w < WORLDS; w++) assert_true(has_ended[w]);

  free(last), free(unseen), free(shown), free(next), free(none);
  libsim_destroy(&batch), libsim_destroy(&blind), libsim_destroy(&other);
}

/* Why each episode ended, from rewards without their dense part: red's -1, blue's +1, else the time. With the dense
 * part it would be indistinguishable from them. Nothing else differs. */
static void done_tells_the_time_limit(void **state) {
  static const char *const KERNELS[] = {"scalar", "avx2", "avx512"};
  for (int k = 0; k < 3; k++) {
    setenv("SIM_KERNELS", KERNELS[k], 1);
    LibsimOptions options = small();
    LibsimLevels *levels;
    LibsimBatch *plain, *telling;
    int64_t late = 0, others = 0, misleading = 0;
    uint8_t actions[WORLDS * SIM_ACTIONS], done[2][WORLDS], solved[2][WORLDS];
    float reward[2][WORLDS];
    int32_t steps[2][WORLDS];

    assert_done(libsim_levels_random('s', 1, 0, 40, 0, &levels));
    options.dense_reward = 0;
    assert_done(libsim_create(&options, levels, &plain));
    options.dense_reward = 50, options.done_reason = 1;
    assert_done(libsim_create(&options, levels, &telling));
    libsim_levels_destroy(&levels);

    for (uint32_t t = 0; t < 10 * STEPS; t++) {
      fill(actions, sizeof actions, t);
      assert_done(libsim_step(plain, actions, &(LibsimStep){NULL, reward[0], done[0], solved[0], NULL, steps[0]}));
      assert_done(libsim_step(telling, actions, &(LibsimStep){NULL, reward[1], done[1], solved[1], NULL, steps[1]}));
      for (int w = 0; w < WORLDS; w++) {
        assert_int_equal(done[1][w], done[0][w] == 0 ? 0 : reward[0][w] == 0 ? 2 : 1);
        late += done[1][w] == 2, others += done[1][w] == 1;
        misleading += done[1][w] == 2 && reward[1][w] < -0.5f;
        if (done[1][w] == 2) assert_int_equal(steps[1][w], options.max_steps);
      }
      assert_memory_equal(solved[0], solved[1], sizeof solved[0]);
      assert_memory_equal(steps[0], steps[1], sizeof steps[0]);
    }

    assert_true(late > 100 && others > 5 && misleading > 10);
    assert_int_equal(libsim_nonfinite(telling), 0);
    libsim_destroy(&plain), libsim_destroy(&telling);
  }
  unsetenv("SIM_KERNELS");
}

static void a_saved_state_goes_on_the_same(void **state) {
  LibsimBatch *first = make(small(), NULL), *second = make(small(), NULL);
  size_t bytes = libsim_state_bytes(first);
  void *saved = malloc(bytes), *after = malloc(bytes), *again = malloc(bytes);
  uint8_t actions[WORLDS * SIM_ACTIONS];
  fill(actions, sizeof actions, 3);
  for (int t = 0; t < STEPS; t++) assert_done(libsim_step(first, actions, NULL));
  assert_done(libsim_save(first, saved, bytes));
  assert_done(libsim_load(second, saved, bytes));
  assert_done(libsim_step(first, actions, NULL));
  assert_done(libsim_step(second, actions, NULL));
  assert_done(libsim_save(first, after, bytes));
  assert_done(libsim_save(second, again, bytes));
  assert_memory_equal(after, again, bytes);
  expect(libsim_save(first, saved, bytes - 1), LIBSIM_USAGE, "the state has");
  expect(libsim_load(first, saved, bytes - 1), LIBSIM_USAGE, "for these levels and worlds");
  memset(saved, 0xff, 8);
  expect(libsim_load(first, saved, bytes), LIBSIM_USAGE, "another version");
  free(saved), free(after), free(again);
  libsim_destroy(&first);
  libsim_destroy(&second);
}

static void actions_and_resets_are_passed_on(void **state) {
  LibsimOptions options = small();
  options.actions = LIBSIM_DISCRETE;
  options.reset = LIBSIM_RESET_NEW;
  options.new_size = 's';
  LibsimBatch *batch = make(options, NULL);
  uint8_t actions[WORLDS];
  int32_t level[WORLDS];
  assert_int_equal(libsim_actions(batch), 1);
  memset(actions, 8, sizeof actions);
  const LibsimStep out = {.level = level};
  assert_done(libsim_step(batch, actions, &out));
  for (int w = 0; w < WORLDS; w++) assert_int_equal(level[w], -1);
  libsim_destroy(&batch);
  options.actions = LIBSIM_CONTINUOUS;
  options.reset = LIBSIM_RESET_SAME;
  options.new_size = 0;
  batch = make(options, NULL);
  float values[WORLDS * SIM_ACTIONS] = {0};
  int32_t first[WORLDS];
  const LibsimStep start = {.level = first};
  assert_done(libsim_step(batch, values, &start));
  for (int t = 0; t < STEPS; t++) assert_done(libsim_step(batch, values, &out));
  assert_memory_equal(level, first, sizeof first);
  libsim_destroy(&batch);
}

/* ---- looking at worlds ------------------------------------------------------------------------------------------- */

static void fields_are_where_they_say(void **state) {
  LibsimBatch *batch = make(small(), GOOD);
  LibsimField field;
  uint8_t actions[WORLDS * SIM_ACTIONS] = {0};
  assert_done(libsim_step(batch, actions, NULL));

  int count = 0;
  for (; libsim_field(batch, count, &field) == LIBSIM_OK; count++) {
    size_t bytes = (size_t)(field.shape[0] * field.shape[1] * field.shape[2]) * 4;
    unsigned char *values = malloc(bytes);
    assert_int_equal(field.shape[0], WORLDS);
    assert_true(field.shape[1] >= 1 && field.shape[2] >= 1 && field.shape[2] <= 2 && field.meaning[0]);

    assert_done(libsim_field_copy(batch, field.name, values, bytes));
    for (int64_t w = 0, k = 0; w < field.shape[0]; w++)
      for (int64_t s = 0; s < field.shape[1]; s++)
        for (int64_t c = 0; c < field.shape[2]; c++, k++) {
          const char *at = (const char *)field.data + w * field.stride[0] + s * field.stride[1] + c * field.stride[2];
          assert_memory_equal(at, values + 4 * k, 4);
        }
    expect(libsim_field_copy(batch, field.name, values, bytes + 4), LIBSIM_USAGE, "bytes, not");
    free(values);
  }

  assert_int_equal(count, 13);
  expect(libsim_field(batch, count, &field), LIBSIM_USAGE, "expected 0 to 12");
  expect(libsim_field_named(batch, "positon", &field), LIBSIM_USAGE, "did you mean position");

  assert_done(libsim_field_named(batch, "timestep", &field));
  assert_int_equal(field.type, LIBSIM_INT32);
  assert_int_equal(*(const int32_t *)field.data, 1);

  float position[WORLDS][7][2];
  assert_done(libsim_field_copy(batch, "position", position, sizeof position));
  assert_float_equal(position[3][6][0], 4, 0); /* the fixated goal: circle 1, after five polygons */
  assert_float_equal(position[3][6][1], 1.5f, 0);

  libsim_destroy(&batch);
}

static void worlds_can_be_drawn(void **state) {
  LibsimBatch *batch = make(small(), GOOD);
  char *svg;
  assert_done(libsim_draw(batch, 2, 100, &svg));
  assert_non_null(strstr(svg, "width=\"100\""));
  assert_non_null(strstr(svg, "<circle"));
  libsim_free(svg);
  expect(libsim_draw(batch, WORLDS, 100, &svg), LIBSIM_USAGE, "worlds 0 to 19");
  assert_null(svg);
  expect(libsim_draw(batch, 0, 3, &svg), LIBSIM_USAGE, "3");
  assert_null(svg);
  libsim_destroy(&batch);
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

static void levels_come_from_everywhere(void **state) {
  LibsimLevels *levels, *again;
  LibsimSize size;
  char *json;

  assert_done(libsim_levels_random('m', 3, 10, 5, 0, &levels));
  assert_int_equal(libsim_levels_count(levels), 5);
  assert_done(libsim_levels_size(levels, &size));
  assert_true(size.polygons == 6 && size.circles == 3 && size.joints == 2 && size.thrusters == 2 && size.contacts > 0);

  assert_done(libsim_levels_write(levels, 4, &json));
  assert_done(libsim_levels_parse("again.json", json, strlen(json), &again));
  assert_string_equal(libsim_levels_name(again, 0), "again");
  assert_null(libsim_levels_name(again, 1));
  libsim_free(json);
  libsim_levels_destroy(&again);

  expect(libsim_levels_write(levels, 5, &json), LIBSIM_USAGE, "levels 0 to 4");
  libsim_levels_destroy(&levels);
  assert_done(libsim_levels_random('s', 3, 0, 4, 1, &levels));
  assert_int_equal(libsim_levels_count(levels), 4);
  libsim_levels_destroy(&levels);

  expect(libsim_levels_random('x', 0, 0, 1, 0, &levels), LIBSIM_USAGE, "size must be 's', 'm' or 'l'");
  expect(libsim_levels_random('s', 0, UINT32_MAX, 2, 0, &levels), LIBSIM_USAGE, "32 bits");
  expect(libsim_levels_random('s', 0, 0, 0, 0, &levels), LIBSIM_USAGE, "at least 1");
  expect(libsim_levels_loco512("car", "7", 3, &levels), LIBSIM_USAGE, "unknown '7'");
  expect(libsim_levels_read("", &levels), LIBSIM_USAGE, "name a directory");
  expect(libsim_levels_read("nowhere", &levels), LIBSIM_USAGE, "nowhere: No such file");
  expect(libsim_levels_parse("x.json", "{", 1, &levels), LIBSIM_USAGE, "x.json:1:1: not valid JSON");

  assert_null(levels);
}

/* ---- bad use ----------------------------------------------------------------------------------------------------- */

static void wrong_options_are_refused(void **state) {
  LibsimLevels *levels;
  LibsimBatch *batch;
  LibsimOptions bad;
  assert_done(libsim_levels_read(GOOD, &levels));
#define REFUSED(change, message) \
  bad = small(), change, expect(libsim_create(&bad, levels, &batch), LIBSIM_USAGE, message), assert_null(batch)
  REFUSED(bad.worlds = 0, "worlds must be at least 1");
  REFUSED(bad.threads = -1, "threads must be");
  REFUSED(bad.frame_skip = 0, "frame_skip");
  REFUSED(bad.max_steps = -5, "max_steps");
  REFUSED(bad.dense_reward = NAN, "dense_reward");
  REFUSED(bad.actions = 3, "action space");
  REFUSED(bad.reset = -1, "reset kind");
  REFUSED(bad.new_size = 'q', "new_size");
  REFUSED(bad.reserved[16] = 1, "reserved");
#undef REFUSED
  libsim_levels_destroy(&levels);
}

static void null_is_an_error_not_a_crash(void **state) {
  LibsimBatch *batch = make(small(), GOOD), *none = NULL;
  LibsimOptions options = small();
  LibsimField field;
  int32_t level[WORLDS] = {0};
  level[7] = 1;
  expect(libsim_reset_to(batch, level, NULL), LIBSIM_USAGE, "level[7] is 1; the batch has levels 0 to 0");
  expect(libsim_step(batch, NULL, NULL), LIBSIM_USAGE, "actions is NULL");
  expect(libsim_step(NULL, level, NULL), LIBSIM_USAGE, "batch is NULL");
  expect(libsim_reset(NULL, NULL), LIBSIM_USAGE, "batch is NULL");
  expect(libsim_observe(batch, NULL), LIBSIM_USAGE, "observations is NULL");
  expect(libsim_create(&options, NULL, &none), LIBSIM_USAGE, "levels is NULL");
  expect(libsim_create(NULL, NULL, &none), LIBSIM_USAGE, "options is NULL");
  expect(libsim_field(NULL, 0, &field), LIBSIM_USAGE, "batch is NULL");
  expect(libsim_field_named(NULL, "level", &field), LIBSIM_USAGE, "batch is NULL");
  expect(libsim_levels_read(NULL, NULL), LIBSIM_USAGE, "levels is NULL");
  expect(libsim_draw(batch, 0, 100, NULL), LIBSIM_USAGE, "svg is NULL");
  assert_true(libsim_worlds(NULL) == 0 && libsim_bytes(NULL) == 0 && libsim_nonfinite(NULL) == 0);
  libsim_destroy(&none);
  libsim_destroy(NULL);
  libsim_levels_destroy(NULL);
  libsim_destroy(&batch);
}

/* ---- worlds that are not finite ---------------------------------------------------------------------------------- */

/* A level whose masses are beyond float32 runs to NaN by itself. Every world of it ends, unsolved and counted, and
 * begins again from good numbers; whatever the kernels. */
static void a_level_that_runs_to_nan_ends_its_episodes(void **state) {
  static const char *const KERNELS[] = {"scalar", "avx2", "avx512"};
  LibsimOptions options = small();
  options.done_reason = 1;

  for (int k = 0; k < 3; k++) {
    setenv("SIM_KERNELS", KERNELS[k], 1);
    LibsimBatch *batch = make(options, RUNS_TO_NAN);
    const size_t length = (size_t)libsim_observation_length(batch);
    float *observations = malloc(WORLDS * length * sizeof *observations), reward[WORLDS];
    uint8_t actions[WORLDS * SIM_ACTIONS], done[WORLDS], solved[WORLDS];
    int64_t ended = 0;
    const LibsimStep out = {.observations = observations, .reward = reward, .done = done, .solved = solved};

    for (uint32_t t = 0; t < 10; t++) { /* fewer than max_steps */
      fill(actions, sizeof actions, t);
      assert_done(libsim_step(batch, actions, &out));
      for (int w = 0; w < WORLDS; w++) {
        assert_true(isfinite(reward[w]) && !solved[w] && done[w] < 2);
        ended += done[w];
      }
      for (size_t i = 0; i < WORLDS * length; i++) assert_true(fabsf(observations[i]) <= 10);
    }

    assert_true(ended >= WORLDS);
    assert_int_equal(libsim_nonfinite(batch), ended);
    free(observations);
    libsim_destroy(&batch);
  }
  unsetenv("SIM_KERNELS");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_are_those_of_a_batch), cmocka_unit_test(last_observations_are_those_before_the_reset),
    cmocka_unit_test(done_tells_the_time_limit), cmocka_unit_test(a_saved_state_goes_on_the_same),
    cmocka_unit_test(actions_and_resets_are_passed_on), cmocka_unit_test(fields_are_where_they_say),
    cmocka_unit_test(worlds_can_be_drawn), cmocka_unit_test(levels_come_from_everywhere),
    cmocka_unit_test(wrong_options_are_refused), cmocka_unit_test(null_is_an_error_not_a_crash),
    cmocka_unit_test(a_level_that_runs_to_nan_ends_its_episodes)};
  return cmocka_run_group_tests_name("libsim", tests, NULL, NULL);
}
