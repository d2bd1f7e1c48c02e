/* Intervals by the stratified percentile bootstrap (Agarwal et al. 2021; StratifiedBootstrap in rliable's
 * library.py): each replicate resamples the runs of every task separately, with replacement, and keeps the tasks.
 *
 * The generator is counter-based: replicate r draws the runs of task t from Philox (seed; CORE_RANDOM_BOOTSTRAP, r, t),
 * so that intervals are bit-identical for any number of threads. All functions use all of OpenMP's threads. */
#ifndef ANALYSIS_STRATIFIED_H
#define ANALYSIS_STRATIFIED_H
#include "analysis/statistics/draws.h"
#include "analysis/statistics/scores.h"
#include "analysis/statistics/statistics.h"

enum {
  ANALYSIS_REPLICATES = 50000,       /* number for a single interval, as in rliable */
  ANALYSIS_REPLICATES_CURVE = 2000,  /* number for a point of a curve */
};

/* Computes interval[k] of aggregates[k]. center: aggregate of the original scores; low, high: (1 -+ level) / 2
 * percentiles of the replicates, which are the same for all k; n: number of scores. NaN if the aggregate is NaN. draws:
 * table shared by calls for many configurations (draws.h); NULL for a single one. */
void analysis_stratified_aggregates(AnalysisDraws *draws, const AnalysisScores *scores,
                                    const AnalysisAggregate *aggregates, size_t count, size_t replicates, double level,
                                    uint64_t seed, AnalysisInterval *interval);

/* Computes the performance profile over runs with pointwise bands: interval[i] at tau[i], in
 * ascending order. draws: as above. */
void analysis_stratified_profile(AnalysisDraws *draws, const AnalysisScores *scores, const double *tau, size_t count,
                                 size_t replicates, double level, uint64_t seed, AnalysisInterval *interval);

/* Computes a sample efficiency curve: the aggregate at every point of a common grid. score: [point][first[tasks]], NaN
 * at points that a run has not reached. Whole runs are resampled: a replicate uses the same runs at all points. At each
 * point, only runs that reach it count, and tasks without such runs are ignored. interval[i].n: number of runs that
 * reach point i. */
void analysis_stratified_curve(const double *score, size_t points, const size_t *first, size_t tasks,
                               AnalysisAggregate aggregate, size_t replicates, double level, uint64_t seed,
                               AnalysisInterval *interval);

/* Computes how many times a replicate draws each run: count[first[tasks]]. For tests and other statistics. stream: 0 or
 * 1, for independent draws of one replicate (x and y of a comparison). */
void analysis_stratified_draw(const size_t *first, size_t tasks, uint64_t seed, uint32_t replicate, uint32_t stream,
                              uint32_t *count);

#endif
