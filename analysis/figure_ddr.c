/* `analyze ddr-vs-solve`: Fig. 8 of the paper. Each run is a dot: its DDR up to a budget of transitions against the solve
 * rate of its evaluations up to there; one panel a budget. Runs that did not get as far are hollow, never left out. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/render.h"
#include "analysis/statistics.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/query.h"

enum { BUDGETS_MAX = 9, REPLICATES = 2000, BOOTSTRAP_SEED = 8, COLORS_MAX = 36, CONFIGURATIONS_MIN = 4 };

static const char name[] = "ddr-vs-solve";
static const char ddr_sql[] =
  "SELECT sum(ddr * max(kl, 1e-12)) / sum(max(kl, 1e-12)), max(transitions) FROM iteration"
  " WHERE run_id = ?1 AND transitions <= ?2";
static const char evaluation_sql[] =
  "SELECT iteration, transitions, solve_rate FROM evaluation"
  " WHERE run_id = ?1 AND level_set = ?2 AND solve_rate IS NOT NULL ORDER BY iteration";
static const char interval_kind[] =
  "Spearman's rho: 95 % percentile bootstrap, 2000 replicates that draw whole configurations (clusters of seeds); "
  "table: 95 % Student t over seeds";

/* One run inside one budget. NaN: not measured. */
typedef struct Dot {
  double ddr, transitions;       /* transitions: as far as its log goes, at most the budget */
  double best, best_at, final;   /* solve rate of the evaluations inside the budget */
  bool drawn;                    /* has a DDR and an evaluation after training began */
  bool reached;                  /* trained up to the budget */
  bool counted;                  /* in the correlation: reached it, or diverged before */
} Dot;

typedef struct Panel {
  double budget;
  Dot *dots;                     /* [run] */
  AnalysisInterval rho;
  size_t counted, clusters, hollow, drawn;
} Panel;

typedef struct Ddr {
  AnalysisContext context;
  AnalysisRequest request;
  const char *budgets_text, *color_by, *measure;
  bool use_final;
  Panel panels[BUDGETS_MAX];
  size_t panel_count;
  AnalysisGrouping colors;
  double untrained;              /* solve rate before training, mean over runs; NaN when nobody measured it */
} Ddr;

/* ---- data ------------------------------------------------------------------------------------------------------- */

/* The trainer rounds a budget up to whole iterations: what it measures at the end lies past the round number. */
static double whole_iterations(const CoreConfig *config, double budget) {
  double each = (double)core_config_transitions_per_iteration(config);
  return each > 0 ? ceil(budget / each) * each : budget;
}

static int read_ddr(StoreQuery *query, const AnalysisRun *run, double limit, Dot *dot) {
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_real(query, 2, limit);
  TRY(store_query_step(query, &row));
  dot->ddr = row ? store_query_real(query, 0) : NAN;
  dot->transitions = row ? store_query_real(query, 1) : NAN;
  return CORE_OK;
}

static int read_evaluations(Ddr *ddr, StoreQuery *query, const AnalysisRun *run, double limit, Dot *dot) {
  bool row = false, trained = false;
  int code;
  dot->best = dot->best_at = dot->final = NAN;
  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_text(query, 2, ddr->context.level_set);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    double at = store_query_real(query, 1), rate = store_query_real(query, 2);
    if (!(at <= limit)) continue;
    trained |= store_query_int(query, 0) > 0;
    dot->final = rate;
    if (isnan(dot->best) || rate > dot->best) {
      dot->best = rate;
      dot->best_at = at;
    }
  }
  dot->drawn = trained && dot->ddr > 0 && isfinite(dot->ddr);
  return code;
}

static int read_dots(Ddr *ddr, Panel *panel) {
  const AnalysisSelection *selection = &ddr->context.selection;
  StoreQuery *iterations = NULL, *evaluations = NULL;
  int code = store_query_open(ddr->context.database, ddr_sql, &iterations);
  if (code == CORE_OK) code = store_query_open(ddr->context.database, evaluation_sql, &evaluations);
  panel->dots = core_memory_zero_allocate(selection->count, sizeof *panel->dots);
  for (size_t r = 0; r < selection->count && code == CORE_OK; r++) {
    const AnalysisRun *run = &selection->runs[r];
    Dot *dot = &panel->dots[r];
    double limit = whole_iterations(&run->config, panel->budget);
    code = read_ddr(iterations, run, limit, dot);
    if (code == CORE_OK) code = read_evaluations(ddr, evaluations, run, limit, dot);
    dot->reached = dot->transitions >= panel->budget;
    dot->counted = dot->drawn && (dot->reached || run->status == STORE_DIVERGED);
    panel->drawn += dot->drawn;
    panel->hollow += dot->drawn && !dot->reached;
  }
  store_query_close(&iterations);
  store_query_close(&evaluations);
  return code;
}

static double measured(const Ddr *ddr, const Dot *dot) { return ddr->use_final ? dot->final : dot->best; }

/* Points and clusters in the order of the configurations, so that equal data draw equal replicates. */
static void correlate(const Ddr *ddr, Panel *panel) {
  size_t runs = ddr->context.selection.count;
  double *x = core_memory_allocate(2 * runs * sizeof *x), *y = x + runs;
  size_t *cluster = core_memory_allocate(runs * sizeof *cluster);
  for (size_t c = 0; c < ddr->context.configurations.count; c++) {
    size_t before = panel->counted;
    for (size_t r = 0; r < runs; r++) {
      const Dot *dot = &panel->dots[r];
      if (ddr->context.configurations.group_of[r] != c || !dot->counted) continue;
      cluster[panel->counted] = panel->clusters;
      x[panel->counted] = dot->ddr;
      y[panel->counted++] = measured(ddr, dot);
    }
    panel->clusters += panel->counted > before;
  }
  panel->rho = (AnalysisInterval){NAN, NAN, NAN, panel->counted};
  if (panel->clusters >= CONFIGURATIONS_MIN) {
    panel->rho = analysis_spearman_interval(x, y, cluster, panel->counted, panel->clusters, REPLICATES, 0.95, BOOTSTRAP_SEED);
  }
  free(x);
  free(cluster);
}

/* Mean solve rate of the evaluations at iteration 0: the policy as it was initialised. */
static int read_untrained(Ddr *ddr) {
  StoreQuery *query = NULL;
  double sum = 0;
  size_t count = 0;
  int code = CORE_OK;
  TRY(store_query_open(ddr->context.database,
                       "SELECT solve_rate FROM evaluation WHERE run_id = ?1 AND level_set = ?2 AND iteration = 0", &query));
  for (size_t r = 0; r < ddr->context.selection.count && code == CORE_OK; r++) {
    bool row = false;
    store_query_reset(query);
    store_query_bind_text(query, 1, ddr->context.selection.runs[r].id);
    store_query_bind_text(query, 2, ddr->context.level_set);
    code = store_query_step(query, &row);
    if (code != CORE_OK || !row || isnan(store_query_real(query, 0))) continue;
    sum += store_query_real(query, 0);
    count++;
  }
  store_query_close(&query);
  ddr->untrained = count ? sum / (double)count : NAN;
  return code;
}

/* ---- budgets ---------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  double x = ((const Panel *)a)->budget, y = ((const Panel *)b)->budget;
  return (x > y) - (x < y);
}

static int add_panel(Ddr *ddr, double budget) {
  for (size_t p = 0; p < ddr->panel_count; p++) {
    if (ddr->panels[p].budget == budget) return CORE_OK;
  }
  if (ddr->panel_count == BUDGETS_MAX) return core_error(CORE_USAGE, "--budget: at most %d budgets", BUDGETS_MAX);
  Panel *panel = &ddr->panels[ddr->panel_count++];
  *panel = (Panel){.budget = budget};
  return read_dots(ddr, panel);
}

static int asked_budgets(Ddr *ddr) {
  for (const char *start = ddr->budgets_text; *start;) {
    size_t length = strcspn(start, ",");
    char text[64];
    double budget = 0;
    if (length >= sizeof text) length = sizeof text - 1;
    memcpy(text, start, length);
    text[length] = '\0';
    if (!core_text_to_real(text, &budget) || !isfinite(budget) || budget < 1) {
      return core_error(CORE_USAGE, "--budget %s: expected transitions, e.g. 1e6 or 1e5,1e6", ddr->budgets_text);
    }
    TRY(add_panel(ddr, budget));
    start += length + (start[length] == ',');
  }
  if (ddr->panel_count == 0) return core_error(CORE_USAGE, "--budget: expected transitions, e.g. 1e6 or 1e5,1e6");
  return CORE_OK;
}

/* The whole budget, or as far as the furthest run has come; and a third and a tenth of it where most runs have points. */
static int usual_budgets(Ddr *ddr) {
  const AnalysisSelection *selection = &ddr->context.selection;
  double planned = 0, seen = 0;
  Panel probe = {.budget = INFINITY};
  for (size_t r = 0; r < selection->count; r++) planned = fmax(planned, (double)selection->runs[r].config.train.total_steps);
  TRY(read_dots(ddr, &probe));
  for (size_t r = 0; r < selection->count; r++) seen = fmax(seen, probe.dots[r].drawn ? probe.dots[r].transitions : 0);
  free(probe.dots);
  if (seen <= 0) return core_error(CORE_FAIL, "%s: no run has both iterations and an evaluation after its start yet", ddr->context.path);
  double full = fmin(planned, seen);
  static const double fractions[] = {0.1, 1.0 / 3, 1};
  for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
    double budget = fractions[i] < 1 ? round(full * fractions[i]) : full;
    TRY(add_panel(ddr, budget));
    Panel *panel = &ddr->panels[ddr->panel_count - 1];
    if (fractions[i] == 1 || 2 * panel->drawn > selection->count) continue;
    free(panel->dots);
    ddr->panel_count--;
  }
  return CORE_OK;
}

static int read_data(Ddr *ddr) {
  TRY(ddr->budgets_text ? asked_budgets(ddr) : usual_budgets(ddr));
  qsort(ddr->panels, ddr->panel_count, sizeof *ddr->panels, by_size);
  for (size_t p = 0; p < ddr->panel_count; p++) correlate(ddr, &ddr->panels[p]);
  TRY(read_untrained(ddr));
  if (ddr->panels[ddr->panel_count - 1].drawn > 0) return CORE_OK;
  return core_error(CORE_FAIL, "%s: no run has an evaluation inside these budgets", ddr->context.path);
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* What the correlation at the largest budget says, and what it does not. */
static void append_reading(const Ddr *ddr, CoreText *text) {
  const Panel *panel = &ddr->panels[ddr->panel_count - 1];
  char budget[32];
  core_text_count(panel->budget, budget);
  if (panel->clusters < CONFIGURATIONS_MIN) {
    core_text_appendf(text, "Fewer than %d configurations have reached %s transitions: too few for a correlation.",
                      CONFIGURATIONS_MIN, budget);
  } else if (isnan(panel->rho.center) || isnan(panel->rho.low)) {
    core_text_appendf(text, "All runs have the same DDR or the same solve rate at %s transitions: no correlation.", budget);
  } else if (panel->rho.low > 0) {
    core_text_appendf(text, "At %s transitions a higher DDR goes with a higher solve rate (positive at 95 %%).", budget);
  } else if (panel->rho.high < 0) {
    core_text_appendf(text, "At %s transitions a higher DDR goes with a lower solve rate (negative at 95 %%). The paper's "
                      "relation is about plateaus: it concerns budgets beyond the point where the fast learners have stalled.", budget);
  } else {
    core_text_appendf(text, "At %s transitions no relation between DDR and solve rate is distinguishable at 95 %%.", budget);
  }
}

/* Who is hollow and who is missing: nobody is dropped in silence. */
static void append_counts(const Ddr *ddr, CoreText *text) {
  const Panel *panel = &ddr->panels[ddr->panel_count - 1];
  size_t missing = ddr->context.selection.count - panel->drawn;
  analysis_describe_runs(&ddr->context, text);
  core_text_append(text, ".");
  if (panel->hollow) {
    core_text_appendf(text, " Hollow: short of the panel's budget (%zu run%s%s), in the correlation only when diverged.",
                      panel->hollow, panel->hollow == 1 ? "" : "s", ddr->panel_count > 1 ? " in the last panel" : "");
  }
  if (missing) core_text_appendf(text, " Not drawn, without DDR or evaluation yet: %zu.", missing);
}

static void format_rho(const Panel *panel, char *text, size_t size) {
  if (isnan(panel->rho.center)) snprintf(text, size, "Spearman ρ: too few configurations (%zu)", panel->clusters);
  else snprintf(text, size, "Spearman ρ = %.2f [%.2f, %.2f], n = %zu", panel->rho.center, panel->rho.low, panel->rho.high, panel->counted);
}

/* ---- the figure ------------------------------------------------------------------------------------------------- */

/* Colours by configuration while a reader can still tell them apart; else by each family's first key. */
static int choose_colors(Ddr *ddr) {
  const AnalysisGrouping *configurations = &ddr->context.configurations;
  if (ddr->color_by || configurations->count <= COLORS_MAX) {
    return analysis_group_runs(&ddr->context.selection, ddr->color_by, &ddr->colors);
  }
  CoreText keys = {0};
  core_text_append(&keys, "algo.name");
  for (size_t f = 0; f < configurations->family_count; f++) {
    if (configurations->families[f].key_count) core_text_appendf(&keys, ",%s", configurations->families[f].keys[0]->name);
  }
  int code = analysis_group_runs(&ddr->context.selection, core_text_string(&keys), &ddr->colors);
  core_text_free(&keys);
  return code;
}

static void add_legend(const Ddr *ddr, AnalysisPlot *plot, const AnalysisMark *marks) {
  const AnalysisGrouping *colors = &ddr->colors;
  bool heads = colors->family_count > 1 && colors->count > colors->family_count; /* else the labels name the families */
  for (size_t g = 0; colors->count > 1 && g < colors->count; g++) {
    bool begins = g == 0 || colors->groups[g].family != colors->groups[g - 1].family;
    if (begins && heads) analysis_plot_legend_head(plot, colors->families[colors->groups[g].family].name);
    analysis_plot_legend_entry(plot, colors->groups[g].label, marks[g], false, false);
  }
}

static AnalysisPlot *make_plot(const Ddr *ddr) {
  const AnalysisContext *context = &ddr->context;
  char title[96], note[128], count[32];
  AnalysisMark *marks = analysis_marks_create(&ddr->colors, context->style);
  AnalysisPlot *plot = analysis_plot_create(context->style, "DDR (transitions per nat)", true,
                                            ddr->use_final ? "final solve rate" : "max solve rate", false);
  for (size_t p = 0; p < ddr->panel_count; p++) {
    const Panel *panel = &ddr->panels[p];
    snprintf(title, sizeof title, "%s transitions", core_text_count(panel->budget, count));
    format_rho(panel, note, sizeof note);
    size_t number = analysis_plot_panel(plot, title, note);
    if (!isnan(ddr->untrained)) analysis_plot_level(plot, number, ddr->untrained, "before training");
    for (size_t r = 0; r < context->selection.count; r++) {
      const Dot *dot = &panel->dots[r];
      if (dot->drawn) analysis_plot_point(plot, number, dot->ddr, measured(ddr, dot), marks[ddr->colors.group_of[r]], !dot->reached);
    }
  }
  add_legend(ddr, plot, marks);
  CoreText text = {0};
  append_reading(ddr, &text);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_clear(&text);
  append_counts(ddr, &text);
  analysis_plot_caption(plot, core_text_string(&text));
  analysis_plot_caption(plot, "A dot is a seed. [ ]: 95 % percentile bootstrap, 2000 replicates that draw whole configurations.");
  core_text_free(&text);
  free(marks);
  return plot;
}

static void append_value(CoreText *csv, double value) {
  char number[32];
  core_text_appendf(csv, ",%s", isfinite(value) ? core_text_from_real(value, number) : "");
}

static void make_csv(const Ddr *ddr, CoreText *csv) {
  const AnalysisGrouping *configurations = &ddr->context.configurations;
  CoreText value = {0};
  core_text_append(csv, "budget,run_id,configuration");
  for (size_t k = 0; k < configurations->key_count; k++) core_text_appendf(csv, ",%s", configurations->keys[k]->name);
  core_text_append(csv, ",seed,status,reached_budget,in_correlation,transitions,ddr,best_solve_rate,best_at,final_solve_rate\n");
  for (size_t p = 0; p < ddr->panel_count; p++) {
    for (size_t i = 0; i < configurations->count * ddr->context.selection.count; i++) { /* by configuration, then seed */
      size_t r = i % ddr->context.selection.count;
      if (configurations->group_of[r] != i / ddr->context.selection.count) continue;
      const AnalysisRun *run = &ddr->context.selection.runs[r];
      const Dot *dot = &ddr->panels[p].dots[r];
      core_text_appendf(csv, "%.0f,%s,", ddr->panels[p].budget, run->id);
      analysis_csv_field(csv, configurations->groups[configurations->group_of[r]].label);
      for (size_t k = 0; k < configurations->key_count; k++) {
        core_text_append(csv, ",");
        analysis_csv_field(csv, analysis_key_value(&run->config, configurations->keys[k], &value));
      }
      core_text_appendf(csv, ",%lld,%s,%d,%d", (long long)run->config.train.seed, store_status_name(run->status), dot->reached, dot->counted);
      append_value(csv, dot->transitions);
      append_value(csv, dot->ddr);
      append_value(csv, dot->best);
      append_value(csv, dot->best_at);
      append_value(csv, dot->final);
      core_text_append(csv, "\n");
    }
  }
  core_text_free(&value);
}

static int draw(Ddr *ddr, int argc, char **argv) {
  CoreText source = {0}, csv = {0};
  char rho[128];
  AnalysisPlot *plot = make_plot(ddr);
  make_csv(ddr, &csv);
  CoreText query = {0};
  core_text_appendf(&query, "%s; %s", ddr_sql, evaluation_sql);
  analysis_describe_source(&ddr->context, name, argc, argv, core_text_string(&query), interval_kind, &source);
  for (size_t p = 0; p < ddr->panel_count; p++) {
    format_rho(&ddr->panels[p], rho, sizeof rho);
    core_text_appendf(&source, "budget %.0f: %s\n", ddr->panels[p].budget, rho);
  }
  int code = analysis_render(plot, ddr->context.folder, name, core_text_string(&source), core_text_string(&csv));
  analysis_plot_destroy(&plot);
  core_text_free(&source);
  core_text_free(&csv);
  core_text_free(&query);
  return code;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

typedef struct Row {
  size_t configuration, seeds, drawn, hollow;
  double ddr, sort;
  AnalysisInterval best, final;
} Row;

static int by_solve_rate(const void *left, const void *right) {
  const Row *a = left, *b = right;
  bool none_a = isnan(a->sort), none_b = isnan(b->sort);
  if (none_a != none_b) return none_a ? 1 : -1;
  if (!none_a && a->sort != b->sort) return a->sort < b->sort ? 1 : -1;
  return (a->configuration > b->configuration) - (a->configuration < b->configuration);
}

/* One row a configuration, at the largest budget; free() it. */
static Row *make_rows(const Ddr *ddr) {
  const AnalysisContext *context = &ddr->context;
  const Panel *panel = &ddr->panels[ddr->panel_count - 1];
  size_t count = context->configurations.count, runs = context->selection.count;
  Row *rows = core_memory_zero_allocate(count, sizeof *rows);
  double *values = core_memory_allocate(3 * runs * sizeof *values);
  for (size_t c = 0; c < count; c++) {
    Row *row = &rows[c];
    row->configuration = c;
    row->seeds = analysis_seed_count(context, c);
    for (size_t r = 0; r < runs; r++) {
      const Dot *dot = &panel->dots[r];
      if (context->configurations.group_of[r] != c || !dot->drawn) continue;
      values[row->drawn] = dot->ddr;
      values[runs + row->drawn] = dot->best;
      values[2 * runs + row->drawn++] = dot->final;
      row->hollow += !dot->reached;
    }
    row->ddr = analysis_geometric_mean(values, row->drawn);
    row->best = analysis_student_interval(values + runs, row->drawn, 0.95);
    row->final = analysis_student_interval(values + 2 * runs, row->drawn, 0.95);
    row->sort = ddr->use_final ? row->final.center : row->best.center;
  }
  free(values);
  qsort(rows, count, sizeof *rows, by_solve_rate);
  return rows;
}

static void print_table(const Ddr *ddr) {
  static const char *const headers[] = {"configuration", "seeds", "DDR", "best solve rate [95 % t]", "final solve rate [95 % t]", "unfinished"};
  const AnalysisGrouping *configurations = &ddr->context.configurations;
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  Row *rows = make_rows(ddr);
  char text[64], number[32];
  for (size_t i = 0; i < configurations->count; i++) {
    const Row *row = &rows[i];
    core_table_cell(table, "%s", configurations->groups[row->configuration].label);
    core_table_cell(table, "%zu", row->seeds);
    core_table_cell(table, "%s", isnan(row->ddr) ? "-" : core_text_count(row->ddr, number));
    analysis_format_interval(row->best.center, row->best.low, row->best.high, text, sizeof text);
    core_table_cell(table, "%s", text);
    analysis_format_interval(row->final.center, row->final.low, row->final.high, text, sizeof text);
    core_table_cell(table, "%s", text);
    size_t behind = row->hollow + configurations->groups[row->configuration].run_count - row->drawn;
    snprintf(text, sizeof text, "%zu", behind);
    core_table_cell(table, "%s", behind ? text : "");
  }
  core_table_print(table, stdout);
  core_table_destroy(&table);
  free(rows);
}

static void print_report(const Ddr *ddr) {
  CoreText text = {0};
  char line[128], count[32];
  print_table(ddr);
  printf("\n");
  for (size_t p = 0; p < ddr->panel_count; p++) {
    format_rho(&ddr->panels[p], line, sizeof line);
    printf("%8s transitions: %s\n", core_text_count(ddr->panels[p].budget, count), line);
  }
  if (!isnan(ddr->untrained)) printf("%8s transitions: solve rate %.3g (before training)\n", "0", ddr->untrained);
  printf("\n");
  append_reading(ddr, &text);
  core_terminal_print_wrapped(stdout, core_text_string(&text), 0, 0);
  core_text_clear(&text);
  append_counts(ddr, &text);
  core_terminal_print_wrapped(stdout, core_text_string(&text), 0, 0);
  core_text_free(&text);
}

static json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *json_interval(AnalysisInterval interval) {
  return json_pack("{s:o, s:o, s:o, s:I}", "mean", json_number(interval.center), "low", json_number(interval.low), "high",
                   json_number(interval.high), "n", (json_int_t)interval.n);
}

static void print_json(const Ddr *ddr) {
  CoreText reading = {0};
  append_reading(ddr, &reading);
  json_t *root = json_pack("{s:s, s:s, s:s, s:I, s:s, s:s}", "figure", name, "filter", ddr->context.selection.filter, "level_set",
                           ddr->context.level_set, "runs", (json_int_t)ddr->context.selection.count, "reading",
                           core_text_string(&reading), "interval", interval_kind);
  json_t *budgets = json_array(), *list = json_array();
  for (size_t p = 0; p < ddr->panel_count; p++) {
    const Panel *panel = &ddr->panels[p];
    json_array_append_new(budgets, json_pack("{s:f, s:o, s:o, s:o, s:I, s:I, s:I}", "budget", panel->budget, "spearman",
                                             json_number(panel->rho.center), "low", json_number(panel->rho.low), "high",
                                             json_number(panel->rho.high), "runs", (json_int_t)panel->counted, "configurations",
                                             (json_int_t)panel->clusters, "hollow", (json_int_t)panel->hollow));
  }
  Row *rows = make_rows(ddr);
  for (size_t i = 0; i < ddr->context.configurations.count; i++) {
    json_array_append_new(list, json_pack("{s:s, s:I, s:o, s:o, s:o}", "configuration",
                                          ddr->context.configurations.groups[rows[i].configuration].label, "seeds",
                                          (json_int_t)rows[i].seeds, "ddr", json_number(rows[i].ddr), "best_solve_rate",
                                          json_interval(rows[i].best), "final_solve_rate", json_interval(rows[i].final)));
  }
  json_object_set_new(root, "before_training", json_number(ddr->untrained));
  json_object_set_new(root, "budgets", budgets);
  json_object_set_new(root, "configurations", list);
  json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
  printf("\n");
  json_decref(root);
  core_text_free(&reading);
  free(rows);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static const char usage[] = "analyze ddr-vs-solve results.db [--budget N[,N...]] [--sweep NAME] [--where KEY=VALUE]... [OPTIONS]";
static const char help_text[] =
  "Does a setting that changes the policy little for the data it sees (a high DDR) end up solving more? Each run is a dot: "
  "its DDR (transitions / sum of KL(behaviour || updated policy) over the iterations up to a budget) against the largest "
  "solve rate of its evaluations up to there; one panel a budget. Colour: the configuration (all settings that differ, "
  "except the seed). Under each panel: Spearman's rank correlation with a 95 % bootstrap interval that resamples "
  "configurations. The table is sorted by solve rate and speaks of the largest budget.\n\n"
  "New results beside the database (runs/) are imported first. Runs that have not reached a panel's budget are hollow "
  "there, and counted; they are in the correlation only when they diverged.\n\n"
  "Files: ddr-vs-solve.svg .png .csv .gp; the .gp draws the pictures again: gnuplot ddr-vs-solve.gp.";

static int answer(Ddr *ddr, int argc, char **argv, const char **operands, size_t operand_count) {
  ddr->use_final = ddr->measure && strcmp(ddr->measure, "final") == 0;
  if (ddr->measure && !ddr->use_final && strcmp(ddr->measure, "best") != 0) {
    return core_error(CORE_USAGE, "--measure %s: expected best or final", ddr->measure);
  }
  TRY(analysis_context_open(&ddr->context, &ddr->request, operands, operand_count));
  TRY(choose_colors(ddr));
  TRY(read_data(ddr));
  if (ddr->request.json) print_json(ddr);
  else print_report(ddr);
  fflush(stdout);
  TRY(draw(ddr, argc, argv));
  if (!ddr->request.json) analysis_print_files(&ddr->context, name);
  return CORE_OK;
}

int analysis_figure_ddr(int argc, char **argv) {
  Ddr ddr = {0};
  const CoreOption table[] = {
    {"budget", 'b', CORE_OPTION_TEXT, &ddr.budgets_text, "N[,N...]",
     "transitions, one panel each (default: the whole budget, and a tenth and a third of it where there are points)"},
    {"measure", 'm', CORE_OPTION_TEXT, &ddr.measure, "best|final", "which solve rate inside the budget (default: best)"},
    {"color-by", 'c', CORE_OPTION_TEXT, &ddr.color_by, "KEY[,KEY]", "one colour for each value of these settings (default: all that vary)"},
    ANALYSIS_REQUEST_OPTIONS(ddr.request),
    {0}};
  const char **operands = NULL;
  size_t operand_count = 0;
  bool help = false;
  int code = core_options_parse(table, argc, argv, &operands, &operand_count, &help);
  if (code == CORE_OK && help) core_options_help(usage, help_text, table);
  else if (code == CORE_OK) code = answer(&ddr, argc, argv, operands, operand_count);
  for (size_t p = 0; p < ddr.panel_count; p++) free(ddr.panels[p].dots);
  analysis_grouping_free(&ddr.colors);
  analysis_context_close(&ddr.context);
  free(ddr.request.where.items);
  free(operands);
  return code;
}
