/* Model of a figure (plot.h): collects panels, data, legend and caption. plot_layout.c and plot_script.c do the
 * rest. */
#include "analysis/plot/plot_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* Grows an array by one element and returns its address. */
#define APPEND(array, count) \
  ((array) = core_memory_resize((array), ((count) + 1) * sizeof *(array)), &(array)[(count)++])

/* ---- the model -------------------------------------------------------------------------------------------------- */

AnalysisPlot *analysis_plot_create(const AnalysisStyle *style, const char *x_title, bool x_log, const char *y_title,
                                   bool y_log) {
  AnalysisPlot *plot = core_memory_zero_allocate(1, sizeof *plot);
  plot->style = style;
  plot->x = (AnalysisAxis){.title = core_text_duplicate(x_title), .log = x_log};
  plot->y = (AnalysisAxis){.title = core_text_duplicate(y_title), .log = y_log};
  return plot;
}

void analysis_plot_columns(AnalysisPlot *plot, size_t columns) { plot->columns = columns; }

static void panel_free(PlotPanel *panel) {
  for (size_t i = 0; i < panel->curve_count; i++) free(panel->curves[i].values);
  free(panel->title);
  free(panel->note);
  free(panel->points);
  free(panel->curves);
  free(panel->levels);
  free(panel->whiskers);
  for (size_t i = 0; i < panel->text_count; i++) free(panel->texts[i].text);
  free(panel->boxes);
  free(panel->texts);
  free((char *)panel->x.title);
  free((char *)panel->y.title);
}

static void categories_free(PlotCategories *names) {
  for (size_t i = 0; i < names->count; i++) free(names->labels[i]);
  free(names->labels);
}

void analysis_plot_destroy(AnalysisPlot **plot) {
  AnalysisPlot *p = *plot;
  if (!p) return;

  for (size_t i = 0; i < p->panel_count; i++) panel_free(&p->panels[i]);
  for (size_t i = 0; i < p->entry_count; i++) free(p->entries[i].label);
  for (size_t i = 0; i < p->paragraph_count; i++) free(p->paragraphs[i]);
  for (size_t i = 0; i < p->level_label_count; i++) free(p->level_labels[i]);

  categories_free(&p->x_names);
  categories_free(&p->y_names);
  for (size_t i = 0; i < p->x_tick_count; i++) free(p->x_ticks[i].label);
  free(p->x_ticks);
  free((char *)p->x.title);
  free((char *)p->y.title);

  free(p->panels);
  free(p->entries);
  free(p->paragraphs);
  free(p->level_labels);
  free(p);
  *plot = NULL;
}

size_t analysis_plot_panel(AnalysisPlot *plot, const char *title, const char *note) {
  PlotPanel *panel = APPEND(plot->panels, plot->panel_count);
  *panel = (PlotPanel){.title = core_text_duplicate(title), .note = core_text_duplicate(note)};
  return plot->panel_count - 1;
}

void analysis_plot_panel_axis(AnalysisPlot *plot, size_t panel, const char *y_title, bool y_log) {
  PlotPanel *p = &plot->panels[panel];
  p->has_y = true;
  p->y = (AnalysisAxis){.title = core_text_duplicate(y_title), .log = y_log};
}

void analysis_plot_panel_axis_x(AnalysisPlot *plot, size_t panel) {
  PlotPanel *p = &plot->panels[panel];
  p->has_x = true;
  p->x = (AnalysisAxis){.title = core_text_duplicate(plot->x.title), .log = plot->x.log};
}

static void add_category(PlotCategories *names, AnalysisAxis *axis, const char *label) {
  *APPEND(names->labels, names->count) = core_text_duplicate(label);
  axis->low = -0.5;
  axis->high = (double)names->count - 0.5;
  axis->seen = true;
}

void analysis_plot_category_x(AnalysisPlot *plot, const char *label) { add_category(&plot->x_names, &plot->x, label); }
void analysis_plot_category_y(AnalysisPlot *plot, const char *label) { add_category(&plot->y_names, &plot->y, label); }

void analysis_plot_tick_x(AnalysisPlot *plot, double value, const char *label) {
  *APPEND(plot->x_ticks, plot->x_tick_count) = (PlotTick){value, core_text_duplicate(label)};
}

static AnalysisAxis *x_axis(AnalysisPlot *plot, PlotPanel *panel) { return panel->has_x ? &panel->x : &plot->x; }
static AnalysisAxis *y_axis(AnalysisPlot *plot, PlotPanel *panel) { return panel->has_y ? &panel->y : &plot->y; }

void analysis_plot_point(AnalysisPlot *plot, size_t panel, double x, double y, AnalysisMark mark, bool hollow) {
  PlotPanel *p = &plot->panels[panel];
  *APPEND(p->points, p->point_count) = (PlotPoint){x, y, mark, hollow};
  analysis_axis_include(x_axis(plot, p), x);
  analysis_axis_include(y_axis(plot, p), y);
}

void analysis_plot_curve(AnalysisPlot *plot, size_t panel, size_t n, const double *x, const double *y,
                         const double *low, const double *high, AnalysisMark mark, AnalysisLine line) {
  PlotPanel *p = &plot->panels[panel];
  double *values = core_memory_allocate((4 * n + 1) * sizeof *values);

  for (size_t i = 0; i < n; i++) {
    /* A band would reach to the end of the axis for values that a log axis cannot show. */
    const bool shown = !plot->x.log || x[i] > 0;
    const double row[4] = {x[i], shown ? y[i] : NAN, low && shown ? low[i] : NAN, high && shown ? high[i] : NAN};
    memcpy(values + 4 * i, row, sizeof row);

    bool has_value = false;
    for (int k = 1; k < 4; k++) {
      has_value |= isfinite(row[k]);
      analysis_axis_include(y_axis(plot, p), row[k]);
    }
    if (has_value) analysis_axis_include(x_axis(plot, p), x[i]); /* a band may go on where its line is dashed */
  }

  *APPEND(p->curves, p->curve_count) = (PlotCurve){n, values, mark, line, low && high};
}

void analysis_plot_steps(AnalysisPlot *plot, size_t panel, size_t n, const double *x, const double *y,
                         const double *low, const double *high, AnalysisMark mark) {
  const double *from[4] = {x, y, low, high};
  double *step[4] = {0};
  if (n > 0) {
    for (int k = 0; k < 4; k++) {
      if (!from[k]) continue;
      step[k] = core_memory_allocate((2 * n - 1) * sizeof *step[k]);
      for (size_t i = 0; i < n; i++) {
        step[k][2 * i] = from[k][i];
        if (i + 1 < n) step[k][2 * i + 1] = from[k][k == 0 ? i + 1 : i]; /* until the next point */
      }
    }
  }
  if (n > 0)
    analysis_plot_curve(plot, panel, 2 * n - 1, step[0], step[1], step[2], step[3], mark, ANALYSIS_SOLID);
  for (int k = 0; k < 4; k++) free(step[k]);
}

void analysis_plot_whisker(AnalysisPlot *plot, size_t panel, const double x[2], const double y[2], uint32_t color) {
  PlotPanel *p = &plot->panels[panel];
  *APPEND(p->whiskers, p->whisker_count) = (PlotWhisker){{x[0], x[1]}, {y[0], y[1]}, color};
  for (int end = 0; end < 2; end++) {
    analysis_axis_include(x_axis(plot, p), x[end]);
    analysis_axis_include(y_axis(plot, p), y[end]);
  }
}

void analysis_plot_level(AnalysisPlot *plot, size_t panel, double y, const char *label) {
  PlotPanel *p = &plot->panels[panel];
  size_t known = 0;
  while (known < plot->level_label_count && strcmp(plot->level_labels[known], label) != 0) known++;
  if (known == plot->level_label_count)
    *APPEND(plot->level_labels, plot->level_label_count) = core_text_duplicate(label);
  *APPEND(p->levels, p->level_count) = (PlotLevel){y, known};
  analysis_axis_include(y_axis(plot, p), y);
}

void analysis_plot_box(AnalysisPlot *plot, size_t panel, double left, double bottom, double right, double top,
                       uint32_t color) {
  PlotPanel *p = &plot->panels[panel];
  *APPEND(p->boxes, p->box_count) = (PlotBox){left, bottom, right, top, color};
  analysis_axis_include(x_axis(plot, p), left);
  analysis_axis_include(x_axis(plot, p), right);
  analysis_axis_include(y_axis(plot, p), bottom);
  analysis_axis_include(y_axis(plot, p), top);
}

void analysis_plot_text(AnalysisPlot *plot, size_t panel, double x, double y, const char *text, uint32_t color) {
  PlotPanel *p = &plot->panels[panel];
  *APPEND(p->texts, p->text_count) = (PlotText){x, y, core_text_duplicate(text), color};
}

void analysis_plot_legend_head(AnalysisPlot *plot, const char *text) {
  *APPEND(plot->entries, plot->entry_count) = (PlotEntry){.label = core_text_duplicate(text), .sample = PLOT_HEAD};
}

void analysis_plot_legend_entry(AnalysisPlot *plot, const char *label, AnalysisMark mark, bool line) {
  *APPEND(plot->entries, plot->entry_count) =
    (PlotEntry){.label = core_text_duplicate(label), .mark = mark, .sample = line ? PLOT_LINE : PLOT_DOT};
}

void analysis_plot_legend_line(AnalysisPlot *plot, const char *label, AnalysisMark mark, AnalysisLine line) {
  analysis_plot_legend_entry(plot, label, mark, true);
  plot->entries[plot->entry_count - 1].line = line;
}

void analysis_plot_caption(AnalysisPlot *plot, const char *text) {
  *APPEND(plot->paragraphs, plot->paragraph_count) = core_text_duplicate(text);
}
