/* The figures' statistics (statistics.h says which formula comes from where). Pure functions: no input or output, no
 * state, and no random numbers other than Philox counters, so that every figure repeats bit for bit. */
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

/* The continued fraction of I_x(a, b), modified Lentz; converges fast for x < (a + 1) / (a + b + 2). */
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
  /* I decreases in t: widen until it is below the wanted mass of both tails, then halve. */
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

/* Bands of curves ask for the same few quantiles at every point. */
double analysis_student_quantile(double probability, double degrees) {
  enum { KEPT = 16 };
  static _Thread_local struct { double probability, degrees, quantile; } kept[KEPT];
  if (!(probability > 0 && probability < 1 && degrees > 0)) return NAN;
  if (probability < 0.5) return -analysis_student_quantile(1 - probability, degrees);
  const size_t slot = (size_t)fmin(degrees, 1e9) % KEPT;
  if (kept[slot].probability != probability || kept[slot].degrees != degrees) {
    kept[slot].quantile = student_quantile(probability, degrees);
    kept[slot].probability = probability;
    kept[slot].degrees = degrees;
  }
  return kept[slot].quantile;
}

size_t analysis_seeds_needed(double difference, double sd_x, double sd_y, size_t tasks, double level, double power) {
  enum { MOST = 10000 };
  double spread = sd_x * sd_x + sd_y * sd_y;
  if (isnan(difference) || isnan(spread) || difference == 0) return 0;
  size_t low = 1, high = MOST + 1; /* enough falls with n: bisection for the first n that is */
  while (high - low > 1) {
    size_t n = low + (high - low) / 2;
    double degrees = (double)tasks * (2 * (double)n - 2);
    double t = analysis_student_quantile((1 + level) / 2, degrees) + analysis_student_quantile(power, degrees);
    if (t * sqrt(spread / ((double)n * (double)tasks)) <= fabs(difference)) high = n;
    else low = n;
  }
  return high > MOST ? 0 : high;
}

int analysis_by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* A sorted copy, or NULL when there is nothing to sort or a NaN among it. */
static double *sorted_copy(const double *x, size_t n) {
  if (n == 0) return NULL;
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i])) return NULL;
  }
  double *copy = core_memory_allocate(n * sizeof *copy);
  memcpy(copy, x, n * sizeof *copy);
  qsort(copy, n, sizeof *copy, analysis_by_value);
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

typedef struct Ranked { double value; size_t place; } Ranked;

static int by_ranked_value(const void *left, const void *right) {
  return analysis_by_value(&((const Ranked *)left)->value, &((const Ranked *)right)->value);
}

void analysis_ranks(const double *x, size_t n, double *ranks) {
  if (n == 0) return;
  Ranked *order = core_memory_allocate(n * sizeof *order);
  for (size_t i = 0; i < n; i++) order[i] = (Ranked){x[i], i};
  qsort(order, n, sizeof *order, by_ranked_value);
  for (size_t first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && order[end].value == order[first].value;) end++;
    for (size_t i = first; i < end; i++) ranks[order[i].place] = (double)(first + end + 1) / 2;
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

double analysis_interpolate(const double *x, const double *y, size_t n, double at) {
  if (n == 0 || !(at >= x[0] && at <= x[n - 1])) return NAN;
  size_t low = 0, high = n - 1; /* x[low] <= at <= x[high] */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (x[middle] <= at) low = middle;
    else high = middle;
  }
  if (at == x[high]) return y[high];
  if (at == x[low]) return y[low];
  return y[low] + (at - x[low]) * (y[high] - y[low]) / (x[high] - x[low]);
}

/* The points sorted by cluster: those of cluster c are member[first[c]] .. member[first[c + 1] - 1]. */
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

/* The points of a rank correlation, by stratum. Sorted once: a replicate is then how often each point was drawn, and
 * its ranks come from one walk along each order instead of a sort. */
typedef struct Pairs {
  const double *x, *y;
  const size_t *first;   /* [strata + 1] */
  size_t n, strata;
  size_t *by_x, *by_y;   /* [n] points of each stratum in ascending order, numbered within it */
} Pairs;

static size_t *sorted_places(const double *x, size_t n) {
  Ranked *order = core_memory_allocate((n + 1) * sizeof *order);
  size_t *place = core_memory_allocate((n + 1) * sizeof *place);
  for (size_t i = 0; i < n; i++) order[i] = (Ranked){x[i], i};
  qsort(order, n, sizeof *order, by_ranked_value);
  for (size_t i = 0; i < n; i++) place[i] = order[i].place;
  free(order);
  return place;
}

/* Mean ranks of the points when point i counts count[i] times; of those that count 0 times nothing is said. */
static void drawn_ranks(const double *x, const size_t *order, size_t n, const uint32_t *count, double *rank) {
  size_t before = 0;
  for (size_t first = 0, end; first < n; first = end) {
    size_t tied = 0;
    for (end = first; end < n && x[order[end]] == x[order[first]]; end++) tied += count[order[end]];
    for (size_t i = first; i < end; i++) rank[order[i]] = (double)before + ((double)tied + 1) / 2;
    before += tied;
  }
}

static double drawn_pearson(const double *x, const double *y, const uint32_t *count, size_t points, size_t n) {
  double mean = ((double)n + 1) / 2, xx = 0, yy = 0, xy = 0; /* of ranks 1..n, whatever the ties */
  for (size_t i = 0; i < points; i++) {
    if (count[i] == 0) continue;
    xx += count[i] * ((x[i] - mean) * (x[i] - mean));
    yy += count[i] * ((y[i] - mean) * (y[i] - mean));
    xy += count[i] * ((x[i] - mean) * (y[i] - mean));
  }
  return xx > 0 && yy > 0 ? xy / (sqrt(xx) * sqrt(yy)) : NAN;
}

/* The mean of the strata's correlations, weighted by their points. */
static double spearman_of(const void *context, const size_t *index, size_t n) {
  const Pairs *pairs = context;
  if (n < 2) return NAN;
  uint32_t *count = core_memory_zero_allocate(pairs->n + 1, sizeof *count);
  double *rank = core_memory_allocate((2 * pairs->n + 1) * sizeof *rank), sum = 0, weight = 0;
  for (size_t i = 0; i < n; i++) count[index[i]]++;
  for (size_t s = 0; s < pairs->strata; s++) {
    const size_t first = pairs->first[s], points = pairs->first[s + 1] - first;
    size_t drawn = 0;
    for (size_t i = 0; i < points; i++) drawn += count[first + i];
    drawn_ranks(pairs->x + first, pairs->by_x + first, points, count + first, rank);
    drawn_ranks(pairs->y + first, pairs->by_y + first, points, count + first, rank + pairs->n);
    const double rho = drawn_pearson(rank, rank + pairs->n, count + first, points, drawn);
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
  Pairs pairs = {x, y, first, n, 0, core_memory_allocate((n + 1) * sizeof(size_t)),
                 core_memory_allocate((n + 1) * sizeof(size_t))};
  for (size_t i = 0; i < n; i++) {
    const bool is_new = i == 0 || (stratum && stratum[cluster[i]] != stratum[cluster[i - 1]]);
    if (is_new) first[pairs.strata++] = i;
    first[pairs.strata] = i + 1;
  }
  for (size_t s = 0; s < pairs.strata; s++) {
    const size_t begin = first[s], points = first[s + 1] - begin;
    size_t *by_x = sorted_places(x + begin, points), *by_y = sorted_places(y + begin, points);
    memcpy(pairs.by_x + begin, by_x, points * sizeof *by_x);
    memcpy(pairs.by_y + begin, by_y, points * sizeof *by_y);
    free(by_x);
    free(by_y);
  }
  AnalysisInterval interval =
    analysis_bootstrap(spearman_of, &pairs, cluster, n, cluster_count, stratum, replicates, level, seed);
  free(pairs.by_x);
  free(pairs.by_y);
  free(first);
  return interval;
}
