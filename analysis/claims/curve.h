/* Test of a common curve: whether the score depends on x (the DDR) in one way, whichever setting moves x. A lever is
 * what sets a configuration apart from the stratum's usual settings, so "ppo.epsilon", or "algo.name and ppo.com".
 *
 * For each lever a cubic of log x is fitted to the means of all other configurations. Where the lever's configurations
 * lie within the others' range of x, the mean of their distances from that curve must be within the margin, of the
 * lower half of them by x and of the upper half. Each mean is a linear contrast of the cells' means (contrast.h), in
 * which x counts as known. */
#ifndef ANALYSIS_CURVE_H
#define ANALYSIS_CURVE_H
#include "analysis/claims/contrast.h"

/* Numbers the levers of a stratum's cells, by hashes of the settings that differ: lever[cells], 0 for the usual
 * settings. */
void analysis_curve_levers(const AnalysisTable *table, const AnalysisCells *cells, size_t stratum, uint64_t *lever);
/* cells->x: each run's x, positive. strata of the result: strata with two levers or more that could be compared. */
AnalysisTested analysis_test_one_curve(const AnalysisTable *table, const AnalysisCells *cells, double margin);

#endif
