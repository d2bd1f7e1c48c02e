/* Ranks settings by the differences between runs that they explain (lines.h). */
#include "analysis/runs/lines.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

enum { RANGES = 5 }; /* number of ranges into which many numeric values are merged */

typedef struct GroupSums { double sum, squares; size_t count; } GroupSums;

/* Computes omega squared (Hays 1963) of groups of runs, which corrects for what random groups would explain. */
static double omega_squared(const double *value, const size_t *group, size_t n, size_t groups) {
  double mean = 0, total = 0, within = 0;
  if (n <= groups) return 0;

  for (size_t i = 0; i < n; i++) mean += value[i] / (double)n;
  GroupSums *sums = core_memory_zero_allocate(groups + 1, sizeof *sums);
  for (size_t i = 0; i < n; i++) {
    GroupSums *sum = &sums[group[i]];
    sum->sum += value[i] - mean;
    sum->squares += (value[i] - mean) * (value[i] - mean);
    sum->count++;
  }

  for (size_t g = 0; g < groups; g++) {
    total += sums[g].squares;
    within += sums[g].count ? sums[g].squares - sums[g].sum * sums[g].sum / (double)sums[g].count : 0;
  }

  free(sums);
  const double error = within / (double)(n - groups);
  return total > 0 ? (total - within - (double)(groups - 1) * error) / (total + error) : 0;
}

/* Evaluates a key on the runs of the family. */
static int judge_key(const AnalysisSelection *selection, const AnalysisGrouping *grouping, size_t family,
                     const double *run_value, const CoreConfigRow *key, AnalysisCandidate *candidate) {
  AnalysisGrouping by_key = {0};
  TRY(analysis_group_runs(selection, key->name, &by_key));

  double *value = core_memory_allocate((selection->count + 1) * sizeof *value);
  size_t *group = core_memory_allocate((selection->count + 1) * sizeof *group), n = 0;
  bool *seen = core_memory_zero_allocate(by_key.count + 1, sizeof *seen);
  *candidate = (AnalysisCandidate){.key = key};

  for (size_t r = 0; r < selection->count; r++) {
    if (grouping->groups[grouping->group_of[r]].family != family) continue;
    candidate->values += !seen[by_key.group_of[r]];
    seen[by_key.group_of[r]] = true;

    value[n] = run_value[r];
    group[n] = by_key.group_of[r];
    n += isfinite(value[n]);
  }
  candidate->explained = omega_squared(value, group, n, by_key.count);

  free(value);
  free(group);
  free(seen);
  analysis_grouping_free(&by_key);
  return CORE_OK;
}

static int by_explained(const void *left, const void *right) {
  const AnalysisCandidate *a = left, *b = right;
  return (a->explained < b->explained) - (a->explained > b->explained);
}

int analysis_lines_rank(const AnalysisSelection *selection, const AnalysisGrouping *grouping, size_t family,
                       const double *value, AnalysisCandidate *list) {
  const AnalysisFamily *of = &grouping->families[family];
  for (size_t k = 0; k < of->key_count; k++)
    TRY(judge_key(selection, grouping, family, value, of->keys[k], &list[k]));
  qsort(list, of->key_count, sizeof *list, by_explained);
  return CORE_OK;
}

const AnalysisCandidate *analysis_lines_select(const AnalysisCandidate *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const bool number = core_config_is_number(list[i].key->kind);
    if (list[i].values > 1 && (list[i].values <= ANALYSIS_LINES_MAX || number)) return &list[i];
  }
  return NULL;
}

void analysis_lines_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                         const AnalysisCandidate *line) {
  analysis_grouping_merge(selection, grouping, family, &line->key, 1,
                          line->values > ANALYSIS_LINES_MAX ? RANGES : ANALYSIS_LINES_MAX);
}

int analysis_lines_limit(const AnalysisSelection *selection, AnalysisGrouping *grouping, const double *value) {
  for (size_t f = 0; f < grouping->family_count; f++) {
    const size_t count = grouping->families[f].key_count;
    if (grouping->families[f].group_count <= ANALYSIS_LINES_MAX) continue;
    AnalysisCandidate *list = core_memory_zero_allocate(count + 1, sizeof *list);
    const int code = analysis_lines_rank(selection, grouping, f, value, list);
    const AnalysisCandidate *line = code == CORE_OK ? analysis_lines_select(list, count) : NULL;
    if (line) analysis_lines_merge(selection, grouping, f, line);
    free(list);
    TRY(code);
  }
  return CORE_OK;
}
