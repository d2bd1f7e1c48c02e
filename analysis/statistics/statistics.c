/* Statistics for figures (statistics.h cites the sources of the formulas). Pure functions without state, whose only
 * random numbers are Philox counters, so that every figure is bit-for-bit reproducible. */
#include "analysis/statistics/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

double analysis_mean(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return n ? sum / (double)n : NAN;
}

double analysis_sd(const double *x, size_t n) {
  if (n < 2) return NAN;
  double mean = analysis_mean(x, n), sum = 0, largest = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (x[i] - mean) * (x[i] - mean);
    largest = fmax(largest, fabs(x[i]));
  }
  const double sd = sqrt(sum / (double)(n - 1));
  return sd <= 1e-12 * largest ? 0 : sd;
}

double analysis_geometric_mean(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] > 0 ? log(x[i]) : NAN;
  return n ? exp(sum / (double)n) : NAN;
}

/* Evaluates the continued fraction of I_x(a, b) by the modified Lentz method; converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);

  d = 1 / (fabs(d) < tiny ? tiny : d);
  double result = d;

  for (int m = 1; m <= 500; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;

    for (int half = 0; half < 2; half++) {
      double term = half ? odd : even;
      d = 1 + term * d;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      if (fabs(c) < tiny) c = tiny;
      change = c * d;
      result *= change;
    }

    if (fabs(change - 1) < 1e-16) break;
  }
  return result;
}

double analysis_incomplete_beta(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return NAN;
  if (x == 0 || x == 1) return x;
  int sign;
  double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double student_quantile(double probability, double degrees) {
  double tails = 2 * (1 - probability), low = 0, high = 1;
  /* I decreases in t: double the bracket until I is below the mass of both tails, then bisect. */
  while (analysis_incomplete_beta(degrees / 2, 0.5, degrees / (degrees + high * high)) > tails && high < 1e150)
    high *= 2;
  for (int i = 0; i < 200; i++) {
    double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    if (analysis_incomplete_beta(degrees / 2, 0.5, degrees / (degrees + middle * middle)) > tails) low = middle;
    else high = middle;
  }
  return low + (high - low) / 2;
}

/* Caches a few quantiles, because bands of curves need the same ones at every point. */
double analysis_student_quantile(double probability, double degrees) {
  enum { CACHE_SIZE = 16 };
  static _Thread_local struct { double probability, degrees, quantile; } cache[CACHE_SIZE];
  if (!(probability > 0 && probability < 1 && degrees > 0)) return NAN;
  if (probability < 0.5) return -analysis_student_quantile(1 - probability, degrees);
  const size_t slot = (size_t)fmin(degrees, 1e9) % CACHE_SIZE;
  if (cache[slot].probability != probability || cache[slot].degrees != degrees) {
    cache[slot].quantile = student_quantile(probability, degrees);
    cache[slot].probability = probability;
    cache[slot].degrees = degrees;
  }
  return cache[slot].quantile;
}

size_t analysis_seeds_needed(double difference, double sd_x, double sd_y, size_t tasks, double level, double power) {
  enum { SEEDS_MAX = 10000 };
  double spread = sd_x * sd_x + sd_y * sd_y;
  if (isnan(difference) || isnan(spread) || difference == 0) return 0;
  size_t low = 1, high = SEEDS_MAX + 1; /* the condition is monotone in n: bisect for the first n that meets it */
  while (high - low > 1) {
    size_t n = low + (high - low) / 2;
    double degrees = (double)tasks * (2 * (double)n - 2);
    double t = analysis_student_quantile((1 + level) / 2, degrees) + analysis_student_quantile(power, degrees);
    if (t * sqrt(spread / ((double)n * (double)tasks)) <= fabs(difference)) high = n;
    else low = n;
  }
  return high > SEEDS_MAX ? 0 : high;
}

int analysis_compare_values(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Returns a sorted copy; NULL if the input is empty or contains NaN. */
static double *sorted_copy(const double *x, size_t n) {
  if (n == 0) return NULL;
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i])) return NULL;
  }
  double *copy = core_memory_allocate(n * sizeof *copy);
  memcpy(copy, x, n * sizeof *copy);
  qsort(copy, n, sizeof *copy, analysis_compare_values);
  return copy;
}

double analysis_percentile(const double *x, size_t n, double q) {
  double *sorted = sorted_copy(x, n);
  if (!sorted || !(q >= 0 && q <= 1)) {
    free(sorted);
    return NAN;
  }
  double rank = q * (double)(n - 1);
  size_t below = (size_t)rank, above = below + 1 < n ? below + 1 : below;
  double value = sorted[below] + (rank - (double)below) * (sorted[above] - sorted[below]);
  free(sorted);
  return value;
}

typedef struct IndexedValue { double value; size_t index; } IndexedValue;

static int compare_indexed_values(const void *left, const void *right) {
  return analysis_compare_values(&((const IndexedValue *)left)->value, &((const IndexedValue *)right)->value);
}

void analysis_ranks(const double *x, size_t n, double *ranks) {
  if (n == 0) return;
  IndexedValue *order = core_memory_allocate(n * sizeof *order);
  for (size_t i = 0; i < n; i++) order[i] = (IndexedValue){x[i], i};
  qsort(order, n, sizeof *order, compare_indexed_values);
  for (size_t first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && order[end].value == order[first].value;) end++;
    for (size_t i = first; i < end; i++) ranks[order[i].index] = (double)(first + end + 1) / 2;
  }
  free(order);
}

static double pearson(const double *x, const double *y, size_t n) {
  double mean_x = analysis_mean(x, n), mean_y = analysis_mean(y, n), xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < n; i++) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / (sqrt(xx) * sqrt(yy)) : NAN;
}

double analysis_spearman(const double *x, const double *y, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i]) || isnan(y[i])) return NAN;
  }
  if (n < 2) return NAN;
  double *ranks = core_memory_allocate(2 * n * sizeof *ranks);
  analysis_ranks(x, n, ranks);
  analysis_ranks(y, n, ranks + n);
  double rho = pearson(ranks, ranks + n, n);
  free(ranks);
  return rho;
}

double analysis_interpolate(const double *x, const double *y, size_t n, double target) {
  if (n == 0 || !(target >= x[0] && target <= x[n - 1])) return NAN;
  size_t low = 0, high = n - 1; /* x[low] <= target <= x[high] */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (x[middle] <= target) low = middle;
    else high = middle;
  }
  if (target == x[high]) return y[high];
  if (target == x[low]) return y[low];
  return y[low] + (target - x[low]) * (y[high] - y[low]) / (x[high] - x[low]);
}

/* Points sorted by cluster: cluster c has member[first[c]] .. member[first[c + 1] - 1]. */
typedef struct Clusters { size_t *first, *member, largest; } Clusters;

static Clusters clusters_create(const size_t *cluster, size_t n, size_t count) {
  Clusters clusters = {core_memory_zero_allocate(count + 1, sizeof(size_t)), core_memory_allocate(n * sizeof(size_t)),
                       0};
  for (size_t i = 0; i < n; i++) clusters.first[cluster[i] + 1]++;
  for (size_t c = 0; c < count; c++) {
    if (clusters.first[c + 1] > clusters.largest) clusters.largest = clusters.first[c + 1];
    clusters.first[c + 1] += clusters.first[c];
  }
  size_t *next = core_memory_allocate(count * sizeof *next);
  memcpy(next, clusters.first, count * sizeof *next);
  for (size_t i = 0; i < n; i++) clusters.member[next[cluster[i]]++] = i;
  free(next);
  return clusters;
}

static double replicate_statistic(AnalysisStatistic statistic, const void *context, const Clusters *clusters,
                                  const size_t *stratum, size_t count, uint64_t seed, size_t replicate,
                                  size_t *index) {
  CoreRandomStream stream = core_random_stream(seed, CORE_RANDOM_BOOTSTRAP, (uint32_t)replicate, 0);
  size_t n = 0, first = 0, end = count;
  for (size_t draw = 0; draw < count; draw++) {
    if (stratum && (draw == 0 || draw == end)) {
      first = draw;
      for (end = first; end < count && stratum[end] == stratum[first]; end++) {}
    }
    const size_t c = first + core_random_below(core_random_next(&stream), (uint32_t)(end - first));
    for (size_t m = clusters->first[c]; m < clusters->first[c + 1]; m++) index[n++] = clusters->member[m];
  }
  return statistic(context, index, n);
}

AnalysisInterval analysis_bootstrap(AnalysisStatistic statistic, const void *context, const size_t *cluster, size_t n,
                                    size_t cluster_count, const size_t *stratum, size_t replicates, double level,
                                    uint64_t seed) {
  AnalysisInterval interval = {NAN, NAN, NAN, n};
  if (n == 0 || cluster_count == 0 || cluster_count > UINT32_MAX) return interval;
  Clusters clusters = clusters_create(cluster, n, cluster_count);
  double *values = core_memory_allocate((replicates + 1) * sizeof *values);

#pragma omp parallel
  {
    size_t *index = core_memory_allocate((cluster_count * clusters.largest + n) * sizeof *index);
#pragma omp for
    for (size_t r = 0; r < replicates; r++) {
      values[r] = replicate_statistic(statistic, context, &clusters, stratum, cluster_count, seed, r, index);
    }
#pragma omp single
    {
      for (size_t i = 0; i < n; i++) index[i] = i;
      interval.center = statistic(context, index, n);
    }
    free(index);
  }

  size_t defined = 0;
  for (size_t r = 0; r < replicates; r++) {
    if (!isnan(values[r])) values[defined++] = values[r];
  }
  interval.low = analysis_percentile(values, defined, (1 - level) / 2);
  interval.high = analysis_percentile(values, defined, (1 + level) / 2);

  free(values);
  free(clusters.first);
  free(clusters.member);
  return interval;
}

/* Points of a rank correlation, grouped by stratum and sorted once: a replicate is then a vector of counts, whose ranks
 * come from one pass over each order instead of a sort. */
typedef struct Pairs {
  const double *x, *y;
  const size_t *first;   /* [strata + 1] */
  size_t n, strata;
  size_t *by_x, *by_y;   /* [n] indices of each stratum's points, relative to its first, in ascending order of x or y */
} Pairs;

static size_t *sort_indices(const double *x, size_t n) {
  IndexedValue *order = core_memory_allocate((n + 1) * sizeof *order);
  size_t *index = core_memory_allocate((n + 1) * sizeof *index);
  for (size_t i = 0; i < n; i++) order[i] = (IndexedValue){x[i], i};
  qsort(order, n, sizeof *order, compare_indexed_values);
  for (size_t i = 0; i < n; i++) index[i] = order[i].index;
  free(order);
  return index;
}

/* Computes the mean ranks of the points if point i is drawn count[i] times; undefined for points with count 0. */
static void resampled_ranks(const double *x, const size_t *order, size_t n, const uint32_t *count, double *rank) {
  size_t preceding = 0;
  for (size_t first = 0, end; first < n; first = end) {
    size_t tied = 0;
    for (end = first; end < n && x[order[end]] == x[order[first]]; end++) tied += count[order[end]];
    for (size_t i = first; i < end; i++) rank[order[i]] = (double)preceding + ((double)tied + 1) / 2;
    preceding += tied;
  }
}

static double resampled_pearson(const double *x, const double *y, const uint32_t *count, size_t points, size_t n) {
  double mean = ((double)n + 1) / 2, xx = 0, yy = 0, xy = 0; /* mean of the ranks 1..n, which ties do not change */
  for (size_t i = 0; i < points; i++) {
    if (count[i] == 0) continue;
    xx += count[i] * ((x[i] - mean) * (x[i] - mean));
    yy += count[i] * ((y[i] - mean) * (y[i] - mean));
    xy += count[i] * ((x[i] - mean) * (y[i] - mean));
  }
  return xx > 0 && yy > 0 ? xy / (sqrt(xx) * sqrt(yy)) : NAN;
}

/* Averages the strata's correlations, weighted by their numbers of points. */
static double stratified_spearman(const void *context, const size_t *index, size_t n) {
  const Pairs *pairs = context;
  if (n < 2) return NAN;

  uint32_t *count = core_memory_zero_allocate(pairs->n + 1, sizeof *count);
  double *rank = core_memory_allocate((2 * pairs->n + 1) * sizeof *rank), sum = 0, weight = 0;
  for (size_t i = 0; i < n; i++) count[index[i]]++;

  for (size_t s = 0; s < pairs->strata; s++) {
    const size_t first = pairs->first[s], points = pairs->first[s + 1] - first;
    size_t drawn = 0;
    for (size_t i = 0; i < points; i++) drawn += count[first + i];
    resampled_ranks(pairs->x + first, pairs->by_x + first, points, count + first, rank);
    resampled_ranks(pairs->y + first, pairs->by_y + first, points, count + first, rank + pairs->n);

    const double rho = resampled_pearson(rank, rank + pairs->n, count + first, points, drawn);
    if (isnan(rho)) continue;
    sum += (double)drawn * rho;
    weight += (double)drawn;
  }

  free(count);
  free(rank);
  return weight > 0 ? sum / weight : NAN;
}

AnalysisInterval analysis_spearman_interval(const double *x, const double *y, const size_t *cluster, size_t n,
                                            size_t cluster_count, const size_t *stratum, size_t replicates,
                                            double level, uint64_t seed) {
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i]) || isnan(y[i])) return (AnalysisInterval){NAN, NAN, NAN, n};
  }

  size_t *first = core_memory_zero_allocate(cluster_count + 2, sizeof *first);
  Pairs pairs = {.x = x, .y = y, .first = first, .n = n,
                 .by_x = core_memory_allocate((n + 1) * sizeof(size_t)),
                 .by_y = core_memory_allocate((n + 1) * sizeof(size_t))};

  for (size_t i = 0; i < n; i++) {
    const bool is_new = i == 0 || (stratum && stratum[cluster[i]] != stratum[cluster[i - 1]]);
    if (is_new) first[pairs.strata++] = i;
    first[pairs.strata] = i + 1;
  }

  for (size_t s = 0; s < pairs.strata; s++) {
    const size_t begin = first[s], points = first[s + 1] - begin;
    size_t *by_x = sort_indices(x + begin, points), *by_y = sort_indices(y + begin, points);
    memcpy(pairs.by_x + begin, by_x, points * sizeof *by_x);
    memcpy(pairs.by_y + begin, by_y, points * sizeof *by_y);
    free(by_x);
    free(by_y);
  }

  AnalysisInterval interval =
    analysis_bootstrap(stratified_spearman, &pairs, cluster, n, cluster_count, stratum, replicates, level, seed);

  free(pairs.by_x);
  free(pairs.by_y);
  free(first);
  return interval;
}

/* ---- bootstraps of few runs -------------------------------------------------------------------------------------- */

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
