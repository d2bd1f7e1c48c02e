/* Rewards and ends of episodes (mujoco_rules.h). Source of each formula: the task's file in gymnasium 1.4.0. */
#include "trainer/envs/mujoco/mujoco_rules.h"

#if CORE_HAS_MUJOCO
#include <math.h>

#include "trainer/envs/mujoco/mujoco_goal.h"

enum { VALUES_MAX = 128 };

static double square(double x) { return x * x; }

/* Computes the sum of squares in float, in numpy's order for up to 15 values. */
static float sum_action_squares(const float *action, int n) {
  float r[8], sum = 0;
  int i = 0;
  if (n >= 8) {
    for (; i < 8; i++) r[i] = action[i] * action[i];
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  }
  for (; i < n; i++) sum += action[i] * action[i];
  return sum;
}

static double sum_squares(const double *x, int n) {
  double squared[VALUES_MAX];
  for (int i = 0; i < n; i++) squared[i] = x[i] * x[i];
  return mujoco_sum(squared, n);
}

/* Computes the norm as OpenBLAS' dot product of three values does on a processor with fused multiply-add. */
static double length(const double v[3]) { return sqrt(fma(v[2], v[2], fma(v[1], v[1], v[0] * v[0]))); }

static double distance(const MujocoModel *model, const mjData *data, int a, int b) {
  const double *p = data->xpos + 3 * model->named[a], *q = data->xpos + 3 * model->named[b];
  return length((double[]){p[0] - q[0], p[1] - q[1], p[2] - q[2]});
}

/* ---- running and standing ---------------------------------------------------------------------------------------- */

static bool is_within(const mjData *data, const MujocoTask *task, double limit) {
  for (int i = 2; i < task->nq; i++)
    if (!(fabs(data->qpos[i]) < limit)) return false;
  for (int i = 0; i < task->nv; i++)
    if (!(fabs(data->qvel[i]) < limit)) return false;
  return true;
}

static bool is_finite(const double *x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static bool is_healthy(const MujocoTask *task, const mjData *data) {
  const MujocoHealth *health = &task->health;
  const double z = data->qpos[health->place];
  if (health->place == 0) return true;
  if (health->closed)
    return is_finite(data->qpos, task->nq) && is_finite(data->qvel, task->nv) && health->low <= z && z <= health->high;
  if (!(health->low < z && z < health->high)) return false;
  if (health->angle > 0 && !(fabs(data->qpos[health->place + 1]) < health->angle)) return false;
  return health->state <= 0 || is_within(data, task, health->state);
}

static double control_cost(const MujocoTask *task, const mjData *data, const float *action) {
  if (task->control_in_double) return task->control * sum_squares(data->ctrl, task->nu);
  return (double)((float)task->control * sum_action_squares(action, task->nu));
}

static double contact_cost(const MujocoTask *task, const mjData *data) {
  const int n = 6 * task->bodies;
  double clipped[VALUES_MAX];
  if (task->contact <= 0) return 0;
  if (task->contact_max > 0) return fmin(task->contact * sum_squares(data->cfrc_ext, n), task->contact_max);
  for (int i = 0; i < n; i++) clipped[i] = data->cfrc_ext[i] > 1 ? 1 : data->cfrc_ext[i] < -1 ? -1 : data->cfrc_ext[i];
  return task->contact * sum_squares(clipped, n);
}

static double forward_reward(const MujocoModel *model, const mjData *data, const float *action, const double *reference,
                             bool *ended) {
  const MujocoTask *task = model->task;
  double current[MUJOCO_REFERENCE];
  mujoco_reward_reference(model, data, current);
  const double forward = task->forward * ((current[0] - reference[0]) / model->dt);
  *ended = !is_healthy(task, data);
  const double healthy = *ended && task->version > 4 ? 0 : task->healthy;
  return (forward + healthy) - (control_cost(task, data, action) + contact_cost(task, data));
}

static double stand_reward(const MujocoModel *model, const mjData *data) {
  const MujocoTask *task = model->task;
  const double height = data->qpos[2] / model->model->opt.timestep;
  return height - task->control * sum_squares(data->ctrl, task->nu) - contact_cost(task, data) + 1;
}

/* ---- poles ------------------------------------------------------------------------------------------------------- */

static double upright_reward(const MujocoTask *task, const mjData *data, bool *ended) {
  *ended = !is_finite(data->qpos, 2) || !is_finite(data->qvel, 2) || fabs(data->qpos[1]) > 0.2;
  return *ended && task->version > 4 ? 0 : 1;
}

static double tip_reward(const MujocoTask *task, const mjData *data, bool *ended) {
  const double x = data->site_xpos[0], y = data->site_xpos[2];
  *ended = y <= 1;
  const double alive = *ended && task->version > 4 ? 0 : 10;
  const double distance_cost = 0.01 * square(x) + square(y - 2);
  const double velocity_cost = 1e-3 * square(data->qvel[1]) + 5e-3 * square(data->qvel[2]);
  return alive - distance_cost - velocity_cost;
}

/* ---- arms -------------------------------------------------------------------------------------------------------- */

/* Version 4 uses the distance before the step. */
static double reach_reward(const MujocoModel *model, const mjData *data, const float *action, const double *reference) {
  const double away = model->task->version == 4 ? length(reference) : distance(model, data, 0, 1);
  return -away + (double)-sum_action_squares(action, model->task->nu);
}

static double push_reward(const MujocoModel *model, const mjData *data, const float *action) {
  const double goal = -distance(model, data, 1, 2), arm = -distance(model, data, 1, 0) * 0.5;
  const float control = -sum_action_squares(action, model->task->nu) * 0.1f;
  return goal + (double)control + arm;
}

double mujoco_reward(const MujocoModel *model, mjData *data, const float *action,
                     const double reference[MUJOCO_REFERENCE], bool *ended) {
  *ended = false;
  if (model->goals) return model->goals->reward(model, data, ended);
  switch (model->task->reward) {
    case MUJOCO_FORWARD: return forward_reward(model, data, action, reference, ended);
    case MUJOCO_UPRIGHT: return upright_reward(model->task, data, ended);
    case MUJOCO_TIP: return tip_reward(model->task, data, ended);
    case MUJOCO_REACH: return reach_reward(model, data, action, reference);
    case MUJOCO_PUSH: return push_reward(model, data, action);
    case MUJOCO_STAND: return stand_reward(model, data);
  }
  return 0;
}
#endif
