/* Turning an object in the hand, on MuJoCo (mujoco_goal.h): between mjData and the formulas of trainer/envs/hands. The
 * model's first joints are the hand's hinges, its last one is the object's free joint, actuators set hinges' targets,
 * and the mocap body "goal" shows the goal. Of task->named, the first body is the object, then come the fingertips.
 * userdata: the goal's rotation, goals reached, the last action. */
#include "trainer/envs/mujoco/mujoco_goal.h"

#if CORE_HAS_MUJOCO
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "trainer/envs/hands/rotation.h"

enum { JOINTS_MAX = 32, GOAL = 0, REACHED = 4, ACTION = 5 };

static const double *goal_of(const mjData *data) { return data->userdata + GOAL; }
static const double *object_of(const MujocoModel *model, const mjData *data) {
  return data->qpos + model->reorient.joints;
}

static void find_goal_place(const ReorientTask *task, double place[3]) {
  memcpy(place, task->start, 3 * sizeof *place);
  place[2] -= task->goal_below;
}

static double uniform(const MujocoRandom *random, double low, double high) {
  return low + (high - low) * random->uniform(random->state);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* Metres from the goal's place to the nearest joint of the hand in the model's own pose. */
static double find_reach(const MujocoModel *model) {
  const mjModel *m = model->model;
  mjData *data = mujoco.mj_makeData(m);
  double place[3], nearest = INFINITY;
  CORE_CHECK(data != NULL);
  mujoco.mj_forward(m, data);
  find_goal_place(&model->reorient, place);
  for (int i = 0; i < model->reorient.joints; i++) {
    const double *x = data->xpos + 3 * (size_t)m->jnt_bodyid[i];
    const double away[3] = {x[0] - place[0], x[1] - place[1], x[2] - place[2]};
    nearest = fmin(nearest, sqrt(away[0] * away[0] + away[1] * away[1] + away[2] * away[2]));
  }
  mujoco.mj_deleteData(data);
  return nearest;
}

static int check_reach(const MujocoModel *model, const char *path) {
  const double reach = find_reach(model), most = model->reorient.fall_distance;
  double place[3];
  if (reach < most) return CORE_OK;
  find_goal_place(&model->reorient, place);
  return core_error(CORE_USAGE, "%.300s has the hand %.2f m from where the goals of %s are (%g %g %g), out of reach; "
                    "it must be nearer than %g m", path, reach, model->task->name, place[0], place[1], place[2], most);
}

static int check(const MujocoModel *model, const char *path) {
  const mjModel *m = model->model;
  const ReorientTask *task = &model->reorient;
  TRY(mujoco_goal_check(model, path, ACTION + m->nu));
  CORE_CHECK(task->joints <= JOINTS_MAX && task->joints + 7 == model->task->nq);
  for (int i = 0; i < m->njnt; i++)
    if (m->jnt_type[i] != (i < task->joints ? mjJNT_HINGE : mjJNT_FREE))
      return core_error(CORE_USAGE, "%.300s has joint %d of another kind: %s needs %d hinges of the hand, then the "
                        "object's free joint", path, i, model->task->name, task->joints);
  if (m->jnt_bodyid[task->joints] != model->named[0])
    return core_error(CORE_USAGE, "%.300s gives its free joint to another body than \"%s\"", path,
                      model->task->named[0]);
  for (int i = 0; i < m->nu; i++)
    if (m->actuator_trntype[i] != mjTRN_JOINT || m->actuator_trnid[2 * i] >= task->joints)
      return core_error(CORE_USAGE, "%.300s has actuator %d at something else than a joint of the hand", path, i);
  return check_reach(model, path);
}

/* ---- goals ------------------------------------------------------------------------------------------------------- */

/* The goal is shown above the hand, beside the object. */
static void draw_goal(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  static const double shown[3] = {-0.2, -0.06, 0.12};
  const double u = uniform(random, -1, 1);
  rotation_random(u, uniform(random, -1, 1), data->userdata + GOAL);
  find_goal_place(&model->reorient, data->mocap_pos);
  for (int i = 0; i < 3; i++) data->mocap_pos[i] += shown[i];
  memcpy(data->mocap_quat, goal_of(data), 4 * sizeof *data->mocap_quat);
}

static void reset(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const mjModel *m = model->model;
  const ReorientTask *task = &model->reorient;
  mujoco.mj_resetData(m, data);
  draw_goal(model, data, random);
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
  if (rotation_distance(object_of(model, data) + 3, goal_of(data)) <= model->reorient.tolerance)
    draw_goal(model, data, random);
}

static int reached(const mjData *data) { return (int)data->userdata[REACHED]; }

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void act(const MujocoModel *model, mjData *data, const float *action) {
  const mjModel *m = model->model;
  for (int i = 0; i < m->nu; i++) {
    const double *range = m->jnt_range + 2 * (size_t)m->actuator_trnid[2 * i];
    const double wish = fmin(fmax((double)action[i], -1), 1);
    data->userdata[ACTION + i] = wish;
    data->ctrl[i] = reorient_target(&model->reorient, wish, data->ctrl[i], range[0], range[1], model->dt);
  }
}

static double reward(const MujocoModel *model, mjData *data, bool *ended) {
  const ReorientTask *task = &model->reorient;
  const double *object = object_of(model, data);
  double place[3];
  find_goal_place(task, place);
  const ReorientReward r = reorient_reward(task, object, object + 3, place, goal_of(data), data->userdata + ACTION,
                                           model->task->nu);
  if (r.reached) data->userdata[REACHED]++;
  *ended = r.fallen;
  return r.total;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* MuJoCo has torque before force, both in the world's axes and about the whole mechanism's centre of mass. */
static void see_force(const MujocoModel *model, const mjData *data, int body, double force[REORIENT_FORCE]) {
  const double *external = data->cfrc_ext + 6 * body, *rotation = data->xquat + 4 * body;
  const double *centre = data->subtree_com + 3 * model->model->body_rootid[body], *place = data->xpos + 3 * body;
  const double arm[3] = {centre[0] - place[0], centre[1] - place[1], centre[2] - place[2]};
  const double torque[3] = {external[0] + arm[1] * external[5] - arm[2] * external[4],
                            external[1] + arm[2] * external[3] - arm[0] * external[5],
                            external[2] + arm[0] * external[4] - arm[1] * external[3]};
  rotation_turn_back(rotation, external + 3, force);
  rotation_turn_back(rotation, torque, force + 3);
}

static void see_tip(const MujocoModel *model, const mjData *data, int body, double tip[REORIENT_TIP]) {
  double velocity[6]; /* spin, then velocity */
  mujoco.mj_objectVelocity(model->model, data, mjOBJ_XBODY, body, velocity, 0);
  memcpy(tip, data->xpos + 3 * body, 3 * sizeof *tip);
  rotation_last(data->xquat + 4 * body, tip + 3);
  memcpy(tip + 7, velocity + 3, 3 * sizeof *tip);
  memcpy(tip + 10, velocity, 3 * sizeof *tip);
}

static void observe(const MujocoModel *model, const mjData *data, double *observation) {
  const mjModel *m = model->model;
  const ReorientTask *task = &model->reorient;
  const double *object = object_of(model, data), *moves = data->qvel + task->joints;
  double low[JOINTS_MAX], high[JOINTS_MAX], place[3], spin[3];
  for (int i = 0; i < task->joints; i++) {
    low[i] = m->jnt_range[2 * i];
    high[i] = m->jnt_range[2 * i + 1];
  }
  find_goal_place(task, place);
  rotation_turn(object + 3, moves + 3, spin); /* a free joint's spin is in the body's axes */
  ReorientView view = {
    .position = data->qpos, .low = low, .high = high, .speed = data->qvel, .torque = data->qfrc_actuator,
    .place = object, .rotation = object + 3, .velocity = moves, .spin = spin, .goal_place = place,
    .goal_rotation = goal_of(data), .action = data->userdata + ACTION, .actions = m->nu};
  for (int i = 0; i < task->tips; i++) {
    see_tip(model, data, model->named[1 + i], view.tip[i]);
    see_force(model, data, model->named[1 + i], view.force[i]);
  }
  CORE_CHECK(reorient_observe(task, &view, observation) == model->task->observations);
}

const MujocoGoalRules mujoco_reorient_rules = {
  .check = check, .reset = reset, .act = act, .reward = reward, .advance = advance, .observe = observe,
  .reached = reached};
#endif
