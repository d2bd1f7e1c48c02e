/* Levels of a batch: the kinds of reset, new levels for every episode, replaced levels. */
#include "test.h"

#include <omp.h>

#include "core/random.h"
#include "sim/batch/batch_internal.h"
#include "sim/batch/filter.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"

enum { SHORT = 12, LEVELS = 6, SEED = 5 };

static SimBatch *make_batch(SimReset reset, const SimLevelSet *set, int worlds, uint32_t first_world) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  options.worlds = worlds;
  options.first_world = first_world;
  options.seed = SEED;
  options.max_steps = SHORT;
  options.reset = reset;
  if (sim_batch_create(&options, set, &batch) != CORE_OK) fail_msg("%s", core_error_message());
  return batch;
}

static SimLevelSet random_set(SimSize size, int count) {
  SimLevelSet set;
  if (sim_generate_set(size, count, &set) != CORE_OK) fail_msg("%s", core_error_message());
  return set;
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 1099511628211u;
  return hash;
}

/* Steps under random actions of (global world, t) and puts a hash of each world's every output into hash[w]. */
static void roll(SimBatch *batch, uint32_t t, int steps, uint64_t *hash) {
  const int n = sim_batch_worlds(batch), length = sim_batch_observation_length(batch);
  float *observations = calloc((size_t)n * (size_t)length, sizeof *observations);
  float *reward = calloc((size_t)n, sizeof *reward);
  uint8_t *actions = calloc((size_t)n, SIM_ACTIONS), *done = calloc((size_t)n, 1);
  for (int k = 0; k < steps; k++) {
    for (int w = 0; w < n; w++) {
      CoreRandom4 a = core_random_4(1, CORE_RANDOM_TEST, batch->options.first_world + (uint32_t)w, t + (uint32_t)k, 0);
      for (int i = 0; i < SIM_ACTIONS; i++)
        actions[w * SIM_ACTIONS + i] = (uint8_t)((a.v[i % 4] >> i) % (i < 4 ? 3 : 2));
    }
    sim_batch_step(batch, actions, &(SimStepOut){.observations = observations, .reward = reward, .done = done});
    for (int w = 0; w < n; w++) {
      hash[w] = mix(hash[w], observations + (size_t)w * (size_t)length, (size_t)length * sizeof *observations);
      hash[w] = mix(hash[w], &reward[w], sizeof reward[w]);
      hash[w] = mix(hash[w], &done[w], 1);
    }
  }
  free(observations);
  free(reward);
  free(actions);
  free(done);
}

/* ---- kinds of reset -------------------------------------------------------------------------------------------- */

static void a_world_can_keep_the_level_that_it_drew(void **state) {
  (void)state;
  enum { WORLDS = 60 };
  SimLevelSet set = random_set(SIM_SIZE_S, LEVELS);
  SimBatch *batch = make_batch(SIM_RESET_SAME, &set, WORLDS, 0);
  uint8_t idle[WORLDS * SIM_ACTIONS] = {0}, done[WORLDS];
  int32_t first[WORLDS], level[WORLDS];
  int met[LEVELS] = {0}, finished = 0;
  for (int t = 0; t < 3 * SHORT; t++) {
    sim_batch_step(batch, idle, &(SimStepOut){.level = t == 0 ? first : level, .done = done});
    if (t > 0) assert_memory_equal(level, first, sizeof level);
    for (int w = 0; w < WORLDS; w++) finished += done[w];
  }
  assert_true(finished >= 3 * WORLDS);
  for (int w = 0; w < WORLDS; w++) met[first[w]]++;
  for (int i = 0; i < LEVELS; i++) assert_in_range(met[i], 1, WORLDS / 2); /* 10 expected */
  sim_batch_destroy(&batch);
  sim_level_set_free(&set);
}

/* The level that a world plays, as it is at its start. */
static SimLevel present(const SimBatch *batch, int w) {
  SimLevel level;
  sim_batch_draw_new(batch, w, &level);
  return level;
}

static void every_episode_has_a_new_level(void **state) {
  (void)state;
  enum { WORLDS = 5, EPISODES = 4 };
  const SimLevelSet none = {.size = SIM_SIZE_M};
  SimBatch *batch = make_batch(SIM_RESET_NEW, &none, WORLDS, 0);
  uint8_t idle[WORLDS * SIM_ACTIONS] = {0}, done[WORLDS];
  int32_t level[WORLDS];
  SimLevel met[WORLDS][EPISODES + 1];

  for (int w = 0; w < WORLDS; w++) met[w][0] = present(batch, w);
  for (int t = 0; t < EPISODES * SHORT; t++) {
    sim_batch_step(batch, idle, &(SimStepOut){.level = level, .done = done});
    for (int w = 0; w < WORLDS; w++) {
      const int episode = (int)batch->worlds[w].episode;
      assert_int_equal(level[w], -1);
      if (!done[w] || episode > EPISODES) continue;
      SimLevel shown;
      met[w][episode] = present(batch, w);
      sim_batch_get_world(batch, w, &shown); /* the world is at the start of that level */
      assert_true(shown.polygon[4].x == met[w][episode].polygon[4].x);
      assert_true(shown.circle[0].y == met[w][episode].circle[0].y);
    }
  }

  for (int i = 0; i < WORLDS * (EPISODES + 1); i++) {
    const SimLevel *one = &met[0][0] + i;
    if (sim_level_check(one) != CORE_OK) fail_msg("%s", core_error_message());
    for (int k = 0; k < i; k++) assert_memory_not_equal(one->polygon, (&met[0][0] + k)->polygon, sizeof one->polygon);
  }

  sim_batch_destroy(&batch);
}

static void new_levels_do_not_depend_on_threads_or_division(void **state) {
  (void)state;
  enum { WORLDS = 21, STEPS = 4 * SHORT };
  static const int cut[] = {0, 1, 8, WORLDS};
  const SimLevelSet none = {.size = SIM_SIZE_M};
  for (SimReset reset = SIM_RESET_NEW; reset <= SIM_RESET_NEW_FILTERED; reset++) {
    uint64_t whole[WORLDS] = {0}, parts[WORLDS] = {0};
    omp_set_num_threads(2);
    SimBatch *batch = make_batch(reset, &none, WORLDS, 40);
    roll(batch, 0, STEPS, whole);
    sim_batch_destroy(&batch);
    omp_set_num_threads(1);
    for (int i = 0; i < 3; i++) {
      batch = make_batch(reset, &none, cut[i + 1] - cut[i], 40 + (uint32_t)cut[i]);
      roll(batch, 0, STEPS, parts + cut[i]);
      sim_batch_destroy(&batch);
    }
    assert_memory_equal(whole, parts, sizeof whole);
    for (int w = 1; w < WORLDS; w++) assert_true(whole[w] != whole[0]);
  }
}

static void new_levels_come_back_with_a_saved_state(void **state) {
  (void)state;
  enum { WORLDS = 9 };
  SimLevelSet set = random_set(SIM_SIZE_S, LEVELS);
  uint64_t straight[WORLDS] = {0}, resumed[WORLDS] = {0};
  SimBatch *batch = make_batch(SIM_RESET_NEW, &set, WORLDS, 3);
  const size_t bytes = sim_batch_state_bytes(batch);
  char *saved = malloc(bytes);
  uint64_t ignored[WORLDS] = {0};
  roll(batch, 0, 2 * SHORT + 5, ignored);
  sim_batch_save(batch, saved);
  roll(batch, 100, 2 * SHORT, straight);
  sim_batch_destroy(&batch);
  batch = make_batch(SIM_RESET_NEW, &set, WORLDS, 3);
  if (sim_batch_load(batch, saved, bytes) != CORE_OK) fail_msg("%s", core_error_message());
  roll(batch, 100, 2 * SHORT, resumed);
  assert_memory_equal(straight, resumed, sizeof straight);
  sim_batch_destroy(&batch);
  batch = make_batch(SIM_RESET_LEVEL_SET, &set, WORLDS, 3); /* has no room for levels outside of its set */
  assert_int_equal(sim_batch_load(batch, saved, bytes), CORE_USAGE);
  sim_batch_destroy(&batch);
  free(saved);
  sim_level_set_free(&set);
}

static void levels_of_the_set_can_be_played_beside_new_ones(void **state) {
  (void)state;
  SimLevelSet set = random_set(SIM_SIZE_S, LEVELS);
  SimBatch *batch = make_batch(SIM_RESET_NEW, &set, 3, 0);
  int32_t chosen[3] = {4, 0, 4}, level[3];
  uint8_t idle[3 * SIM_ACTIONS] = {0};
  sim_batch_reset_to(batch, chosen, NULL);
  for (int t = 0; t < 3 * SHORT; t++) {
    sim_batch_step(batch, idle, &(SimStepOut){.level = level});
    assert_memory_equal(level, chosen, sizeof level);
  }
  sim_batch_reset(batch, NULL);
  sim_batch_step(batch, idle, &(SimStepOut){.level = level});
  assert_int_equal(level[0], -1);
  sim_batch_destroy(&batch);
  sim_level_set_free(&set);
}

static void new_levels_get_the_slots_of_the_set(void **state) {
  (void)state;
  const SimLevelSet none = {.size = SIM_SIZE_L};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  SimLevel level;
  options.reset = SIM_RESET_NEW;
  options.new_size = SIM_SIZE_S;
  assert_int_equal(sim_batch_create(&options, &none, &batch), CORE_OK);
  sim_batch_get_world(batch, 0, &level);
  assert_int_equal(level.size.polygons, SIM_SIZE_L.polygons);
  for (int i = SIM_SIZE_S.polygons; i < SIM_SIZE_L.polygons; i++) assert_false(level.polygon[i].active);
  sim_batch_destroy(&batch);
}

/* ---- the filter, one level at a time --------------------------------------------------------------------------- */

/* Against the filter over whole sets; small scenes solve themselves often enough to meet every case. */
static void a_single_draw_is_what_the_filter_keeps(void **state) {
  (void)state;
  enum { PAIRS = 400 };
  int solved = 0;
  for (uint32_t pair = 0; pair < PAIRS; pair++) {
    SimLevelSet kept, drawn = {.size = SIM_SIZE_S, .count = 2};
    SimLevel two[2], single;
    uint8_t idle[2];
    if (sim_generate_filtered(SIM_SIZE_S, 11, 2 * pair, 1, &kept) != CORE_OK) fail_msg("%s", core_error_message());
    sim_filter_draw(SIM_SIZE_S, 11, 2 * pair, &single);
    assert_memory_equal(&single, &kept.level[0], sizeof single);
    for (uint32_t i = 0; i < 2; i++)
      assert_int_equal(sim_generate_level(SIM_SIZE_S, 11, 2 * pair + i, &two[i]), CORE_OK);
    drawn.level = two;
    assert_int_equal(sim_filter_noop(&drawn, idle), CORE_OK);
    solved += idle[0] || idle[1];
    sim_level_set_free(&kept);
  }
  assert_true(solved >= 10);
}

/* ---- replaced levels ------------------------------------------------------------------------------------------- */

static void replaced_levels_play_as_in_a_batch_of_their_own(void **state) {
  (void)state;
  enum { WORLDS = 10 };
  SimLevelSet all = random_set(SIM_SIZE_M, 2 * LEVELS);
  SimLevelSet old = {all.level, LEVELS, all.size}, new = {all.level + LEVELS, LEVELS, all.size};
  int32_t chosen[WORLDS];
  uint64_t expected[WORLDS] = {0}, replaced[WORLDS] = {0}, before[WORLDS] = {0};
  for (int w = 0; w < WORLDS; w++) chosen[w] = (w * 5) % LEVELS;
  SimBatch *own = make_batch(SIM_RESET_LEVEL_SET, &new, WORLDS, 0);
  SimBatch *batch = make_batch(SIM_RESET_LEVEL_SET, &old, WORLDS, 0);
  sim_batch_reset_to(own, chosen, NULL);
  roll(own, 0, 2 * SHORT, expected);
  roll(batch, 0, SHORT / 2, before);
  assert_int_equal(sim_batch_replace_levels(batch, &new), CORE_OK);
  sim_batch_reset_to(batch, chosen, NULL);
  roll(batch, 0, 2 * SHORT, replaced);
  assert_memory_equal(expected, replaced, sizeof expected);
  sim_batch_destroy(&own);
  sim_batch_destroy(&batch);
  sim_level_set_free(&all);
}

static void levels_that_do_not_fit_are_refused_and_nothing_changes(void **state) {
  (void)state;
  SimLevelSet set = random_set(SIM_SIZE_S, LEVELS), other = random_set(SIM_SIZE_M, LEVELS);
  SimLevelSet fewer = {set.level, LEVELS - 1, set.size};
  SimBatch *batch = make_batch(SIM_RESET_LEVEL_SET, &set, 2, 0);
  SimModel *before = malloc(LEVELS * sizeof *before);
  memcpy(before, batch->models, LEVELS * sizeof *before);
  assert_int_equal(sim_batch_replace_levels(batch, &fewer), CORE_USAGE);
  assert_int_equal(sim_batch_replace_levels(batch, &other), CORE_USAGE);
  set.level[LEVELS - 1].polygon[0].role = 7;
  set.level[0].polygon[0].role = SIM_ROLE_RED;
  assert_int_equal(sim_batch_replace_levels(batch, &set), CORE_USAGE);
  assert_message("role");
  assert_memory_equal(before, batch->models, LEVELS * sizeof *before);
  free(before);
  sim_batch_destroy(&batch);
  sim_level_set_free(&set);
  sim_level_set_free(&other);
}

static void compact_observations_must_show_the_replacement(void **state) {
  (void)state;
  SimLevel bare = sim_level_empty(SIM_SIZE_S, true), full;
  SimLevelSet set = {&bare, 1, SIM_SIZE_S};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  snprintf(bare.name, sizeof bare.name, "bare");
  options.compact_observations = true;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_OK);
  assert_int_equal(sim_batch_replace_levels(batch, &set), CORE_OK);
  assert_int_equal(sim_generate_level(SIM_SIZE_S, 1, 1, &full), CORE_OK);
  set.level = &full;
  assert_int_equal(sim_batch_replace_levels(batch, &set), CORE_USAGE);
  assert_message("compact_observations");
  sim_batch_destroy(&batch);
}

static void impossible_resets_are_refused(void **state) {
  (void)state;
  const SimLevelSet none = {.size = SIM_SIZE_S};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  assert_int_equal(sim_batch_create(&options, &none, &batch), CORE_USAGE);
  options.reset = (SimReset)9;
  assert_int_equal(sim_batch_create(&options, &none, &batch), CORE_USAGE);
  options.reset = SIM_RESET_NEW;
  options.new_size = SIM_SIZE_M; /* does not fit into the set's S */
  assert_int_equal(sim_batch_create(&options, &none, &batch), CORE_USAGE);
  assert_null(batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_world_can_keep_the_level_that_it_drew),
    cmocka_unit_test(every_episode_has_a_new_level),
    cmocka_unit_test(new_levels_do_not_depend_on_threads_or_division),
    cmocka_unit_test(new_levels_come_back_with_a_saved_state),
    cmocka_unit_test(levels_of_the_set_can_be_played_beside_new_ones),
    cmocka_unit_test(new_levels_get_the_slots_of_the_set),
    cmocka_unit_test(a_single_draw_is_what_the_filter_keeps),
    cmocka_unit_test(replaced_levels_play_as_in_a_batch_of_their_own),
    cmocka_unit_test(levels_that_do_not_fit_are_refused_and_nothing_changes),
    cmocka_unit_test(compact_observations_must_show_the_replacement),
    cmocka_unit_test(impossible_resets_are_refused),
  };
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
