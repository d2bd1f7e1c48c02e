/* AllegroKuka's formulas against IsaacGymEnvs' own classes, term by term (tests/golden/kuka_isaac.gold, made by
 * make_kuka.py), and our additions: the tolerance of each world, and the model. Compares kinematics, masses and
 * limits of the model with the published description, and an inserted cuboid with the result of MuJoCo's compiler. */
#include "test.h"

#include "core/error.h"
#include "core/files.h"
#include "trainer/envs/hands/kuka.h"
#include "trainer/envs/mujoco/mujoco_goal.h"

enum { LINE = 1 << 14, OBSERVATIONS = 117 };
static const double exact = 1e-9; /* the file has 12 digits */

static const char *const names[] = {"regrasping", "throw", "reorientation"};
static const char *const tasks[] = {"AllegroKukaRegrasping", "AllegroKukaThrow", "AllegroKukaReorientation"};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The rest of a line, whose numbers are read one by one. */
typedef struct Line { char text[LINE], *at; } Line;

static double take(Line *line) {
  char *end;
  const double x = strtod(line->at, &end);
  assert_true(end > line->at);
  line->at = end;
  return x;
}

static void take_all(Line *line, double *x, int n) {
  for (int i = 0; i < n; i++) x[i] = take(line);
}

static FILE *open_golden(void) {
  FILE *file = fopen("tests/golden/kuka_isaac.gold", "r");
  assert_non_null(file);
  return file;
}

/* The next line that begins with `word`, but not past one that begins with `stop`, which may be NULL. */
static bool next(FILE *file, const char *word, const char *stop, Line *line) {
  while (fgets(line->text, sizeof line->text, file)) {
    assert_non_null(strchr(line->text, '\n'));
    line->at = strchr(line->text, ' ');
    assert_non_null(line->at);
    *line->at++ = '\0';
    if (strcmp(line->text, word) == 0) return true;
    if (stop && strcmp(line->text, stop) == 0) return false;
  }
  return false;
}

/* Opens a file whose next lines are those of the task; returns the task, too. */
static FILE *open_task(int i, const KukaTask **task) {
  FILE *file = open_golden();
  Line line;
  *task = mujoco_task_find(tasks[i])->kuka;
  while (next(file, "task", NULL, &line))
    if (strncmp(line.at, names[i], strlen(names[i])) == 0) return file;
  fail_msg("kuka_isaac.gold has no %s", names[i]);
  return NULL;
}

static void assert_agrees(const char *what, double ours, double theirs, double most) {
  if (!(fabs(ours - theirs) <= most * fmax(1, fabs(theirs)))) fail_msg("%s: %.12g, not %.12g", what, ours, theirs);
}

static void assert_all_near(const char *what, const double *ours, Line *line, int n) {
  for (int i = 0; i < n; i++) assert_agrees(what, ours[i], take(line), exact);
}

/* ---- rewards and observations ------------------------------------------------------------------------------------ */

static void take_view(Line *line, double position[KUKA_JOINTS], double speed[KUKA_JOINTS], KukaView *view) {
  view->joint_position = position;
  view->joint_velocity = speed;
  take_all(line, position, KUKA_JOINTS);
  take_all(line, speed, KUKA_JOINTS);
  take_all(line, view->wrist, 3);
  take_all(line, view->wrist_rotation, 4);
  take_all(line, view->wrist_velocity, 3);
  take_all(line, view->wrist_angular_velocity, 3);
  take_all(line, view->tip[0], KUKA_TIPS * 3);
  take_all(line, view->tip_rotation[0], KUKA_TIPS * 4);
  take_all(line, view->position, 3);
  take_all(line, view->rotation, 4);
  take_all(line, view->velocity, 3);
  take_all(line, view->angular_velocity, 3);
  take_all(line, view->goal, 3);
  take_all(line, view->goal_rotation, 4);
}

/* Sets the world's state before the step: new goals start with the minimum distances of the first state observed. */
static void take_given(Line *line, const KukaTask *task, KukaState *state, const KukaView *view) {
  const bool begins = take(line) > 0, due = take(line) > 0;
  if (begins) *state = (KukaState){0};
  const double reached = take(line), steps = take(line), near = take(line);
  if (begins) kuka_start_episode(task, state);
  take_all(line, state->scale, 3);
  if (begins || due) kuka_start_goal(task, state, view, begins);
  state->current.reached = reached;
  state->current.steps = steps;
  state->near_steps = near;
}

static void compare_reward(Line *line, const KukaReward *r, const KukaState *state, bool ended) {
  static const char *const terms[] = {"fingertips", "lifting", "lifting bonus", "keypoints", "arm", "hand",
                                      "goal", "reward", "end", "goal due", "goals"};
  const double ours[] = {r->tips, r->lifting, r->lifted, r->keypoint, r->arm, r->hand, r->goal, r->total, ended,
                         state->is_reached, state->current.reached};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) assert_agrees(terms[i], ours[i], take(line), exact);
}

static int compare_steps(FILE *file, const KukaTask *task, const double *range, int observations) {
  static Line given, line;
  KukaState state = {0};
  int steps = 0;
  for (; next(file, "given", "task", &given); steps++) {
    double position[KUKA_JOINTS], speed[KUKA_JOINTS], observation[OBSERVATIONS];
    KukaView view = {.joint_range = range};
    bool ended;
    assert_true(next(file, "state", NULL, &line));
    take_view(&line, position, speed, &view);
    take_given(&given, task, &state, &view);
    const KukaReward reward = kuka_reward(task, &state, &view, &ended);
    assert_true(next(file, "reward", NULL, &line));
    compare_reward(&line, &reward, &state, ended);
    assert_int_equal(kuka_observe(task, &state, &view, observation), observations);
    assert_true(next(file, "observation", NULL, &line));
    assert_all_near("observation", observation, &line, observations);
  }
  return steps;
}

static void take_range(double range[2 * KUKA_JOINTS]) {
  FILE *file = open_golden();
  Line line;
  assert_true(next(file, "range", NULL, &line));
  take_all(&line, range, 2 * KUKA_JOINTS);
  fclose(file);
}

static void test_rewards_and_observations_are_the_published_ones(void **state) {
  (void)state;
  double range[2 * KUKA_JOINTS];
  take_range(range);
  for (int i = 0; i < 3; i++) {
    const KukaTask *task;
    FILE *file = open_task(i, &task);
    assert_int_equal(compare_steps(file, task, range, mujoco_task_find(tasks[i])->observations), 48);
    fclose(file);
  }
}

/* ---- goals, starts, actions -------------------------------------------------------------------------------------- */

static void test_goals_are_the_published_ones(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    const KukaTask *task;
    FILE *file = open_task(i, &task);
    Line line;
    int goals = 0;
    for (; next(file, "goal", "given", &line); goals++) {
      double u[4], place[3];
      take_all(&line, u, 4);
      kuka_goal_position(task, u, place);
      if (task->goals == KUKA_BUCKETS) place[2] += KUKA_IN_BUCKET;
      assert_all_near("goal", place, &line, 3);
    }
    assert_int_equal(goals, 6);
    fclose(file);
  }
}

static void test_cuboids_are_the_published_ones(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    const KukaTask *task;
    FILE *file = open_task(i, &task);
    Line line;
    double sums[7] = {0};
    assert_true(next(file, "cuboids", NULL, &line));
    for (int n = 0; n < kuka_cuboid_count(task); n++) {
      double s[3];
      kuka_cuboid(task, n, s);
      const double more[] = {1, s[0], s[1], s[2], s[0] * s[1] * s[2], s[0] * s[0] * s[1], s[1] * s[1] * s[2]};
      for (int k = 0; k < 7; k++) sums[k] += more[k];
    }
    assert_all_near("cuboids: how many, and sums of their sides", sums, &line, 7);
    fclose(file);
  }
}

static void test_rotations_starts_and_targets_are_the_published_ones(void **state) {
  (void)state;
  FILE *file = open_golden();
  Line line;
  double range[2 * KUKA_JOINTS], u[KUKA_JOINTS], made[KUKA_JOINTS], last[KUKA_JOINTS];

  take_range(range);

  for (int i = 0; i < 18; i++) {
    assert_true(next(file, "rotation", NULL, &line));
    take_all(&line, u, 3);
    kuka_random_rotation(u, made);
    assert_all_near("rotation", made, &line, 4);
  }

  for (int i = 0; i < 6; i++) {
    assert_true(next(file, "start", NULL, &line));
    take_all(&line, u, 3);
    kuka_start_position(u, made);
    assert_all_near("start", made, &line, 3);
    take_all(&line, u, KUKA_JOINTS);
    for (int j = 0; j < KUKA_JOINTS; j++) { /* theirs may start outside the range, as the thumb's first joint */
      const double theirs = fmin(fmax(take(&line), range[2 * j]), range[2 * j + 1]);
      assert_agrees("joint", kuka_start_joint(j, u[j], range[2 * j], range[2 * j + 1]), theirs, exact);
    }
    take_all(&line, u, KUKA_JOINTS);
    for (int j = 0; j < KUKA_JOINTS; j++) assert_agrees("speed", kuka_start_velocity(u[j]), take(&line), exact);
  }

  for (int i = 0; i < 6; i++) {
    assert_true(next(file, "target", NULL, &line));
    take_all(&line, last, KUKA_JOINTS);
    take_all(&line, u, KUKA_JOINTS);
    for (int j = 0; j < KUKA_JOINTS; j++)
      assert_agrees("target", kuka_target(j, u[j], last[j], range[2 * j], range[2 * j + 1]), take(&line), exact);
  }

  fclose(file);
}

static void test_random_forces_decay_and_differ_between_episodes(void **state) {
  (void)state;
  assert_agrees("share", kuka_force_probability(0), 0.1, 1e-12);
  assert_agrees("share", kuka_force_probability(1), 0.001, 1e-12);
  assert_agrees("left", kuka_force_decay(), pow(0.99, 0.01667 / 0.08), 1e-12);
}

/* ---- the tolerance ----------------------------------------------------------------------------------------------- */

/* `episodes` episodes of 100 steps in which `goals` goals are reached, far from anything. */
static void play(const KukaTask *task, KukaState *state, int episodes, int goals) {
  double joints[KUKA_JOINTS] = {0}, range[2 * KUKA_JOINTS] = {0};
  KukaView view = {.joint_position = joints,
                   .joint_velocity = joints,
                   .joint_range = range,
                   .rotation = {1},
                   .goal = {0, 0, 9},
                   .goal_rotation = {1},
                   .position = {0, 0, 0.55}};
  bool ended;
  for (int e = 0; e < episodes; e++) {
    for (int t = 0; t < 100; t++) kuka_reward(task, state, &view, &ended);
    state->current.reached = goals;
    kuka_start_episode(task, state);
  }
}

static void test_the_tolerance_tightens_where_goals_are_reached(void **unused) {
  (void)unused;
  const KukaTask *task = mujoco_task_find("AllegroKukaReorientation")->kuka;
  KukaState state = {0};
  kuka_start_episode(task, &state);
  assert_agrees("tolerance", state.tolerance, 0.075, 0);
  play(task, &state, 29, 3);
  assert_agrees("before 3000 steps", state.tolerance, 0.075, 0);
  play(task, &state, 2, 3);
  assert_agrees("after", state.tolerance, 0.075 * 0.9, 1e-12);
  play(task, &state, 60, 2);
  assert_agrees("too few goals", state.tolerance, 0.075 * 0.9, 1e-12);
  play(task, &state, 31 * 80, 50);
  assert_agrees("the final_tolerance", state.tolerance, 0.01, 1e-12);
  const KukaTask *throwing = mujoco_task_find("AllegroKukaThrow")->kuka;
  state = (KukaState){0};
  kuka_start_episode(throwing, &state);
  play(throwing, &state, 100, 50);
  assert_agrees("Throw's stays", state.tolerance, 0.075, 0);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

#if CORE_HAS_MUJOCO
#define NEED_MUJOCO() \
  if (mujoco_library_open() != CORE_OK) skip()

static MujocoModel *make_model(int i) {
  MujocoModel *model;
  if (mujoco_model_create(mujoco_task_find(tasks[i]), &model) != CORE_OK) fail_msg("%s", core_error_message());
  return model;
}

static int body_of(const mjModel *m, const char *name) {
  const int body = mujoco.mj_name2id(m, mjOBJ_BODY, name);
  assert_true(body > 0);
  return body;
}

static void test_the_model_is_the_published_robot(void **state) {
  (void)state;
  NEED_MUJOCO();
  static const char *const frames[] = {"link_7", "index_3", "middle_3", "ring_3", "thumb_3"};
  MujocoModel *model = make_model(0);
  const mjModel *m = model->model;
  mjData *data = model->data[0];
  FILE *file = open_golden();
  Line line;
  assert_true(next(file, "range", NULL, &line));
  assert_all_near("range", m->jnt_range, &line, 2 * KUKA_JOINTS);
  assert_true(next(file, "mass", NULL, &line));
  assert_all_near("mass", m->body_mass + body_of(m, "link_1"), &line, 24);
  for (int i = 0; i < 8; i++) {
    assert_true(next(file, "kinematics", NULL, &line));
    mujoco.mj_resetData(m, data);
    take_all(&line, data->qpos, KUKA_JOINTS);
    mujoco.mj_forward(m, data);
    for (int k = 0; k < 5; k++) {
      assert_all_near(frames[k], data->xpos + 3 * body_of(m, frames[k]), &line, 3);
      assert_all_near(frames[k], data->xmat + 9 * body_of(m, frames[k]), &line, 9);
    }
  }
  fclose(file);
  mujoco_model_release(model);
}

/* The task's model with the cuboid's sides written into its text, compiled by MuJoCo. */
static mjModel *compile(const char *sides) {
  static const char cube[] = "size=\"0.025 0.025 0.025\" density", *const files[] =
    {"allegro_kuka.xml", "allegro_kuka_reorientation.xml"};
  char *text, *changed, reason[256] = "";
  size_t length;
  mjVFS vfs;
  mujoco.mj_defaultVFS(&vfs);
  for (int i = 0; i < 2; i++) {
    char path[256];
    snprintf(path, sizeof path, "trainer/envs/models/%s", files[i]);
    assert_int_equal(core_files_read(path, 1 << 20, &text, &length), CORE_OK);
    char *at = strstr(text, cube);
    assert_true(i == 1 || at != NULL);
    changed = calloc(1, length + 100);
    if (at) snprintf(changed, length + 100, "%.*ssize=\"%s\" density%s", (int)(at - text), text, sides,
                     at + strlen(cube));
    else memcpy(changed, text, length);
    assert_int_equal(mujoco.mj_addBufferVFS(&vfs, files[i], changed, (int)strlen(changed)), 0);
    free(text);
    free(changed);
  }
  mjModel *m = mujoco.mj_loadXML(files[1], &vfs, reason, sizeof reason);
  if (m == NULL) fail_msg("%s", reason);
  mujoco.mj_deleteVFS(&vfs);
  return m;
}

static void assert_same(const char *what, const double *ours, const double *theirs, int n) {
  for (int i = 0; i < n; i++) assert_agrees(what, ours[i], theirs[i], 1e-9);
}

static void test_a_cuboid_is_what_mujoco_makes_of_it(void **state) {
  (void)state;
  NEED_MUJOCO();
  MujocoModel *model = make_model(2);
  mjModel *theirs = compile("0.05 0.0125 0.03"), *ours = mujoco_model_of(model, model->data[0]);
  const int body = body_of(ours, "object"), geom = ours->body_geomadr[body], dof = ours->body_dofadr[body];
  KukaState *world = (KukaState *)(void *)model->data[0]->userdata;
  memcpy(world->scale, (const double[]){2, 0.5, 1.2}, sizeof world->scale);
  model->goals->prepare(model, model->data[0]);
  assert_same("geom_size", ours->geom_size + 3 * geom, theirs->geom_size + 3 * geom, 3);
  assert_same("geom_rbound", ours->geom_rbound + geom, theirs->geom_rbound + geom, 1);
  assert_same("geom_aabb", ours->geom_aabb + 6 * geom, theirs->geom_aabb + 6 * geom, 6);
  assert_int_equal(ours->body_bvhadr[body], theirs->body_bvhadr[body]);
  assert_same("bvh_aabb", ours->bvh_aabb, theirs->bvh_aabb, 6 * (int)ours->nbvh);
  assert_same("body_mass", ours->body_mass + body, theirs->body_mass + body, 1);
  assert_same("body_inertia", ours->body_inertia + 3 * body, theirs->body_inertia + 3 * body, 3);
  assert_same("body_iquat", ours->body_iquat + 4 * body, theirs->body_iquat + 4 * body, 4);
  assert_same("body_subtreemass", ours->body_subtreemass, theirs->body_subtreemass, (int)ours->nbody);
  assert_same("body_invweight0", ours->body_invweight0, theirs->body_invweight0, 2 * (int)ours->nbody);
  assert_same("dof_invweight0", ours->dof_invweight0, theirs->dof_invweight0, dof + 6);
  assert_int_equal(ours->nv, dof + 6);
  mujoco.mj_deleteModel(theirs);
  mujoco_model_release(model);
}

/* A fixed sequence, so that the samples are known. */
static double half(void *state) { return (void)state, 0.5; }

static void test_a_goal_follows_a_goal(void **state) {
  (void)state;
  NEED_MUJOCO();
  for (int i = 0; i < 3; i++) {
    MujocoModel *model = make_model(i);
    mjData *data = model->data[0];
    const MujocoRandom random = {half, half, NULL};
    KukaState *world = (KukaState *)(void *)data->userdata;
    const KukaTask *task = model->task->kuka;
    float action[KUKA_JOINTS] = {0};
    bool ended;

    memset(data->userdata, 0, KUKA_STATE * sizeof(double));
    mujoco_reset(model, data, &random);

    for (int t = 0; t < task->success_steps; t++) { /* held at the goal */
      assert_int_equal(model->goals->reached(data), 0);
      assert_true(mujoco_step(model, data, action));
      memcpy(data->qpos + KUKA_JOINTS, data->mocap_pos, 3 * sizeof(double));
      if (task->goals == KUKA_BUCKETS) data->qpos[KUKA_JOINTS + 2] += KUKA_IN_BUCKET;
      memcpy(data->qpos + KUKA_JOINTS + 3, data->mocap_quat, 4 * sizeof(double));
      assert_true(model->goals->reward(model, data, &ended) > 1000.0 / task->success_steps - 1);
      assert_false(ended);
    }

    assert_int_equal(model->goals->reached(data), 1);
    data->mocap_pos[0] = 9;
    mujoco_advance(model, data, &random);
    assert_true(data->mocap_pos[0] < 1);

    const bool lies = data->qpos[KUKA_JOINTS + 2] < KUKA_START_HEIGHT + 0.03;
    assert_int_equal(lies, task->goals != KUKA_POSES);
    assert_agrees("near", world->near_steps, 0, 0);

    mujoco_model_release(model);
  }
}
#else
static void test_the_model_is_the_published_robot(void **state) { (void)state, skip(); }
static void test_a_cuboid_is_what_mujoco_makes_of_it(void **state) { (void)state, skip(); }
static void test_a_goal_follows_a_goal(void **state) { (void)state, skip(); }
#endif

int main(void) {
  const struct CMUnitTest all[] = {
    cmocka_unit_test(test_rewards_and_observations_are_the_published_ones),
    cmocka_unit_test(test_goals_are_the_published_ones),
    cmocka_unit_test(test_cuboids_are_the_published_ones),
    cmocka_unit_test(test_rotations_starts_and_targets_are_the_published_ones),
    cmocka_unit_test(test_random_forces_decay_and_differ_between_episodes),
    cmocka_unit_test(test_the_tolerance_tightens_where_goals_are_reached),
    cmocka_unit_test(test_the_model_is_the_published_robot),
    cmocka_unit_test(test_a_cuboid_is_what_mujoco_makes_of_it),
    cmocka_unit_test(test_a_goal_follows_a_goal),
  };
  return cmocka_run_group_tests(all, NULL, NULL);
}
