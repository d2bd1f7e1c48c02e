/* Reads and averages the lines of a figure, according to its options (curve_set.h). */
#include "analysis/figures/curve_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/budget.h"
#include "analysis/runs/tasks.h"
#include "analysis/statistics/stratified.h"
#include "core/memory.h"
#include "store/database/query.h"

enum { BOOTSTRAP_SEED = 7 };

/* ---- options ---------------------------------------------------------------------------------------------------- */

static int find_columns(AnalysisCurveSet *set) {
  char *names = core_text_duplicate(set->y_names), *tail = names;
  int code = CORE_OK;
  for (char *name; (name = strsep(&tail, ","));) {
    if (set->column_count == ANALYSIS_CURVE_COLUMNS)
      code = core_error(CORE_USAGE, "--y %s: at most %d columns", set->y_names, ANALYSIS_CURVE_COLUMNS);
    else code = analysis_column_find("--y", name, &set->columns[set->column_count]);
    if (code == CORE_OK) set->column_count++;
    if (code != CORE_OK) break;
  }
  free(names);
  return code;
}

static int find_choice(const char *option, const char *given, const char *const *names, size_t count, int *choice) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(given, names[i]) != 0) continue;
    *choice = (int)i;
    return CORE_OK;
  }
  const char *near = core_text_nearest(given, names, count);
  CoreText known = {0};
  for (size_t i = 0; i < count; i++) core_text_appendf(&known, "%s%s", i ? ", " : "", names[i]);
  int code = near ? core_error(CORE_USAGE, "%s %s: did you mean %s?", option, given, near)
                  : core_error(CORE_USAGE, "%s %s: expected one of %s", option, given, core_text_string(&known));
  core_text_free(&known);
  return code;
}

/* Parses "untrained", "best" or NAME=VALUE. */
static int find_reference(AnalysisCurveSet *set, char *text) {
  static const char *const names[] = {"untrained", "best"}, *const labels[] = {"before training", "best of all runs"};
  int kind = ANALYSIS_REFERENCE_NUMBER;
  if (set->reference_count == ANALYSIS_CURVE_REFERENCES)
    return core_error(CORE_USAGE, "--reference %s: at most %d", set->references, ANALYSIS_CURVE_REFERENCES);
  AnalysisReference *reference = &set->reference[set->reference_count++];
  char *number = strchr(text, '=');
  if (number) *number++ = '\0';
  else TRY(find_choice("--reference", text, names, 2, &kind));
  reference->kind = kind;
  snprintf(reference->label, sizeof reference->label, "%.40s", number ? text : labels[kind]);
  if (!number || (core_text_to_real(number, &reference->value) && isfinite(reference->value))) return CORE_OK;
  return core_error(CORE_USAGE, "--reference %s=%s: expected a number", text, number);
}

static int find_references(AnalysisCurveSet *set) {
  char *copy = core_text_duplicate(set->references), *tail = copy;
  int code = CORE_OK;
  for (char *text; (text = strsep(&tail, ","));) {
    code = find_reference(set, text);
    if (code != CORE_OK) break;
  }
  free(copy);
  return code;
}

static int understand(AnalysisCurveSet *set) {
  static const char *const spreads[] = {"t", "sd", "bootstrap"}, *const aggregates[] = {"mean", "median", "iqm"};
  int aggregate = 0, spread = 0;

  TRY(analysis_abscissa_find(set->x_name, &set->abscissa));
  if (set->aggregate_name) TRY(find_choice("--aggregate", set->aggregate_name, aggregates, 3, &aggregate));
  if (set->interval_name) TRY(find_choice("--interval", set->interval_name, spreads, 3, &spread));

  set->aggregate = aggregate == 2   ? ANALYSIS_AGGREGATE_IQM
                   : aggregate == 1 ? ANALYSIS_AGGREGATE_MEDIAN
                                    : ANALYSIS_AGGREGATE_MEAN;
  if (aggregate != 0 && spread == ANALYSIS_SPREAD_SD)
    return core_error(CORE_USAGE, "--interval sd is of means; --aggregate %s takes t or bootstrap",
                      set->aggregate_name);

  set->spread = (AnalysisSpread)spread;
  if (set->panel_range && !set->panel_keys)
    return core_error(CORE_USAGE, "--panels %s: there are no panels; make some with --panel KEY", set->panel_range);

  return set->references ? find_references(set) : CORE_OK;
}

void analysis_curve_set_title(const AnalysisCurveSet *set, const AnalysisColumn *column, char *title, size_t size) {
  if (strcmp(column->name, "evaluation.episode_return") == 0)
    snprintf(title, size, "%s", set->context.selection.return_name);
  else analysis_column_title(column, title, size);
}

bool analysis_curve_set_is_log(const AnalysisCurveSet *set, size_t column) {
  return set->log_y || analysis_column_is_log(set->columns[column]);
}

void analysis_curve_set_interval(const AnalysisCurveSet *set, CoreText *text) {
  const char *const words[] = {analysis_interval_description, "one standard deviation over runs",
                                      "95 % stratified percentile bootstrap over tasks, 2000 replicates of whole runs, "
                               "from three runs on"};
  core_text_append(text, words[set->spread]);
  for (size_t c = 0; c < set->column_count; c++) {
    if (!analysis_curve_set_is_log(set, c)) continue;
    core_text_append(text, " (of the logarithm, about a geometric mean, on a log axis)");
    return;
  }
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

enum { ALL_PANELS = -1 };

/* Whether a run belongs to a panel. Without --panel, each of several columns has one panel. */
static bool in_panel(const AnalysisCurveSet *set, size_t run, size_t panel) { return set->panel_of[run] == panel; }

/* Counts values of a column of evaluations of the panel's runs. Stops at the first run that has any. */
static int count_evaluations(const AnalysisCurveSet *set, int64_t panel, const char *sql, int64_t *count) {
  const AnalysisSelection *selection = &set->context.selection;
  StoreQuery *query = NULL;
  int code = CORE_OK;
  *count = 0;
  TRY(store_query_open(set->context.database, sql, &query));

  for (size_t r = 0; r < selection->count && *count == 0; r++) {
    if (code != CORE_OK) break;
    bool row = false;
    if (panel != ALL_PANELS && !in_panel(set, r, (size_t)panel)) continue;
    store_query_reset(query);
    store_query_bind_text(query, 1, selection->runs[r].id);
    code = store_query_step(query, &row);
    if (code == CORE_OK && row) *count = store_query_int(query, 0);
  }

  store_query_close(&query);
  return code;
}

/* Replaces a column of evaluations that no run of the panel has: the solve rate by the return, because the environments
 * have no goal; goals by the solve rate, because an episode has at most one; and normalized scores by the solve rate,
 * because there are no constants. */
static int choose_column(AnalysisCurveSet *set, int64_t panel, const AnalysisColumn **column) {
  const bool normalized = (*column)->normalized;
  int64_t goals, rates, returns;

  if (strcmp((*column)->name, "evaluation.goals") == 0) {
    TRY(count_evaluations(set, panel, "SELECT count(goals) FROM evaluation WHERE run_id = ?1", &goals));
    if (goals == 0) TRY(analysis_column_find("--y", "evaluation.solve_rate", column));
  }

  /* The scale and scores that the runs have in common. */
  if (!normalized && strcmp((*column)->name, "evaluation.solve_rate") != 0) return CORE_OK;
  if (normalized) TRY(analysis_scale_common(&set->context.selection, &set->scale));
  if (normalized && set->scale != ANALYSIS_SCALE_NONE) return CORE_OK;

  TRY(count_evaluations(set, panel, "SELECT count(solve_rate) FROM evaluation WHERE run_id = ?1", &rates));
  TRY(count_evaluations(set, panel, "SELECT count(episode_return) FROM evaluation WHERE run_id = ?1", &returns));
  if (normalized && rates == 0 && returns > 0) return analysis_scale_missing(&set->context.selection);
  if (normalized)
    return analysis_column_find("--y", (*column)->evaluation ? "evaluation.solve_rate" : "iteration.solve_rate",
                                column);
  return rates > 0 || returns == 0 ? CORE_OK : analysis_column_find("--y", "evaluation.episode_return", column);
}

/* Reads the curve of run r. has_infinite[run]: whether a column so far has infinite values. */
static int read_curve(AnalysisCurveSet *set, size_t r, const AnalysisColumn *column, StoreQuery *query,
                      bool *has_infinite, AnalysisCurve *curve) {
  const AnalysisSelection *selection = &set->context.selection;
  const size_t before = set->infinite;
  const int code = analysis_column_read(column, query, &selection->runs[r], set->context.level_set, set->abscissa,
                                        curve, &set->infinite);
  if (r >= selection->count - selection->repeats) set->infinite = before; /* not counted again for repeated runs */
  set->infinite_runs += set->infinite > before && !has_infinite[r];
  has_infinite[r] |= set->infinite > before;
  return code;
}

/* Reads a column. */
static int read_column(AnalysisCurveSet *set, size_t c, bool *has_infinite) {
  const AnalysisSelection *selection = &set->context.selection;
  StoreQuery *query = NULL;
  size_t without = 0;

  TRY(choose_column(set, ALL_PANELS, &set->columns[c]));
  int code = store_query_open(set->context.database, set->columns[c]->sql, &query);
  set->curves[c] = core_memory_zero_allocate(selection->count, sizeof **set->curves);
  for (size_t r = 0; r < selection->count; r++) {
    if (code != CORE_OK) break;
    code = read_curve(set, r, set->columns[c], query, has_infinite, &set->curves[c][r]);
    without += set->curves[c][r].n == 0 && r < selection->count - selection->repeats;
  }

  store_query_close(&query);
  if (c == 0) set->without = without;
  if (code == CORE_OK && without == selection->count - selection->repeats) {
    return core_error(CORE_FAIL, "%s: no run has a value of %s yet", set->context.path, set->columns[c]->name);
  }
  return code;
}

/* ---- averaging -------------------------------------------------------------------------------------------------- */

/* Averages with one standard deviation, around the same mean as for other intervals, in which tasks have equal
 * weights. */
static void average_sd(const AnalysisCurveSet *set, AnalysisLineData *line, size_t tasks, bool logarithmic) {
  double *values = core_memory_allocate((line->curve_count + 1) * sizeof *values);
  size_t *task = core_memory_allocate((line->curve_count + 1) * sizeof *task);

  for (size_t i = 0; i < line->n; i++) {
    size_t present = 0;
    for (size_t c = 0; c < line->curve_count; c++) {
      const AnalysisCurve *curve = &line->curves[c];
      double y = analysis_interpolate(curve->x, curve->y, curve->n, line->grid[i]);
      if (logarithmic) y = y > 0 ? log(y) : NAN;
      task[present] = line->task[c];
      if (!isnan(y)) values[present++] = y;
    }

    const double sd = analysis_sd(values, present);
    const double mean =
      analysis_tasks_interval(values, task, present, tasks, ANALYSIS_AGGREGATE_MEAN, ANALYSIS_RANGE_FREE).center;
    line->mean[i] = logarithmic ? exp(mean) : mean;
    line->low[i] = logarithmic ? exp(mean - sd) : mean - sd;
    line->high[i] = logarithmic ? exp(mean + sd) : mean + sd;
    line->runs[i] = present;
  }

  free(values);
  free(task);
}

/* Counts the runs that reach a point, minus the first of each task, like analysis_interval_has_runs. */
static size_t reached_runs(const double *score, const size_t *first, size_t tasks) {
  size_t runs = 1;
  for (size_t t = 0; t < tasks; t++) {
    size_t here = 0;
    for (size_t i = first[t]; i < first[t + 1]; i++) here += !isnan(score[i]);
    runs += here > 0 ? here - 1 : 0;
  }
  return runs;
}

/* Averages with bootstrap intervals: whole runs are resampled, stratified by task. score[point][run sorted by task]. */
static void average_bootstrap(const AnalysisCurveSet *set, AnalysisLineData *line, size_t tasks, bool logarithmic) {
  size_t points = line->n, curves = 0, kept = 0;
  double *score = core_memory_allocate((points * line->curve_count + 1) * sizeof *score);
  size_t *first = core_memory_allocate((tasks + 1) * sizeof *first);
  AnalysisInterval *interval = core_memory_allocate(points * sizeof *interval);

  /* The curves of a task are neighbors; tasks without curves are left out. */
  for (size_t t = 0; t < tasks; t++) {
    first[kept] = curves;
    for (size_t c = 0; c < line->curve_count; c++) {
      const AnalysisCurve *curve = &line->curves[c];
      if (line->task[c] != t || curve->n == 0) continue;
      for (size_t i = 0; i < points; i++) {
        double y = analysis_interpolate(curve->x, curve->y, curve->n, line->grid[i]);
        score[i * line->run_count + curves] = !logarithmic ? y : y > 0 ? log(y) : NAN;
      }
      curves++;
    }
    if (curves > first[kept]) kept++;
  }
  first[kept] = curves;
  analysis_stratified_curve(score, points, first, kept, set->aggregate, ANALYSIS_REPLICATES_CURVE, 0.95, BOOTSTRAP_SEED,
                            interval);

  for (size_t i = 0; i < points; i++) {
    line->mean[i] = logarithmic ? exp(interval[i].center) : interval[i].center;
    line->low[i] = logarithmic ? exp(interval[i].low) : interval[i].low;
    line->high[i] = logarithmic ? exp(interval[i].high) : interval[i].high;
    line->runs[i] = interval[i].n;
    if (reached_runs(score + i * line->run_count, first, kept) < ANALYSIS_INTERVAL_RUNS_MIN)
      line->low[i] = line->high[i] = NAN;
  }

  free(score);
  free(first);
  free(interval);
}

static void average(const AnalysisCurveSet *set, AnalysisLineData *line, size_t tasks) {
  size_t n = line->n;
  bool logarithmic = analysis_curve_set_is_log(set, line->column);
  const AnalysisCurveOptions manner = {
    set->aggregate, analysis_column_range(analysis_curve_set_shown(set, line->panel, line->column), logarithmic),
    line->task, tasks};

  line->mean = core_memory_allocate((3 * n + 1) * sizeof *line->mean);
  line->low = line->mean + n;
  line->high = line->low + n;
  line->runs = core_memory_zero_allocate(n + 1, sizeof *line->runs);

  if (set->spread == ANALYSIS_SPREAD_BOOTSTRAP) average_bootstrap(set, line, tasks, logarithmic);
  else if (set->spread == ANALYSIS_SPREAD_SD) average_sd(set, line, tasks, logarithmic);
  else
    analysis_curve_average(line->curves, line->curve_count, &manner, line->grid, n, line->mean, line->low,
                           line->high, line->runs);

  if (set->spread != ANALYSIS_SPREAD_SD || logarithmic) return;
  for (size_t i = 0; i < n; i++) { /* ignores bounds */
    line->low[i] = isnan(line->low[i]) ? NAN : fmax(line->low[i], manner.range.low);
    line->high[i] = isnan(line->high[i]) ? NAN : fmin(line->high[i], manner.range.high);
  }
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

typedef struct Choice { size_t panel, group, choice, column; } Choice;

static bool belongs(const AnalysisCurveSet *set, size_t run, Choice choice) {
  if (set->groups.group_of[run] != choice.group) return false;
  if (!in_panel(set, run, choice.panel)) return false;
  return !set->choices.key_count || set->choices.group_of[run] == choice.choice;
}

/* Averages the last values of the runs; NaN if none has one. */
static double last_mean(const AnalysisCurveSet *set, Choice choice) {
  double sum = 0;
  size_t count = 0;
  for (size_t r = 0; r < set->context.selection.count; r++) {
    const AnalysisCurve *curve = &set->curves[choice.column][r];
    if (!belongs(set, r, choice) || curve->n == 0) continue;
    sum += curve->y[curve->n - 1];
    count++;
  }
  return count ? sum / (double)count : NAN;
}

/* Selects the candidate of a line with the highest last value. Returns false without any run. */
static bool choose(AnalysisCurveSet *set, Choice *choice) {
  size_t candidates = set->choices.key_count ? set->choices.count : 1, present = 0;
  double best = NAN;
  bool found = false;
  Choice here = *choice;

  for (here.choice = 0; here.choice < candidates; here.choice++) {
    bool any = false;
    for (size_t r = 0; r < set->context.selection.count && !any; r++) any = belongs(set, r, here);
    if (!any) continue;

    double last = last_mean(set, here);
    present++;
    if (!found || last > best || isnan(best)) {
      *choice = here;
      best = last;
    }
    found = true;
  }

  if (present > set->choice_count) set->choice_count = present;
  return found;
}

static void add_line(AnalysisCurveSet *set, Choice choice, const size_t *task_of, size_t tasks) {
  size_t count = set->context.selection.count;

  set->lines = core_memory_resize(set->lines, (set->line_count + 1) * sizeof *set->lines);
  AnalysisLineData *line = &set->lines[set->line_count++];
  *line = (AnalysisLineData){.panel = choice.panel, .group = choice.group, .column = choice.column};

  line->curves = core_memory_allocate((count + 1) * sizeof *line->curves);
  line->task = core_memory_allocate((count + 1) * sizeof *line->task);
  for (size_t r = 0; r < count; r++) {
    if (!belongs(set, r, choice)) continue;
    line->task[line->curve_count] = task_of[r];
    line->run_count += set->curves[choice.column][r].n > 0;
    line->curves[line->curve_count++] = set->curves[choice.column][r];
  }

  CoreText label = {0};
  core_text_append(&label, set->groups.groups[choice.group].label);
  if (set->choices.key_count) core_text_appendf(&label, " (best: %s)", set->choices.groups[choice.choice].label);
  line->label = label.data;

  line->grid = set->grid[choice.column];
  line->n = set->grid_count[choice.column];
  if (set->own_axes || analysis_curve_set_shown(set, choice.panel, choice.column) != set->columns[choice.column])
    line->grid = line->own_grid =
      analysis_curve_grid(line->curves, line->curve_count, ANALYSIS_CURVE_GRID, set->log_x, &line->n);

  average(set, line, tasks);
}

static void make_lines(AnalysisCurveSet *set) {
  size_t *task_of = core_memory_allocate((set->context.selection.count + 1) * sizeof *task_of);
  size_t tasks = analysis_tasks_find(&set->context.selection, task_of);
  for (size_t i = 0; i < set->column_count * set->panel_count * set->groups.count; i++) {
    const size_t g = i % set->groups.count, p = i / set->groups.count;
    Choice choice = {.panel = p % set->panel_count, .group = g, .column = p / set->panel_count};
    if (choose(set, &choice)) add_line(set, choice, task_of, tasks);
  }
  free(task_of);
}

/* Continues the evaluations of runs that diverged or failed to the end of their budgets, with the value of the
 * untrained policy (analysis_measures_read): the first one, or without an evaluation before training the range's lower
 * bound. */
static void extend_broken(AnalysisCurveSet *set, size_t c) {
  const double low = analysis_column_range(set->columns[c], false).low;
  for (size_t r = 0; r < set->context.selection.count; r++) {
    const AnalysisRun *run = &set->context.selection.runs[r];
    AnalysisCurve *curve = &set->curves[c][r];
    if (!store_status_is_broken(run->status) || curve->n == 0) continue;
    const double last = curve->x[curve->n - 1], end = analysis_run_total(run);
    const double worst = curve->x[0] > 0 && isfinite(low) ? low : curve->y[0];
    if (!(end > last)) continue;
    analysis_curve_add(curve, last + 1e-6 * (end - last), worst);
    analysis_curve_add(curve, end, worst);
  }
}

static int read_columns(AnalysisCurveSet *set, bool *has_infinite) {
  for (size_t c = 0; c < set->column_count; c++) {
    TRY(read_column(set, c, has_infinite));
    if (set->is_worst_ranked && set->columns[c]->evaluation) extend_broken(set, c);
    set->grid[c] = analysis_curve_grid(set->curves[c], set->context.selection.count, ANALYSIS_CURVE_GRID, set->log_x,
                                       &set->grid_count[c]);
  }
  return CORE_OK;
}

/* Reads what the runs of a panel have in place of a column. */
static int read_shown(AnalysisCurveSet *set, size_t c, size_t panel, const AnalysisColumn *shown,
                      bool *has_infinite) {
  const AnalysisSelection *selection = &set->context.selection;
  StoreQuery *query = NULL;
  int code = store_query_open(set->context.database, shown->sql, &query);
  for (size_t r = 0; r < selection->count; r++) {
    if (code != CORE_OK) break;
    AnalysisCurve *curve = &set->curves[c][r];
    if (!in_panel(set, r, panel)) continue;
    analysis_curve_free(curve);
    code = read_curve(set, r, shown, query, has_infinite, curve);
    if (c == 0 && curve->n > 0 && r < selection->count - selection->repeats) set->without--;
  }
  store_query_close(&query);
  return code;
}

static bool panel_has_values(const AnalysisCurveSet *set, size_t c, size_t panel) {
  for (size_t r = 0; r < set->context.selection.count; r++)
    if (in_panel(set, r, panel) && set->curves[c][r].n > 0) return true;
  return false;
}

static bool has_column(const AnalysisCurveSet *set, const AnalysisColumn *column) {
  for (size_t c = 0; c < set->column_count; c++)
    if (set->columns[c] == column) return true;
  return false;
}

/* Gives each panel the column that its runs have, such as a task without a goal the return, unless that has a panel of
 * its own. */
static int choose_shown(AnalysisCurveSet *set, bool *has_infinite) {
  set->shown = core_memory_allocate((set->column_count * set->panel_count + 1) * sizeof *set->shown);
  for (size_t i = 0; i < set->column_count * set->panel_count; i++) {
    const size_t c = i / set->panel_count, panel = i % set->panel_count;
    set->shown[i] = set->columns[c];
    if (set->columns[c]->normalized || panel_has_values(set, c, panel)) continue;
    const AnalysisColumn *shown = set->columns[c];
    TRY(choose_column(set, (int64_t)panel, &shown));
    if (has_column(set, shown)) continue;
    set->shown[i] = shown;
    set->is_mixed = true;
    TRY(read_shown(set, c, panel, shown, has_infinite));
  }
  return CORE_OK;
}

const AnalysisColumn *analysis_curve_set_shown(const AnalysisCurveSet *set, size_t panel, size_t column) {
  return set->shown[column * set->panel_count + panel];
}

int analysis_curve_set_read(AnalysisCurveSet *set, const char *path) {
  TRY(understand(set));
  TRY(analysis_context_open(&set->context, &set->request, path));
  TRY(find_columns(set)); /* runs may have their own metrics */
  for (size_t c = 0; c < set->column_count; c++)
    if (set->columns[c]->evaluation) TRY(analysis_context_need_evaluations(&set->context));
  if (set->panel_range) TRY(analysis_curve_set_select_panels(set));
  bool *has_infinite = core_memory_zero_allocate(set->context.selection.count + 1, sizeof *has_infinite);
  int code = read_columns(set, has_infinite);
  if (code == CORE_OK) code = analysis_curve_set_group(set);
  if (code == CORE_OK) code = choose_shown(set, has_infinite);
  free(has_infinite);
  if (code == CORE_OK) make_lines(set);
  return code;
}

double analysis_curve_set_reference(const AnalysisCurveSet *set, const AnalysisReference *reference, size_t panel,
                                    size_t column) {
  double sum = 0, best = NAN;
  size_t count = 0;
  if (reference->kind == ANALYSIS_REFERENCE_NUMBER) return reference->value;
  for (size_t r = 0; r < set->context.selection.count; r++) {
    const AnalysisCurve *curve = &set->curves[column][r];
    if (curve->n == 0 || !in_panel(set, r, panel)) continue;
    for (size_t i = 0; i < curve->n; i++) best = fmax(best, curve->y[i]);
    if (curve->x[0] > 0) continue; /* not evaluated before training */
    sum += curve->y[0];
    count++;
  }
  if (reference->kind == ANALYSIS_REFERENCE_BEST) return best;
  return count ? sum / (double)count : NAN;
}

void analysis_curve_set_free(AnalysisCurveSet *set) {
  for (size_t c = 0; c < set->column_count; c++) {
    for (size_t r = 0; set->curves[c] && r < set->context.selection.count; r++) analysis_curve_free(&set->curves[c][r]);
    free(set->curves[c]);
    free(set->grid[c]);
  }

  for (size_t i = 0; i < set->line_count; i++) {
    free(set->lines[i].label);
    free(set->lines[i].curves);
    free(set->lines[i].own_grid);
    free(set->lines[i].task);
    free(set->lines[i].mean); /* low and high are in the same block */
    free(set->lines[i].runs);
  }

  free(set->lines);
  free(set->shown);
  for (size_t p = 0; set->panel_name && p < set->panel_count; p++) free(set->panel_name[p]);
  free(set->panel_name);
  free(set->panel_of);
  free(set->facet);

  analysis_grouping_free(&set->groups);
  analysis_grouping_free(&set->panels);
  analysis_grouping_free(&set->choices);
  analysis_grouping_free(&set->targets);
  free(set->switches.runs);
  analysis_context_close(&set->context);
}
