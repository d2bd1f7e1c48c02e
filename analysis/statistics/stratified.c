/* The stratified bootstrap (stratified.h). A replicate is a vector of counts (how often each run was drawn); statistics
 * of counts are in scores.c. Replicates are divided over threads and write to their own place, so that the percentiles
 * see the same numbers whatever the division. */
#include "analysis/statistics/stratified.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

/* ---- drawing ---------------------------------------------------------------------------------------------------- */

static const uint32_t stream_tasks = UINT32_C(1) << 31; /* tasks of the second stream are counted from here */

/* How many uniform draws below n one 64-bit word gives: draws multiply, and what is left of the word after k of them
 * still has 64 - k log2(n) bits; with at least 32 left, a draw's bias is below 2^-32. */
static unsigned draws_a_word(size_t n) {
  unsigned draws = 1;
  for (uint64_t product = (uint64_t)n * n; product <= (uint64_t)1 << 32; product *= n) {
    if (++draws == 32) break; /* n = 1 needs no bits at all */
  }
  return draws;
}

void analysis_stratified_draw(const size_t *first, size_t tasks, uint64_t seed, uint32_t replicate, uint32_t stream,
                              uint32_t *count) {
  for (size_t t = 0; t < tasks; t++) {
    size_t n = first[t + 1] - first[t];
    uint32_t *drawn = count + first[t];
    unsigned left = 0, a_word = draws_a_word(n), half = 1;
    uint32_t block = 0;
    uint64_t word = 0;
    CoreRandom4 words = {{0}};
    memset(drawn, 0, n * sizeof *drawn);
    for (size_t i = 0; i < n; i++, left--) {
      if (left == 0) {
        half = 1 - half;
        if (half == 0) {
          words = core_random_4(seed, CORE_RANDOM_BOOTSTRAP, replicate, (uint32_t)t + stream * stream_tasks, block++);
        }
        word = (uint64_t)words.v[2 * half + 1] << 32 | words.v[2 * half];
        left = a_word;
      }
      unsigned __int128 product = (unsigned __int128)word * n;
      drawn[(size_t)(product >> 64)]++;
      word = (uint64_t)product;
    }
  }
}

/* ---- percentiles ------------------------------------------------------------------------------------------------ */

/* Hoare's selection: puts the k-th smallest at value[k], no greater ones before it. */
static void select_place(double *value, size_t n, size_t k) {
  size_t low = 0, high = n - 1;
  while (low < high) {
    double pivot = value[low + (high - low) / 2];
    size_t i = low, j = high;
    for (;;) {
      while (value[i] < pivot) i++;
      while (value[j] > pivot) j--;
      if (i >= j) break;
      double swap = value[i];
      value[i++] = value[j];
      value[j--] = swap;
    }
    /* value[low..j] <= pivot <= value[j+1..high] */
    if (k <= j) high = j;
    else low = j + 1;
  }
}

/* numpy's linear percentile, as analysis_percentile, without sorting all of them. Reorders the values. */
static double percentile_in_place(double *value, size_t n, double q) {
  if (n == 0) return NAN;
  double rank = q * (double)(n - 1);
  size_t below = (size_t)rank;
  select_place(value, n, below);
  double at = value[below], next = at;
  if (below + 1 < n) {
    next = value[below + 1];
    for (size_t i = below + 2; i < n; i++) next = value[i] < next ? value[i] : next;
  }
  return at + (rank - (double)below) * (next - at);
}

/* From the replicates' values, NaN among them left out, to an interval. */
static AnalysisInterval interval_of(double center, double *value, size_t replicates, double level, size_t n) {
  size_t defined = 0;
  for (size_t r = 0; r < replicates; r++) {
    if (!isnan(value[r])) value[defined++] = value[r];
  }
  AnalysisInterval interval = {center, NAN, NAN, n};
  if (isnan(center)) return interval;
  interval.low = percentile_in_place(value, defined, (1 - level) / 2);
  interval.high = percentile_in_place(value, defined, (1 + level) / 2);
  return interval;
}

/* The same from the values of the distinct draws. */
static AnalysisInterval interval_of_ways(double center, const AnalysisDraws *draws, const double *value, double level,
                                         size_t n) {
  const double q[2] = {(1 - level) / 2, (1 + level) / 2};
  double end[2] = {NAN, NAN};
  if (!isnan(center)) analysis_draws_percentiles(draws, value, q, 2, end);
  return (AnalysisInterval){center, end[0], end[1], n};
}

/* ---- aggregates ------------------------------------------------------------------------------------------------- */

/* value[k][replicate] */
static void aggregate_replicates(const AnalysisRanked *ranked, const AnalysisAggregate *wanted, size_t count,
                                 size_t replicates, uint64_t seed, double *value) {
  const AnalysisScores *scores = ranked->scores;
#pragma omp parallel
  {
    uint32_t *drawn = core_memory_allocate(ranked->n * sizeof *drawn);
    double *mean = core_memory_allocate(scores->tasks * sizeof *mean);
#pragma omp for schedule(static)
    for (size_t r = 0; r < replicates; r++) {
      analysis_stratified_draw(scores->first, scores->tasks, seed, (uint32_t)r, 0, drawn);
      for (size_t k = 0; k < count; k++)
        value[k * replicates + r] = analysis_ranked_aggregate(ranked, wanted[k], drawn, mean);
    }
    free(drawn);
    free(mean);
  }
}

void analysis_stratified_aggregates(AnalysisDraws *draws, const AnalysisScores *scores, const AnalysisAggregate *wanted,
                                    size_t count, size_t replicates, double level, uint64_t seed,
                                    AnalysisInterval *interval) {
  size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  AnalysisDraws own = {0};
  for (size_t k = 0; k < count; k++)
    interval[k] = (AnalysisInterval){analysis_aggregate(scores, wanted[k]), NAN, NAN, n};
  if (count == 0 || replicates == 0 || isnan(interval[0].center)) return;
  if (!draws) draws = &own;
  const bool few = analysis_draws_prepare(draws, scores->first, scores->tasks, replicates, seed);
  AnalysisRanked ranked = analysis_ranked_create(scores);
  double *value = core_memory_allocate(count * (few ? draws->ways : replicates) * sizeof *value);
  double *mean = core_memory_allocate(scores->tasks * sizeof *mean);
  if (!few) aggregate_replicates(&ranked, wanted, count, replicates, seed, value);
  for (size_t k = 0; k < count && !few; k++)
    interval[k] = interval_of(interval[k].center, value + k * replicates, replicates, level, n);
  for (size_t k = 0; k < count && few; k++) {
    for (size_t way = 0; way < draws->ways; way++)
      value[way] = analysis_ranked_aggregate(&ranked, wanted[k], draws->count + way * n, mean);
    interval[k] = interval_of_ways(interval[k].center, draws, value, level, n);
  }
  free(value);
  free(mean);
  analysis_ranked_free(&ranked);
  analysis_draws_free(&own);
}

/* ---- profiles and curves ---------------------------------------------------------------------------------------- */

/* The share of drawn runs above tau. */
static double share_above(const AnalysisScores *scores, double tau, const uint32_t *drawn, size_t n) {
  uint64_t above = 0;
  for (size_t j = 0; j < n; j++) above += scores->score[j] > tau ? drawn[j] : 0;
  return (double)above / (double)n;
}

void analysis_stratified_profile(AnalysisDraws *draws, const AnalysisScores *scores, const double *tau, size_t count,
                                 size_t replicates, double level, uint64_t seed, AnalysisInterval *interval) {
  size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  AnalysisDraws own = {0};
  for (size_t i = 0; i < count; i++)
    interval[i] = (AnalysisInterval){analysis_profile_runs(scores, tau[i]), NAN, NAN, n};
  if (count == 0 || replicates == 0 || isnan(interval[0].center)) return;
  if (!draws) draws = &own;
  const bool few = analysis_draws_prepare(draws, scores->first, scores->tasks, replicates, seed);
  double *value = core_memory_allocate((few ? draws->ways : count * replicates) * sizeof *value);
  for (size_t i = 0; i < count && few; i++) {
    for (size_t way = 0; way < draws->ways; way++) value[way] = share_above(scores, tau[i], draws->count + way * n, n);
    interval[i] = interval_of_ways(interval[i].center, draws, value, level, n);
  }
#pragma omp parallel if (!few)
  {
    uint32_t *drawn = core_memory_allocate(n * sizeof *drawn);
#pragma omp for schedule(static)
    for (size_t r = 0; r < (few ? 0 : replicates); r++) {
      analysis_stratified_draw(scores->first, scores->tasks, seed, (uint32_t)r, 0, drawn);
      for (size_t i = 0; i < count; i++) value[i * replicates + r] = share_above(scores, tau[i], drawn, n);
    }
    free(drawn);
  }
  for (size_t i = 0; i < count && !few; i++)
    interval[i] = interval_of(interval[i].center, value + i * replicates, replicates, level, n);
  free(value);
  analysis_draws_free(&own);
}

/* The scores of one point that are there, by task, and which run each is of. */
typedef struct Reached { double *score; size_t *first, *run; uint32_t *count; double *mean; size_t n, tasks; } Reached;

static Reached reached_create(size_t n, size_t tasks) {
  return (Reached){core_memory_allocate((n + 1) * sizeof(double)),   core_memory_allocate((tasks + 1) * sizeof(size_t)),
                   core_memory_allocate((n + 1) * sizeof(size_t)),   core_memory_allocate((n + 1) * sizeof(uint32_t)),
                   core_memory_allocate((tasks + 1) * sizeof(double)), 0, 0};
}

static void reached_free(Reached *reached) {
  free(reached->score);
  free(reached->first);
  free(reached->run);
  free(reached->count);
  free(reached->mean);
}

static void reached_fill(Reached *reached, const double *score, const size_t *first, size_t tasks) {
  reached->n = reached->tasks = reached->first[0] = 0;
  for (size_t t = 0; t < tasks; t++) {
    for (size_t i = first[t]; i < first[t + 1]; i++) {
      if (isnan(score[i])) continue;
      reached->run[reached->n] = i;
      reached->score[reached->n++] = score[i];
    }
    if (reached->n > reached->first[reached->tasks]) reached->first[++reached->tasks] = reached->n;
  }
}

/* drawn [replicates][n of all runs]; value: room for the replicates. */
static AnalysisInterval point_interval(Reached *reached, AnalysisAggregate aggregate, const uint32_t *drawn, size_t n,
                                       size_t replicates, double level, double *value) {
  AnalysisScores scores = {reached->score, reached->first, reached->tasks};
  AnalysisRanked ranked = analysis_ranked_create(&scores);
  for (size_t r = 0; r < replicates; r++) {
    for (size_t i = 0; i < reached->n; i++) reached->count[i] = drawn[r * n + reached->run[i]];
    value[r] = analysis_ranked_aggregate(&ranked, aggregate, reached->count, reached->mean);
  }
  analysis_ranked_free(&ranked);
  return interval_of(analysis_aggregate(&scores, aggregate), value, replicates, level, reached->n);
}

void analysis_stratified_curve(const double *score, size_t points, const size_t *first, size_t tasks,
                               AnalysisAggregate aggregate, size_t replicates, double level, uint64_t seed,
                               AnalysisInterval *interval) {
  size_t n = tasks ? first[tasks] : 0;
  uint32_t *drawn = core_memory_allocate((replicates * n + 1) * sizeof *drawn);
#pragma omp parallel
  {
    double *value = core_memory_allocate((replicates + 1) * sizeof *value);
    Reached reached = reached_create(n, tasks);
#pragma omp for schedule(static)
    for (size_t r = 0; r < replicates; r++)
      analysis_stratified_draw(first, tasks, seed, (uint32_t)r, 0, drawn + r * n);
#pragma omp for schedule(dynamic)
    for (size_t p = 0; p < points; p++) {
      reached_fill(&reached, score + p * n, first, tasks);
      interval[p] = point_interval(&reached, aggregate, drawn, n, replicates, level, value);
    }
    free(value);
    reached_free(&reached);
  }
  free(drawn);
}
