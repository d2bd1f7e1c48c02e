/* `analyze asymptote`: fits a learning curve to each setting, and prints and draws its asymptote and the transitions at
 * which it reaches a score, with intervals over runs. Curves that rise like a line get a lower bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/curve_set.h"
#include "analysis/plot/number_text.h"
#include "analysis/statistics/asymptote.h"
#include "core/memory.h"
#include "core/terminal.h"

enum { POINTS_MAX = 100, DRAWN = 200, REPLICATES = 1000, BOOTSTRAP_SEED = 9 };

static const AnalysisResampling resampling = {REPLICATES, 0.95, BOOTSTRAP_SEED};
static const char interval_kind[] =
  "95 % percentile bootstrap of whole runs, stratified over tasks, 1000 replicates, each with its own family of "
  "curves; distances from the estimate widened by Student's t for few runs; from three runs on";

/* Fit of one line. */
typedef struct Fitted {
  AnalysisRunCurves curves;
  double *x, *y;
  size_t *first;
  AnalysisAsymptote result;
  double *replicate;         /* [REPLICATES] asymptotes */
  double target;             /* score of the crossing budget; NaN: none */
  AnalysisInterval crossing;
  bool is_fitted;            /* whether all its runs share enough points */
} Fitted;

typedef struct Asymptotes {
  AnalysisCurveSet set;
  double share, score;       /* --share; --score, NaN: not given */
  Fitted *fitted;            /* [line] */
} Asymptotes;

/* ---- fits -------------------------------------------------------------------------------------------------------- */

/* Finds the range of transitions that all runs of the line have. */
static void find_range(const AnalysisLineData *line, double range[2]) {
  range[0] = 0;
  range[1] = INFINITY;
  for (size_t c = 0; c < line->curve_count; c++) {
    const AnalysisCurve *curve = &line->curves[c];
    if (curve->n == 0) continue;
    range[0] = fmax(range[0], curve->x[0]);
    range[1] = fmin(range[1], curve->x[curve->n - 1]);
  }
}

/* Takes the line's curves at common points, sorted by task. */
static void take_curves(const AnalysisLineData *line, Fitted *fitted) {
  double range[2];
  size_t n, kept = 0, tasks = 0, runs = 0, task_count = 0;

  /* The grid inside the range that all curves share. */
  find_range(line, range);
  fitted->x = analysis_curve_grid(line->curves, line->curve_count, POINTS_MAX, false, &n);
  for (size_t i = 0; i < n; i++)
    if (fitted->x[i] >= range[0] && fitted->x[i] <= range[1]) fitted->x[kept++] = fitted->x[i];

  for (size_t c = 0; c < line->curve_count; c++)
    if (line->task[c] >= task_count) task_count = line->task[c] + 1;

  fitted->y = core_memory_allocate((line->run_count * kept + 1) * sizeof *fitted->y);
  fitted->first = core_memory_zero_allocate(task_count + 1, sizeof *fitted->first);

  for (size_t t = 0; t < task_count; t++) {
    for (size_t c = 0; c < line->curve_count; c++) {
      const AnalysisCurve *curve = &line->curves[c];
      if (line->task[c] != t || curve->n == 0) continue;
      for (size_t i = 0; i < kept; i++)
        fitted->y[runs * kept + i] = analysis_interpolate(curve->x, curve->y, curve->n, fitted->x[i]);
      runs++;
    }
    if (runs > fitted->first[tasks]) fitted->first[++tasks] = runs;
  }

  analysis_asymptote_pool(fitted->y, kept, fitted->first, tasks);
  fitted->curves = (AnalysisRunCurves){kept, tasks, fitted->x, fitted->y, fitted->first};
}

static void fit_line(const AnalysisCurveSet *set, const AnalysisLineData *line, Fitted *fitted) {
  const AnalysisRange of = analysis_column_range(analysis_curve_set_shown(set, line->panel, line->column), false);
  const double range[2] = {of.low, of.high};
  take_curves(line, fitted);
  fitted->is_fitted = line->run_count > 0 && fitted->curves.n >= ANALYSIS_GROWTH_POINTS_MIN;
  fitted->replicate = core_memory_allocate(REPLICATES * sizeof *fitted->replicate);
  if (!fitted->is_fitted) return;
  analysis_asymptote_fit(&fitted->curves, range, &resampling, &fitted->result, fitted->replicate);
  fitted->result.asymptote.n = fitted->result.done.n = fitted->result.last.n = line->run_count;
}

/* ---- crossing budgets -------------------------------------------------------------------------------------------- */

/* Returns the mean score with which the panel's runs begin. */
static double start_of(const Asymptotes *a, size_t panel) {
  double sum = 0;
  size_t count = 0;
  for (size_t l = 0; l < a->set.line_count; l++)
    for (size_t c = 0; c < a->set.lines[l].curve_count && a->set.lines[l].panel == panel; c++) {
      if (a->set.lines[l].curves[c].n == 0) continue;
      sum += a->set.lines[l].curves[c].y[0];
      count++;
    }
  return count ? sum / (double)count : NAN;
}

/* Computes the target of a panel: a share of the way from the start to the highest identified asymptote, of the fits
 * and of each replicate. NaN: no asymptote is identified. */
static double find_targets(const Asymptotes *a, size_t panel, double *targets) {
  const double start = start_of(a, panel);
  double best = NAN;
  for (size_t r = 0; r < REPLICATES; r++) targets[r] = NAN;
  for (size_t l = 0; l < a->set.line_count; l++) {
    const Fitted *fitted = &a->fitted[l];
    if (a->set.lines[l].panel != panel || !fitted->is_fitted || !fitted->result.is_identified) continue;
    best = fmax(best, fitted->result.asymptote.center);
    for (size_t r = 0; r < REPLICATES; r++)
      if (isfinite(fitted->replicate[r])) targets[r] = fmax(targets[r], fitted->replicate[r]);
  }
  for (size_t r = 0; r < REPLICATES; r++)
    targets[r] = start + a->share * ((isnan(targets[r]) ? best : targets[r]) - start);
  return start + a->share * (best - start);
}

static void find_crossings(Asymptotes *a) {
  double *targets = core_memory_allocate(REPLICATES * sizeof *targets);
  for (size_t p = 0; p < a->set.panel_count; p++) {
    const double target = isnan(a->score) ? find_targets(a, p, targets) : a->score;
    for (size_t l = 0; l < a->set.line_count; l++) {
      Fitted *fitted = &a->fitted[l];
      if (a->set.lines[l].panel != p) continue;
      fitted->target = target;
      fitted->crossing = (AnalysisInterval){NAN, NAN, NAN, 0};
      if (isnan(target) || !fitted->is_fitted) continue;
      fitted->crossing = analysis_asymptote_crossing(&fitted->curves, false, target, isnan(a->score) ? targets : NULL,
                                                     &resampling);
    }
  }
  free(targets);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static bool rises(const Fitted *fitted) {
  const AnalysisGrowth *fit = &fitted->result.fit;
  return analysis_growth_value(fit, fitted->curves.x[fitted->curves.n - 1]) >= analysis_growth_value(fit, 0);
}

/* Returns the bound of an asymptote that is not identified: the score at the last point. */
static double bound_of(const Fitted *fitted) {
  const AnalysisInterval *last = &fitted->result.last;
  return isnan(last->low) ? last->center : rises(fitted) ? last->low : last->high;
}

static void format_asymptote(const Fitted *fitted, char *text, size_t size) {
  char number[64];
  if (!fitted->is_fitted) snprintf(text, size, "too few points");
  else if (fitted->result.is_identified) analysis_format_interval(fitted->result.asymptote, text, size);
  else {
    analysis_format_number(bound_of(fitted), number, sizeof number);
    snprintf(text, size, "not identified, %s %s", rises(fitted) ? "at least" : "at most", number);
  }
}

/* Formats "1.2M [0.9M, 1.5M]"; a budget that is not seen as "> 2M". */
static void format_crossing(const Fitted *fitted, char *text, size_t size) {
  const AnalysisInterval *crossing = &fitted->crossing;
  const double end = fitted->is_fitted ? fitted->curves.x[fitted->curves.n - 1] : NAN;
  const double bounds[2] = {crossing->low, crossing->high};
  char center[32], last[32], bound[2][40];
  if (isnan(crossing->center)) {
    snprintf(text, size, "-");
    return;
  }

  core_text_count(end, last);
  if (isinf(crossing->center)) snprintf(text, size, "> %s", last);
  else snprintf(text, size, "%s", core_text_count(crossing->center, center));
  if (isnan(crossing->low)) return;

  for (size_t i = 0; i < 2; i++) {
    if (bounds[i] > end) snprintf(bound[i], sizeof bound[i], "> %s", last);
    else core_text_count(bounds[i], bound[i]);
  }

  const size_t used = strlen(text);
  snprintf(text + used, size - used, " [%s, %s]", bound[0], bound[1]);
}

static void append_reading(const Asymptotes *a, CoreText *text) {
  size_t open = 0, missing = 0;
  for (size_t l = 0; l < a->set.line_count; l++) {
    open += a->fitted[l].is_fitted && !a->fitted[l].result.is_identified;
    missing += !a->fitted[l].is_fitted;
  }
  core_text_append(text, "Fit: of exponential, Weibull, power law, Hill, logarithm and line, the one with the smallest "
                         "AICc, also in each replicate. ");
  if (open)
    core_text_appendf(text, "Not identified: %zu, where less than half of the rise may be done; the score at the end "
                            "bounds the asymptote. ", open);
  if (missing)
    core_text_appendf(text, "Too few points: %zu, whose runs have fewer than %d evaluations in common. ", missing,
                      ANALYSIS_GROWTH_POINTS_MIN);
}

/* Appends the score that budgets refer to. */
static void append_target(const Asymptotes *a, CoreText *text) {
  char number[32];
  if (!isnan(a->score)) {
    analysis_format_number(a->score, number, sizeof number);
    core_text_appendf(text, "Budget: transitions until the mean score is %s.", number);
    return;
  }
  core_text_appendf(text, "Budget: transitions until the mean score has risen by %g %% of the way from its start "
                          "to the highest asymptote%s", 100 * a->share, a->set.panel_count > 1 ? " of the panel" : "");
  if (a->set.panel_count == 1 && a->set.line_count > 0 && !isnan(a->fitted[0].target)) {
    analysis_format_number(a->fitted[0].target, number, sizeof number);
    core_text_appendf(text, ": %s", number);
  }
  core_text_append(text, ".");
}

static void print_table(const Asymptotes *a) {
  const AnalysisCurveSet *set = &a->set;
  const char *headers[] = {"panel", "configuration", "runs", "until", "fit", "R^2", "done", "asymptote [95 %]",
                           "budget [95 %]"};
  const bool panels = set->panel_count > 1;
  char text[96], number[32];
  CoreTable *table = core_table_create(headers + !panels, sizeof headers / sizeof *headers - !panels);

  for (size_t l = 0; l < set->line_count; l++) {
    const AnalysisLineData *line = &set->lines[l];
    const Fitted *fitted = &a->fitted[l];
    if (panels) core_table_cell(table, "%s", set->panel_name[line->panel]);
    core_table_cell(table, "%s", line->label);
    core_table_cell(table, "%zu", line->run_count);

    const size_t n = fitted->curves.n;
    core_table_cell(table, "%s", n ? core_text_count(fitted->x[n - 1], number) : "-");
    core_table_cell(table, "%s", fitted->is_fitted ? analysis_growth_name(fitted->result.fit.family) : "-");
    core_table_cell(table, fitted->is_fitted ? "%.3f" : "-", fitted->result.explained);
    core_table_cell(table, fitted->is_fitted ? "%.0f %%" : "-", 100 * fitted->result.done.center);

    format_asymptote(fitted, text, sizeof text);
    core_table_cell(table, "%s", text);
    format_crossing(fitted, text, sizeof text);
    core_table_cell(table, "%s", text);
  }
  core_table_print(table, stdout);
  core_table_destroy(&table);

  CoreText words = {0};
  append_reading(a, &words);
  append_target(a, &words);
  core_text_append(&words, " ");
  analysis_describe_runs(&set->context, &words);
  core_text_append(&words, ".");
  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&words), 0, 0);
  core_text_free(&words);
}

/* ---- the figure -------------------------------------------------------------------------------------------------- */

/* Adds the mean curve with its band, thin, the fit, and the asymptote to the right of the end, by a share of it. */
static void draw_line(const Asymptotes *a, AnalysisPlot *plot, size_t l, double offset, AnalysisMark mark) {
  const AnalysisLineData *line = &a->set.lines[l];
  const Fitted *fitted = &a->fitted[l];
  const size_t n = fitted->curves.n;
  size_t drawn = 0;
  while (drawn < line->n && n > 0 && line->grid[drawn] <= fitted->x[n - 1]) drawn++;
  analysis_plot_curve(plot, line->panel, drawn, line->grid, line->mean, line->low, line->high, mark, ANALYSIS_FAINT);
  if (!fitted->is_fitted) return;

  double x[DRAWN], y[DRAWN], end = 0;
  for (size_t i = 0; i < DRAWN; i++) {
    x[i] = fitted->x[0] + (fitted->x[n - 1] - fitted->x[0]) * (double)i / (DRAWN - 1);
    y[i] = analysis_growth_value(&fitted->result.fit, x[i]);
  }
  analysis_plot_curve(plot, line->panel, DRAWN, x, y, NULL, NULL, mark, ANALYSIS_SOLID);

  for (size_t k = 0; k < a->set.line_count; k++)
    if (a->set.lines[k].panel == line->panel && a->fitted[k].curves.n > 0)
      end = fmax(end, a->fitted[k].x[a->fitted[k].curves.n - 1]);
  const AnalysisInterval *limit = &fitted->result.asymptote;
  const double right = end * (1.05 + offset), rights[2] = {right, right}, ends[2] = {limit->low, limit->high};
  const bool is_identified = fitted->result.is_identified;
  if (is_identified && !isnan(limit->low)) analysis_plot_whisker(plot, line->panel, rights, ends, mark.color);

  mark.shape = is_identified ? ANALYSIS_CIRCLE : ANALYSIS_TRIANGLE;
  if (!is_identified && !rises(fitted)) mark.shape = ANALYSIS_TRIANGLE_DOWN;
  analysis_plot_point(plot, line->panel, right, is_identified ? limit->center : bound_of(fitted), mark, !is_identified);
}

/* Adds the panel's lines, their asymptotes side by side, and the score of the budgets. */
static void draw_panel(const Asymptotes *a, AnalysisPlot *plot, size_t panel, const AnalysisLineStyle *looks) {
  static const double apart = 0.035, width = 0.35; /* distance of two asymptotes, and room for all */
  size_t lines = 0, rank = 0;
  double target = NAN;
  for (size_t l = 0; l < a->set.line_count; l++) lines += a->set.lines[l].panel == panel;
  for (size_t l = 0; l < a->set.line_count; l++) {
    if (a->set.lines[l].panel != panel) continue;
    draw_line(a, plot, l, fmin(apart, width / (double)lines) * (double)rank++, looks[a->set.lines[l].group].mark);
    target = a->fitted[l].target;
  }
  if (!isnan(target)) analysis_plot_level(plot, panel, target, "score of the budgets");
}

static AnalysisPlot *make_plot(const Asymptotes *a) {
  const AnalysisCurveSet *set = &a->set;
  char title[160];

  AnalysisLineStyle *looks = analysis_curve_styles(set);
  analysis_curve_set_title(set, set->columns[0], title, sizeof title);
  AnalysisPlot *plot = analysis_plot_create(set->context.style, analysis_abscissa_titles[0], false, title, false);
  for (size_t p = 0; p < set->panel_count; p++) {
    const size_t panel = analysis_plot_panel(plot, set->panel_count > 1 ? set->panel_name[p] : "", "");
    if (set->own_axes) analysis_plot_panel_axis_x(plot, panel);
    if (set->own_axes) analysis_plot_panel_axis(plot, panel, title, false);
  }

  for (size_t p = 0; p < set->panel_count; p++) draw_panel(a, plot, p, looks);
  for (size_t g = 0; g < set->groups.count && set->groups.count > 1; g++)
    analysis_plot_legend_entry(plot, set->groups.groups[g].label, looks[g].mark, true);

  CoreText text = {0};
  core_text_append(&text, "Line: fit to the mean over runs, which is faint, with its 95 % interval. Right of it: the "
                          "asymptote with its interval; an open triangle is a lower bound. ");
  append_reading(a, &text);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_clear(&text);
  analysis_describe_runs(&set->context, &text);
  core_text_append(&text, ".");
  analysis_plot_caption(plot, core_text_string(&text));

  core_text_free(&text);
  free(looks);
  return plot;
}

/* Appends ",center,low,high"; infinite values are empty. */
static void add_interval(CoreText *csv, AnalysisInterval interval) {
  const double value[3] = {interval.center, interval.low, interval.high};
  for (size_t i = 0; i < 3; i++) analysis_csv_value(csv, isfinite(value[i]) ? value[i] : NAN);
}

static void make_csv(const Asymptotes *a, CoreText *csv) {
  const AnalysisCurveSet *set = &a->set;

  core_text_append(csv, "panel,configuration");
  analysis_csv_keys(csv, &set->groups);
  core_text_append(csv, ",runs,until,fit,a,b,half,shape,r2,done,done_low,done_high,identified,asymptote,low,high,bound,"
                        "target,budget,budget_low,budget_high\n");

  for (size_t l = 0; l < set->line_count; l++) {
    const AnalysisLineData *line = &set->lines[l];
    const Fitted *fitted = &a->fitted[l];
    const AnalysisGrowth *fit = &fitted->result.fit;
    if (!fitted->is_fitted) continue;

    analysis_csv_field(csv, set->panel_count > 1 ? set->panel_name[line->panel] : "");
    core_text_append(csv, ",");
    analysis_csv_field(csv, line->label);
    analysis_csv_key_values(csv, &set->groups, set->groups.groups[line->group].config);

    core_text_appendf(csv, ",%zu", line->run_count);
    analysis_csv_value(csv, fitted->x[fitted->curves.n - 1]);
    core_text_appendf(csv, ",%s", analysis_growth_name(fit->family));
    const double fitted_values[] = {fit->a, fit->b, fit->half, fit->shape, fitted->result.explained};
    for (size_t i = 0; i < sizeof fitted_values / sizeof *fitted_values; i++)
      analysis_csv_value(csv, fitted_values[i]);

    add_interval(csv, fitted->result.done);
    core_text_appendf(csv, ",%d", fitted->result.is_identified);
    add_interval(csv, fitted->result.asymptote);
    analysis_csv_value(csv, fitted->result.is_identified ? NAN : bound_of(fitted));
    analysis_csv_value(csv, fitted->target);
    add_interval(csv, fitted->crossing);
    core_text_append(csv, "\n");
  }
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int answer(void *figure, const char **operands, size_t count) {
  Asymptotes *a = figure;
  CoreText csv = {0};
  char name[128];
  if (!(a->share > 0 && a->share < 1))
    return core_error(CORE_USAGE, "--share %g: expected a share between 0 and 1", a->share);
  if (strchr(a->set.y_names, ',')) return core_error(CORE_USAGE, "--y %s: expected one column", a->set.y_names);

  /* The column decides the names of the figure's files. */
  if (strcmp(a->set.y_names, "solve_rate") != 0) analysis_request_name_after(&a->set.request, a->set.y_names, name);
  TRY(analysis_curve_set_read(&a->set, analysis_database_path(operands, count)));
  if (analysis_curve_set_is_log(&a->set, 0))
    return core_error(CORE_USAGE, "--y %s: has no asymptote on its log axis; expected a score", a->set.y_names);

  a->fitted = core_memory_zero_allocate(a->set.line_count + 1, sizeof *a->fitted);
  for (size_t l = 0; l < a->set.line_count; l++) fit_line(&a->set, &a->set.lines[l], &a->fitted[l]);
  find_crossings(a);

  if (!a->set.request.json) print_table(a);
  fflush(stdout);
  make_csv(a, &csv);

  return analysis_figure_write(&a->set.context, make_plot(a), a->set.columns[0]->sql, interval_kind, &csv);
}

static const CoreManual manual = {
  .usage = "analyze asymptote [results.db] [--y COLUMN] [--group KEYS] [--panel KEYS] [--share S | --score V] "
           "[OPTIONS]",
  .about = "Where learning ends: a curve is fitted to the mean of each configuration's runs (or of each value of "
           "--group), and extrapolated to its asymptote. The table and the figure have the asymptote, the share of the "
           "rise that is done, and the transitions until a score is reached (a budget, never extrapolated), with 95 % "
           "intervals from a bootstrap of whole runs. If less than half of the rise may be done, as of a curve that "
           "rises like a line, the asymptote is not identified and the score at the end is a bound.\n\n"
           "The fit covers the transitions that all runs of a configuration have. Runs that diverged or failed "
           "have the score of their untrained policy from then on.\n\n"
           "Files: asymptote.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot asymptote.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_asymptote(int argc, char **argv) {
  Asymptotes a = {.set = {.y_names = "solve_rate", .x_name = "transitions", .is_worst_ranked = true,
                          .request = {.argc = argc, .argv = argv}},
                  .share = 0.9, .score = NAN};

  const CoreOption table[] = {
    {"y", 'y', CORE_OPTION_TEXT, &a.set.y_names, "COLUMN",
     "the score (default: solve_rate, of the evaluations; episode_return in panels where no run has one)"},
    {"group", 'g', CORE_OPTION_TEXT, &a.set.group_keys, "KEY[,KEY]",
     "one curve for each value of these settings; none: one curve (default: all that vary)"},
    {"panel", 0, CORE_OPTION_TEXT, &a.set.panel_keys, "KEY[,KEY]",
     "one panel for each value of these settings; task: for each task (default: for each algorithm)"},
    {"share", 0, CORE_OPTION_REAL, &a.share, "S",
     "budgets until this share of the way from the start to the panel's highest asymptote (default: 0.9)"},
    {"score", 0, CORE_OPTION_REAL, &a.score, "V", "budgets until this score"},
    ANALYSIS_COMMON_OPTION(a.set.request),
    ANALYSIS_REQUEST_OPTIONS(a.set.request),
    {0}};

  const int code = core_options_run(&manual, table, argc, argv, answer, &a);
  if (a.fitted) {
    for (size_t l = 0; l < a.set.line_count; l++) {
      free(a.fitted[l].x);
      free(a.fitted[l].y);
      free(a.fitted[l].first);
      free(a.fitted[l].replicate);
    }
  }

  free(a.fitted);
  analysis_curve_set_free(&a.set);
  return code;
}
