/* Rewards, observations and actions of reorientation (reorient.h). */
#include "trainer/envs/hands/reorient.h"

#include <math.h>
#include <string.h>

#include "trainer/envs/hands/rotation.h"

static const double limit = 5, speed_scale = 0.2, force_scale = 10;

ReorientReward reorient_reward(const ReorientTask *task, const double place[3], const double rotation[4],
                               const double goal_place[3], const double goal_rotation[4], const double *action,
                               int count) {
  const double away[3] = {place[0] - goal_place[0], place[1] - goal_place[1], place[2] - goal_place[2]};
  const double distance = sqrt(away[0] * away[0] + away[1] * away[1] + away[2] * away[2]);
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

/* Numbers so far, and where the next one goes. */
typedef struct Row { double *to; int count; } Row;

static void put(Row *row, const double *x, int n, double scale) {
  for (int i = 0; i < n; i++) row->to[row->count++] = fmin(fmax(scale * x[i], -limit), limit);
}

static void put_rotation(Row *row, const double *rotation) {
  double last[4];
  rotation_last(rotation, last);
  put(row, last, 4, 1);
}

int reorient_observe(const ReorientTask *task, const ReorientView *view, double *observation) {
  Row row = {observation, 0};
  double between[4];
  for (int i = 0; i < task->joints; i++) {
    const double share = (2 * view->position[i] - view->high[i] - view->low[i]) / (view->high[i] - view->low[i]);
    put(&row, &share, 1, 1);
  }
  put(&row, view->speed, task->joints, speed_scale);
  put(&row, view->torque, task->joints, force_scale);
  put(&row, view->place, 3, 1);
  put_rotation(&row, view->rotation);
  put(&row, view->velocity, 3, 1);
  put(&row, view->spin, 3, speed_scale);
  put(&row, view->goal_place, 3, 1);
  put_rotation(&row, view->goal_rotation);
  rotation_between(view->rotation, view->goal_rotation, between);
  put_rotation(&row, between);
  for (int i = 0; i < task->tips; i++) put(&row, view->tip[i], REORIENT_TIP, 1);
  for (int i = 0; i < task->tips; i++) put(&row, view->force[i], REORIENT_FORCE, force_scale);
  put(&row, view->action, view->actions, 1);
  return row.count;
}

double reorient_target(const ReorientTask *task, double action, double last, double low, double high, double dt) {
  const double asked = task->relative ? last + task->speed * dt * action : low + 0.5 * (action + 1) * (high - low);
  return fmin(fmax(asked, low), high);
}
