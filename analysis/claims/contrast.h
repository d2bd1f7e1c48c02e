/* Tests of claims by linear contrasts of cell means, sum of weight x mean. The standard error comes from the spread of
 * the seeds in each cell, with Satterthwaite's (1946) degrees of freedom; if cells differ in their numbers of seeds, at
 * most those of the smallest cell. Probabilities are one-sided: that of an estimate at least as far off if the true
 * value were at the bound. Cells without spread (all seeds solve everything) are no evidence: the probability is 1. */
#ifndef ANALYSIS_CONTRAST_H
#define ANALYSIS_CONTRAST_H
#include <math.h>

#include "analysis/claims/cells.h"
#include "analysis/statistics/statistics.h"

/* Result of a test. p_for: probability of such data if the claim were false; p_against: if its opposite were false. */
typedef struct AnalysisTestResult {
  AnalysisInterval interval;   /* 95 % interval of the statistic; NaN bounds if the test has none (permutations) */
  AnalysisInterval condition;  /* that of the second condition of plateaus and switches, else NaN */
  double p_for, p_against;     /* NaN: too few cells */
  size_t strata;               /* number of strata compared */
} AnalysisTestResult;
#define ANALYSIS_NOT_TESTED ((AnalysisTestResult){{NAN, NAN, NAN, 0}, {NAN, NAN, NAN, 0}, NAN, NAN, 0})

enum { ANALYSIS_SEEDS_MIN = 3 }; /* runs per cell; fewer give no useful estimate of the spread */

/* over, under: by how much the estimate may be above, or below, the true value because of what few runs do not show
 * (allowance.h); the tests subtract it. */
typedef struct AnalysisContrast { double estimate, error, degrees, over, under; } AnalysisContrast;

/* Computes the contrast of weight[cells]; cells with weight 0 are ignored. */
AnalysisContrast analysis_contrast(const AnalysisCells *cells, const double *weight);
/* Return P(estimate at least this large | true value = bound), and P(at most this large | ...). */
double analysis_contrast_above(AnalysisContrast contrast, double bound);
double analysis_contrast_below(AnalysisContrast contrast, double bound);
/* Returns the 95 % interval; n: number of runs. */
AnalysisInterval analysis_contrast_interval(AnalysisContrast contrast, size_t n);

/* Run the tests of these names in claims.h. margin: differences up to it count as none. Strata have equal weights. */
AnalysisTestResult analysis_test_equal(const AnalysisCells *cells, double margin);
AnalysisTestResult analysis_test_not_worse(const AnalysisCells *cells, double margin);
AnalysisTestResult analysis_test_best_equal(const AnalysisCells *cells, double margin);
AnalysisTestResult analysis_test_gain(const AnalysisCells *cells, int sign);
AnalysisTestResult analysis_test_gain_equal(const AnalysisCells *cells, double margin);
/* Finds the pair of keys whose means violate the order (sign 1: rising) most significantly, by Welch's t with
 * Bonferroni over all pairs. Returns the probability, 1 without a pair. pair: lower key, higher key, difference. */
double analysis_order_violation(const AnalysisCells *cells, int sign, double pair[3]);
/* Tests the mean of all cells against `null`; sign -1: the claim is that it is below. Cells share seeds, and thereby
 * initial weights, levels and evaluation episodes, so the spread is that of the units' contributions: unit[i] is the
 * seed of run i, or what else makes runs similar. */
AnalysisTestResult analysis_test_mean(const AnalysisCells *cells, const size_t *unit, double null, int sign);

/* Tests about the best of several settings, which is estimated from the same data. A statement about it is supported if
 * it holds for every setting that is not significantly worse than another one (intersection-union, Berger 1982;
 * multiple comparisons with the best, Hsu 1984): twice the smaller of the two probabilities per setting, and their
 * maximum. */
AnalysisTestResult analysis_test_end(const AnalysisCells *cells, bool high);
/* Also tests that the end has stopped rising: cells->x, each run's late gain relative to all that its setting gained
 * (scale.h), is below the margin on average. */
AnalysisTestResult analysis_test_plateau(const AnalysisCells *cells, bool high, double margin);
AnalysisTestResult analysis_test_robust(const AnalysisCells *cells, bool high);
AnalysisTestResult analysis_test_same_best(const AnalysisCells *cells, double margin);
AnalysisTestResult analysis_test_best_at(const AnalysisCells *cells, bool high);

#endif
