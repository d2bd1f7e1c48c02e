/* Rewards, observations and actions (kuka.h). */
#include "trainer/envs/hands/kuka.h"

#include <math.h>
#include <string.h>

#include "trainer/envs/hands/rotation.h"

/* Constants of cfg/task/AllegroKuka.yaml, by its names. */
static const double lifting_scale = 20, lifting_bonus = 300, lifting_threshold = 0.15, keypoint_scale = 200,
                    tip_scale = 50, goal_bonus = 1000, arm_scale = 0.003, hand_scale = 0.0003, keypoint_size = 1.5,
                    arm_speed = 10, step_seconds = 0.01667, force_decay = 0.99, force_decay_seconds = 0.08,
                    observation_clip = 10, tolerance_decay = 0.9, curriculum_interval = 3000, goals_per_episode = 3,
                    goals_max = 50;
/* Constants of tasks/allegro_kuka/allegro_kuka_base.py. */
static const double fallen_height = 0.1, tip_distance_max = 1.5, lift_max = 0.5, reward_scale = 0.01,
                    tip_offset[KUKA_TIPS][3] = {{0.05, 0.005, 0}, {0.05, 0.005, 0}, {0.05, 0.005, 0}, {0.06, 0.005, 0}},
                    palm_offset[3] = {0, -0.02, 0.16};

static double clip(double x, double low, double high) { return fmin(fmax(x, low), high); }

static double distance(const double a[3], const double b[3]) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return sqrt(x * x + y * y + z * z);
}

/* Transforms the point `offset` of a body to world coordinates. */
static void transform(const double position[3], const double rotation[4], const double offset[3], double point[3]) {
  rotation_apply(rotation, offset, point);
  for (int i = 0; i < 3; i++) point[i] += position[i];
}

static void find_tip(const KukaView *view, int tip, double position[3]) {
  transform(view->tip[tip], view->tip_rotation[tip], tip_offset[tip], position);
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

double kuka_target(int j, double action, double last, double low, double high) {
  const double arm_target = last + arm_speed * step_seconds * action;
  const double hand_target = low + 0.5 * (action + 1) * (high - low);
  return clip(j < KUKA_ARM ? arm_target : hand_target, low, high);
}

double kuka_force_decay(void) { return pow(force_decay, step_seconds / force_decay_seconds); }

/* ---- distances --------------------------------------------------------------------------------------------------- */

int kuka_keypoints(const KukaTask *task, const double scale[3], const double position[3], const double rotation[4],
                   double keypoint[KUKA_KEYPOINTS][3]) {
  static const double corner[KUKA_KEYPOINTS][3] = {{1, 1, 1}, {1, 1, -1}, {-1, -1, 1}, {-1, -1, -1}};
  if (task->goals != KUKA_POSES) {
    memcpy(keypoint[0], position, 3 * sizeof *position);
    return 1;
  }
  for (int k = 0; k < KUKA_KEYPOINTS; k++) {
    double offset[3];
    for (int i = 0; i < 3; i++) offset[i] = corner[k][i] * scale[i] * KUKA_SIDE * keypoint_size / 2;
    transform(position, rotation, offset, keypoint[k]);
  }
  return KUKA_KEYPOINTS;
}

KukaDistances kuka_distances(const KukaTask *task, const KukaState *state, const KukaView *view) {
  KukaDistances distances = {0};
  double keypoint[KUKA_KEYPOINTS][3], target[KUKA_KEYPOINTS][3], tip[3];
  const int keypoints = kuka_keypoints(task, state->scale, view->position, view->rotation, keypoint);
  kuka_keypoints(task, state->scale, view->goal, view->goal_rotation, target);
  for (int k = 0; k < keypoints; k++) distances.keypoint = fmax(distances.keypoint, distance(keypoint[k], target[k]));
  for (int i = 0; i < KUKA_TIPS; i++) {
    find_tip(view, i, tip);
    distances.tip[i] = distance(tip, view->position);
  }
  return distances;
}

/* ---- episodes and goals ------------------------------------------------------------------------------------------ */

void kuka_start_episode(const KukaTask *task, KukaState *state) {
  const KukaState last = *state;
  *state = (KukaState){.tolerance = task->tolerance};
  if (last.tolerance == 0) return;
  state->tolerance = last.tolerance;
  state->steps_since = last.steps_since;
  state->episodes_since = last.episodes_since + 1;
  state->reached_since = last.reached_since + last.current.reached;
}

void kuka_start_goal(const KukaTask *task, KukaState *state, const KukaView *view, bool is_new_episode) {
  const KukaDistances distances = kuka_distances(task, state, view);
  state->is_reached = 0;
  state->near_steps = 0;
  state->current.keypoint = distances.keypoint;
  state->observed.keypoint = distances.keypoint;
  if (!is_new_episode && task->goals == KUKA_POSES) return;
  state->current.lifted = 0;
  state->observed.lifted = 0;
  memcpy(state->current.tip, distances.tip, sizeof distances.tip);
  memcpy(state->observed.tip, distances.tip, sizeof distances.tip);
}

/* Reduces the tolerance once enough goals are reached per episode. Source: tolerance_curriculum of
 * allegro_kuka_utils.py, which uses the last episodes of all worlds together. */
static void update_tolerance(const KukaTask *task, KukaState *state) {
  state->steps_since++;
  if (state->steps_since < curriculum_interval || state->episodes_since == 0) return;
  if (state->reached_since < goals_per_episode * state->episodes_since) return;
  state->tolerance = fmax(state->tolerance * tolerance_decay, task->final_tolerance);
  state->steps_since = 0;
  state->episodes_since = 0;
  state->reached_since = 0;
}

/* ---- rewards ----------------------------------------------------------------------------------------------------- */

/* Adds the reward for height until the cuboid is lifted, and the bonus for lifting it. */
static void add_lifting(KukaProgress *progress, const KukaView *view, KukaReward *reward) {
  const double height = 0.05 + view->position[2] - KUKA_START_HEIGHT;
  const double lifted = progress->lifted > 0 || height > lifting_threshold;
  reward->lifted = lifted > progress->lifted ? lifting_bonus : 0;
  reward->lifting = lifted > 0 ? 0 : lifting_scale * clip(height, 0, lift_max);
  progress->lifted = lifted;
}

/* Adds the reward for new minimum distances: of fingertips to the cuboid until it is lifted, then of keypoints to the
 * goal. */
static void add_distances(KukaProgress *progress, const KukaDistances *distances, KukaReward *reward) {
  double tips = 0;
  for (int i = 0; i < KUKA_TIPS; i++) {
    tips += clip(progress->tip[i] - distances->tip[i], 0, 10);
    progress->tip[i] = fmin(progress->tip[i], distances->tip[i]);
  }
  const double keypoint = clip(progress->keypoint - distances->keypoint, 0, 100);
  progress->keypoint = fmin(progress->keypoint, distances->keypoint);
  reward->tips = progress->lifted > 0 ? 0 : tip_scale * tips;
  reward->keypoint = progress->lifted > 0 ? keypoint_scale * keypoint : 0;
}

/* Adds the penalty of joint velocities. */
static void add_velocities(const KukaView *view, KukaReward *reward) {
  for (int j = 0; j < KUKA_ARM; j++) reward->arm -= arm_scale * fabs(view->joint_velocity[j]);
  for (int j = KUKA_ARM; j < KUKA_JOINTS; j++) reward->hand -= hand_scale * fabs(view->joint_velocity[j]);
}

/* Adds the goal's bonus, which is spread over the required steps. */
static void add_goal(const KukaTask *task, KukaState *state, double keypoint, KukaReward *reward) {
  const bool is_near = keypoint <= state->tolerance * keypoint_size;
  state->near_steps += is_near;
  state->is_reached = state->near_steps >= task->success_steps;
  state->current.reached += state->is_reached;
  reward->goal = is_near ? goal_bonus / task->success_steps : 0;
  if (state->is_reached > 0) state->current.steps = 0;
}

static bool has_ended(const KukaTask *task, const KukaState *state, const KukaView *view,
                    const KukaDistances *distances) {
  double tip_distance = 0;
  for (int i = 0; i < KUKA_TIPS; i++) tip_distance = fmax(tip_distance, distances->tip[i]);
  return view->position[2] < fallen_height || state->current.reached >= goals_max ||
         state->current.steps >= task->length - 1 || (task->goals == KUKA_POSES && tip_distance > tip_distance_max);
}

KukaReward kuka_reward(const KukaTask *task, KukaState *state, const KukaView *view, bool *ended) {
  const KukaDistances distances = kuka_distances(task, state, view);
  KukaReward reward = {0};
  state->current.steps++;
  update_tolerance(task, state);
  state->observed = state->current;
  add_lifting(&state->current, view, &reward);
  add_distances(&state->current, &distances, &reward);
  add_velocities(view, &reward);
  add_goal(task, state, distances.keypoint, &reward);
  reward.total = reward.tips + reward.lifting + reward.lifted + reward.keypoint + reward.arm + reward.hand;
  reward.total += reward.goal;
  state->reward = reward.total;
  *ended = has_ended(task, state, view, &distances);
  return reward;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* Observation under construction. */
typedef struct Row { double *values; int count; } Row;

/* Appends n values, clipped. */
static void append(Row *row, const double *x, int n) {
  for (int i = 0; i < n; i++) row->values[row->count++] = clip(x[i], -observation_clip, observation_clip);
}

/* Appends position - origin. */
static void append_difference(Row *row, const double position[3], const double origin[3]) {
  const double offset[3] = {position[0] - origin[0], position[1] - origin[1], position[2] - origin[2]};
  append(row, offset, 3);
}

static void append_motion(Row *row, const double rotation[4], const double velocity[3],
                          const double angular_velocity[3]) {
  double xyzw[4];
  rotation_to_xyzw(rotation, xyzw);
  append(row, xyzw, 4);
  append(row, velocity, 3);
  append(row, angular_velocity, 3);
}

static void append_joints(Row *row, const KukaView *view) {
  for (int j = 0; j < KUKA_JOINTS; j++) {
    const double low = view->joint_range[2 * j], high = view->joint_range[2 * j + 1];
    const double scaled = (2 * view->joint_position[j] - high - low) / (high - low);
    append(row, &scaled, 1);
  }
  append(row, view->joint_velocity, KUKA_JOINTS);
}

static void append_keypoints(Row *row, const KukaTask *task, const KukaState *state, const KukaView *view,
                          const double palm[3]) {
  double keypoint[KUKA_KEYPOINTS][3], target[KUKA_KEYPOINTS][3];
  const int keypoints = kuka_keypoints(task, state->scale, view->position, view->rotation, keypoint);
  kuka_keypoints(task, state->scale, view->goal, view->goal_rotation, target);
  for (int k = 0; k < keypoints; k++) append_difference(row, keypoint[k], palm);
  for (int k = 0; k < keypoints; k++) append_difference(row, keypoint[k], target[k]);
}

int kuka_observe(const KukaTask *task, const KukaState *state, const KukaView *view, double *observation) {
  const KukaProgress *progress = &state->observed;
  Row row = {observation, 0};
  double palm[3], tip[3];

  transform(view->wrist, view->wrist_rotation, palm_offset, palm);
  append_joints(&row, view);
  append(&row, palm, 3);
  append_motion(&row, view->wrist_rotation, view->wrist_velocity, view->wrist_angular_velocity);
  append_motion(&row, view->rotation, view->velocity, view->angular_velocity);
  for (int i = 0; i < KUKA_TIPS; i++) {
    find_tip(view, i, tip);
    append_difference(&row, tip, palm);
  }
  append_keypoints(&row, task, state, view, palm);
  append(&row, state->scale, 3);
  append(&row, &progress->keypoint, 1);
  append(&row, progress->tip, KUKA_TIPS);

  const double scalars[] = {progress->lifted, log(progress->steps / 10 + 1), log(progress->reached + 1),
                         state->reward * reward_scale};
  append(&row, scalars, 4);
  return row.count;
}
