/* Several runs' curves as one line of a figure: their mean on one grid. And what figures share that draw one line a
 * thing and tell up to two configurations apart by solid and dashed. */
#ifndef ANALYSIS_MEAN_LINE_H
#define ANALYSIS_MEAN_LINE_H
#include "analysis/plot/plot.h"
#include "analysis/runs/curve.h"
#include "analysis/runs/group.h"
#include "core/terminal.h"

typedef struct AnalysisMeanLine {
  double *grid, *mean, *low, *high; /* [n]; analysis_curve_grid, analysis_curve_average */
  size_t *runs;                     /* [n]: that reach this place */
  size_t n, count;                  /* count: of curves */
} AnalysisMeanLine;

/* On at most `most` places, evenly spread; range: of the values (interval.h). The caller frees it and keeps the
 * curves. */
AnalysisMeanLine analysis_mean_line_average(const AnalysisCurve *curves, size_t count, size_t most,
                                            AnalysisRange range);
void analysis_mean_line_free(AnalysisMeanLine *line);

/* The end of a CSV row: ",x,n,mean,low,high" of place i, and the line's end. */
void analysis_mean_line_csv(const AnalysisMeanLine *line, size_t i, CoreText *csv);
/* Two cells of a table: the mean at the line's first and last place, to so many digits; "-" where it has none. */
void analysis_mean_line_cells(const AnalysisMeanLine *line, int digits, CoreTable *table);

/* CORE_USAGE: more configurations than solid and dashed. */
int analysis_mean_line_check_groups(const AnalysisGrouping *groups);
/* Which configuration is solid and which dashed, in the plot's legend; nothing where there is one. */
void analysis_mean_line_legend(AnalysisPlot *plot, const AnalysisGrouping *groups, AnalysisMark plain);

#endif
