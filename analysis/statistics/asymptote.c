/* Bootstrap of fitted asymptotes and of crossing budgets (asymptote.h). */
#include "analysis/statistics/asymptote.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/interval.h"
#include "analysis/statistics/statistics.h"
#include "analysis/statistics/stratified.h"
#include "core/memory.h"

/* ---- mean curves ------------------------------------------------------------------------------------------------- */

void analysis_asymptote_pool(double *y, size_t n, size_t *first, size_t tasks) {
  size_t begin = 0, kept = 0;

  for (size_t t = 0; t < tasks; t++) {
    const size_t end = first[t + 1], runs = end - begin;
    const size_t groups = runs < ANALYSIS_ASYMPTOTE_CURVES_MAX ? runs : ANALYSIS_ASYMPTOTE_CURVES_MAX;

    for (size_t g = 0; g < groups; g++) {
      const size_t low = begin + g * runs / groups, high = begin + (g + 1) * runs / groups;
      for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t r = low; r < high; r++) sum += y[r * n + i];
        y[(kept + g) * n + i] = sum / (double)(high - low);
      }
    }

    begin = end;
    kept += groups;
    first[t + 1] = kept;
  }
}

/* Averages the curves, each drawn count[curve] times (NULL: once): mean[n]. */
static void average(const AnalysisRunCurves *curves, const uint32_t *count, double *mean) {
  memset(mean, 0, curves->n * sizeof *mean);
  for (size_t t = 0; t < curves->tasks; t++) {
    const double share = 1 / ((double)(curves->first[t + 1] - curves->first[t]) * (double)curves->tasks);
    for (size_t c = curves->first[t]; c < curves->first[t + 1]; c++) {
      const double weight = count ? share * count[c] : share;
      if (weight > 0) {
        for (size_t i = 0; i < curves->n; i++) mean[i] += weight * curves->y[c * curves->n + i];
      }
    }
  }
}

enum { STATISTICS_MAX = 3 };
/* Computes up to STATISTICS_MAX statistics of a mean curve. */
typedef void (*CurveStatistic)(const void *context, const double *mean, size_t replicate, double *value);

/* Computes the statistics of every replicate: value[statistics][replicates]. */
static void resample(const AnalysisRunCurves *curves, const AnalysisResampling *resampling, CurveStatistic statistic,
                     size_t statistics, const void *context, double *value) {

#pragma omp parallel
  {
    double *mean = core_memory_allocate(curves->n * sizeof *mean);
    uint32_t *count = core_memory_allocate((curves->first[curves->tasks] + 1) * sizeof *count);
#pragma omp for schedule(static)
    for (size_t r = 0; r < resampling->replicates; r++) {
      double here[STATISTICS_MAX];

      analysis_stratified_draw(curves->first, curves->tasks, resampling->seed, (uint32_t)r, 0, count);
      average(curves, count, mean);
      statistic(context, mean, r, here);
      for (size_t k = 0; k < statistics; k++) value[k * resampling->replicates + r] = here[k];
    }
    free(mean);
    free(count);
  }
}

static AnalysisInterval interval_of(const AnalysisRunCurves *curves, double center, const double *value,
                                    const AnalysisResampling *resampling) {
  const double level = resampling->level;
  const AnalysisScores scores = {NULL, curves->first, curves->tasks};
  const bool has_runs = analysis_interval_has_runs(&scores);
  const double widening = has_runs ? analysis_replicates_widening(curves->first, curves->tasks, level) : NAN;
  AnalysisInterval interval = analysis_replicates_interval(center, value, resampling->replicates, level, widening);
  interval.n = curves->first[curves->tasks];
  return interval;
}

/* ---- asymptotes -------------------------------------------------------------------------------------------------- */

typedef struct Fitter {
  const AnalysisGrowthBasis *basis;
  const double *range;
  double last;             /* last x */
} Fitter;

static double clamp(double value, const double range[2]) { return fmin(range[1], fmax(range[0], value)); }

/* Statistics of a fit: the asymptote, the share that is done at the last point, and the value there. */
static void measure_fit(const void *context, const double *mean, size_t replicate, double *value) {
  (void)replicate;
  const Fitter *fitter = context;
  const AnalysisGrowth fit = analysis_growth_fit(fitter->basis, mean);
  value[0] = analysis_growth_asymptote(&fit);
  if (isfinite(value[0])) value[0] = clamp(value[0], fitter->range);
  value[1] = analysis_growth_done(&fit, fitter->last);
  value[2] = clamp(analysis_growth_value(&fit, fitter->last), fitter->range);
}

static double explained_share(const double *y, size_t n, double squares) {
  double total = 0;
  const double mean = analysis_mean(y, n);
  for (size_t i = 0; i < n; i++) total += (y[i] - mean) * (y[i] - mean);
  return total > 0 ? 1 - squares / total : NAN;
}

static AnalysisInterval clamp_interval(AnalysisInterval interval, const double range[2]) {
  if (isnan(interval.low)) return interval;
  return (AnalysisInterval){interval.center, clamp(interval.low, range), clamp(interval.high, range), interval.n};
}

void analysis_asymptote_fit(const AnalysisRunCurves *curves, const double range[2],
                            const AnalysisResampling *resampling, AnalysisAsymptote *result, double *replicate) {
  const size_t replicates = resampling->replicates;
  static const double shares[2] = {0, 1}, done_min = 0.5;
  AnalysisGrowthBasis *basis = analysis_growth_basis_create(curves->x, curves->n);
  const Fitter fitter = {basis, range, curves->x[curves->n - 1]};
  double *mean = core_memory_allocate(curves->n * sizeof *mean);
  double *value = core_memory_allocate(STATISTICS_MAX * replicates * sizeof *value);

  average(curves, NULL, mean);
  *result = (AnalysisAsymptote){.fit = analysis_growth_fit(basis, mean)};
  result->explained = explained_share(mean, curves->n, result->fit.squares);

  resample(curves, resampling, measure_fit, STATISTICS_MAX, &fitter, value);
  const double asymptote = analysis_growth_asymptote(&result->fit);
  const double last = clamp(analysis_growth_value(&result->fit, fitter.last), range);
  result->done = clamp_interval(
    interval_of(curves, analysis_growth_done(&result->fit, fitter.last), value + replicates, resampling), shares);
  result->last = clamp_interval(interval_of(curves, last, value + 2 * replicates, resampling), range);

  /* Without an interval, the fit itself decides. */
  const double done = isnan(result->done.low) ? result->done.center : result->done.low;
  result->is_identified = done >= done_min;
  result->asymptote = (AnalysisInterval){NAN, NAN, NAN, curves->first[curves->tasks]};
  if (result->is_identified)
    result->asymptote = clamp_interval(interval_of(curves, clamp(asymptote, range), value, resampling), range);
  memcpy(replicate, value, replicates * sizeof *replicate);

  free(mean);
  free(value);
  analysis_growth_basis_destroy(&basis);
}

/* ---- crossing budgets -------------------------------------------------------------------------------------------- */

/* Replaces y[n] by the nearest curve that never falls (pool adjacent violators). size: scratch [n]. */
static void make_isotonic(double *y, size_t *size, size_t n) {
  size_t blocks = 0;
  for (size_t i = 0; i < n; i++) {
    y[blocks] = y[i];
    size[blocks++] = 1;
    for (; blocks > 1 && y[blocks - 2] > y[blocks - 1]; blocks--) {
      const double a = (double)size[blocks - 2], b = (double)size[blocks - 1];
      y[blocks - 2] = (a * y[blocks - 2] + b * y[blocks - 1]) / (a + b);
      size[blocks - 2] += size[blocks - 1];
    }
  }
  for (size_t i = n; blocks-- > 0;)
    for (size_t k = 0; k < size[blocks]; k++) y[--i] = y[blocks];
}

/* Finds where y[n], which rises, reaches the target; infinite: nowhere. */
static double find_crossing(const double *x, const double *y, size_t n, double target) {
  for (size_t i = 0; i < n; i++) {
    if (!(y[i] >= target)) continue;
    if (i == 0) return x[0];
    return x[i - 1] + (x[i] - x[i - 1]) * (target - y[i - 1]) / (y[i] - y[i - 1]);
  }
  return INFINITY;
}

typedef struct Crossing {
  const AnalysisRunCurves *curves;
  double sign, target;     /* sign: -1 if the curve falls to the target */
  const double *targets;   /* [replicates]; NULL: target */
} Crossing;

/* Statistic of a curve: the logarithm of its crossing budget. */
static void measure_crossing(const void *context, const double *mean, size_t replicate, double *value) {
  const Crossing *crossing = context;
  const size_t n = crossing->curves->n;
  const double target = crossing->targets ? crossing->targets[replicate] : crossing->target;
  double *y = core_memory_allocate(n * sizeof *y);
  size_t *size = core_memory_allocate(n * sizeof *size);
  for (size_t i = 0; i < n; i++) y[i] = crossing->sign * mean[i];
  make_isotonic(y, size, n);
  *value = log(find_crossing(crossing->curves->x, y, n, crossing->sign * target));
  free(y);
  free(size);
}

AnalysisInterval analysis_asymptote_crossing(const AnalysisRunCurves *curves, bool falls, double target,
                                             const double *targets, const AnalysisResampling *resampling) {
  Crossing crossing = {curves, falls ? -1 : 1, target, targets};
  double *mean = core_memory_allocate(curves->n * sizeof *mean), center;
  double *value = core_memory_allocate(resampling->replicates * sizeof *value);
  resample(curves, resampling, measure_crossing, 1, &crossing, value);
  crossing.targets = NULL;
  average(curves, NULL, mean);
  measure_crossing(&crossing, mean, 0, &center);

  const AnalysisInterval interval = interval_of(curves, center, value, resampling);
  free(mean);
  free(value);
  return (AnalysisInterval){exp(interval.center), exp(interval.low), exp(interval.high), interval.n};
}
