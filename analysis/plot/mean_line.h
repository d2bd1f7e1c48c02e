/* Mean of several runs' curves on one grid, and parts shared by figures that distinguish up to two configurations by
 * solid and dashed lines. */
#ifndef ANALYSIS_MEAN_LINE_H
#define ANALYSIS_MEAN_LINE_H
#include "analysis/plot/plot.h"
#include "analysis/runs/curve.h"
#include "analysis/runs/group.h"
#include "analysis/runs/lines.h"
#include "core/terminal.h"

typedef struct AnalysisMeanLine {
  double *grid, *mean, *low, *high; /* [n]; analysis_curve_grid, analysis_curve_average */
  size_t *runs;                     /* [n] number of curves that reach the point */
  size_t n, count;                  /* count: number of curves */
} AnalysisMeanLine;

/* Averages the curves at up to `most` evenly spaced points. range: of the values (interval.h). The caller frees the
 * result and keeps the curves. */
AnalysisMeanLine analysis_mean_line_average(const AnalysisCurve *curves, size_t count, size_t most,
                                            AnalysisRange range);
void analysis_mean_line_free(AnalysisMeanLine *line);

/* Appends the end of a CSV row: ",x,n,mean,low,high" of point i, and the newline. */
void analysis_mean_line_csv(const AnalysisMeanLine *line, size_t i, CoreText *csv);
/* Adds two cells to a table: the mean at the first and the last point, with `digits` digits; "-": none. */
void analysis_mean_line_cells(const AnalysisMeanLine *line, int digits, CoreTable *table);

/* Returns CORE_USAGE for more configurations than line styles. */
int analysis_mean_line_check_groups(const AnalysisGrouping *groups);
/* Adds the line styles of the configurations to the legend; nothing for a single one. */
void analysis_mean_line_legend(AnalysisPlot *plot, const AnalysisGrouping *groups, AnalysisMark plain);

/* ---- lines of several configurations ----------------------------------------------------------------------------- */

/* Legends, CSV fields and captions of lines that represent several configurations (analysis/runs/lines.h). */

/* Adds the groups to the legend, under the names of their families if these have several groups. */
void analysis_thin_legend(const AnalysisGrouping *grouping, const AnalysisMark *marks, bool line, AnalysisPlot *plot);
/* Appends the group's values of the grouping's keys, each after a comma; empty for a key that it averages over. */
void analysis_thin_csv(const AnalysisGrouping *grouping, size_t group, CoreText *csv);
/* Appends the settings of lines and panels, and those that are averaged over: "Lines: lr; averaged over eps. ". facet:
 * [family] the key of the panels, or NULL for none. */
void analysis_thin_describe(const AnalysisGrouping *grouping, const CoreConfigRow *const *facet, CoreText *text);

#endif
