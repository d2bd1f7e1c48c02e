/* Stratified bootstrap (stratified.h). A replicate is a vector of counts (times each run was drawn); scores.c computes
 * statistics from counts. Threads share the replicates and store results by index, so that the percentiles do not
 * depend on the number of threads. */
#include "analysis/statistics/stratified.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

/* ---- sampling --------------------------------------------------------------------------------------------------- */

static const uint32_t stream_tasks = UINT32_C(1) << 31; /* first task number of the second stream */

/* Returns the number of uniform draws below n from one 64-bit word. After k draws by multiplication, 64 - k log2(n)
 * bits of the word remain; with at least 32 remaining, the bias of a draw is below 2^-32. */
static unsigned count_draws_per_word(size_t n) {
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
    unsigned remaining = 0, half = 1;
    const unsigned draws_per_word = count_draws_per_word(n);
    uint32_t block = 0;
    uint64_t word = 0;
    CoreRandom4 words = {{0}};

    memset(drawn, 0, n * sizeof *drawn);
    for (size_t i = 0; i < n; i++, remaining--) {
      if (remaining == 0) {
        half = 1 - half;
        if (half == 0) {
          words = core_random_4(seed, CORE_RANDOM_BOOTSTRAP, replicate, (uint32_t)t + stream * stream_tasks, block++);
        }
        word = (uint64_t)words.v[2 * half + 1] << 32 | words.v[2 * half];
        remaining = draws_per_word;
      }

      unsigned __int128 product = (unsigned __int128)word * n;
      drawn[(size_t)(product >> 64)]++;
      word = (uint64_t)product;
    }
  }
}

/* ---- percentiles ------------------------------------------------------------------------------------------------ */

/* Moves the k-th smallest value to value[k] and all smaller ones before it (Hoare's selection). */
static void select_kth(double *value, size_t n, size_t k) {
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

/* Computes analysis_percentile without a full sort. Reorders the values. */
static double percentile_in_place(double *value, size_t n, double q) {
  if (n == 0) return NAN;
  double rank = q * (double)(n - 1);
  size_t below = (size_t)rank;
  select_kth(value, n, below);
  double low = value[below], high = low;
  if (below + 1 < n) {
    high = value[below + 1];
    for (size_t i = below + 2; i < n; i++) high = value[i] < high ? value[i] : high;
  }
  return low + (rank - (double)below) * (high - low);
}

/* Computes the interval from the replicates' values, ignoring NaN. */
static AnalysisInterval replicates_interval(double center, double *value, size_t replicates, double level, size_t n) {
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

/* Computes the interval from the values of the distinct draws. */
static AnalysisInterval draws_interval(double center, const AnalysisDraws *draws, const double *value, double level,
                                       size_t n) {
  const double q[2] = {(1 - level) / 2, (1 + level) / 2};
  double bounds[2] = {NAN, NAN};
  if (!isnan(center)) analysis_draws_percentiles(draws, value, q, 2, bounds);
  return (AnalysisInterval){center, bounds[0], bounds[1], n};
}

/* ---- aggregates ------------------------------------------------------------------------------------------------- */

/* Computes value[k][replicate] for all aggregates. */
static void aggregate_replicates(const AnalysisRanked *ranked, const AnalysisAggregate *aggregates, size_t count,
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
        value[k * replicates + r] = analysis_ranked_aggregate(ranked, aggregates[k], drawn, mean);
    }
    free(drawn);
    free(mean);
  }
}

void analysis_stratified_aggregates(AnalysisDraws *draws, const AnalysisScores *scores,
                                    const AnalysisAggregate *aggregates, size_t count, size_t replicates, double level,
                                    uint64_t seed, AnalysisInterval *interval) {
  size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  AnalysisDraws local_draws = {0};

  for (size_t k = 0; k < count; k++)
    interval[k] = (AnalysisInterval){analysis_aggregate(scores, aggregates[k]), NAN, NAN, n};
  if (count == 0 || replicates == 0 || isnan(interval[0].center)) return;
  if (!draws) draws = &local_draws;

  const bool has_table = analysis_draws_prepare(draws, scores->first, scores->tasks, replicates, seed);
  AnalysisRanked ranked = analysis_ranked_create(scores);
  double *value = core_memory_allocate(count * (has_table ? draws->distinct : replicates) * sizeof *value);
  double *mean = core_memory_allocate(scores->tasks * sizeof *mean);

  if (has_table) {
    for (size_t k = 0; k < count; k++) {
      for (size_t d = 0; d < draws->distinct; d++)
        value[d] = analysis_ranked_aggregate(&ranked, aggregates[k], draws->count + d * n, mean);
      interval[k] = draws_interval(interval[k].center, draws, value, level, n);
    }
  } else {
    aggregate_replicates(&ranked, aggregates, count, replicates, seed, value);
    for (size_t k = 0; k < count; k++)
      interval[k] = replicates_interval(interval[k].center, value + k * replicates, replicates, level, n);
  }

  free(value);
  free(mean);
  analysis_ranked_free(&ranked);
  analysis_draws_free(&local_draws);
}

/* ---- profiles and curves ---------------------------------------------------------------------------------------- */

/* Counts, for each score, the thresholds below it. tau: ascending. */
static uint32_t *rank_scores(const AnalysisScores *scores, size_t n, const double *tau, size_t count) {
  uint32_t *rank = core_memory_allocate((n + 1) * sizeof *rank);
  for (size_t j = 0; j < n; j++)
    for (rank[j] = 0; rank[j] < count && scores->score[j] > tau[rank[j]];) rank[j]++;
  return rank;
}

/* Computes the share of drawn runs above each threshold: share[i * stride]. above: scratch [count + 1]. */
static void shares_above(const uint32_t *rank, const uint32_t *drawn, size_t n, size_t count, uint64_t *above,
                         double *share, size_t stride) {
  memset(above, 0, (count + 1) * sizeof *above);
  for (size_t j = 0; j < n; j++) above[rank[j]] += drawn[j];
  for (size_t i = count; i-- > 0;) {
    share[i * stride] = (double)above[i + 1] / (double)n;
    above[i] += above[i + 1];
  }
}

void analysis_stratified_profile(AnalysisDraws *draws, const AnalysisScores *scores, const double *tau, size_t count,
                                 size_t replicates, double level, uint64_t seed, AnalysisInterval *interval) {
  size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  AnalysisDraws local_draws = {0};

  for (size_t i = 0; i < count; i++)
    interval[i] = (AnalysisInterval){analysis_profile_runs(scores, tau[i]), NAN, NAN, n};
  if (count == 0 || replicates == 0 || isnan(interval[0].center)) return;
  if (!draws) draws = &local_draws;

  const bool has_table = analysis_draws_prepare(draws, scores->first, scores->tasks, replicates, seed);
  const size_t rows = has_table ? draws->distinct : replicates;
  double *value = core_memory_allocate(count * rows * sizeof *value);
  uint32_t *rank = rank_scores(scores, n, tau, count);

#pragma omp parallel if (!has_table)
  {
    uint32_t *sampled = core_memory_allocate(n * sizeof *sampled);
    uint64_t *above = core_memory_allocate((count + 1) * sizeof *above);
#pragma omp for schedule(static)
    for (size_t r = 0; r < rows; r++) {
      const uint32_t *drawn = has_table ? draws->count + r * n : sampled;
      if (!has_table) analysis_stratified_draw(scores->first, scores->tasks, seed, (uint32_t)r, 0, sampled);
      shares_above(rank, drawn, n, count, above, value + r, rows);
    }
    free(sampled);
    free(above);
  }

  for (size_t i = 0; i < count; i++)
    interval[i] = has_table ? draws_interval(interval[i].center, draws, value + i * rows, level, n)
                            : replicates_interval(interval[i].center, value + i * rows, rows, level, n);

  free(value);
  free(rank);
  analysis_draws_free(&local_draws);
}

/* Scores of the runs that reach one point of a curve, grouped by task. */
typedef struct PointScores {
  double *score;         /* [n] */
  size_t *first, *run;   /* [tasks + 1] as in AnalysisScores; [n] index of each score's run */
  uint32_t *count;       /* [n] scratch: counts of a replicate */
  double *mean;          /* [tasks] scratch: means of a replicate */
  size_t n, tasks;
} PointScores;

static void point_scores_fill(PointScores *point, const double *score, const size_t *first, size_t tasks) {
  point->n = point->tasks = point->first[0] = 0;
  for (size_t t = 0; t < tasks; t++) {
    for (size_t i = first[t]; i < first[t + 1]; i++) {
      if (isnan(score[i])) continue;
      point->run[point->n] = i;
      point->score[point->n++] = score[i];
    }
    if (point->n > point->first[point->tasks]) point->first[++point->tasks] = point->n;
  }
}

/* Computes the interval at one point. drawn: [replicates][n of all runs]; value: scratch [replicates]. */
static AnalysisInterval point_interval(PointScores *point, AnalysisAggregate aggregate, const uint32_t *drawn, size_t n,
                                       size_t replicates, double level, double *value) {
  AnalysisScores scores = {point->score, point->first, point->tasks};
  AnalysisRanked ranked = analysis_ranked_create(&scores);
  for (size_t r = 0; r < replicates; r++) {
    for (size_t i = 0; i < point->n; i++) point->count[i] = drawn[r * n + point->run[i]];
    value[r] = analysis_ranked_aggregate(&ranked, aggregate, point->count, point->mean);
  }
  analysis_ranked_free(&ranked);
  return replicates_interval(analysis_aggregate(&scores, aggregate), value, replicates, level, point->n);
}

void analysis_stratified_curve(const double *score, size_t points, const size_t *first, size_t tasks,
                               AnalysisAggregate aggregate, size_t replicates, double level, uint64_t seed,
                               AnalysisInterval *interval) {
  size_t n = tasks ? first[tasks] : 0;
  uint32_t *drawn = core_memory_allocate((replicates * n + 1) * sizeof *drawn);

#pragma omp parallel
  {
    double *value = core_memory_allocate((replicates + 1) * sizeof *value);
    PointScores point = {.score = core_memory_allocate((n + 1) * sizeof(double)),
                         .first = core_memory_allocate((tasks + 1) * sizeof(size_t)),
                         .run = core_memory_allocate((n + 1) * sizeof(size_t)),
                         .count = core_memory_allocate((n + 1) * sizeof(uint32_t)),
                         .mean = core_memory_allocate((tasks + 1) * sizeof(double))};
#pragma omp for schedule(static)
    for (size_t r = 0; r < replicates; r++)
      analysis_stratified_draw(first, tasks, seed, (uint32_t)r, 0, drawn + r * n);
#pragma omp for schedule(dynamic)
    for (size_t p = 0; p < points; p++) {
      point_scores_fill(&point, score + p * n, first, tasks);
      interval[p] = point_interval(&point, aggregate, drawn, n, replicates, level, value);
    }
    free(value);
    free(point.score);
    free(point.first);
    free(point.run);
    free(point.count);
    free(point.mean);
  }

  free(drawn);
}
