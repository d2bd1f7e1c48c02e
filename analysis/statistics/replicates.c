/* Widened percentiles of bootstrap replicates (replicates.h). */
#include "analysis/statistics/replicates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

double analysis_replicates_widening(const size_t *first, size_t tasks, double level) {
  static const double normal_degrees = 1e9; /* Student's distribution with these is normal to nine digits */
  const size_t runs = tasks ? first[tasks] : 0;
  if (runs <= tasks) return NAN;
  const double degrees = (double)(runs - tasks), q = (1 + level) / 2;
  const double ratio = analysis_student_quantile(q, degrees) / analysis_student_quantile(q, normal_degrees);
  return ratio * sqrt((double)runs / degrees);
}

/* Moves a percentile away from the center; infinity has no distance. */
static double widen(double center, double bound, double widening) {
  return isinf(bound) || isinf(center) ? bound : center + widening * (bound - center);
}

AnalysisInterval analysis_replicates_interval(double center, const double *value, size_t count, double level,
                                              double widening) {
  AnalysisInterval interval = {center, NAN, NAN, 0};
  if (isnan(center) || isnan(widening) || count == 0) return interval;

  double *sorted = core_memory_allocate(count * sizeof *sorted);
  memcpy(sorted, value, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, analysis_compare_values);

  /* Ranks outward of the exact ones, since there is nothing between a number and infinity. */
  const double last = (double)(count - 1);
  interval.low = widen(center, sorted[(size_t)floor((1 - level) / 2 * last)], widening);
  interval.high = widen(center, sorted[(size_t)ceil((1 + level) / 2 * last)], widening);
  free(sorted);
  return interval;
}
