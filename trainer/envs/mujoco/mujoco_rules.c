/* Initial states, steps and references of rewards (mujoco_rules.h). */
#include "trainer/envs/mujoco/mujoco_rules.h"

#if CORE_HAS_MUJOCO
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "trainer/envs/mujoco/mujoco_goal.h"

enum { STATE_MAX = 32 }; /* maximum size of qpos and of qvel */

static double uniform(const MujocoRandom *random, double low, double high) {
  return low + (high - low) * random->uniform(random->state);
}

/* ---- initial states ---------------------------------------------------------------------------------------------- */

void mujoco_reset_to(const MujocoModel *model, mjData *data, const double *qpos, const double *qvel) {
  mujoco.mj_resetData(model->model, data);
  memcpy(data->qpos, qpos, (size_t)model->task->nq * sizeof *qpos);
  memcpy(data->qvel, qvel, (size_t)model->task->nv * sizeof *qvel);
  mujoco.mj_forward(model->model, data);
}

static void add_noise(const MujocoTask *task, const MujocoRandom *random, double *qpos, double *qvel) {
  const double a = task->qpos_noise, b = task->qvel_noise;
  for (int i = 0; i < task->nq; i++) qpos[i] += uniform(random, -a, a);
  for (int i = 0; i < task->nv; i++)
    qvel[i] = task->normal ? b * random->normal(random->state) : uniform(random, -b, b);
}

/* Samples an almost straight arm and a target within 0.2 m. */
static void sample_reacher(const MujocoRandom *random, double *qpos, double *qvel) {
  for (int i = 0; i < 4; i++) qpos[i] = uniform(random, -0.1, 0.1) + qpos[i];
  do {
    qpos[2] = uniform(random, -0.2, 0.2);
    qpos[3] = uniform(random, -0.2, 0.2);
  } while (!(sqrt(qpos[2] * qpos[2] + qpos[3] * qpos[3]) < 0.2));
  for (int i = 0; i < 4; i++) qvel[i] = uniform(random, -0.005, 0.005);
  qvel[2] = qvel[3] = 0;
}

/* Samples an object more than 0.17 m from the goal, which is at 0. */
static void sample_pusher(const MujocoRandom *random, double *qpos, double *qvel) {
  do {
    qpos[7] = uniform(random, -0.3, 0);
    qpos[8] = uniform(random, -0.2, 0.2);
  } while (!(sqrt(qpos[7] * qpos[7] + qpos[8] * qpos[8]) > 0.17));
  qpos[9] = qpos[10] = 0;
  for (int i = 0; i < 11; i++) {
    const double velocity = uniform(random, -0.005, 0.005); /* drawn also where unused, as in Gymnasium */
    qvel[i] = i < 7 ? velocity : 0;
  }
}

void mujoco_reset(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  const MujocoTask *task = model->task;
  double qpos[STATE_MAX], qvel[STATE_MAX] = {0};
  if (model->goals) {
    model->goals->reset(model, data, random);
    return;
  }
  CORE_CHECK(task->nq <= STATE_MAX && task->nv <= STATE_MAX);
  memcpy(qpos, model->model->qpos0, (size_t)task->nq * sizeof *qpos);
  switch (task->reset) {
    case MUJOCO_RESET_NOISE: add_noise(task, random, qpos, qvel); break;
    case MUJOCO_RESET_REACHER: sample_reacher(random, qpos, qvel); break;
    case MUJOCO_RESET_PUSHER: sample_pusher(random, qpos, qvel); break;
  }
  mujoco_reset_to(model, data, qpos, qvel);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Returns the number of non-finite values that MuJoCo has met. */
static int count_nonfinite(const mjData *data) {
  return data->warning[mjWARN_BADQPOS].number + data->warning[mjWARN_BADQVEL].number +
         data->warning[mjWARN_BADQACC].number + data->warning[mjWARN_BADCTRL].number;
}

void mujoco_load(const MujocoModel *model, mjData *data, const double *state) {
  mujoco.mj_setState(model->model, data, state, mjSTATE_INTEGRATION);
  if (model->goals && model->goals->prepare) model->goals->prepare(model, data);
}

bool mujoco_step(const MujocoModel *model, mjData *data, const float *action) {
  const MujocoTask *task = model->task;
  mjModel *m = mujoco_model_of(model, data);
  for (int i = 0; i < mjNWARNING; i++) data->warning[i].number = 0;
  if (model->goals) model->goals->act(model, data, action);
  else
    for (int i = 0; i < task->nu; i++) data->ctrl[i] = (double)action[i];
  for (int i = 0; i < task->frame_skip && count_nonfinite(data) == 0; i++) mujoco.mj_step(m, data);
  if (mujoco_task_has_forces(task)) mujoco.mj_rnePostConstraint(m, data);
  return count_nonfinite(data) == 0;
}

void mujoco_advance(const MujocoModel *model, mjData *data, const MujocoRandom *random) {
  if (model->goals) model->goals->advance(model, data, random);
}

int mujoco_reached(const MujocoModel *model, const mjData *data) {
  return model->goals ? model->goals->reached(data) : 0;
}

/* Computes the center of mass along x, summed body by body. */
static double center_of_mass(const MujocoModel *model, const mjData *data) {
  double sum = 0;
  for (int b = 0; b < model->task->bodies; b++) sum += model->model->body_mass[b] * data->xipos[3 * b];
  return sum / model->mass;
}

void mujoco_reward_reference(const MujocoModel *model, const mjData *data, double reference[MUJOCO_REFERENCE]) {
  const double *finger = data->xpos + 3 * model->named[0], *target = data->xpos + 3 * model->named[1];
  memset(reference, 0, MUJOCO_REFERENCE * sizeof *reference);
  if (model->goals) return;
  if (model->task->reward == MUJOCO_REACH)
    for (int i = 0; i < 3; i++) reference[i] = finger[i] - target[i];
  if (model->task->reward != MUJOCO_FORWARD) return;
  switch (model->task->place) {
    case MUJOCO_PLACE_JOINT: reference[0] = data->qpos[0]; break;
    case MUJOCO_PLACE_TORSO: reference[0] = data->xpos[3]; break;
    case MUJOCO_PLACE_MASS: reference[0] = center_of_mass(model, data); break;
  }
}
#endif
