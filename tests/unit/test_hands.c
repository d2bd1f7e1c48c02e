/* The hands' tasks on MuJoCo: starts of episodes, effects of actions, counting of goals, ends of episodes; and as
 * environments, independence of threads and saved states. test_reorient tests their formulas. Skipped without
 * MuJoCo, and a task without its model. */
#include "test.h"

#include <omp.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/envs/hands/rotation.h"
#include "trainer/envs/mujoco/mujoco_env.h"
#include "trainer/envs/mujoco/mujoco_goal.h"
#include "tests/training_tools.h"
#include "trainer/envs/tasks/tasks.h"

#if CORE_HAS_MUJOCO
enum { GOAL = 0, REACHED = 4, ACTION = 5 }; /* in userdata (mujoco_reorient.c) */

static double uniform(void *stream) { return (double)core_random_next(stream) * 0x1p-32; }

/* A task's model and a world of it. */
typedef struct Hand {
  MujocoModel *model;
  mjData *data;
  CoreRandomStream stream;
  MujocoRandom random;
} Hand;

/* False: the model is not here. */
static bool open_hand(Hand *hand, const MujocoTask *task) {
  char path[4096];
  if (task->mujoco_include && mujoco_library_model(task->mujoco_include, path, sizeof path) != CORE_OK) return false;
  if (mujoco_model_create(task, &hand->model) != CORE_OK) fail_msg("%s", core_error_message());
  hand->data = hand->model->data[0];
  hand->stream = core_random_stream(3, CORE_RANDOM_TEST, 0, 0);
  hand->random = (MujocoRandom){.uniform = uniform, .state = &hand->stream};
  return true;
}

/* Calls `test` with each task that turns an object; at least one must be here. */
static void with_each(void (*test)(Hand *hand)) {
  int tested = 0;
  if (mujoco_library_open() != CORE_OK) skip();
  for (int i = 0; mujoco_task(i); i++) {
    Hand hand;
    if (mujoco_task(i)->family != MUJOCO_REORIENT || !open_hand(&hand, mujoco_task(i))) continue;
    test(&hand);
    mujoco_model_release(hand.model);
    tested++;
  }
  assert_true(tested > 0);
}

static double *object_of(const Hand *hand) { return hand->data->qpos + hand->model->task->reorient->joints; }

/* ---- one world --------------------------------------------------------------------------------------------------- */

static void check_start(Hand *hand) {
  const ReorientTask *task = hand->model->task->reorient;
  const mjModel *m = hand->model->model;
  double mean[3] = {0}, goals = 0;
  for (int k = 0; k < 200; k++) {
    mujoco_reset(hand->model, hand->data, &hand->random);
    for (int i = 0; i < 3; i++) {
      assert_true(fabs(object_of(hand)[i] - task->start[i]) <= 0.01);
      mean[i] += (object_of(hand)[i] - task->start[i]) / 200;
    }
    for (int i = 0; i < task->joints; i++) {
      const double q = hand->data->qpos[i], *range = m->jnt_range + 2 * i;
      assert_true(q >= 0.2 * range[0] && q <= 0.2 * range[1]);
    }
    for (int i = 0; i < m->nu; i++) assert_true(hand->data->ctrl[i] == hand->data->qpos[m->actuator_trnid[2 * i]]);
    for (int i = 0; i < m->nv; i++) assert_true(hand->data->qvel[i] == 0);
    goals += fabs(hand->data->userdata[GOAL]);
    assert_int_equal(mujoco_reached(hand->model, hand->data), 0);
  }
  for (int i = 0; i < 3; i++) assert_true(fabs(mean[i]) < 0.002); /* 5 deviations of a mean of 200 */
  assert_true(goals > 200 * 0.25 && goals < 200 * 0.55); /* |cos cos| of uniform half turns: 4 / pi^2 */
}
static void test_start(void **state) { (void)state, with_each(check_start); }

static void check_actions(Hand *hand) {
  const MujocoTask *task = hand->model->task;
  const mjModel *m = hand->model->model;
  float action[32];
  double seen[MUJOCO_OBSERVATIONS_MAX];
  mujoco_reset(hand->model, hand->data, &hand->random);
  for (int i = 0; i < m->nu; i++) action[i] = i % 3 == 0 ? -1 : i % 3 == 1 ? 1 : 7; /* 7 is cut to 1 */
  assert_true(mujoco_step(hand->model, hand->data, action));
  for (int i = 0; i < m->nu; i++)
    assert_true(fabs(hand->data->ctrl[i] - m->jnt_range[2 * m->actuator_trnid[2 * i] + (i % 3 != 0)]) < 1e-15);
  mujoco_observe(hand->model, hand->data, seen);
  for (int i = 0; i < m->nu; i++) assert_true(seen[task->observations - m->nu + i] == (i % 3 == 0 ? -1 : 1));
  for (int i = 0; i < task->observations; i++) assert_true(fabs(seen[i]) <= 5);
  assert_true(seen[3 * task->reorient->joints + 2] == object_of(hand)[2]); /* the object's height */
}
static void test_actions(void **state) { (void)state, with_each(check_actions); }

static void check_goals(Hand *hand) {
  double goal[4], *userdata = hand->data->userdata;
  bool ended;

  mujoco_reset(hand->model, hand->data, &hand->random);
  memcpy(goal, userdata + GOAL, sizeof goal);
  rotation_from_axis_angle((const double[]){0, 1, 0}, 0.11, object_of(hand) + 3); /* 0.11 rad from the goal: not yet */
  rotation_multiply(object_of(hand) + 3, goal, object_of(hand) + 3);
  assert_true(mujoco_reward(hand->model, hand->data, NULL, NULL, &ended) < 250);
  mujoco_advance(hand->model, hand->data, &hand->random);
  assert_int_equal(mujoco_reached(hand->model, hand->data), 0);
  assert_memory_equal(goal, userdata + GOAL, sizeof goal);

  for (int k = 1; k <= 3; k++) { /* at the goal: counted, and another one follows */
    memcpy(object_of(hand) + 3, userdata + GOAL, sizeof goal);
    assert_true(mujoco_reward(hand->model, hand->data, NULL, NULL, &ended) > 250);
    assert_false(ended);
    assert_int_equal(mujoco_reached(hand->model, hand->data), k);
    mujoco_advance(hand->model, hand->data, &hand->random);
    assert_true(rotation_distance(object_of(hand) + 3, userdata + GOAL) > 0.1);
    assert_memory_equal(hand->data->mocap_quat, userdata + GOAL, sizeof goal); /* as it is drawn */
  }

  object_of(hand)[2] -= 0.21; /* 0.25 below the start, 0.21 below the goal */
  mujoco_reward(hand->model, hand->data, NULL, NULL, &ended);
  assert_false(ended);
  object_of(hand)[2] -= 0.1;
  mujoco_reward(hand->model, hand->data, NULL, NULL, &ended);
  assert_true(ended);

  mujoco_reset(hand->model, hand->data, &hand->random);
  assert_int_equal(mujoco_reached(hand->model, hand->data), 0);
}
static void test_goals(void **state) { (void)state, with_each(check_goals); }

/* The hand has no weight, so it stays where its targets are; the object falls. */
static void check_weight(Hand *hand) {
  const mjModel *m = hand->model->model;
  float action[32];
  double held = 0, seconds;
  mujoco_reset(hand->model, hand->data, &hand->random);
  for (int i = 0; i < m->nu; i++) { /* the open hand that an episode begins with: no finger touches another */
    const double *range = m->jnt_range + 2 * m->actuator_trnid[2 * i];
    action[i] = (float)(2 * (hand->data->ctrl[i] - range[0]) / (range[1] - range[0]) - 1);
  }
  object_of(hand)[0] += 1; /* next to the hand */
  const double height = object_of(hand)[2];
  for (int i = 0; i < 30; i++) mujoco_step(hand->model, hand->data, action);
  seconds = 30 * hand->model->dt;
  assert_true(fabs(height - object_of(hand)[2] - 9.81 / 2 * seconds * seconds) < 0.03);
  for (int i = 0; i < 300; i++) mujoco_step(hand->model, hand->data, action);
  for (int i = 0; i < m->nu; i++) {
    const int joint = m->actuator_trnid[2 * i];
    held = fmax(held, fabs(hand->data->qpos[joint] - hand->data->ctrl[i]));
  }
  assert_true(held < 0.03); /* friction in the joints leaves this much; with weight the wrist has 0.1 and more */
}
static void test_weight(void **state) { (void)state, with_each(check_weight); }

/* ---- as environments --------------------------------------------------------------------------------------------- */

enum { WORLDS = 3, STEPS = 630 }; /* longer than an episode */

/* A batch with the outputs of its last step. */
typedef struct Side {
  Env *env;
  float *observations, rewards[WORLDS], actions[WORLDS * 32];
  uint8_t dones[WORLDS], solved[WORLDS];
  int32_t episode_steps[WORLDS];
} Side;

static void begin_side(Side *side) {
  side->observations = core_memory_zero_allocate(WORLDS * (size_t)side->env->observation_length, sizeof(float));
  side->env->reset(side->env, side->observations);
}

static void make_side(Side *side, const char *task) {
  const EnvBatch batch = {.worlds = WORLDS, .seed = 5};
  *side = (Side){0};
  if (mujoco_env_create(task, NULL, &batch, &side->env) != CORE_OK) fail_msg("%s", core_error_message());
  begin_side(side);
}

static void free_side(Side *side) {
  free(side->observations);
  env_destroy(&side->env);
}

static void step_side(Side *side, uint32_t step) {
  CoreRandomStream stream = core_random_stream(5, CORE_RANDOM_TEST, 1, step);
  for (int i = 0; i < WORLDS * side->env->action_values; i++) side->actions[i] = core_random_uniform(&stream, -1, 1);
  side->env->step(side->env, side->actions,
                  &(EnvStep){.observations = side->observations, .rewards = side->rewards, .dones = side->dones,
                             .solved = side->solved, .episode_steps = side->episode_steps});
}

static void assert_same(const Side *a, const Side *b) {
  assert_memory_equal(a->observations, b->observations,
                      WORLDS * (size_t)a->env->observation_length * sizeof *a->observations);
  assert_memory_equal(a->rewards, b->rewards, sizeof a->rewards);
  assert_memory_equal(a->dones, b->dones, sizeof a->dones);
}

static void check_worlds(Hand *hand) {
  const int threads = omp_get_max_threads();
  Side one, three, later;
  int ends = 0;
  omp_set_num_threads(1);
  make_side(&one, hand->model->task->name);
  omp_set_num_threads(3);
  make_side(&three, hand->model->task->name);
  make_side(&later, hand->model->task->name);

  void *saved = core_memory_allocate(one.env->state_bytes(one.env));
  for (uint32_t t = 0; t < STEPS; t++) {
    step_side(&one, t);
    step_side(&three, t);
    assert_same(&one, &three);
    for (int w = 0; w < WORLDS; w++) ends += one.dones[w];

    if (t == STEPS / 2) { /* goals, counters and targets are in the saved state */
      one.env->save(one.env, saved);
      assert_int_equal(later.env->load(later.env, saved, one.env->state_bytes(one.env)), CORE_OK);
    } else if (t > STEPS / 2) {
      step_side(&later, t);
      assert_same(&one, &later);
    }
  }

  omp_set_num_threads(threads);
  assert_true(ends >= WORLDS);
  assert_true(one.env->solves && one.env->counts_goals);
  free(saved);
  free_side(&one), free_side(&three), free_side(&later);
}
static void test_worlds(void **state) { (void)state, with_each(check_worlds); }

/* A tolerance that any rotation is within: each step reaches a goal. */
static void check_tolerance(Hand *hand) {
  const char *const task = hand->model->task->name;
  Side narrow, wide = {0};
  make_side(&narrow, task);
  CoreConfig config = CONFIGURED("hand.success_tolerance=3.1");
  snprintf(config.env.task, sizeof config.env.task, MUJOCO_PREFIX "%s", task);
  assert_int_equal(env_create(&config, WORLDS, 5, &wide.env), CORE_OK);
  begin_side(&wide);
  assert_memory_equal(narrow.observations, wide.observations,
                      WORLDS * (size_t)wide.env->observation_length * sizeof *wide.observations);
  for (uint32_t t = 0; t < 3; t++) {
    step_side(&narrow, t);
    step_side(&wide, t);
    for (int w = 0; w < WORLDS; w++) assert_true(wide.rewards[w] > 200 && narrow.rewards[w] < 50);
  }
  free_side(&narrow), free_side(&wide);
}
static void test_tolerance(void **state) { (void)state, with_each(check_tolerance); }

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_start), cmocka_unit_test(test_actions), cmocka_unit_test(test_goals),
    cmocka_unit_test(test_weight), cmocka_unit_test(test_worlds), cmocka_unit_test(test_tolerance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) { return print_message("1..0 # SKIP this was built without MuJoCo\n"), 0; }
#endif
