/* Fewer lines than configurations, where these are more than can be told apart. */
#ifndef ANALYSIS_THIN_H
#define ANALYSIS_THIN_H
#include "analysis/plot/plot.h"
#include "analysis/runs/group.h"

enum { ANALYSIS_LINES_MOST = 8 }; /* that can be told apart in a panel */

/* A setting of a family: its number of values, and the share of the runs' differences that they explain. */
typedef struct AnalysisCandidate {
  const CoreConfigRow *key;
  size_t values;
  double explained; /* omega squared (Hays 1963) */
} AnalysisCandidate;

/* Fills list[key_count of the family], those that explain most first. value: [run]; NaN: none. */
int analysis_thin_rank(const AnalysisSelection *selection, const AnalysisGrouping *grouping, size_t family,
                       const double *value, AnalysisCandidate *list);
/* Returns the first that can make lines: it has few values, or numbers, which are put together to ranges; or NULL. */
const AnalysisCandidate *analysis_thin_line(const AnalysisCandidate *list, size_t count);
/* Merges the family's groups to lines of the candidate. */
void analysis_thin_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                         const AnalysisCandidate *line);
/* Does so for each family with too many groups. */
int analysis_thin_lines(const AnalysisSelection *selection, AnalysisGrouping *grouping, const double *value);
/* Adds the groups to the legend, under the names of their families if these have several groups. */
void analysis_thin_legend(const AnalysisGrouping *grouping, const AnalysisMark *marks, bool line, AnalysisPlot *plot);
/* Appends the group's values of the grouping's keys, each after a comma; empty for a key that it averages over. */
void analysis_thin_csv(const AnalysisGrouping *grouping, size_t group, CoreText *csv);
/* Appends the settings of lines and panels, and those that are averaged over: "Lines: lr; averaged over eps. ". facet:
 * [family] the key of the panels, or NULL for none. */
void analysis_thin_describe(const AnalysisGrouping *grouping, const CoreConfigRow *const *facet, CoreText *text);

#endif
