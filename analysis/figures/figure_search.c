/* `analyze search`: results of a search, or of a grid. Its best trials with intervals, the importance of each setting
 * (functional ANOVA), and two figures: parallel coordinates, and a slice per setting. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/search_internal.h"
#include "analysis/statistics/anova.h"
#include "analysis/statistics/importance.h"
#include "core/memory.h"
#include "core/terminal.h"

enum { BEST_SHOWN = 10, PAIRS = 6, REPLICATES = 1000, BOOTSTRAP_SEED = 13 };

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static void judge(AnalysisSearch *s) {
  s->judged = core_memory_zero_allocate(s->trials.count + 1, sizeof *s->judged);
  for (size_t t = 0; t < s->trials.count; t++) {
    const AnalysisTrial *trial = &s->trials.trials[t];
    AnalysisJudged *judged = &s->judged[t];
    judged->score =
      analysis_scored_interval(&s->scored, s->scored.measure, ANALYSIS_AGGREGATE_MEAN, trial->runs, trial->count);
    for (size_t i = 0; i < trial->count; i++) {
      const StoreStatus status = s->context.selection.runs[trial->runs[i]].status;
      const bool is_bad = store_status_is_broken(status);
      judged->bad += is_bad;
      judged->unfinished += !is_bad && !s->scored.runs[trial->runs[i]].ended;
      judged->censored += !is_bad && s->scored.runs[trial->runs[i]].censored;
    }
  }
}

double analysis_search_score(const AnalysisSearch *s, size_t t) {
  const double score = s->judged[t].score.center;
  return analysis_scored_is_log(&s->scored) ? log(score) : score;
}

/* Returns the loss of a trial; infinite without a value, or with a failed run. */
static double loss_of(const AnalysisSearch *s, size_t t) {
  const double score = s->judged[t].score.center;
  const bool is_bad = s->judged[t].bad > 0 && !s->trials.is_grid; /* a grid's have scores of untrained policies */
  if (isnan(score) || (analysis_scored_is_log(&s->scored) && score <= 0) || is_bad) return INFINITY;
  return s->trials.space.goals[0].minimize ? score : -score;
}

static void rank(AnalysisSearch *s) {
  s->order = core_memory_allocate((s->trials.count + 1) * sizeof *s->order);
  for (size_t t = 0; t < s->trials.count; t++) {
    const double loss = loss_of(s, t);
    size_t slot = t;
    for (; slot > 0 && loss < loss_of(s, s->order[slot - 1]); slot--) s->order[slot] = s->order[slot - 1];
    s->order[slot] = t;
    s->valued += !isinf(loss);
  }
}

/* Computes the exact importance over a complete grid, whose trials are in the order of its cells. */
static void explain_grid(AnalysisSearch *s) {
  static const AnalysisResampling resampling = {REPLICATES, 0.95, BOOTSTRAP_SEED};
  const size_t axes = s->trials.space.count, cells = s->trials.count;
  size_t levels[CORE_SEARCH_AXES_MAX], runs = 0, *first = core_memory_zero_allocate(cells + 1, sizeof *first);
  double *score = core_memory_allocate((s->context.selection.count + 1) * sizeof *score);
  AnalysisInterval main[CORE_SEARCH_AXES_MAX];
  for (size_t a = 0; a < axes; a++) levels[a] = s->trials.space.axes[a].choice_count;
  for (size_t t = 0; t < cells; t++) {
    for (size_t i = 0; i < s->trials.trials[t].count; i++) {
      const double value = analysis_scored_value(&s->scored, s->trials.trials[t].runs[i]);
      const double taken = analysis_scored_is_log(&s->scored) ? log(value) : value;
      if (isfinite(taken)) score[runs++] = taken;
    }
    first[t + 1] = runs;
  }

  const AnalysisGrid grid = {axes, cells, levels, first, score};
  s->shares = core_memory_allocate(axes * axes * sizeof *s->shares);
  analysis_anova(&grid, &resampling, main, s->shares, &s->noise);
  for (size_t a = 0; a < axes; a++)
    for (size_t b = 0; b < axes; b++) {
      if (a == b) s->main[a] = main[a].center;
      s->pair[a * axes + b] = a == b ? 0 : s->shares[a * axes + b].center;
    }
  free(first);
  free(score);
}

static void explain(AnalysisSearch *s) {
  const size_t axes = s->trials.space.count;
  s->main = core_memory_allocate(axes * sizeof *s->main);
  s->pair = core_memory_allocate(axes * axes * sizeof *s->pair);
  if (s->trials.is_complete && s->valued == s->trials.count) { /* every combination of values has a score */
    explain_grid(s);
    return;
  }
  double *score = core_memory_allocate((s->valued + 1) * sizeof *score);
  for (size_t i = 0; i < s->valued; i++) score[i] = analysis_search_score(s, s->order[i]);
  s->explained = analysis_trials_importance(&s->trials, s->order, score, s->valued, PAIRS, s->main, s->pair);
  free(score);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

const char *analysis_search_value(const AnalysisSearch *s, size_t t, size_t axis, CoreText *text) {
  const double coordinate = s->trials.trials[t].coordinate[axis];
  return isnan(coordinate) ? "-" : core_search_value_at(&s->trials.space.axes[axis], coordinate, text);
}

void analysis_search_sort_axes(const AnalysisSearch *s, size_t *axes) {
  for (size_t a = 0; a < s->trials.space.count; a++) {
    size_t slot = a;
    for (; slot > 0 && s->main[a] > s->main[axes[slot - 1]]; slot--) axes[slot] = axes[slot - 1];
    axes[slot] = a;
  }
}

static void print_best(const AnalysisSearch *s) {
  const CoreSearch *space = &s->trials.space;
  const char *headers[CORE_SEARCH_AXES_MAX + 4] = {"#", "trial", "runs"};
  char title[96], text[64];
  CoreText value = {0};

  snprintf(title, sizeof title, "%s [95 %%]", analysis_scored_title(&s->scored, &s->context));
  headers[3] = title;
  for (size_t a = 0; a < space->count; a++) headers[4 + a] = space->axes[a].row->name;
  CoreTable *table = core_table_create(headers, 4 + space->count);

  for (size_t i = 0; i < s->valued && i < (size_t)s->best; i++) {
    const size_t t = s->order[i];

    analysis_format_interval(s->judged[t].score, text, sizeof text);
    core_table_cell(table, "%zu", i + 1);
    core_table_cell(table, "%zu", t);
    core_table_cell(table, "%zu", s->trials.trials[t].count);

    const size_t censored = s->judged[t].censored, open = s->judged[t].unfinished - censored;
    if (open) core_table_cell(table, "%s (%zu not ended)", text, open);
    else if (censored) core_table_cell(table, "%s (%zu stopped by rule)", text, censored);
    else core_table_cell(table, "%s", text);

    for (size_t a = 0; a < space->count; a++) core_table_cell(table, "%s", analysis_search_value(s, t, a, &value));
  }

  core_table_print(table, stdout);
  core_table_destroy(&table);
  core_text_free(&value);
}

/* Formats "31 % [22, 40]"; without an interval "31 %". */
static const char *format_share(const AnalysisSearch *s, size_t a, size_t b, char text[64]) {
  const AnalysisInterval none = {a == b ? s->main[a] : s->pair[a * s->trials.space.count + b], NAN, NAN, 0};
  const AnalysisInterval share = s->shares ? s->shares[a * s->trials.space.count + b] : none;
  if (isnan(share.low)) snprintf(text, 64, "%.0f %%", 100 * share.center);
  else snprintf(text, 64, "%.0f %% [%.0f, %.0f]", 100 * share.center, 100 * share.low, 100 * share.high);
  return text;
}

static void print_importance(const AnalysisSearch *s) {
  const char *headers[] = {"setting", s->shares ? "explains [95 %]" : "explains", "most with"};
  const CoreSearch *space = &s->trials.space;
  size_t axes[CORE_SEARCH_AXES_MAX];
  char share[64];

  if (s->shares && isnan(s->main[0])) {
    printf("\nNo setting matters more than the differences between seeds.\n");
    return;
  }
  if (!s->shares && s->explained <= 0) {
    printf("\nThese trials do not tell how much each setting matters: a forest predicts trials that it has not seen no "
           "better than their mean (out-of-bag R^2 %.2f).\n", s->explained);
    return;
  }
  if (isnan(s->main[0])) {
    printf("\nHow much each setting matters can be said from %d different trials with a value; there are %zu.\n",
           ANALYSIS_IMPORTANCE_POINTS_MIN, s->valued);
    return;
  }

  analysis_search_sort_axes(s, axes);
  CoreTable *table = core_table_create(headers, 3);

  for (size_t i = 0; i < space->count; i++) {
    const size_t a = axes[i];
    size_t with = 0; /* the setting of the largest interaction */
    for (size_t b = 0; b < space->count; b++)
      if (s->pair[a * space->count + b] > s->pair[a * space->count + with] || with == a) with = b;
    const double together = s->pair[a * space->count + with];

    core_table_cell(table, "%s", space->axes[a].row->name);
    core_table_cell(table, "%s", format_share(s, a, a, share));
    if (with == a || together < 0.005) core_table_cell(table, "-");
    else core_table_cell(table, "%s: %s", space->axes[with].row->name, format_share(s, a, with, share));
  }

  printf("\n");
  core_table_print(table, stdout);
  core_table_destroy(&table);

  if (s->shares && isnan(s->noise))
    printf("Some cells have one run: noise counts as an effect, mostly as interactions.\n");
  else if (s->shares)
    printf("Of the variance of single runs, %.0f %% is noise, which is not counted.\n", 100 * s->noise);
  else
    printf("Of trials that it has not seen, the forest predicts %.0f %% of the variance (out-of-bag R^2).\n",
         100 * s->explained);
}

/* Appends "64 of 64 trials (tpe) for max final, min transitions." */
static void describe_search(const AnalysisSearch *s, CoreText *text) {
  const CoreSearch *space = &s->trials.space;
  core_text_appendf(text, "%zu of %lld trials (", s->trials.count, (long long)space->trials);
  core_search_method_print(space, text);
  core_text_append(text, ") for ");
  if (s->has_front) core_search_goals_print(space, text);
  else
    core_text_appendf(text, "%s %s", space->goals[0].minimize ? "min" : "max",
                      analysis_measure_name(s->scored.measure));
  core_text_append(text, ".");
}

void analysis_search_describe(const AnalysisSearch *s, CoreText *text) {
  size_t bad = 0, unfinished = 0, censored = 0;

  for (size_t t = 0; t < s->trials.count; t++) {
    bad += s->judged[t].bad > 0;
    unfinished += s->judged[t].unfinished > s->judged[t].censored;
    censored += s->judged[t].censored > 0;
  }

  if (s->trials.is_grid)
    core_text_appendf(text, "%zu configurations of %s for max %s.", s->trials.count,
                      s->trials.is_complete ? "a complete grid" : "an incomplete grid",
                      analysis_measure_name(s->scored.measure));
  else
    describe_search(s, text);

  if (bad && s->trials.is_grid)
    core_text_appendf(text, " %zu with runs that failed or diverged, with the score of an untrained policy.", bad);
  else if (bad) core_text_appendf(text, " %zu with runs that failed or diverged: not ranked.", bad);

  if (unfinished) core_text_appendf(text, " %zu with runs that have not ended.", unfinished);
  if (censored) core_text_appendf(text, " %zu with runs stopped by rule, with current values.", censored);
  if (s->trials.elsewhere)
    core_text_appendf(text, " %zu runs of the sweep are not of this space.", s->trials.elsewhere);

  core_text_append(text, " The best of many is chosen by its noise too: run it again with other seeds before you "
                         "report it.");
}

static void print(const AnalysisSearch *s) {
  CoreText text = {0};
  if (s->has_front) analysis_search_print_front(s);
  print_best(s);
  print_importance(s);
  analysis_search_describe(s, &text);
  core_text_append(&text, s->shares ? " Explains: share of the variance over the grid, by exact functional ANOVA."
                                    : " Explains: share of the variance over the space, by functional ANOVA of a "
                                      "random forest.");
  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&text), 0, 0);
  core_text_free(&text);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *trial_json(const AnalysisSearch *s, size_t t) {
  const CoreSearch *space = &s->trials.space;
  const AnalysisTrial *trial = &s->trials.trials[t];
  const AnalysisJudged *judged = &s->judged[t];
  json_t *settings = json_object(), *runs = json_array();
  CoreText text = {0};
  const AnalysisConfig *config = &s->context.selection.runs[trial->runs[0]].config;

  for (size_t a = 0; a < space->count; a++) {
    const CoreConfigRow *row = space->axes[a].row;
    json_object_set_new(settings, row->name,
                        isnan(trial->coordinate[a]) ? json_null() : analysis_config_setting_json(config, row));
  }

  for (size_t i = 0; i < trial->count; i++)
    json_array_append_new(runs, core_json_text(s->context.selection.runs[trial->runs[i]].id));

  core_text_free(&text);
  return json_pack("{s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "trial", (json_int_t)t, "value",
                   number(judged->score.center), "low", number(judged->score.low), "high", number(judged->score.high),
                   "n", (json_int_t)judged->score.n, "bad", (json_int_t)judged->bad, "unfinished",
                   (json_int_t)judged->unfinished, "settings", settings, "runs", runs);
}

/* Adds the intervals of a complete grid. */
static void add_grid_json(const AnalysisSearch *s, json_t *printed) {
  const size_t axes = s->trials.space.count;
  json_t *list = json_array();
  for (size_t a = 0; a < axes; a++)
    for (size_t b = a; b < axes; b++) {
      const AnalysisInterval share = s->shares[a * axes + b];
      json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:o}", "a", s->trials.space.axes[a].row->name, "b",
                                            s->trials.space.axes[b].row->name, "share", number(share.center), "low",
                                            number(share.low), "high", number(share.high)));
    }
  json_object_set_new(printed, "grid", list);
  json_object_set_new(printed, "noise", number(s->noise));
}

static void print_json(const AnalysisSearch *s) {
  const CoreSearch *space = &s->trials.space;
  json_t *trials = json_array(), *importance = json_object(), *pairs = json_array();
  CoreText method = {0};

  for (size_t i = 0; i < s->trials.count; i++) json_array_append_new(trials, trial_json(s, s->order[i]));
  for (size_t a = 0; a < space->count; a++) {
    json_object_set_new(importance, space->axes[a].row->name, number(s->main[a]));
    for (size_t b = a + 1; b < space->count; b++)
      if (s->pair[a * space->count + b] > 0)
        json_array_append_new(pairs, json_pack("{s:s, s:s, s:f}", "a", space->axes[a].row->name, "b",
                                               space->axes[b].row->name, "share", s->pair[a * space->count + b]));
  }

  json_t *printed = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o}", "sweep", s->request.sweep, "search",
                            s->trials.name, "method", core_search_method_print(space, &method), "goal",
                            space->goals[0].minimize ? "min" : "max", "measure",
                            analysis_measure_name(s->scored.measure),
                            "trials_wanted", (json_int_t)space->trials, "ranked", (json_int_t)s->valued, "trials",
                            trials, "importance", importance, "interactions", pairs);

  if (s->shares) add_grid_json(s, printed);
  if (s->has_front) analysis_search_add_front(s, printed);
  core_text_free(&method);
  core_json_print(printed);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Reads the trials of the sweep's search, or of its grid if it has none. */
static int read_trials(AnalysisSearch *s) {
  bool has_search = true;
  if (!s->search) TRY(analysis_trials_find_search(s->context.database, s->request.sweep, &has_search));
  if (!has_search) return analysis_trials_read_grid(&s->context.selection, &s->context.configurations, &s->trials);
  return analysis_trials_read(s->context.database, &s->context.selection, s->request.sweep, s->search, &s->trials);
}

static int answer(void *given, const char **operands, size_t count) {
  AnalysisSearch *s = given;
  const char *path = analysis_database_path(operands, count);
  if (s->best < 1) return core_error(CORE_USAGE, "--best %lld: expected at least 1", (long long)s->best);

  TRY(analysis_trials_only_sweep(path, s->sweep, &s->request.sweep));
  TRY(analysis_context_open(&s->context, &s->request, path));
  TRY(read_trials(s));

  s->has_front = s->trials.space.goal_count > 1 && !s->scored.name;
  if (s->has_front) TRY(analysis_measure_find(s->trials.space.goals[1].measure, &s->second));
  if (!s->scored.name) s->scored.name = s->trials.space.goals[0].measure;
  TRY(analysis_scored_check(&s->scored));
  TRY(analysis_scored_read(&s->scored, &s->context));
  if (s->trials.is_grid) TRY(analysis_scored_refuse_mixed(&s->scored, &s->context, NULL, 0));

  judge(s);
  rank(s);
  if (s->valued == 0)
    return core_error(CORE_FAIL, "%s: none of the %zu trials has a value of %s yet; see sweep status %s",
                      s->trials.name, s->trials.count, s->scored.name, s->request.sweep);

  if (s->has_front) analysis_search_find_front(s);
  explain(s);
  if (s->request.json) print_json(s);
  else print(s);
  s->request.json_done = true;
  fflush(stdout);

  return analysis_search_draw(s);
}

static const CoreManual manual = {
  .usage = "analyze search [results.db] [options]",
  .about = "What the search of a sweep ([search NAME] in its experiment), or its grid, has found: its best trials "
           "with 95 % intervals over their runs, how much of the differences each setting explains, by itself and "
           "with another (functional ANOVA, Hutter et al. 2014, of a random forest; exact, with intervals, over a "
           "complete grid), and two figures: search-parallel (a line a trial through its settings) and search-slices "
           "(a panel a setting). Of a search with two goals also its Pareto front: the trials that no other beats in "
           "one goal without being worse in the other (search-front).\n\n"
           "Trials count from 0, in the order they were proposed. A trial with a run that failed or diverged is not "
           "ranked.",
  .operands = {"DATABASE"}, .operands_max = 1, .hint = "name the sweep with --sweep NAME"};

int analysis_figure_search(int argc, char **argv) {
  AnalysisSearch s = {.request = {.argc = argc, .argv = argv}, .best = BEST_SHOWN};

  const CoreOption table[] = {
    {"sweep", 0, CORE_OPTION_TEXT, &s.request.sweep, "NAME", "its sweep; not needed where there is only one"},
    {"search", 0, CORE_OPTION_TEXT, &s.search, "NAME", "which, where the sweep has several"},
    {"best", 0, CORE_OPTION_INT, &s.best, "N", "number of trials in the table (default: 10)"},
    {"measure", 'm', CORE_OPTION_TEXT, &s.scored.name, "NAME", "another measure than the search's goals"},
    {"budget", 'b', CORE_OPTION_REAL, &s.scored.budget, "N",
     "use only the first N transitions (default: all)"},
    {"where", 'w', CORE_OPTION_LIST, &s.request.where, "KEY=VALUE", "only runs with this setting"},
    {"level-set", 0, CORE_OPTION_TEXT, &s.request.level_set, "NAME", "which evaluation levels"},
    {"output", 'o', CORE_OPTION_TEXT, &s.request.directory, "DIR|FILE",
     "output directory (default: figures/ next to the database), or a file such as plot.png, which names all files"},
    {"name", 0, CORE_OPTION_TEXT, &s.request.name, "NAME", "what the files' names begin with (default: search)"},
    {"style", 0, CORE_OPTION_TEXT, &s.request.style, "paper|slides|dark", "for what the picture is (default: paper)"},
    {"json", 0, CORE_OPTION_FLAG, &s.request.json, NULL, "print JSON"},
    {0}};

  const int code = core_options_run(&manual, table, argc, argv, answer, &s);
  free(s.judged);
  free(s.order);
  free(s.main);
  free(s.shares);
  free(s.pair);
  free(s.second_score);
  free(s.front);

  analysis_trials_free(&s.trials);
  analysis_scored_free(&s.scored);
  analysis_context_close(&s.context);
  return code;
}
