/* Cuboids, goals and initial states (kuka.h). */
#include <math.h>
#include <string.h>

#include "trainer/envs/hands/kuka.h"

static const double pi = 3.14159265358979323846;
/* Volume of the goals' positions. */
static const double goal_min[3] = {-0.4, 0, 0.68}, goal_max[3] = {0.4, 0.35, 1.05};
const double kuka_home[KUKA_JOINTS] = {-1.571, 1.571, 0, 1.376, 0, 1.485, 2.358};

static double interpolate(double low, double high, double u) { return low + (high - low) * u; }

/* ---- cuboids ----------------------------------------------------------------------------------------------------- */

/* Set of all cuboids whose sides are among `sides`, in percent of KUKA_SIDE, and whose volume is within the bounds, in
 * KUKA_SIDE^3. excludes_plates: no flat ones; only_sticks: only elongated ones. */
typedef struct Family {
  int sides[12], count;
  double volume_min, volume_max;
  bool excludes_plates, only_sticks;
} Family;
static const Family small = {{100, 50, 66, 75, 90, 110, 125, 150, 175, 200, 250, 300}, 12, 1, 2.5, false, false},
                    big = {{100, 125, 150, 200, 250, 300, 350}, 7, 2.5, 15, true, false},
                    sticks = {{100, 50, 75, 200, 300, 400, 500, 600}, 8, 2.5, 6, true, true};

static bool contains(const Family *family, const int side[3]) {
  const double volume = (double)(side[0] * side[1] * side[2]) / 1e6;
  const int a = side[0], b = side[1], c = side[2];
  const int smaller = a < b ? a : b, larger = a + b - smaller;
  const int low = smaller < c ? smaller : c;
  const int high = larger > c ? larger : c;
  const int middle = a + b + c - low - high;
  if (volume < family->volume_min || volume > family->volume_max) return false;
  if (family->excludes_plates && 3 * low <= middle) return false;
  return !family->only_sticks || (high > 3 * low && high > 3 * middle);
}

/* Advances *count over the cuboids of a family. Stops at `index`, computes its sides and returns true. */
static bool find_in_family(const Family *family, int index, int *count, double scale[3]) {
  for (int i = 0, n = family->count; i < n * n * n; i++) {
    const int side[3] = {family->sides[i / (n * n)], family->sides[i / n % n], family->sides[i % n]};
    if (!contains(family, side) || (*count)++ != index) continue;
    for (int k = 0; k < 3; k++) scale[k] = side[k] / 100.0;
    return true;
  }
  return false;
}

/* Computes the sides of cuboid `index`. Returns the number of cuboids if there is no such index. */
static int find_cuboid(const KukaTask *task, int index, double scale[3]) {
  int count = 0;
  const bool found = find_in_family(&small, index, &count, scale) ||
                     (task->big && find_in_family(&big, index, &count, scale)) ||
                     (task->sticks && find_in_family(&sticks, index, &count, scale));
  return found ? index : count;
}

int kuka_cuboid_count(const KukaTask *task) {
  double scale[3];
  return find_cuboid(task, -1, scale);
}

void kuka_cuboid(const KukaTask *task, int index, double scale[3]) { find_cuboid(task, index, scale); }

/* ---- goals ------------------------------------------------------------------------------------------------------- */

void kuka_random_rotation(const double u[3], double rotation[4]) {
  const double a = sqrt(1 - u[0]), b = sqrt(u[0]);
  rotation[0] = a * sin(2 * pi * u[1]);
  rotation[1] = a * cos(2 * pi * u[1]);
  rotation[2] = b * sin(2 * pi * u[2]);
  rotation[3] = b * cos(2 * pi * u[2]);
}

/* Computes the position of a bucket, left or right of the table. */
static void bucket_position(const double u[4], double position[3]) {
  const double side = 2 * u[0] - 1 > 0 ? 1 : -1;
  position[0] = side * interpolate(0.5, 0.9, u[1]);
  position[1] = interpolate(-1, 0.7, u[2]);
  position[2] = u[3];
}

void kuka_goal_position(const KukaTask *task, const double u[4], double position[3]) {
  if (task->goals == KUKA_BUCKETS) bucket_position(u, position);
  else
    for (int i = 0; i < 3; i++) position[i] = interpolate(goal_min[i], goal_max[i], u[i]);
}

double kuka_max_goal_distance(const double from[3]) {
  double squares = 0;
  for (int i = 0; i < 3; i++) {
    const double offset = fmax(fabs(goal_min[i] - from[i]), fabs(goal_max[i] - from[i]));
    squares += offset * offset;
  }
  return sqrt(squares);
}

/* ---- initial states ---------------------------------------------------------------------------------------------- */

void kuka_start_position(const double u[3], double position[3]) {
  static const double middle[3] = {0, 0, KUKA_START_HEIGHT}, noise[3] = {0.1, 0.1, 0.02};
  for (int i = 0; i < 3; i++) position[i] = middle[i] + noise[i] * (2 * u[i] - 1);
}

double kuka_start_joint(int j, double u, double low, double high) {
  const double noise = 0.1, home = kuka_home[j], position = home + noise * (interpolate(low, high, u) - home);
  return fmin(fmax(position, low), high);
}

double kuka_start_velocity(double u) { return 0.5 * (2 * u - 1); }

double kuka_force_probability(double u) {
  const double min = 0.001, max = 0.1;
  return exp((log(min) - log(max)) * u + log(max));
}
