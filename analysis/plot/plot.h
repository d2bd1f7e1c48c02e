/* A figure as panels, points, curves, a legend and a caption, and the gnuplot script that draws it. Lays everything out
 * itself (gnuplot's own legends overlap data). Runs nothing: render.h does. All text may come from users: it reaches
 * gnuplot only inside single quotes, without markup. */
#ifndef ANALYSIS_PLOT_H
#define ANALYSIS_PLOT_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/plot/axis.h"
#include "analysis/plot/palette.h"
#include "core/text.h"

typedef struct AnalysisPlot AnalysisPlot;

/* Both axes are shared by all panels, so that they can be compared (but see analysis_plot_panel_axis). Titles are
 * copied, as all text here. */
AnalysisPlot *analysis_plot_create(const AnalysisStyle *style, const char *x_title, bool x_log, const char *y_title,
                                   bool y_log);
void analysis_plot_destroy(AnalysisPlot **plot);
/* So many panels stand in a row (default: up to three, four as two and two). */
void analysis_plot_columns(AnalysisPlot *plot, size_t columns);

/* Returns the panel's number. note: a line under the panel's x axis, "" for none. */
size_t analysis_plot_panel(AnalysisPlot *plot, const char *title, const char *note);
/* Gives the panel a y axis of its own, where panels show different quantities; before its data. */
void analysis_plot_panel_axis(AnalysisPlot *plot, size_t panel, const char *y_title, bool y_log);
/* Gives the panel an x axis of its own, where panels show different ranges; before its data. */
void analysis_plot_panel_axis_x(AnalysisPlot *plot, size_t panel);
/* Names in place of numbers: the first stands at 0 of the axis, the next at 1 ... Before any data. */
void analysis_plot_category_x(AnalysisPlot *plot, const char *label);
void analysis_plot_category_y(AnalysisPlot *plot, const char *label);

/* A tick of a number axis; given any, they stand in place of those that the axis would choose. */
void analysis_plot_tick_x(AnalysisPlot *plot, double at, const char *label);

void analysis_plot_point(AnalysisPlot *plot, size_t panel, double x, double y, AnalysisMark mark, bool hollow);
typedef enum AnalysisLine { ANALYSIS_SOLID, ANALYSIS_DASHED, ANALYSIS_FAINT, ANALYSIS_THIN } AnalysisLine;
/* A line through (x, y) with a shaded band between low and high (NaN, or NULL: no band). NaN in y breaks the line. */
void analysis_plot_curve(AnalysisPlot *plot, size_t panel, size_t n, const double *x, const double *y,
                         const double *low, const double *high, AnalysisMark mark, AnalysisLine line);
/* The same for a quantity that holds each value until the next place: all edges are upright or level. */
void analysis_plot_steps(AnalysisPlot *plot, size_t panel, size_t n, const double *x, const double *y,
                         const double *low, const double *high, AnalysisMark mark);
/* An interval as a thin line with a short cap at each end; the ends share an x or a y. */
void analysis_plot_whisker(AnalysisPlot *plot, size_t panel, const double x[2], const double y[2], uint32_t color);
/* A dashed horizontal line, whose label stands in the legend. */
void analysis_plot_level(AnalysisPlot *plot, size_t panel, double y, const char *label);

/* A filled rectangle (a bar, a cell of a heat map) and a centred text, in the panel's coordinates. */
void analysis_plot_box(AnalysisPlot *plot, size_t panel, double left, double bottom, double right, double top,
                       uint32_t color);
void analysis_plot_text(AnalysisPlot *plot, size_t panel, double x, double y, const char *text, uint32_t color);

/* The legend stands under the panels: a head ("" for none) begins a new block of columns. */
void analysis_plot_legend_head(AnalysisPlot *plot, const char *text);
void analysis_plot_legend_entry(AnalysisPlot *plot, const char *label, AnalysisMark mark, bool line);
/* An entry with a sample of another line than a solid one. */
void analysis_plot_legend_line(AnalysisPlot *plot, const char *label, AnalysisMark mark, AnalysisLine line);
/* A paragraph under the legend, wrapped to the figure's width. */
void analysis_plot_caption(AnalysisPlot *plot, const char *text);

/* The whole script: draws <name>.svg and .png, and .pdf where gnuplot has pdfcairo, into the current folder. header:
 * lines that become comments. */
void analysis_plot_script(AnalysisPlot *plot, const char *name, const char *header, CoreText *script);

#endif
