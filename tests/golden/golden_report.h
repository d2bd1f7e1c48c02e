/* Largest deviations of one golden case, by quantity, and their line in the report. */
#ifndef TESTS_GOLDEN_REPORT_H
#define TESTS_GOLDEN_REPORT_H
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum GoldenQuantity {
  GOLDEN_POSITION, GOLDEN_ROTATION, GOLDEN_VELOCITY, GOLDEN_SPIN, GOLDEN_REWARD, GOLDEN_OBSERVATION, GOLDEN_MANIFOLDS,
  GOLDEN_JOINTS, GOLDEN_QUANTITIES
} GoldenQuantity;

static const char *const golden_names[GOLDEN_QUANTITIES] = {"position", "rotation", "velocity", "spin", "reward",
                                                            "observation", "manifolds", "joints"};

/* A body's six numbers: x, y, rotation, vx, vy, angular velocity. */
static const GoldenQuantity golden_of_body[6] = {GOLDEN_POSITION, GOLDEN_POSITION, GOLDEN_ROTATION,
                                                 GOLDEN_VELOCITY, GOLDEN_VELOCITY, GOLDEN_SPIN};

typedef struct GoldenReport {
  double deviation[GOLDEN_QUANTITIES], ratio[GOLDEN_QUANTITIES];
  long compared[GOLDEN_QUANTITIES];
  GoldenQuantity worst;
  char worst_at[48];      /* "t 12", "case 7 step 2" of the largest ratio */
  char at[48];            /* current position of the comparison */
  char wrong[160];        /* the first thing that is wrong beyond any tolerance; "" when nothing is */
} GoldenReport;

static inline void golden_at(GoldenReport *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void golden_at(GoldenReport *report, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(report->at, sizeof report->at, format, arguments);
  va_end(arguments);
}

static inline void golden_compare(GoldenReport *report, GoldenQuantity quantity, double got, double want,
                                  double tolerance) {
  double deviation = fabs(got - want), ratio = deviation / tolerance;
  if (!isfinite(deviation)) deviation = ratio = INFINITY;
  if (ratio > report->ratio[report->worst]) {
    report->worst = quantity;
    snprintf(report->worst_at, sizeof report->worst_at, "%s", report->at);
  }
  report->deviation[quantity] = fmax(report->deviation[quantity], deviation);
  report->ratio[quantity] = fmax(report->ratio[quantity], ratio);
  report->compared[quantity]++;
}

static inline void golden_wrong(GoldenReport *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void golden_wrong(GoldenReport *report, const char *format, ...) {
  char what[96];
  va_list arguments;
  if (report->wrong[0]) return;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  snprintf(report->wrong, sizeof report->wrong, "%s: %s", report->at, what);
}

static inline double golden_worst_ratio(const GoldenReport *report) { return report->ratio[report->worst]; }

static inline bool golden_is_ok(const GoldenReport *report) {
  return !report->wrong[0] && golden_worst_ratio(report) <= 1.0;
}

/* "ok     traj_x  position 1.2e-07 ... worst ratio 0.01 (velocity, t 32); compared up to t 60" */
static inline void golden_print(const GoldenReport *report, const char *name, const char *extent) {
  printf("%-6s %-40s", golden_is_ok(report) ? "ok" : "not ok", name);
  for (int q = 0; q < GOLDEN_QUANTITIES; q++) {
    if (report->compared[q]) printf(" %s %.1e", golden_names[q], report->deviation[q]);
    else printf(" %s -", golden_names[q]);
  }
  printf("  ratio %.3f", golden_worst_ratio(report));
  if (report->worst_at[0]) printf(" (%s, %s)", golden_names[report->worst], report->worst_at);
  printf("; %s", extent);
  if (report->wrong[0]) printf("; wrong at %s", report->wrong);
  putchar('\n');
}

#endif
