/* Legends, CSV fields and captions of lines that represent several configurations (analysis/runs/lines.h). */
#ifndef ANALYSIS_THIN_H
#define ANALYSIS_THIN_H
#include "analysis/plot/plot.h"
#include "analysis/runs/lines.h"

/* Adds the groups to the legend, under the names of their families if these have several groups. */
void analysis_thin_legend(const AnalysisGrouping *grouping, const AnalysisMark *marks, bool line, AnalysisPlot *plot);
/* Appends the group's values of the grouping's keys, each after a comma; empty for a key that it averages over. */
void analysis_thin_csv(const AnalysisGrouping *grouping, size_t group, CoreText *csv);
/* Appends the settings of lines and panels, and those that are averaged over: "Lines: lr; averaged over eps. ". facet:
 * [family] the key of the panels, or NULL for none. */
void analysis_thin_describe(const AnalysisGrouping *grouping, const CoreConfigRow *const *facet, CoreText *text);

#endif
