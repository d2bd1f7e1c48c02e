/* Colors, shapes and sizes of the dots of ddr-vs-solve, and their legend. */
#ifndef ANALYSIS_DDR_MARKS_H
#define ANALYSIS_DDR_MARKS_H
#include "analysis/figures/figure.h"

/* Returns the marker of each run; free() it. The color shows the setting that the run's configuration varies: the
 * one with the most values for its algorithm, or another one that differs from the algorithm's most common value;
 * light means a large value. With several sweeps (AnalysisGrouping) it shows the sweep. The shape shows the
 * algorithm, and the size the minibatch. Adds the legend to the plot. */
AnalysisMark *analysis_ddr_marks(const AnalysisContext *context, AnalysisPlot *plot);

#endif
