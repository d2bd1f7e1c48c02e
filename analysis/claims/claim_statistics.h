/* The statistics that claims are about, of runs that a bootstrap drew: seeds within cells, or whole configurations.
 * Pure functions; NAN where a statistic is not defined. */
#ifndef ANALYSIS_CLAIM_STATISTICS_H
#define ANALYSIS_CLAIM_STATISTICS_H
#include "analysis/claims/cells.h"
#include "analysis/statistics/statistics.h"

/* A statistic of cells in which each run counts count[i] times; the mean over the strata that have one. `choice`, of 2
 * or 4 cells a stratum, was made from the data once, so that replicates do not choose anew; SIZE_MAX leaves a stratum
 * out. */
typedef double (*AnalysisCellStatistic)(const AnalysisCells *cells, const uint32_t *count, const size_t *choice);

/* P(a later cell's run > an earlier cell's), ties half; the mean over pairs of cells. choice: not used. */
double analysis_claim_rising(const AnalysisCells *cells, const uint32_t *count, const size_t *choice);
/* Mean of the best cell - mean of the one at the end. choice [2]: those two. */
double analysis_claim_end_gap(const AnalysisCells *cells, const uint32_t *count, const size_t *choice);
/* That at the smallest second key - that at the largest. choice [4]: best and end at each. */
double analysis_claim_end_gap_shrinks(const AnalysisCells *cells, const uint32_t *count, const size_t *choice);
/* Decades between the best keys at the smallest and the largest second key. choice [4]: [begin, end) of their cells. */
double analysis_claim_best_shift(const AnalysisCells *cells, const uint32_t *count, const size_t *choice);

/* [runs] each; the context of the AnalysisStatistics below. */
typedef struct AnalysisPoints { const double *x, *y, *early; } AnalysisPoints;

/* Spearman's rho of x and y - that of x and `early`. */
double analysis_claim_rho_growth(const void *points, const size_t *index, size_t n);
/* Mean of y. */
double analysis_claim_mean(const void *points, const size_t *index, size_t n);
/* Mean y of the middle third by x - the greater of the outer thirds' means. */
double analysis_claim_middle(const void *points, const size_t *index, size_t n);

#endif
