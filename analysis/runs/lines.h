/* Reduces the number of lines in a panel if there are more configurations than can be distinguished: groups runs by
 * the setting that explains most of their differences. */
#ifndef ANALYSIS_LINES_H
#define ANALYSIS_LINES_H
#include "analysis/runs/group.h"

enum { ANALYSIS_LINES_MAX = 8 }; /* lines that can be distinguished in a panel */

/* Setting of a family, with its number of values and the share of the runs' differences that they explain. */
typedef struct AnalysisCandidate {
  const CoreConfigRow *key;
  size_t values;
  double explained; /* omega squared (Hays 1963) */
} AnalysisCandidate;

/* Fills list[key_count of the family], sorted by explained share. value: [run]; NaN: none. */
int analysis_lines_rank(const AnalysisSelection *selection, const AnalysisGrouping *grouping, size_t family,
                        const double *value, AnalysisCandidate *list);
/* Returns the first candidate that can make lines: one with few values, or numbers, which are merged into ranges;
 * NULL: none. */
const AnalysisCandidate *analysis_lines_select(const AnalysisCandidate *list, size_t count);
/* Merges the family's groups into lines of the candidate. */
void analysis_lines_merge(const AnalysisSelection *selection, AnalysisGrouping *grouping, size_t family,
                          const AnalysisCandidate *line);
/* Reduces each family with too many groups. */
int analysis_lines_limit(const AnalysisSelection *selection, AnalysisGrouping *grouping, const double *value);

#endif
