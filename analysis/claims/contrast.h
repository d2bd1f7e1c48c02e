/* Tests of claims that compare means of cells: a linear contrast, sum of weight x mean, has a standard error from the
 * spread of the seeds in each cell, and Satterthwaite's (1946) degrees of freedom; where cells differ in their numbers
 * of seeds, at most those of the smallest. A probability is one-sided: that of an estimate as far off, were the truth
 * just at the bound. Cells without any spread (all seeds solve all) are no evidence: the probability is 1. */
#ifndef ANALYSIS_CONTRAST_H
#define ANALYSIS_CONTRAST_H
#include <math.h>

#include "analysis/claims/cells.h"
#include "analysis/statistics/statistics.h"

/* What a test found. p_for: how probable such data were if the claim were false; p_against: if its opposite were. */
typedef struct AnalysisTested {
  AnalysisInterval interval;   /* of the statistic, 95 %; NaN ends where the test has none (permutations) */
  double p_for, p_against;     /* NaN: the cells do not suffice */
  size_t strata;               /* that were compared */
} AnalysisTested;
#define ANALYSIS_NOT_TESTED ((AnalysisTested){{NAN, NAN, NAN, 0}, NAN, NAN, 0})

enum { ANALYSIS_SEEDS_MIN = 3 }; /* fewer runs a cell have no spread that says anything */

typedef struct AnalysisContrast { double estimate, error, degrees; } AnalysisContrast;

/* weight[cells]; cells of weight 0 do not matter. */
AnalysisContrast analysis_contrast(const AnalysisCells *cells, const double *weight);
/* P(estimate this large | the truth is `bound`), and this small. */
double analysis_contrast_above(AnalysisContrast contrast, double bound);
double analysis_contrast_below(AnalysisContrast contrast, double bound);
/* 95 %; n: of the runs. */
AnalysisInterval analysis_contrast_interval(AnalysisContrast contrast, size_t n);

/* The tests of claims.h of these names. `margin`: differences up to it count as none. Strata have equal weights. */
AnalysisTested analysis_test_equal(const AnalysisCells *cells, double margin);
AnalysisTested analysis_test_not_worse(const AnalysisCells *cells, double margin);
AnalysisTested analysis_test_best_equal(const AnalysisCells *cells, double margin);
AnalysisTested analysis_test_gain(const AnalysisCells *cells, int sign);
AnalysisTested analysis_test_gain_equal(const AnalysisCells *cells, double margin);
/* Finds the pair of keys, one later than the other, whose means go most surely against the order (sign 1: rising), by
 * Welch's t with Bonferroni over all pairs; returns that probability, 1 without a pair. pair: the earlier key, the
 * later, and by how much its mean is less. */
double analysis_order_broken(const AnalysisCells *cells, int sign, double pair[3]);
/* Tests of the mean of all cells against `null`; sign -1: the claim is that it lies below. Cells share seeds, and with
 * them initial weights, levels and evaluation episodes: unit[i] is the seed, or whatever makes runs alike, of run i,
 * and the spread is that of the units' contributions. */
AnalysisTested analysis_test_mean(const AnalysisCells *cells, const size_t *unit, double null, int sign);

/* Tests in which the best of several settings matters. Which one that is has to be learned from the same data. A
 * statement about it is supported where it holds for each setting that is not shown to be worse than another one
 * (intersection-union, Berger 1982; multiple comparisons with the best, Hsu 1984): for each, the smaller of the two
 * probabilities, doubled; of all, the largest. */
AnalysisTested analysis_test_end(const AnalysisCells *cells, bool high);
/* The same, and the end gains less than the margin late: cells->x is each run's late_gain (measures.def). */
AnalysisTested analysis_test_plateau(const AnalysisCells *cells, bool high, double margin);
AnalysisTested analysis_test_robust(const AnalysisCells *cells, bool high);
AnalysisTested analysis_test_same_best(const AnalysisCells *cells, double margin);
AnalysisTested analysis_test_best_at(const AnalysisCells *cells, bool high);

#endif
