/* Permutation test over runs (contrast.h). Permutation `order` of stratum s is drawn by Philox
 * (seed; order, s), so that p-values do not depend on the number of threads. */
#include "analysis/claims/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

enum { ORDERS = 9999, PERMUTE_SEED = 10 };

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
      const double cell_variance = sd * sd / (double)n;
      rise.variance += cell_variance;
      fourth += cell_variance * cell_variance / (double)(n > 1 ? n - 1 : 1);

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
  const AnalysisContrast student = {.estimate = rise.share, .error = sqrt(rise.variance), .degrees = rise.degrees};
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
