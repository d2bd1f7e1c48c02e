/* Table of the distinct draws of a stratified bootstrap and their frequencies (draws.h). */
#include "analysis/statistics/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/stratified.h"
#include "core/memory.h"

/* Mean number of replicates per distinct draw below which the table costs more than it saves. */
enum { REPEATS_MIN = 4 };

/* Returns the number of distinct draws of n from n with replacement, C(2n - 1, n); max + 1 if it is larger than max. */
static size_t count_task_draws(size_t n, size_t max) {
  size_t count = 1;
  for (size_t k = 1; k < n; k++) {
    count = count * (n + k) / k; /* C(n + k, k), an integer at each step; C(2n - 1, n - 1) at the last */
    if (count > max) return max + 1;
  }
  return count;
}

static size_t count_draws(const size_t *first, size_t tasks, size_t max) {
  size_t count = 1;
  for (size_t t = 0; t < tasks && count <= max; t++) count *= count_task_draws(first[t + 1] - first[t], max);
  return count;
}

/* Whether the table has been computed for these parameters. */
static bool is_current(const AnalysisDraws *draws, const size_t *first, size_t tasks, size_t replicates,
                       uint64_t seed) {
  return draws->first && draws->tasks == tasks && draws->replicates == replicates && draws->seed == seed &&
         memcmp(draws->first, first, (tasks + 1) * sizeof *first) == 0;
}

typedef struct Draw { const uint32_t *count; size_t runs; } Draw;

static int compare_counts(const void *left, const void *right) {
  const Draw *a = left, *b = right;
  return memcmp(a->count, b->count, a->runs * sizeof *a->count);
}

/* Groups equal draws of sampled [replicates][runs]. */
static void group_draws(AnalysisDraws *draws, const uint32_t *sampled, size_t runs) {
  Draw *order = core_memory_allocate(draws->replicates * sizeof *order);
  for (size_t r = 0; r < draws->replicates; r++) order[r] = (Draw){sampled + r * runs, runs};
  qsort(order, draws->replicates, sizeof *order, compare_counts);
  for (size_t r = 0; r < draws->replicates; r++) {
    if (r == 0 || compare_counts(&order[r - 1], &order[r]) != 0) {
      memcpy(draws->count + draws->distinct * runs, order[r].count, runs * sizeof *sampled);
      draws->weight[draws->distinct++] = 0;
    }
    draws->weight[draws->distinct - 1]++;
  }
  free(order);
}

bool analysis_draws_prepare(AnalysisDraws *draws, const size_t *first, size_t tasks, size_t replicates, uint64_t seed) {
  if (is_current(draws, first, tasks, replicates, seed)) return draws->distinct > 0;

  analysis_draws_free(draws);
  *draws = (AnalysisDraws){.tasks = tasks, .replicates = replicates, .seed = seed};
  draws->first = core_memory_allocate((tasks + 1) * sizeof *first);
  memcpy(draws->first, first, (tasks + 1) * sizeof *first);

  const size_t runs = first[tasks], distinct_max = replicates / REPEATS_MIN;
  const size_t distinct = count_draws(first, tasks, distinct_max);
  if (runs == 0 || distinct > distinct_max) return false;

  uint32_t *sampled = core_memory_allocate(replicates * runs * sizeof *sampled);
  for (size_t r = 0; r < replicates; r++)
    analysis_stratified_draw(first, tasks, seed, (uint32_t)r, 0, sampled + r * runs);

  draws->count = core_memory_allocate(distinct * runs * sizeof *draws->count);
  draws->weight = core_memory_allocate(distinct * sizeof *draws->weight);
  group_draws(draws, sampled, runs);
  free(sampled);
  return true;
}

void analysis_draws_free(AnalysisDraws *draws) {
  free(draws->first);
  free(draws->count);
  free(draws->weight);
  *draws = (AnalysisDraws){0};
}

/* ---- percentiles ------------------------------------------------------------------------------------------------ */

typedef struct Weighted { double value; uint32_t weight; } Weighted;

static int compare_values(const void *left, const void *right) {
  const Weighted *a = left, *b = right;
  return (a->value > b->value) - (a->value < b->value);
}

/* Returns the value with the given rank among the sorted replicates. */
static double find_rank(const Weighted *sorted, size_t n, size_t rank) {
  size_t i = 0;
  for (; i + 1 < n && rank >= sorted[i].weight; i++) rank -= sorted[i].weight;
  return sorted[i].value;
}

void analysis_draws_percentiles(const AnalysisDraws *draws, const double *value, const double *q, size_t count,
                                double *result) {
  Weighted *sorted = core_memory_allocate(draws->distinct * sizeof *sorted);
  size_t n = 0, defined = 0;

  for (size_t d = 0; d < draws->distinct; d++) {
    if (isnan(value[d])) continue;
    sorted[n++] = (Weighted){value[d], draws->weight[d]};
    defined += draws->weight[d];
  }

  qsort(sorted, n, sizeof *sorted, compare_values);
  for (size_t i = 0; i < count; i++) {
    result[i] = NAN;
    if (n == 0) continue;

    double rank = q[i] * (double)(defined - 1);
    size_t below = (size_t)rank;
    double low = find_rank(sorted, n, below), high = below + 1 < defined ? find_rank(sorted, n, below + 1) : low;
    result[i] = low + (rank - (double)below) * (high - low);
  }

  free(sorted);
}
