/* Answers about curves: means with intervals over the runs of each group, and single runs (routes.h). The statistics
 * are those of `analyze curves`; a page gets some hundred points of each curve, however long its runs are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plot/page.h"
#include "analysis/runs/programs.h"
#include "core/memory.h"
#include "store/database/tables.h"
#include "store/workspace/paths.h"
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
  int64_t points;
} CurvesRequest;

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static void add_column(json_t *list, const AnalysisColumn *column, const char *name, const char *help,
                       bool has_values) {
  char title[128];
  analysis_column_title(column, title, sizeof title);
  json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "name", name, "title", title, "unit",
                                        column->unit, "description", help, "log", analysis_column_is_log(column),
                                        "has_values", has_values));
}

static const char *find_help(const char *column) {
  size_t count;
  const StoreTable *tables = store_tables(&count);
  for (size_t i = 0; i < count; i++) {
    if (strcmp(tables[i].name, "iteration") != 0) continue;
    for (const StoreTableColumn *c = tables[i].columns; c->name; c++)
      if (strcmp(c->name, column) == 0) return c->comment;
  }
  return "";
}

/* Finds the run of the sweep that got furthest: the one that has values of most columns. "" without a sweep. */
static void find_furthest(const ServeSweep *sweep, char id[CORE_RUN_ID]) {
  int64_t furthest = -1;
  id[0] = '\0';
  if (!sweep) return;

  const SweepProgress *progress = &sweep->view->progress;
  for (size_t i = 0; i < progress->runs; i++) {
    if (progress->run[i].state.iteration <= furthest) continue;
    furthest = progress->run[i].state.iteration;
    snprintf(id, CORE_RUN_ID, "%s", progress->run[i].id);
  }
}

/* Whether each column of iterations has a value in the run's last row. */
static int add_iteration_columns(StoreDatabase *database, const char *run, json_t *list) {
  StoreQuery *query = NULL;
  size_t count;
  bool has_row = false;
  const AnalysisColumn *columns = analysis_columns(&count);
  int code = CORE_OK;

  if (database) {
    TRY(store_query_open(database, "SELECT * FROM iteration WHERE run_id = ?1 ORDER BY iteration DESC LIMIT 1",
                         &query));
    store_query_bind_text(query, 1, run);
    code = store_query_step(query, &has_row);
  }

  for (size_t i = 0; i < count; i++) {
    const char *name = analysis_column_short(&columns[i]);
    bool has_values = false;
    if (columns[i].evaluation || columns[i].normalized || !analysis_column_is_number(&columns[i])) continue;
    if (has_row) {
      for (int c = 0; c < store_query_columns(query); c++)
        has_values |= strcmp(store_query_name(query, c), name) == 0 && store_query_value(query, c) != STORE_VALUE_NULL;
    }
    add_column(list, &columns[i], name, find_help(name), has_values);
  }

  store_query_close(&query);
  return code;
}

static int add_metrics(StoreDatabase *database, const char *run, json_t *list) {
  StoreQuery *query;
  bool has_row = false;
  TRY(analysis_programs_know_run(database, run));
  TRY(store_query_open(database, "SELECT DISTINCT name FROM metric WHERE run_id = ?1 ORDER BY name", &query));
  store_query_bind_text(query, 1, run);

  int code;
  while ((code = store_query_step(query, &has_row)) == CORE_OK && has_row) {
    CoreText name = {0};
    const AnalysisColumn *column;
    core_text_appendf(&name, "metric.%s", store_query_text(query, 0));
    if (analysis_column_find("column", core_text_string(&name), &column) == CORE_OK)
      add_column(list, column, core_text_string(&name), "metric reported by the program", true);
    core_text_free(&name);
  }

  store_query_close(&query);
  return code;
}

int serve_api_columns(const ServeContext *context, json_t **value) {
  const ServeSweep *sweep = NULL;
  ServeReader *reader = context->reader;
  const char *name = serve_request_argument(context->request, "sweep");
  char run[CORE_RUN_ID];
  if (name && *name) TRY(serve_argument_sweep(context, &sweep));
  find_furthest(sweep, run);
  StoreDatabase *database = *run && serve_reader_open(reader) == CORE_OK ? reader->database : NULL;
  *value = json_array();
  json_array_append_new(*value, json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "name", serve_series_score, "title",
                                          "score", "unit", "", "description",
                                          "score of evaluations: solve rate, or return where there is no goal", "log",
                                          false, "has_values", true));
  TRY(add_iteration_columns(database, run, *value));
  return database ? add_metrics(database, run, *value) : CORE_OK;
}

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

/* Whether the id is among the comma-separated ids. */
static bool is_named(const char *ids, const char *id) { return ids && strstr(ids, id); }

static json_t *settings_json(const ServeGroups *groups, const AnalysisConfig *config) {
  json_t *settings = json_object();
  for (size_t k = 0; k < groups->varied_count; k++)
    if (analysis_key_applies(config, groups->varied[k]))
      json_object_set_new(settings, groups->varied[k]->name, analysis_config_setting_json(config, groups->varied[k]));
  return settings;
}

static json_t *run_lines_json(const CurvesRequest *request, const Panel *panel) {
  const AnalysisSelection *selection = &panel->groups->selection;
  json_t *list = json_array();
  for (size_t r = 0; r < selection->count && json_array_size(list) < RUN_LINES_MAX; r++) {
    const AnalysisCurve *curve = &panel->curves[r];
    if (curve->n == 0 || !(request->has_runs || is_named(request->run_ids, selection->runs[r].id))) continue;
    json_t *line = run_json(selection->runs[r].id, curve, RUN_POINTS_MAX);
    json_object_set_new(line, "group", json_integer((json_int_t)panel->groups->grouping.group_of[r]));
    json_object_set_new(line, "settings", settings_json(panel->groups, &selection->runs[r].config));
    json_array_append_new(list, line);
  }
  return list;
}

/* Whether the setting is the same in all runs of the group. */
static bool is_common(const ServeGroups *groups, size_t g, const CoreConfigRow *key) {
  const AnalysisConfig *config = groups->grouping.groups[g].config;
  bool is_same = analysis_key_applies(config, key);
  for (size_t r = 0; r < groups->selection.count && is_same; r++) {
    const AnalysisConfig *other = &groups->selection.runs[r].config;
    if (groups->grouping.group_of[r] == g && other->shared != config->shared)
      is_same = analysis_group_compare(other, config, key) == 0;
  }
  return is_same;
}

static json_t *group_json(const ServeGroups *groups, const AnalysisPageColors *colors, size_t g) {
  const AnalysisGroup *group = &groups->grouping.groups[g];
  json_t *settings = json_object();
  size_t runs = 0;
  for (size_t k = 0; k < groups->varied_count; k++)
    if (is_common(groups, g, groups->varied[k]))
      json_object_set_new(settings, groups->varied[k]->name,
                          analysis_config_setting_json(group->config, groups->varied[k]));
  for (size_t r = 0; r < groups->selection.count; r++) runs += groups->grouping.group_of[r] == g;
  return json_pack("{s:s, s:I, s:o, s:o}", "label", group->label ? group->label : "", "runs", (json_int_t)runs, "color",
                   analysis_page_color(colors, g), "settings", settings);
}

static json_t *keys_json(const CoreConfigRow *const *keys, size_t count) {
  json_t *list = json_array();
  for (size_t k = 0; k < count; k++)
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", keys[k]->name, "label", analysis_key_name(keys[k])));
  return list;
}

static void add_key(const CoreConfigRow **keys, size_t *count, const CoreConfigRow *key) {
  for (size_t k = 0; k < *count; k++)
    if (keys[k] == key) return;
  keys[(*count)++] = key;
}

/* Adds the settings that differ, and those that the lines stand for where these average over the others. */
static void add_keys(const ServeGroups *groups, json_t *value) {
  const AnalysisGrouping *grouping = &groups->grouping;
  const CoreConfigRow **lines = core_memory_allocate((groups->varied_count + 1) * sizeof *lines);
  size_t count = 0;
  if (groups->is_limited) {
    for (size_t f = 0; f < grouping->family_count; f++)
      for (size_t k = 0; k < grouping->families[f].key_count; k++)
        add_key(lines, &count, grouping->families[f].keys[k]);
  }
  json_object_set_new(value, "keys", keys_json(groups->varied, groups->varied_count));
  json_object_set_new(value, "lines", keys_json(lines, count));
  json_object_set_new(value, "limited", json_boolean(groups->is_limited));
  free(lines);
}

static int fill_panel(CurvesRequest *request, Panel *panel) {
  const AnalysisSelection *selection = &panel->groups->selection;
  int code = CORE_OK;
  bool is_read = false;
  while (!is_read) {
    if (code != CORE_OK) break;
    code = serve_series_open(&request->series);
    if (code == CORE_OK) code = read_panel(&request->series, panel);
    is_read = !take_returns(&request->series, panel->without < panel->read);
  }
  panel->grid = analysis_curve_grid(panel->curves, selection->count, (size_t)request->points, request->is_log_x,
                                    &panel->n);
  return code;
}

static json_t *panel_json(const CurvesRequest *request, const Panel *panel) {
  const AnalysisColumn *column = request->series.column;
  const bool is_log = request->is_log_y || analysis_column_is_log(column);
  const size_t groups = panel->groups->grouping.count;
  json_t *curves = json_array(), *list = json_array();
  char title[128];
  analysis_column_title(column, title, sizeof title);

  AnalysisPageColors colors = analysis_page_colors_create(&panel->groups->grouping);
  for (size_t g = 0; g < groups && g < GROUPS_MAX; g++) {
    json_array_append_new(curves, group_curve_json(panel, g, analysis_column_range(column, is_log)));
    json_array_append_new(list, group_json(panel->groups, &colors, g));
  }
  analysis_page_colors_free(&colors);

  json_t *value =
    json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "column", request->column,
              "title", title, "unit", column->unit, "log", is_log, "x", analysis_abscissa_names[request->series.x],
              "x_title", analysis_abscissa_titles[request->series.x], "runs",
              (json_int_t)panel->groups->selection.count, "read", (json_int_t)panel->read, "without",
              (json_int_t)panel->without, "groups", (json_int_t)groups, "group", list, "grid",
              numbers_json(panel->grid, panel->n), "curve", curves, "line", run_lines_json(request, panel));
  add_keys(panel->groups, value);
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
  if (sweep) find_furthest(sweep, run);
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
