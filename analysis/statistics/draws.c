/* Distinct draws of a stratified bootstrap and how often each came (draws.h). */
#include "analysis/statistics/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/stratified.h"
#include "core/memory.h"

/* Below so many replicates a way, on average, the table costs more than it saves. */
enum { REPEATS_LEAST = 4 };

/* Ways to draw n of n with repetition: (2n - 1 over n). Stops at `most`. */
static size_t ways_of_task(size_t n, size_t most) {
  size_t ways = 1;
  for (size_t k = 1; k < n; k++) {
    ways = ways * (n + k) / k; /* (n + k over k), whole at each step; (2n - 1 over n - 1) at the last */
    if (ways > most) return most + 1;
  }
  return ways;
}

static size_t ways_of_all(const size_t *first, size_t tasks, size_t most) {
  size_t ways = 1;
  for (size_t t = 0; t < tasks && ways <= most; t++) ways *= ways_of_task(first[t + 1] - first[t], most);
  return ways;
}

static bool is_made_for(const AnalysisDraws *draws, const size_t *first, size_t tasks, size_t replicates,
                        uint64_t seed) {
  return draws->first && draws->tasks == tasks && draws->replicates == replicates && draws->seed == seed &&
         memcmp(draws->first, first, (tasks + 1) * sizeof *first) == 0;
}

typedef struct Draw { const uint32_t *count; size_t runs; } Draw;

static int by_counts(const void *left, const void *right) {
  const Draw *a = left, *b = right;
  return memcmp(a->count, b->count, a->runs * sizeof *a->count);
}

/* drawn [replicates][runs] -> the distinct ones. */
static void collapse(AnalysisDraws *draws, const uint32_t *drawn, size_t runs) {
  Draw *order = core_memory_allocate(draws->replicates * sizeof *order);
  for (size_t r = 0; r < draws->replicates; r++) order[r] = (Draw){drawn + r * runs, runs};
  qsort(order, draws->replicates, sizeof *order, by_counts);
  for (size_t r = 0; r < draws->replicates; r++) {
    if (r == 0 || by_counts(&order[r - 1], &order[r]) != 0) {
      memcpy(draws->count + draws->ways * runs, order[r].count, runs * sizeof *drawn);
      draws->weight[draws->ways++] = 0;
    }
    draws->weight[draws->ways - 1]++;
  }
  free(order);
}

bool analysis_draws_prepare(AnalysisDraws *draws, const size_t *first, size_t tasks, size_t replicates, uint64_t seed) {
  if (is_made_for(draws, first, tasks, replicates, seed)) return draws->ways > 0;
  analysis_draws_free(draws);
  *draws = (AnalysisDraws){.tasks = tasks, .replicates = replicates, .seed = seed};
  draws->first = core_memory_allocate((tasks + 1) * sizeof *first);
  memcpy(draws->first, first, (tasks + 1) * sizeof *first);
  const size_t runs = first[tasks], most = replicates / REPEATS_LEAST, ways = ways_of_all(first, tasks, most);
  if (runs == 0 || ways > most) return false;
  uint32_t *drawn = core_memory_allocate(replicates * runs * sizeof *drawn);
  for (size_t r = 0; r < replicates; r++)
    analysis_stratified_draw(first, tasks, seed, (uint32_t)r, 0, drawn + r * runs);
  draws->count = core_memory_allocate(ways * runs * sizeof *draws->count);
  draws->weight = core_memory_allocate(ways * sizeof *draws->weight);
  collapse(draws, drawn, runs);
  free(drawn);
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

static int by_value(const void *left, const void *right) {
  const Weighted *a = left, *b = right;
  return (a->value > b->value) - (a->value < b->value);
}

/* The value at `rank` of the sorted replicates. */
static double at_rank(const Weighted *sorted, size_t n, size_t rank) {
  size_t i = 0;
  for (; i + 1 < n && rank >= sorted[i].weight; i++) rank -= sorted[i].weight;
  return sorted[i].value;
}

void analysis_draws_percentiles(const AnalysisDraws *draws, const double *value, const double *q, size_t count,
                                double *result) {
  Weighted *sorted = core_memory_allocate(draws->ways * sizeof *sorted);
  size_t n = 0, defined = 0;
  for (size_t way = 0; way < draws->ways; way++) {
    if (isnan(value[way])) continue;
    sorted[n++] = (Weighted){value[way], draws->weight[way]};
    defined += draws->weight[way];
  }
  qsort(sorted, n, sizeof *sorted, by_value);
  for (size_t i = 0; i < count; i++) {
    result[i] = NAN;
    if (n == 0) continue;
    double rank = q[i] * (double)(defined - 1);
    size_t below = (size_t)rank;
    double at = at_rank(sorted, n, below), next = below + 1 < defined ? at_rank(sorted, n, below + 1) : at;
    result[i] = at + (rank - (double)below) * (next - at);
  }
  free(sorted);
}
