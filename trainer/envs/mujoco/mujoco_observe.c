/* Observations (mujoco_rules.h). */
#include "trainer/envs/mujoco/mujoco_rules.h"

#if CORE_HAS_MUJOCO
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "trainer/envs/mujoco/mujoco_goal.h"

/* Numbers so far, and where the next one goes. */
typedef struct Row { double *to; int count; } Row;

static void put(Row *row, const double *x, int n) {
  memcpy(row->to + row->count, x, (size_t)n * sizeof *x);
  row->count += n;
}

static void put_clipped(Row *row, const double *x, int n, double limit) {
  for (int i = 0; i < n; i++) row->to[row->count++] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
}

static void see_state(const MujocoTask *task, const mjData *data, Row *row) {
  put(row, data->qpos + task->skip, task->nq - task->skip);
  if (task->clip > 0) put_clipped(row, data->qvel, task->nv, task->clip);
  else put(row, data->qvel, task->nv);
  if (task->forces) put_clipped(row, data->cfrc_ext + 6, 6 * (task->bodies - 1), 1);
}

/* Version 5 leaves out the world and the six actuator forces of the free joint, which are always 0. */
static void see_bodies(const MujocoTask *task, const mjData *data, Row *row) {
  const int first = task->version == 4 ? 0 : 1, free_joint = task->version == 4 ? 0 : 6, n = task->bodies - first;
  put(row, data->qpos + task->skip, task->nq - task->skip);
  put(row, data->qvel, task->nv);
  put(row, data->cinert + 10 * first, 10 * n);
  put(row, data->cvel + 6 * first, 6 * n);
  put(row, data->qfrc_actuator + free_joint, task->nv - free_joint);
  put(row, data->cfrc_ext + 6 * first, 6 * n);
}

static void see_poles(const MujocoTask *task, const mjData *data, Row *row) {
  const double *q = data->qpos;
  const double turned[] = {q[0], sin(q[1]), sin(q[2]), cos(q[1]), cos(q[2])};
  put(row, turned, 5);
  put_clipped(row, data->qvel, 3, 10);
  put_clipped(row, data->qfrc_constraint, task->version == 4 ? 3 : 1, 10);
}

static void see_arm(const MujocoModel *model, const mjData *data, Row *row) {
  const double *q = data->qpos, *finger = data->xpos + 3 * model->named[0], *target = data->xpos + 3 * model->named[1];
  const double turned[] = {cos(q[0]), cos(q[1]), sin(q[0]), sin(q[1])};
  const double away[] = {finger[0] - target[0], finger[1] - target[1], finger[2] - target[2]};
  put(row, turned, 4);
  put(row, q + 2, 2);
  put(row, data->qvel, 2);
  put(row, away, model->task->version == 4 ? 3 : 2);
}

static void see_push(const MujocoModel *model, const mjData *data, Row *row) {
  put(row, data->qpos, 7);
  put(row, data->qvel, 7);
  for (int i = 0; i < 3; i++) put(row, data->xpos + 3 * model->named[i], 3);
}

void mujoco_observe(const MujocoModel *model, const mjData *data, double *observation) {
  Row row = {observation, 0};
  if (model->goals) {
    model->goals->observe(model, data, observation);
    return;
  }
  switch (model->task->see) {
    case MUJOCO_SEE_STATE: see_state(model->task, data, &row); break;
    case MUJOCO_SEE_BODIES: see_bodies(model->task, data, &row); break;
    case MUJOCO_SEE_POLES: see_poles(model->task, data, &row); break;
    case MUJOCO_SEE_ARM: see_arm(model, data, &row); break;
    case MUJOCO_SEE_PUSH: see_push(model, data, &row); break;
  }
  CORE_CHECK(row.count == model->task->observations);
}
#endif
