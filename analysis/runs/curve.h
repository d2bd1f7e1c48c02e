/* Averages of curves: runs are interpolated linearly to a common grid, never beyond their own ends, and averaged
 * with an interval if there are enough runs. Independent of databases and plots. */
#ifndef ANALYSIS_CURVE_H
#define ANALYSIS_CURVE_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/statistics/interval.h"

typedef struct AnalysisCurve { double *x, *y; size_t n; } AnalysisCurve; /* x ascending; free x and y */

/* Adds a point; ignores one whose x is not larger than the last. */
void analysis_curve_add(AnalysisCurve *curve, double x, double y);
void analysis_curve_free(AnalysisCurve *curve);

/* Returns the distinct x of the curves, ascending; if there are more than `most`, that number of points evenly
 * spaced over the same range (over its logarithm if logarithmic, from the first positive x). free() the result. */
double *analysis_curve_grid(const AnalysisCurve *curves, size_t count, size_t most, bool logarithmic, size_t *n);

/* Options of the average. task[curve]: stratify over tasks (interval.h); NULL: one task. */
typedef struct AnalysisCurveOptions {
  AnalysisAggregate aggregate;
  AnalysisRange range;
  const size_t *task;
  size_t tasks;
} AnalysisCurveOptions;

/* Averages at each grid point the curves that reach it: their number, aggregate and 95 % interval (interval.h). NaN
 * without a curve (mean) or with fewer than three per task (interval). If the range is logarithmic, ignores values
 * that are not positive. */
void analysis_curve_average(const AnalysisCurve *curves, size_t count, const AnalysisCurveOptions *manner,
                            const double *grid, size_t n, double *mean, double *low, double *high, size_t *runs);

#endif
