/* Files of a plot: <directory>/<name>.gp .csv .svg .png, and .pdf if gnuplot supports it. gnuplot is started without a
 * shell, in a temporary directory, on the script that is kept. Each file contains its provenance (SVG <desc>, PNG
 * text, PDF and other comments). */
#ifndef ANALYSIS_RENDER_H
#define ANALYSIS_RENDER_H
#include "analysis/plot/plot.h"

/* Writes the files; creates the directory. name: a constant ("curves"); provenance: lines without markup; csv:
 * without its comment lines. CORE_FAIL: the directory cannot be written, or gnuplot is missing or failed (.gp and
 * .csv exist already). */
int analysis_render(AnalysisPlot *plot, const char *directory, const char *name, const char *provenance,
                    const char *csv);

#endif
