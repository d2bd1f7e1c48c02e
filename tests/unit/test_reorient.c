/* Rewards, goals and observations of the hands' tasks, term by term, against values of IsaacGymEnvs' own functions
 * for the same states (tests/golden/reorient_isaac.gold; make_reorient.py describes its lines). It computes in
 * float32. MuJoCo is not needed. */
#include "test.h"

#include "trainer/envs/hands/reorient.h"
#include "trainer/envs/hands/rotation.h"
#include "trainer/envs/mujoco/mujoco_task.h"

enum { LINE = 1 << 14, NUMBERS = 256 };

static void assert_close(double ours, double truth, double tolerance) {
  if (!(fabs(ours - truth) <= tolerance * fmax(1, fabs(truth)))) fail_msg("%.9g is not %.9g", ours, truth);
}

/* Reads the next line's numbers, which begins with `name`; how many there are. */
static int read_row(FILE *file, const char *name, double numbers[NUMBERS]) {
  char line[LINE], *at;
  int count = 0;
  if (!fgets(line, sizeof line, file)) fail_msg("the file ends before %s", name);
  if (strncmp(line, name, strlen(name)) != 0) fail_msg("not %s but %.40s", name, line);
  at = line + strlen(name);
  for (char *end; count < NUMBERS; at = end, count++) {
    numbers[count] = strtod(at, &end);
    if (end == at) break;
  }
  return count;
}

/* One drawn state. */
typedef struct Case {
  double limits[NUMBERS], joints[NUMBERS], object[NUMBERS], goal[NUMBERS], tips[NUMBERS], action[NUMBERS];
  double observation[NUMBERS], reward[NUMBERS], targets[NUMBERS];
  double rotation[4], goal_rotation[4]; /* w, x, y, z */
  int actions, observations;
} Case;

static void to_ours(const double last[4], double rotation[4]) {
  const double first[4] = {last[3], last[0], last[1], last[2]};
  memcpy(rotation, first, sizeof first);
}

static void read_case(FILE *file, const ReorientTask *task, Case *c) {
  assert_int_equal(read_row(file, "limits", c->limits), 2 * task->joints);
  assert_int_equal(read_row(file, "joints", c->joints), 3 * task->joints);
  assert_int_equal(read_row(file, "object", c->object), 13);
  assert_int_equal(read_row(file, "goal", c->goal), 7);
  assert_int_equal(read_row(file, "tips", c->tips), task->tips * (REORIENT_TIP + REORIENT_FORCE));
  c->actions = read_row(file, "action", c->action);
  c->observations = read_row(file, "observation", c->observation);
  assert_int_equal(read_row(file, "reward", c->reward), 8);
  assert_int_equal(read_row(file, "targets", c->targets), c->actions);
  to_ours(c->object + 3, c->rotation);
  to_ours(c->goal + 3, c->goal_rotation);
}

static void check_reward(const ReorientTask *table, const Case *c) {
  ReorientTask task = *table;
  task.fall_penalty = -3; /* the file's, for the default is 0 */
  const ReorientReward r = reorient_reward(&task, c->object, c->rotation, c->goal, c->goal_rotation, c->action,
                                           c->actions);
  const double ours[] = {r.distance, r.rotation, r.action, r.bonus, r.fall, r.total, r.fallen, r.reached};
  for (int i = 0; i < 8; i++) assert_close(ours[i], c->reward[i], 2e-6);
}

static void check_observation(const ReorientTask *task, const Case *c) {
  const int n = task->joints;
  double seen[NUMBERS];
  ReorientView view = {.joint_position = c->joints,
                       .low = c->limits,
                       .high = c->limits + n,
                       .joint_velocity = c->joints + n,
                       .torque = c->joints + 2 * n,
                       .position = c->object,
                       .rotation = c->rotation,
                       .velocity = c->object + 7,
                       .angular_velocity = c->object + 10,
                       .goal_position = c->goal,
                       .goal_rotation = c->goal_rotation,
                       .action = c->action,
                       .actions = c->actions};
  memcpy(view.tip, c->tips, (size_t)(task->tips * REORIENT_TIP) * sizeof(double));
  memcpy(view.force, c->tips + task->tips * REORIENT_TIP, (size_t)(task->tips * REORIENT_FORCE) * sizeof(double));
  assert_int_equal(reorient_observe(task, &view, seen), c->observations);
  for (int i = 0; i < c->observations; i++) assert_close(seen[i], c->observation[i], 2e-6);
}

static void check_case(FILE *file, const char *name) {
  const MujocoTask *task = mujoco_task_find(name);
  static Case c;
  assert_non_null(task);
  read_case(file, task->reorient, &c);
  assert_int_equal(c.actions, task->nu);
  assert_int_equal(c.observations, task->observations);
  check_reward(task->reorient, &c);
  check_observation(task->reorient, &c);
  for (int i = 0; i < c.actions; i++) {
    const double low = c.limits[i], high = c.limits[task->reorient->joints + i];
    assert_close(reorient_target(task->reorient, c.action[i], 77, low, high, 1), c.targets[i], 1e-6);
  }
}

static void test_published_numbers(void **state) {
  (void)state;
  FILE *file = fopen("tests/golden/reorient_isaac.gold", "r");
  char kind[16];
  int cases = 0, turns = 0, number;
  double turn[NUMBERS], ours[4], last[4];
  assert_non_null(file);
  for (; fscanf(file, "case %15s %d\n", kind, &number) == 2; cases++)
    check_case(file, strcmp(kind, "shadow") == 0 ? "ShadowHand" : "AllegroHand");
  for (int c; (c = fgetc(file)) != EOF; turns++) {
    ungetc(c, file);
    assert_int_equal(read_row(file, "turn", turn), 6);
    rotation_random(turn[0], turn[1], ours);
    rotation_to_xyzw(ours, last);
    for (int i = 0; i < 4; i++) assert_close(last[i], turn[2 + i], 1e-6);
  }
  fclose(file);
  assert_int_equal(cases, 24);
  assert_int_equal(turns, 12);
}

/* ---- values computed by hand ------------------------------------------------------------------------------------- */

static void test_rotations(void **state) {
  (void)state;
  const double x[3] = {1, 0, 0}, z[3] = {0, 0, 1}, v[3] = {1, 2, 3};
  double a[4], b[4], turned[3];
  rotation_from_axis_angle(z, 3.14159265358979323846 / 2, a);
  rotation_apply(a, v, turned); /* x to y, y to -x */
  assert_close(turned[0], -2, 1e-15);
  assert_close(turned[1], 1, 1e-15);
  assert_close(turned[2], 3, 1e-15);
  rotation_apply_inverse(a, turned, turned);
  for (int i = 0; i < 3; i++) assert_close(turned[i], v[i], 1e-15);
  rotation_from_axis_angle(x, 0.3, b);
  assert_close(rotation_distance(a, a), 0, 1e-15);
  for (int i = 0; i < 4; i++) a[i] = -b[i]; /* equal rotation */
  assert_close(rotation_distance(a, b), 0, 1e-15);
  rotation_from_axis_angle(x, 0.3 + 0.25, a);
  assert_close(rotation_distance(a, b), 0.25, 1e-14);
}

static void test_targets(void **state) {
  (void)state;
  ReorientTask task = {.relative = true, .speed = 20};
  assert_close(reorient_target(&task, 0.5, 0.2, -1, 1, 0.01), 0.3, 1e-15);
  assert_close(reorient_target(&task, 1, 0.95, -1, 1, 0.01), 1, 0); /* within the joint's range */
  task.relative = false;
  assert_close(reorient_target(&task, -1, 0.2, -0.5, 1.5, 0.01), -0.5, 0);
  assert_close(reorient_target(&task, 0, 0.2, -0.5, 1.5, 0.01), 0.5, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_published_numbers),
    cmocka_unit_test(test_rotations),
    cmocka_unit_test(test_targets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
