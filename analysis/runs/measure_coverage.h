/* State coverage as a measure of runs (measures.h). The share of visited cells grows with the number of states, so
 * runs are compared at equal numbers. */
#ifndef ANALYSIS_MEASURE_COVERAGE_H
#define ANALYSIS_MEASURE_COVERAGE_H
#include "analysis/runs/measures.h"

/* Reads value[count] of the runs run[count] of the selection: coverage_50 (a random projection;
 * trainer/rollout/coverage.h) at the smallest number of states that any of these runs with the same task and budget
 * (train.total_steps) had when it reached the budget. NaN: not measured, or not yet at that number. Runs that
 * diverged or failed early are ignored, because all others would be compared at their few states. */
int analysis_coverage_read(StoreDatabase *database, const AnalysisSelection *selection,
                           const AnalysisRunMetrics *measured, const size_t *run, size_t count, double *value);

#endif
