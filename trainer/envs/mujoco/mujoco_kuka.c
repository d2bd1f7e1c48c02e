/* The AllegroKuka tasks on MuJoCo (mujoco_goal.h): connects mjData to trainer/envs/hands/kuka.h. The model's first
 * joints are the hinges of arm and hand, its last one is the cuboid's free joint, actuator j sets the target of
 * joint j, and the mocap body "goal" marks the goal. userdata is a KukaState. Cuboids differ between worlds, so each
 * thread has a copy of the model, which is set to the world's cuboid before each computation. */
#include "trainer/envs/mujoco/mujoco_goal.h"

#if CORE_HAS_MUJOCO
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "trainer/envs/hands/kuka.h"
#include "trainer/envs/hands/rotation.h"

/* Indices into task->named. */
enum { OBJECT, WRIST, TIP, SHOULDER = TIP + KUKA_TIPS };
enum { FREE = 6 }; /* degrees of freedom of a free joint */

static KukaState *get_state(const mjData *data) { return (KukaState *)(void *)data->userdata; }

static double uniform(const MujocoRandom *random) { return random->uniform(random->state); }

static void draw_uniform(const MujocoRandom *random, double *u, int n) {
  for (int i = 0; i < n; i++) u[i] = uniform(random);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Computes the maximum distance of a fingertip from the shoulder, with all links stretched. */
static double compute_reach(const MujocoModel *model) {
  const mjModel *m = model->model;
  double reach = 0.05; /* the last link */
  for (int b = model->named[TIP]; b > model->named[SHOULDER]; b = m->body_parentid[b]) {
    const double *link = m->body_pos + 3 * (size_t)b;
    reach += sqrt(link[0] * link[0] + link[1] * link[1] + link[2] * link[2]);
  }
  return reach;
}

/* Computes the maximum distance of a goal from the shoulder. */
static double max_goal_distance(const MujocoModel *model) {
  mjData *data = mujoco.mj_makeData(model->model);
  CORE_CHECK(data != NULL);
  mujoco.mj_forward(model->model, data);
  const double farthest = kuka_max_goal_distance(data->xpos + 3 * (size_t)model->named[SHOULDER]);
  mujoco.mj_deleteData(data);
  return farthest;
}

static int check_goals(const MujocoModel *model, const char *path) {
  const double farthest = max_goal_distance(model), reach = compute_reach(model);
  if (model->task->kuka->goals == KUKA_BUCKETS || farthest <= reach) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s: goals of %s are up to %.2f m from the arm's shoulder, but its fingertips "
                    "reach only %.2f m; move the arm's base closer to the table, or `make install` this trainer's "
                    "model",
                    path, model->task->name, farthest, reach);
}

static int check_object(const MujocoModel *model, const char *path) {
  const mjModel *m = model->model;
  const int object = model->named[OBJECT], geom = m->body_geomadr[object];
  if (m->jnt_bodyid[KUKA_JOINTS] == object && m->body_geomnum[object] == 1 && m->geom_type[geom] == mjGEOM_BOX)
    return CORE_OK;
  return core_error(CORE_USAGE, "%.300s: body \"%s\" must be a box with the model's last joint, a free joint", path,
                    model->task->named[OBJECT]);
}

static int check(const MujocoModel *model, const char *path) {
  const mjModel *m = model->model;
  TRY(mujoco_goal_check(model, path, KUKA_STATE));
  for (int j = 0; j <= KUKA_JOINTS; j++)
    if (m->jnt_type[j] != (j < KUKA_JOINTS ? mjJNT_HINGE : mjJNT_FREE))
      return core_error(CORE_USAGE, "%.300s: joint %d has the wrong type; %s requires %d hinges of arm and hand, then "
                        "the cuboid's free joint", path, j, model->task->name, KUKA_JOINTS);
  for (int j = 0; j < KUKA_JOINTS; j++)
    if (m->actuator_trntype[j] != mjTRN_JOINT || m->actuator_trnid[2 * j] != j)
      return core_error(CORE_USAGE, "%.300s: actuator %d must control joint %d", path, j, j);
  TRY(check_object(model, path));
  return check_goals(model, path);
}

/* ---- the world's cuboid ------------------------------------------------------------------------------------------ */

/* Sets the model to a box with these half sides, as MuJoCo's compiler would. */
static void set_cuboid(mjModel *m, int object, const double half[3]) {
  const int geom = m->body_geomadr[object], dof = m->body_dofadr[object];
  const double mass = KUKA_DENSITY * 8 * half[0] * half[1] * half[2];
  double *inertia = m->body_inertia + 3 * (size_t)object, inverse_inertia = 0;

  /* The shape, then the bounds that MuJoCo derives from it when it compiles a model. */
  memcpy(m->geom_size + 3 * (size_t)geom, half, 3 * sizeof *half);
  memcpy(m->geom_aabb + 6 * (size_t)geom + 3, half, 3 * sizeof *half);
  memcpy(m->bvh_aabb + 6 * (size_t)m->body_bvhadr[object] + 3, half, 3 * sizeof *half);
  m->geom_rbound[geom] = sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2]);

  m->body_subtreemass[0] += mass - m->body_mass[object];
  m->body_mass[object] = m->body_subtreemass[object] = mass;
  for (int i = 0; i < 3; i++) {
    const double a = half[(i + 1) % 3], b = half[(i + 2) % 3];
    inertia[i] = mass / 3 * (a * a + b * b);
    inverse_inertia += 1 / inertia[i] / 3;
  }

  m->body_invweight0[2 * object] = 1 / mass;
  m->body_invweight0[2 * object + 1] = inverse_inertia;
  for (int i = 0; i < FREE; i++) m->dof_invweight0[dof + i] = i < 3 ? 1 / mass : inverse_inertia;
}

/* Sets the size of the goal's marker, if it is a box. */
static void set_goal_marker(mjModel *m, const double half[3]) {
  const int goal = mujoco.mj_name2id(m, mjOBJ_BODY, "goal"), geom = m->body_geomadr[goal];
  if (m->body_geomnum[goal] == 1 && m->geom_type[geom] == mjGEOM_BOX)
    memcpy(m->geom_size + 3 * (size_t)geom, half, 3 * sizeof *half);
}

static void prepare(const MujocoModel *model, const mjData *data) {
  mjModel *m = mujoco_model_of(model, data);
  const int object = model->named[OBJECT];
  double half[3];
  for (int i = 0; i < 3; i++) half[i] = get_state(data)->scale[i] * KUKA_SIDE / 2;
  if (memcmp(m->geom_size + 3 * (size_t)m->body_geomadr[object], half, sizeof half) == 0) return;
  set_cuboid(m, object, half);
  if (model->task->kuka->goals == KUKA_POSES) set_goal_marker(m, half);
}

/* ---- goals and initial states ------------------------------------------------------------------------------------ */

static void read_view(const MujocoModel *model, const mjData *data, KukaView *view);

static void sample_goal(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  double u[4], v[3];
  draw_uniform(random, u, 4);
  draw_uniform(random, v, 3);
  kuka_goal_position(model->task->kuka, u, data->mocap_pos);
  if (model->task->kuka->goals == KUKA_POSES) kuka_random_rotation(v, data->mocap_quat);
}

/* Returns half the height of the rotated cuboid. */
static double half_height(const double scale[3], const double rotation[4]) {
  double up[3], height = 0;
  rotation_apply_inverse(rotation, (const double[]){0, 0, 1}, up);
  for (int i = 0; i < 3; i++) height += fabs(up[i]) * scale[i] * KUKA_SIDE / 2;
  return height;
}

/* Samples a pose of the cuboid above the table, without intersecting it. */
static void sample_object(mjData *data, const MujocoRandom *random) {
  enum { TRIES = 100 };
  double *object = data->qpos + KUKA_JOINTS, u[3];
  draw_uniform(random, u, 3);
  kuka_start_position(u, object);
  for (int i = 0; i < TRIES; i++) {
    draw_uniform(random, u, 3);
    kuka_random_rotation(u, object + 3);
    if (object[2] - half_height(get_state(data)->scale, object + 3) > KUKA_TABLE_HEIGHT) break;
  }
  memset(data->qvel + KUKA_JOINTS, 0, FREE * sizeof *data->qvel);
}

static void sample_joints(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const double *range = model->model->jnt_range;
  for (int j = 0; j < KUKA_JOINTS; j++) {
    data->qpos[j] = data->ctrl[j] = kuka_start_joint(j, uniform(random), range[2 * j], range[2 * j + 1]);
    data->qvel[j] = kuka_start_velocity(uniform(random));
  }
}

/* Applies gravity and the random force to the cuboid, in world coordinates. */
static void apply_forces(const MujocoModel *model, mjData *data) {
  double *force = data->qfrc_applied + KUKA_JOINTS;
  rotation_apply(data->qpos + KUKA_JOINTS + 3, get_state(data)->force, force);
  force[2] -= KUKA_GRAVITY * mujoco_model_of(model, data)->body_mass[model->named[OBJECT]];
}

static void reset(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const KukaTask *task = model->task->kuka;
  mjModel *m = mujoco_model_of(model, data);
  KukaState state = *get_state(data), *current;
  KukaView view;
  kuka_start_episode(task, &state);
  kuka_cuboid(task, (int)(uniform(random) * kuka_cuboid_count(task)), state.scale);
  state.force_probability = kuka_force_probability(uniform(random));

  /* The reset clears userdata, where the state is. */
  mujoco.mj_resetData(m, data);
  current = get_state(data);
  *current = state;

  prepare(model, data);
  sample_goal(model, data, random);
  sample_object(data, random);
  sample_joints(model, data, random);
  apply_forces(model, data);
  mujoco.mj_forward(m, data);
  read_view(model, data, &view);
  kuka_start_goal(task, current, &view, true);
}

/* Decays the random force and, with the episode's probability, samples a new one. */
static void update_force(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  KukaState *state = get_state(data);
  const double mass = mujoco_model_of(model, data)->body_mass[model->named[OBJECT]], decay = kuka_force_decay();
  for (int i = 0; i < 3; i++) state->force[i] *= decay;
  if (uniform(random) >= state->force_probability) return;
  for (int i = 0; i < 3; i++) state->force[i] = random->normal(random->state) * mass * model->task->kuka->force;
}

static void advance(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const KukaTask *task = model->task->kuka;
  KukaView view;
  if (task->force > 0) update_force(model, data, random);
  if (get_state(data)->is_reached == 0) return;
  sample_goal(model, data, random);
  if (task->goals != KUKA_POSES) sample_object(data, random);
  read_view(model, data, &view);
  kuka_start_goal(task, get_state(data), &view, false);
}

static int reached(const mjData *data) { return (int)get_state(data)->current.reached; }

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void act(const MujocoModel *model, mjData *data, const float *action) {
  const double *range = model->model->jnt_range;
  for (int j = 0; j < KUKA_JOINTS; j++) {
    const double clipped = fmin(fmax((double)action[j], -1), 1);
    data->ctrl[j] = kuka_target(j, clipped, data->ctrl[j], range[2 * j], range[2 * j + 1]);
  }
  apply_forces(model, data);
}

static double reward(const MujocoModel *model, mjData *data, bool *ended) {
  KukaView view;
  read_view(model, data, &view);
  return kuka_reward(model->task->kuka, get_state(data), &view, ended).total;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

static void read_body(const mjData *data, int body, double position[3], double rotation[4]) {
  memcpy(position, data->xpos + 3 * (size_t)body, 3 * sizeof *position);
  memcpy(rotation, data->xquat + 4 * (size_t)body, 4 * sizeof *rotation);
}

/* A free joint's velocity is in world coordinates, its angular velocity in the body's frame. */
static void read_object(const MujocoModel *model, const mjData *data, KukaView *view) {
  const double *object = data->qpos + KUKA_JOINTS, *qvel = data->qvel + KUKA_JOINTS;
  memcpy(view->position, object, sizeof view->position);
  memcpy(view->rotation, object + 3, sizeof view->rotation);
  memcpy(view->velocity, qvel, sizeof view->velocity);
  rotation_apply(view->rotation, qvel + 3, view->angular_velocity);
  memcpy(view->goal, data->mocap_pos, sizeof view->goal);
  memcpy(view->goal_rotation, data->mocap_quat, sizeof view->goal_rotation);
  if (model->task->kuka->goals == KUKA_BUCKETS) view->goal[2] += KUKA_IN_BUCKET;
}

static void read_view(const MujocoModel *model, const mjData *data, KukaView *view) {
  double velocity[6]; /* angular, then linear */
  *view =
      (KukaView){.joint_position = data->qpos, .joint_velocity = data->qvel, .joint_range = model->model->jnt_range};
  read_body(data, model->named[WRIST], view->wrist, view->wrist_rotation);
  mujoco.mj_objectVelocity(model->model, data, mjOBJ_XBODY, model->named[WRIST], velocity, 0);
  memcpy(view->wrist_angular_velocity, velocity, sizeof view->wrist_angular_velocity);
  memcpy(view->wrist_velocity, velocity + 3, sizeof view->wrist_velocity);
  for (int i = 0; i < KUKA_TIPS; i++) read_body(data, model->named[TIP + i], view->tip[i], view->tip_rotation[i]);
  read_object(model, data, view);
}

static void observe(const MujocoModel *model, const mjData *data, double *observation) {
  KukaView view;
  read_view(model, data, &view);
  CORE_CHECK(kuka_observe(model->task->kuka, get_state(data), &view, observation) == model->task->observations);
}

const MujocoGoalRules mujoco_kuka_rules = {
  .check = check, .prepare = prepare, .reset = reset, .act = act, .reward = reward, .advance = advance,
  .observe = observe, .reached = reached};
#endif
