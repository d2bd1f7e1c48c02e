/* Measures that are columns of results.db or metrics by name: means over the last quarter of a run. */
#ifndef ANALYSIS_MEASURE_COLUMNS_H
#define ANALYSIS_MEASURE_COLUMNS_H
#include "analysis/runs/columns.h"
#include "analysis/runs/measures.h"

/* Finds the measure of a column (analysis_column_find), or of "metric.NAME", which needs no registration. At most
 * ANALYSIS_MEASURE_COLUMNS exist at a time: a further one replaces the oldest. CORE_USAGE: there is no such column. */
int analysis_measure_columns_find(const char *name, AnalysisMeasure *measure);
/* Returns the column of a measure beyond those of measures.def. */
const AnalysisColumn *analysis_measure_columns_get(AnalysisMeasure measure);
const char *analysis_measure_columns_label(AnalysisMeasure measure);

/* Sets the values of all measures found so far. level_set as for analysis_measures_read. */
int analysis_measure_columns_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                                  AnalysisRunMetrics *measured);

#endif
