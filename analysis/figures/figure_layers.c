/* `analyze layers`: weight norms or dormant units of each network layer against transitions, one line per layer and
 * one panel per network (docs/results.md#layers). The runs need metrics.layers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "analysis/plot/mean_line.h"
#include "analysis/plot/number_text.h"
#include "core/memory.h"
#include "store/database/query.h"
#include "store/runlog/runlog.h"

enum { GRID = 128, LAYERS_MAX = 64, NETWORKS = 2 };

static const char *const networks[NETWORKS] = {"actor", "critic"};

/* Column of the table that can be plotted. */
typedef struct Metric { const char *name, *comment, *sql; } Metric;
#define METRIC(column, unit, comment) \
  {#column, comment, "SELECT network, layer, transitions, " #column " FROM layer WHERE run_id = ?1 AND " #column \
   " IS NOT NULL ORDER BY iteration"},
static const Metric metrics[] = {STORE_LAYER_COLUMNS(METRIC)};
enum { METRICS = sizeof metrics / sizeof *metrics, FIRST_METRIC = 1 };

/* Curves of the layers of one run. */
typedef struct RunLayers { AnalysisCurve curves[NETWORKS][LAYERS_MAX]; } RunLayers;

typedef struct Layers {
  AnalysisContext context;
  AnalysisRequest request;
  const char *group_keys, *metric_name;
  const Metric *metric;
  AnalysisGrouping groups;
  RunLayers **runs;                              /* [run] NULL: none logged */
  int count[NETWORKS];                           /* number of layers that some run has */
  size_t without;
} Layers;

/* ---- data ------------------------------------------------------------------------------------------------------- */

static int find_metric(Layers *l) {
  const char *names[METRICS];
  CoreText known = {0};
  for (size_t i = FIRST_METRIC; i < METRICS; i++) {
    names[i - FIRST_METRIC] = metrics[i].name;
    core_text_appendf(&known, "%s%s", i > FIRST_METRIC ? ", " : "", metrics[i].name);
    if (strcmp(metrics[i].name, l->metric_name) == 0) l->metric = &metrics[i];
  }
  const char *near = core_text_nearest(l->metric_name, names, METRICS - FIRST_METRIC);
  int code = l->metric ? CORE_OK
             : near    ? core_error(CORE_USAGE, "--y %s: did you mean %s?", l->metric_name, near)
                       : core_error(CORE_USAGE, "--y %s: expected one of %s", l->metric_name, core_text_string(&known));
  core_text_free(&known);
  return code;
}

static int read_run(Layers *l, StoreQuery *query, size_t run) {
  bool row = false;
  int code;

  store_query_reset(query);
  store_query_bind_text(query, 1, l->context.selection.runs[run].id);

  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *name = store_query_text(query, 0);
    const int64_t layer = store_query_int(query, 1);
    const double y = store_query_real(query, 3);

    for (int network = 0; network < NETWORKS; network++) {
      if (!name || strcmp(name, networks[network]) != 0 || layer < 1 || layer > LAYERS_MAX || !isfinite(y)) continue;
      if (!l->runs[run]) l->runs[run] = core_memory_zero_allocate(1, sizeof **l->runs);
      analysis_curve_add(&l->runs[run]->curves[network][layer - 1], store_query_real(query, 2), y);
      if (layer > l->count[network]) l->count[network] = (int)layer;
    }
  }

  l->without += !l->runs[run];
  return code;
}

static int read_all(Layers *l) {
  const size_t count = l->context.selection.count;
  StoreQuery *query = NULL;
  l->runs = core_memory_zero_allocate(count + 1, sizeof *l->runs);
  TRY(store_query_open(l->context.database, l->metric->sql, &query));
  int code = CORE_OK;
  for (size_t r = 0; r < count; r++) {
    code = read_run(l, query, r);
    if (code != CORE_OK) break;
  }
  store_query_close(&query);
  if (code != CORE_OK || l->without < count) return code;
  return core_error(CORE_FAIL, "%s: no run has logged its layers; metrics.layers = true in their experiment file asks "
                    "for it", l->context.path);
}

static void free_run(RunLayers **run) {
  for (int network = 0; network < NETWORKS && *run; network++)
    for (int layer = 0; layer < LAYERS_MAX; layer++) analysis_curve_free(&(*run)->curves[network][layer]);
  free(*run);
  *run = NULL;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* Returns the range of a column: all except the norms are shares of units. */
static AnalysisRange range_of(const Layers *l) {
  return strcmp(l->metric->name, "weight_norm") == 0 ? ANALYSIS_RANGE_POSITIVE : ANALYSIS_RANGE_SHARE;
}

static AnalysisMeanLine make_line(const Layers *l, size_t group, int network, int layer) {
  const size_t runs = l->context.selection.count;
  AnalysisCurve *curves = core_memory_allocate((runs + 1) * sizeof *curves);
  size_t count = 0;
  for (size_t r = 0; r < runs; r++) {
    if (l->groups.group_of[r] != group || !l->runs[r]) continue;
    const AnalysisCurve *curve = &l->runs[r]->curves[network][layer];
    if (curve->n) curves[count++] = *curve;
  }
  AnalysisMeanLine line = analysis_mean_line_average(curves, count, GRID, range_of(l));
  free(curves);
  return line;
}

/* ---- the figure ------------------------------------------------------------------------------------------------- */

static AnalysisMark mark_of(const Layers *l, int layer) {
  const int most = l->count[0] > l->count[1] ? l->count[0] : l->count[1];
  return (AnalysisMark){.color = analysis_ramp(most > 1 ? layer / (most - 1.0) : 0.5)};
}

static void append_rows(const Layers *l, size_t group, int network, int layer, const AnalysisMeanLine *line,
                        CoreText *csv) {
  for (size_t i = 0; i < line->n; i++) {
    analysis_csv_field(csv, l->groups.groups[group].label);
    analysis_csv_key_values(csv, &l->groups, l->groups.groups[group].config);
    core_text_appendf(csv, ",%s,%d,%s", networks[network], layer + 1, l->metric->name);
    analysis_mean_line_csv(line, i, csv);
  }
}

static void add_legend(const Layers *l, AnalysisPlot *plot) {
  char text[32];
  const int most = l->count[0] > l->count[1] ? l->count[0] : l->count[1];
  AnalysisMark plain = {.color = l->context.style->foreground};
  for (int layer = 0; layer < most; layer++) {
    snprintf(text, sizeof text, "layer %d", layer + 1);
    analysis_plot_legend_entry(plot, text, mark_of(l, layer), true);
  }
  analysis_mean_line_legend(plot, &l->groups, plain);
}

static void add_caption(const Layers *l, AnalysisPlot *plot) {
  CoreText text = {0};
  core_text_appendf(&text,
                    "%s: %s. Line: mean over runs; band, where one configuration of three runs or more is drawn: 95 %% "
                    "interval. ",
                    l->metric->name, l->metric->comment);
  analysis_describe_runs(&l->context, &text);
  core_text_append(&text, ".");
  if (l->without) core_text_appendf(&text, " Without layers: %zu.", l->without);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_free(&text);
}

static int draw(const Layers *l) {
  CoreText csv = {0};
  char title[64];

  snprintf(title, sizeof title, "%s", l->metric->name);
  for (char *c = title; *c; c++) *c = *c == '_' ? ' ' : *c;
  AnalysisPlot *plot = analysis_plot_create(l->context.style, "environment transitions", false, title, false);

  core_text_append(&csv, "configuration");
  analysis_csv_keys(&csv, &l->groups);
  core_text_append(&csv, ",network,layer,metric,transitions,n,mean,low,high\n");

  for (int network = 0; network < NETWORKS; network++) {
    if (l->count[network] == 0) continue; /* a learner of Q values has no critic */
    size_t panel = analysis_plot_panel(plot, networks[network], "");

    for (size_t g = 0; g < l->groups.count; g++) {
      for (int layer = 0; layer < l->count[network]; layer++) {
        AnalysisMeanLine line = make_line(l, g, network, layer);
        const bool band = l->groups.count == 1 && line.count >= 3;
        analysis_plot_curve(plot, panel, line.n, line.grid, line.mean, band ? line.low : NULL, band ? line.high : NULL,
                            mark_of(l, layer), g == 0 ? ANALYSIS_SOLID : ANALYSIS_DASHED);

        append_rows(l, g, network, layer, &line, &csv);
        analysis_mean_line_free(&line);
      }
    }
  }

  add_legend(l, plot);
  add_caption(l, plot);
  return analysis_figure_write(&l->context, plot, l->metric->sql, analysis_interval_description, &csv);
}

/* Prints each layer at its first and last measured iteration. */
static void print_table(const Layers *l) {
  static const char *const headers[] = {"configuration", "network", "layer", "runs", "first", "last"};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);

  for (size_t g = 0; g < l->groups.count; g++) {
    for (int network = 0; network < NETWORKS; network++) {
      for (int layer = 0; layer < l->count[network]; layer++) {
        AnalysisMeanLine line = make_line(l, g, network, layer);
        core_table_cell(table, "%s", l->groups.groups[g].label);
        core_table_cell(table, "%s", networks[network]);
        core_table_cell(table, "%d", layer + 1);
        core_table_cell(table, "%zu", line.count);
        analysis_mean_line_cells(&line, 4, table);
        analysis_mean_line_free(&line);
      }
    }
  }

  CoreText text = {0};
  core_text_appendf(&text, "%s: %s", l->metric->name, l->metric->comment);
  core_terminal_print_wrapped(stdout, core_text_string(&text), 0, 0);
  printf("\n");

  core_table_print(table, stdout);
  core_table_destroy(&table);

  core_text_clear(&text);
  analysis_describe_runs(&l->context, &text);
  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&text), 0, 0);
  if (l->without) printf("without layers: %zu\n", l->without);
  core_text_free(&text);
}

static int answer(void *figure, const char **operands, size_t count) {
  Layers *l = figure;
  char name[128];
  TRY(find_metric(l));
  if (strcmp(l->metric_name, "weight_norm") != 0) analysis_request_name_after(&l->request, l->metric_name, name);
  TRY(analysis_context_open(&l->context, &l->request, analysis_database_path(operands, count)));
  TRY(analysis_group_runs(&l->context.selection, l->group_keys, &l->groups));
  TRY(read_all(l));
  TRY(analysis_mean_line_check_groups(&l->groups));
  if (!l->request.json) print_table(l);
  fflush(stdout);
  return draw(l);
}

static const CoreManual manual = {
  .usage = "analyze layers [results.db] [--y NAME] [--group KEYS] [--where KEY=VALUE]... [OPTIONS]",
  .about = "Each layer of the actor and of the critic by itself: weight norms or shares of dormant units against "
           "transitions, means over runs with a 95 % interval. One or two configurations: solid and dashed. "
           "The runs need metrics.layers.\n\n"
           "Columns: weight_norm, dormant, dormant_strict, dormant_loose, inactive, dead; the last layer is the head, "
           "which has no units.\n\n"
           "Files: layers.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot layers.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_layers(int argc, char **argv) {
  Layers l = {.request = {.argc = argc, .argv = argv}, .metric_name = "weight_norm"};
  const CoreOption table[] = {
    {"y", 'y', CORE_OPTION_TEXT, &l.metric_name, "NAME", "what to draw (default: weight_norm)"},
    {"group", 'g', CORE_OPTION_TEXT, &l.group_keys, "KEY[,KEY]",
     "one configuration for each value of these settings (default: all that vary)"},
    ANALYSIS_REQUEST_OPTIONS(l.request),
    {0}};
  int code = core_options_run(&manual, table, argc, argv, answer, &l);
  for (size_t r = 0; l.runs && r < l.context.selection.count; r++) free_run(&l.runs[r]);
  free(l.runs);
  analysis_grouping_free(&l.groups);
  analysis_context_close(&l.context);
  return code;
}
