/* Averages curves (curve.h), by linear interpolation to a common grid without extrapolation. */
#include "analysis/runs/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/tasks.h"
#include "analysis/statistics/statistics.h"
#include "core/memory.h"

void analysis_curve_add(AnalysisCurve *curve, double x, double y) {
  if (isnan(x) || isnan(y) || (curve->n > 0 && x <= curve->x[curve->n - 1])) return;
  if ((curve->n & (curve->n + 1)) == 0) { /* grow at 0, 1, 3, 7, ...: double the capacity */
    size_t capacity = 2 * curve->n + 2;
    curve->x = core_memory_resize(curve->x, capacity * sizeof *curve->x);
    curve->y = core_memory_resize(curve->y, capacity * sizeof *curve->y);
  }
  curve->x[curve->n] = x;
  curve->y[curve->n++] = y;
}

void analysis_curve_free(AnalysisCurve *curve) {
  free(curve->x);
  free(curve->y);
  memset(curve, 0, sizeof *curve);
}

/* Returns a grid of `most` points between the smallest and the largest x; on a log axis from the smallest positive
 * one. */
static double *spread_grid(const AnalysisCurve *curves, size_t count, size_t most, bool logarithmic, size_t *n) {
  double first = INFINITY, last = -INFINITY, *grid = core_memory_allocate((most + 1) * sizeof *grid);

  for (size_t c = 0; c < count; c++) {
    size_t i = 0;
    while (logarithmic && i < curves[c].n && curves[c].x[i] <= 0) i++;
    if (i == curves[c].n) continue;
    first = fmin(first, curves[c].x[i]);
    last = fmax(last, curves[c].x[curves[c].n - 1]);
  }

  for (size_t i = 0; i < most; i++) {
    double t = (double)i / (double)(most - 1);
    grid[i] = logarithmic ? exp(log(first) + (log(last) - log(first)) * t) : first + (last - first) * t;
  }

  grid[0] = first; /* exact in spite of rounding of the logarithm */
  grid[most - 1] = last;
  *n = most;
  return grid;
}

double *analysis_curve_grid(const AnalysisCurve *curves, size_t count, size_t most, bool logarithmic, size_t *n) {
  size_t total = 0, distinct = 0, longest = 0;

  for (size_t c = 0; c < count; c++) {
    total += curves[c].n;
    if (curves[c].n > longest) longest = curves[c].n;
  }

  if (longest > most && most >= 2)
    return spread_grid(curves, count, most, logarithmic, n); /* avoids sorting millions of points */

  /* The distinct abscissas of all curves, ascending. */
  double *grid = core_memory_allocate((total + 1) * sizeof *grid);
  size_t copied = 0;
  for (size_t c = 0; c < count; c++) {
    if (curves[c].n) memcpy(grid + copied, curves[c].x, curves[c].n * sizeof *grid);
    copied += curves[c].n;
  }
  qsort(grid, total, sizeof *grid, analysis_compare_values);
  for (size_t i = 0; i < total; i++) {
    if (distinct == 0 || grid[i] > grid[distinct - 1]) grid[distinct++] = grid[i];
  }

  *n = distinct;
  if (distinct <= most || most < 2) return grid;
  free(grid);
  return spread_grid(curves, count, most, logarithmic, n);
}

void analysis_curve_average(const AnalysisCurve *curves, size_t count, const AnalysisCurveOptions *manner,
                            const double *grid, size_t n, double *mean, double *low, double *high, size_t *runs) {
  double *values = core_memory_allocate((count + 1) * sizeof *values);
  size_t *task = core_memory_zero_allocate(count + 1, sizeof *task);

  for (size_t i = 0; i < n; i++) {
    size_t present = 0;
    for (size_t c = 0; c < count; c++) {
      const double y = analysis_interpolate(curves[c].x, curves[c].y, curves[c].n, grid[i]);
      if (isnan(y) || (manner->range.logarithmic && !(y > 0))) continue;
      if (manner->task) task[present] = manner->task[c];
      values[present++] = y;
    }

    const size_t tasks = manner->task ? manner->tasks : 1;
    const AnalysisInterval interval =
      analysis_tasks_interval(values, task, present, tasks, manner->aggregate, manner->range);
    mean[i] = interval.center;
    low[i] = interval.low;
    high[i] = interval.high;
    runs[i] = present;
  }

  free(values);
  free(task);
}
