/* The task on top of the physics: the meaning of actions in each space, and the reward without its dense part. */
#include "test.h"

#include "core/random.h"
#include "sim/batch/batch_internal.h"
#include "sim/levels/generate.h"

enum { WORLDS = 24, STEPS = 120 };

static void assert_command(SimCommand command, const float expected[SIM_ACTIONS]) {
  for (int i = 0; i < SIM_ACTIONS; i++) {
    if (isnan(expected[i])) assert_true(isnan(command.of[i]));
    else assert_true(command.of[i] == expected[i]);
  }
}

/* ---- actions to commands (docs/simulator.md#rules) ------------------------------------------------------------- */

static void multi_discrete_classes_are_none_forward_and_back(void **state) {
  (void)state;
  const uint8_t mixed[SIM_ACTIONS] = {0, 1, 2, 3, 1, 2}, idle[SIM_ACTIONS] = {0};
  assert_command(sim_task_command_of_classes(idle), (float[]){0, 0, 0, 0, 0, 0});
  assert_command(sim_task_command_of_classes(mixed), (float[]){0, 1, -1, 0, 1, 0}); /* 3 and a thruster's 2: nothing */
}

static void a_discrete_class_moves_one_thing(void **state) {
  (void)state;
  for (int class = 0; class < 256; class++) {
    float expected[SIM_ACTIONS] = {0};
    if (class < 8) expected[class / 2] = class % 2 == 0 ? -1 : 1;
    if (class == 9) expected[4] = 1;
    if (class == 10) expected[5] = 1;
    assert_command(sim_task_command_of_class((uint8_t)class), expected);
  }
  assert_int_equal(SIM_DISCRETE_CLASSES, 11);
  assert_int_equal(SIM_DISCRETE_IDLE, 8);
}

static void continuous_values_are_clipped(void **state) {
  (void)state;
  const float inside[SIM_ACTIONS] = {-1, -0.25f, 0, 0.5f, 0.75f, 1};
  assert_command(sim_task_command_of_values(inside), inside);
  assert_command(sim_task_command_of_values((float[]){-3, 7, -INFINITY, INFINITY, -0.5f, INFINITY}),
                 (float[]){-1, 1, -1, 1, 0, 1});
  assert_command(sim_task_command_of_values((float[]){NAN, 0, 0, 0, NAN, 0}), (float[]){NAN, 0, 0, 0, NAN, 0});
}

static void each_space_finds_its_own_world(void **state) {
  (void)state;
  const uint8_t classes[2 * SIM_ACTIONS] = {0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1}, class[2] = {8, 3};
  const float values[2 * SIM_ACTIONS] = {0, 0, 0, 0, 0, 0, 0.5f, 0, 0, 0, 0, 0.25f};
  assert_command(sim_task_command(SIM_MULTI_DISCRETE, classes, 1), (float[]){1, -1, 0, 0, 0, 1});
  assert_command(sim_task_command(SIM_DISCRETE, class, 1), (float[]){0, 1, 0, 0, 0, 0});
  assert_command(sim_task_command(SIM_CONTINUOUS, values, 1), (float[]){0.5f, 0, 0, 0, 0, 0.25f});
}

static void an_automatic_motor_always_runs_forward(void **state) {
  (void)state;
  SimModel model = {.joint_count = 2,
                    .joint = {{.slot = 3, .binding = 1, .motor_auto = (mask)-1}, {.slot = 0, .binding = 1}}};
  const SimCommand back = {{0, -1, 0, 0, 0, 0}};
  const SimControl control = sim_task_control(&model, &back);
  assert_true(control.motor[3] == 1.0f && control.motor[0] == -1.0f);
}

/* ---- the same worlds under different spaces -------------------------------------------------------------------- */

enum { LEVELS = 48 };
static SimLevel drawn[LEVELS];

/* Random levels as they come, among them such as solve or burn themselves. */
static SimLevelSet random_set(void) {
  for (uint32_t i = 0; i < LEVELS; i++) assert_int_equal(sim_generate_level(SIM_SIZE_M, 4, i, &drawn[i]), CORE_OK);
  return (SimLevelSet){drawn, LEVELS, SIM_SIZE_M};
}

static SimBatch *make_batch(const SimLevelSet *set, SimActionSpace space, float dense_reward) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  options.worlds = WORLDS;
  options.seed = 3;
  options.max_steps = 50;
  options.actions = space;
  options.dense_reward = dense_reward;
  if (sim_batch_create(&options, set, &batch) != CORE_OK) fail_msg("%s", core_error_message());
  return batch;
}

/* One class of the discrete space for each world, and the same as the other spaces say it. */
static void draw_actions(uint32_t t, uint8_t *class, uint8_t *classes, float *values) {
  memset(classes, 0, WORLDS * SIM_ACTIONS);
  memset(values, 0, WORLDS * SIM_ACTIONS * sizeof *values);
  for (uint32_t w = 0; w < WORLDS; w++) {
    const uint32_t c = core_random_below(core_random_4(1, CORE_RANDOM_TEST, w, t, 0).v[0], SIM_DISCRETE_CLASSES);
    class[w] = (uint8_t)c;
    if (c == 8) continue;
    const uint32_t binding = w * SIM_ACTIONS + (c < 8 ? c / 2 : c - 5);
    classes[binding] = c < 8 && c % 2 == 0 ? 2 : 1;
    values[binding] = c < 8 && c % 2 == 0 ? -1.0f : 1.0f;
  }
}

static void spaces_that_say_the_same_do_the_same(void **state) {
  (void)state;
  SimLevelSet set = random_set();
  uint8_t class[WORLDS], classes[WORLDS * SIM_ACTIONS];
  float values[WORLDS * SIM_ACTIONS];
  const void *actions[] = {classes, class, values};
  SimBatch *batch[3];
  float reward[3][WORLDS];
  for (int i = 0; i < 3; i++) batch[i] = make_batch(&set, (SimActionSpace)i, 0.2f);
  for (uint32_t t = 0; t < STEPS; t++) {
    draw_actions(t, class, classes, values);
    for (int i = 0; i < 3; i++) sim_batch_step(batch[i], actions[i], &(SimStepOut){.reward = reward[i]});
    assert_memory_equal(reward[0], reward[1], sizeof reward[0]);
    assert_memory_equal(reward[0], reward[2], sizeof reward[0]);
  }
  for (int i = 1; i < 3; i++)
    assert_memory_equal(batch[0]->worlds, batch[i]->worlds, WORLDS * sizeof *batch[0]->worlds);
  for (int i = 0; i < 3; i++) sim_batch_destroy(&batch[i]);
}

/* Half a motor's speed turns a wheel, but less than all of it. */
static void continuous_values_between_have_effects_between(void **state) {
  (void)state;
  SimLevel level = sim_level_empty(SIM_SIZE_S, true);
  SimLevelSet set = {&level, 1, SIM_SIZE_S};
  float spin[3], values[3] = {0.25f, 0.5f, 1.0f};
  snprintf(level.name, sizeof level.name, "wheel");
  level.circle[0] = (SimShape){.active = true, .x = 2.5f, .y = 2.5f, .radius = 0.3f, .density = 1, .friction = 1,
                               .collision_mode = 1, .inverse_mass = 1, .inverse_inertia = 1};
  level.circle[1] = level.circle[0];
  level.circle[1].inverse_mass = level.circle[1].inverse_inertia = 0;
  level.joint[0] = (SimJoint){.active = true, .a = 5, .b = 6, .motor_on = true, .motor_speed = 1, .motor_power = 0.01f};
  sim_level_recompute_mass(&level);
  for (int i = 0; i < 3; i++) {
    SimBatchOptions options = sim_batch_options_default();
    SimBatch *batch;
    const float action[SIM_ACTIONS] = {values[i], 0, 0, 0, 0, 0};
    options.actions = SIM_CONTINUOUS;
    if (sim_batch_create(&options, &set, &batch) != CORE_OK) fail_msg("%s", core_error_message());
    for (int t = 0; t < 5; t++) sim_batch_step(batch, action, &(SimStepOut){0});
    spin[i] = fabsf(batch->worlds[0].body[5].angular_velocity);
    sim_batch_destroy(&batch);
  }
  assert_true(spin[0] > 0.01f);
  assert_true(spin[1] > 1.5f * spin[0] && spin[2] > 1.5f * spin[1]);
}

/* NaN reaches the driven bodies, as in the reference; only that episode ends. */
static void an_action_that_is_no_number_ends_the_episode(void **state) {
  (void)state;
  static const char *const kernels[] = {"scalar", NULL};
  SimLevelSet set = random_set();

  for (int i = 0; i < 2; i++) {
    float values[WORLDS * SIM_ACTIONS] = {0}, reward[WORLDS];
    uint8_t done[WORLDS], solved[WORLDS];
    if (kernels[i]) setenv("SIM_KERNELS", kernels[i], 1);
    else unsetenv("SIM_KERNELS");
    SimBatch *batch = make_batch(&set, SIM_CONTINUOUS, 0.2f);

    int driven = -1;
    for (int w = 0; w < WORLDS && driven < 0; w++) {
      const SimModel *model = &batch->models[batch->worlds[w].level];
      if (model->thruster_count > 0 && model->thruster[0].mass.inverse_mass > 0) driven = w;
    }
    assert_true(driven >= 0);

    for (int k = 0; k < SIM_ACTIONS; k++) values[driven * SIM_ACTIONS + k] = NAN;
    sim_batch_step(batch, values, &(SimStepOut){.reward = reward, .done = done, .solved = solved});

    for (int w = 0; w < WORLDS; w++) {
      assert_true(isfinite(reward[w]));
      if (w != driven) assert_int_equal(batch->worlds[w].episode, done[w]);
    }
    assert_int_equal(done[driven], 1);
    assert_int_equal(solved[driven], 0);
    assert_int_equal(sim_batch_nonfinite(batch), 1);

    memset(values, 0, sizeof values); /* the next episode is sound */
    sim_batch_step(batch, values, &(SimStepOut){.reward = reward});
    assert_int_equal(sim_batch_nonfinite(batch), 1);
    for (int k = 0; k < SIM_SHAPES_MAX; k++) assert_true(isfinite(batch->worlds[driven].body[k].position.x));
    sim_batch_destroy(&batch);
  }
}

/* ---- the reward ------------------------------------------------------------------------------------------------ */

/* dense_reward = 0 leaves the goal's +1 and lava's -1; the physics is the same. */
static void without_its_dense_part_the_reward_is_sparse(void **state) {
  (void)state;
  SimLevelSet set = random_set();
  SimBatch *dense = make_batch(&set, SIM_DISCRETE, 0.2f), *sparse = make_batch(&set, SIM_DISCRETE, 0);
  uint8_t class[WORLDS], classes[WORLDS * SIM_ACTIONS], done[WORLDS], solved[WORLDS];
  float values[WORLDS * SIM_ACTIONS], with[WORLDS], without[WORLDS];
  int solutions = 0, burnt = 0, gains = 0;
  for (uint32_t t = 0; t < 4 * STEPS; t++) {
    draw_actions(t, class, classes, values);
    sim_batch_step(dense, class, &(SimStepOut){.reward = with});
    sim_batch_step(sparse, class, &(SimStepOut){.reward = without, .done = done, .solved = solved});
    for (int w = 0; w < WORLDS; w++) {
      assert_true(without[w] == 0.0f || (done[w] && fabsf(without[w]) == 1.0f));
      assert_true((without[w] == 1.0f) == (solved[w] != 0));
      assert_true(fabsf(with[w] - without[w]) < 0.2f * 2 * 5); /* a metre is worth 0.2 */
      solutions += without[w] == 1.0f;
      burnt += without[w] == -1.0f;
      gains += with[w] != without[w];
    }
  }
  assert_true(solutions > 10 && burnt > 0 && gains > 1000);
  sim_batch_destroy(&dense);
  sim_batch_destroy(&sparse);
}

static void an_unknown_space_is_refused(void **state) {
  (void)state;
  SimLevel level = sim_level_empty(SIM_SIZE_S, true);
  SimLevelSet set = {&level, 1, SIM_SIZE_S};
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  options.actions = (SimActionSpace)3;
  assert_int_equal(sim_batch_create(&options, &set, &batch), CORE_USAGE);
  assert_null(batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(multi_discrete_classes_are_none_forward_and_back),
    cmocka_unit_test(a_discrete_class_moves_one_thing),
    cmocka_unit_test(continuous_values_are_clipped),
    cmocka_unit_test(each_space_finds_its_own_world),
    cmocka_unit_test(an_automatic_motor_always_runs_forward),
    cmocka_unit_test(spaces_that_say_the_same_do_the_same),
    cmocka_unit_test(continuous_values_between_have_effects_between),
    cmocka_unit_test(an_action_that_is_no_number_ends_the_episode),
    cmocka_unit_test(without_its_dense_part_the_reward_is_sparse),
    cmocka_unit_test(an_unknown_space_is_refused),
  };
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
