/* Statistics of many levels against a reference table of means and quantiles (shared/data/golden: generator_stats.tsv,
 * loco_stats.tsv), by the quantities' names there. One collection a program. Test programs only. */
#ifndef TESTS_LEVEL_STATISTICS_H
#define TESTS_LEVEL_STATISTICS_H
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "tests/level_hash.h"

/* ---- our own samples ------------------------------------------------------------------------------------------- */

enum { STATISTICS_SLOTS = 512 }; /* open addressing; far more than there are quantities */
typedef struct Quantity { char name[40]; int n, capacity; double *sample; } Quantity;
static Quantity statistics_slots[STATISTICS_SLOTS];

/* The slot of this name, or the free one where it would be. */
static inline Quantity *statistics_slot(const char *name) {
  Quantity *slot = &statistics_slots[core_text_hash(name) % STATISTICS_SLOTS];
  while (slot->name[0] && strcmp(slot->name, name) != 0)
    slot = slot == &statistics_slots[STATISTICS_SLOTS - 1] ? statistics_slots : slot + 1;
  return slot;
}

static inline const Quantity *statistics_find(const char *name) {
  const Quantity *slot = statistics_slot(name);
  return slot->name[0] ? slot : NULL;
}

static inline void record(double value, const char *name) {
  Quantity *quantity = statistics_slot(name);
  if (!quantity->name[0]) snprintf(quantity->name, sizeof quantity->name, "%s", name);
  if (quantity->n == quantity->capacity) {
    quantity->capacity = quantity->capacity ? 2 * quantity->capacity : 4096;
    quantity->sample = core_memory_resize(quantity->sample, (size_t)quantity->capacity * sizeof *quantity->sample);
  }
  quantity->sample[quantity->n++] = value;
}

static inline void CORE_PRINTF(2, 3) record_named(double value, const char *format, ...) {
  char name[40];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  record(value, name);
}

static inline void statistics_clear(void) {
  for (int i = 0; i < STATISTICS_SLOTS; i++) free(statistics_slots[i].sample);
  memset(statistics_slots, 0, sizeof statistics_slots);
}

static inline void record_shapes(const SimLevel *level) {
  static const char *const roles[] = {"normal", "green", "blue", "red"};
  int degree[SIM_SHAPES_MAX] = {0}, by_role[4] = {0}, polygons = 0, circles = 0, fixated = 0;

  for (int k = 0; k < level->size.joints; k++)
    if (level->joint[k].active) degree[level->joint[k].a]++, degree[level->joint[k].b]++;

  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons + level->size.circles; i++) {
    const SimShape *s = level_shape_at(level, i);
    bool circle = i >= level->size.polygons, fixed = s->inverse_mass == 0;
    if (!s->active) continue;
    const char *role = roles[s->role];
    polygons += !circle, circles += circle, fixated += fixed, by_role[s->role]++;
    record_named(circle, "%s_is_circle", role);
    record_named(fixed, "%s_is_fixated", role);
    record_named((double)s->x, "%s_x", role);
    record_named((double)s->y, "%s_y", role);
    record((double)s->x, "x_all");
    record((double)s->y, "y_all");
    record((double)s->rotation, "rotation_all");
    record(degree[i], "joint_degree_all");
    if (fixed) record((double)s->x, "x_fixated"), record((double)s->y, "y_fixated");
    if (circle) record((double)s->radius, "circle_radius");
    if (circle && !fixed) record(1 / (double)s->inverse_mass, "circle_mass");
    if (circle) continue;
    record(fabs((double)s->vertex_x[0]), "rect_half_x");
    record(fabs((double)s->vertex_y[0]), "rect_half_y");
    if (!fixed) record(1 / (double)s->inverse_mass, "rect_mass");
  }

  for (int r = 0; r < 4; r++) {
    record_named(level->polygon[0].role == r, "floor_is_%s", roles[r]);
    record_named(by_role[r], "shapes_%s_per_level", roles[r]);
  }

  int blue = by_role[SIM_ROLE_BLUE] + (level->polygon[0].role == SIM_ROLE_BLUE), green = by_role[SIM_ROLE_GREEN];
  record(polygons, "polygons_per_level");
  record(circles, "circles_per_level");
  record(polygons + circles, "shapes_per_level");
  record(fixated, "fixated_per_level");
  record(green > 0 && blue > 0, "has_green_and_blue");
  record(green == 1, "exactly_one_green");
  record(blue == 1, "exactly_one_blue_or_floor");
}

static inline void record_joint(const SimLevel *level, const SimJoint *j) {
  bool wheel = j->b >= level->size.polygons;
  for (int b = 0; b < SIM_MOTOR_BINDINGS; b++) record_named(j->motor_binding == b, "motor_binding_is_%d", b);
  record(fabs((double)j->a_x), "anchor_a_abs_x");
  record(fabs((double)j->a_y), "anchor_a_abs_y");
  record(fabs((double)j->b_x), "anchor_b_abs_x");
  record(fabs((double)j->b_y), "anchor_b_abs_y");
  bool fixated = level_shape_at(level, j->a)->inverse_mass == 0 || level_shape_at(level, j->b)->inverse_mass == 0;
  record(fixated, "joint_to_fixated");
  if (j->fixed) return;
  record(j->motor_on, "revolute_motor_on");
  record(wheel, "revolute_is_wheel");
  record((double)j->motor_speed, "motor_speed");
  record((double)j->motor_power, wheel ? "motor_power_wheel" : "motor_power_rect");
  if (!wheel) record(j->has_limits, "revolute_has_limits");
  if (!j->has_limits) return;
  record((double)j->min_rotation, "limit_min");
  record((double)j->max_rotation, "limit_max");
}

static inline void record_thruster(const SimLevel *level, const SimThruster *t) {
  record(t->shape >= level->size.polygons, "thruster_on_circle");
  record((double)(t->power * level_shape_at(level, t->shape)->inverse_mass), "thruster_power_over_mass");
  for (int b = 0; b < SIM_THRUSTER_BINDINGS; b++) record_named(t->binding == b, "thruster_binding_is_%d", b);
  record((double)t->rotation, "thruster_rotation");
  double along = cos((double)t->rotation - atan2((double)t->y, (double)t->x));
  record(fabs(fabs(along) - 1) < 1e-3, "thruster_aligned");
}

static inline void record_joints_and_thrusters(const SimLevel *level) {
  int joints = 0, fixed = 0, motors = 0, thrusters = 0;
  for (int k = 0; k < level->size.joints; k++) {
    const SimJoint *j = &level->joint[k];
    if (!j->active) continue;
    joints++, fixed += j->fixed, motors += j->motor_on && !j->fixed;
    record_joint(level, j);
  }
  for (int k = 0; k < level->size.thrusters; k++) {
    if (!level->thruster[k].active) continue;
    thrusters++;
    record_thruster(level, &level->thruster[k]);
  }
  record(joints, "joints_per_level");
  record(fixed, "fixed_joints_per_level");
  record(joints - fixed, "revolute_joints_per_level");
  record(thrusters, "thrusters_per_level");
  record(motors > 0 || thrusters > 0, "has_motor_or_thruster");
}

/* ---- the reference's rows -------------------------------------------------------------------------------------- */

enum { STATISTICS_QUANTILES = 5 };
static const double STATISTICS_RANKS[STATISTICS_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
typedef struct StatisticsRow {
  char size[8], stage[16], name[40];
  int n;
  double mean, sd, quantile[STATISTICS_QUANTILES];
} StatisticsRow;

/* False for a line that is no row (the title, a comment). */
static inline bool statistics_read_row(const char *line, StatisticsRow *row) {
  double *q = row->quantile;
  return sscanf(line, "%7s %15s %39s %d %lf %lf %lf %lf %lf %lf %lf", row->size, row->stage, row->name, &row->n,
                &row->mean, &row->sd, &q[0], &q[1], &q[2], &q[3], &q[4]) == 11;
}

static inline double statistics_mean(const Quantity *ours) {
  double sum = 0;
  for (int i = 0; i < ours->n; i++) sum += ours->sample[i];
  return sum / ours->n;
}

/* Returns the difference of the means in standard errors, when the two samples count as that many independent
 * ones. Beneath 1e-6 they are equal: the reference's values carry rounding where ours may be exact. */
static inline double statistics_mean_z(const StatisticsRow *row, const Quantity *ours, double their_n, double our_n) {
  double mean = statistics_mean(ours), squares = 0;
  for (int i = 0; i < ours->n; i++) squares += (ours->sample[i] - mean) * (ours->sample[i] - mean);
  double variance = ours->n > 1 ? squares / (ours->n - 1) : 0;
  double apart = fabs(mean - row->mean), slack = 1e-6 * fmax(1, fabs(row->mean));
  double error = sqrt(variance / our_n + row->sd * row->sd / their_n);
  return apart <= slack ? 0 : error > 0 ? (apart - slack) / error : (double)INFINITY;
}

/* Returns the z score of our fraction below the reference's quantiles, the worst of the five; for a discrete
 * quantity a share between < and <= is right. */
static inline double statistics_quantile_z(const StatisticsRow *row, const Quantity *ours, double their_n,
                                           double our_n) {
  double worst = 0;
  for (int q = 0; q < STATISTICS_QUANTILES; q++) {
    double slack = 1e-5 * fmax(1, fabs(row->quantile[q])), rank = STATISTICS_RANKS[q];
    int below = 0, up_to = 0;
    for (int i = 0; i < ours->n; i++) {
      below += ours->sample[i] < row->quantile[q] - slack;
      up_to += ours->sample[i] <= row->quantile[q] + slack;
    }
    double missed = fmax((double)below / ours->n - rank, rank - (double)up_to / ours->n);
    worst = fmax(worst, missed / sqrt(rank * (1 - rank) * (1 / our_n + 1 / their_n)));
  }
  return worst;
}

#endif
