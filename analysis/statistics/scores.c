/* Aggregates of scores (scores.h). The same code serves bootstrap replicates and the scores themselves, which are the
 * replicate that draws each score once. */
#include "analysis/statistics/scores.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

const char *analysis_aggregate_name(AnalysisAggregate aggregate) {
  static const char *const names[ANALYSIS_AGGREGATES] = {"mean", "median", "iqm", "optimality gap"};
  return names[aggregate];
}

/* Whether there is a task, each task has a run, and no score is NaN. */
static bool is_complete(const AnalysisScores *scores) {
  if (scores->tasks == 0) return false;
  for (size_t t = 0; t < scores->tasks; t++) {
    if (scores->first[t] >= scores->first[t + 1]) return false;
  }
  for (size_t i = 0; i < scores->first[scores->tasks]; i++) {
    if (isnan(scores->score[i])) return false;
  }
  return true;
}

/* ---- ranked scores ---------------------------------------------------------------------------------------------- */

typedef struct Entry { double value; uint32_t index; } Entry;

/* Compares values, then indices, so that sums do not depend on how qsort orders equal values. */
static int compare_entries(const void *left, const void *right) {
  const Entry *a = left, *b = right;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

AnalysisRanked analysis_ranked_create(const AnalysisScores *scores) {
  size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  AnalysisRanked ranked = {scores, core_memory_allocate((n + 1) * sizeof(double)),
                           core_memory_allocate((n + 1) * sizeof(uint32_t)),
                           core_memory_allocate((n + 1) * sizeof(double)), n};
  Entry *entries = core_memory_allocate((n + 1) * sizeof *entries);
  for (size_t i = 0; i < n; i++) entries[i] = (Entry){scores->score[i], (uint32_t)i};
  qsort(entries, n, sizeof *entries, compare_entries);
  for (size_t i = 0; i < n; i++) {
    ranked.sorted[i] = entries[i].value;
    ranked.index[i] = entries[i].index;
    ranked.clipped[i] = scores->score[i] < 1 ? scores->score[i] : 1;
  }
  free(entries);
  return ranked;
}

void analysis_ranked_free(AnalysisRanked *ranked) {
  free(ranked->sorted);
  free(ranked->index);
  free(ranked->clipped);
  memset(ranked, 0, sizeof *ranked);
}

static size_t sum_counts(const uint32_t *count, size_t first, size_t end) {
  size_t n = 0;
  for (size_t i = first; i < end; i++) n += count[i];
  return n;
}

/* Walks up the sorted scores, skipping the lowest quarter and summing the middle half. */
static double ranked_iqm(const AnalysisRanked *ranked, const uint32_t *count) {
  const size_t n = sum_counts(count, 0, ranked->n), kept = n - 2 * (n / 4);
  size_t to_skip = n / 4, to_sum = kept;
  double sum = 0;
  for (size_t i = 0; i < ranked->n && to_sum > 0; i++) {
    size_t drawn = count[ranked->index[i]], skipped = drawn < to_skip ? drawn : to_skip;
    to_skip -= skipped;
    drawn -= skipped;
    if (drawn > to_sum) drawn = to_sum;
    to_sum -= drawn;
    if (drawn) sum += (double)drawn * ranked->sorted[i];
  }
  return sum / (double)kept; /* 0 / 0 if nothing was drawn */
}

/* Computes the means of the tasks with drawn scores, and returns their number. */
static size_t task_means(const AnalysisRanked *ranked, const uint32_t *count, double *mean) {
  const AnalysisScores *scores = ranked->scores;
  size_t tasks = 0;
  for (size_t t = 0; t < scores->tasks; t++) {
    double sum = 0;
    size_t n = sum_counts(count, scores->first[t], scores->first[t + 1]);
    for (size_t i = scores->first[t]; i < scores->first[t + 1]; i++) sum += count[i] * scores->score[i];
    if (n) mean[tasks++] = sum / (double)n;
  }
  return tasks;
}

/* Returns the median; sorts in place by insertion, since tasks are few. */
static double sort_median(double *value, size_t n) {
  for (size_t i = 1; i < n; i++) {
    double moving = value[i];
    size_t k = i;
    for (; k > 0 && value[k - 1] > moving; k--) value[k] = value[k - 1];
    value[k] = moving;
  }
  return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

double analysis_ranked_aggregate(const AnalysisRanked *ranked, AnalysisAggregate aggregate, const uint32_t *count,
                                 double *mean) {
  double sum = 0;
  size_t tasks;

  switch (aggregate) {
    case ANALYSIS_AGGREGATE_IQM: return ranked_iqm(ranked, count);
    case ANALYSIS_AGGREGATE_OPTIMALITY_GAP:
      for (size_t i = 0; i < ranked->n; i++) sum += count[i] * ranked->clipped[i];
      return 1 - sum / (double)sum_counts(count, 0, ranked->n);
    case ANALYSIS_AGGREGATE_MEDIAN:
      tasks = task_means(ranked, count, mean);
      return tasks ? sort_median(mean, tasks) : NAN;
    default:
      tasks = task_means(ranked, count, mean);
      for (size_t t = 0; t < tasks; t++) sum += mean[t];
      return sum / (double)tasks;
  }
}

double analysis_aggregate(const AnalysisScores *scores, AnalysisAggregate aggregate) {
  if (!is_complete(scores)) return NAN;
  AnalysisRanked ranked = analysis_ranked_create(scores);
  uint32_t *once = core_memory_allocate(ranked.n * sizeof *once);
  double *mean = core_memory_allocate(scores->tasks * sizeof *mean);
  for (size_t i = 0; i < ranked.n; i++) once[i] = 1;
  double value = analysis_ranked_aggregate(&ranked, aggregate, once, mean);
  free(once);
  free(mean);
  analysis_ranked_free(&ranked);
  return value;
}

/* ---- comparisons and profiles ----------------------------------------------------------------------------------- */

double analysis_probability_of_improvement(const AnalysisScores *x, const AnalysisScores *y) {
  if (x->tasks != y->tasks || !is_complete(x) || !is_complete(y)) return NAN;
  double sum = 0;
  for (size_t t = 0; t < x->tasks; t++) {
    double wins = 0;
    for (size_t i = x->first[t]; i < x->first[t + 1]; i++) {
      for (size_t j = y->first[t]; j < y->first[t + 1]; j++)
        wins += x->score[i] > y->score[j] ? 1 : x->score[i] == y->score[j] ? 0.5 : 0;
    }
    sum += wins / (double)((x->first[t + 1] - x->first[t]) * (y->first[t + 1] - y->first[t]));
  }
  return sum / (double)x->tasks;
}

double analysis_profile_runs(const AnalysisScores *scores, double tau) {
  if (!is_complete(scores)) return NAN;
  size_t n = scores->first[scores->tasks], above = 0;
  for (size_t i = 0; i < n; i++) above += scores->score[i] > tau;
  return (double)above / (double)n;
}
