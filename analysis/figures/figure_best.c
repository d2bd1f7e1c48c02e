/* `analyze best`: the best of the configurations against the budget: its value of one setting, or its DDR, and its
 * score, with intervals over runs that include the choice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/curve_set.h"
#include "analysis/plot/number_text.h"
#include "analysis/runs/budget.h"
#include "analysis/runs/tasks.h"
#include "analysis/statistics/winner.h"
#include "core/memory.h"
#include "core/terminal.h"

enum { BUDGETS = 12, BUDGETS_MAX = 64, REPLICATES = 1000, BOOTSTRAP_SEED = 10, ROWS_MAX = 4096 };

static const AnalysisResampling resampling = {REPLICATES, 0.95, BOOTSTRAP_SEED};
static const char interval_kind[] =
  "95 % percentile bootstrap of the runs of every configuration, stratified over "
  "tasks and settings, 1000 replicates, each with its "
  "own best; means widened by Student's t for few runs; from three runs of each on";

/* DDR up to each row of a run: transitions over KL, both of the rows with a known KL. */
static const char rows_sql[] =
  "SELECT transitions, coalesce(merged_iterations, 1) * " STORE_KL_TRANSITIONS_SQL
  ", coalesce(merged_iterations, 1) * max(kl, 1e-12) FROM iteration WHERE run_id = ?1 ORDER BY iteration";
static const char bins_sql[] =
  "SELECT transitions, kl_transitions, kl_sum FROM iteration_bin WHERE run_id = ?1 ORDER BY bin";

typedef struct Best {
  AnalysisCurveSet set;      /* scores; its lines are not used */
  const char *x_name, *group_keys, *budget_list;
  AnalysisGrouping groups;   /* candidates */
  const CoreConfigRow *key;  /* setting of --x; NULL: DDR, or none */
  bool is_ddr, is_number, is_log; /* kind of the value: DDR or a number, averaged as logarithms; else a name */
  double budget[BUDGETS_MAX];
  size_t budgets, partial;   /* partial: candidates without runs that reach the budgets, or on some tasks only */
  AnalysisCurve *ddr;        /* [run] DDR against transitions */
  AnalysisCandidates candidates;
  size_t *first, *of, *group_of; /* [strata + 1], [strata], [candidate] */
  double *score, *value;
  AnalysisWinner winner[BUDGETS_MAX];
  AnalysisInterval shift;
} Best;

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Selects what is shown of the best configuration: --x, or the only setting that varies. */
static int choose_value(Best *b) {
  b->is_ddr = b->x_name && strcmp(b->x_name, "ddr") == 0;
  b->is_log = b->is_number = b->is_ddr;
  if (b->is_ddr) return CORE_OK;
  if (b->x_name) TRY(analysis_find_key(b->x_name, &b->key));
  else if (b->groups.key_count == 1) b->key = b->groups.keys[0];
  if (!b->key) return CORE_OK;

  double low = INFINITY, high = -INFINITY;
  b->is_number = core_config_is_number(b->key->kind);
  for (size_t g = 0; g < b->groups.count && b->is_number; g++) {
    const double value = analysis_key_number(b->groups.groups[g].config, b->key);
    b->is_number = isfinite(value);
    low = fmin(low, value);
    high = fmax(high, value);
  }
  b->is_log = b->is_number && low > 0 && high >= 8 * low;
  return CORE_OK;
}

static int read_ddr(Best *b) {
  const AnalysisSelection *selection = &b->set.context.selection;
  StoreQuery *query[2] = {NULL, NULL};

  int code = store_query_open(b->set.context.database, rows_sql, &query[0]);
  if (code == CORE_OK) code = store_query_open(b->set.context.database, bins_sql, &query[1]);
  b->ddr = core_memory_zero_allocate(selection->count + 1, sizeof *b->ddr);

  for (size_t r = 0; r < selection->count; r++) {
    if (code != CORE_OK) break;
    StoreQuery *of = query[selection->runs[r].iteration > ROWS_MAX];
    double transitions = 0, kl = 0;
    bool row = false;

    store_query_reset(of);
    store_query_bind_text(of, 1, selection->runs[r].id);

    while ((code = store_query_step(of, &row)) == CORE_OK && row) {
      const double more = store_query_real(of, 1), moved = store_query_real(of, 2);
      if (isnan(more) || isnan(moved)) continue;
      transitions += more;
      kl += moved;
      if (kl > 0 && isfinite(kl)) analysis_curve_add(&b->ddr[r], store_query_real(of, 0), transitions / kl);
    }
  }

  store_query_close(&query[0]);
  store_query_close(&query[1]);
  return code;
}

/* Returns y at x; before the first and after the last point that point's value. */
static double value_near(const AnalysisCurve *curve, double x) {
  if (curve->n == 0) return NAN;
  return analysis_interpolate(curve->x, curve->y, curve->n, fmin(curve->x[curve->n - 1], fmax(curve->x[0], x)));
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static bool has_score(const Best *b, size_t run) {
  return b->set.curves[0][run].n > 0 && (!b->is_ddr || b->ddr[run].n > 0);
}

/* Sets budgets at equal ratios up to the last one that all runs reach, or those of --budget. */
static int choose_budgets(Best *b) {
  double low = 0, high = INFINITY;

  for (size_t r = 0; r < b->set.context.selection.count; r++) {
    const AnalysisCurve *curve = &b->set.curves[0][r];
    if (!has_score(b, r)) continue;
    low = fmax(low, curve->x[0] > 0 || curve->n < 2 ? curve->x[0] : curve->x[1]);
    high = fmin(high, curve->x[curve->n - 1]);
  }

  if (!(high >= low) || !isfinite(high))
    return core_error(CORE_FAIL, "%s: the runs have no budget in common; leave out the short ones with --where",
                      b->set.context.path);

  b->budgets = BUDGETS;
  for (size_t i = 0; i < BUDGETS; i++) b->budget[i] = low * pow(high / low, (double)i / (BUDGETS - 1));
  b->budget[BUDGETS - 1] = high; /* exact in spite of rounding */
  if (!b->budget_list) return CORE_OK;

  char *copy = core_text_duplicate(b->budget_list), *tail = copy;
  int code = CORE_OK;

  b->budgets = 0;
  for (char *text; (text = strsep(&tail, ","));) {
    double *budget = &b->budget[b->budgets++];

    const bool is_good = core_text_to_real(text, budget) && *budget > 0 && *budget <= high;
    const bool is_after = b->budgets < 2 || *budget > b->budget[b->budgets - 2];

    char most[32];
    if (!is_good || !is_after || b->budgets == BUDGETS_MAX)
      code = core_error(CORE_USAGE, "--budget %s: expected ascending numbers of transitions up to %s, which all runs "
                        "reach", text, core_text_count(high, most));
    if (code != CORE_OK) break;
  }

  free(copy);
  return code;
}

static void take_run(Best *b, size_t run, size_t index, size_t group) {
  for (size_t k = 0; k < b->budgets; k++) {
    const size_t cell = index * b->budgets + k;
    b->score[cell] = value_near(&b->set.curves[0][run], b->budget[k]);
    double value = (double)group;
    if (b->is_ddr) value = value_near(&b->ddr[run], b->budget[k]);
    else if (b->is_number) value = analysis_key_number(b->groups.groups[group].config, b->key);
    b->value[cell] = b->is_log ? log(value) : value;
  }
}

/* Sorts the runs by candidate, and by configuration, which are the strata: a candidate of --group averages over
 * several, and tasks are different configurations. Leaves out candidates without runs on one of the tasks. */
static void make_candidates(Best *b) {
  const AnalysisSelection *selection = &b->set.context.selection;
  const AnalysisGrouping *cells = &b->set.context.configurations;
  const size_t runs = selection->count - selection->repeats;
  size_t *task_of = core_memory_allocate((runs + 1) * sizeof *task_of), scores = 0, strata = 0, count = 0;
  const size_t tasks = analysis_tasks_find(selection, task_of);
  size_t *last_of = core_memory_zero_allocate(tasks + 1, sizeof *last_of); /* last group with runs on a task, from 1 */

  AnalysisMembers members = analysis_grouping_members(cells, runs);
  b->first = core_memory_zero_allocate(cells->count + 1, sizeof *b->first);
  b->of = core_memory_allocate((cells->count + 1) * sizeof *b->of);
  b->group_of = core_memory_allocate((b->groups.count + 1) * sizeof *b->group_of);
  b->score = core_memory_allocate((runs * b->budgets + 1) * sizeof *b->score);
  b->value = core_memory_allocate((runs * b->budgets + 1) * sizeof *b->value);

  for (size_t g = 0; g < b->groups.count; g++) {
    const size_t begin = scores, first_stratum = strata;
    size_t covered = 0;
    for (size_t c = 0; c < cells->count; c++) {
      const size_t before = scores, first = members.first[c];
      if (members.first[c + 1] == first || b->groups.group_of[members.run[first]] != g) continue;
      for (size_t i = first; i < members.first[c + 1]; i++) {
        if (!has_score(b, members.run[i])) continue;
        take_run(b, members.run[i], scores, g);
        scores++;
      }
      if (scores == before) continue;

      const size_t task = task_of[members.run[first]];
      covered += last_of[task] != g + 1;
      last_of[task] = g + 1;
      b->of[strata] = count;
      b->first[++strata] = scores;
    }

    /* A group without runs on every task is taken back. */
    if (covered == tasks) {
      b->group_of[count++] = g;
      continue;
    }
    strata = first_stratum;
    scores = begin;
    b->partial++;
  }

  b->candidates = (AnalysisCandidates){count, b->budgets, strata, b->first, b->of, b->score, b->value};
  analysis_members_free(&members);
  free(last_of);
  free(task_of);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const AnalysisGroup *group_at(const Best *b, size_t k) {
  return &b->groups.groups[b->group_of[b->winner[k].candidate]];
}

/* Returns the value's interval on its own scale; without bounds if it is a name. */
static AnalysisInterval value_of(const Best *b, size_t k) {
  const AnalysisInterval v = b->winner[k].value;
  if (!b->is_number) return (AnalysisInterval){v.center, NAN, NAN, v.n};
  return b->is_log ? (AnalysisInterval){exp(v.center), exp(v.low), exp(v.high), v.n} : v;
}

static const char *value_title(const Best *b) {
  return b->is_ddr ? "DDR (transitions per nat)" : b->key ? b->key->name : "configuration";
}

static void append_reading(const Best *b, CoreText *text) {
  char low[32], high[32], shift[64];
  core_text_appendf(text, "The best of %zu configurations by the mean score at each budget. Each of 1000 resamples of "
                          "the runs chooses its own best: intervals include the choice, and scores are corrected "
                          "for it. ",
                    b->candidates.count);

  if (b->is_number && !isnan(b->shift.low)) {
    const AnalysisInterval s = b->shift;
    const bool is_clear = s.low > 0 || s.high < 0;

    analysis_format_interval(b->is_log ? (AnalysisInterval){exp(s.center), exp(s.low), exp(s.high), 3} : s, shift,
                             sizeof shift);

    core_text_appendf(text, "From %s to %s transitions the best %s %s %s%s. ", core_text_count(b->budget[0], low),
                      core_text_count(b->budget[b->budgets - 1], high), b->is_ddr ? "DDR" : b->key->name,
                      b->is_log ? "changes by the factor" : "changes by", shift,
                      is_clear ? "" : ": no shift is shown");
  }

  if (b->partial)
    core_text_appendf(text, "Left out, without runs on every task: %zu configurations. ", b->partial);
}

static void print_table(const Best *b) {
  char title[160], text[96], number[32];
  snprintf(title, sizeof title, "%s%s", value_title(b), b->is_number ? " [95 %]" : "");
  const char *headers[] = {"budget", "best", title, "chosen", "score [95 %]"};
  CoreText shown = {0};

  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  for (size_t k = 0; k < b->budgets; k++) {
    core_table_cell(table, "%s", core_text_count(b->budget[k], number));
    core_table_cell(table, "%s", group_at(b, k)->label);

    if (b->is_number) analysis_format_interval(value_of(b, k), text, sizeof text);
    core_table_cell(table, "%s", b->is_number ? text
                                 : b->key     ? analysis_key_shown(group_at(b, k)->config, b->key, &shown)
                                              : group_at(b, k)->label);

    if (isnan(b->winner[k].share)) core_table_cell(table, "-");
    else core_table_cell(table, "%.0f %%", 100 * b->winner[k].share);
    analysis_format_interval(b->winner[k].score, text, sizeof text);
    core_table_cell(table, "%s", text);
  }

  core_table_print(table, stdout);
  core_table_destroy(&table);

  core_text_clear(&shown);
  append_reading(b, &shown);
  analysis_describe_runs(&b->set.context, &shown);
  core_text_append(&shown, ".");
  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&shown), 0, 0);
  core_text_free(&shown);
}

/* ---- the figure -------------------------------------------------------------------------------------------------- */

/* Adds names of the y axis: the candidates that are best somewhere. Returns their place: [candidate]. */
static size_t *add_names(const Best *b, AnalysisPlot *plot) {
  size_t *row = core_memory_allocate((b->candidates.count + 1) * sizeof *row), count = 0;
  for (size_t c = 0; c < b->candidates.count; c++) {
    bool is_best = false;
    for (size_t k = 0; k < b->budgets; k++) is_best = is_best || b->winner[k].candidate == c;
    if (!is_best) continue;
    row[c] = count++;
    analysis_plot_category_y(plot, b->groups.groups[b->group_of[c]].label);
  }
  return row;
}

static AnalysisPlot *make_plot(const Best *b) {
  const AnalysisMark mark = {.color = analysis_name_color(0)};
  double y[BUDGETS_MAX], low[BUDGETS_MAX], high[BUDGETS_MAX];
  char score[160];
  AnalysisPlot *plot =
    analysis_plot_create(b->set.context.style, analysis_abscissa_titles[0], true, value_title(b), b->is_log);
  size_t *row = b->is_number ? NULL : add_names(b, plot);

  const size_t values = analysis_plot_panel(plot, "of the best configuration", "");
  for (size_t k = 0; k < b->budgets; k++) {
    const AnalysisInterval value = value_of(b, k);
    y[k] = row ? (double)row[b->winner[k].candidate] : value.center;
    const double budgets[2] = {b->budget[k], b->budget[k]}, ends[2] = {value.low, value.high};
    if (!isnan(value.low)) analysis_plot_whisker(plot, values, budgets, ends, mark.color);
    analysis_plot_point(plot, values, b->budget[k], y[k], mark, false);
  }
  analysis_plot_curve(plot, values, b->budgets, b->budget, y, NULL, NULL, mark, ANALYSIS_THIN);
  free(row);

  if (b->is_number) { /* a second panel cannot have numbers where the first one has names */
    const size_t scores = analysis_plot_panel(plot, "its score, corrected for the choice", "");
    analysis_curve_set_title(&b->set, b->set.columns[0], score, sizeof score);
    analysis_plot_panel_axis(plot, scores, score, false);
    for (size_t k = 0; k < b->budgets; k++) {
      y[k] = b->winner[k].score.center;
      low[k] = b->winner[k].score.low;
      high[k] = b->winner[k].score.high;
    }
    analysis_plot_curve(plot, scores, b->budgets, b->budget, y, low, high, mark, ANALYSIS_SOLID);
  }

  CoreText text = {0};
  append_reading(b, &text);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_clear(&text);
  analysis_describe_runs(&b->set.context, &text);
  core_text_append(&text, ".");
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_free(&text);
  return plot;
}

static void make_csv(const Best *b, CoreText *csv) {
  core_text_append(csv, "budget,best");
  analysis_csv_keys(csv, &b->groups);
  core_text_append(csv, ",runs,value,low,high,chosen,score,score_low,score_high,shift,shift_low,shift_high\n");

  for (size_t k = 0; k < b->budgets; k++) {
    const AnalysisInterval value = value_of(b, k), score = b->winner[k].score, s = b->shift;
    core_text_appendf(csv, "%.0f,", b->budget[k]);
    analysis_csv_field(csv, group_at(b, k)->label);
    analysis_csv_key_values(csv, &b->groups, group_at(b, k)->config);
    core_text_appendf(csv, ",%zu", value.n);

    const bool is_last = k + 1 == b->budgets && b->is_number;
    const double numbers[] = {b->is_number ? value.center : NAN, value.low, value.high, b->winner[k].share,
                              score.center, score.low, score.high, is_last ? s.center : NAN,
                              is_last ? s.low : NAN, is_last ? s.high : NAN};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
      analysis_csv_value(csv, i >= 7 && b->is_log ? exp(numbers[i]) : numbers[i]);
    core_text_append(csv, "\n");
  }
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int answer(void *figure, const char **operands, size_t count) {
  Best *b = figure;
  CoreText csv = {0};
  if (strchr(b->set.y_names, ',')) return core_error(CORE_USAGE, "--y %s: expected one column", b->set.y_names);

  TRY(analysis_curve_set_read(&b->set, analysis_database_path(operands, count)));
  if (b->set.is_mixed) return core_error(CORE_FAIL, "--y: some runs have returns only; choose tasks with --where");
  TRY(analysis_group_runs_without(&b->set.context.selection, b->group_keys, core_config_task_keys, &b->groups));

  TRY(choose_value(b));
  if (b->is_ddr) TRY(read_ddr(b));
  TRY(choose_budgets(b));
  make_candidates(b);

  if (b->candidates.count < 2)
    return core_error(CORE_FAIL, "%s: fewer than two configurations to choose from; --group names settings that differ",
                      b->set.context.path);

  analysis_winners(&b->candidates, &resampling, b->winner, &b->shift);
  if (!b->set.request.json) print_table(b);
  fflush(stdout);
  make_csv(b, &csv);
  return analysis_figure_write(&b->set.context, make_plot(b), b->set.columns[0]->sql, interval_kind, &csv);
}

static const CoreManual manual = {
  .usage = "analyze best [results.db] [--x KEY|ddr] [--group KEYS] [--budget N[,N...]] [OPTIONS]",
  .about = "Which configuration is best after each number of transitions, and whether that shifts: its value of --x (a "
           "setting, or its DDR up to there) and its score. A resample of the runs chooses its own best, so the 95 % "
           "intervals include the choice, and the score of the best is corrected for being chosen. --group says what "
           "is compared: with --group com each COM is averaged over the other settings.\n\n"
           "Budgets end where all selected runs have an evaluation. Runs that diverged or failed have the score of "
           "their untrained policy from then on.\n\n"
           "Files: best.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot best.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_best(int argc, char **argv) {
  Best b = {.set = {.y_names = "solve_rate", .x_name = "transitions", .is_worst_ranked = true, .group_keys = "none",
                    .request = {.argc = argc, .argv = argv}}};

  const CoreOption table[] = {
    {"x", 'x', CORE_OPTION_TEXT, &b.x_name, "KEY|ddr",
     "the setting, or ddr, whose value is shown of the best configuration (default: the only one that varies)"},
    {"y", 'y', CORE_OPTION_TEXT, &b.set.y_names, "COLUMN", "the score (default: solve_rate, of the evaluations)"},
    {"group", 'g', CORE_OPTION_TEXT, &b.group_keys, "KEY[,KEY]",
     "compare the values of these settings (default: all that vary)"},
    {"budget", 'b', CORE_OPTION_TEXT, &b.budget_list, "N[,N...]",
     "transitions (default: twelve at equal ratios)"},
    ANALYSIS_REQUEST_OPTIONS(b.set.request),
    {0}};

  const int code = core_options_run(&manual, table, argc, argv, answer, &b);
  for (size_t r = 0; b.ddr && r < b.set.context.selection.count; r++) analysis_curve_free(&b.ddr[r]);
  free(b.ddr);
  free(b.first);
  free(b.of);
  free(b.group_of);
  free(b.score);
  free(b.value);

  analysis_grouping_free(&b.groups);
  analysis_curve_set_free(&b.set);
  return code;
}
