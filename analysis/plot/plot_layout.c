/* Where panels, legend and caption of a figure stand (plot_internal.h): computed from the style's font size and the
 * texts, since gnuplot's own legends overlap data. */
#include "analysis/plot/plot_internal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Adobe's metrics of Helvetica: thousandths of the font size, from space to tilde. */
static const short helvetica[] = {
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556,
  556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667,
  556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556,
  556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722,
  500, 500, 500, 334, 260, 334, 584};

/* Of the character at `c`, in parts of the font size; 0 for the bytes that only continue one. */
static double character_width(const char *c) {
  const unsigned char byte = (unsigned char)*c;
  if ((byte & 0xc0) == 0x80) return 0;
  return byte >= ' ' && byte <= '~' ? helvetica[byte - ' '] / 1000.0 : 0.6;
}

double plot_layout_text_width(const char *text, double font_px) {
  double width = 0;
  for (const char *c = text; *c; c++) width += character_width(c);
  return width * font_px;
}

char *plot_layout_cut(const char *text, double font_px, double room) {
  char *copy = core_text_duplicate(text);
  if (plot_layout_text_width(text, font_px) <= room) return copy;
  double width = font_px; /* of the three dots */
  size_t length = 0;
  while (text[length] && (width += character_width(text + length) * font_px) <= room) length++;
  CoreText cut = {0};
  core_text_append_bytes(&cut, text, length);
  core_text_append(&cut, "…");
  free(copy);
  copy = core_text_duplicate(core_text_string(&cut));
  core_text_free(&cut);
  return copy;
}

/* The widest label of a list that analysis_axis_ticks made; "^{...}" is set smaller. */
static double widest_tick(const char *list, double font) {
  double widest = 0;
  for (const char *c = list; (c = strchr(c, '\'')); c++) {
    double width = 0, scale = 1;
    for (c++; *c && *c != '\''; c++) {
      if (*c == '^') scale = 0.8;
      else if (*c != '{' && *c != '}') width += scale * character_width(c) * font;
    }
    widest = fmax(widest, width);
    if (!*c) break;
  }
  return widest;
}

double plot_layout_tick_width(const AnalysisPlot *plot, const AnalysisAxis *axis, double font) {
  double widest = 0;
  if (plot->y_names.count) {
    for (size_t i = 0; i < plot->y_names.count; i++)
      widest = fmax(widest, plot_layout_text_width(plot->y_names.labels[i], 0.9 * font));
    return fmin(widest, 0.4 * plot->style->page_px);
  }
  CoreText list = {0};
  analysis_axis_ticks(axis, PLOT_TICKS_Y, true, &list);
  widest = widest_tick(core_text_string(&list), 0.9 * font);
  core_text_free(&list);
  return widest;
}

double plot_layout_title_font(const PlotLayout *layout, const char *title) {
  static const double BOLD = 1.1, LEAST = 0.6; /* wider than plain letters; smaller can not be read */
  const double width = BOLD * plot_layout_text_width(title, layout->font);
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
    if (plot->entries[i].head && plot->entries[i].label[0]) return true;
  }
  return false;
}

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

/* ASCII, and the first byte of Latin and Greek letters: a dash, a bullet or a sign is none. */
static bool is_letter(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0xc3 && c <= 0xcf);
}

/* Whether the words around the space at text[at] stay on one line: a number and what it counts ("95 % interval", "36
 * runs"), signs and what they say ("n = 3", "–: no run"), single letters ("Student t)"). */
static bool binds(const char *text, size_t at) {
  size_t before = 0, after = 0, begin = at;
  bool number = true;
  for (size_t i = at + 1; text[i] && text[i] != ' '; i++)
    after += is_digit((unsigned char)text[i]) ? 2 : is_letter((unsigned char)text[i]);
  for (; begin > 0 && text[begin - 1] != ' '; begin--) {
    const unsigned char c = (unsigned char)text[begin - 1];
    number &= is_digit(c);
    before += is_digit(c) || is_letter(c);
  }
  return after < 2 || before == 0 || number;
}

/* The length of a line's text: up to a space between words that may part, else up to any, else as much as has room. */
static size_t line_length(const char *text, double font, double room) {
  size_t best = 0, any = 0, at = 0;
  double width = 0;
  for (; text[at]; at++) {
    if (text[at] == ' ' && at > 0) {
      any = at;
      if (!binds(text, at)) best = at;
    }
    width += character_width(text + at) * font;
    if (width > room && text[at] != ' ') break;
  }
  if (!text[at]) return at;
  if (best || any) return best ? best : any;
  return at > 0 ? at : 1;
}

size_t plot_layout_wrap(const char *text, double font, double room, void (*line)(void *, const char *), void *context) {
  size_t lines = 0;
  while (*text) {
    const size_t length = line_length(text, font, room);
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

static double legend_entry_width(const PlotEntry *entry, double font) {
  return plot_layout_text_width(entry->label, font * 0.9) + (entry->head ? 0 : 2.6 * font);
}

static double widest_entry(const AnalysisPlot *plot, double font) {
  double widest = 0;
  for (size_t i = 0; i < plot->entry_count; i++) widest = fmax(widest, legend_entry_width(&plot->entries[i], font));
  return widest;
}

static void layout_legend(const AnalysisPlot *plot, PlotLayout *layout) {
  double usable = layout->width - 2 * layout->font;
  layout->legend_column = fmin(widest_entry(plot, layout->font) + 0.8 * layout->font, usable);
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

/* Room for an axis' ticks, their labels and its title. */
static double axis_room(const AnalysisPlot *plot, const AnalysisAxis *axis, double font) {
  return plot_layout_tick_width(plot, axis, font) + PLOT_TICK_ROOM * font + (*axis->title ? 2.1 : 0.8) * font;
}

/* Room left of the first panel and between two: for the numbers or names and the title of the y axes there. */
static void layout_gaps(const AnalysisPlot *plot, PlotLayout *l) {
  const bool own = has_own_axes(plot);
  l->left = own ? 0 : axis_room(plot, &plot->y, l->font);
  l->gap = 1.5 * l->font;
  for (size_t p = 0; p < plot->panel_count && own; p++) {
    const PlotPanel *panel = &plot->panels[p];
    double *room = p % l->columns == 0 ? &l->left : &l->gap;
    const double apart = p % l->columns ? 0.8 * l->font : 0;
    *room = fmax(*room, axis_room(plot, panel->has_y ? &panel->y : &plot->y, l->font) + apart);
  }
  l->left = fmax(l->left, 4.6 * l->font); /* figures of one kind line up in a paper */
}

/* Wide enough for squares where rows have names, otherwise of a landscape's shape. */
static double panel_height(const AnalysisPlot *plot, const PlotLayout *l) {
  if (plot->y_names.count && !plot->x_names.count) /* a row of bars each */
    return fmax((double)plot->y_names.count * 1.7 * l->font, 5 * l->font);
  return fmin(fmax(l->panel_width * (l->columns == 1 ? 0.72 : 0.8), 13 * l->font), 24 * l->font);
}

static double panel_width(const PlotLayout *l) {
  return (l->width - l->left - 1.2 * l->font - (double)(l->columns - 1) * l->gap) / (double)l->columns;
}

/* Names under the axis stand aslant where they would run into one another; the first may then begin left of its
 * axis. */
static void layout_names(const AnalysisPlot *plot, PlotLayout *l) {
  static const double SLOPE = 0.71; /* of 45 degrees */
  double widest = 0, slot = l->panel_width / (double)(plot->x_names.count + !plot->x_names.count);
  for (size_t i = 0; i < plot->x_names.count; i++)
    widest = fmax(widest, plot_layout_text_width(plot->x_names.labels[i], 0.9 * l->font));
  l->aslant = widest + 0.4 * l->font > slot;
  if (!l->aslant) return;
  l->names_room = fmin(widest, 14 * l->font);
  l->x_title += SLOPE * l->names_room;
  l->below += SLOPE * l->names_room;
  l->left = fmax(l->left, SLOPE * l->names_room + l->font - slot / 2);
  l->panel_width = panel_width(l);
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
  l.columns = plot->columns ? plot->columns : n <= 3 ? n : n == 4 ? 2 : 3;
  l.rows = (n + l.columns - 1) / l.columns;
  layout_gaps(plot, &l);
  bool wide = n > 1 || l.left > 0.4 * style->column_px || plot->x_names.count > 7 ||
              widest_entry(plot, l.font) > style->column_px - 2 * l.font;
  l.width = wide ? style->page_px : style->column_px;
  l.above = (titles ? 2.2 : 1.0) * l.font;
  l.below = (notes ? 5.0 : 3.6) * l.font;
  l.x_title = 2.5 * l.font;
  l.panel_width = panel_width(&l);
  layout_names(plot, &l);
  l.panel_height = panel_height(plot, &l);
  layout_legend(plot, &l);
  bool heads = plot_layout_legend_has_heads(plot);
  l.legend_top = (double)l.rows * (l.above + l.panel_height + l.below) + 0.4 * l.font;
  double legend = plot->entry_count ? ((double)l.legend_rows + (heads ? 1 : 0)) * l.row + 0.6 * l.font : 0;
  l.caption_top = l.legend_top + legend;
  l.caption_row = 1.32 * l.small;
  l.wrap = 0.89 * (l.width - 2 * l.font); /* DejaVu, which stands in for Helvetica on Linux, is an eighth wider */
  for (size_t i = 0; i < plot->paragraph_count; i++)
    l.caption_lines += plot_layout_wrap(plot->paragraphs[i], l.small, l.wrap, NULL, NULL);
  l.height = ceil(l.caption_top + (double)l.caption_lines * l.caption_row + 0.6 * l.font);
  return l;
}
