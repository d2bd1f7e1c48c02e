/* Figures of a search: parallel coordinates, a slice per setting, and the Pareto front of two goals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/search_internal.h"
#include "analysis/plot/number_text.h"
#include "core/memory.h"

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static void make_csv(const AnalysisSearch *s, CoreText *csv) {
  const CoreSearch *space = &s->trials.space;
  const char *second = s->has_front ? analysis_measure_name(s->second) : "";
  CoreText value = {0};

  core_text_append(csv, "trial,runs,n");
  for (size_t a = 0; a < space->count; a++) core_text_appendf(csv, ",%s", space->axes[a].row->name);
  core_text_appendf(csv, ",%s,low,high", analysis_measure_name(s->scored.measure));
  if (s->has_front) core_text_appendf(csv, ",%s,%s_low,%s_high,front", second, second, second);
  core_text_append(csv, "\n");

  for (size_t t = 0; t < s->trials.count; t++) {
    core_text_appendf(csv, "%zu,%zu,%zu", t, s->trials.trials[t].count, s->judged[t].score.n);

    for (size_t a = 0; a < space->count; a++) {
      core_text_append(csv, ",");
      analysis_csv_field(csv, isnan(s->trials.trials[t].coordinate[a]) ? "" : analysis_search_value(s, t, a, &value));
    }

    analysis_csv_value(csv, s->judged[t].score.center);
    analysis_csv_value(csv, s->judged[t].score.low);
    analysis_csv_value(csv, s->judged[t].score.high);
    if (s->has_front) {
      analysis_csv_value(csv, s->second_score[t].center);
      analysis_csv_value(csv, s->second_score[t].low);
      analysis_csv_value(csv, s->second_score[t].high);
      core_text_append(csv, analysis_search_is_on_front(s, t) ? ",1" : ",0");
    }
    core_text_append(csv, "\n");
  }

  core_text_free(&value);
}

static int write_figure(AnalysisSearch *s, AnalysisPlot *plot, const char *what, const char *words) {
  static const char query[] = "SELECT ini FROM sweep WHERE name = ?1 (the space); analysis_measures_read (the values)";
  char name[192];
  CoreText csv = {0}, caption = {0};
  core_text_append(&caption, words);
  analysis_search_describe(s, &caption);
  analysis_plot_caption(plot, core_text_string(&caption));
  core_text_free(&caption);
  make_csv(s, &csv);
  const char *base = s->context.name;
  snprintf(name, sizeof name, "%s-%s", base, what);
  s->context.name = name;
  const int code = analysis_figure_write(&s->context, plot, query, analysis_interval_description, &csv);
  s->context.name = base;
  return code;
}

/* Returns a trial's marker, by rank from the worst (0) to the best (1). */
static AnalysisMark mark_of(const AnalysisSearch *s, size_t rank) {
  const double share = s->valued > 1 ? 1 - (double)rank / (double)(s->valued - 1) : 1;
  return (AnalysisMark){.color = analysis_ramp(0.9 * (1 - share))};
}

static void add_ranks(const AnalysisSearch *s, AnalysisPlot *plot, bool line) {
  if (s->valued < 3) return;
  analysis_plot_legend_entry(plot, "best", mark_of(s, 0), line);
  analysis_plot_legend_entry(plot, "median", mark_of(s, s->valued / 2), line);
  analysis_plot_legend_entry(plot, "worst", mark_of(s, s->valued - 1), line);
}

/* Maps a unit coordinate to a panel's y, from -0.5 to 1.5 with space for two names: an axis extends from -0.2 to
 * 1.3, and inactive settings are below it. */
static double height_of(double unit) { return -0.2 + 1.5 * unit; }
static const double NONE_HEIGHT = -0.42, TEXT_APART = 0.06;

/* Adds the labels of an axis: its ends, or its choices. */
static void add_ends(const AnalysisSearch *s, AnalysisPlot *plot, size_t axis, double x) {
  const CoreSearchAxis *of = &s->trials.space.axes[axis];
  const uint32_t color = s->context.style->foreground;
  CoreText text = {0};
  for (size_t c = 0; c < of->choice_count; c++)
    analysis_plot_text(plot, 0, x, height_of(((double)c + 0.5) / (double)of->choice_count) + TEXT_APART, of->choices[c],
                       color);
  if (!of->choices) {
    analysis_plot_text(plot, 0, x, height_of(0) - TEXT_APART, core_search_value(of, 0, &text), color);
    analysis_plot_text(plot, 0, x, height_of(1) + TEXT_APART, core_search_value(of, 1 - 1e-12, &text), color);
  }
  if (of->parent != CORE_SEARCH_NO_PARENT) analysis_plot_text(plot, 0, x, NONE_HEIGHT - 0.04, "none", color);
  core_text_free(&text);
}

static void add_score_ends(const AnalysisSearch *s, AnalysisPlot *plot, double x, double low, double high) {
  char text[32];
  const bool is_log = analysis_scored_is_log(&s->scored);
  snprintf(text, sizeof text, "%.3g", is_log ? exp(low) : low);
  analysis_plot_text(plot, 0, x, height_of(0) - TEXT_APART, text, s->context.style->foreground);
  snprintf(text, sizeof text, "%.3g", is_log ? exp(high) : high);
  analysis_plot_text(plot, 0, x, height_of(1) + TEXT_APART, text, s->context.style->foreground);
}

/* Adds one line per trial through its settings, scaled to their ranges, to its score. The best is plotted last,
 * above the others. */
static void add_lines(const AnalysisSearch *s, AnalysisPlot *plot, double low, double high) {
  const CoreSearch *space = &s->trials.space;
  double x[CORE_SEARCH_AXES_MAX + 1], y[CORE_SEARCH_AXES_MAX + 1];
  for (size_t i = s->valued; i-- > 0;) {
    const size_t t = s->order[i];
    for (size_t a = 0; a < space->count; a++) {
      const double coordinate = s->trials.trials[t].coordinate[a];
      x[a] = (double)a;
      y[a] = isnan(coordinate) ? NONE_HEIGHT : height_of(core_search_unit(&space->axes[a], coordinate));
    }
    x[space->count] = (double)space->count;
    y[space->count] = height_of(high > low ? (analysis_search_score(s, t) - low) / (high - low) : 0.5);
    analysis_plot_curve(plot, 0, space->count + 1, x, y, NULL, NULL, mark_of(s, i),
                        i < (size_t)s->best ? ANALYSIS_SOLID : ANALYSIS_FAINT);
  }
}

static int draw_parallel(AnalysisSearch *s) {
  const CoreSearch *space = &s->trials.space;
  const AnalysisStyle *style = s->context.style;
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < s->valued; i++) {
    low = fmin(low, analysis_search_score(s, s->order[i]));
    high = fmax(high, analysis_search_score(s, s->order[i]));
  }

  AnalysisPlot *plot = analysis_plot_create(style, "", false, "", false);
  for (size_t a = 0; a < space->count; a++) analysis_plot_category_x(plot, analysis_key_name(space->axes[a].row));
  analysis_plot_category_x(plot, analysis_measure_name(s->scored.measure));
  analysis_plot_category_y(plot, "");
  analysis_plot_category_y(plot, "");
  analysis_plot_panel(plot, "", "");

  /* A vertical line for each setting, and one for the score. */
  for (size_t a = 0; a <= space->count; a++) {
    const double x[2] = {(double)a, (double)a}, ends[2] = {height_of(0), height_of(1)};
    analysis_plot_whisker(plot, 0, x, ends, style->muted);
  }

  add_lines(s, plot, low, high);
  for (size_t a = 0; a < space->count; a++) add_ends(s, plot, a, (double)a);
  add_score_ends(s, plot, (double)space->count, low, high);
  add_ranks(s, plot, true);

  return write_figure(s, plot, "parallel",
                      "A line a trial, through its settings to its score; none: the setting took no part. ");
}

static int draw_slices(AnalysisSearch *s) {
  const CoreSearch *space = &s->trials.space;
  size_t axes[CORE_SEARCH_AXES_MAX];
  CoreText values = {0};

  AnalysisPlot *plot = analysis_plot_create(s->context.style, "", false,
                                            analysis_scored_title(&s->scored, &s->context),
                                            analysis_scored_is_log(&s->scored));
  analysis_plot_tick_x(plot, 0, "low");
  analysis_plot_tick_x(plot, 1, "high");
  analysis_search_sort_axes(s, axes);

  for (size_t i = 0; i < space->count; i++) {
    const size_t a = axes[i];

    core_text_clear(&values);
    core_search_axis_print(&s->trials.space, a, &values);
    char *when = strstr(values.data, " when ");
    if (when) *when = '\0';

    /* From the last to the first, so that the best trials are on top. */
    const size_t panel = analysis_plot_panel(plot, space->axes[a].row->name, values.data);
    for (size_t k = s->valued; k-- > 0;) {
      const size_t t = s->order[k];
      const double coordinate = s->trials.trials[t].coordinate[a];
      if (isnan(coordinate)) continue;
      analysis_plot_point(plot, panel, core_search_unit(&space->axes[a], coordinate), s->judged[t].score.center,
                          mark_of(s, k), s->judged[t].unfinished > 0);
    }
  }

  core_text_free(&values);
  add_ranks(s, plot, false);
  return write_figure(s, plot, "slices",
                      "A dot a trial (hollow: not all its runs have ended), over each of its settings; the settings by "
                      "what they explain. ");
}

/* Draws the trials over the second goal, and joins those on the front. */
static int draw_front(AnalysisSearch *s) {
  const AnalysisStyle *style = s->context.style;
  const AnalysisMark others = {.color = style->muted}, front = {.color = analysis_ramp(0)};
  double *x = core_memory_allocate((s->front_count + 1) * sizeof *x), *y = core_memory_allocate(
    (s->front_count + 1) * sizeof *y);
  const bool is_log = analysis_measure_range(s->second, NULL, NULL, 0).logarithmic;

  AnalysisPlot *plot = analysis_plot_create(style, analysis_measure_label(s->second), is_log,
                                            analysis_scored_title(&s->scored, &s->context),
                                            analysis_scored_is_log(&s->scored));
  analysis_plot_panel(plot, "", "");

  for (size_t i = 0; i < s->valued; i++) {
    const size_t t = s->order[i];
    if (isnan(s->second_score[t].center) || analysis_search_is_on_front(s, t)) continue;
    analysis_plot_point(plot, 0, s->second_score[t].center, s->judged[t].score.center, others,
                        s->judged[t].unfinished > 0);
  }

  for (size_t i = 0; i < s->front_count; i++) {
    const size_t t = s->front[i];
    x[i] = s->second_score[t].center;
    y[i] = s->judged[t].score.center;
    const double across[2] = {x[i], x[i]}, ends[2] = {s->judged[t].score.low, s->judged[t].score.high};
    if (isfinite(ends[0]) && isfinite(ends[1])) analysis_plot_whisker(plot, 0, across, ends, front.color);
    analysis_plot_point(plot, 0, x[i], y[i], front, s->judged[t].unfinished > 0);
  }
  analysis_plot_curve(plot, 0, s->front_count, x, y, NULL, NULL, front, ANALYSIS_THIN);
  analysis_plot_legend_entry(plot, "Pareto front", front, false);
  analysis_plot_legend_entry(plot, "other trials", others, false);
  free(x);
  free(y);

  return write_figure(s, plot, "front",
                      "A dot a trial (hollow: not all its runs have ended). The front: no trial is better in one goal "
                      "without being worse in the other; with 95 % intervals of the vertical goal. ");
}

int analysis_search_draw(AnalysisSearch *s) {
  TRY(draw_parallel(s));
  TRY(draw_slices(s));
  return s->has_front ? draw_front(s) : CORE_OK;
}
