/* Statistics for figures: pure functions over arrays of double, independent of runs, databases and plots. NaN in the
 * input gives NaN in the output; an empty input gives NaN. */
#ifndef ANALYSIS_STATISTICS_H
#define ANALYSIS_STATISTICS_H
#include <stddef.h>
#include <stdint.h>

/* Estimate and its interval. low, high: NaN if the interval is undefined (n < 2 for Student's t). */
typedef struct AnalysisInterval {
  double center, low, high;
  size_t n;
} AnalysisInterval;

/* Compares two doubles for qsort, ascending; not for NaN. */
int analysis_compare_values(const void *left, const void *right);

double analysis_mean(const double *x, size_t n);
/* Computes the sample standard deviation sqrt(sum (x - mean)^2 / (n - 1)) in two passes. 0 if the values differ only by
 * rounding; NaN for n < 2. */
double analysis_sd(const double *x, size_t n);
/* Computes exp(mean(log x)); NaN if a value is not positive. */
double analysis_geometric_mean(const double *x, size_t n);

/* Computes the regularized incomplete beta function I_x(a, b) by the continued fraction DLMF 8.17.22 and Lentz's method
 * (Press et al., Numerical Recipes, 6.4). a, b > 0; 0 <= x <= 1. */
double analysis_incomplete_beta(double a, double b, double x);

/* Finds t with P(T <= t) = probability for Student's t with `degrees` > 0 degrees of freedom. The distribution function
 * is 1 - I_{d/(d+t^2)}(d/2, 1/2) / 2 for t >= 0 (Abramowitz & Stegun 26.7.1), inverted by bisection to machine
 * precision. NaN unless 0 < probability < 1. */
double analysis_student_quantile(double probability, double degrees);

/* Returns the number of seeds per side and task that detect a mean difference over tasks at `level` with probability
 * `power` (0.8): the smallest n >= 2 with (t_{(1 + level)/2} + t_power) sqrt((sd_x^2 + sd_y^2) / (n tasks))
 * <= |difference|, t with tasks (2n - 2) degrees (Cohen 1988, 2.3). 0 if more than 10000 are needed, or an argument is
 * NaN. */
size_t analysis_seeds_needed(double difference, double sd_x, double sd_y, size_t tasks, double level, double power);

/* Computes a percentile by linear interpolation between order statistics at rank q (n - 1), q in 0..1 (as numpy;
 * Hyndman & Fan's type 7). */
double analysis_percentile(const double *x, size_t n, double q);

/* Computes ranks 1..n; ties share their mean rank. */
void analysis_ranks(const double *x, size_t n, double *ranks);
/* Computes Pearson's correlation of the ranks (Spearman 1904, exact with ties). NaN if n < 2 or a side is constant. */
double analysis_spearman(const double *x, const double *y, size_t n);

/* Interpolates y at `target` linearly between the points (x[i], y[i]), x ascending. NaN outside [x[0], x[n-1]]. */
double analysis_interpolate(const double *x, const double *y, size_t n, double target);

/* Computes a statistic of the points index[0..n-1] (with repetitions); called from several threads. */
typedef double (*AnalysisStatistic)(const void *context, const size_t *index, size_t n);

/* Computes an interval by the percentile bootstrap (Efron 1979) over whole clusters (Davison & Hinkley 1997, 3.8): each
 * replicate draws as many clusters as there are, with replacement, and recomputes the statistic from all their points.
 * cluster[i] in 0..cluster_count-1 is the cluster of point i; cluster[i] = i is the ordinary bootstrap. Ignores
 * replicates whose statistic is NaN (all points equal). Replicate r draws from Philox (seed; CORE_RANDOM_BOOTSTRAP, r),
 * so that the result does not depend on the number of threads. center: statistic of the original points. stratum:
 * [cluster_count], clusters are drawn within strata, each of them contiguous; NULL: one stratum. */
AnalysisInterval analysis_bootstrap(AnalysisStatistic statistic, const void *context, const size_t *cluster, size_t n,
                                    size_t cluster_count, const size_t *stratum, size_t replicates, double level,
                                    uint64_t seed);

/* Computes analysis_bootstrap of analysis_spearman within each stratum, averaged with the numbers of points as weights.
 * Points are sorted by cluster. */
AnalysisInterval analysis_spearman_interval(const double *x, const double *y, const size_t *cluster, size_t n,
                                            size_t cluster_count, const size_t *stratum, size_t replicates,
                                            double level, uint64_t seed);

/* ---- bootstraps of few runs -------------------------------------------------------------------------------------- */

/* Intervals from the replicates of a bootstrap of few runs. Percentiles alone are too narrow for few runs (they cover
 * 82 % with five): the resampled variance of a mean of n runs lacks the factor n / (n - 1), and percentiles follow the
 * normal distribution where a mean of few runs needs Student's t (Hesterberg 2015, The American Statistician 69:371,
 * 4.3). Their distances from the estimate are therefore multiplied by sqrt(n / (n - 1)) and by the ratio of the
 * quantiles, t to normal, which keeps the skew. Pure functions over arrays. */

/* Options of a bootstrap. */
typedef struct AnalysisResampling { size_t replicates; double level; uint64_t seed; } AnalysisResampling;

/* Returns the factor of the distances for runs first[t] .. first[t + 1] - 1 of each task: 2.69 for three runs, 1.22 for
 * ten. NaN if no task has two runs. */
double analysis_replicates_widening(const size_t *first, size_t tasks, double level);

/* Computes the interval of `center` from value[count], without NaN; they may be infinite. A bound is infinite if the
 * percentile is, and not moved if center is infinite. n is left to the caller. NaN bounds if center or widening is
 * NaN, or count 0. */
AnalysisInterval analysis_replicates_interval(double center, const double *value, size_t count, double level,
                                              double widening);

#endif
