/* Table of the replicates of a stratified bootstrap. They depend on the seed and the number of runs per task, not on
 * the scores, so that all configurations of one shape share them. A few runs have few distinct draws (five have 126),
 * so that a statistic is computed once per distinct draw instead of 50 000 times. Intervals are bit for bit those of
 * the individual replicates. */
#ifndef ANALYSIS_DRAWS_H
#define ANALYSIS_DRAWS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Table with its parameters. Initialize to zero. */
typedef struct AnalysisDraws {
  size_t tasks, *first;      /* [tasks + 1], as in AnalysisScores */
  size_t replicates;
  uint64_t seed;
  size_t distinct;           /* number of distinct draws; 0: too many for a table */
  uint32_t *count;           /* [distinct][first[tasks]] times that each run is drawn */
  uint32_t *weight;          /* [distinct] number of replicates with this draw */
} AnalysisDraws;

/* Computes the table for these numbers of runs (first[tasks + 1], as in AnalysisScores), unless it exists already.
 * Returns false if draws rarely repeat; the caller then evaluates each replicate (analysis_stratified_draw). */
bool analysis_draws_prepare(AnalysisDraws *draws, const size_t *first, size_t tasks, size_t replicates, uint64_t seed);
void analysis_draws_free(AnalysisDraws *draws);

/* Computes the percentiles q[count] of the replicates' values (linear interpolation as in numpy and
 * analysis_percentile). value: [distinct], one per distinct draw. Ignores NaN; NaN if there is no other value. */
void analysis_draws_percentiles(const AnalysisDraws *draws, const double *value, const double *q, size_t count,
                                double *result);

#endif
