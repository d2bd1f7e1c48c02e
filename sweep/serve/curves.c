/* Answers about curves: means with intervals over the runs of each group, and single runs (routes.h). The statistics
 * are those of `analyze curves`; a page gets some hundred points of each curve, however long its runs are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plot/page.h"
#include "analysis/runs/columns.h"
#include "analysis/statistics/statistics.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "sweep/serve/groups.h"
#include "sweep/serve/routes.h"
#include "sweep/serve/series.h"

enum {
  RUN_IDS_MAX = 24,        /* runs named in a request */
  POINTS_MAX = 500,
  POINTS_DEFAULT = 200,
  GROUPS_MAX = 40,         /* groups of an answer */
  RUNS_READ_MAX = 400,     /* runs behind the means of an answer: a sample of larger sweeps */
  RUN_LINES_MAX = 200,     /* runs drawn one by one */
  RUN_POINTS_MAX = 120
};

typedef struct CurvesRequest {
  ServeSeries series;
  const char *column;      /* as requested */
  const char *run_ids;     /* comma-separated; NULL: none */
  bool is_log_x, is_log_y;
  bool has_runs;           /* wants each run's curve, too */
  bool is_part;            /* only from `low` to `high` of the axis x */
  double low, high;
  int64_t points;
} CurvesRequest;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Six digits: more cannot be seen. */
static json_t *number_json(double value) {
  char text[32];
  if (!isfinite(value)) return json_null();
  snprintf(text, sizeof text, "%.6g", value);
  return json_real(strtod(text, NULL));
}

static json_t *numbers_json(const double *values, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) json_array_append_new(list, number_json(values[i]));
  return list;
}

/* Thins a run's curve to `limit` points, evenly by their number. Keeps the last one. */
static json_t *run_json(const char *id, const AnalysisCurve *curve, size_t limit) {
  json_t *x = json_array(), *y = json_array();
  const size_t points = curve->n < limit ? curve->n : limit;
  for (size_t i = 0; i < points; i++) {
    const size_t from = points == curve->n ? i : (i + 1) * curve->n / points - 1;
    json_array_append_new(x, number_json(curve->x[from]));
    json_array_append_new(y, number_json(curve->y[from]));
  }
  return json_pack("{s:s, s:o, s:o}", "run", id, "x", x, "y", y);
}

/* Cuts a curve to the wanted part of the axis x, with values at both ends of the part where the curve has them. Caller
 * frees. */
static AnalysisCurve cut_curve(const CurvesRequest *request, const AnalysisCurve *curve) {
  AnalysisCurve part = {0};
  const double low = request->low, high = request->high;
  analysis_curve_add(&part, low, analysis_interpolate(curve->x, curve->y, curve->n, low));
  for (size_t i = 0; i < curve->n; i++)
    if (curve->x[i] > low && curve->x[i] < high) analysis_curve_add(&part, curve->x[i], curve->y[i]);
  analysis_curve_add(&part, high, analysis_interpolate(curve->x, curve->y, curve->n, high));
  return part;
}

/* ---- single runs ------------------------------------------------------------------------------------------------- */

/* Calls `add` for each id of the list. CORE_USAGE: not an id, or too many. */
static int visit_ids(const char *ids, int (*add)(void *target, const char *id), void *target) {
  char list[RUN_IDS_MAX * (CORE_RUN_ID + 1)], *save = NULL;
  if (core_text_copy(list, sizeof list, ids, "run") != CORE_OK)
    return core_error(CORE_USAGE, "run: at most %d runs at a time", RUN_IDS_MAX);
  for (char *id = strtok_r(list, ",", &save); id; id = strtok_r(NULL, ",", &save)) {
    if (!store_is_run_id(id)) return core_error(CORE_USAGE, "run=ID,ID: expected run ids of 16 hex digits");
    TRY(add(target, id));
  }
  return CORE_OK;
}

typedef struct RunList { const CurvesRequest *request; json_t *list; bool has_values; } RunList;

static int add_run(void *target, const char *id) {
  RunList *runs = target;
  static const CoreConfig unknown; /* no task has its name, so no score is normalized */
  AnalysisRun run = {.config.shared = &unknown};
  AnalysisCurve curve = {0};
  snprintf(run.id, sizeof run.id, "%s", id);
  const int code = serve_series_read(&runs->request->series, &run, &curve);
  runs->has_values |= curve.n > 0;
  json_array_append_new(runs->list, run_json(id, &curve, (size_t)runs->request->points));
  analysis_curve_free(&curve);
  return code;
}

/* Scores are returns where no run has a solve rate. Returns whether the column was changed, to read again. */
static bool take_returns(ServeSeries *series, bool has_values) {
  return !has_values && series->is_score && strcmp(series->column->name, "evaluation.solve_rate") == 0 &&
         analysis_column_find("column", "evaluation.episode_return", &series->column) == CORE_OK;
}

static int answer_runs(CurvesRequest *request, json_t **value) {
  RunList runs = {request, json_array(), false};
  int code = CORE_OK;
  bool is_read = !request->series.database; /* before the first import there is nothing to read */
  while (!is_read) {
    if (code != CORE_OK) break;
    json_array_clear(runs.list);
    code = serve_series_open(&request->series);
    if (code == CORE_OK) code = visit_ids(request->run_ids, add_run, &runs);
    is_read = !take_returns(&request->series, runs.has_values);
  }
  *value = json_pack("{s:s, s:s, s:s, s:o}", "column", request->column, "unit", request->series.column->unit, "x",
                     analysis_abscissa_names[request->series.x], "curve", runs.list);
  return code;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

typedef struct Panel {
  const ServeGroups *groups;
  AnalysisCurve *curves;   /* [run of the selection]; empty where it is not read */
  size_t without;          /* runs that were read and have no value */
  size_t read;
  double *grid;            /* [n] */
  size_t n;
} Panel;

/* Ids are hashes: the smallest are a sample without regard to the order of a grid, the same in every answer. */
static int compare_ids(const void *a, const void *b) {
  const AnalysisRun *const *x = a, *const *y = b;
  return strcmp((*x)->id, (*y)->id);
}

static int read_panel(const ServeSeries *series, Panel *panel) {
  const AnalysisSelection *selection = &panel->groups->selection;
  const AnalysisRun **runs = core_memory_allocate((selection->count + 1) * sizeof *runs);
  int code = CORE_OK;
  for (size_t r = 0; r < selection->count; r++) runs[r] = &selection->runs[r];
  qsort(runs, selection->count, sizeof *runs, compare_ids);
  panel->read = selection->count < RUNS_READ_MAX ? selection->count : RUNS_READ_MAX;
  panel->without = 0;
  for (size_t i = 0; i < panel->read; i++) {
    if (code != CORE_OK) break;
    AnalysisCurve *curve = &panel->curves[runs[i] - selection->runs];
    code = serve_series_read(series, runs[i], curve);
    panel->without += curve->n == 0;
  }
  free(runs);
  return code;
}

/* Averages the curves of a group on the panel's grid. */
static json_t *group_curve_json(const Panel *panel, size_t group, AnalysisRange range) {
  const size_t count = panel->groups->selection.count, n = panel->n;
  AnalysisCurve *curves = core_memory_allocate((count + 1) * sizeof *curves);
  size_t *task = core_memory_allocate((count + 1) * sizeof *task), members = 0;
  double *mean = core_memory_allocate((3 * n + 1) * sizeof *mean), *low = mean + n, *high = low + n;
  size_t *runs = core_memory_zero_allocate(n + 1, sizeof *runs);
  json_t *numbers = json_array();

  for (size_t r = 0; r < count; r++) {
    if (panel->groups->grouping.group_of[r] != group || panel->curves[r].n == 0) continue;
    task[members] = panel->groups->task[r];
    curves[members++] = panel->curves[r];
  }

  const AnalysisCurveOptions manner = {ANALYSIS_AGGREGATE_MEAN, range, task, panel->groups->tasks};
  analysis_curve_average(curves, members, &manner, panel->grid, n, mean, low, high, runs);
  for (size_t i = 0; i < n; i++) json_array_append_new(numbers, json_integer((json_int_t)runs[i]));
  json_t *value = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "group", (json_int_t)group, "runs", (json_int_t)members,
                            "mean", numbers_json(mean, n), "low", numbers_json(low, n), "high",
                            numbers_json(high, n), "n", numbers);

  free(curves);
  free(task);
  free(mean);
  free(runs);
  return value;
}

static json_t *run_lines_json(const CurvesRequest *request, const Panel *panel) {
  const AnalysisSelection *selection = &panel->groups->selection;
  json_t *list = json_array();
  for (size_t r = 0; r < selection->count && json_array_size(list) < RUN_LINES_MAX; r++) {
    const AnalysisCurve *curve = &panel->curves[r];
    const bool is_named = request->run_ids && strstr(request->run_ids, selection->runs[r].id);
    if (curve->n == 0 || !(request->has_runs || is_named)) continue;
    AnalysisCurve part = request->is_part ? cut_curve(request, curve) : (AnalysisCurve){0};
    json_t *line = run_json(selection->runs[r].id, request->is_part ? &part : curve, RUN_POINTS_MAX);
    analysis_curve_free(&part);
    json_object_set_new(line, "group", json_integer((json_int_t)panel->groups->grouping.group_of[r]));
    json_object_set_new(line, "settings", serve_groups_settings_json(panel->groups, &selection->runs[r].config));
    json_array_append_new(list, line);
  }
  return list;
}

/* Spreads the grid over the wanted part of the axis x, whose ends are points of it. */
static void make_grid(const CurvesRequest *request, Panel *panel) {
  const size_t count = panel->groups->selection.count, points = (size_t)request->points;
  if (!request->is_part) {
    panel->grid = analysis_curve_grid(panel->curves, count, points, request->is_log_x, &panel->n);
    return;
  }

  AnalysisCurve *parts = core_memory_zero_allocate(count + 1, sizeof *parts);
  for (size_t r = 0; r < count; r++) parts[r] = cut_curve(request, &panel->curves[r]);
  analysis_curve_add(&parts[count], request->low, 0);
  analysis_curve_add(&parts[count], request->high, 0);
  panel->grid = analysis_curve_grid(parts, count + 1, points, request->is_log_x, &panel->n);
  for (size_t r = 0; r <= count; r++) analysis_curve_free(&parts[r]);
  free(parts);
}

static int fill_panel(CurvesRequest *request, Panel *panel) {
  int code = CORE_OK;
  bool is_read = false;
  while (!is_read) {
    if (code != CORE_OK) break;
    code = serve_series_open(&request->series);
    if (code == CORE_OK) code = read_panel(&request->series, panel);
    is_read = !take_returns(&request->series, panel->without < panel->read);
  }
  make_grid(request, panel);
  return code;
}

static json_t *panel_json(const CurvesRequest *request, const Panel *panel) {
  const AnalysisColumn *column = request->series.column;
  const bool is_log = request->is_log_y || analysis_column_is_log(column);
  const size_t groups = panel->groups->grouping.count;
  json_t *curves = json_array(), *list = json_array();
  char title[192];
  if (strcmp(column->name, "evaluation.episode_return") == 0)
    snprintf(title, sizeof title, "%s", panel->groups->selection.return_name);
  else analysis_column_title(column, title, sizeof title);

  AnalysisPageColors colors = analysis_page_colors_create(&panel->groups->grouping);
  for (size_t g = 0; g < groups && g < GROUPS_MAX; g++) {
    json_array_append_new(curves, group_curve_json(panel, g, analysis_column_range(column, is_log)));
    json_array_append_new(list, serve_groups_json(panel->groups, &colors, g));
  }
  analysis_page_colors_free(&colors);

  json_t *value =
    json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "column", request->column,
              "title", title, "unit", column->unit, "log", is_log, "x", analysis_abscissa_names[request->series.x],
              "x_title", analysis_abscissa_titles[request->series.x], "runs",
              (json_int_t)panel->groups->selection.count, "read", (json_int_t)panel->read, "without",
              (json_int_t)panel->without, "groups", (json_int_t)groups, "group", list, "grid",
              numbers_json(panel->grid, panel->n), "curve", curves, "line", run_lines_json(request, panel));
  serve_groups_add_keys(panel->groups, value);
  return value;
}

static int answer_groups(const ServeContext *context, CurvesRequest *request, json_t **value) {
  const ServeSweep *sweep;
  ServeGroups *groups;
  const char *keys = serve_request_argument(context->request, "group");
  TRY(serve_argument_sweep(context, &sweep));
  TRY(serve_groups_acquire(&context->serve->groups, request->series.database, sweep, keys, &groups));

  Panel panel = {.groups = groups};
  const size_t count = groups->selection.count;
  panel.curves = core_memory_zero_allocate(count + 1, sizeof *panel.curves);
  const int code = count > 0 ? fill_panel(request, &panel) : CORE_OK;
  if (code == CORE_OK) *value = panel_json(request, &panel);

  for (size_t r = 0; r < count; r++) analysis_curve_free(&panel.curves[r]);
  free(panel.curves);
  free(panel.grid);
  serve_groups_release(&groups);
  return code;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Reads the wanted part of the axis x: both ends or none. */
static int read_part(const ServeContext *context, CurvesRequest *request) {
  const char *low = serve_request_argument(context->request, "from");
  const char *high = serve_request_argument(context->request, "to");
  request->is_part = low && *low && high && *high;
  if (!request->is_part) return CORE_OK;
  const bool are_numbers = core_text_to_real(low, &request->low) && core_text_to_real(high, &request->high);
  if (are_numbers && request->low < request->high && isfinite(request->low) && isfinite(request->high)) return CORE_OK;
  return core_error(CORE_USAGE, "from, to: expected two numbers, the smaller one first");
}

static int read_request(const ServeContext *context, CurvesRequest *request) {
  const char *x = serve_request_argument(context->request, "x"), *log = serve_request_argument(context->request, "log");
  int64_t has_runs;
  request->run_ids = serve_request_argument(context->request, "run");
  request->column = serve_request_argument(context->request, "column");
  if (!request->column || !*request->column) request->column = serve_series_score;

  if (log && *log && strcmp(log, "x") != 0 && strcmp(log, "y") != 0 && strcmp(log, "xy") != 0)
    return core_error(CORE_USAGE, "log: expected x, y or xy");
  request->is_log_x = log && strchr(log, 'x');
  request->is_log_y = log && strchr(log, 'y');
  request->series.is_log_x = request->is_log_x;

  if (x && *x && analysis_abscissa_find(x, &request->series.x) != CORE_OK)
    return core_error(CORE_USAGE, "x: expected transitions, iteration or wall_seconds");
  TRY(read_part(context, request));
  TRY(serve_argument_int(context, "runs", 0, 1, 0, &has_runs));
  request->has_runs = has_runs;
  return serve_argument_int(context, "points", 2, POINTS_MAX, POINTS_DEFAULT, &request->points);
}

/* Makes a program's metrics known from the run that has most of them, before the column is looked up. */
static int find_column(const ServeContext *context, CurvesRequest *request) {
  const char *name = serve_request_argument(context->request, "sweep");
  const ServeSweep *sweep = NULL;
  char run[CORE_RUN_ID] = "";
  if (name && *name) TRY(serve_argument_sweep(context, &sweep));
  if (sweep) serve_sweep_find_furthest(sweep, run);
  else if (request->run_ids) snprintf(run, sizeof run, "%.16s", request->run_ids);
  if (request->series.database && strncmp(request->column, "metric.", strlen("metric.")) == 0)
    TRY(analysis_programs_know_run(request->series.database, run));
  if (serve_series_find(request->column, &request->series) == CORE_OK) return CORE_OK;
  return core_error(CORE_USAGE, "column: there is no such column; /api/columns lists them");
}

int serve_api_curves(const ServeContext *context, json_t **value) {
  const char *sweep = serve_request_argument(context->request, "sweep");
  ServeReader *reader = context->reader;
  CurvesRequest request = {.series.cache = &context->serve->series};
  TRY(read_request(context, &request));
  if (serve_reader_open(reader) == CORE_OK) request.series.database = reader->database;
  core_error_clear(); /* nothing to draw before the first import */
  TRY(find_column(context, &request));
  if (!(sweep && *sweep) && !(request.run_ids && *request.run_ids))
    return core_error(CORE_USAGE, "sweep=NAME or run=ID,ID is missing");
  const int code = sweep && *sweep ? answer_groups(context, &request, value) : answer_runs(&request, value);
  serve_series_close(&request.series);
  return code;
}
