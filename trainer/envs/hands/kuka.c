/* Rewards, observations and actions (kuka.h). */
#include "trainer/envs/hands/kuka.h"

#include <math.h>
#include <string.h>

#include "trainer/envs/hands/rotation.h"

/* Of cfg/task/AllegroKuka.yaml, by its names. */
static const double lifting_scale = 20, lifting_bonus = 300, lifting_threshold = 0.15, keypoint_scale = 200,
                    tip_scale = 50, goal_bonus = 1000, arm_scale = 0.003, hand_scale = 0.0003, keypoint_size = 1.5,
                    arm_speed = 10, step_seconds = 0.01667, force_decay = 0.99, force_decay_seconds = 0.08,
                    limit = 10, tighter = 0.9, interval = 3000, goals_needed = 3, goals_most = 50;
/* Of tasks/allegro_kuka/allegro_kuka_base.py. */
static const double fallen_height = 0.1, farthest_tip = 1.5, most_lift = 0.5, reward_scale = 0.01,
                    tip_offset[KUKA_TIPS][3] = {{0.05, 0.005, 0}, {0.05, 0.005, 0}, {0.05, 0.005, 0}, {0.06, 0.005, 0}},
                    palm_offset[3] = {0, -0.02, 0.16};

static double clip(double x, double low, double high) { return fmin(fmax(x, low), high); }

static double distance(const double a[3], const double b[3]) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return sqrt(x * x + y * y + z * z);
}

/* A point that a body carries at `offset`. */
static void carry(const double place[3], const double rotation[4], const double offset[3], double carried[3]) {
  rotation_turn(rotation, offset, carried);
  for (int i = 0; i < 3; i++) carried[i] += place[i];
}

static void find_tip(const KukaView *view, int tip, double place[3]) {
  carry(view->tip[tip], view->tip_rotation[tip], tip_offset[tip], place);
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

double kuka_target(int j, double action, double last, double low, double high) {
  const double moved = last + arm_speed * step_seconds * action, asked = low + 0.5 * (action + 1) * (high - low);
  return clip(j < KUKA_ARM ? moved : asked, low, high);
}

double kuka_force_left(void) { return pow(force_decay, step_seconds / force_decay_seconds); }

/* ---- distances --------------------------------------------------------------------------------------------------- */

int kuka_keypoints(const KukaTask *task, const double scale[3], const double place[3], const double rotation[4],
                   double keypoint[KUKA_KEYPOINTS][3]) {
  static const double corner[KUKA_KEYPOINTS][3] = {{1, 1, 1}, {1, 1, -1}, {-1, -1, 1}, {-1, -1, -1}};
  if (task->goals != KUKA_POSES) {
    memcpy(keypoint[0], place, 3 * sizeof *place);
    return 1;
  }
  for (int k = 0; k < KUKA_KEYPOINTS; k++) {
    double offset[3];
    for (int i = 0; i < 3; i++) offset[i] = corner[k][i] * scale[i] * KUKA_SIDE * keypoint_size / 2;
    carry(place, rotation, offset, keypoint[k]);
  }
  return KUKA_KEYPOINTS;
}

KukaDistances kuka_distances(const KukaTask *task, const KukaState *state, const KukaView *view) {
  KukaDistances distances = {0};
  double is[KUKA_KEYPOINTS][3], wanted[KUKA_KEYPOINTS][3], tip[3];
  const int keypoints = kuka_keypoints(task, state->scale, view->place, view->rotation, is);
  kuka_keypoints(task, state->scale, view->goal, view->goal_rotation, wanted);
  for (int k = 0; k < keypoints; k++) distances.keypoint = fmax(distances.keypoint, distance(is[k], wanted[k]));
  for (int i = 0; i < KUKA_TIPS; i++) {
    find_tip(view, i, tip);
    distances.tip[i] = distance(tip, view->place);
  }
  return distances;
}

/* ---- episodes and goals ------------------------------------------------------------------------------------------ */

void kuka_begin_episode(const KukaTask *task, KukaState *state) {
  const KukaState last = *state;
  *state = (KukaState){.tolerance = task->tolerance};
  if (last.tolerance == 0) return;
  state->tolerance = last.tolerance;
  state->since = last.since;
  state->ends = last.ends + 1;
  state->reached_before = last.reached_before + last.now.reached;
}

void kuka_begin_goal(const KukaTask *task, KukaState *state, const KukaView *view, bool episode) {
  const KukaDistances distances = kuka_distances(task, state, view);
  state->goal_due = state->near = 0;
  state->now.keypoint = state->shown.keypoint = distances.keypoint;
  if (!episode && task->goals == KUKA_POSES) return;
  state->now.lifted = state->shown.lifted = 0;
  memcpy(state->now.tip, distances.tip, sizeof distances.tip);
  memcpy(state->shown.tip, distances.tip, sizeof distances.tip);
}

/* The goal becomes narrower once enough goals are reached an episode. Source: tolerance_curriculum of
 * allegro_kuka_utils.py, which looks at the last episodes of all worlds together. */
static void tighten(const KukaTask *task, KukaState *state) {
  state->since++;
  if (state->since < interval || state->ends == 0 || state->reached_before < goals_needed * state->ends) return;
  state->tolerance = fmax(state->tolerance * tighter, task->tightest);
  state->since = state->ends = state->reached_before = 0;
}

/* ---- rewards ----------------------------------------------------------------------------------------------------- */

/* For height, until the cuboid is lifted; then once a bonus. */
static void add_lifting(KukaProgress *now, const KukaView *view, KukaReward *reward) {
  const double height = 0.05 + view->place[2] - KUKA_START_HEIGHT;
  const double lifted = now->lifted > 0 || height > lifting_threshold;
  reward->lifted = lifted > now->lifted ? lifting_bonus : 0;
  reward->lifting = lifted > 0 ? 0 : lifting_scale * clip(height, 0, most_lift);
  now->lifted = lifted;
}

/* For fingertips that come closer to the cuboid than ever, until it is lifted; then for keypoints that come closer to
 * the goal. */
static void add_distances(KukaProgress *now, const KukaDistances *distances, KukaReward *reward) {
  double tips = 0;
  for (int i = 0; i < KUKA_TIPS; i++) {
    tips += clip(now->tip[i] - distances->tip[i], 0, 10);
    now->tip[i] = fmin(now->tip[i], distances->tip[i]);
  }
  const double keypoint = clip(now->keypoint - distances->keypoint, 0, 100);
  now->keypoint = fmin(now->keypoint, distances->keypoint);
  reward->tips = now->lifted > 0 ? 0 : tip_scale * tips;
  reward->keypoint = now->lifted > 0 ? keypoint_scale * keypoint : 0;
}

static void add_speeds(const KukaView *view, KukaReward *reward) {
  for (int j = 0; j < KUKA_ARM; j++) reward->arm -= arm_scale * fabs(view->speed[j]);
  for (int j = KUKA_ARM; j < KUKA_JOINTS; j++) reward->hand -= hand_scale * fabs(view->speed[j]);
}

/* The goal's bonus is spread over the steps that it takes. */
static void add_goal(const KukaTask *task, KukaState *state, double keypoint, KukaReward *reward) {
  const bool near = keypoint <= state->tolerance * keypoint_size;
  state->near += near;
  state->goal_due = state->near >= task->success_steps;
  state->now.reached += state->goal_due;
  reward->goal = near ? goal_bonus / task->success_steps : 0;
  if (state->goal_due > 0) state->now.steps = 0;
}

static bool is_over(const KukaTask *task, const KukaState *state, const KukaView *view,
                    const KukaDistances *distances) {
  double farthest = 0;
  for (int i = 0; i < KUKA_TIPS; i++) farthest = fmax(farthest, distances->tip[i]);
  return view->place[2] < fallen_height || state->now.reached >= goals_most || state->now.steps >= task->length - 1 ||
         (task->goals == KUKA_POSES && farthest > farthest_tip);
}

KukaReward kuka_reward(const KukaTask *task, KukaState *state, const KukaView *view, bool *ended) {
  const KukaDistances distances = kuka_distances(task, state, view);
  KukaReward reward = {0};
  state->now.steps++;
  tighten(task, state);
  state->shown = state->now;
  add_lifting(&state->now, view, &reward);
  add_distances(&state->now, &distances, &reward);
  add_speeds(view, &reward);
  add_goal(task, state, distances.keypoint, &reward);
  reward.total = reward.tips + reward.lifting + reward.lifted + reward.keypoint + reward.arm + reward.hand;
  reward.total += reward.goal;
  state->reward = reward.total;
  *ended = is_over(task, state, view, &distances);
  return reward;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* Numbers so far, and where the next one goes. */
typedef struct Row { double *to; int count; } Row;

static void put(Row *row, const double *x, int n) {
  for (int i = 0; i < n; i++) row->to[row->count++] = clip(x[i], -limit, limit);
}

static void put_away(Row *row, const double place[3], const double from[3]) {
  const double away[3] = {place[0] - from[0], place[1] - from[1], place[2] - from[2]};
  put(row, away, 3);
}

static void put_motion(Row *row, const double rotation[4], const double velocity[3], const double spin[3]) {
  double last[4];
  rotation_last(rotation, last);
  put(row, last, 4);
  put(row, velocity, 3);
  put(row, spin, 3);
}

static void put_joints(Row *row, const KukaView *view) {
  for (int j = 0; j < KUKA_JOINTS; j++) {
    const double low = view->range[2 * j], high = view->range[2 * j + 1];
    const double share = (2 * view->position[j] - high - low) / (high - low);
    put(row, &share, 1);
  }
  put(row, view->speed, KUKA_JOINTS);
}

static void put_keypoints(Row *row, const KukaTask *task, const KukaState *state, const KukaView *view,
                          const double palm[3]) {
  double is[KUKA_KEYPOINTS][3], wanted[KUKA_KEYPOINTS][3];
  const int keypoints = kuka_keypoints(task, state->scale, view->place, view->rotation, is);
  kuka_keypoints(task, state->scale, view->goal, view->goal_rotation, wanted);
  for (int k = 0; k < keypoints; k++) put_away(row, is[k], palm);
  for (int k = 0; k < keypoints; k++) put_away(row, is[k], wanted[k]);
}

int kuka_observe(const KukaTask *task, const KukaState *state, const KukaView *view, double *observation) {
  const KukaProgress *shown = &state->shown;
  Row row = {observation, 0};
  double palm[3], tip[3];
  carry(view->wrist, view->wrist_rotation, palm_offset, palm);
  put_joints(&row, view);
  put(&row, palm, 3);
  put_motion(&row, view->wrist_rotation, view->wrist_velocity, view->wrist_spin);
  put_motion(&row, view->rotation, view->velocity, view->spin);
  for (int i = 0; i < KUKA_TIPS; i++) {
    find_tip(view, i, tip);
    put_away(&row, tip, palm);
  }
  put_keypoints(&row, task, state, view, palm);
  put(&row, state->scale, 3);
  put(&row, &shown->keypoint, 1);
  put(&row, shown->tip, KUKA_TIPS);
  const double rest[] = {shown->lifted, log(shown->steps / 10 + 1), log(shown->reached + 1),
                         state->reward * reward_scale};
  put(&row, rest, 4);
  return row.count;
}
