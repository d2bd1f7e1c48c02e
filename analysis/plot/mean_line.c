/* Means of several curves, and texts of lines that represent several configurations (mean_line.h). */
#include "analysis/plot/mean_line.h"

#include <stdlib.h>

#include "analysis/plot/number_text.h"
#include "core/error.h"
#include "core/memory.h"

enum { STYLES = 2 }; /* solid, dashed */

AnalysisMeanLine analysis_mean_line_average(const AnalysisCurve *curves, size_t count, size_t most,
                                            AnalysisRange range) {
  AnalysisMeanLine line = {.count = count};
  const AnalysisCurveOptions manner = {.aggregate = ANALYSIS_AGGREGATE_MEAN, .range = range};
  line.grid = analysis_curve_grid(curves, count, most, false, &line.n);
  line.mean = core_memory_allocate((3 * line.n + 1) * sizeof *line.mean);
  line.low = line.mean + line.n;
  line.high = line.low + line.n;
  line.runs = core_memory_zero_allocate(line.n + 1, sizeof *line.runs);
  analysis_curve_average(curves, count, &manner, line.grid, line.n, line.mean, line.low, line.high, line.runs);
  return line;
}

void analysis_mean_line_free(AnalysisMeanLine *line) {
  free(line->grid);
  free(line->mean);
  free(line->runs);
}

void analysis_mean_line_csv(const AnalysisMeanLine *line, size_t i, CoreText *csv) {
  analysis_csv_value(csv, line->grid[i]);
  core_text_appendf(csv, ",%zu", line->runs[i]);
  analysis_csv_value(csv, line->mean[i]);
  analysis_csv_value(csv, line->low[i]);
  analysis_csv_value(csv, line->high[i]);
  core_text_append(csv, "\n");
}

void analysis_mean_line_cells(const AnalysisMeanLine *line, int digits, CoreTable *table) {
  for (int end = 0; end < 2; end++) {
    if (line->n) core_table_cell(table, "%.*g", digits, line->mean[end ? line->n - 1 : 0]);
    else core_table_cell(table, "-");
  }
}

int analysis_mean_line_check_groups(const AnalysisGrouping *groups) {
  if (groups->count <= STYLES) return CORE_OK;
  return core_error(CORE_USAGE,
                    "%zu configurations, of which the figure can tell %d apart (solid and dashed); choose with "
                    "--where KEY=VALUE, or take fewer keys with --group",
                    groups->count, STYLES);
}

void analysis_mean_line_legend(AnalysisPlot *plot, const AnalysisGrouping *groups, AnalysisMark plain) {
  if (groups->count < 2) return;
  analysis_plot_legend_head(plot, "");
  analysis_plot_legend_entry(plot, groups->groups[0].label, plain, true);
  analysis_plot_legend_line(plot, groups->groups[1].label, plain, ANALYSIS_DASHED);
}

/* ---- lines of several configurations ----------------------------------------------------------------------------- */

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
  bool is_thinned = false;
  for (size_t f = 0; f < grouping->family_count; f++) {
    const AnalysisFamily *family = &grouping->families[f];
    const CoreConfigRow *panels = facet ? facet[f] : NULL;
    const size_t averaged = family->averaged_count - (panels != NULL);
    if (!family->averaged_count) continue;

    core_text_appendf(text, "%s%sines: %s", family->name, *family->name ? ": l" : "L",
                      analysis_key_name(family->keys[0]));
    if (panels) core_text_appendf(text, "; panels: %s", analysis_key_name(panels));
    if (averaged) core_text_append(text, "; averaged over ");
    if (averaged) append_keys(family->averaged, family->averaged_count, panels, text);
    core_text_append(text, ". ");
    is_thinned = true;
  }
  if (is_thinned) core_text_append(text, "Lines are of the setting that explains most of the last values. ");
}
