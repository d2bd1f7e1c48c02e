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
 * (claims.h), is below the margin on average. */
AnalysisTestResult analysis_test_plateau(const AnalysisCells *cells, bool high, double margin);
AnalysisTestResult analysis_test_robust(const AnalysisCells *cells, bool high);
AnalysisTestResult analysis_test_same_best(const AnalysisCells *cells, double margin);
AnalysisTestResult analysis_test_best_at(const AnalysisCells *cells, bool high);

/* ---- shared by the files of tests -------------------------------------------------------------------------------- */

/* Cells by their keys, and weights of pairs of cells. */

/* Returns the distinct values of an array, ascending: [*found]; free() them. */
double *analysis_distinct(const double *value, size_t count, size_t *found);
/* Finds the cell of a stratum with this key and second key (NaN: any); SIZE_MAX: none. */
size_t analysis_cell_find(const AnalysisCells *cells, size_t stratum, double key, double second);
/* Adds sign x (cell a - cell b) to weight[cells], averaged over the strata that have both; returns their number. */
size_t analysis_add_pair_weights(const AnalysisCells *cells, double key_a, double second_a, double key_b,
                                 double second_b, double sign, double *weight);
/* Tests whether all of `count` differences, weights[count][cells], are within the margin, each by two one-sided tests.
 * A single difference that is significantly outside contradicts, with Bonferroni for their number. */
AnalysisTestResult analysis_contrasts_within(const AnalysisCells *cells, const double *weights, size_t count,
                                         double margin);

/* ---- permute.c: permutation tests -------------------------------------------------------------------------------- */

/* Permutation tests of claims (Fisher 1935): if the setting had no effect, the runs of a stratum would be exchangeable,
 * so that the statistic is compared with its values under random permutations. Few runs have few permutations:
 * analysis_permute_p_min returns the smallest possible probability. */

/* Tests RISES (FALLS: exchange p_for and p_against). The statistic is P(a run of a larger key has a larger measure),
 * ties counting 1/2, over the pairs of cells of each stratum, averaged over strata, and studentized. Runs are permuted
 * between the cells of a stratum. Brunner and Munzel's (2000) t must agree, in case cells differ in spread or number of
 * seeds. */
AnalysisTestResult analysis_test_rises(const AnalysisCells *cells);

/* Returns the smallest probability that RISES can give with n seeds in each of these cells. */
double analysis_permute_p_min(const AnalysisCells *cells, size_t n);

/* ---- levers.c: relations over a grid ----------------------------------------------------------------------------- */

/* Tests of a relation between a measured x (the DDR) and the measure over the configurations of a grid.
 *
 * The configurations are no sample: they differ by a few levers, each of which moves x and the measure, and two that
 * depend on the same lever are related whatever x does. So a lever counts as one observation: the slope of the
 * measure over x within blocks of configurations that differ in this lever only. Student's t over the levers tests the
 * mean slope (Ibragimov and Mueller 2010, J. Business & Economic Statistics 28:453, valid for slopes of unequal
 * precision). If levers matter in directions that are unrelated to x, the nominal rate is significant; correlations
 * within blocks, which end at 1, exceed it. Slopes of UP, DOWN and GROWS that share configurations are correlated if
 * these move them alike, as where x has nothing to do with the settings; the variance of their mean is then larger by
 * (1 + (n - 1) r) / (1 - r), r being the correlation of n slopes whose configurations deviate independently.
 *
 * A lever is a smallest set of settings in which two configurations of a stratum differ: ppo.epsilon, or env.num and
 * ppo.num_steps if these change together. Each cell is a point, with its means of x and of the measure, which is
 * ranked within the stratum except in MIDDLE. Strata with the same lever are averaged. */

enum { ANALYSIS_LEVERS_MIN = 3 }; /* with two, Student's t has one degree of freedom */

/* Tests UP (DOWN: exchange p_for and p_against): the mean slope of the measure. */
AnalysisTestResult analysis_test_relation(const AnalysisTable *table, const AnalysisCells *cells);
/* Tests GROWS: the mean slope of the final measure minus that with early[runs], the measure early in training. */
AnalysisTestResult analysis_test_relation_grows(const AnalysisTable *table, const AnalysisCells *cells,
                                             const double *early);
/* Tests MIDDLE: the middle third of the stratum by x against each outer third, within the blocks of a lever; both
 * differences must be significant. */
AnalysisTestResult analysis_test_middle(const AnalysisTable *table, const AnalysisCells *cells);

/* ---- curve.c: one curve for all settings ------------------------------------------------------------------------- */

/* Test of a common curve: whether the score is the same function of x (the DDR), whichever setting changes x. A lever
 * is the set of settings by which a configuration differs from the usual ones of its stratum, such as "ppo.epsilon", or
 * "algo.name and ppo.com".
 *
 * For each lever, a cubic in log x is fitted to the means of all other configurations. Of the lever's configurations
 * within the others' range of x, the mean distance from that curve must be within the margin, both for the lower half
 * by x and for the upper half. Each mean is a linear contrast of cell means that treats x as known. */

/* Computes the levers of a stratum's cells, as hashes of the settings that differ: lever[cells], 0 for the usual
 * settings. */
void analysis_curve_levers(const AnalysisTable *table, const AnalysisCells *cells, size_t stratum, uint64_t *lever);
/* Runs the test. cells->x: log x of each run. result.strata: number of strata with at least two levers that could
 * be compared. */
AnalysisTestResult analysis_test_one_curve(const AnalysisTable *table, const AnalysisCells *cells, double margin);

#endif
