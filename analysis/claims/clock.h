/* Scores at equal training time, for claims of the kind "best as a function of wall-clock time". They depend on the
 * runs that are compared, so they are no measure of one run. */
#ifndef ANALYSIS_CLOCK_H
#define ANALYSIS_CLOCK_H
#include "analysis/claims/cells.h"

/* cells->score becomes the measure score_at_time: of each run its score at the training time at which the quickest
 * finished run of its stratum made its last evaluation, between two evaluations by linear interpolation. A run that
 * ended before keeps its last score. NaN, and counted as missing: no evaluation, or no time of one, is known. The
 * errors are the store's. */
int analysis_clock_scores(StoreDatabase *database, const AnalysisSelection *selection, AnalysisCells *cells);

#endif
