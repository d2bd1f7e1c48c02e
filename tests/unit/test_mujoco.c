/* MuJoCo's tasks as environments: independence of threads and of the division of worlds, states saved and loaded bit
 * for bit, ends of episodes as in each task's row, and messages of errors. tests/golden compares with Gymnasium.
 * Without MuJoCo all tests except that of the table are skipped. */
#include "test.h"

#include <omp.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/envs/mujoco/mujoco_env.h"
#include "trainer/envs/mujoco/mujoco_library.h"
#include "trainer/envs/mujoco/mujoco_task.h"
#include "trainer/envs/tasks/tasks.h"

enum { SEED = 7 };

/* A batch with the buffers that its steps fill. */
typedef struct Side {
  Env *env;
  float *observations, *rewards, *final_observations, *actions;
  uint8_t *dones, *solved, *truncated;
  int32_t *levels, *episode_steps;
} Side;

static void make_side(Side *side, const char *task, int worlds, uint32_t first_world) {
  const EnvBatch batch = {.worlds = worlds, .first_world = first_world, .seed = SEED};
  if (mujoco_env_create(task, NULL, &batch, &side->env) != CORE_OK) fail_msg("%s", core_error_message());
  const size_t n = (size_t)worlds, seen = (size_t)side->env->observation_length;
  side->observations = core_memory_zero_allocate(n * seen, sizeof(float));
  side->final_observations = core_memory_zero_allocate(n * seen, sizeof(float));
  side->rewards = core_memory_zero_allocate(n, sizeof(float));
  side->actions = core_memory_zero_allocate(n * (size_t)side->env->action_values, sizeof(float));
  side->dones = core_memory_zero_allocate(n, 1);
  side->solved = core_memory_zero_allocate(n, 1);
  side->truncated = core_memory_zero_allocate(n, 1);
  side->levels = core_memory_zero_allocate(n, sizeof(int32_t));
  side->episode_steps = core_memory_zero_allocate(n, sizeof(int32_t));
  side->env->reset(side->env, side->observations);
}

static void free_side(Side *side) {
  env_destroy(&side->env);
  void *const all[] = {side->observations, side->final_observations, side->rewards, side->actions, side->dones,
                       side->solved, side->truncated, side->levels, side->episode_steps};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Random actions that depend on the run's world and the step alone. */
static void step_side(Side *side, uint32_t first_world, uint32_t step) {
  const int values = side->env->action_values;
  for (int w = 0; w < side->env->worlds; w++) {
    CoreRandomStream stream = core_random_stream(SEED, CORE_RANDOM_TEST, first_world + (uint32_t)w, step);
    for (int i = 0; i < values; i++)
      side->actions[w * values + i] = core_random_uniform(&stream, side->env->action_low, side->env->action_high);
  }
  side->env->step(side->env, side->actions,
                  &(EnvStep){side->observations, side->rewards, side->dones, side->solved, side->levels,
                             side->episode_steps, side->truncated, side->final_observations, NULL});
}

static void assert_same(const Side *a, const Side *b, int first, int worlds) {
  const size_t seen = (size_t)a->env->observation_length, at = (size_t)first, n = (size_t)worlds;
  assert_memory_equal(a->observations + at * seen, b->observations, n * seen * sizeof(float));
  assert_memory_equal(a->rewards + at, b->rewards, n * sizeof(float));
  assert_memory_equal(a->dones + at, b->dones, n);
}

#define NEED_MUJOCO() \
  if (mujoco_library_open() != CORE_OK) skip()

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void test_tasks_have_names_and_sizes(void **state) {
  (void)state;
  TaskInfo info;
  int count = 0, others = 0;
  for (; task_info(count + others, &info);) {
    if (strncmp(info.name, MUJOCO_PREFIX, strlen(MUJOCO_PREFIX)) != 0) { others++; continue; }
    const MujocoTask *task = mujoco_task_find(info.name + strlen(MUJOCO_PREFIX));
    assert_ptr_equal(task, mujoco_task(count++));
    assert_int_equal(info.observations, task->observations);
    assert_in_range(task->observations, 1, MUJOCO_OBSERVATIONS_MAX);
    assert_in_range(task->nu, 1, OPS_FACTORS_MAX); /* Humanoid has 17 */
  }
  assert_int_equal(count, 26);
  assert_null(mujoco_task(count));
  assert_null(mujoco_task_find("Pusher-v4")); /* Gymnasium refuses it with MuJoCo 3 and later */
  assert_int_equal(mujoco_task_unknown("Humanoid-v3"), CORE_USAGE);
  assert_message("did you mean mujoco/Humanoid-v");
}

/* Gymnasium's models are always fetched; those that gymnasium-robotics brings may be absent from MUJOCO_HOME. */
static bool has_model(const MujocoTask *task) {
  char path[4096];
  if (task->mujoco_include == NULL || mujoco_library_model(task->mujoco_include, path, sizeof path) == CORE_OK)
    return true;
  print_message("%s is left out: %s\n", task->name, core_error_message());
  return false;
}

static void test_every_task_steps(void **state) {
  (void)state;
  NEED_MUJOCO();
  for (int i = 0; mujoco_task(i); i++) {
    Side side;
    if (!has_model(mujoco_task(i))) continue;
    make_side(&side, mujoco_task(i)->name, 2, 0);
    for (uint32_t t = 0; t < 20; t++) {
      step_side(&side, 0, t);
      for (int k = 0; k < 2 * side.env->observation_length; k++) assert_true(isfinite(side.observations[k]));
      assert_true(isfinite(side.rewards[0]));
    }
    assert_int_equal(side.env->physics->nonfinite(side.env), 0);
    assert_int_equal(side.env->solves, mujoco_task(i)->family != MUJOCO_GYMNASIUM);
    free_side(&side);
  }
}

/* ---- threads, parts, states -------------------------------------------------------------------------------------- */

static void test_threads_and_parts_do_not_matter(void **state) {
  (void)state;
  NEED_MUJOCO();
  enum { WORLDS = 7, CUT = 3 };
  static const char *const names[] = {"Hopper-v4", "AllegroKukaRegrasping"}; /* whose worlds differ in the model */
  const int threads = omp_get_max_threads();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    Side one, three, rest;
    omp_set_num_threads(1);
    make_side(&one, names[i], WORLDS, 0);
    omp_set_num_threads(3);
    make_side(&three, names[i], WORLDS, 0);
    make_side(&rest, names[i], WORLDS - CUT, CUT);
    omp_set_num_threads(threads);
    for (uint32_t t = 0; t < 200; t++) { /* several episodes of random actions */
      step_side(&one, 0, t);
      step_side(&three, 0, t);
      step_side(&rest, CUT, t);
      assert_same(&one, &three, 0, WORLDS);
      assert_same(&one, &rest, CUT, WORLDS - CUT);
    }
    free_side(&one);
    free_side(&three);
    free_side(&rest);
  }
}

static void test_a_sibling_begins_as_the_first_did(void **state) {
  (void)state;
  NEED_MUJOCO();
  Side side, again;
  make_side(&side, "Walker2d-v5", 3, 0);
  make_side(&again, "Walker2d-v5", 3, 0);
  Env *sibling = NULL;
  assert_int_equal(side.env->clone(side.env, &(EnvBatch){.worlds = 3, .seed = SEED}, &sibling), CORE_OK);
  env_destroy(&side.env); /* the model lives on in the sibling */
  side.env = sibling;
  sibling->reset(sibling, side.observations);
  for (uint32_t t = 0; t < 50; t++) {
    step_side(&side, 0, t);
    step_side(&again, 0, t);
    assert_same(&side, &again, 0, 3);
  }
  free_side(&side);
  free_side(&again);
}

static void test_saved_worlds_go_on_bit_for_bit(void **state) {
  (void)state;
  NEED_MUJOCO();
  static const char *const names[] = {"Ant-v5", "Humanoid-v4", "Reacher-v4", "AllegroKukaReorientation",
                                      "AllegroKukaThrow"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    Side through, resumed;
    make_side(&through, names[i], 4, 0);
    for (uint32_t t = 0; t < 30; t++) step_side(&through, 0, t);
    const size_t bytes = through.env->state_bytes(through.env);
    void *saved = core_memory_allocate(bytes);
    through.env->save(through.env, saved);
    make_side(&resumed, names[i], 4, 0);
    assert_int_equal(resumed.env->load(resumed.env, saved, bytes), CORE_OK);
    for (uint32_t t = 30; t < 90; t++) {
      step_side(&through, 0, t);
      step_side(&resumed, 0, t);
      assert_same(&through, &resumed, 0, 4);
    }
    free(saved);
    free_side(&through);
    free_side(&resumed);
  }
}

/* The head's layout: task's name, version, record's length, hash of the model. */
static void test_foreign_states_are_refused(void **state) {
  (void)state;
  NEED_MUJOCO();
  Side side, before;

  make_side(&side, "Swimmer-v4", 2, 0);
  const size_t bytes = side.env->state_bytes(side.env);
  uint8_t *saved = core_memory_allocate(bytes), *changed = core_memory_allocate(bytes);
  side.env->save(side.env, saved);
  make_side(&before, "Swimmer-v4", 2, 0);

  static const struct { size_t at; const char *message; } faults[] = {
    {0, "this run is of mujoco/Swimmer-v4"}, {48, "set MUJOCO_HOME to that version"},
    {56, "another version of swimmer.xml"}, {52, "bytes, expected"}};

  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    memcpy(changed, saved, bytes);
    changed[faults[i].at] ^= 1;
    assert_int_equal(side.env->load(side.env, changed, bytes), CORE_USAGE);
    assert_message(faults[i].message);
  }

  assert_int_equal(side.env->load(side.env, saved, bytes - 1), CORE_USAGE);
  assert_int_equal(side.env->load(side.env, saved, 10), CORE_USAGE);

  for (uint32_t t = 0; t < 5; t++) { /* nothing was changed */
    step_side(&side, 0, t);
    step_side(&before, 0, t);
    assert_same(&side, &before, 0, 2);
  }

  free(saved);
  free(changed);
  free_side(&side);
  free_side(&before);
}

/* ---- episodes ---------------------------------------------------------------------------------------------------- */

static void test_the_time_limit_is_no_termination(void **state) {
  (void)state;
  NEED_MUJOCO();
  Side side;
  make_side(&side, "Reacher-v5", 2, 0);
  for (uint32_t t = 1; t <= 100; t++) {
    step_side(&side, 0, t);
    assert_int_equal(side.dones[0], t % 50 == 0);
    assert_int_equal(side.truncated[0], t % 50 == 0);
    assert_int_equal(side.episode_steps[0], (t - 1) % 50 + 1);
  }
  /* The arm has moved on: the last observation is not the first of the next episode. */
  assert_memory_not_equal(side.final_observations, side.observations, 10 * sizeof(float));
  assert_true(fabsf(side.observations[6]) <= 0.005f); /* a speed at a beginning */
  free_side(&side);
}

static void test_a_fall_is_a_termination(void **state) {
  (void)state;
  NEED_MUJOCO();
  Side side;
  make_side(&side, "Hopper-v5", 1, 0);
  int ends = 0;
  for (uint32_t t = 0; t < 300; t++) {
    step_side(&side, 0, t);
    if (!side.dones[0]) continue;
    ends++;
    assert_int_equal(side.truncated[0], 0);
    assert_in_range(side.episode_steps[0], 2, 200);
    assert_true(side.final_observations[0] < 0.7f || fabsf(side.final_observations[1]) > 0.2f);
  }
  assert_in_range(ends, 3, 60);
  free_side(&side);
}

static void test_noise_is_within_its_bounds_and_differs(void **state) {
  (void)state;
  NEED_MUJOCO();
  enum { WORLDS = 400 };
  Side side;
  make_side(&side, "Walker2d-v4", WORLDS, 0);
  double mean = 0;
  for (int w = 0; w < WORLDS; w++) {
    const float *seen = side.observations + w * 17, lean = seen[1];
    assert_true(fabsf(lean) <= 5e-3f);
    mean += (double)lean / WORLDS;
    if (w > 0) assert_true(seen[0] != side.observations[0]);
  }
  assert_true(fabs(mean) < 4 * 5e-3 / sqrt(3.0 * WORLDS));
  free_side(&side);
}

static void test_numbers_that_are_not_finite_end_the_episode(void **state) {
  (void)state;
  NEED_MUJOCO();
  Side side;
  make_side(&side, "HalfCheetah-v4", 2, 0);
  step_side(&side, 0, 0);
  side.actions[0] = NAN;
  side.env->step(side.env, side.actions,
                 &(EnvStep){side.observations, side.rewards, side.dones, side.solved, side.levels, side.episode_steps,
                            side.truncated, side.final_observations, NULL});
  assert_int_equal(side.dones[0], 1);
  assert_int_equal(side.truncated[0], 0);
  assert_true(side.rewards[0] == 0);
  assert_int_equal(side.dones[1], 0);
  assert_int_equal(side.env->physics->nonfinite(side.env), 1);
  for (int i = 0; i < 34; i++) assert_true(isfinite(side.observations[i]));
  step_side(&side, 0, 2);
  assert_int_equal(side.dones[0], 0);
  free_side(&side);
}

/* ---- memory and messages ----------------------------------------------------------------------------------------- */

static void test_ten_thousand_worlds_take_less_than_200_megabytes(void **state) {
  (void)state;
  NEED_MUJOCO();
  Env *env = NULL;
  double bytes;
  assert_int_equal(mujoco_env_create("Humanoid-v4", NULL, &(EnvBatch){.worlds = 1}, &env), CORE_OK);
  assert_int_equal(env_estimate_bytes(env, 10000, &bytes), CORE_OK);
  assert_true(bytes > 10000 * 195 * 8.0 && bytes < 200e6);
  env_destroy(&env);
}

static void test_names_that_are_none(void **state) {
  (void)state;
  Env *env = NULL;
  assert_int_equal(mujoco_env_create("HalfCheeta-v4", NULL, &(EnvBatch){.worlds = 1}, &env), CORE_USAGE);
  assert_message("did you mean mujoco/HalfCheetah-v");
  assert_int_equal(mujoco_env_create("../etc", NULL, &(EnvBatch){.worlds = 1}, &env), CORE_USAGE);
  assert_null(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tasks_have_names_and_sizes), cmocka_unit_test(test_every_task_steps),
    cmocka_unit_test(test_threads_and_parts_do_not_matter), cmocka_unit_test(test_a_sibling_begins_as_the_first_did),
    cmocka_unit_test(test_saved_worlds_go_on_bit_for_bit), cmocka_unit_test(test_foreign_states_are_refused),
    cmocka_unit_test(test_the_time_limit_is_no_termination), cmocka_unit_test(test_a_fall_is_a_termination),
    cmocka_unit_test(test_noise_is_within_its_bounds_and_differs),
    cmocka_unit_test(test_numbers_that_are_not_finite_end_the_episode),
    cmocka_unit_test(test_ten_thousand_worlds_take_less_than_200_megabytes),
    cmocka_unit_test(test_names_that_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
