/* The replicates of a stratified bootstrap as a table. They depend on the seed and on how many runs each task has, not
 * on the scores, so all configurations of one shape share them; and a few runs can be drawn in few ways (five in 126),
 * so that a statistic need be taken once for each way and not 50 000 times. Intervals are those of the replicates one
 * by one, to the last bit. */
#ifndef ANALYSIS_DRAWS_H
#define ANALYSIS_DRAWS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it before the first use. */
typedef struct AnalysisDraws {
  size_t tasks, *first;      /* what it was made for: [tasks + 1], */
  size_t replicates;
  uint64_t seed;
  size_t ways;               /* distinct draws; 0: too many to be worth a table */
  uint32_t *count;           /* [ways][first[tasks]]: how often each run is drawn */
  uint32_t *weight;          /* [ways]: in how many replicates */
} AnalysisDraws;

/* The table for these numbers of runs (first[tasks + 1], as in AnalysisScores), made anew unless it is there. False:
 * draws hardly repeat themselves, and each replicate is to be taken by itself (analysis_stratified_draw). */
bool analysis_draws_prepare(AnalysisDraws *draws, const size_t *first, size_t tasks, size_t replicates, uint64_t seed);
void analysis_draws_free(AnalysisDraws *draws);

/* The percentiles q[0 .. count-1] (numpy's linear ones, as analysis_percentile) of the replicates' values, value[way]
 * being that of a way to draw; NaN are left out, NaN is the result when nothing else is there. */
void analysis_draws_percentiles(const AnalysisDraws *draws, const double *value, const double *q, size_t count,
                                double *result);

#endif
