/* State coverage as a measure of runs (measures.h): the share of cells that a run's states have reached grows with
 * their number, so runs are compared where they had looked at equally many. */
#ifndef ANALYSIS_MEASURE_COVERAGE_H
#define ANALYSIS_MEASURE_COVERAGE_H
#include "analysis/runs/measures.h"

/* Reads value[count], that of the runs run[count] of the selection: coverage_50 (a random projection's;
 * trainer/rollout/coverage.h) when the run had looked at as many states as that of these runs of its task and budget
 * (train.total_steps) which had looked at the fewest when it reached its budget. NaN: not measured, or not so far yet.
 * A run that broke down early does not count: it would compare all others at its few states. */
int analysis_coverage_read(StoreDatabase *database, const AnalysisSelection *selection,
                           const AnalysisMeasured *measured, const size_t *run, size_t count, double *value);

#endif
