/* The model of a figure as plot.c fills it, plot_layout.c places it and plot_script.c writes it. */
#ifndef ANALYSIS_PLOT_INTERNAL_H
#define ANALYSIS_PLOT_INTERNAL_H
#include "analysis/plot/plot.h"

typedef struct PlotPoint { double x, y; AnalysisMark mark; bool hollow; } PlotPoint;
typedef struct PlotCurve {
  size_t n;
  double *values; /* [n][x y low high] */
  AnalysisMark mark;
  AnalysisLine line;
  bool band;
} PlotCurve;
typedef struct PlotLevel { double y; char *label; } PlotLevel;
typedef struct PlotWhisker { double x[2], y[2]; uint32_t color; } PlotWhisker; /* two ends that share an x or a y */
typedef struct PlotBox { double left, bottom, right, top; uint32_t color; } PlotBox;
typedef struct PlotText { double x, y; char *text; uint32_t color; } PlotText;

typedef struct PlotPanel {
  char *title, *note;
  AnalysisAxis y;      /* of its own, when it has one */
  bool has_y;
  PlotPoint *points;
  PlotCurve *curves;
  PlotLevel *levels;
  PlotWhisker *whiskers;
  PlotBox *boxes;
  PlotText *texts;
  size_t point_count, curve_count, level_count, whisker_count, box_count, text_count;
} PlotPanel;

typedef struct PlotEntry { char *label; AnalysisMark mark; bool head, line, dashed; } PlotEntry;
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
  size_t columns; /* of panels; 0: as plot_layout.c sees fit */
};

enum { PLOT_TICKS_Y = 5 };      /* labels of a y axis, about */
#define PLOT_TICK_ROOM 0.85     /* between an axis and its labels, in font sizes */

/* Where everything stands, in pixels of 1/96 inch. */
typedef struct PlotLayout {
  double font, small, row;              /* text, captions and notes, distance of legend rows */
  double width, height;                 /* of the canvas */
  double left, gap, panel_width, panel_height, above, below; /* around each panel */
  size_t columns, rows;                 /* of panels */
  bool aslant;                          /* the x axis' names, with so much room for their length */
  double names_room, x_title;           /* x_title: below the axis */
  double legend_top, legend_column;
  size_t legend_rows;
  double caption_top, caption_row;
  size_t caption_lines;
  double wrap;                          /* width of a caption line */
} PlotLayout;

/* About how wide the text is in Helvetica. */
double plot_layout_text_width(const char *text, double font_px);
/* The text, cut with "…" where it is wider than `room`. The caller frees it. */
char *plot_layout_cut(const char *text, double font_px, double room);
/* The widest label of a y axis, all ticks of which are laid out. */
double plot_layout_tick_width(const AnalysisPlot *plot, const AnalysisAxis *axis, double font);
/* The size at which a panel's title ends before the next panel's begins. */
double plot_layout_title_font(const PlotLayout *layout, const char *title);
PlotLayout plot_layout_make(const AnalysisPlot *plot);
/* Columns that the legend takes with so many rows: each block begins a column of its own. */
size_t plot_layout_legend_columns(const AnalysisPlot *plot, size_t rows);
/* Whether a row of headings is needed: a block may have none. */
bool plot_layout_legend_has_heads(const AnalysisPlot *plot);
/* Breaks a paragraph between words, not between those that belong together ("95 %"); calls back for each line (NULL
 * allowed). Returns the number of lines. */
size_t plot_layout_wrap(const char *text, double font, double room, void (*line)(void *, const char *), void *context);

#endif
