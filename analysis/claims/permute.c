/* Permutation tests over runs and over configurations (permute.h). Permutation `order` of stratum s is drawn by Philox
 * (seed; order, s), so that p-values do not depend on the number of threads. */
#include "analysis/claims/permute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

enum { ORDERS = 9999, PERMUTE_SEED = 10, POINTS_MIN = 6 };

/* Permutes value[n] randomly (Fisher-Yates). */
static void shuffle(double *value, size_t n, uint32_t order, uint32_t stratum) {
  CoreRandomStream stream = core_random_stream(PERMUTE_SEED, CORE_RANDOM_BOOTSTRAP, order, stratum);
  for (size_t i = n; i > 1; i--) {
    const size_t k = core_random_below(core_random_next(&stream), (uint32_t)i);
    const double swap = value[i - 1];
    value[i - 1] = value[k];
    value[k] = swap;
  }
}

/* Permutation test: exchangeable values, their statistic, and the function that permutes them. */
typedef struct Permutation {
  const AnalysisCells *cells;
  const double *value;    /* [count] in the original order */
  size_t count;
  double (*statistic)(const struct Permutation *permutation, const double *value);
  void (*exchange)(const struct Permutation *permutation, double *value, uint32_t order);
  const void *context;
} Permutation;

/* Counts those of the permutations first .. end - 1 whose statistic is at least, and at most, the observed one, up to
 * rounding. */
static void count_orders(const Permutation *p, double observed, uint32_t first, uint32_t end, long *at_least,
                         long *at_most) {
  long above = 0, below = 0;
  const double tiny = 1e-12 * fmax(1, fabs(observed)); /* sums in another order differ in the last bits */
#pragma omp parallel reduction(+ : above, below)
  {
    double *value = core_memory_allocate((p->count + 1) * sizeof *value);
#pragma omp for schedule(static)
    for (uint32_t order = first; order < end; order++) {
      memcpy(value, p->value, p->count * sizeof *value);
      p->exchange(p, value, order);
      const double statistic = p->statistic(p, value);
      above += statistic >= observed - tiny;
      below += statistic <= observed + tiny;
    }
    free(value);
  }
  *at_least += above;
  *at_most += below;
}

/* Computes the p-values: the fractions of permutations, including the original order, whose statistic is at least, and
 * at most, the observed one. Stops early, after a tenth of them, if neither is small (Besag & Clifford 1991). */
static void permutation_p(const Permutation *p, double observed, double *p_above, double *p_below) {
  enum { FIRST_ORDERS = (ORDERS + 1) / 10 - 1, COMMON = FIRST_ORDERS / 10 };
  long above = 0, below = 0, orders = FIRST_ORDERS;
  count_orders(p, observed, 0, FIRST_ORDERS, &above, &below);
  if (above < COMMON || below < COMMON) {
    count_orders(p, observed, FIRST_ORDERS, ORDERS, &above, &below);
    orders = ORDERS;
  }
  *p_above = (double)(1 + above) / (double)(orders + 1);
  *p_below = (double)(1 + below) / (double)(orders + 1);
}

static void exchange_runs(const Permutation *p, double *value, uint32_t order) {
  for (size_t s = 0; s < p->cells->strata; s++) {
    const size_t begin = p->cells->first[p->cells->stratum[s]], end = p->cells->first[p->cells->stratum[s + 1]];
    shuffle(value + begin, end - begin, order, (uint32_t)s);
  }
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static size_t count_cells(const AnalysisCells *cells, size_t s) { return cells->stratum[s + 1] - cells->stratum[s]; }

/* Fraction of pairs in which the run of the later cell wins (the Mann-Whitney effect, averaged over pairs of cells),
 * its variance from the placements of runs (Brunner and Munzel 2000, DeLong et al. 1988), and Satterthwaite's degrees
 * of freedom; if cells differ in their numbers of runs, at most those of the smallest. */
typedef struct Rise { double share, variance, degrees; } Rise;

/* Computes placement[] of the runs of stratum s: the sum, over the other cells, of the fraction of their runs with
 * which the run forms a pair in rising order. Returns the sum, over pairs of cells, of the fraction of such pairs. */
static double compute_placements(const AnalysisCells *cells, const double *value, size_t s, double *placement) {
  const size_t begin = cells->stratum[s], end = cells->stratum[s + 1];
  double sum = 0;
  for (size_t i = cells->first[begin]; i < cells->first[end]; i++) placement[i] = 0;
  for (size_t low = begin; low < end; low++) {
    for (size_t high = low + 1; high < end; high++) {
      const double n = (double)(cells->first[low + 1] - cells->first[low]);
      const double m = (double)(cells->first[high + 1] - cells->first[high]);
      double pair = 0;
      for (size_t i = cells->first[high]; i < cells->first[high + 1]; i++) {
        for (size_t j = cells->first[low]; j < cells->first[low + 1]; j++) {
          const double win = value[i] > value[j] ? 1 : value[i] == value[j] ? 0.5 : 0;
          placement[i] += win / n;
          placement[j] += win / m;
          pair += win;
        }
      }
      sum += pair / (n * m);
    }
  }
  return sum;
}

/* Computes the fraction of wins. placement: scratch [count]. The placements of a few runs may be equal by chance, so
 * the standard deviation of those of a cell of n runs, among k cells, counts as at least (k - 1) / (n + 1). */
static Rise compute_rise(const AnalysisCells *cells, const double *value, double *placement) {
  Rise rise = {0, 0, 1};
  double fourth = 0;
  size_t used = 0, smallest = SIZE_MAX, largest = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    const double k = (double)count_cells(cells, s), pairs = k * (k - 1) / 2;
    if (pairs < 1) continue;
    rise.share += compute_placements(cells, value, s, placement) / pairs;
    used++;
    for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1]; c++) {
      const size_t n = cells->first[c + 1] - cells->first[c];
      const double sd = fmax(analysis_sd(placement + cells->first[c], n), (k - 1) / (double)(n + 1)) / pairs;
      const double part = sd * sd / (double)n;
      rise.variance += part;
      fourth += part * part / (double)(n > 1 ? n - 1 : 1);
      smallest = n < smallest ? n : smallest;
      largest = n > largest ? n : largest;
    }
  }
  if (used == 0) return (Rise){NAN, NAN, NAN};
  rise.share /= (double)used;
  rise.degrees = rise.variance * rise.variance / fourth;
  if (smallest < largest) rise.degrees = fmin(rise.degrees, fmax(1, (double)smallest - 1));
  rise.variance /= (double)used * (double)used;
  return rise;
}

static double rise_statistic(const Permutation *p, const double *value) {
  double *placement = core_memory_allocate((p->count + 1) * sizeof *placement);
  const Rise rise = compute_rise(p->cells, value, placement);
  free(placement);
  return (rise.share - 0.5) / sqrt(rise.variance);
}

/* Returns the larger of two p-values: that of a studentized permutation test, which is exact if all runs are
 * exchangeable (Chung and Romano 2013), and that of Brunner and Munzel's t test, which is valid if variances or numbers
 * of seeds differ. */
AnalysisTestResult analysis_test_rises(const AnalysisCells *cells) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  const Permutation p = {cells, cells->score, cells->count, rise_statistic, exchange_runs, NULL};
  for (size_t s = 0; s < cells->strata; s++) result.strata += count_cells(cells, s) > 1;
  if (result.strata == 0) return result;
  double *placement = core_memory_allocate((cells->count + 1) * sizeof *placement);
  const Rise rise = compute_rise(cells, cells->score, placement);
  const AnalysisContrast student = {rise.share, sqrt(rise.variance), rise.degrees};
  free(placement);
  result.interval = (AnalysisInterval){rise.share, NAN, NAN, cells->count};
  permutation_p(&p, rise_statistic(&p, cells->score), &result.p_for, &result.p_against);
  result.p_for = fmax(result.p_for, analysis_contrast_above(student, 0.5));
  result.p_against = fmax(result.p_against, analysis_contrast_below(student, 0.5));
  return result;
}

/* Counts the distinct permutations of each stratum by the multinomial coefficient of its cells' sizes. Of several
 * strata the one with the most does not count, since the others must show the effect without it. */
double analysis_permute_p_min(const AnalysisCells *cells, size_t n) {
  double log_orders = 0, most = 0;
  size_t compared = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    const double seeds = (double)n, k = (double)count_cells(cells, s);
    if (k < 2) continue;
    const double one = lgamma(k * seeds + 1) - k * lgamma(seeds + 1);
    log_orders += one;
    most = fmax(most, one);
    compared++;
  }
  return fmax(exp(compared > 1 ? most - log_orders : -log_orders), 1.0 / (ORDERS + 1));
}

/* ---- configurations ---------------------------------------------------------------------------------------------- */

/* Points, one per configuration, of the strata with at least POINTS_MIN, sorted by x within each stratum. */
typedef struct Points {
  double *x, *y, *early;  /* [count] */
  size_t *first;          /* [strata + 1] */
  size_t count, strata;
} Points;

typedef struct Point { double x, y, early; } Point;

static int compare_x(const void *left, const void *right) {
  const Point *a = left, *b = right;
  return a->x != b->x ? (a->x > b->x) - (a->x < b->x) : (a->y > b->y) - (a->y < b->y);
}

static Points points_create(const AnalysisCells *cells, const double *early) {
  Points points = {0};
  Point *point = core_memory_allocate((cells->cells + 1) * sizeof *point);
  points.x = core_memory_allocate(3 * (cells->cells + 1) * sizeof *points.x);
  points.y = points.x + cells->cells + 1;
  points.early = points.y + cells->cells + 1;
  points.first = core_memory_zero_allocate(cells->strata + 1, sizeof *points.first);
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t begin = cells->stratum[s], n = count_cells(cells, s);
    if (n < POINTS_MIN) continue;
    for (size_t i = 0; i < n; i++)
      point[i] = (Point){analysis_cells_mean(cells, cells->x, begin + i),
                         analysis_cells_mean(cells, cells->score, begin + i),
                         early ? analysis_cells_mean(cells, early, begin + i) : NAN};
    qsort(point, n, sizeof *point, compare_x);
    for (size_t i = 0; i < n; i++, points.count++) {
      points.x[points.count] = point[i].x;
      points.y[points.count] = point[i].y;
      points.early[points.count] = point[i].early;
    }
    points.first[++points.strata] = points.count;
  }
  free(point);
  return points;
}

static void points_free(Points *points) {
  free(points->x);
  free(points->first);
}

/* Points, and the outer third (0: lowest x, 2: highest) that is compared with the middle one. */
typedef struct Thirds { const Points *points; size_t outer; } Thirds;

static void find_third(const Points *points, size_t s, size_t part, size_t *begin, size_t *end) {
  const size_t n = points->first[s + 1] - points->first[s];
  *begin = points->first[s] + part * n / 3;
  *end = points->first[s] + (part + 1) * n / 3;
}

/* Computes the mean of the middle third minus that of the outer third, averaged over strata. */
static double middle_gap(const Permutation *p, const double *value) {
  const Thirds *thirds = p->context;
  double sum = 0;
  for (size_t s = 0; s < thirds->points->strata; s++) {
    size_t begin, end, outer_begin, outer_end;
    find_third(thirds->points, s, 1, &begin, &end);
    find_third(thirds->points, s, thirds->outer, &outer_begin, &outer_end);
    sum += analysis_mean(value + begin, end - begin) - analysis_mean(value + outer_begin, outer_end - outer_begin);
  }
  return sum / (double)thirds->points->strata;
}

/* Permutes the points of the middle and the outer third, which are adjacent. */
static void exchange_thirds(const Permutation *p, double *value, uint32_t order) {
  const Thirds *thirds = p->context;
  for (size_t s = 0; s < thirds->points->strata; s++) {
    size_t begin, end, outer_begin, outer_end;
    find_third(thirds->points, s, 1, &begin, &end);
    find_third(thirds->points, s, thirds->outer, &outer_begin, &outer_end);
    const size_t from = begin < outer_begin ? begin : outer_begin, to = end > outer_end ? end : outer_end;
    shuffle(value + from, to - from, order, (uint32_t)s);
  }
}

AnalysisTestResult analysis_test_middle(const AnalysisCells *cells) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  Points points = points_create(cells, NULL);
  if (points.strata > 0) {
    double above[2], below[2], gap[2];
    for (size_t side = 0; side < 2; side++) {
      const Thirds thirds = {&points, 2 * side};
      const Permutation p = {cells, points.y, points.count, middle_gap, exchange_thirds, &thirds};
      gap[side] = middle_gap(&p, points.y);
      permutation_p(&p, gap[side], &above[side], &below[side]);
    }
    result.interval = (AnalysisInterval){fmin(gap[0], gap[1]), NAN, NAN, points.count};
    result.p_for = fmax(above[0], above[1]);
    result.p_against = fmin(1, 2 * fmin(below[0], below[1]));
    result.strata = points.strata;
  }
  points_free(&points);
  return result;
}

/* Computes Spearman's rho of x and the values, averaged over strata with weights n - 1; NaN: not defined. */
static double rho(const Permutation *p, const double *value) {
  const Points *points = p->context;
  double sum = 0, weights = 0;
  for (size_t s = 0; s < points->strata; s++) {
    const size_t begin = points->first[s], n = points->first[s + 1] - begin;
    const double one = analysis_spearman(points->x + begin, value + begin, n);
    if (isnan(one)) continue;
    sum += (double)(n - 1) * one;
    weights += (double)(n - 1);
  }
  return weights > 0 ? sum / weights : NAN;
}

static void exchange_points(const Permutation *p, double *value, uint32_t order) {
  const Points *points = p->context;
  for (size_t s = 0; s < points->strata; s++)
    shuffle(value + points->first[s], points->first[s + 1] - points->first[s], order, (uint32_t)s);
}

AnalysisTestResult analysis_test_rho(const AnalysisCells *cells) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  Points points = points_create(cells, NULL);
  const Permutation p = {cells, points.y, points.count, rho, exchange_points, &points};
  const double observed = points.strata > 0 ? rho(&p, points.y) : NAN;
  if (!isnan(observed)) {
    result.interval = (AnalysisInterval){observed, NAN, NAN, points.count};
    result.strata = points.strata;
    permutation_p(&p, observed, &result.p_for, &result.p_against);
  }
  points_free(&points);
  return result;
}

/* Computes rho of x with the final measure minus rho of x with the early one. The ranks of the two measures are
 * interleaved: value[2 i] is the early rank of point i, value[2 i + 1] its final rank. */
static double growth(const Permutation *p, const double *value) {
  const Points *points = p->context;
  double sum = 0;
  for (size_t s = 0; s < points->strata; s++) {
    const size_t begin = points->first[s], n = points->first[s + 1] - begin;
    const double middle = ((double)n + 1) / 2, scale = (double)n * ((double)n * (double)n - 1) / 12;
    double one = 0;
    for (size_t i = 0; i < n; i++) /* x is sorted: its rank is i + 1 */
      one += ((double)i + 1 - middle) * (value[2 * (begin + i) + 1] - value[2 * (begin + i)]);
    sum += one / scale;
  }
  return sum / (double)points->strata;
}

/* Swaps the two ranks of each point with probability 1/2. */
static void exchange_ranks(const Permutation *p, double *value, uint32_t order) {
  CoreRandomStream stream = core_random_stream(PERMUTE_SEED, CORE_RANDOM_BOOTSTRAP, order, 0);
  for (size_t i = 0; i + 1 < p->count; i += 2) {
    if (core_random_next(&stream) >> 31 == 0) continue;
    const double swap = value[i];
    value[i] = value[i + 1];
    value[i + 1] = swap;
  }
}

AnalysisTestResult analysis_test_grows(const AnalysisCells *cells, const double *early) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  Points points = points_create(cells, early);
  if (points.strata > 0) {
    double *ranks = core_memory_allocate(2 * points.count * sizeof *ranks);
    double *one = core_memory_allocate(points.count * sizeof *one);
    for (int part = 0; part < 2; part++) {
      for (size_t s = 0; s < points.strata; s++) {
        const size_t begin = points.first[s];
        analysis_ranks((part ? points.y : points.early) + begin, points.first[s + 1] - begin, one + begin);
      }
      for (size_t i = 0; i < points.count; i++) ranks[2 * i + (size_t)part] = one[i];
    }
    const Permutation p = {cells, ranks, 2 * points.count, growth, exchange_ranks, &points};
    result.interval = (AnalysisInterval){growth(&p, ranks), NAN, NAN, points.count};
    result.strata = points.strata;
    permutation_p(&p, result.interval.center, &result.p_for, &result.p_against);
    free(ranks);
    free(one);
  }
  points_free(&points);
  return result;
}
