/* Legend of a figure (plot_internal.h): blocks of entries under the panels, side by side if they fit on the page,
 * else in bands below one another, without overlaps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plot/plot_internal.h"
#include "core/memory.h"

/* ---- places ----------------------------------------------------------------------------------------------------- */

static double sample_width(const PlotEntry *entry, double font) {
  if (entry->sample == PLOT_HEAD) return 0;
  return (entry->sample == PLOT_DOT ? 1.6 : 2.0) * font;
}

double plot_legend_entry_width(const AnalysisPlot *plot, double font) {
  double widest = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    const PlotEntry *entry = &plot->entries[i];
    const double label = entry->sample == PLOT_HEAD ? plot_layout_bold_width(entry->label, 0.9 * font)
                                                    : plot_layout_text_width(entry->label, 0.9 * font);
    widest = fmax(widest, label + sample_width(entry, font));
  }
  return widest;
}

void plot_legend_add_levels(AnalysisPlot *plot) {
  if (plot->level_label_count && plot->entry_count) analysis_plot_legend_head(plot, "");
  for (size_t i = 0; i < plot->level_label_count; i++) {
    analysis_plot_legend_entry(plot, plot->level_labels[i], (AnalysisMark){.color = plot->style->muted}, true);
    plot->entries[plot->entry_count - 1].sample = PLOT_LEVEL;
    plot->entries[plot->entry_count - 1].level = i;
  }
}

/* Returns the end of a block, which extends to the next heading. */
static size_t block_end(const AnalysisPlot *plot, size_t first) {
  size_t end = first + 1;
  while (end < plot->entry_count && plot->entries[end].sample != PLOT_HEAD) end++;
  return end;
}

/* Returns the end of the blocks that fit side by side. */
static size_t band_end(const AnalysisPlot *plot, size_t first, size_t fit) {
  size_t end = first;
  for (size_t blocks = 0; blocks < fit && end < plot->entry_count; blocks++) end = block_end(plot, end);
  return end;
}

/* Counts the columns of the entries for a number of rows; each block begins a new column. */
static size_t columns_of(const AnalysisPlot *plot, size_t first, size_t end, size_t rows) {
  size_t columns = 0, in_column = 0;
  for (size_t i = first; i < end; i++) {
    const bool head = plot->entries[i].sample == PLOT_HEAD;
    if (head || columns == 0 || in_column == rows) {
      columns++;
      in_column = 0;
    }
    if (!head) in_column++;
  }
  return columns;
}

static bool has_heads(const AnalysisPlot *plot, size_t first, size_t end) {
  for (size_t i = first; i < end; i++)
    if (plot->entries[i].sample == PLOT_HEAD && plot->entries[i].label[0]) return true;
  return false;
}

/* Places one band, whose top is at `top`; returns its height. */
static double place_band(const AnalysisPlot *plot, PlotLayout *l, size_t first, size_t end, size_t fit, double top) {
  const bool heads = has_heads(plot, first, end);
  size_t rows = 1, column = 0, row = 0;

  while (rows < end - first && columns_of(plot, first, end, rows) > fit) rows++;
  const size_t used = columns_of(plot, first, end, rows);
  const double usable = l->width - 2 * l->font;

  /* Distribute over the width, but keep labels close to their neighbors. */
  const double width = used > 1 ? fmin(usable / (double)used, 1.35 * l->legend_column) : l->legend_column;
  const double left =
    used == 1 ? fmax(l->font, fmin(l->left, l->width - width - l->font)) : (l->width - (double)used * width) / 2;

  for (size_t i = first; i < end; i++) {
    const bool head = plot->entries[i].sample == PLOT_HEAD;
    if (head || column == 0 || row == rows) {
      column++;
      row = 0;
    }

    l->places[i].x = left + (double)(column - 1) * width;
    l->places[i].y = top + ((double)row + (heads && !head ? 1.5 : 0.5)) * l->row;
    if (!head) row++;
  }

  return ((double)rows + heads) * l->row;
}

void plot_legend_place(const AnalysisPlot *plot, PlotLayout *l) {
  const double usable = l->width - 2 * l->font;
  l->legend_height = 0;
  if (plot->entry_count == 0) return;
  l->places = core_memory_zero_allocate(plot->entry_count, sizeof *l->places);
  l->legend_column = fmin(plot_legend_entry_width(plot, l->font) + 0.8 * l->font, usable);
  const size_t fit = (size_t)fmax(1, floor(usable / l->legend_column));
  for (size_t first = 0, end; first < plot->entry_count; first = end) {
    end = band_end(plot, first, fit);
    if (first > 0) l->legend_height += 0.4 * l->row;
    l->legend_height += place_band(plot, l, first, end, fit, l->legend_top + l->legend_height);
  }
  l->legend_height += 0.6 * l->font;
}

/* ---- script ----------------------------------------------------------------------------------------------------- */

/* Writes the data of an entry's sample, in pixels of the page. */
static void write_sample(const PlotWriter *w, size_t i) {
  const double font = w->layout.font;
  const PlotEntry *entry = &w->plot->entries[i];
  const PlotPlace position = w->layout.places[i];
  core_text_appendf(w->script, "$key_%zu << EOD\n", i);
  if (entry->sample != PLOT_DOT)
    core_text_appendf(w->script, " %.2f %.2f %.2f 0\n", position.x, position.y, 1.6 * font);
  else
    core_text_appendf(w->script, " %.2f %.2f %.4g 0x%06x\n", position.x + 0.7 * font, position.y,
                      plot_point_size(w, entry->mark), entry->mark.color);
  core_text_append(w->script, "EOD\n");
}

void plot_legend_write(PlotWriter *w) {
  const AnalysisPlot *plot = w->plot;
  const PlotLayout *l = &w->layout;
  const double font = 0.9 * l->font;
  const char **text = core_memory_allocate((plot->entry_count + 1) * sizeof *text);

  double widest_sample = 0;
  for (size_t i = 0; i < plot->entry_count; i++) {
    text[i] = plot->entries[i].label;
    widest_sample = fmax(widest_sample, sample_width(&plot->entries[i], l->font));
  }

  char **label = plot_layout_cut_apart(text, plot->entry_count, font, l->legend_column - widest_sample);
  for (size_t i = 0; i < plot->entry_count; i++) {
    const PlotEntry *entry = &plot->entries[i];
    const bool head = entry->sample == PLOT_HEAD;
    plot_write_label(w, label[i], l->places[i].x + sample_width(entry, l->font), l->places[i].y, PLOT_LEFT,
                     head ? PLOT_BOLD : PLOT_PLAIN, font, plot->style->foreground);
    if (!head) write_sample(w, i);
  }

  plot_layout_cut_free(label, plot->entry_count);
  free(text);
}

/* Uses the line styles of the panels: arrows would not do, because gnuplot's SVG joins a dashed one to a solid one
 * of the same color. */
void plot_legend_write_samples(const PlotWriter *w) {
  const PlotLayout *l = &w->layout;
  core_text_appendf(w->script,
                    "unset border; unset xtics; unset ytics; unset grid; unset logscale\n"
                    "set lmargin at screen 0; set rmargin at screen 1\n"
                    "set tmargin at screen 1; set bmargin at screen 0\n"
                    "set xrange [0:%.0f]; set yrange [%.0f:0]\nplot NaN notitle",
                    l->width, l->height);

  for (size_t i = 0; i < w->plot->entry_count; i++) {
    const PlotEntry *entry = &w->plot->entries[i];
    char block[32];
    snprintf(block, sizeof block, "$key_%zu", i);

    if (entry->sample == PLOT_HEAD) continue;
    if (entry->sample != PLOT_DOT)
      core_text_appendf(w->script, ", \\\n  %s using 1:2:3:4 with vectors nohead %s%06x' notitle", block,
                        entry->sample == PLOT_LEVEL ? plot_level_look(entry->level) : plot_line_look(entry->line),
                        entry->mark.color);
    else if (w->plot->panels[0].box_count) /* for boxes, which are opaque */
      core_text_appendf(w->script, ", \\\n  %s using 1:2:($3 * dot):4 "
                        "with points pt %d ps variable lc rgb variable notitle",
                        block, plot_point_type(entry->mark.shape, false));
    else plot_append_points(w, block, entry->mark.shape, false);
  }
  core_text_append(w->script, "\n");
}
