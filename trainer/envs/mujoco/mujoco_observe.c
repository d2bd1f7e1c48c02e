/* Observations (mujoco_rules.h). */
#include "trainer/envs/mujoco/mujoco_rules.h"

#if CORE_HAS_MUJOCO
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "trainer/envs/mujoco/mujoco_goal.h"

/* Observation under construction. */
typedef struct Row { double *values; int count; } Row;

static void append(Row *row, const double *x, int n) {
  memcpy(row->values + row->count, x, (size_t)n * sizeof *x);
  row->count += n;
}

static void append_clipped(Row *row, const double *x, int n, double limit) {
  for (int i = 0; i < n; i++) row->values[row->count++] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
}

static void observe_state(const MujocoTask *task, const mjData *data, Row *row) {
  append(row, data->qpos + task->skip, task->nq - task->skip);
  if (task->clip > 0) append_clipped(row, data->qvel, task->nv, task->clip);
  else append(row, data->qvel, task->nv);
  if (task->forces) append_clipped(row, data->cfrc_ext + 6, 6 * (task->bodies - 1), 1);
}

/* Version 5 omits the world body and the six actuator forces of the free joint, which are always 0. */
static void observe_bodies(const MujocoTask *task, const mjData *data, Row *row) {
  const int first = task->version == 4 ? 0 : 1;
  const int free_joint = task->version == 4 ? 0 : 6;
  const int n = task->bodies - first;
  append(row, data->qpos + task->skip, task->nq - task->skip);
  append(row, data->qvel, task->nv);
  append(row, data->cinert + 10 * first, 10 * n);
  append(row, data->cvel + 6 * first, 6 * n);
  append(row, data->qfrc_actuator + free_joint, task->nv - free_joint);
  append(row, data->cfrc_ext + 6 * first, 6 * n);
}

static void observe_poles(const MujocoTask *task, const mjData *data, Row *row) {
  const double *q = data->qpos;
  const double values[] = {q[0], sin(q[1]), sin(q[2]), cos(q[1]), cos(q[2])};
  append(row, values, 5);
  append_clipped(row, data->qvel, 3, 10);
  append_clipped(row, data->qfrc_constraint, task->version == 4 ? 3 : 1, 10);
}

static void observe_arm(const MujocoModel *model, const mjData *data, Row *row) {
  const double *q = data->qpos, *finger = data->xpos + 3 * model->named[0], *target = data->xpos + 3 * model->named[1];
  const double values[] = {cos(q[0]), cos(q[1]), sin(q[0]), sin(q[1])};
  const double offset[] = {finger[0] - target[0], finger[1] - target[1], finger[2] - target[2]};
  append(row, values, 4);
  append(row, q + 2, 2);
  append(row, data->qvel, 2);
  append(row, offset, model->task->version == 4 ? 3 : 2);
}

static void observe_push(const MujocoModel *model, const mjData *data, Row *row) {
  append(row, data->qpos, 7);
  append(row, data->qvel, 7);
  for (int i = 0; i < 3; i++) append(row, data->xpos + 3 * model->named[i], 3);
}

void mujoco_observe(const MujocoModel *model, const mjData *data, double *observation) {
  Row row = {observation, 0};
  if (model->goals) {
    model->goals->observe(model, data, observation);
    return;
  }
  switch (model->task->observation) {
    case MUJOCO_OBSERVE_STATE: observe_state(model->task, data, &row); break;
    case MUJOCO_OBSERVE_BODIES: observe_bodies(model->task, data, &row); break;
    case MUJOCO_OBSERVE_POLES: observe_poles(model->task, data, &row); break;
    case MUJOCO_OBSERVE_ARM: observe_arm(model, data, &row); break;
    case MUJOCO_OBSERVE_PUSH: observe_push(model, data, &row); break;
  }
  CORE_CHECK(row.count == model->task->observations);
}
#endif
