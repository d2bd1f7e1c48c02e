/* Confidence intervals of averages over runs (interval.h). */
#include "analysis/statistics/interval.h"

#include <stdlib.h>

#include "core/memory.h"

const char analysis_interval_description[] =
  "95 % Student t over the runs of each task, Wilson's within the quantity's bounds; none for fewer than three runs";

bool analysis_interval_has_runs(const AnalysisScores *scores) {
  return scores->tasks > 0 && scores->first[scores->tasks] - scores->tasks + 1 >= ANALYSIS_INTERVAL_RUNS_MIN;
}

/* ---- standard errors -------------------------------------------------------------------------------------------- */

/* Squared standard error of an estimate and its degrees of freedom; degrees 0: too few runs. */
typedef struct Error { double variance, degrees; } Error;

/* Computes the error of a weighted sum of task means. A task of one run gets the pooled variance of the others, which
 * adds a weight to each of these and correlates them in the degrees of freedom (Satterthwaite 1946). value: in the
 * order of the scores; weight: [tasks] weight of each task's mean. */
static Error means_error(const double *value, const AnalysisScores *scores, const double *weight) {
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

    const double sd = analysis_sd(value + scores->first[t], n), task_weight = weight[t] * weight[t] / (double)n;
    const double task_variance = (task_weight + (double)(n - 1) / (double)degrees * single) * sd * sd;
    variance += task_variance;
    spread += task_variance * task_variance / (double)(n - 1);
  }

  return (Error){variance, variance > 0 ? variance * variance / spread : (double)degrees};
}

/* Computes the error of the IQM from winsorized scores. All scores have equal weight, so that a task's mean is weighted
 * by its number of runs. */
static Error iqm_error(const AnalysisScores *scores, double *value, double *weight) {
  const size_t n = scores->first[scores->tasks], drop = n / 4, kept = n - 2 * drop;
  double *sorted = core_memory_allocate(n * sizeof *sorted);
  for (size_t i = 0; i < n; i++) sorted[i] = scores->score[i];
  qsort(sorted, n, sizeof *sorted, analysis_compare_values);

  /* The two values kept of four runs would leave one degree of freedom. The mid-mean of four normal values has the
   * variance 0.2982 sd^2, where sd is estimated from all four. */
  const bool four = n == 4 && scores->tasks == 1;
  for (size_t i = 0; i < n; i++)
    value[i] = four ? scores->score[i] : fmin(fmax(scores->score[i], sorted[drop]), sorted[n - 1 - drop]);
  for (size_t t = 0; t < scores->tasks; t++)
    weight[t] = (double)(scores->first[t + 1] - scores->first[t]) / (double)kept;

  Error error = means_error(value, scores, weight);
  if (four) {
    error.variance *= 0.2982; /* with the weight 4 / 2 it has been sd^2 */
  } else if (scores->tasks == 1 && error.degrees > 0) { /* small-sample correction of Tukey & McLaughlin */
    error.variance *= (double)(n - 1) * (double)kept / ((double)(kept - 1) * (double)n);
    error.degrees = (double)(kept - 1);
  } else if (scores->tasks > 1) { /* trimmed scores do not inform about the spread, and add no degrees */
    error.degrees = fmax(error.degrees > 0, error.degrees * (double)kept / (double)n);
  }

  free(sorted);
  return error;
}

typedef struct Task { double mean; size_t task; } Task;

static int compare_means(const void *left, const void *right) {
  const Task *a = left, *b = right;
  return a->mean != b->mean ? (a->mean > b->mean) - (a->mean < b->mean) : (a->task > b->task) - (a->task < b->task);
}

/* Gives the middle task the weight 1, or the middle two 1/2 each. */
static void set_median_weights(const AnalysisScores *scores, double *weight) {
  Task *order = core_memory_allocate(scores->tasks * sizeof *order);
  for (size_t t = 0; t < scores->tasks; t++) {
    const size_t n = scores->first[t + 1] - scores->first[t];
    order[t] = (Task){analysis_mean(scores->score + scores->first[t], n), t};
    weight[t] = 0;
  }
  qsort(order, scores->tasks, sizeof *order, compare_means);
  weight[order[(scores->tasks - 1) / 2].task] += 0.5;
  weight[order[scores->tasks / 2].task] += 0.5;
  free(order);
}

static Error aggregate_error(const AnalysisScores *scores, AnalysisAggregate aggregate) {
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

  if (aggregate == ANALYSIS_AGGREGATE_MEDIAN) set_median_weights(scores, weight);
  error = aggregate == ANALYSIS_AGGREGATE_IQM ? iqm_error(scores, value, weight) : means_error(value, scores, weight);

  free(value);
  free(weight);
  return error;
}

/* ---- intervals -------------------------------------------------------------------------------------------------- */

/* Solves (estimate - mu)^2 <= t^2 variance(mu) for mu. variance(mu) is the measured one at the estimate and is
 * proportional to the distance from a bound, or to the product of both distances, which gives a quadratic in mu. */
static void set_bounds(AnalysisInterval *interval, Error error, AnalysisRange range, double level) {
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
    /* Computed from the product of the roots, because their difference would lose digits. */
    interval->low = range.low + below * (below / (interval->high - range.low));
  } else if (isinf(below)) {
    const double k = square / above, width = sqrt(k * above + k * k / 4);
    interval->low = range.high - above - k / 2 - width;
    interval->high = range.high - above * (above / (range.high - interval->low));
  } else {
    const double length = range.high - range.low, k = square / (below * above), u = below / length;
    const double width = sqrt(k * u * (1 - u) + k * k / 4);
    interval->low = fmax(range.low, range.low + length * (u + k / 2 - width) / (1 + k));
    interval->high = fmin(range.high, range.low + length * (u + k / 2 + width) / (1 + k));
  }
}

/* Returns the range if it contains all scores, else an unbounded one (returns where solve rates are usual). */
static AnalysisRange containing_range(const AnalysisScores *scores, AnalysisRange range) {
  for (size_t i = 0; i < scores->first[scores->tasks]; i++)
    if (!range.logarithmic && !(scores->score[i] >= range.low && scores->score[i] <= range.high))
      return ANALYSIS_RANGE_FREE;
  return range;
}

/* Computes the logarithms of the scores, NaN for those that are not positive; free() the result. */
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
    const AnalysisScores logs = {value, scores->first, scores->tasks};
    const AnalysisInterval interval = exponential(analysis_interval(&logs, aggregate, ANALYSIS_RANGE_FREE, level));
    free(value);
    return interval;
  }

  const size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  AnalysisInterval interval = {analysis_aggregate(scores, aggregate), NAN, NAN, n};
  if (isnan(interval.center)) return interval;

  range = containing_range(scores, range);
  if (aggregate == ANALYSIS_AGGREGATE_OPTIMALITY_GAP)
    range = (AnalysisRange){1 - fmin(range.high, 1), 1 - range.low, false};
  set_bounds(&interval, aggregate_error(scores, aggregate), range, level);
  return interval;
}

AnalysisInterval analysis_mean_interval(const double *x, size_t n, AnalysisRange range, double level) {
  const size_t first[2] = {0, n};
  const AnalysisScores scores = {x, first, n > 0};
  return analysis_interval(&scores, ANALYSIS_AGGREGATE_MEAN, range, level);
}

AnalysisInterval analysis_difference_interval(const AnalysisScores *x, const AnalysisScores *y,
                                                 AnalysisAggregate aggregate, AnalysisRange range, double level) {
  if (range.logarithmic) {
    double *log_x = logarithms(x), *log_y = logarithms(y);
    const AnalysisScores a = {log_x, x->first, x->tasks}, b = {log_y, y->first, y->tasks};
    const AnalysisInterval interval =
      exponential(analysis_difference_interval(&a, &b, aggregate, ANALYSIS_RANGE_FREE, level));
    free(log_x);
    free(log_y);
    return interval;
  }

  AnalysisInterval interval = {analysis_aggregate(x, aggregate) - analysis_aggregate(y, aggregate), NAN, NAN, 0};
  if (isnan(interval.center)) return interval;
  interval.n = x->first[x->tasks] + y->first[y->tasks];

  const Error a = aggregate_error(x, aggregate), b = aggregate_error(y, aggregate);
  if (!(a.degrees > 0 && b.degrees > 0)) return interval;
  const double variance = a.variance + b.variance;
  const double spread = a.variance * a.variance / a.degrees + b.variance * b.variance / b.degrees;

  range = containing_range(x, range);
  if (isfinite(range.low)) range = containing_range(y, range);
  const double length = range.high - range.low; /* infinite if a side has no bound */

  set_bounds(&interval, (Error){variance, variance > 0 ? variance * variance / spread : a.degrees + b.degrees},
             (AnalysisRange){-length, length, false}, level);
  return interval;
}

/* ---- probability of improvement ---------------------------------------------------------------------------------- */

/* Returns the variance of the share of wins if the true probability is p, averaged over tasks. */
static double wins_variance(const AnalysisScores *x, const AnalysisScores *y, double p) {
  double sum = 0;
  for (size_t t = 0; t < x->tasks; t++) {
    const double m = (double)(x->first[t + 1] - x->first[t]), n = (double)(y->first[t + 1] - y->first[t]);
    const double others = (m + n) / 2 - 1;
    sum += p * (1 - p) * (1 + others * (1 - p) / (2 - p) + others * p / (1 + p)) / (m * n);
  }
  return sum / ((double)x->tasks * (double)x->tasks);
}

/* Finds the probability between the estimate and `bound` that is t standard errors from the estimate, by bisection. */
static double find_limit(const AnalysisScores *x, const AnalysisScores *y, double estimate, double bound, double t) {
  double inside = estimate, outside = bound;
  for (int i = 0; i < 60; i++) {
    /* p never equals the bound, where the variance is 0. */
    const double p = inside + (outside - inside) / 2;
    const bool is_inside = fabs(p - estimate) <= t * sqrt(wins_variance(x, y, p));
    if (is_inside) inside = p;
    else outside = p;
  }
  return inside;
}

AnalysisInterval analysis_improvement_interval(const AnalysisScores *x, const AnalysisScores *y, double level) {
  const double estimate = analysis_probability_of_improvement(x, y);
  if (isnan(estimate)) return (AnalysisInterval){NAN, NAN, NAN, 0};
  const size_t n = x->first[x->tasks] + y->first[y->tasks];
  const double degrees = (double)n - 2 * (double)x->tasks;
  AnalysisInterval interval = {estimate, NAN, NAN, n};
  if (!analysis_interval_has_runs(x) || !analysis_interval_has_runs(y)) return interval;
  const double t = analysis_student_quantile((1 + level) / 2, degrees);
  interval.low = find_limit(x, y, estimate, 0, t);
  interval.high = find_limit(x, y, estimate, 1, t);
  return interval;
}
