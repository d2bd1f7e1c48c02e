/* Tests of claims by permutation (Fisher 1935): were the claim's setting without effect, the runs of a stratum could
 * have come in any order, so the data are put into other orders and asked again.  Few runs have few orders:
 * analysis_permute_least says how small a probability can be. */
#ifndef ANALYSIS_PERMUTE_H
#define ANALYSIS_PERMUTE_H
#include "analysis/claims/contrast.h"

/* RISES (and FALLS: p_for and p_against exchanged): P(a run of a larger key has a larger measure), ties half, over the
 * pairs of cells of each stratum; mean over strata. Runs are exchanged between the cells of a stratum, and the
 * statistic is in units of its own standard error; where cells spread differently or differ in their numbers of seeds,
 * Brunner and Munzel's (2000) t must agree. */
AnalysisTested analysis_test_rises(const AnalysisCells *cells);

/* The following look at configurations: a cell is a point, its means of x and of the measure. Points are exchanged
 * within strata of six or more.
 * MIDDLE: middle third by x - the outer third that is greater; both differences must be there. */
AnalysisTested analysis_test_middle(const AnalysisCells *cells);
/* UP (DOWN: exchanged): Spearman's rho, mean over strata by their points. */
AnalysisTested analysis_test_rho(const AnalysisCells *cells);
/* GROWS: rho of x with the measure - rho of x with early[runs], the measure of early training; each configuration's two
 * ranks are exchanged. */
AnalysisTested analysis_test_grows(const AnalysisCells *cells, const double *early);

/* The smallest probability that RISES can give with n seeds in each of these cells. */
double analysis_permute_least(const AnalysisCells *cells, size_t n);

#endif
