/* Rewards, observations and actions of reorientation (reorient.h). */
#include "trainer/envs/hands/reorient.h"

#include <math.h>
#include <string.h>

#include "trainer/envs/hands/rotation.h"

static const double clip = 5, speed_scale = 0.2, force_scale = 10;

ReorientReward reorient_reward(const ReorientTask *task, const double position[3], const double rotation[4],
                               const double goal_position[3], const double goal_rotation[4], const double *action,
                               int count) {
  const double offset[3] = {position[0] - goal_position[0], position[1] - goal_position[1],
                            position[2] - goal_position[2]};
  const double distance = sqrt(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]);
  const double angle = rotation_distance(rotation, goal_rotation);
  double squares = 0;
  for (int i = 0; i < count; i++) squares += action[i] * action[i];
  ReorientReward reward = {
    .distance = distance * task->distance_scale, .rotation = task->rotation_scale / (angle + task->rotation_epsilon),
    .action = squares * task->action_scale, .reached = angle <= task->tolerance,
    .fallen = distance >= task->fall_distance};
  if (reward.reached) reward.bonus = task->goal_bonus;
  if (reward.fallen) reward.fall = task->fall_penalty;
  reward.total = reward.distance + reward.rotation + reward.action + reward.bonus + reward.fall;
  return reward;
}

/* Observation under construction. */
typedef struct Row { double *values; int count; } Row;

/* Appends n values, scaled and clipped. */
static void append(Row *row, const double *x, int n, double scale) {
  for (int i = 0; i < n; i++) row->values[row->count++] = fmin(fmax(scale * x[i], -clip), clip);
}

static void append_rotation(Row *row, const double *rotation) {
  double xyzw[4];
  rotation_to_xyzw(rotation, xyzw);
  append(row, xyzw, 4, 1);
}

int reorient_observe(const ReorientTask *task, const ReorientView *view, double *observation) {
  Row row = {observation, 0};
  double difference[4];

  for (int i = 0; i < task->joints; i++) {
    const double scaled = (2 * view->joint_position[i] - view->high[i] - view->low[i]) / (view->high[i] - view->low[i]);
    append(&row, &scaled, 1, 1);
  }
  append(&row, view->joint_velocity, task->joints, speed_scale);
  append(&row, view->torque, task->joints, force_scale);
  append(&row, view->position, 3, 1);
  append_rotation(&row, view->rotation);
  append(&row, view->velocity, 3, 1);
  append(&row, view->angular_velocity, 3, speed_scale);

  append(&row, view->goal_position, 3, 1);
  append_rotation(&row, view->goal_rotation);
  rotation_difference(view->rotation, view->goal_rotation, difference);
  append_rotation(&row, difference);
  for (int i = 0; i < task->tips; i++) append(&row, view->tip[i], REORIENT_TIP, 1);
  for (int i = 0; i < task->tips; i++) append(&row, view->force[i], REORIENT_FORCE, force_scale);
  append(&row, view->action, view->actions, 1);
  return row.count;
}

double reorient_target(const ReorientTask *task, double action, double last, double low, double high, double dt) {
  const double target = task->relative ? last + task->speed * dt * action : low + 0.5 * (action + 1) * (high - low);
  return fmin(fmax(target, low), high);
}
