/* Curves of several runs as one: brought to a common grid by linear interpolation, never beyond a run's own ends, and
 * averaged with an interval where enough runs are there. Knows nothing of databases or plots. */
#ifndef ANALYSIS_CURVE_H
#define ANALYSIS_CURVE_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/statistics/interval.h"

typedef struct AnalysisCurve { double *x, *y; size_t n; } AnalysisCurve; /* x ascending; free x and y */

/* Adds a point; one whose x does not come after the last is passed over. */
void analysis_curve_add(AnalysisCurve *curve, double x, double y);
void analysis_curve_free(AnalysisCurve *curve);

/* The places where the curves were measured, ascending and each once; when they are more than `most`, so many places
 * evenly spread over the same range (logarithmic: over its logarithm, from the first place above 0).
 * free() the result. */
double *analysis_curve_grid(const AnalysisCurve *curves, size_t count, size_t most, bool logarithmic, size_t *n);

/* How curves become one. task[curve]: over tasks (interval.h); NULL: all are of one. */
typedef struct AnalysisCurveManner {
  AnalysisAggregate aggregate;
  AnalysisRange range;
  const size_t *task;
  size_t tasks;
} AnalysisCurveManner;

/* At each grid place: over the curves that reach it, their number, aggregate and 95 % interval (interval.h); NaN
 * without any (mean) or with fewer than three of a task (interval). Of a logarithmic range values that are not positive
 * are passed over. */
void analysis_curve_average(const AnalysisCurve *curves, size_t count, const AnalysisCurveManner *manner,
                            const double *grid, size_t n, double *mean, double *low, double *high, size_t *runs);

#endif
