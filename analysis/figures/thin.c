/* Settings that explain the differences between runs (thin.h). */
#include "analysis/figures/thin.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/plot/csv.h"
#include "core/memory.h"

enum { RANGES = 5 }; /* for a number with more values than lines can be told apart */

/* Omega squared (Hays 1963), of groups of runs: what as many random groups would explain is taken off. */
static double omega_squared(const double *value, const size_t *group, size_t n, size_t groups) {
  double mean = 0, total = 0, within = 0;
  if (n <= groups) return 0;
  for (size_t i = 0; i < n; i++) mean += value[i] / (double)n;
  for (size_t g = 0; g < groups; g++) {
    double sum = 0, squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
      if (group[i] != g) continue;
      sum += value[i] - mean;
      squares += (value[i] - mean) * (value[i] - mean);
      count++;
    }
    total += squares;
    within += count ? squares - sum * sum / (double)count : 0;
  }
  const double error = within / (double)(n - groups);
  return total > 0 ? (total - within - (double)(groups - 1) * error) / (total + error) : 0;
}

/* Judges a key by the runs of the family. */
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

int analysis_thin_rank(const AnalysisSelection *selection, const AnalysisGrouping *grouping, size_t family,
                       const double *value, AnalysisCandidate *list) {
  const AnalysisFamily *of = &grouping->families[family];
  for (size_t k = 0; k < of->key_count; k++)
    TRY(judge_key(selection, grouping, family, value, of->keys[k], &list[k]));
  qsort(list, of->key_count, sizeof *list, by_explained);
  return CORE_OK;
}

const AnalysisCandidate *analysis_thin_line(const AnalysisCandidate *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const bool number = list[i].key->kind == CORE_CONFIG_INT || list[i].key->kind == CORE_CONFIG_REAL;
    if (list[i].values > 1 && (list[i].values <= ANALYSIS_LINES_MOST || number)) return &list[i];
  }
  return NULL;
}

void analysis_thin_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                         const AnalysisCandidate *line) {
  analysis_grouping_merge(selection, grouping, family, &line->key, 1,
                          line->values > ANALYSIS_LINES_MOST ? RANGES : ANALYSIS_LINES_MOST);
}

int analysis_thin_lines(const AnalysisSelection *selection, AnalysisGrouping *grouping, const double *value) {
  for (size_t f = 0; f < grouping->family_count; f++) {
    const size_t count = grouping->families[f].key_count;
    if (grouping->families[f].group_count <= ANALYSIS_LINES_MOST) continue;
    AnalysisCandidate *list = core_memory_zero_allocate(count + 1, sizeof *list);
    const int code = analysis_thin_rank(selection, grouping, f, value, list);
    const AnalysisCandidate *line = code == CORE_OK ? analysis_thin_line(list, count) : NULL;
    if (line) analysis_thin_merge(selection, grouping, f, line);
    free(list);
    TRY(code);
  }
  return CORE_OK;
}

void analysis_thin_legend(const AnalysisGrouping *grouping, const AnalysisMark *marks, bool line, AnalysisPlot *plot) {
  const bool heads = grouping->family_count > 1 && grouping->count > grouping->family_count;
  for (size_t g = 0; g < grouping->count && grouping->count > 1; g++) {
    const AnalysisGroup *group = &grouping->groups[g];
    if (heads && (g == 0 || group[-1].family != group->family))
      analysis_plot_legend_head(plot, grouping->families[group->family].name);
    analysis_plot_legend_entry(plot, heads ? group->within : group->label, marks[g], line);
  }
}

void analysis_thin_csv(const AnalysisGrouping *grouping, size_t group, CoreText *csv) {
  const AnalysisGroup *of = &grouping->groups[group];
  const AnalysisFamily *family = &grouping->families[of->family];
  CoreText value = {0};
  for (size_t k = 0; k < grouping->key_count; k++) {
    bool averaged = false;
    for (size_t a = 0; a < family->averaged_count; a++) averaged |= family->averaged[a] == grouping->keys[k];
    core_text_append(csv, ",");
    if (!averaged) analysis_csv_field(csv, analysis_key_value(of->config, grouping->keys[k], &value));
  }
  core_text_free(&value);
}

static void append_keys(const CoreConfigRow *const *keys, size_t count, const CoreConfigRow *without, CoreText *text) {
  bool first = true;
  for (size_t k = 0; k < count; k++) {
    if (keys[k] == without) continue;
    core_text_appendf(text, "%s%s", first ? "" : ", ", analysis_key_name(keys[k]));
    first = false;
  }
}

void analysis_thin_describe(const AnalysisGrouping *grouping, const CoreConfigRow *const *facet, CoreText *text) {
  bool any = false;
  for (size_t f = 0; f < grouping->family_count; f++) {
    const AnalysisFamily *family = &grouping->families[f];
    const CoreConfigRow *panels = facet ? facet[f] : NULL;
    const size_t rest = family->averaged_count - (panels != NULL);
    if (!family->averaged_count) continue;
    core_text_appendf(text, "%s%sines: %s", family->name, *family->name ? ": l" : "L",
                      analysis_key_name(family->keys[0]));
    if (panels) core_text_appendf(text, "; panels: %s", analysis_key_name(panels));
    if (rest) core_text_append(text, "; averaged over ");
    if (rest) append_keys(family->averaged, family->averaged_count, panels, text);
    core_text_append(text, ". ");
    any = true;
  }
  if (any) core_text_append(text, "Lines are of the setting that explains most of the last values. ");
}
