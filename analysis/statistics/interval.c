/* Intervals of averages of runs (interval.h). */
#include "analysis/statistics/interval.h"

#include <stdlib.h>

#include "core/memory.h"

const char analysis_interval_words[] =
  "95 % Student t over the runs of each task, Wilson's within the quantity's bounds; none for fewer than three runs";

bool analysis_interval_has_runs(const AnalysisScores *scores) {
  return scores->tasks > 0 && scores->first[scores->tasks] - scores->tasks + 1 >= ANALYSIS_SEEDS_LEAST;
}

/* ---- standard errors -------------------------------------------------------------------------------------------- */

/* The square of an estimate's standard error and its degrees of freedom; degrees 0: too few runs for one. */
typedef struct Error { double variance, degrees; } Error;

/* Adds up weighted variances of tasks' means. A task of one run has the pooled variance of the others: that is a
 * further weight on each of these, and what they share is in the degrees of freedom (Satterthwaite 1946). weight:
 * [tasks] of each task's mean in the estimate; value: as the scores. */
static Error error_of_means(const double *value, const AnalysisScores *scores, const double *weight) {
  double variance = 0, spread = 0, single = 0;
  size_t degrees = 0;
  if (!analysis_interval_has_runs(scores)) return (Error){0, 0};
  for (size_t t = 0; t < scores->tasks; t++) {
    const size_t n = scores->first[t + 1] - scores->first[t];
    degrees += n - 1;
    if (n == 1) single += weight[t] * weight[t];
  }
  for (size_t t = 0; t < scores->tasks; t++) {
    const size_t n = scores->first[t + 1] - scores->first[t];
    if (n == 1) continue;
    const double sd = analysis_sd(value + scores->first[t], n), own = weight[t] * weight[t] / (double)n;
    const double part = (own + (double)(n - 1) / (double)degrees * single) * sd * sd;
    variance += part;
    spread += part * part / (double)(n - 1);
  }
  return (Error){variance, variance > 0 ? variance * variance / spread : (double)degrees};
}

/* Every score counts alike, so a task's mean counts as its runs; what lies beyond the cuts stands at them. */
static Error error_of_iqm(const AnalysisScores *scores, double *value, double *weight) {
  const size_t n = scores->first[scores->tasks], drop = n / 4, kept = n - 2 * drop;
  double *sorted = core_memory_allocate(n * sizeof *sorted);
  for (size_t i = 0; i < n; i++) sorted[i] = scores->score[i];
  qsort(sorted, n, sizeof *sorted, analysis_by_value);
  /* Of four runs the two that are left would have one degree of freedom. The middle of four normal values has the
   * variance 0.2982 sd^2, and the spread of all four is better known. */
  const bool four = n == 4 && scores->tasks == 1;
  for (size_t i = 0; i < n; i++)
    value[i] = four ? scores->score[i] : fmin(fmax(scores->score[i], sorted[drop]), sorted[n - 1 - drop]);
  for (size_t t = 0; t < scores->tasks; t++)
    weight[t] = (double)(scores->first[t + 1] - scores->first[t]) / (double)kept;
  Error error = error_of_means(value, scores, weight);
  if (four) error.variance *= 0.2982; /* with the weight 4 / 2 it is sd^2 so far */
  else if (scores->tasks == 1 && error.degrees > 0) { /* Tukey & McLaughlin's for small samples */
    error.variance *= (double)(n - 1) * (double)kept / ((double)(kept - 1) * (double)n);
    error.degrees = (double)(kept - 1);
  } else if (scores->tasks > 1) { /* scores that were cut tell nothing of the spread, and add no degrees */
    error.degrees = fmax(error.degrees > 0, error.degrees * (double)kept / (double)n);
  }
  free(sorted);
  return error;
}

typedef struct Task { double mean; size_t task; } Task;

static int by_mean(const void *left, const void *right) {
  const Task *a = left, *b = right;
  return a->mean != b->mean ? (a->mean > b->mean) - (a->mean < b->mean) : (a->task > b->task) - (a->task < b->task);
}

/* The middle task counts alone, or the middle two by half. */
static void weigh_median(const AnalysisScores *scores, double *weight) {
  Task *order = core_memory_allocate(scores->tasks * sizeof *order);
  for (size_t t = 0; t < scores->tasks; t++) {
    const size_t n = scores->first[t + 1] - scores->first[t];
    order[t] = (Task){analysis_mean(scores->score + scores->first[t], n), t};
    weight[t] = 0;
  }
  qsort(order, scores->tasks, sizeof *order, by_mean);
  weight[order[(scores->tasks - 1) / 2].task] += 0.5;
  weight[order[scores->tasks / 2].task] += 0.5;
  free(order);
}

static Error error_of(const AnalysisScores *scores, AnalysisAggregate aggregate) {
  const size_t n = scores->first[scores->tasks];
  double *value = core_memory_allocate(n * sizeof *value), *weight = core_memory_allocate(n * sizeof *weight);
  Error error;
  for (size_t i = 0; i < n; i++)
    value[i] = aggregate == ANALYSIS_AGGREGATE_OPTIMALITY_GAP ? fmin(scores->score[i], 1) : scores->score[i];
  for (size_t t = 0; t < scores->tasks; t++) {
    const size_t runs = scores->first[t + 1] - scores->first[t];
    weight[t] =
      aggregate == ANALYSIS_AGGREGATE_OPTIMALITY_GAP ? (double)runs / (double)n : 1 / (double)scores->tasks;
  }
  if (aggregate == ANALYSIS_AGGREGATE_MEDIAN) weigh_median(scores, weight);
  error = aggregate == ANALYSIS_AGGREGATE_IQM ? error_of_iqm(scores, value, weight)
                                              : error_of_means(value, scores, weight);
  free(value);
  free(weight);
  return error;
}

/* ---- from an estimate to an interval ---------------------------------------------------------------------------- */

/* The mu with (estimate - mu)^2 <= t^2 variance(mu), where variance(mu) is as measured at the estimate and falls with
 * the distance from a bound, or with the product of both distances: a quadratic in mu. */
static void set_ends(AnalysisInterval *interval, Error error, AnalysisRange range, double level) {
  if (!(error.degrees > 0)) return;
  const double t = analysis_student_quantile((1 + level) / 2, error.degrees), square = t * t * error.variance;
  const double below = interval->center - range.low, above = range.high - interval->center;
  const bool inside = below > 0 && above > 0 && !range.logarithmic;
  if (!inside || (isinf(below) && isinf(above)) || square == 0) {
    interval->low = fmax(interval->center - sqrt(square), range.low);
    interval->high = fmin(interval->center + sqrt(square), range.high);
  } else if (isinf(above)) {
    const double k = square / below, width = sqrt(k * below + k * k / 4);
    interval->high = range.low + below + k / 2 + width;
    /* The roots' product is known, and their difference would lose digits. */
    interval->low = range.low + below * (below / (interval->high - range.low));
  } else if (isinf(below)) {
    const double k = square / above, width = sqrt(k * above + k * k / 4);
    interval->low = range.high - above - k / 2 - width;
    interval->high = range.high - above * (above / (range.high - interval->low));
  } else {
    const double whole = range.high - range.low, k = square / (below * above), u = below / whole;
    const double width = sqrt(k * u * (1 - u) + k * k / 4);
    interval->low = fmax(range.low, range.low + whole * (u + k / 2 - width) / (1 + k));
    interval->high = fmin(range.high, range.low + whole * (u + k / 2 + width) / (1 + k));
  }
}

/* Scores outside of a range that was said to hold them (a return where solve rates are usual): no bounds. */
static AnalysisRange range_that_holds(const AnalysisScores *scores, AnalysisRange range) {
  for (size_t i = 0; i < scores->first[scores->tasks]; i++)
    if (!range.logarithmic && !(scores->score[i] >= range.low && scores->score[i] <= range.high))
      return ANALYSIS_RANGE_FREE;
  return range;
}

/* The scores' logarithms, NaN for what has none; to be freed. */
static double *logarithms(const AnalysisScores *scores) {
  const size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  double *value = core_memory_allocate((n + 1) * sizeof *value);
  for (size_t i = 0; i < n; i++) value[i] = scores->score[i] > 0 ? log(scores->score[i]) : NAN;
  return value;
}

static AnalysisInterval exponential(AnalysisInterval interval) {
  return (AnalysisInterval){exp(interval.center), exp(interval.low), exp(interval.high), interval.n};
}

AnalysisInterval analysis_interval(const AnalysisScores *scores, AnalysisAggregate aggregate, AnalysisRange range,
                                   double level) {
  if (range.logarithmic) {
    double *value = logarithms(scores);
    const AnalysisScores of = {value, scores->first, scores->tasks};
    const AnalysisInterval interval = exponential(analysis_interval(&of, aggregate, ANALYSIS_RANGE_FREE, level));
    free(value);
    return interval;
  }
  const size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  AnalysisInterval interval = {analysis_aggregate(scores, aggregate), NAN, NAN, n};
  if (isnan(interval.center)) return interval;
  range = range_that_holds(scores, range);
  if (aggregate == ANALYSIS_AGGREGATE_OPTIMALITY_GAP)
    range = (AnalysisRange){1 - fmin(range.high, 1), 1 - range.low, false};
  set_ends(&interval, error_of(scores, aggregate), range, level);
  return interval;
}

AnalysisInterval analysis_interval_of_mean(const double *x, size_t n, AnalysisRange range, double level) {
  const size_t first[2] = {0, n};
  const AnalysisScores scores = {x, first, n > 0};
  return analysis_interval(&scores, ANALYSIS_AGGREGATE_MEAN, range, level);
}

AnalysisInterval analysis_interval_of_difference(const AnalysisScores *x, const AnalysisScores *y,
                                                 AnalysisAggregate aggregate, AnalysisRange range, double level) {
  if (range.logarithmic) {
    double *of_x = logarithms(x), *of_y = logarithms(y);
    const AnalysisScores a = {of_x, x->first, x->tasks}, b = {of_y, y->first, y->tasks};
    const AnalysisInterval interval =
      exponential(analysis_interval_of_difference(&a, &b, aggregate, ANALYSIS_RANGE_FREE, level));
    free(of_x);
    free(of_y);
    return interval;
  }
  AnalysisInterval interval = {analysis_aggregate(x, aggregate) - analysis_aggregate(y, aggregate), NAN, NAN, 0};
  if (isnan(interval.center)) return interval;
  interval.n = x->first[x->tasks] + y->first[y->tasks];
  const Error a = error_of(x, aggregate), b = error_of(y, aggregate);
  if (!(a.degrees > 0 && b.degrees > 0)) return interval;
  const double variance = a.variance + b.variance;
  const double spread = a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees;
  range = range_that_holds(x, range);
  if (isfinite(range.low)) range = range_that_holds(y, range);
  const double whole = range.high - range.low; /* infinite where a side has no bound */
  set_ends(&interval, (Error){variance, variance > 0 ? variance * variance / spread : a.degrees + b.degrees},
           (AnalysisRange){-whole, whole, false}, level);
  return interval;
}

/* ---- probability of improvement ---------------------------------------------------------------------------------- */

/* The variance of the share of wins where its truth is p, mean over tasks. */
static double variance_of_wins(const AnalysisScores *x, const AnalysisScores *y, double p) {
  double sum = 0;
  for (size_t t = 0; t < x->tasks; t++) {
    const double m = (double)(x->first[t + 1] - x->first[t]), n = (double)(y->first[t + 1] - y->first[t]);
    const double others = (m + n) / 2 - 1;
    sum += p * (1 - p) * (1 + others * (1 - p) / (2 - p) + others * p / (1 + p)) / (m * n);
  }
  return sum / ((double)x->tasks * (double)x->tasks);
}

/* The p farthest from the estimate towards `bound` that is within t standard errors of it: bisection. */
static double farthest(const AnalysisScores *x, const AnalysisScores *y, double estimate, double bound, double t) {
  double inside = estimate, outside = bound;
  for (int i = 0; i < 60; i++) {
    /* At the bound itself the variance is 0, next to it it is not. */
    const double p = inside + (outside - inside) / 2;
    const bool is_inside = fabs(p - estimate) <= t * sqrt(variance_of_wins(x, y, p));
    if (is_inside) inside = p;
    else outside = p;
  }
  return inside;
}

AnalysisInterval analysis_interval_of_improvement(const AnalysisScores *x, const AnalysisScores *y, double level) {
  const double estimate = analysis_probability_of_improvement(x, y);
  if (isnan(estimate)) return (AnalysisInterval){NAN, NAN, NAN, 0};
  const size_t n = x->first[x->tasks] + y->first[y->tasks];
  const double degrees = (double)n - 2 * (double)x->tasks;
  AnalysisInterval interval = {estimate, NAN, NAN, n};
  if (!analysis_interval_has_runs(x) || !analysis_interval_has_runs(y)) return interval;
  const double t = analysis_student_quantile((1 + level) / 2, degrees);
  interval.low = farthest(x, y, estimate, 0, t);
  interval.high = farthest(x, y, estimate, 1, t);
  return interval;
}
