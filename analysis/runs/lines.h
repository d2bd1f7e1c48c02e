/* Fewer lines than configurations, where these are more than can be told apart: runs are grouped by the setting that
 * explains most of their differences. */
#ifndef ANALYSIS_LINES_H
#define ANALYSIS_LINES_H
#include "analysis/runs/group.h"

enum { ANALYSIS_LINES_MOST = 8 }; /* that can be told apart in a panel */

/* A setting of a family: its number of values, and the share of the runs' differences that they explain. */
typedef struct AnalysisCandidate {
  const CoreConfigRow *key;
  size_t values;
  double explained; /* omega squared (Hays 1963) */
} AnalysisCandidate;

/* Fills list[key_count of the family], those that explain most first. value: [run]; NaN: none. */
int analysis_lines_rank(const AnalysisSelection *selection, const AnalysisGrouping *grouping, size_t family,
                        const double *value, AnalysisCandidate *list);
/* Returns the first that can make lines: it has few values, or numbers, which are put together to ranges; or NULL. */
const AnalysisCandidate *analysis_lines_choose(const AnalysisCandidate *list, size_t count);
/* Merges the family's groups to lines of the candidate. */
void analysis_lines_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                          const AnalysisCandidate *line);
/* Does so for each family with too many groups. */
int analysis_lines_limit(const AnalysisSelection *selection, AnalysisGrouping *grouping, const double *value);

#endif
