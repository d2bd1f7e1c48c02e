/* Model of a figure, filled by plot.c, laid out by plot_layout.c and written by plot_script.c. */
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
typedef struct PlotLevel { double y; size_t label; /* index in level_labels */ } PlotLevel;
typedef struct PlotWhisker { double x[2], y[2]; uint32_t color; } PlotWhisker; /* the two ends share an x or a y */
typedef struct PlotBox { double left, bottom, right, top; uint32_t color; } PlotBox;
typedef struct PlotText { double x, y; char *text; uint32_t color; } PlotText;

typedef struct PlotPanel {
  char *title, *note;
  AnalysisAxis x, y;   /* separate axes of the panel, if has_x, has_y */
  bool has_x, has_y;
  PlotPoint *points;
  PlotCurve *curves;
  PlotLevel *levels;
  PlotWhisker *whiskers;
  PlotBox *boxes;
  PlotText *texts;
  size_t point_count, curve_count, level_count, whisker_count, box_count, text_count;
} PlotPanel;

typedef enum PlotSample { PLOT_HEAD, PLOT_DOT, PLOT_LINE, PLOT_LEVEL } PlotSample;
typedef struct PlotEntry {
  char *label;
  AnalysisMark mark;
  PlotSample sample;
  AnalysisLine line;   /* for PLOT_LINE */
  size_t level;        /* for PLOT_LEVEL: index of its label */
} PlotEntry;
typedef struct PlotTick { double at; char *label; } PlotTick;
typedef struct PlotCategories {
  char **labels;
  size_t count;
} PlotCategories; /* at 0, 1, ... of the axis; none: numeric axis */

struct AnalysisPlot {
  const AnalysisStyle *style;
  AnalysisAxis x, y;
  PlotCategories x_names, y_names;
  PlotTick *x_ticks;   /* replace the automatic ticks */
  size_t x_tick_count;
  PlotPanel *panels;
  PlotEntry *entries;
  char **paragraphs;
  char **level_labels; /* distinct labels */
  size_t panel_count, entry_count, paragraph_count, level_label_count;
  size_t columns; /* panels per row; 0: automatic (plot_layout.c) */
};

#define PLOT_BOLD_ROOM 1.2      /* maximum ratio of bold to plain widths */
enum { PLOT_TICKS_Y = 5 };      /* approximate number of labels of a y axis */
#define PLOT_TICK_ROOM 0.85     /* distance between an axis and its labels, in font sizes */

typedef struct PlotPlace { double x, y; } PlotPlace;

/* Layout, in pixels of 1/96 inch. */
typedef struct PlotLayout {
  double font, small, row;              /* sizes of text, of captions and notes; distance of legend rows */
  double width, height;                 /* size of the canvas */
  double left, gap, panel_width, panel_height, above, below; /* distances around each panel */
  size_t columns, rows;                 /* numbers of panels */
  bool aslant;                          /* whether the names of the x axis are slanted, for lack of space */
  double names_room, x_title;           /* space for slanted names; distance of the title */
  double legend_top, legend_height, legend_column;
  PlotPlace *places;                    /* [entry] left end and middle of each line of the legend */
  double caption_top, caption_row;
  size_t caption_lines;
  double wrap;                          /* width of a caption line */
} PlotLayout;

/* State of writing a script. */
typedef struct PlotWriter {
  AnalysisPlot *plot;
  PlotLayout layout;
  CoreText *script;
  char **titles;        /* [panel] as shown, at title_font */
  double title_font;
  int labels, arrows;
  size_t line;
} PlotWriter;

/* ---- plot_font.c: widths of text, in the widest of the fonts that a picture names ------------------------------- */

double plot_layout_text_width(const char *text, double font_px);
double plot_layout_bold_width(const char *text, double font_px);
/* Returns the length in bytes of the character at `text`, and its width. */
size_t plot_font_character(const char *text, double font_px, bool bold, double *width);

/* ---- plot_text.c ------------------------------------------------------------------------------------------------ */

/* Returns the text, truncated with "…" if it is wider than `room`; free() it. */
char *plot_layout_cut(const char *text, double font_px, double room);
/* Truncates [count] texts to `room` such that different texts remain different: removes their common beginnings, and
 * numbers them if that does not suffice. Free with plot_layout_cut_free. */
char **plot_layout_cut_apart(const char *const *text, size_t count, double font_px, double room);
void plot_layout_cut_free(char **cut, size_t count);
/* Breaks a paragraph between words, except those that belong together ("95 %"), and calls back for each line
 * (optional). Returns the number of lines. */
size_t plot_layout_wrap(const char *text, double font, double room, void (*line)(void *, const char *), void *context);

/* ---- plot_layout.c ---------------------------------------------------------------------------------------------- */

/* Returns the width of the widest label of a y axis. */
double plot_layout_tick_width(const AnalysisPlot *plot, const AnalysisAxis *axis, double font);
/* Returns the font size at which all panel titles end before the next panel begins. */
double plot_layout_title_font(const AnalysisPlot *plot, const PlotLayout *layout);
/* Returns the font size, at most `font`, at which a text under a panel does not reach the next one's. */
double plot_layout_note_font(const PlotLayout *layout, const char *text, double font);
PlotLayout plot_layout_make(const AnalysisPlot *plot);
void plot_layout_free(PlotLayout *layout);

/* ---- plot_legend.c ---------------------------------------------------------------------------------------------- */

/* Adds the levels of the panels to the legend, since a label at the line would cover data. */
void plot_legend_add_levels(AnalysisPlot *plot);
/* Returns the width of the widest legend entry. */
double plot_legend_entry_width(const AnalysisPlot *plot, double font);
/* Places the entries of the legend, and sets its height. */
void plot_legend_place(const AnalysisPlot *plot, PlotLayout *layout);
/* Write the labels and the data of the samples; then the samples, as a plot over the whole page. */
void plot_legend_write(PlotWriter *w);
void plot_legend_write_samples(const PlotWriter *w);

/* ---- plot_script.c ---------------------------------------------------------------------------------------------- */

typedef enum PlotFace { PLOT_PLAIN, PLOT_BOLD } PlotFace;
typedef enum PlotAlignment { PLOT_LEFT, PLOT_CENTER } PlotAlignment;

void plot_write_label(PlotWriter *w, const char *text, double x, double y, PlotAlignment alignment, PlotFace face,
                      double size, uint32_t color);
/* Returns the style of a kind of line, in panels and in the legend; a color follows. */
const char *plot_line_look(AnalysisLine line);
/* Returns the dashes of a level line. */
const char *plot_level_look(size_t level);
int plot_point_type(AnalysisShape shape, bool hollow);
double plot_point_size(const PlotWriter *w, AnalysisMark mark);
/* Appends the points of a data block (x y size color) of one shape to a plot command. */
void plot_append_points(const PlotWriter *w, const char *block, AnalysisShape shape, bool hollow);

#endif
