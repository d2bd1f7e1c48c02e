/* Colors and line styles of a set of curves. */
#ifndef ANALYSIS_CURVE_STYLES_H
#define ANALYSIS_CURVE_STYLES_H
#include "analysis/figures/curve_set.h"

typedef struct AnalysisLineStyle { AnalysisMark mark; AnalysisLine line; } AnalysisLineStyle;

/* Returns the style of each group; free() it. A switched run (Fig. 3a) has the color of its current settings, not of
 * its parent's; it is dashed, in a pattern for each of up to three parents, and a run from the start is thin. */
AnalysisLineStyle *analysis_curve_styles(const AnalysisCurveSet *set);
/* Adds the legend block of the switched family: the colors, and the two line styles. */
void analysis_curve_switch_legend(const AnalysisCurveSet *set, AnalysisPlot *plot);

#endif
