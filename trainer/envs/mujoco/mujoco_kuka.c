/* Arm, hand, table and cuboid on MuJoCo (mujoco_goal.h): between mjData and the formulas of trainer/envs/hands/kuka.h.
 * The model's first joints are the hinges of arm and hand, its last one is the cuboid's free joint, actuator j sets the
 * target of joint j, and the mocap body "goal" is where the goal is. userdata is a KukaState. Cuboids differ between
 * worlds: each thread has a model of its own, into which a world's cuboid is put before anything is computed. */
#include "trainer/envs/mujoco/mujoco_goal.h"

#if CORE_HAS_MUJOCO
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "trainer/envs/hands/kuka.h"
#include "trainer/envs/hands/rotation.h"

/* Of task->named. */
enum { OBJECT, WRIST, TIP, SHOULDER = TIP + KUKA_TIPS };
enum { FREE = 6 }; /* speeds of a free joint */

static KukaState *state_of(const mjData *data) { return (KukaState *)(void *)data->userdata; }

static double uniform(const MujocoRandom *random) { return random->uniform(random->state); }

static void draw(const MujocoRandom *random, double *u, int n) {
  for (int i = 0; i < n; i++) u[i] = uniform(random);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* How far a fingertip can be from the shoulder: the links between, stretched. */
static double reach_of(const MujocoModel *model) {
  const mjModel *m = model->model;
  double reach = 0.05; /* the last link */
  for (int b = model->named[TIP]; b > model->named[SHOULDER]; b = m->body_parentid[b]) {
    const double *step = m->body_pos + 3 * (size_t)b;
    reach += sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
  }
  return reach;
}

static double farthest_goal(const MujocoModel *model) {
  mjData *data = mujoco.mj_makeData(model->model);
  CORE_CHECK(data != NULL);
  mujoco.mj_forward(model->model, data);
  const double farthest = kuka_farthest_goal(data->xpos + 3 * (size_t)model->named[SHOULDER]);
  mujoco.mj_deleteData(data);
  return farthest;
}

static int check_goals(const MujocoModel *model, const char *path) {
  const double farthest = farthest_goal(model), reach = reach_of(model);
  if (model->task->kuka->goals == KUKA_BUCKETS || farthest <= reach) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s: goals of %s lie up to %.2f m from the arm's shoulder, and its fingertips "
                    "reach %.2f m; put the arm's base nearer to the table, or `make install` the trainer's own model",
                    path, model->task->name, farthest, reach);
}

static int check_object(const MujocoModel *model, const char *path) {
  const mjModel *m = model->model;
  const int object = model->named[OBJECT], geom = m->body_geomadr[object];
  if (m->jnt_bodyid[KUKA_JOINTS] == object && m->body_geomnum[object] == 1 && m->geom_type[geom] == mjGEOM_BOX)
    return CORE_OK;
  return core_error(CORE_USAGE, "%.300s has a body \"%s\" that is no box with the model's last, free joint", path,
                    model->task->named[OBJECT]);
}

static int check(const MujocoModel *model, const char *path) {
  const mjModel *m = model->model;
  TRY(mujoco_goal_check(model, path, KUKA_STATE));
  for (int j = 0; j <= KUKA_JOINTS; j++)
    if (m->jnt_type[j] != (j < KUKA_JOINTS ? mjJNT_HINGE : mjJNT_FREE))
      return core_error(CORE_USAGE, "%.300s has joint %d of another kind: %s needs %d hinges of arm and hand, then the "
                        "cuboid's free joint", path, j, model->task->name, KUKA_JOINTS);
  for (int j = 0; j < KUKA_JOINTS; j++)
    if (m->actuator_trntype[j] != mjTRN_JOINT || m->actuator_trnid[2 * j] != j)
      return core_error(CORE_USAGE, "%.300s has actuator %d at something else than joint %d", path, j, j);
  TRY(check_object(model, path));
  return check_goals(model, path);
}

/* ---- the world's cuboid ------------------------------------------------------------------------------------------ */

/* What MuJoCo's compiler makes of a box of these half sides. */
static void shape(mjModel *m, int object, const double half[3]) {
  const int geom = m->body_geomadr[object], dof = m->body_dofadr[object];
  const double mass = KUKA_DENSITY * 8 * half[0] * half[1] * half[2];
  double *inertia = m->body_inertia + 3 * (size_t)object, turning = 0;
  memcpy(m->geom_size + 3 * (size_t)geom, half, 3 * sizeof *half);
  memcpy(m->geom_aabb + 6 * (size_t)geom + 3, half, 3 * sizeof *half);
  memcpy(m->bvh_aabb + 6 * (size_t)m->body_bvhadr[object] + 3, half, 3 * sizeof *half);
  m->geom_rbound[geom] = sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2]);
  m->body_subtreemass[0] += mass - m->body_mass[object];
  m->body_mass[object] = m->body_subtreemass[object] = mass;
  for (int i = 0; i < 3; i++) {
    const double a = half[(i + 1) % 3], b = half[(i + 2) % 3];
    inertia[i] = mass / 3 * (a * a + b * b);
    turning += 1 / inertia[i] / 3;
  }
  m->body_invweight0[2 * object] = 1 / mass;
  m->body_invweight0[2 * object + 1] = turning;
  for (int i = 0; i < FREE; i++) m->dof_invweight0[dof + i] = i < 3 ? 1 / mass : turning;
}

/* A goal that is a box is shown as large as the cuboid. */
static void shape_goal(mjModel *m, const double half[3]) {
  const int goal = mujoco.mj_name2id(m, mjOBJ_BODY, "goal"), geom = m->body_geomadr[goal];
  if (m->body_geomnum[goal] == 1 && m->geom_type[geom] == mjGEOM_BOX)
    memcpy(m->geom_size + 3 * (size_t)geom, half, 3 * sizeof *half);
}

static void prepare(const MujocoModel *model, const mjData *data) {
  mjModel *m = mujoco_model_of(model, data);
  const int object = model->named[OBJECT];
  double half[3];
  for (int i = 0; i < 3; i++) half[i] = state_of(data)->scale[i] * KUKA_SIDE / 2;
  if (memcmp(m->geom_size + 3 * (size_t)m->body_geomadr[object], half, sizeof half) == 0) return;
  shape(m, object, half);
  if (model->task->kuka->goals == KUKA_POSES) shape_goal(m, half);
}

/* ---- goals and starts -------------------------------------------------------------------------------------------- */

static void look(const MujocoModel *model, const mjData *data, KukaView *view);

static void draw_goal(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  double u[4], v[3];
  draw(random, u, 4);
  draw(random, v, 3);
  kuka_goal_place(model->task->kuka, u, data->mocap_pos);
  if (model->task->kuka->goals == KUKA_POSES) kuka_random_rotation(v, data->mocap_quat);
}

/* Half the cuboid's height as it is turned. */
static double half_height(const double scale[3], const double rotation[4]) {
  double up[3], height = 0;
  rotation_turn_back(rotation, (const double[]){0, 0, 1}, up);
  for (int i = 0; i < 3; i++) height += fabs(up[i]) * scale[i] * KUKA_SIDE / 2;
  return height;
}

/* Over the table, turned in any way in which it is not in the table. */
static void place_object(mjData *data, const MujocoRandom *random) {
  enum { TRIES = 100 };
  double *object = data->qpos + KUKA_JOINTS, u[3];
  draw(random, u, 3);
  kuka_start_place(u, object);
  for (int i = 0; i < TRIES; i++) {
    draw(random, u, 3);
    kuka_random_rotation(u, object + 3);
    if (object[2] - half_height(state_of(data)->scale, object + 3) > KUKA_TABLE_HEIGHT) break;
  }
  memset(data->qvel + KUKA_JOINTS, 0, FREE * sizeof *data->qvel);
}

static void place_joints(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const double *range = model->model->jnt_range;
  for (int j = 0; j < KUKA_JOINTS; j++) {
    data->qpos[j] = data->ctrl[j] = kuka_start_joint(j, uniform(random), range[2 * j], range[2 * j + 1]);
    data->qvel[j] = kuka_start_speed(uniform(random));
  }
}

/* Weight and random force on the cuboid, which for a free joint are speeds' forces in the world's axes. */
static void push(const MujocoModel *model, mjData *data) {
  double *force = data->qfrc_applied + KUKA_JOINTS;
  rotation_turn(data->qpos + KUKA_JOINTS + 3, state_of(data)->force, force);
  force[2] -= KUKA_GRAVITY * mujoco_model_of(model, data)->body_mass[model->named[OBJECT]];
}

static void reset(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const KukaTask *task = model->task->kuka;
  mjModel *m = mujoco_model_of(model, data);
  KukaState state = *state_of(data), *now;
  KukaView view;
  kuka_begin_episode(task, &state);
  kuka_cuboid(task, (int)(uniform(random) * kuka_cuboids(task)), state.scale);
  state.force_share = kuka_force_share(uniform(random));
  mujoco.mj_resetData(m, data);
  now = state_of(data);
  *now = state;
  prepare(model, data);
  draw_goal(model, data, random);
  place_object(data, random);
  place_joints(model, data, random);
  push(model, data);
  mujoco.mj_forward(m, data);
  look(model, data, &view);
  kuka_begin_goal(task, now, &view, true);
}

/* A new random force, in the cuboid's weights / 9.81, in each step with the episode's probability. */
static void draw_force(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  KukaState *state = state_of(data);
  const double mass = mujoco_model_of(model, data)->body_mass[model->named[OBJECT]], left = kuka_force_left();
  for (int i = 0; i < 3; i++) state->force[i] *= left;
  if (uniform(random) >= state->force_share) return;
  for (int i = 0; i < 3; i++) state->force[i] = random->normal(random->state) * mass * model->task->kuka->force;
}

static void advance(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const KukaTask *task = model->task->kuka;
  KukaView view;
  if (task->force > 0) draw_force(model, data, random);
  if (state_of(data)->goal_due == 0) return;
  draw_goal(model, data, random);
  if (task->goals != KUKA_POSES) place_object(data, random);
  look(model, data, &view);
  kuka_begin_goal(task, state_of(data), &view, false);
}

static int reached(const mjData *data) { return (int)state_of(data)->now.reached; }

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void act(const MujocoModel *model, mjData *data, const float *action) {
  const double *range = model->model->jnt_range;
  for (int j = 0; j < KUKA_JOINTS; j++) {
    const double wish = fmin(fmax((double)action[j], -1), 1);
    data->ctrl[j] = kuka_target(j, wish, data->ctrl[j], range[2 * j], range[2 * j + 1]);
  }
  push(model, data);
}

static double reward(const MujocoModel *model, mjData *data, bool *ended) {
  KukaView view;
  look(model, data, &view);
  return kuka_reward(model->task->kuka, state_of(data), &view, ended).total;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

static void look_at_body(const mjData *data, int body, double place[3], double rotation[4]) {
  memcpy(place, data->xpos + 3 * (size_t)body, 3 * sizeof *place);
  memcpy(rotation, data->xquat + 4 * (size_t)body, 4 * sizeof *rotation);
}

/* A free joint's velocity is in the world's axes, its spin in the body's. */
static void look_at_object(const MujocoModel *model, const mjData *data, KukaView *view) {
  const double *object = data->qpos + KUKA_JOINTS, *moves = data->qvel + KUKA_JOINTS;
  memcpy(view->place, object, sizeof view->place);
  memcpy(view->rotation, object + 3, sizeof view->rotation);
  memcpy(view->velocity, moves, sizeof view->velocity);
  rotation_turn(view->rotation, moves + 3, view->spin);
  memcpy(view->goal, data->mocap_pos, sizeof view->goal);
  memcpy(view->goal_rotation, data->mocap_quat, sizeof view->goal_rotation);
  if (model->task->kuka->goals == KUKA_BUCKETS) view->goal[2] += KUKA_IN_BUCKET;
}

static void look(const MujocoModel *model, const mjData *data, KukaView *view) {
  double velocity[6]; /* spin, then velocity */
  *view = (KukaView){.position = data->qpos, .speed = data->qvel, .range = model->model->jnt_range};
  look_at_body(data, model->named[WRIST], view->wrist, view->wrist_rotation);
  mujoco.mj_objectVelocity(model->model, data, mjOBJ_XBODY, model->named[WRIST], velocity, 0);
  memcpy(view->wrist_spin, velocity, sizeof view->wrist_spin);
  memcpy(view->wrist_velocity, velocity + 3, sizeof view->wrist_velocity);
  for (int i = 0; i < KUKA_TIPS; i++) look_at_body(data, model->named[TIP + i], view->tip[i], view->tip_rotation[i]);
  look_at_object(model, data, view);
}

static void observe(const MujocoModel *model, const mjData *data, double *observation) {
  KukaView view;
  look(model, data, &view);
  CORE_CHECK(kuka_observe(model->task->kuka, state_of(data), &view, observation) == model->task->observations);
}

const MujocoGoalRules mujoco_kuka_rules = {
  .check = check, .prepare = prepare, .reset = reset, .act = act, .reward = reward, .advance = advance,
  .observe = observe, .reached = reached};
#endif
