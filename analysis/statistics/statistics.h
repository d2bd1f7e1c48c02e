/* Statistics of the figures: plain functions over arrays of double. Knows nothing of runs, databases or plots.
 * NaN in the input gives NaN in the output; an empty input gives NaN. Nothing here keeps state. */
#ifndef ANALYSIS_STATISTICS_H
#define ANALYSIS_STATISTICS_H
#include <stddef.h>
#include <stdint.h>

/* An estimate and its interval. `low` and `high` are NaN where the interval is not defined (n < 2 for Student's t). */
typedef struct AnalysisInterval {
  double center, low, high;
  size_t n;
} AnalysisInterval;

/* For qsort: numbers ascending; not for NaN. */
int analysis_by_value(const void *left, const void *right);

double analysis_mean(const double *x, size_t n);
/* Unbiased: sqrt(sum (x - mean)^2 / (n - 1)); two passes. 0 where values differ by rounding alone. NaN for n < 2. */
double analysis_sd(const double *x, size_t n);
/* exp(mean(log x)); NaN when a value is not positive. */
double analysis_geometric_mean(const double *x, size_t n);

/* Regularised incomplete beta function I_x(a, b): continued fraction DLMF 8.17.22 by Lentz's method (Press et al.,
 * Numerical Recipes, 6.4). a, b > 0; 0 <= x <= 1. */
double analysis_incomplete_beta(double a, double b, double x);

/* t with P(T <= t) = probability for Student's t with `degrees` > 0 degrees of freedom. The distribution function is
 * 1 - I_{d/(d+t^2)}(d/2, 1/2) / 2 for t >= 0 (Abramowitz & Stegun 26.7.1), inverted by bisection to machine precision.
 * NaN unless 0 < probability < 1. */
double analysis_student_quantile(double probability, double degrees);

/* Returns the seeds a side, of each task, that would tell a mean difference over tasks from 0 at `level` with
 * probability `power` (0.8): the smallest n >= 2 with (t_{(1 + level)/2} + t_power) sqrt((sd_x^2 + sd_y^2) / (n tasks))
 * <= |difference|, t of tasks (2n - 2) degrees (Cohen 1988, 2.3). At most 10000; 0 when that is not enough, or
 * something is NaN. */
size_t analysis_seeds_needed(double difference, double sd_x, double sd_y, size_t tasks, double level, double power);

/* Linear interpolation between order statistics at rank q (n - 1), q in 0..1 (numpy's; Hyndman & Fan's type 7). */
double analysis_percentile(const double *x, size_t n, double q);

/* Ranks 1..n, ties share their mean rank. */
void analysis_ranks(const double *x, size_t n, double *ranks);
/* Pearson's correlation of the ranks (Spearman 1904, exact with ties). NaN when n < 2 or one side is constant. */
double analysis_spearman(const double *x, const double *y, size_t n);

/* y at `at` on the broken line through (x[i], y[i]), x ascending. NaN outside [x[0], x[n-1]]: never extrapolates. */
double analysis_interpolate(const double *x, const double *y, size_t n, double at);

/* A statistic of the points whose indices are index[0..n-1] (with repetitions); called from several threads. */
typedef double (*AnalysisStatistic)(const void *context, const size_t *index, size_t n);

/* Percentile bootstrap (Efron 1979) that draws whole clusters (Davison & Hinkley 1997, 3.8): each replicate draws as
 * many clusters as there are, with replacement, takes all their points, and recomputes the statistic. cluster[i] in
 * 0..cluster_count-1 names the cluster of point i; cluster[i] = i is the ordinary bootstrap. Replicates in which the
 * statistic is NaN (all points equal) are left out. Replicate r draws from Philox (seed; CORE_RANDOM_BOOTSTRAP, r),
 * so the result is the same for any number of threads. center = the statistic of the points as they are. stratum
 * [cluster_count]: clusters are drawn within strata, which are neighbours; NULL: there is one. */
AnalysisInterval analysis_bootstrap(AnalysisStatistic statistic, const void *context, const size_t *cluster, size_t n,
                                    size_t cluster_count, const size_t *stratum, size_t replicates, double level,
                                    uint64_t seed);

/* analysis_bootstrap of analysis_spearman within each stratum, averaged with the numbers of points as weights. Points
 * come by cluster. */
AnalysisInterval analysis_spearman_interval(const double *x, const double *y, const size_t *cluster, size_t n,
                                            size_t cluster_count, const size_t *stratum, size_t replicates,
                                            double level, uint64_t seed);

#endif
