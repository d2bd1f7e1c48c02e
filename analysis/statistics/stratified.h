/* Intervals by the stratified percentile bootstrap (Agarwal et al. 2021; rliable's StratifiedBootstrap;
 * metrics.md 5.4): each replicate draws, for each task by itself, as many runs as it has, with replacement, and keeps
 * the tasks.
 *
 * Random numbers are counters: replicate r draws task t's runs from Philox (seed; CORE_RANDOM_BOOTSTRAP, r, t), so
 * every interval is bit for bit the same whatever the number of threads. All functions use all of OpenMP's threads. */
#ifndef ANALYSIS_STRATIFIED_H
#define ANALYSIS_STRATIFIED_H
#include "analysis/statistics/draws.h"
#include "analysis/statistics/scores.h"
#include "analysis/statistics/statistics.h"

enum {
  ANALYSIS_REPLICATES = 50000,       /* rliable's number for a single interval */
  ANALYSIS_REPLICATES_CURVE = 2000,  /* a point of a curve */
};

/* interval[k] for wanted[k]: center = the aggregate of the scores as they are; low, high: the (1 -+ level) / 2
 * percentiles of the same replicates for all k. n = number of scores. NaN where the aggregate is NaN. draws: what the
 * calls for many configurations share (draws.h); NULL for a single one. */
void analysis_stratified_aggregates(AnalysisDraws *draws, const AnalysisScores *scores, const AnalysisAggregate *wanted,
                                    size_t count, size_t replicates, double level, uint64_t seed,
                                    AnalysisInterval *interval);

/* Performance profile over runs with pointwise bands: interval[i] at tau[i]. draws: as above. */
void analysis_stratified_profile(AnalysisDraws *draws, const AnalysisScores *scores, const double *tau, size_t count,
                                 size_t replicates, double level, uint64_t seed, AnalysisInterval *interval);

/* Sample efficiency curve: the aggregate at every point of a common grid. score [point][first[tasks]], NaN where a run
 * did not get that far. Whole runs are drawn: a replicate uses the same runs at all points. At a point only runs that
 * reach it count, as many as were drawn; a task that nobody reaches there is left out. interval[i].n = runs that reach
 * point i. */
void analysis_stratified_curve(const double *score, size_t points, const size_t *first, size_t tasks,
                               AnalysisAggregate aggregate, size_t replicates, double level, uint64_t seed,
                               AnalysisInterval *interval);

/* The number of times that replicate r draws each run: count[first[tasks]]. For tests and callers with a statistic of
 * their own. `stream` separates independent draws of one replicate (x and y of a comparison): 0 or 1. */
void analysis_stratified_draw(const size_t *first, size_t tasks, uint64_t seed, uint32_t replicate, uint32_t stream,
                              uint32_t *count);

#endif
