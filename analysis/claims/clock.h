/* Scores at equal training time, for claims such as "best as a function of wall-clock time". They depend on the
 * compared runs, and are not a measure of a single run. */
#ifndef ANALYSIS_CLOCK_H
#define ANALYSIS_CLOCK_H
#include "analysis/claims/cells.h"

/* Sets cells->score to the measure score_at_time: the score of each run at the training time at which the fastest
 * finished run of its stratum made its last evaluation, by linear interpolation between evaluations. A run that ended
 * earlier keeps its last score. Runs without evaluations, or without times of them, get NaN and count as missing. */
int analysis_clock_scores(StoreDatabase *database, const AnalysisSelection *selection, AnalysisCells *cells);

#endif
