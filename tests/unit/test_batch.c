/* The batch as its users see it: independence of threads and division, saved states, auto-reset, bad input. */
#include "test.h"

#include <omp.h>

#include "core/random.h"
#include "sim/batch/batch_internal.h"

enum { SCENES = 5 };

/* ---- scenes ---------------------------------------------------------------------------------------------------- */

static void put_box(SimLevel *level, int slot, float x, float y, float hx, float hy) {
  SimShape *s = &level->polygon[slot];
  float vx[4] = {hx, hx, -hx, -hx}, vy[4] = {hy, -hy, -hy, hy};
  *s = (SimShape){.active = true, .x = x, .y = y, .inverse_mass = 1, .inverse_inertia = 1, .density = 1, .friction = 1,
                  .collision_mode = 1, .vertex_count = 4};
  memcpy(s->vertex_x, vx, sizeof vx);
  memcpy(s->vertex_y, vy, sizeof vy);
}

static void put_circle(SimLevel *level, int slot, float x, float y, float radius) {
  level->circle[slot] = (SimShape){.active = true, .x = x, .y = y, .inverse_mass = 1, .inverse_inertia = 1,
                                   .density = 1, .friction = 1, .collision_mode = 1, .radius = radius};
}

/* A cart on two driven wheels with a thruster, a loose box, and a goal that a few seconds of luck reach. */
static SimLevel scene(int variant) {
  SimLevel level = sim_level_empty(SIM_SIZE_M, true);
  float x = 1.0f + 0.3f * (float)variant;
  snprintf(level.name, sizeof level.name, "scene %d", variant);
  put_box(&level, 4, x, 0.75f, 0.3f, 0.08f);
  put_box(&level, 5, 4.2f, 0.7f, 0.1f, 0.15f);
  put_circle(&level, 0, x - 0.2f, 0.62f, 0.15f);
  put_circle(&level, 1, x + 0.2f, 0.62f, 0.15f);
  put_circle(&level, 2, x + 1.1f, 1.0f, 0.2f);
  level.circle[2].inverse_mass = level.circle[2].inverse_inertia = 0;
  level.circle[2].role = SIM_ROLE_BLUE;
  level.polygon[4].role = SIM_ROLE_GREEN;
  level.polygon[5].role = SIM_ROLE_RED;
  for (int i = 0; i < 2; i++)
    level.joint[i] = (SimJoint){.active = true, .a = 4, .b = 6 + i, .a_x = i ? 0.2f : -0.2f, .a_y = -0.13f,
                                .motor_on = true, .motor_speed = 2, .motor_power = 1, .motor_binding = i};
  level.thruster[0] = (SimThruster){.active = true, .shape = 4, .rotation = 1.2f, .power = 2};
  sim_level_recompute_mass(&level);
  return level;
}

typedef struct Scenes { SimLevel level[SCENES]; SimLevelSet set; } Scenes;

static void make_scenes(Scenes *scenes) {
  for (int i = 0; i < SCENES; i++) scenes->level[i] = scene(i);
  scenes->set = (SimLevelSet){scenes->level, SCENES, SIM_SIZE_M};
}

static SimBatch *make_batch(const SimLevelSet *set, int worlds, uint32_t first_world) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  options.worlds = worlds;
  options.first_world = first_world;
  options.seed = 77;
  options.max_steps = 60;
  assert_int_equal(sim_batch_create(&options, set, &batch), CORE_OK);
  return batch;
}

static void draw_actions(uint32_t seed, uint32_t first, int worlds, uint32_t t, uint8_t *actions) {
  for (int w = 0; w < worlds; w++) {
    CoreRandom4 a = core_random_4(seed, CORE_RANDOM_TEST, first + (uint32_t)w, t, 0);
    CoreRandom4 b = core_random_4(seed, CORE_RANDOM_TEST, first + (uint32_t)w, t, 1);
    for (int i = 0; i < SIM_ACTIONS; i++)
      actions[w * SIM_ACTIONS + i] =
          (uint8_t)core_random_below(i < 4 ? a.v[i] : b.v[i - 4], i < SIM_MOTOR_BINDINGS ? 3 : 2);
  }
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 1099511628211u;
  return hash;
}

/* Steps `steps` times and puts a hash of each world's every output into hash[w]; `t` is the first step's number. */
static void roll(SimBatch *batch, uint32_t t, int steps, uint64_t *hash) {
  int n = sim_batch_worlds(batch), length = sim_batch_observation_length(batch);
  float *observations = calloc((size_t)n * (size_t)length, sizeof *observations);
  float *reward = calloc((size_t)n, sizeof *reward);
  uint8_t *actions = calloc((size_t)n, SIM_ACTIONS), *done = calloc((size_t)n, 1), *solved = calloc((size_t)n, 1);
  int32_t *level = calloc((size_t)n, sizeof *level), *steps_taken = calloc((size_t)n, sizeof *steps_taken);
  SimStepOut out = {observations, reward, done, solved, level, steps_taken};

  for (int k = 0; k < steps; k++) {
    draw_actions(3, batch->options.first_world, n, t + (uint32_t)k, actions);
    sim_batch_step(batch, actions, &out);
    for (int w = 0; w < n; w++) {
      hash[w] = mix(hash[w], observations + (size_t)w * (size_t)length, (size_t)length * sizeof *observations);
      hash[w] = mix(hash[w], &reward[w], sizeof reward[w]);
      hash[w] = mix(hash[w], &done[w], 1);
      hash[w] = mix(hash[w], &solved[w], 1);
      hash[w] = mix(hash[w], &level[w], sizeof level[w]);
      hash[w] = mix(hash[w], &steps_taken[w], sizeof steps_taken[w]);
    }
  }

  for (int w = 0; w < n; w++) hash[w] = mix(hash[w], &batch->worlds[w], sizeof batch->worlds[w]);
  free(observations);
  free(reward);
  free(actions);
  free(done);
  free(solved);
  free(level);
  free(steps_taken);
}

/* ---- independence ---------------------------------------------------------------------------------------------- */

static void threads_and_division_do_not_matter(void **state) {
  (void)state;
  enum { WORLDS = 37, STEPS = 150 };
  Scenes scenes;
  uint64_t one[WORLDS] = {0}, two[WORLDS] = {0}, divided[WORLDS] = {0};
  int episodes = 0;
  make_scenes(&scenes);
  SimBatch *batch = make_batch(&scenes.set, WORLDS, 100);
  roll(batch, 0, STEPS, one);
  for (int w = 0; w < WORLDS; w++) episodes += (int)batch->worlds[w].episode;
  sim_batch_reset(batch, NULL);
  omp_set_num_threads(2);
  roll(batch, 0, STEPS, two);
  sim_batch_destroy(&batch);
  omp_set_num_threads(1);
  static const int cut[] = {0, 1, 20, WORLDS};
  for (int part = 0; part < 3; part++) {
    batch = make_batch(&scenes.set, cut[part + 1] - cut[part], 100 + (uint32_t)cut[part]);
    roll(batch, 0, STEPS, divided + cut[part]);
    sim_batch_destroy(&batch);
  }
  assert_memory_equal(one, two, sizeof one);
  assert_memory_equal(one, divided, sizeof one);
  assert_true(one[0] != one[1]);
  assert_true(episodes >= WORLDS); /* resets were part of it */
}

static void every_level_is_drawn(void **state) {
  (void)state;
  Scenes scenes;
  int count[SCENES] = {0};
  make_scenes(&scenes);
  SimBatch *batch = make_batch(&scenes.set, 1000, 0);
  for (int w = 0; w < 1000; w++) count[batch->worlds[w].level]++;
  for (int i = 0; i < SCENES; i++) assert_in_range(count[i], 140, 260); /* 200 expected, sd 12.6 */
  sim_batch_destroy(&batch);
}

static void compact_observations_leave_out_only_zeros(void **state) {
  (void)state;
  enum { WORLDS = 6 };
  Scenes scenes;
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *whole, *compact;
  int all;

  make_scenes(&scenes);
  options.worlds = WORLDS;
  assert_int_equal(sim_batch_create(&options, &scenes.set, &whole), CORE_OK);
  options.compact_observations = true;
  assert_int_equal(sim_batch_create(&options, &scenes.set, &compact), CORE_OK);

  const int32_t *feature = sim_batch_observation_features(compact, &all);
  int length = sim_batch_observation_length(compact);
  assert_int_equal(all, sim_batch_observation_length(whole));
  assert_true(length < all);

  float *full = calloc((size_t)(WORLDS * all), sizeof *full), *part = calloc((size_t)(WORLDS * length), sizeof *part);
  uint8_t actions[WORLDS * SIM_ACTIONS];

  for (uint32_t t = 0; t < 100; t++) {
    draw_actions(4, 0, WORLDS, t, actions);
    sim_batch_step(whole, actions, &(SimStepOut){.observations = full});
    sim_batch_step(compact, actions, &(SimStepOut){.observations = part});
    for (int w = 0; w < WORLDS; w++) {
      for (int k = 0, i = 0; k < all; k++) {
        bool given = i < length && feature[i] == k;
        assert_true(full[w * all + k] == (given ? part[w * length + i] : 0.0f));
        i += given;
      }
    }
  }

  sim_batch_destroy(&whole);
  sim_batch_destroy(&compact);
  free(full);
  free(part);
}

/* ---- saved states ---------------------------------------------------------------------------------------------- */

static void a_loaded_state_goes_on_bit_for_bit(void **state) {
  (void)state;
  enum { WORLDS = 9 };
  Scenes scenes;
  uint64_t straight[WORLDS] = {0}, resumed[WORLDS] = {0}, ignored[WORLDS] = {0};
  make_scenes(&scenes);
  SimBatch *batch = make_batch(&scenes.set, WORLDS, 5);
  roll(batch, 0, 83, ignored);
  size_t bytes = sim_batch_state_bytes(batch);
  unsigned char *saved = malloc(bytes), *again = malloc(bytes);
  sim_batch_save(batch, saved);
  roll(batch, 83, 90, straight);
  sim_batch_destroy(&batch);
  batch = make_batch(&scenes.set, WORLDS, 5);
  roll(batch, 0, 11, ignored);
  assert_int_equal(sim_batch_load(batch, saved, bytes), CORE_OK);
  sim_batch_save(batch, again);
  assert_memory_equal(saved, again, bytes);
  roll(batch, 83, 90, resumed);
  assert_memory_equal(straight, resumed, sizeof straight);
  sim_batch_destroy(&batch);
  free(saved);
  free(again);
}

static void a_damaged_state_is_refused_and_changes_nothing(void **state) {
  (void)state;
  Scenes scenes;
  make_scenes(&scenes);
  SimBatch *batch = make_batch(&scenes.set, 3, 0), *larger = make_batch(&scenes.set, 4, 0);
  size_t bytes = sim_batch_state_bytes(batch);
  unsigned char *saved = malloc(bytes), *damaged = malloc(bytes), *now = malloc(bytes);

  sim_batch_save(batch, saved);
  assert_int_equal(sim_batch_load(batch, saved, bytes - 1), CORE_USAGE);
  assert_int_equal(sim_batch_load(batch, saved, 0), CORE_USAGE);
  assert_int_equal(sim_batch_load(larger, saved, bytes), CORE_USAGE);

  size_t last = bytes - 4 * sizeof(int32_t); /* the last world's level, timestep, episode, keeps_level */
  static const struct { int field; int32_t value; } bad[] = {{0, SCENES}, {0, -1}, {1, -1}, {1, 60}, {3, 2}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    memcpy(damaged, saved, bytes);
    damaged[200] ^= 1; /* so that a partial load would show */
    memcpy(damaged + last + (size_t)bad[i].field * sizeof(int32_t), &bad[i].value, sizeof(int32_t));
    assert_int_equal(sim_batch_load(batch, damaged, bytes), CORE_USAGE);
  }

  for (size_t i = 0; i < 12; i++) { /* magic, version, worlds */
    memcpy(damaged, saved, bytes);
    damaged[i] ^= 4;
    assert_int_equal(sim_batch_load(batch, damaged, bytes), CORE_USAGE);
  }

  sim_batch_save(batch, now);
  assert_memory_equal(saved, now, bytes);

  sim_batch_destroy(&batch);
  sim_batch_destroy(&larger);
  free(saved);
  free(damaged);
  free(now);
}

/* ---- episodes -------------------------------------------------------------------------------------------------- */

static void reset_to_keeps_the_level(void **state) {
  (void)state;
  Scenes scenes;
  int32_t chosen[8] = {3, 0, 1, 1, 4, 2, 0, 3}, level[8];
  uint8_t actions[8 * SIM_ACTIONS], done[8];
  int finished = 0;
  make_scenes(&scenes);
  SimBatch *batch = make_batch(&scenes.set, 8, 0);
  SimStepOut out = {.level = level, .done = done};
  sim_batch_reset_to(batch, chosen, NULL);
  for (uint32_t t = 0; t < 200; t++) {
    draw_actions(1, 0, 8, t, actions);
    sim_batch_step(batch, actions, &out);
    assert_memory_equal(level, chosen, sizeof level);
    for (int w = 0; w < 8; w++) finished += done[w];
  }
  assert_true(finished >= 24);
  sim_batch_destroy(&batch);
}

static void time_runs_out_and_a_new_episode_begins(void **state) {
  (void)state;
  Scenes scenes;
  uint8_t actions[SIM_ACTIONS] = {0}, done, solved;
  int32_t steps;
  float reward;

  make_scenes(&scenes);
  scenes.level[0].circle[2].x = 4.5f; /* out of reach of doing nothing */
  scenes.level[0].circle[2].y = 4.5f;

  SimLevelSet set = {scenes.level, 1, SIM_SIZE_M};
  SimBatch *batch = make_batch(&set, 1, 0);
  float *start = calloc((size_t)sim_batch_observation_length(batch), sizeof *start);
  float *now = calloc((size_t)sim_batch_observation_length(batch), sizeof *now);
  SimStepOut out = {.observations = now, .reward = &reward, .done = &done, .solved = &solved, .episode_steps = &steps};

  sim_batch_reset(batch, start);
  for (int t = 1; t <= 60; t++) {
    sim_batch_step(batch, actions, &out);
    assert_int_equal(done, t == 60);
    assert_int_equal(steps, t);
    if (t == 1) assert_true(reward == 0.0f); /* no distance to compare with yet */
    assert_true(fabsf(reward) < 0.05f);
  }

  assert_int_equal(solved, 0);
  assert_memory_equal(start, now, (size_t)sim_batch_observation_length(batch) * sizeof *now);

  sim_batch_step(batch, actions, &out);
  assert_int_equal(steps, 1);

  sim_batch_destroy(&batch);
  free(start);
  free(now);
}

static void touching_the_goal_solves_and_lava_overrules_it(void **state) {
  (void)state;
  uint8_t actions[SIM_ACTIONS] = {0}, done, solved;
  float reward;
  for (int lava = 0; lava < 2; lava++) {
    SimLevel level = scene(0);
    level.circle[2].x = level.polygon[4].x; /* the goal over the cart */
    level.circle[2].y = level.polygon[4].y;
    if (lava) level.polygon[5].x = level.polygon[4].x;
    SimLevelSet set = {&level, 1, SIM_SIZE_M};
    SimBatch *batch = make_batch(&set, 1, 0);
    SimStepOut out = {.reward = &reward, .done = &done, .solved = &solved};
    sim_batch_step(batch, actions, &out);
    assert_int_equal(done, 1);
    assert_int_equal(solved, !lava);
    assert_true(reward == (lava ? -1.0f : 1.0f));
    sim_batch_destroy(&batch);
  }
}

static void a_world_without_numbers_ends_and_is_counted(void **state) {
  (void)state;
  Scenes scenes;
  uint8_t actions[4 * SIM_ACTIONS] = {0}, done[4];
  float reward[4];
  make_scenes(&scenes);
  SimBatch *batch = make_batch(&scenes.set, 4, 0);
  int length = sim_batch_observation_length(batch);
  float *observations = calloc(4 * (size_t)length, sizeof *observations);
  SimStepOut out = {.observations = observations, .reward = reward, .done = done};
  sim_batch_step(batch, actions, &out);
  batch->worlds[2].body[4].position.x = NAN;
  sim_batch_step(batch, actions, &out);
  for (int w = 0; w < 4; w++) {
    assert_int_equal(done[w], w == 2);
    assert_true(isfinite(reward[w]));
  }
  for (int i = 0; i < 4 * length; i++) assert_true(fabsf(observations[i]) <= 10.0f);
  assert_int_equal(sim_batch_nonfinite(batch), 1);
  sim_batch_step(batch, actions, &out);
  assert_int_equal(done[2], 0);
  assert_int_equal(sim_batch_nonfinite(batch), 1);
  sim_batch_destroy(&batch);
  free(observations);
}

/* ---- bad input ------------------------------------------------------------------------------------------------- */

static void expect_refused(const SimBatchOptions *options, const SimLevelSet *set) {
  SimBatch *batch = (SimBatch *)options; /* must become NULL */
  core_error_clear();
  assert_int_equal(sim_batch_create(options, set, &batch), CORE_USAGE);
  assert_null(batch);
  assert_true(core_error_message()[0] != 0);
}

static void impossible_options_and_levels_are_refused(void **state) {
  (void)state;
  SimBatchOptions good = sim_batch_options_default(), bad;
  SimLevel level = scene(0);
  SimLevelSet set = {&level, 1, SIM_SIZE_M}, none = {&level, 0, SIM_SIZE_M}, other = {&level, 1, SIM_SIZE_L};
  bad = good, bad.worlds = 0, expect_refused(&bad, &set);
  bad = good, bad.worlds = -5, expect_refused(&bad, &set);
  bad = good, bad.frame_skip = 0, expect_refused(&bad, &set);
  bad = good, bad.max_steps = 0, expect_refused(&bad, &set);
  bad = good, bad.dense_reward = NAN, expect_refused(&bad, &set);
  bad = good, bad.dense_reward = -1, expect_refused(&bad, &set);
  bad = good, bad.first_world = UINT32_MAX, expect_refused(&bad, &set);
  expect_refused(&good, &none);
  expect_refused(&good, &other);
  level.polygon[4].x = NAN;
  expect_refused(&good, &set);
  level = scene(0);
  level.joint[0].b = 40;
  expect_refused(&good, &set);
}

static void unknown_action_classes_do_nothing(void **state) {
  (void)state;
  Scenes scenes;
  uint8_t odd[SIM_ACTIONS] = {3, 255, 3, 3, 2, 255}, none[SIM_ACTIONS] = {0};
  make_scenes(&scenes);
  SimBatch *a = make_batch(&scenes.set, 1, 0), *b = make_batch(&scenes.set, 1, 0);
  SimStepOut out = {0};
  for (int t = 0; t < 20; t++) {
    sim_batch_step(a, odd, &out);
    sim_batch_step(b, none, &out);
  }
  assert_memory_equal(a->worlds, b->worlds, sizeof *a->worlds);
  sim_batch_destroy(&a);
  sim_batch_destroy(&b);
}

static void a_world_can_be_looked_at(void **state) {
  (void)state;
  SimLevel level = scene(0), now;
  SimLevelSet set = {&level, 1, SIM_SIZE_M};
  SimBatch *batch = make_batch(&set, 2, 0);
  sim_batch_get_world(batch, 1, &now);
  assert_true(now.polygon[4].x == level.polygon[4].x && now.joint[0].motor_speed == level.joint[0].motor_speed);
  assert_true(fabsf(now.joint[0].global_x - (level.polygon[4].x - 0.2f)) < 1e-6f);
  assert_true(sim_batch_bytes(batch) > 2 * sizeof(SimWorld));
  assert_true(sizeof(SimWorld) <= 2048);
  sim_batch_destroy(&batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_and_division_do_not_matter),
    cmocka_unit_test(every_level_is_drawn),
    cmocka_unit_test(compact_observations_leave_out_only_zeros),
    cmocka_unit_test(a_loaded_state_goes_on_bit_for_bit),
    cmocka_unit_test(a_damaged_state_is_refused_and_changes_nothing),
    cmocka_unit_test(reset_to_keeps_the_level),
    cmocka_unit_test(time_runs_out_and_a_new_episode_begins),
    cmocka_unit_test(touching_the_goal_solves_and_lava_overrules_it),
    cmocka_unit_test(a_world_without_numbers_ends_and_is_counted),
    cmocka_unit_test(impossible_options_and_levels_are_refused),
    cmocka_unit_test(unknown_action_classes_do_nothing),
    cmocka_unit_test(a_world_can_be_looked_at),
  };
  omp_set_num_threads(1); /* small batches: waiting for each other would cost more than they gain */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
