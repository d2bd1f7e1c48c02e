/* Answers about the columns that curves can show: those of iterations, and a program's metrics (routes.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/columns.h"
#include "core/memory.h"
#include "store/database/tables.h"
#include "sweep/serve/routes.h"
#include "sweep/serve/series.h"
#include "sweep/spec/metric.h"

/* ---- goals ------------------------------------------------------------------------------------------------------- */

/* Names of the columns of the sweep's goals, as this answer has them. */
typedef struct Goals {
  char (*name)[SWEEP_METRIC_NAME]; /* [count] */
  size_t count;
  char score[SWEEP_METRIC_NAME];   /* the column that the score repeats; "": none */
} Goals;

/* "iteration.kl": kl; evaluations are the score. */
static void add_goal(Goals *goals, const char *full) {
  const char *name = strncmp(full, "iteration.", strlen("iteration.")) == 0 ? strchr(full, '.') + 1 : full;
  if (strncmp(full, "evaluation.", strlen("evaluation.")) == 0) name = serve_series_score;
  snprintf(goals->name[goals->count++], SWEEP_METRIC_NAME, "%s", name);
}

/* Finds the goals of the program and of the searches. A program's score is its goal, or the negative of one to be
 * minimized, which then has a column of its own. */
static Goals find_goals(const ServeSweep *sweep) {
  Goals goals = {NULL, 0, ""};
  if (!sweep) return goals;
  const SweepSpec *spec = &sweep->view->members.spec;
  const CoreScript *program = spec->base.program;
  char goal[CORE_SCRIPT_NAME];
  double sign;
  SweepMetric metric;

  goals.name = core_memory_zero_allocate(CORE_SEARCH_GOALS_MAX * spec->search_count + 2, sizeof *goals.name);
  if (program && core_script_goal(program, goal, &sign) &&
      sweep_metric_find("goal", goal, program, NULL, 0, &metric) == CORE_OK) {
    add_goal(&goals, metric.name);
    if (sign > 0) memcpy(goals.score, goals.name[0], sizeof goals.score);
  }
  for (size_t i = 0; i < spec->search_count; i++)
    for (size_t g = 0; g < spec->searches[i].space.goal_count; g++)
      add_goal(&goals, spec->searches[i].space.goals[g].measure);
  core_error_clear();
  return goals;
}

static bool has_goal(const Goals *goals, const char *name) {
  for (size_t i = 0; i < goals->count; i++)
    if (strcmp(goals->name[i], name) == 0) return true;
  return false;
}

/* Marks the columns of the list that are a goal, and the one that the score repeats. */
static void mark_goals(const ServeSweep *sweep, json_t *list) {
  Goals goals = find_goals(sweep);
  size_t i;
  json_t *column;
  json_array_foreach(list, i, column) {
    const char *name = json_string_value(json_object_get(column, "name"));
    json_object_set_new(column, "goal", json_boolean(has_goal(&goals, name)));
    json_object_set_new(column, "is_score", json_boolean(strcmp(goals.score, name) == 0));
  }
  free(goals.name);
}

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

void serve_sweep_find_furthest(const ServeSweep *sweep, char id[CORE_RUN_ID]) {
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
  serve_sweep_find_furthest(sweep, run);
  StoreDatabase *database = *run && serve_reader_open(reader) == CORE_OK ? reader->database : NULL;
  *value = json_array();
  json_array_append_new(*value, json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "name", serve_series_score, "title",
                                          "score", "unit", "", "description",
                                          "score of evaluations: solve rate, or return where there is no goal", "log",
                                          false, "has_values", true));
  TRY(add_iteration_columns(database, run, *value));
  if (database) TRY(add_metrics(database, run, *value));
  mark_goals(sweep, *value);
  return CORE_OK;
}

