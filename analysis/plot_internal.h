/* The model of a figure as plot.c fills it, plot_layout.c places it and plot_script.c writes it. */
#ifndef ANALYSIS_PLOT_INTERNAL_H
#define ANALYSIS_PLOT_INTERNAL_H
#include "analysis/plot.h"

typedef struct PlotPoint { double x, y; AnalysisMark mark; bool hollow; } PlotPoint;
typedef struct PlotCurve {
  size_t n;
  double *values; /* [n][x y low high] */
  AnalysisMark mark;
  AnalysisLine line;
  bool band;
} PlotCurve;
typedef struct PlotLevel { double y; char *label; } PlotLevel;
typedef struct PlotBox { double left, bottom, right, top; uint32_t color; } PlotBox;
typedef struct PlotText { double x, y; char *text; uint32_t color; } PlotText;

typedef struct PlotPanel {
  char *title, *note;
  AnalysisAxis y;      /* of its own, when it has one */
  bool has_y;
  PlotPoint *points;
  PlotCurve *curves;
  PlotLevel *levels;
  PlotBox *boxes;
  PlotText *texts;
  size_t point_count, curve_count, level_count, box_count, text_count;
} PlotPanel;

typedef struct PlotEntry { char *label; AnalysisMark mark; bool head, hollow, line, dashed; } PlotEntry;
typedef struct PlotTick { double at; char *label; } PlotTick;
typedef struct PlotCategories {
  char **labels;
  size_t count;
} PlotCategories; /* at 0, 1, ... of the axis; none: numbers */

struct AnalysisPlot {
  const AnalysisStyle *style;
  AnalysisAxis x, y;
  PlotCategories x_names, y_names;
  PlotTick *x_ticks;   /* in place of those that the axis would choose */
  size_t x_tick_count;
  PlotPanel *panels;
  PlotEntry *entries;
  char **paragraphs;
  size_t panel_count, entry_count, paragraph_count;
};

/* Where everything stands, in pixels of 1/96 inch. */
typedef struct PlotLayout {
  double font, small, row;              /* text, captions and notes, distance of legend rows */
  double width, height;                 /* of the canvas */
  double left, gap, panel_width, panel_height, above, below; /* around each panel */
  size_t columns, rows;                 /* of panels */
  double legend_top, legend_column;
  size_t legend_rows;
  double caption_top, caption_row;
  size_t caption_lines;
  size_t wrap;                          /* characters of a caption line */
} PlotLayout;

/* The size at which a panel's title ends before the next panel's begins. */
double plot_layout_title_font(const PlotLayout *layout, const char *title);
PlotLayout plot_layout_make(const AnalysisPlot *plot);
/* Columns that the legend takes with so many rows: each block begins a column of its own. */
size_t plot_layout_legend_columns(const AnalysisPlot *plot, size_t rows);
bool plot_layout_legend_has_heads(const AnalysisPlot *plot);
/* Breaks a paragraph at spaces; calls back for each line (NULL allowed). Returns the number of lines. */
size_t plot_layout_wrap(const char *text, size_t wrap, void (*line)(void *, const char *), void *context);

#endif
