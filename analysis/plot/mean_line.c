#include "analysis/plot/mean_line.h"

#include <stdlib.h>

#include "analysis/plot/csv.h"
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
