/* Selects the lines and panels of a set of curves (curve_set.h), from options or from differences between runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/curve_set.h"
#include "analysis/runs/lines.h"
#include "analysis/runs/tasks.h"
#include "analysis/statistics/statistics.h"
#include "core/memory.h"

enum {
  FACETS_MAX = 6, /* maximum number of values of a setting that get panels */
  PANELS_MAX = 9,
};

/* ---- asked for -------------------------------------------------------------------------------------------------- */

/* Parses "5", "1-4" or "5-": the first and the last panel, from 1. */
static bool read_range(const char *text, size_t range[2]) {
  int64_t first, last = INT64_MAX;
  char from[16];
  const size_t length = strcspn(text, "-");
  if (length >= sizeof from) return false;
  memcpy(from, text, length);
  from[length] = '\0';
  if (!core_text_to_int(from, &first) || first < 1) return false;
  if (!text[length]) last = first;
  else if (text[length + 1] && !core_text_to_int(text + length + 1, &last)) return false;
  range[0] = (size_t)first;
  range[1] = (size_t)last;
  return last >= first;
}

/* Keeps only the runs of the panels in --panels. */
int analysis_curve_set_select_panels(AnalysisCurveSet *set) {
  AnalysisGrouping panels = {0};
  size_t range[2], kept = 0;
  if (!read_range(set->panel_range, range))
    return core_error(CORE_USAGE, "--panels %s: expected numbers from 1, as in 1-4, or 5- for all from there on",
                      set->panel_range);

  TRY(analysis_group_runs(&set->context.selection, set->panel_keys, &panels));
  bool *keep = core_memory_zero_allocate(set->context.selection.count + 1, sizeof *keep);
  for (size_t r = 0; r < set->context.selection.count; r++) {
    keep[r] = panels.group_of[r] + 1 >= range[0] && panels.group_of[r] + 1 <= range[1];
    kept += keep[r];
  }

  /* The error of an empty range names the number of panels. */
  const size_t count = panels.key_count ? panels.count : 1;
  analysis_grouping_free(&panels);
  int code = kept ? analysis_context_filter(&set->context, keep)
                  : core_error(CORE_FAIL, "%s: --panels %s: there are only %zu", set->context.path, set->panel_range,
                               count);
  free(keep);
  return code;
}

static int group_as_asked(AnalysisCurveSet *set) {
  CoreText elsewhere = {0};
  const AnalysisSelection *selection = &set->context.selection;
  if (set->panel_keys)
    core_text_append(&elsewhere, strcmp(set->panel_keys, "task") == 0 ? core_config_task_keys : set->panel_keys);
  if (set->best_keys) core_text_appendf(&elsewhere, "%s%s", elsewhere.length ? "," : "", set->best_keys);
  int code =
    analysis_group_runs_without(selection, set->group_keys, elsewhere.length ? elsewhere.data : NULL, &set->groups);
  if (code == CORE_OK && set->panel_keys) code = analysis_group_runs(selection, set->panel_keys, &set->panels);
  if (code == CORE_OK && set->best_keys) code = analysis_group_runs(selection, set->best_keys, &set->choices);
  core_text_free(&elsewhere);
  return code;
}

/* Finds the family that has both runs from the start and runs from other runs' checkpoints, and groups its runs by
 * all keys except the checkpoint. */
static int find_switches(AnalysisCurveSet *set) {
  const AnalysisGrouping *groups = &set->groups;
  CoreText others = {0};

  /* The family of runs that start from a checkpoint. */
  set->switched = SIZE_MAX;
  for (size_t f = 0; f < groups->family_count && set->switched == SIZE_MAX; f++)
    for (size_t k = 0; k < groups->families[f].key_count; k++)
      if (strcmp(groups->families[f].keys[k]->name, "init.from") == 0) set->switched = f;
  if (set->switched == SIZE_MAX) return CORE_OK;

  const AnalysisFamily *family = &groups->families[set->switched];
  for (size_t k = 0; k < family->key_count; k++)
    if (strncmp(family->keys[k]->name, "init.", 5) != 0)
      core_text_appendf(&others, "%s%s", others.length ? "," : "", family->keys[k]->name);

  /* Its runs, grouped by the settings other than init.*. */
  const AnalysisSelection *selection = &set->context.selection;
  set->switches = *selection;
  set->switches.count = 0;
  set->switches.runs = core_memory_allocate((selection->count + 1) * sizeof *selection->runs);
  for (size_t r = 0; r < selection->count; r++)
    if (groups->groups[groups->group_of[r]].family == set->switched)
      set->switches.runs[set->switches.count++] = selection->runs[r];

  const int code = analysis_group_runs(&set->switches, others.length ? others.data : "none", &set->targets);
  core_text_free(&others);
  return code;
}

/* ---- few enough lines ------------------------------------------------------------------------------------------- */

/* Returns the last value of a run's first column, which settings should explain; NaN: none. */
static double last_value(const AnalysisCurveSet *set, size_t run) {
  const AnalysisCurve *curve = &set->curves[0][run];
  const double last = curve->n ? curve->y[curve->n - 1] : NAN;
  return analysis_curve_set_is_log(set, 0) ? log(last) : last; /* NaN or infinite if there is no logarithm */
}

/* Makes lines of the setting that explains most, and panels of the next one that has few values. */
static void merge_lines(AnalysisCurveSet *set, size_t family, const AnalysisCandidate *list, size_t count,
                        size_t *panels) {
  const AnalysisCandidate *line = analysis_lines_select(list, count), *facet = NULL;
  if (!line) return;
  for (size_t i = 0; i < count && !facet && !set->panel_keys && set->column_count == 1; i++)
    if (&list[i] != line && list[i].values > 1 && list[i].values <= FACETS_MAX &&
        *panels - 1 + list[i].values <= PANELS_MAX)
      facet = &list[i];
  if (facet) {
    set->facet[family] = facet->key;
    set->faceted = true;
    *panels += facet->values - 1;
  }
  analysis_lines_merge(&set->context.selection, &set->groups, family, line);
}

static int thin_family(AnalysisCurveSet *set, size_t family, size_t *panels) {
  const size_t count = set->groups.families[family].key_count, runs = set->context.selection.count;
  AnalysisCandidate *list = core_memory_zero_allocate(count + 1, sizeof *list);
  double *last = core_memory_allocate((runs + 1) * sizeof *last);
  for (size_t r = 0; r < runs; r++) last[r] = last_value(set, r);
  const int code = analysis_lines_rank(&set->context.selection, &set->groups, family, last, list);
  if (code == CORE_OK) merge_lines(set, family, list, count, panels);
  free(list);
  free(last);
  return code;
}

static int thin_lines(AnalysisCurveSet *set) {
  AnalysisGrouping *groups = &set->groups;
  size_t panels = groups->family_count;
  set->facet = core_memory_zero_allocate(groups->family_count + 1, sizeof(const CoreConfigRow *));
  if (set->group_keys || set->best_keys) return CORE_OK;
  for (size_t f = 0; f < groups->family_count; f++)
    if (f != set->switched && groups->families[f].group_count > ANALYSIS_LINES_MAX) TRY(thin_family(set, f, &panels));
  return CORE_OK;
}

/* ---- panels ----------------------------------------------------------------------------------------------------- */

/* Adds a panel for each group of --panel, in order. */
static void take_panels(AnalysisCurveSet *set) {
  const AnalysisGrouping *panels = &set->panels;
  set->panel_count = panels->count;
  set->panel_name = core_memory_zero_allocate(panels->count + 1, sizeof *set->panel_name);
  for (size_t p = 0; p < panels->count; p++) set->panel_name[p] = core_text_duplicate(panels->groups[p].label);
  for (size_t r = 0; r < set->context.selection.count; r++) set->panel_of[r] = panels->group_of[r];
}

/* Adds one panel for a family, or one per value of its facet. */
static int add_family_panels(AnalysisCurveSet *set, size_t family) {
  const AnalysisSelection *selection = &set->context.selection;
  const char *name = set->groups.families[family].name;
  AnalysisGrouping values = {0};
  TRY(analysis_group_runs(selection, set->facet[family] ? set->facet[family]->name : "none", &values));

  size_t *panel = core_memory_allocate((values.count + 1) * sizeof *panel);
  for (size_t v = 0; v < values.count; v++) panel[v] = SIZE_MAX;

  /* A value gets its panel with its first run. */
  for (size_t v = 0; v < values.count; v++) {
    for (size_t r = 0; r < selection->count; r++) {
      if (values.group_of[r] != v || set->groups.groups[set->groups.group_of[r]].family != family) continue;
      if (panel[v] == SIZE_MAX) {
        CoreText text = {0};
        core_text_appendf(&text, "%s%s%s", name, *name && set->facet[family] ? ", " : "",
                          set->facet[family] ? values.groups[v].label : "");

        set->panel_name = core_memory_resize(set->panel_name, (set->panel_count + 1) * sizeof *set->panel_name);
        set->panel_name[set->panel_count] = text.data ? text.data : core_text_duplicate("");
        panel[v] = set->panel_count++;
      }
      set->panel_of[r] = panel[v];
    }
  }

  free(panel);
  analysis_grouping_free(&values);
  return CORE_OK;
}

static int find_panels(AnalysisCurveSet *set) {
  set->panel_of = core_memory_zero_allocate(set->context.selection.count + 1, sizeof *set->panel_of);
  if (set->panels.key_count) {
    take_panels(set);
    return CORE_OK;
  }
  if (set->column_count > 1 && !set->groups.by_sweep) {
    set->panel_count = 1;
    set->panel_name = core_memory_zero_allocate(1, sizeof *set->panel_name);
    set->panel_name[0] = core_text_duplicate("");
    return CORE_OK;
  }
  for (size_t f = 0; f < set->groups.family_count; f++) TRY(add_family_panels(set, f));
  set->own_axes = set->groups.by_sweep;
  return CORE_OK;
}

int analysis_curve_set_group(AnalysisCurveSet *set) {
  TRY(group_as_asked(set));
  TRY(find_switches(set)); /* these runs get separate lines, whatever their number */
  TRY(thin_lines(set));
  return find_panels(set);
}
