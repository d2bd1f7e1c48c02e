/* Permutation tests of claims (Fisher 1935): if the setting had no effect, the runs of a stratum would be exchangeable,
 * so that the statistic is compared with its values under random permutations. Few runs have few permutations:
 * analysis_permute_p_min returns the smallest possible probability. */
#ifndef ANALYSIS_PERMUTE_H
#define ANALYSIS_PERMUTE_H
#include "analysis/claims/contrast.h"

/* Tests RISES (FALLS: exchange p_for and p_against). The statistic is P(a run of a larger key has a larger measure),
 * ties counting 1/2, over the pairs of cells of each stratum, averaged over strata, and studentized. Runs are permuted
 * between the cells of a stratum. Brunner and Munzel's (2000) t must agree, in case cells differ in spread or number of
 * seeds. */
AnalysisTestResult analysis_test_rises(const AnalysisCells *cells);

/* Returns the smallest probability that RISES can give with n seeds in each of these cells. */
double analysis_permute_p_min(const AnalysisCells *cells, size_t n);

#endif
