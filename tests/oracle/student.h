/* Oracles of intervals: Student's of a mean and Welch's of a difference, as textbooks have them. */
#ifndef TESTS_ORACLE_STUDENT_H
#define TESTS_ORACLE_STUDENT_H
#include <math.h>

#include "analysis/statistics/statistics.h"

/* Mean and mean -+ t_{(1 + level)/2, n - 1} sd / sqrt(n); n >= 2. */
static inline AnalysisInterval oracle_student(const double *x, size_t n, double level) {
  const double mean = analysis_mean(x, n), se = analysis_sd(x, n) / sqrt((double)n);
  const double half = analysis_student_quantile((1 + level) / 2, (double)n - 1) * se;
  return (AnalysisInterval){mean, mean - half, mean + half, n};
}

/* Welch (1947): unequal variances, Satterthwaite's degrees of freedom; n_x, n_y >= 2. */
static inline AnalysisInterval oracle_welch(const double *x, size_t n_x, const double *y, size_t n_y, double level) {
  const double difference = analysis_mean(x, n_x) - analysis_mean(y, n_y);
  const double a = pow(analysis_sd(x, n_x), 2) / (double)n_x, b = pow(analysis_sd(y, n_y), 2) / (double)n_y;
  const double degrees = (a + b) * (a + b) / (a * a / ((double)n_x - 1) + b * b / ((double)n_y - 1));
  const double half = analysis_student_quantile((1 + level) / 2, degrees) * sqrt(a + b);
  return (AnalysisInterval){difference, difference - half, difference + half, n_x + n_y};
}

#endif
