/* Layout of panels, legend and caption (plot_internal.h), from the style's font size and the texts, since gnuplot's
 * own legends overlap data. */
#include "analysis/plot/plot_internal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the width of the widest label in a list from analysis_axis_ticks; "^{...}" is smaller. */
static double widest_tick(const char *list, double font) {
  double widest = 0;
  for (const char *c = list; (c = strchr(c, '\'')); c++) {
    double width = 0, scale = 1;
    for (c++; *c && *c != '\'';) {
      double of_character;
      const size_t length = plot_font_character(c, scale * font, false, &of_character);
      if (*c == '^') scale = 0.8;
      else if (*c != '{' && *c != '}') width += of_character;
      c += length;
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

/* Returns the distance between the left ends, or the middles, of two panels' texts. */
static double text_room(const PlotLayout *layout) {
  return layout->panel_width + (layout->columns > 1 ? 0.8 : 0.3) * layout->gap;
}

double plot_layout_title_font(const AnalysisPlot *plot, const PlotLayout *layout) {
  static const double LEAST = 0.6; /* smallest legible scale */
  double widest = 0;
  for (size_t p = 0; p < plot->panel_count; p++)
    widest = fmax(widest, plot_layout_bold_width(plot->panels[p].title, layout->font));
  return layout->font * fmin(1, fmax(LEAST, text_room(layout) / widest));
}

double plot_layout_note_font(const PlotLayout *layout, const char *text, double font) {
  return font * fmin(1, text_room(layout) / plot_layout_text_width(text, font));
}

static bool has_own_axes(const AnalysisPlot *plot) {
  for (size_t p = 0; p < plot->panel_count; p++) {
    if (plot->panels[p].has_y) return true;
  }
  return false;
}

/* Returns the width of an axis' ticks, labels and title. */
static double axis_room(const AnalysisPlot *plot, const AnalysisAxis *axis, double font) {
  return plot_layout_tick_width(plot, axis, font) + PLOT_TICK_ROOM * font + (*axis->title ? 2.1 : 0.8) * font;
}

/* Computes the space left of the first panel and between two panels, for the labels and titles of y axes. */
static void layout_gaps(const AnalysisPlot *plot, PlotLayout *l) {
  const bool has_own = has_own_axes(plot);
  l->left = has_own ? 0 : axis_room(plot, &plot->y, l->font);
  l->gap = 1.5 * l->font;
  for (size_t p = 0; p < plot->panel_count && has_own; p++) {
    const PlotPanel *panel = &plot->panels[p];
    double *room = p % l->columns == 0 ? &l->left : &l->gap;
    const double apart = p % l->columns ? 0.8 * l->font : 0;
    *room = fmax(*room, axis_room(plot, panel->has_y ? &panel->y : &plot->y, l->font) + apart);
  }
  l->left = fmax(l->left, 4.6 * l->font); /* figures of one kind are aligned in a paper */
}

/* Returns the panel height: enough for squares if rows have names, otherwise a landscape format. */
static double panel_height(const AnalysisPlot *plot, const PlotLayout *l) {
  if (plot->y_names.count && !plot->x_names.count) /* a row of bars per name */
    return fmax((double)plot->y_names.count * 1.7 * l->font, 5 * l->font);
  return fmin(fmax(l->panel_width * (l->columns == 1 ? 0.72 : 0.8), 13 * l->font), 24 * l->font);
}

static double panel_width(const PlotLayout *l) {
  return (l->width - l->left - 1.2 * l->font - (double)(l->columns - 1) * l->gap) / (double)l->columns;
}

/* Slants the names under the axis if they would overlap; the first may then begin left of its axis. */
static void layout_names(const AnalysisPlot *plot, PlotLayout *l) {
  static const double SLOPE = 0.71; /* sine of 45 degrees */
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

  /* Columns and gaps decide the width of a panel, and this the names and heights below. */
  l.row = 1.45 * l.font;
  l.columns = plot->columns ? plot->columns : n <= 3 ? n : n == 4 ? 2 : 3;
  l.rows = (n + l.columns - 1) / l.columns;
  layout_gaps(plot, &l);

  bool wide = n > 1 || l.left > 0.4 * style->column_px || plot->x_names.count > 7 ||
              plot_legend_entry_width(plot, l.font) > style->column_px - 2 * l.font;
  l.width = wide ? style->page_px : style->column_px;

  l.above = (titles ? 2.2 : 1.0) * l.font;
  l.below = (notes ? 5.0 : 3.6) * l.font;
  l.x_title = 2.5 * l.font;
  l.panel_width = panel_width(&l);
  layout_names(plot, &l);
  l.panel_height = panel_height(plot, &l);

  l.legend_top = (double)l.rows * (l.above + l.panel_height + l.below) + 0.4 * l.font;
  plot_legend_place(plot, &l);
  l.caption_top = l.legend_top + l.legend_height;

  l.caption_row = 1.32 * l.small;
  l.wrap = 0.99 * (l.width - 2 * l.font);
  for (size_t i = 0; i < plot->paragraph_count; i++)
    l.caption_lines += plot_layout_wrap(plot->paragraphs[i], l.small, l.wrap, NULL, NULL);
  l.height = ceil(l.caption_top + (double)l.caption_lines * l.caption_row + 0.6 * l.font);
  return l;
}

void plot_layout_free(PlotLayout *layout) {
  free(layout->places);
  layout->places = NULL;
}
