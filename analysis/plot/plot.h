/* Model of a figure (panels, points, curves, legend and caption) and the gnuplot script that draws it. Computes the
 * layout itself, because gnuplot's own legends overlap data. Only render.c runs a program. Text may come from users:
 * it reaches gnuplot only inside single quotes, without markup. */
#ifndef ANALYSIS_PLOT_H
#define ANALYSIS_PLOT_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/plot/axis.h"
#include "analysis/plot/palette.h"
#include "core/text.h"

typedef struct AnalysisPlot AnalysisPlot;

/* Creates a plot. All panels share both axes, so that they can be compared (except with analysis_plot_panel_axis).
 * Copies titles, as all functions here copy text. */
AnalysisPlot *analysis_plot_create(const AnalysisStyle *style, const char *x_title, bool x_log, const char *y_title,
                                   bool y_log);
void analysis_plot_destroy(AnalysisPlot **plot);
/* Sets the number of panels per row (default: up to three, four as two by two). */
void analysis_plot_columns(AnalysisPlot *plot, size_t columns);

/* Adds a panel and returns its number. note: line under the panel's x axis; "": none. */
size_t analysis_plot_panel(AnalysisPlot *plot, const char *title, const char *note);
/* Gives the panel a separate y axis, for panels of different quantities; call before adding its data. */
void analysis_plot_panel_axis(AnalysisPlot *plot, size_t panel, const char *y_title, bool y_log);
/* Gives the panel a separate x axis, for panels of different ranges; call before adding its data. */
void analysis_plot_panel_axis_x(AnalysisPlot *plot, size_t panel);
/* Add a name of a categorical axis, at 0, 1, ... Call before adding data. */
void analysis_plot_category_x(AnalysisPlot *plot, const char *label);
void analysis_plot_category_y(AnalysisPlot *plot, const char *label);

/* Adds a tick to a numeric axis; given any, they replace the automatic ones. */
void analysis_plot_tick_x(AnalysisPlot *plot, double value, const char *label);

void analysis_plot_point(AnalysisPlot *plot, size_t panel, double x, double y, AnalysisMark mark, bool hollow);
typedef enum AnalysisLine {
  ANALYSIS_SOLID,
  ANALYSIS_DASHED,
  ANALYSIS_DOTTED,
  ANALYSIS_DASH_DOTTED,
  ANALYSIS_FAINT,
  ANALYSIS_THIN
} AnalysisLine;

/* Adds a line through (x, y) with a shaded band between low and high (NaN or NULL: no band). NaN in y breaks the
 * line. */
void analysis_plot_curve(AnalysisPlot *plot, size_t panel, size_t n, const double *x, const double *y,
                         const double *low, const double *high, AnalysisMark mark, AnalysisLine line);
/* Adds a step curve, for a quantity that keeps each value until the next point. */
void analysis_plot_steps(AnalysisPlot *plot, size_t panel, size_t n, const double *x, const double *y,
                         const double *low, const double *high, AnalysisMark mark);
/* Adds an interval as a thin line with a short cap at each end; the ends share an x or a y. */
void analysis_plot_whisker(AnalysisPlot *plot, size_t panel, const double x[2], const double y[2], uint32_t color);
/* Adds a dashed horizontal line, labeled in the legend. */
void analysis_plot_level(AnalysisPlot *plot, size_t panel, double y, const char *label);

/* Add a filled rectangle (a bar, a cell of a heat map), and a centered text, in the panel's coordinates. */
void analysis_plot_box(AnalysisPlot *plot, size_t panel, double left, double bottom, double right, double top,
                       uint32_t color);
void analysis_plot_text(AnalysisPlot *plot, size_t panel, double x, double y, const char *text, uint32_t color);

/* Begins a new block of columns in the legend under the panels; "": without a heading. */
void analysis_plot_legend_head(AnalysisPlot *plot, const char *text);
void analysis_plot_legend_entry(AnalysisPlot *plot, const char *label, AnalysisMark mark, bool line);
/* Adds a legend entry with another line style than solid. */
void analysis_plot_legend_line(AnalysisPlot *plot, const char *label, AnalysisMark mark, AnalysisLine line);
/* Adds a paragraph under the legend, wrapped to the figure's width. */
void analysis_plot_caption(AnalysisPlot *plot, const char *text);

/* Appends the complete script, which draws <name>.svg and .png, and .pdf if gnuplot has pdfcairo, into the current
 * directory. header: lines that become comments. */
void analysis_plot_script(AnalysisPlot *plot, const char *name, const char *header, CoreText *script);

/* ---- render.c ---------------------------------------------------------------------------------------------------- */

/* Files of a plot: <directory>/<name>.gp .csv .svg .png, and .pdf if gnuplot supports it. gnuplot is started without a
 * shell, in a temporary directory, on the script that is kept. Each file contains its provenance (SVG <desc>, PNG
 * text, PDF and other comments). */

/* Writes the files; creates the directory. name: a constant ("curves"); provenance: lines without markup; csv:
 * without its comment lines. CORE_FAIL: the directory cannot be written, or gnuplot is missing or failed (.gp and
 * .csv exist already). */
int analysis_render(AnalysisPlot *plot, const char *directory, const char *name, const char *provenance,
                    const char *csv);

#endif
