/* In-hand reorientation on MuJoCo (mujoco_goal.h): connects mjData to trainer/envs/hands/reorient.h. The model's first
 * joints are the hand's hinges, its last one is the object's free joint, actuators set targets of hinges, and the mocap
 * body "goal" shows the goal. task->named lists the object and then the fingertips. userdata: rotation of the goal,
 * number of goals reached, last action. */
#include "trainer/envs/mujoco/mujoco_goal.h"

#if CORE_HAS_MUJOCO
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "trainer/envs/hands/rotation.h"

enum { JOINTS_MAX = 32, GOAL = 0, REACHED = 4, ACTION = 5 };

static const double *get_goal(const mjData *data) { return data->userdata + GOAL; }
static const double *get_object(const MujocoModel *model, const mjData *data) {
  return data->qpos + model->reorient.joints;
}

static void find_goal_position(const ReorientTask *task, double position[3]) {
  memcpy(position, task->start, 3 * sizeof *position);
  position[2] -= task->goal_below;
}

static double uniform(const MujocoRandom *random, double low, double high) {
  return low + (high - low) * random->uniform(random->state);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Computes the distance in meters from the goal to the nearest joint of the hand in the model's initial pose. */
static double goal_distance(const MujocoModel *model) {
  const mjModel *m = model->model;
  mjData *data = mujoco.mj_makeData(m);
  double position[3], nearest = INFINITY;
  CORE_CHECK(data != NULL);
  mujoco.mj_forward(m, data);
  find_goal_position(&model->reorient, position);
  for (int i = 0; i < model->reorient.joints; i++) {
    const double *x = data->xpos + 3 * (size_t)m->jnt_bodyid[i];
    const double away[3] = {x[0] - position[0], x[1] - position[1], x[2] - position[2]};
    nearest = fmin(nearest, sqrt(away[0] * away[0] + away[1] * away[1] + away[2] * away[2]));
  }
  mujoco.mj_deleteData(data);
  return nearest;
}

static int check_reach(const MujocoModel *model, const char *path) {
  const double distance = goal_distance(model), max = model->reorient.fall_distance;
  double position[3];
  if (distance < max) return CORE_OK;
  find_goal_position(&model->reorient, position);
  return core_error(CORE_USAGE, "%.300s: the hand is %.2f m from the goals of %s (%g %g %g), out of reach; it must be "
                    "closer than %g m", path, distance, model->task->name, position[0], position[1], position[2], max);
}

static int check(const MujocoModel *model, const char *path) {
  const mjModel *m = model->model;
  const ReorientTask *task = &model->reorient;
  TRY(mujoco_goal_check(model, path, ACTION + m->nu));
  CORE_CHECK(task->joints <= JOINTS_MAX && task->joints + 7 == model->task->nq);

  for (int i = 0; i < m->njnt; i++)
    if (m->jnt_type[i] != (i < task->joints ? mjJNT_HINGE : mjJNT_FREE))
      return core_error(CORE_USAGE, "%.300s: joint %d has the wrong type; %s requires %d hinges of the hand, then the "
                        "object's free joint", path, i, model->task->name, task->joints);
  if (m->jnt_bodyid[task->joints] != model->named[0])
    return core_error(CORE_USAGE, "%.300s: the free joint must belong to body \"%s\"", path,
                      model->task->named[0]);

  for (int i = 0; i < m->nu; i++)
    if (m->actuator_trntype[i] != mjTRN_JOINT || m->actuator_trnid[2 * i] >= task->joints)
      return core_error(CORE_USAGE, "%.300s: actuator %d must control a joint of the hand", path, i);
  return check_reach(model, path);
}

/* ---- goals ------------------------------------------------------------------------------------------------------- */

/* Samples a goal, which is shown above the hand, next to the object. */
static void sample_goal(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  static const double marker_offset[3] = {-0.2, -0.06, 0.12};
  const double u = uniform(random, -1, 1);
  rotation_random(u, uniform(random, -1, 1), data->userdata + GOAL);
  find_goal_position(&model->reorient, data->mocap_pos);
  for (int i = 0; i < 3; i++) data->mocap_pos[i] += marker_offset[i];
  memcpy(data->mocap_quat, get_goal(data), 4 * sizeof *data->mocap_quat);
}

static void reset(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const mjModel *m = model->model;
  const ReorientTask *task = &model->reorient;
  mujoco.mj_resetData(m, data);
  sample_goal(model, data, random);
  double *object = data->qpos + task->joints;
  for (int i = 0; i < 3; i++) object[i] = task->start[i] + uniform(random, -task->object_noise, task->object_noise);
  const double u = uniform(random, -1, 1);
  rotation_random(u, uniform(random, -1, 1), object + 3);
  for (int i = 0; i < task->joints; i++)
    data->qpos[i] = task->joint_noise * uniform(random, m->jnt_range[2 * i], m->jnt_range[2 * i + 1]);
  for (int i = 0; i < m->nu; i++) data->ctrl[i] = data->qpos[m->actuator_trnid[2 * i]];
  mujoco.mj_forward(m, data);
}

static void advance(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  if (rotation_distance(get_object(model, data) + 3, get_goal(data)) <= model->reorient.tolerance)
    sample_goal(model, data, random);
}

static int reached(const mjData *data) { return (int)data->userdata[REACHED]; }

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void act(const MujocoModel *model, mjData *data, const float *action) {
  const mjModel *m = model->model;
  for (int i = 0; i < m->nu; i++) {
    const double *range = m->jnt_range + 2 * (size_t)m->actuator_trnid[2 * i];
    const double clipped = fmin(fmax((double)action[i], -1), 1);
    data->userdata[ACTION + i] = clipped;
    data->ctrl[i] = reorient_target(&model->reorient, clipped, data->ctrl[i], range[0], range[1], model->dt);
  }
}

static double reward(const MujocoModel *model, mjData *data, bool *ended) {
  const ReorientTask *task = &model->reorient;
  const double *object = get_object(model, data);
  double position[3];
  find_goal_position(task, position);
  const ReorientReward r = reorient_reward(task, object, object + 3, position, get_goal(data), data->userdata + ACTION,
                                           model->task->nu);
  if (r.reached) data->userdata[REACHED]++;
  *ended = r.fallen;
  return r.total;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* Computes force and torque at a fingertip in its frame. MuJoCo stores torque before force, in world coordinates and
 * about the center of mass of the kinematic tree. */
static void read_force(const MujocoModel *model, const mjData *data, int body, double force[REORIENT_FORCE]) {
  const double *external = data->cfrc_ext + 6 * body, *rotation = data->xquat + 4 * body;
  const double *center = data->subtree_com + 3 * model->model->body_rootid[body], *position = data->xpos + 3 * body;
  const double arm[3] = {center[0] - position[0], center[1] - position[1], center[2] - position[2]};
  const double torque[3] = {external[0] + arm[1] * external[5] - arm[2] * external[4],
                            external[1] + arm[2] * external[3] - arm[0] * external[5],
                            external[2] + arm[0] * external[4] - arm[1] * external[3]};
  rotation_apply_inverse(rotation, external + 3, force);
  rotation_apply_inverse(rotation, torque, force + 3);
}

static void read_tip(const MujocoModel *model, const mjData *data, int body, double tip[REORIENT_TIP]) {
  double velocity[6]; /* angular, then linear */
  mujoco.mj_objectVelocity(model->model, data, mjOBJ_XBODY, body, velocity, 0);
  memcpy(tip, data->xpos + 3 * body, 3 * sizeof *tip);
  rotation_to_xyzw(data->xquat + 4 * body, tip + 3);
  memcpy(tip + 7, velocity + 3, 3 * sizeof *tip);
  memcpy(tip + 10, velocity, 3 * sizeof *tip);
}

static void observe(const MujocoModel *model, const mjData *data, double *observation) {
  const mjModel *m = model->model;
  const ReorientTask *task = &model->reorient;
  const double *object = get_object(model, data), *qvel = data->qvel + task->joints;
  double low[JOINTS_MAX], high[JOINTS_MAX], position[3], angular_velocity[3];

  for (int i = 0; i < task->joints; i++) {
    low[i] = m->jnt_range[2 * i];
    high[i] = m->jnt_range[2 * i + 1];
  }
  find_goal_position(task, position);
  rotation_apply(object + 3, qvel + 3, angular_velocity); /* a free joint's is in the body's frame */

  ReorientView view = {.joint_position = data->qpos,
                       .low = low,
                       .high = high,
                       .joint_velocity = data->qvel,
                       .torque = data->qfrc_actuator,
                       .position = object,
                       .rotation = object + 3,
                       .velocity = qvel,
                       .angular_velocity = angular_velocity,
                       .goal_position = position,
                       .goal_rotation = get_goal(data),
                       .action = data->userdata + ACTION,
                       .actions = m->nu};

  for (int i = 0; i < task->tips; i++) {
    read_tip(model, data, model->named[1 + i], view.tip[i]);
    read_force(model, data, model->named[1 + i], view.force[i]);
  }
  CORE_CHECK(reorient_observe(task, &view, observation) == model->task->observations);
}

const MujocoGoalRules mujoco_reorient_rules = {
  .check = check, .reset = reset, .act = act, .reward = reward, .advance = advance, .observe = observe,
  .reached = reached};
#endif
