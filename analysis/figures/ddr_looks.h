/* Colors, shapes and sizes of the dots of ddr-vs-solve, and the legend that explains them. */
#ifndef ANALYSIS_DDR_LOOKS_H
#define ANALYSIS_DDR_LOOKS_H
#include "analysis/figures/figure.h"

/* Returns the mark of each run; free() it. The color is that of the setting that the run's configuration varies: the
 * one with the most values of its algorithm, or another one that differs from the algorithm's most common value; light
 * is a large value. Runs of several sweeps (AnalysisGrouping) have their sweep's color. The shape is the algorithm's,
 * the size that of the minibatch. Adds the legend to the plot. */
AnalysisMark *analysis_ddr_looks(const AnalysisContext *context, AnalysisPlot *plot);

#endif
