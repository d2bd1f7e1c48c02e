/* Colors and styles of the lines of a set of curves. */
#ifndef ANALYSIS_CURVE_LOOKS_H
#define ANALYSIS_CURVE_LOOKS_H
#include "analysis/figures/curve_set.h"

typedef struct AnalysisLook { AnalysisMark mark; AnalysisLine line; } AnalysisLook;

/* Returns the look of each group; free() it. A switched run (Fig. 3a) has the color of its own settings, not of those
 * that it comes from; it is dashed, and a run from the start is thin. */
AnalysisLook *analysis_curve_looks(const AnalysisCurveSet *set);
/* The legend's block of the switched family: the colors, and the two kinds of line. */
void analysis_curve_switch_legend(const AnalysisCurveSet *set, AnalysisPlot *plot);

#endif
