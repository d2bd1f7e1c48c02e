/* Scale on which the values of a claim are compared, the same for all kinds of tests. */
#ifndef ANALYSIS_CLAIMS_SCALE_H
#define ANALYSIS_CLAIMS_SCALE_H
#include "analysis/claims/claims.h"

/* Chooses the comparison of a claim's values, sets f->comparison and f->margin, and transforms cells->score:
 * - differences: bounded measures (solve rates, shares), and slopes of logarithms. The values stay as they are;
 * - ratios: positive measures without an upper bound (KL, DDR, norms, speed), and returns if all are positive. The
 *   values become logarithms;
 * - shares: other returns and changes of returns, and all returns of tests that compare changes of one run. Each
 *   stratum is divided by its mean absolute value, so that no task outweighs the others.
 * Plateaus have a margin of their own, of cells->x: a twentieth. Late gains (x) are divided by the mean gain of their
 * cell since the start, such that the mean of x over the cell is the ratio of both means and its spread is that of the
 * linearized ratio. A straight line has 0.25, a square root of time 0.15, its logarithm 0.1, a saturated run 0.
 * A DDR or KL on the x axis (f->claim->key) becomes its logarithm. */
void analysis_cells_scale(const AnalysisTable *table, AnalysisCells *cells, AnalysisClaimResult *f);
/* Returns "ratio " and the like, which precede a value; "" for differences. */
const char *analysis_comparison_prefix(AnalysisComparison comparison);
/* Returns "difference", "ratio" or "share". */
const char *analysis_comparison_name(AnalysisComparison comparison);
/* Returns a value in the terms of the comparison: the ratio of its logarithm, else itself. */
double analysis_comparison_shown(AnalysisComparison comparison, double value);

#endif
