/* `analyze heatmap`: a measure of runs over two settings, one cell per pair of values, with the mean over its runs
 * as color and number. Pairs without a run stay empty. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "analysis/plot/number_text.h"
#include "analysis/figures/scored.h"
#include "core/memory.h"
#include "core/terminal.h"

typedef struct Heatmap {
  AnalysisContext context;
  AnalysisRequest request;
  AnalysisScored scored;
  const char *x_name, *y_name;
  AnalysisGrouping x, y;
  AnalysisInterval *cells;   /* [y][x] */
  size_t *runs;              /* [y][x] number of runs, with or without a value */
  double low, high;          /* smallest and largest mean */
  size_t most;               /* maximum number of runs per cell */
} Heatmap;

static void make_cells(Heatmap *h) {
  size_t *run = core_memory_allocate((h->context.selection.count + 1) * sizeof *run);

  h->cells = core_memory_allocate((h->x.count * h->y.count + 1) * sizeof *h->cells);
  h->runs = core_memory_zero_allocate(h->x.count * h->y.count + 1, sizeof *h->runs);
  h->low = INFINITY;
  h->high = -INFINITY;

  for (size_t c = 0; c < h->x.count * h->y.count; c++) {
    for (size_t r = 0; r < h->context.selection.count; r++) {
      if (h->x.group_of[r] != c % h->x.count || h->y.group_of[r] != c / h->x.count) continue;
      run[h->runs[c]++] = r;
    }

    h->cells[c] =
      analysis_scored_interval(&h->scored, h->scored.measure, ANALYSIS_AGGREGATE_MEAN, run, h->runs[c]);
    if (h->cells[c].n > h->most) h->most = h->cells[c].n;

    if (h->cells[c].n == 0) continue;
    h->low = fmin(h->low, h->cells[c].center);
    h->high = fmax(h->high, h->cells[c].center);
  }

  free(run);
}

/* Returns the position of a value between the smallest and the largest mean, or between their logarithms. */
static double shade(const Heatmap *h, double value) {
  bool logarithmic = analysis_scored_is_log(&h->scored) && h->low > 0;
  if (!(h->high > h->low)) return 0.6;
  if (logarithmic) return log(value / h->low) / log(h->high / h->low);
  return (value - h->low) / (h->high - h->low);
}

static const char *no_number(const Heatmap *h, size_t cell) { return h->runs[cell] ? "no value" : "–"; }

static void add_cell(const Heatmap *h, AnalysisPlot *plot, size_t c) {
  const AnalysisInterval *cell = &h->cells[c];
  double x = (double)(c % h->x.count), y = (double)(c / h->x.count);
  char text[32], number[32];

  if (cell->n == 0) {
    analysis_plot_text(plot, 0, x, y, no_number(h, c), h->context.style->muted);
    return;
  }

  uint32_t color = analysis_ramp(shade(h, cell->center));
  if (fabs(cell->center) >= 1000) core_text_count(cell->center, number);
  else
    snprintf(number, sizeof number,
             analysis_scored_is_rate(&h->scored, &h->context) ? "%.2f" : fabs(cell->center) < 99.5 ? "%.2g" : "%.0f",
             cell->center);

  snprintf(text, sizeof text, cell->n < h->most ? "%s (%zu)" : "%s", number, cell->n);
  analysis_plot_box(plot, 0, x - 0.485, y - 0.485, x + 0.485, y + 0.485, color);
  analysis_plot_text(plot, 0, x, y, text, analysis_text_on(color));
}

static void add_names(AnalysisPlot *plot, const AnalysisGrouping *keys, void (*add)(AnalysisPlot *, const char *)) {
  CoreText value = {0};
  for (size_t i = 0; i < keys->count; i++)
    add(plot, analysis_key_shown(keys->groups[i].config, keys->keys[0], &value));
  core_text_free(&value);
}

/* Appends an explanation of the numbers, signs and texts in cells. */
static void append_reading(const Heatmap *h, CoreText *text) {
  bool fewer = false, none = false;
  for (size_t c = 0; c < h->x.count * h->y.count; c++) {
    fewer |= h->cells[c].n > 0 && h->cells[c].n < h->most;
    none |= h->runs[c] == 0;
  }
  core_text_appendf(text, "Number: mean of n = %zu run%s%s%s.", h->most, h->most == 1 ? "" : "s",
                    fewer ? " (of fewer where one stands in brackets)" : "", none ? "; –: no run" : "");
}

static AnalysisPlot *make_plot(const Heatmap *h) {
  CoreText text = {0};
  AnalysisPlot *plot =
      analysis_plot_create(h->context.style, h->x.keys[0]->name, false, h->y.keys[0]->name, false);

  add_names(plot, &h->x, analysis_plot_category_x);
  add_names(plot, &h->y, analysis_plot_category_y);
  analysis_plot_panel(plot, analysis_scored_title(&h->scored, &h->context), "");
  for (size_t c = 0; c < h->x.count * h->y.count; c++) add_cell(h, plot, c);

  append_reading(h, &text);
  analysis_plot_caption(plot, core_text_string(&text));

  core_text_clear(&text);
  analysis_describe_runs(&h->context, &text);
  core_text_append(&text, ".");
  analysis_scored_describe(&h->scored, &text);
  analysis_plot_caption(plot, core_text_string(&text));

  core_text_free(&text);
  return plot;
}

static void make_csv(const Heatmap *h, CoreText *csv) {
  CoreText value = {0};
  core_text_appendf(csv, "%s,%s,runs,n,mean,low,high\n", h->x.keys[0]->name, h->y.keys[0]->name);
  for (size_t c = 0; c < h->x.count * h->y.count; c++) {
    analysis_csv_field(csv, analysis_key_value(h->x.groups[c % h->x.count].config, h->x.keys[0], &value));
    core_text_append(csv, ",");
    analysis_csv_field(csv, analysis_key_value(h->y.groups[c / h->x.count].config, h->y.keys[0], &value));
    core_text_appendf(csv, ",%zu,%zu", h->runs[c], h->cells[c].n);
    analysis_csv_value(csv, h->cells[c].center);
    analysis_csv_value(csv, h->cells[c].low);
    analysis_csv_value(csv, h->cells[c].high);
    core_text_append(csv, "\n");
  }
  core_text_free(&value);
}

/* Prints rows as in the figure, the last value of y first. */
static void print_table(const Heatmap *h) {
  CoreText value = {0};
  char number[32];
  char **headers = core_memory_allocate((h->x.count + 1) * sizeof *headers);
  snprintf(headers[0] = core_memory_allocate(160), 160, "%s \\ %s", h->y.keys[0]->name, h->x.keys[0]->name);

  for (size_t x = 0; x < h->x.count; x++)
    headers[x + 1] = core_text_duplicate(analysis_key_shown(h->x.groups[x].config, h->x.keys[0], &value));

  CoreTable *table = core_table_create((const char *const *)headers, h->x.count + 1);
  for (size_t y = h->y.count; y-- > 0;) {
    core_table_cell(table, "%s", analysis_key_shown(h->y.groups[y].config, h->y.keys[0], &value));

    for (size_t x = 0; x < h->x.count; x++) {
      const AnalysisInterval *cell = &h->cells[y * h->x.count + x];
      analysis_format_number(cell->center, number, sizeof number);
      if (cell->n == 0) core_table_cell(table, "%s", no_number(h, y * h->x.count + x));
      else if (cell->n < h->most) core_table_cell(table, "%s (%zu)", number, cell->n);
      else core_table_cell(table, "%s", number);
    }
  }

  printf("%s\n\n", analysis_scored_title(&h->scored, &h->context));
  core_table_print(table, stdout);
  core_table_destroy(&table);

  core_text_clear(&value);
  append_reading(h, &value);
  core_text_append(&value, " ");
  analysis_describe_runs(&h->context, &value);
  core_text_append(&value, ".");
  analysis_scored_describe(&h->scored, &value);

  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&value), 0, 0);
  core_text_free(&value);

  for (size_t i = 0; i <= h->x.count; i++) free(headers[i]);
  free(headers);
}

static int axis(const Heatmap *h, const char *option, const char *name, AnalysisGrouping *keys) {
  if (!name) return core_error(CORE_USAGE, "missing --x KEY --y KEY, for example --x ppo.com --y ppo.epsilon");
  TRY(analysis_group_runs(&h->context.selection, name, keys));
  return keys->key_count == 1 ? CORE_OK : core_error(CORE_USAGE, "%s %s: expected one setting", option, name);
}

static int answer(void *figure, const char **operands, size_t count) {
  Heatmap *h = figure;
  CoreText csv = {0};
  if (!h->x_name || !h->y_name) return axis(h, "--x", NULL, NULL);

  TRY(analysis_context_open(&h->context, &h->request, analysis_database_path(operands, count)));
  TRY(analysis_scored_check(&h->scored));
  TRY(axis(h, "--x", h->x_name, &h->x));
  TRY(axis(h, "--y", h->y_name, &h->y));

  TRY(analysis_scored_read(&h->scored, &h->context));
  TRY(analysis_scored_refuse_mixed(&h->scored, &h->context, (const AnalysisGrouping *const[]){&h->x, &h->y}, 2));

  make_cells(h);
  if (!h->request.json) print_table(h);
  fflush(stdout);

  AnalysisPlot *plot = make_plot(h);
  make_csv(h, &csv);
  return analysis_figure_write(&h->context, plot, analysis_scored_query, analysis_interval_description, &csv);
}

static const CoreManual manual = {
  .usage = "analyze heatmap [results.db] --x KEY --y KEY [--measure NAME] [OPTIONS]",
  .about = "What runs amount to (--measure) over two settings: a cell for each pair of values, its color and number "
           "the mean over its runs, whatever else varies among them (--where chooses). A cell with fewer runs than "
           "the fullest says how many.\n\n"
           "Files: heatmap.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot heatmap.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_heatmap(int argc, char **argv) {
  Heatmap h = {.request = {.argc = argc, .argv = argv}};

  const CoreOption table[] = {
    {"x", 'x', CORE_OPTION_TEXT, &h.x_name, "KEY", "the setting on the x axis"},
    {"y", 'y', CORE_OPTION_TEXT, &h.y_name, "KEY", "the setting on the y axis"},
    ANALYSIS_SCORED_OPTIONS(h.scored),
    ANALYSIS_REQUEST_OPTIONS(h.request),
    {0}};

  int code = core_options_run(&manual, table, argc, argv, answer, &h);
  analysis_scored_free(&h.scored);
  analysis_grouping_free(&h.x);
  analysis_grouping_free(&h.y);
  analysis_context_close(&h.context);
  free(h.cells);
  free(h.runs);
  return code;
}
