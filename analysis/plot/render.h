/* From a plot to files: <folder>/<name>.gp .csv .svg .png, and .pdf where gnuplot can. gnuplot is started without a
 * shell, in a temporary folder, on the very script that is kept; each file then carries where it comes from (SVG
 * <desc>, PNG text, PDF and other comments). */
#ifndef ANALYSIS_RENDER_H
#define ANALYSIS_RENDER_H
#include "analysis/plot/plot.h"

/* name: a constant of ours ("curves"). provenance: lines without markup; csv: without its comment lines. The folder is
 * made. CORE_FAIL: nothing can be written there, or gnuplot is missing or failed (.gp and .csv are there already). */
int analysis_render(AnalysisPlot *plot, const char *folder, const char *name, const char *provenance, const char *csv);

#endif
