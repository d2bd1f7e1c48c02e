/* Intervals from the replicates of a bootstrap of few runs. Percentiles alone are too narrow for few runs (they cover
 * 82 % with five): the resampled variance of a mean of n runs lacks the factor n / (n - 1), and percentiles follow the
 * normal distribution where a mean of few runs needs Student's t (Hesterberg 2015, The American Statistician 69:371,
 * 4.3). Their distances from the estimate are therefore multiplied by sqrt(n / (n - 1)) and by the ratio of the
 * quantiles, t to normal, which keeps the skew. Pure functions over arrays. */
#ifndef ANALYSIS_REPLICATES_H
#define ANALYSIS_REPLICATES_H
#include <stddef.h>
#include <stdint.h>

#include "analysis/statistics/statistics.h"

/* Options of a bootstrap. */
typedef struct AnalysisResampling { size_t replicates; double level; uint64_t seed; } AnalysisResampling;

/* Returns the factor of the distances for runs first[t] .. first[t + 1] - 1 of each task: 2.69 for three runs, 1.22 for
 * ten. NaN if no task has two runs. */
double analysis_replicates_widening(const size_t *first, size_t tasks, double level);

/* Computes the interval of `center` from value[count], without NaN; they may be infinite. A bound is infinite if the
 * percentile is, and not moved if center is infinite. n is left to the caller. NaN bounds if center or widening is
 * NaN, or count 0. */
AnalysisInterval analysis_replicates_interval(double center, const double *value, size_t count, double level,
                                              double widening);

#endif
