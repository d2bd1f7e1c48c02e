/* State coverage as a measure of runs (measures.h): the share of cells that a run's states have reached grows with
 * their number, so runs are compared where they had looked at equally many. */
#ifndef ANALYSIS_MEASURE_COVERAGE_H
#define ANALYSIS_MEASURE_COVERAGE_H
#include "analysis/runs/measures.h"

/* Fills in value[coverage] of measured[selection->count], whose other values are read: coverage_50 (a random
 * projection's; trainer/rollout/coverage.h) when the run had looked at as many states as that of the runs of its
 * task and budget (train.total_steps) which had looked at the fewest when it ended. NaN: not measured, or not so far
 * yet. last[run]: its last iteration that counts, 0 without one; key[run]: of its rows. */
int analysis_measures_read_coverage(StoreDatabase *database, const AnalysisSelection *selection, const int64_t *key,
                                    const int64_t *last, AnalysisMeasured *measured);

#endif
