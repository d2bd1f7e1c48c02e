/* Cuboids, goals and first states (kuka.h). */
#include <math.h>
#include <string.h>

#include "trainer/envs/hands/kuka.h"

static const double pi = 3.14159265358979323846;
/* The volume of places that are goals. */
static const double lowest[3] = {-0.4, 0, 0.68}, highest[3] = {0.4, 0.35, 1.05};
const double kuka_home[KUKA_JOINTS] = {-1.571, 1.571, 0, 1.376, 0, 1.485, 2.358};

static double between(double low, double high, double u) { return low + (high - low) * u; }

/* ---- cuboids ----------------------------------------------------------------------------------------------------- */

/* All cuboids whose sides are among `sides`, in percent of KUKA_SIDE, and whose volume is within the bounds, in cubes
 * of KUKA_SIDE; without plates, where `thick`, and sticks alone, where `long_only`. */
typedef struct Family {
  int sides[12], count;
  double least, most;
  bool thick, long_only;
} Family;
static const Family small = {{100, 50, 66, 75, 90, 110, 125, 150, 175, 200, 250, 300}, 12, 1, 2.5, false, false},
                    big = {{100, 125, 150, 200, 250, 300, 350}, 7, 2.5, 15, true, false},
                    sticks = {{100, 50, 75, 200, 300, 400, 500, 600}, 8, 2.5, 6, true, true};

static bool belongs(const Family *family, const int side[3]) {
  const double volume = (double)(side[0] * side[1] * side[2]) / 1e6;
  const int a = side[0], b = side[1], c = side[2];
  const int low = a < b ? (a < c ? a : c) : (b < c ? b : c), high = a > b ? (a > c ? a : c) : (b > c ? b : c);
  const int middle = a + b + c - low - high;
  if (volume < family->least || volume > family->most) return false;
  if (family->thick && 3 * low <= middle) return false;
  return !family->long_only || (high > 3 * low && high > 3 * middle);
}

/* Counts on from *count; at `number` gives its sides, and ends. */
static bool list(const Family *family, int number, int *count, double scale[3]) {
  for (int i = 0, n = family->count; i < n * n * n; i++) {
    const int side[3] = {family->sides[i / (n * n)], family->sides[i / n % n], family->sides[i % n]};
    if (!belongs(family, side) || (*count)++ != number) continue;
    for (int k = 0; k < 3; k++) scale[k] = side[k] / 100.0;
    return true;
  }
  return false;
}

static int find(const KukaTask *task, int number, double scale[3]) {
  int count = 0;
  const bool found = list(&small, number, &count, scale) || (task->big && list(&big, number, &count, scale)) ||
                     (task->sticks && list(&sticks, number, &count, scale));
  return found ? number : count;
}

int kuka_cuboids(const KukaTask *task) {
  double scale[3];
  return find(task, -1, scale);
}

void kuka_cuboid(const KukaTask *task, int number, double scale[3]) { find(task, number, scale); }

/* ---- goals ------------------------------------------------------------------------------------------------------- */

void kuka_random_rotation(const double u[3], double rotation[4]) {
  const double a = sqrt(1 - u[0]), b = sqrt(u[0]);
  rotation[0] = a * sin(2 * pi * u[1]);
  rotation[1] = a * cos(2 * pi * u[1]);
  rotation[2] = b * sin(2 * pi * u[2]);
  rotation[3] = b * cos(2 * pi * u[2]);
}

/* Left or right of the table. */
static void place_bucket(const double u[4], double place[3]) {
  const double side = 2 * u[0] - 1 > 0 ? 1 : -1;
  place[0] = side * between(0.5, 0.9, u[1]);
  place[1] = between(-1, 0.7, u[2]);
  place[2] = u[3];
}

void kuka_goal_place(const KukaTask *task, const double u[4], double place[3]) {
  if (task->goals == KUKA_BUCKETS) place_bucket(u, place);
  else
    for (int i = 0; i < 3; i++) place[i] = between(lowest[i], highest[i], u[i]);
}

double kuka_farthest_goal(const double from[3]) {
  double squares = 0;
  for (int i = 0; i < 3; i++) {
    const double away = fmax(fabs(lowest[i] - from[i]), fabs(highest[i] - from[i]));
    squares += away * away;
  }
  return sqrt(squares);
}

/* ---- first states ------------------------------------------------------------------------------------------------ */

void kuka_start_place(const double u[3], double place[3]) {
  static const double middle[3] = {0, 0, KUKA_START_HEIGHT}, noise[3] = {0.1, 0.1, 0.02};
  for (int i = 0; i < 3; i++) place[i] = middle[i] + noise[i] * (2 * u[i] - 1);
}

double kuka_start_joint(int j, double u, double low, double high) {
  const double noise = 0.1, home = kuka_home[j], position = home + noise * (between(low, high, u) - home);
  return fmin(fmax(position, low), high);
}

double kuka_start_speed(double u) { return 0.5 * (2 * u - 1); }

double kuka_force_share(double u) {
  const double least = 0.001, most = 0.1;
  return exp((log(least) - log(most)) * u + log(most));
}
