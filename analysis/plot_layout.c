/* Where panels, legend and caption of a figure stand (plot_internal.h): computed from the style's font size and the
 * texts, since gnuplot's own legends overlap data. */
#include "analysis/plot_internal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Characters of UTF-8, and about how wide they are in Helvetica. */
static double text_width(const char *text, double font_px) {
  double width = 0;
  for (const char *c = text; *c; c++) {
    if (((unsigned char)*c & 0xc0) == 0x80) continue;
    width += strchr("iljtfr.,:;' |()[]", *c) ? 0.32 : *c == 'm' || *c == 'w' || (*c >= 'A' && *c <= 'Z') ? 0.74 : 0.56;
  }
  return width * font_px;
}

double plot_layout_title_font(const PlotLayout *layout, const char *title) {
  static const double BOLD = 1.1, LEAST = 0.6; /* wider than plain letters; smaller can not be read */
  const double width = BOLD * text_width(title, layout->font);
  return layout->font * fmin(1, fmax(LEAST, (layout->panel_width + 0.8 * layout->gap) / width));
}

/* Columns that the legend takes with so many rows: each block begins a column of its own. */
size_t plot_layout_legend_columns(const AnalysisPlot *plot, size_t rows) {
  size_t columns = 0, in_column = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    const PlotEntry *entry = &plot->entries[i];
    if (entry->head || columns == 0 || in_column == rows) {
      columns++;
      in_column = 0;
    }
    if (!entry->head) in_column++;
  }
  return columns;
}

bool plot_layout_legend_has_heads(const AnalysisPlot *plot) {
  for (size_t i = 0; i < plot->entry_count; i++) {
    if (plot->entries[i].head) return true;
  }
  return false;
}

/* Breaks a paragraph at spaces; calls back for each line. Returns the number of lines. */
size_t plot_layout_wrap(const char *text, size_t wrap, void (*line)(void *, const char *), void *context) {
  size_t lines = 0;
  while (*text) {
    size_t best = 0, at = 0, characters = 0;
    for (; text[at] && characters <= wrap; at++) {
      if (text[at] == ' ') best = at;
      characters += ((unsigned char)text[at] & 0xc0) != 0x80;
    }
    size_t length = !text[at] && characters <= wrap ? at : best ? best : at;
    while (!best && length == at && ((unsigned char)text[length] & 0xc0) == 0x80) length++;
    char *piece = core_text_duplicate(text);
    piece[length] = '\0';
    if (line) line(context, piece);
    free(piece);
    lines++;
    text += length;
    while (*text == ' ') text++;
  }
  return lines;
}

static void layout_legend(const AnalysisPlot *plot, PlotLayout *layout) {
  double widest = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    double width =
        text_width(plot->entries[i].label, layout->font * 0.9) + (plot->entries[i].head ? 0 : 2.6 * layout->font);
    if (width > widest) widest = width;
  }
  layout->legend_column = widest + 0.8 * layout->font;
  double usable = layout->width - 2 * layout->font;
  size_t fit = (size_t)(usable / layout->legend_column);
  if (fit < 1) fit = 1;
  layout->legend_rows = 1;
  while (layout->legend_rows < plot->entry_count && plot_layout_legend_columns(plot, layout->legend_rows) > fit)
    layout->legend_rows++;
  size_t columns = plot_layout_legend_columns(plot, layout->legend_rows);
  /* Spread the columns over the width, but not so far that a label leaves its column's neighbours. */
  if (columns > 1) layout->legend_column = fmin(usable / (double)columns, 1.35 * layout->legend_column);
}

static bool has_own_axes(const AnalysisPlot *plot) {
  for (size_t p = 0; p < plot->panel_count; p++) {
    if (plot->panels[p].has_y) return true;
  }
  return false;
}

/* Room left of a panel: for numbers, or for names as wide as they are (within reason). */
static double room_left(const AnalysisPlot *plot, double font) {
  double widest = 0;
  for (size_t i = 0; i < plot->y_names.count; i++)
    widest = fmax(widest, text_width(plot->y_names.labels[i], 0.9 * font));
  return plot->y_names.count ? fmin(widest, 0.4 * plot->style->page_px) + (*plot->y.title ? 3.2 : 2) * font
                             : (has_own_axes(plot) ? 5.6 : 4.6) * font; /* metrics of all sizes: longer numbers */
}

/* Wide enough for squares where rows have names, otherwise of a landscape's shape. */
static double panel_height(const AnalysisPlot *plot, const PlotLayout *l) {
  if (plot->y_names.count && !plot->x_names.count) /* a row of bars each */
    return fmax((double)plot->y_names.count * 1.7 * l->font, 5 * l->font);
  return fmin(fmax(l->panel_width * (l->columns == 1 ? 0.72 : 0.8), 13 * l->font), 24 * l->font);
}

PlotLayout plot_layout_make(const AnalysisPlot *plot) {
  const AnalysisStyle *style = plot->style;
  PlotLayout l = {.font = style->font_px, .small = 0.86 * style->font_px};
  size_t n = plot->panel_count;
  bool notes = false, titles = false;
  for (size_t p = 0; p < n; p++) {
    notes |= plot->panels[p].note[0] != '\0';
    titles |= plot->panels[p].title[0] != '\0';
  }
  l.row = 1.45 * l.font;
  l.columns = n <= 3 ? n : n == 4 ? 2 : 3;
  l.rows = (n + l.columns - 1) / l.columns;
  l.left = room_left(plot, l.font);
  l.gap = has_own_axes(plot) ? 5.2 * l.font : 1.5 * l.font;
  bool wide = n > 1 || l.left > 0.4 * style->column_px || plot->x_names.count > 7;
  l.width = wide ? style->page_px : style->column_px;
  l.above = (titles ? 2.2 : 1.0) * l.font;
  l.below = (notes ? 5.0 : 3.6) * l.font;
  l.panel_width = (l.width - l.left - 1.2 * l.font - (double)(l.columns - 1) * l.gap) / (double)l.columns;
  l.panel_height = panel_height(plot, &l);
  layout_legend(plot, &l);
  bool heads = plot_layout_legend_has_heads(plot);
  l.legend_top = (double)l.rows * (l.above + l.panel_height + l.below) + 0.4 * l.font;
  double legend = plot->entry_count ? ((double)l.legend_rows + (heads ? 1 : 0)) * l.row + 0.6 * l.font : 0;
  l.caption_top = l.legend_top + legend;
  l.caption_row = 1.32 * l.small;
  l.wrap = (size_t)((l.width - 2 * l.font) / (0.53 * l.small));
  for (size_t i = 0; i < plot->paragraph_count; i++)
    l.caption_lines += plot_layout_wrap(plot->paragraphs[i], l.wrap, NULL, NULL);
  l.height = ceil(l.caption_top + (double)l.caption_lines * l.caption_row + 0.6 * l.font);
  return l;
}
