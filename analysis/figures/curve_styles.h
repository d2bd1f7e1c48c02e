/* Colors and line styles of a set of curves. */
#ifndef ANALYSIS_CURVE_LOOKS_H
#define ANALYSIS_CURVE_LOOKS_H
#include "analysis/figures/curve_set.h"

typedef struct AnalysisLook { AnalysisMark mark; AnalysisLine line; } AnalysisLook;

/* Returns the style of each group; free() it. A switched run (Fig. 3a) has the color of its current settings, not of
 * its parent's; it is dashed, and a run from the start is thin. */
AnalysisLook *analysis_curve_looks(const AnalysisCurveSet *set);
/* Adds the legend block of the switched family: the colors, and the two line styles. */
void analysis_curve_switch_legend(const AnalysisCurveSet *set, AnalysisPlot *plot);

#endif
