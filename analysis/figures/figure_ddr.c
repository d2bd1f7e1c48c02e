/* `analyze ddr-vs-solve`: Fig. 8 of the paper. Each run is a dot: its DDR up to a budget of transitions against the
 * solve rate of its evaluations up to there; one panel per budget. Runs short of the budget are hollow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/ddr.h"
#include "analysis/figures/figure.h"
#include "analysis/plot/mean_line.h"
#include "analysis/plot/number_text.h"
#include "analysis/plot/plot.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"

static const char interval_kind[] =
  "Spearman's rho: 95 % percentile bootstrap, 2000 replicates that draw whole configurations (clusters of seeds); "
  "table: as in every figure, 95 % Student t over the runs of each task, Wilson's within [0, 1], from three runs on";

typedef struct Scatter {
  AnalysisContext context;
  AnalysisRequest request;
  const char *budgets, *color_by, *measure;
  AnalysisDdr data;
  AnalysisGrouping colors;
} Scatter;

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* Appends the interpretation of the correlation at the largest budget. */
static void append_correlation(const AnalysisDdr *ddr, CoreText *text) {
  const AnalysisDdrPanel *panel = &ddr->panels[ddr->panel_count - 1];
  char budget[32];
  core_text_count(panel->budget, budget);

  if (panel->clusters < ANALYSIS_DDR_CONFIGURATIONS) {
    core_text_appendf(text, "Fewer than %d configurations have reached %s transitions: too few for a correlation.",
                      ANALYSIS_DDR_CONFIGURATIONS, budget);
  } else if (isnan(panel->rho.center) || isnan(panel->rho.low)) {
    core_text_appendf(text, "All runs have the same DDR or the same %s at %s transitions: no correlation.",
                      analysis_ddr_score_name(ddr), budget);
  } else if (panel->rho.low > 0) {
    core_text_appendf(text, "At %s transitions a higher DDR goes with a higher %s (positive at 95 %%).", budget,
                      analysis_ddr_score_name(ddr));
  } else if (panel->rho.high < 0) {
    core_text_appendf(text,
                      "At %s transitions a higher DDR goes with a lower %s (negative at 95 %%). The paper's best DDR "
                      "grows with the budget.",
                      budget, analysis_ddr_score_name(ddr));
  } else {
    core_text_appendf(
      text, "At %s transitions no monotone relation between DDR and %s is distinguishable at 95 %%.", budget,
      analysis_ddr_score_name(ddr));
  }
}

/* Appends the means by thirds, since the paper claims that both ends suffer, which a rank correlation cannot show. */
static void append_thirds(const AnalysisDdr *ddr, CoreText *text) {
  const double *third = ddr->panels[ddr->panel_count - 1].third;
  if (isnan(third[0])) return;
  const bool middle = third[1] > third[0] && third[1] > third[2];
  core_text_appendf(text,
                    ddr->is_return
                      ? " Mean by thirds of DDR, low to high: %.4g, %.4g, %.4g: the %s third returns most%s (no test)."
                      : " Mean by thirds of DDR, low to high: %.2f, %.2f, %.2f: the %s third solves most%s (no test).",
                    third[0], third[1], third[2],
                    middle                 ? "middle"
                    : third[2] >= third[0] ? "highest"
                                           : "lowest",
                    middle ? ", as the paper claims" : ", where the paper claims the middle");
}

static void append_reading(const AnalysisDdr *ddr, CoreText *text) {
  append_correlation(ddr, text);
  append_thirds(ddr, text);
}

/* Appends the numbers of hollow and missing runs, so that none is dropped silently. */
static void append_counts(const AnalysisDdr *ddr, CoreText *text) {
  const AnalysisDdrPanel *panel = &ddr->panels[ddr->panel_count - 1];
  size_t missing = ddr->context->selection.count - panel->drawn;
  analysis_describe_runs(ddr->context, text);
  core_text_append(text, ".");
  if (panel->hollow) {
    core_text_appendf(text,
                      " Hollow: short of the panel's budget (%zu run%s%s), in the correlation only where they diverged "
                      "or failed, with the score of their untrained policy.",
                      panel->hollow, panel->hollow == 1 ? "" : "s", ddr->panel_count > 1 ? " in the last panel" : "");
  }
  if (missing) core_text_appendf(text, " Not plotted, without an evaluation or a finite positive DDR: %zu.", missing);
}

static void format_rho(const AnalysisDdrPanel *panel, char *text, size_t size) {
  const AnalysisInterval *rho = &panel->rho;
  if (panel->clusters < ANALYSIS_DDR_CONFIGURATIONS) {
    snprintf(text, size, "Spearman ρ: too few configurations (%zu)", panel->clusters);
  } else if (isnan(rho->center) || isnan(rho->low)) {
    snprintf(text, size, "Spearman ρ: not defined, n = %zu", panel->counted);
  } else {
    snprintf(text, size, "Spearman ρ = %.2f [%.2f, %.2f], n = %zu", rho->center, rho->low, rho->high, panel->counted);
  }
}

/* ---- the figure ------------------------------------------------------------------------------------------------- */

/* Returns the markers of --color-by, and adds their legend; free() them. */
static AnalysisMark *asked_looks(const Scatter *scatter, AnalysisPlot *plot) {
  const AnalysisGrouping *colors = &scatter->colors;
  AnalysisMark *of_group = analysis_marks_create(colors, scatter->context.style);
  AnalysisMark *marks = core_memory_allocate((scatter->context.selection.count + 1) * sizeof *marks);
  analysis_thin_legend(colors, of_group, false, plot);
  for (size_t r = 0; r < scatter->context.selection.count; r++) marks[r] = of_group[colors->group_of[r]];
  free(of_group);
  return marks;
}

static AnalysisPlot *make_plot(const Scatter *scatter) {
  const AnalysisContext *context = &scatter->context;
  const AnalysisDdr *ddr = &scatter->data;
  char title[96], note[128], count[32], y_title[192];
  snprintf(y_title, sizeof y_title, "%s %s", ddr->use_final ? "final" : "max", analysis_ddr_score_name(ddr));

  AnalysisPlot *plot = analysis_plot_create(context->style, "DDR (transitions per nat)", true, y_title, false);
  AnalysisMark *marks = scatter->color_by ? asked_looks(scatter, plot) : analysis_ddr_marks(context, plot);

  for (size_t p = 0; p < ddr->panel_count; p++) {
    const AnalysisDdrPanel *panel = &ddr->panels[p];
    snprintf(title, sizeof title, "%s transitions", core_text_count(panel->budget, count));
    format_rho(panel, note, sizeof note);

    size_t number = analysis_plot_panel(plot, title, note);
    if (!isnan(ddr->untrained)) analysis_plot_level(plot, number, ddr->untrained, "before training");
    for (size_t r = 0; r < context->selection.count; r++) {
      const AnalysisDdrDot *dot = &panel->dots[r];
      if (dot->drawn)
        analysis_plot_point(plot, number, dot->ddr, analysis_ddr_measured(ddr, dot), marks[r], !dot->reached);
    }
  }

  CoreText text = {0};
  append_reading(ddr, &text);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_clear(&text);
  append_counts(ddr, &text);
  analysis_plot_caption(plot, core_text_string(&text));

  analysis_plot_caption(plot, "A dot is a seed. [ ]: 95 % percentile bootstrap over configurations, 2000 replicates.");
  core_text_free(&text);
  free(marks);
  return plot;
}

static void make_csv(const AnalysisDdr *ddr, CoreText *csv) {
  const AnalysisGrouping *configurations = &ddr->context->configurations;

  core_text_append(csv, "budget,run_id,configuration");
  analysis_csv_keys(csv, configurations);
  const char *score = ddr->is_return ? "return" : "solve_rate";
  core_text_appendf(csv, ",seed,status,reached_budget,in_correlation,transitions,ddr,best_%s,best_at,final_%s\n", score,
                    score);

  /* Rows by configuration, then by seed. */
  const size_t runs = ddr->context->selection.count;
  for (size_t p = 0; p < ddr->panel_count; p++) {
    for (size_t i = 0; i < configurations->count * runs; i++) {
      const size_t r = i % runs;
      if (configurations->group_of[r] != i / runs) continue;

      const AnalysisRun *run = &ddr->context->selection.runs[r];
      const AnalysisDdrDot *dot = &ddr->panels[p].dots[r];

      core_text_appendf(csv, "%.0f,", ddr->panels[p].budget);
      analysis_csv_field(csv, run->id);
      core_text_append(csv, ",");
      analysis_csv_field(csv, configurations->groups[configurations->group_of[r]].label);
      analysis_csv_key_values(csv, configurations, &run->config);

      core_text_appendf(csv, ",%lld,%s,%d,%d", (long long)run->config.seed, store_status_name(run->status),
                        dot->reached, dot->counted);
      analysis_csv_value(csv, dot->transitions);
      analysis_csv_value(csv, dot->ddr);
      analysis_csv_value(csv, dot->best);
      analysis_csv_value(csv, dot->best_at);
      analysis_csv_value(csv, dot->final);
      core_text_append(csv, "\n");
    }
  }
}

static int draw(const Scatter *scatter) {
  const AnalysisDdr *ddr = &scatter->data;
  CoreText source = {0}, csv = {0};
  char rho[128];

  AnalysisPlot *plot = make_plot(scatter);
  make_csv(ddr, &csv);

  CoreText query = {0};
  core_text_appendf(&query, "%s; %s", analysis_ddr_sql,
                    ddr->is_return ? analysis_ddr_return_sql : analysis_ddr_evaluation_sql);
  analysis_describe_source(ddr->context, core_text_string(&query), interval_kind, &source);

  for (size_t p = 0; p < ddr->panel_count; p++) {
    format_rho(&ddr->panels[p], rho, sizeof rho);
    core_text_appendf(&source, "budget %.0f: %s\n", ddr->panels[p].budget, rho);
  }

  int code = analysis_render(plot, ddr->context->directory, ddr->context->name, core_text_string(&source),
                             core_text_string(&csv));

  analysis_plot_destroy(&plot);
  core_text_free(&source);
  core_text_free(&csv);
  core_text_free(&query);
  return code;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static void print_table(const AnalysisDdr *ddr) {
  char best[192], final[192];

  snprintf(best, sizeof best, "best %s [95 %%]", analysis_ddr_score_name(ddr));
  snprintf(final, sizeof final, "final %s [95 %%]", analysis_ddr_score_name(ddr));
  const char *const headers[] = {"configuration", "seeds", "DDR", best, final, "unfinished"};
  const AnalysisGrouping *configurations = &ddr->context->configurations;

  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  AnalysisDdrRow *rows = analysis_ddr_rows(ddr);
  char text[64], number[32];

  for (size_t i = 0; i < configurations->count; i++) {
    const AnalysisDdrRow *row = &rows[i];
    core_table_cell(table, "%s", configurations->groups[row->configuration].label);
    core_table_cell(table, "%zu", row->seeds);
    core_table_cell(table, "%s", isnan(row->ddr) ? "-" : core_text_count(row->ddr, number));

    analysis_format_interval(row->best, text, sizeof text);
    core_table_cell(table, "%s", text);
    analysis_format_interval(row->final, text, sizeof text);
    core_table_cell(table, "%s", text);

    size_t behind = row->hollow + configurations->groups[row->configuration].run_count - row->drawn;
    snprintf(text, sizeof text, "%zu", behind);
    core_table_cell(table, "%s", behind ? text : "");
  }

  core_table_print(table, stdout);
  core_table_destroy(&table);
  free(rows);
}

static void print_report(const AnalysisDdr *ddr) {
  CoreText text = {0};
  char line[128], count[32];
  print_table(ddr);
  printf("\n");

  for (size_t p = 0; p < ddr->panel_count; p++) {
    format_rho(&ddr->panels[p], line, sizeof line);
    printf("%6s transitions:", core_text_count(ddr->panels[p].budget, count));
    core_terminal_print_wrapped(stdout, line, 20, 19);
  }

  if (!isnan(ddr->untrained)) {
    analysis_format_number(ddr->untrained, line, sizeof line);
    printf("%6s transitions: %s %s (before training)\n", "0", analysis_ddr_score_name(ddr), line);
  }

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
  return json_pack("{s:o, s:o, s:o, s:I}", "mean", json_number(interval.center), "low", json_number(interval.low),
                   "high", json_number(interval.high), "n", (json_int_t)interval.n);
}

static void print_json(const AnalysisDdr *ddr) {
  CoreText reading = {0};
  append_reading(ddr, &reading);
  json_t *root = json_pack("{s:s, s:s, s:s, s:I, s:s, s:s}", "figure", ddr->context->request->argv[0], "filter",
                           ddr->context->selection.filter, "level_set", ddr->context->level_set, "runs",
                           (json_int_t)ddr->context->selection.count, "reading", core_text_string(&reading), "interval",
                           interval_kind);

  json_t *budgets = json_array(), *list = json_array();
  for (size_t p = 0; p < ddr->panel_count; p++) {
    const AnalysisDdrPanel *panel = &ddr->panels[p];
    json_array_append_new(budgets,
                          json_pack("{s:f, s:o, s:o, s:o, s:I, s:I, s:I}", "budget", panel->budget, "spearman",
                                    json_number(panel->rho.center), "low", json_number(panel->rho.low), "high",
                                    json_number(panel->rho.high), "runs", (json_int_t)panel->counted, "configurations",
                                    (json_int_t)panel->clusters, "hollow", (json_int_t)panel->hollow));
  }

  AnalysisDdrRow *rows = analysis_ddr_rows(ddr);
  for (size_t i = 0; i < ddr->context->configurations.count; i++) {
    json_array_append_new(list,
                          json_pack("{s:s, s:I, s:o, s:o, s:o}", "configuration",
                                    ddr->context->configurations.groups[rows[i].configuration].label, "seeds",
                                    (json_int_t)rows[i].seeds, "ddr", json_number(rows[i].ddr),
                                    ddr->is_return ? "best_return" : "best_solve_rate", json_interval(rows[i].best),
                                    ddr->is_return ? "final_return" : "final_solve_rate",
                                    json_interval(rows[i].final)));
  }

  json_object_set_new(root, "before_training", json_number(ddr->untrained));
  json_object_set_new(root, "budgets", budgets);
  json_object_set_new(root, "configurations", list);
  core_json_print(root);

  core_text_free(&reading);
  free(rows);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static const CoreManual manual = {
  .usage = "analyze ddr-vs-solve [results.db] [--budget N[,N...]] [--sweep NAME] [--where KEY=VALUE]... [OPTIONS]",
  .about = "Does a setting that changes the policy little for the data it sees (a high DDR) end up solving more? Each "
           "run is a dot: its DDR (transitions / sum of KL(behavior || updated policy) over the iterations up to a "
           "budget) against the largest solve rate of its evaluations up to there; one panel a budget. Color: the "
           "setting that a run varies, light where it is large; shape: the algorithm; size: the minibatch. Under each "
           "panel: Spearman's rank correlation with a 95 % bootstrap interval that resamples configurations; below the "
           "panels, the mean solve rate by thirds of DDR, since the paper finds that both ends suffer. The table is "
           "sorted by solve rate and speaks of the largest budget.\n\n"
           "New results of the workspace are imported first. Runs that have not reached a panel's budget "
           "are hollow there, and counted; they are in the correlation only when they diverged or failed, with the "
           "score of their untrained policy.\n\n"
           "Files: ddr-vs-solve.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot ddr-vs-solve.gp.",
  ANALYSIS_ONE_DATABASE};

static int answer(void *figure, const char **operands, size_t count) {
  Scatter *scatter = figure;
  AnalysisDdr *ddr = &scatter->data;
  ddr->context = &scatter->context;
  ddr->use_final = scatter->measure && strcmp(scatter->measure, "final") == 0;
  if (scatter->measure && !ddr->use_final && strcmp(scatter->measure, "best") != 0) {
    return core_error(CORE_USAGE, "--measure %s: expected best or final", scatter->measure);
  }

  TRY(analysis_context_open(&scatter->context, &scatter->request, analysis_database_path(operands, count)));
  TRY(analysis_context_need_evaluations(&scatter->context));
  if (scatter->color_by)
    TRY(analysis_group_runs(&scatter->context.selection, scatter->color_by, &scatter->colors));

  TRY(analysis_ddr_read(ddr, scatter->budgets));
  if (scatter->request.json) print_json(ddr);
  else print_report(ddr);
  fflush(stdout);

  TRY(draw(scatter));
  if (!scatter->request.json) analysis_print_files(&scatter->context, scatter->context.name);
  return CORE_OK;
}

int analysis_figure_ddr(int argc, char **argv) {
  Scatter scatter = {.request = {.argc = argc, .argv = argv}};

  const CoreOption table[] = {
    {"budget", 'b', CORE_OPTION_TEXT, &scatter.budgets, "N[,N...]",
     "transitions, one panel each (default: the whole budget, and a thirtieth, a tenth and a third of it where "
     "there are points)"},
    {"measure", 'm', CORE_OPTION_TEXT, &scatter.measure, "best|final",
     "which solve rate inside the budget (default: best)"},
    {"color-by", 'c', CORE_OPTION_TEXT, &scatter.color_by, "KEY[,KEY]",
     "one color for each value of these settings (default: the setting that a run varies)"},
    ANALYSIS_REQUEST_OPTIONS(scatter.request),
    {0}};

  int code = core_options_run(&manual, table, argc, argv, answer, &scatter);
  analysis_ddr_free(&scatter.data);
  analysis_grouping_free(&scatter.colors);
  analysis_context_close(&scatter.context);
  return code;
}
