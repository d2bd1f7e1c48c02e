/* Test of a common curve: whether the score is the same function of x (the DDR), whichever setting changes x. A lever
 * is the set of settings by which a configuration differs from the usual ones of its stratum, such as "ppo.epsilon", or
 * "algo.name and ppo.com".
 *
 * For each lever, a cubic in log x is fitted to the means of all other configurations. Of the lever's configurations
 * within the others' range of x, the mean distance from that curve must be within the margin, both for the lower half
 * by x and for the upper half. Each mean is a linear contrast of cell means (contrast.h) that treats x as known. */
#ifndef ANALYSIS_CURVE_H
#define ANALYSIS_CURVE_H
#include "analysis/claims/contrast.h"

/* Computes the levers of a stratum's cells, as hashes of the settings that differ: lever[cells], 0 for the usual
 * settings. */
void analysis_curve_levers(const AnalysisTable *table, const AnalysisCells *cells, size_t stratum, uint64_t *lever);
/* Runs the test. cells->x: log x of each run. result.strata: number of strata with at least two levers that could
 * be compared. */
AnalysisTestResult analysis_test_one_curve(const AnalysisTable *table, const AnalysisCells *cells, double margin);

#endif
