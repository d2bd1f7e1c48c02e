/* Queries shared by exporters (export_runs.h). Only constant names; values from the user are bound. */
#include "analysis/commands/export_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/label.h"
#include "core/terminal.h"

#define NAME(name, unit, comment) #name,
static const char *const iteration_columns[] = {STORE_ITERATION_COLUMNS(NAME)};
static const char *const evaluation_columns[] = {STORE_EVALUATION_COLUMNS(NAME)};
#undef NAME
const ExportTable export_iterations = {
  "iteration", "", iteration_columns, sizeof iteration_columns / sizeof *iteration_columns};
const ExportTable export_evaluations = {
  "evaluation", ", level_set", evaluation_columns, sizeof evaluation_columns / sizeof *evaluation_columns};

/* Opens a query whose first parameter is a sweep; NULL: all runs. */
static int open_query(StoreDatabase *database, const char *sql, const char *sweep, StoreQuery **query) {
  TRY(store_query_open(database, sql, query));
  store_query_bind_text(*query, 1, sweep);
  return CORE_OK;
}

int export_runs_open(StoreDatabase *database, const char *sweep, StoreQuery **query) {
  static const char sql[] =
    "SELECT id, status, config, coalesce((SELECT min(started) FROM attempt WHERE run_id = id), started), finished,"
    " iteration,"
    " iif(iif(json_valid(config), json_type(config, '$.program') IS NULL, 0), 1,"  /* the trainer's steps are whole */
    " NOT EXISTS (SELECT 1 FROM iteration AS i WHERE i.run_id = id AND i.transitions != round(i.transitions)))"
    " FROM run WHERE ?1 IS NULL OR id IN (SELECT run_id FROM sweep_run WHERE sweep = ?1) ORDER BY id";
  return open_query(database, sql, sweep, query);
}

int export_runs_next(StoreQuery *query, ExportRun *run, bool *more) {
  TRY(store_query_step(query, more));
  if (!*more) return CORE_OK;
  const char *id = store_query_text(query, 0);
  if (!id || strlen(id) != CORE_RUN_ID - 1 || strspn(id, "0123456789abcdef") != CORE_RUN_ID - 1)
    return core_error(CORE_FAIL, "results.db contains a run with an invalid id: %.40s", id ? id : "");
  const double started = store_query_real(query, 3), ended = store_query_real(query, 4);
  *run = (ExportRun){.status = store_query_text(query, 1), .config = store_query_text(query, 2), .ended_s = ended,
                     .iteration = store_query_int(query, 5), .has_whole_steps = store_query_int(query, 6)};
  snprintf(run->id, sizeof run->id, "%s", id);
  run->started_s = started > 0 ? started : ended > 0 ? ended : core_clock_unix_s();
  return CORE_OK;
}

int export_runs_none(const char *sweep) {
  return core_error(CORE_USAGE, "results.db has no runs%s%s", sweep ? " of the sweep " : "", sweep ? sweep : "");
}

/* Reads the runs, sorted by sweep. */
static int open_members(StoreDatabase *database, const char *sweep, StoreQuery **query) {
  static const char sql[] =
    "SELECT coalesce(?1, (SELECT min(sweep) FROM sweep_run WHERE run_id = id), '') AS sweep, id, config FROM run"
    " WHERE ?1 IS NULL OR id IN (SELECT run_id FROM sweep_run WHERE sweep = ?1) ORDER BY 1, id";
  return open_query(database, sql, sweep, query);
}

static const char *text_of(StoreQuery *query, int column) {
  const char *text = store_query_text(query, column);
  return text ? text : "";
}

/* Names the runs of one sweep, which two queries read in the same order: `ahead` finds what differs, `behind` follows
 * up to the same run. *more: there is another sweep, at whose first run `ahead` is. */
static int name_sweep(StoreQuery *ahead, StoreQuery *behind, bool *more, json_t *names) {
  CoreLabels labels = {0};
  char *sweep = core_text_duplicate(text_of(ahead, 0)), label[CORE_LABEL_MAX];
  int code = CORE_OK;
  size_t count = 0;
  for (; code == CORE_OK && *more && strcmp(sweep, text_of(ahead, 0)) == 0; count++) {
    core_labels_add(&labels, text_of(ahead, 2));
    code = store_query_step(ahead, more);
  }
  for (bool row = true; code == CORE_OK && row && count > 0; count--) {
    code = store_query_step(behind, &row);
    if (code != CORE_OK || !row) break;
    core_labels_format(&labels, text_of(behind, 2), label);
    json_object_set_new(names, text_of(behind, 1), json_string(label));
  }
  core_labels_free(&labels);
  free(sweep);
  return code;
}

int export_runs_names(StoreDatabase *database, const char *sweep, json_t **names) {
  StoreQuery *ahead = NULL, *behind = NULL;
  bool more = false;
  *names = json_object();
  int code = open_members(database, sweep, &ahead);
  if (code == CORE_OK) code = open_members(database, sweep, &behind);
  if (code == CORE_OK) code = store_query_step(ahead, &more);
  while (code == CORE_OK && more) code = name_sweep(ahead, behind, &more, *names);
  store_query_close(&ahead);
  store_query_close(&behind);
  return code;
}

int export_rows_open(StoreDatabase *database, const ExportTable *table, const char *id, int64_t after,
                     StoreQuery **query) {
  CoreText sql = {0};
  core_text_appendf(&sql, "SELECT iteration%s", table->extra);
  for (int i = 0; i < table->count; i++) core_text_appendf(&sql, ", %s", table->columns[i]);
  core_text_appendf(&sql, " FROM %s WHERE run_id = ?1 AND iteration > ?2 ORDER BY iteration", table->name);
  const int code = store_query_open(database, core_text_string(&sql), query);
  core_text_free(&sql);
  if (code != CORE_OK) return code;
  store_query_bind_text(*query, 1, id);
  store_query_bind_int(*query, 2, after);
  return CORE_OK;
}

/* Returns the index of a column; -1: there is none. */
static int find_column(const ExportTable *table, const char *name) {
  for (int i = 0; i < table->count; i++)
    if (strcmp(table->columns[i], name) == 0) return i;
  return -1;
}

int export_column(const ExportTable *table, const char *name) {
  const int column = find_column(table, name);
  CORE_CHECK(column >= 0); /* a column of store/runlog/runlog.h */
  return column;
}

int64_t export_step(const ExportRun *run, double step, int64_t iteration) {
  if (!run->has_whole_steps) return iteration;
  return isfinite(step) && fabs(step) < 9e18 ? (int64_t)step : 0;
}

/* ---- named metrics ----------------------------------------------------------------------------------------------- */

int export_metrics_open(StoreDatabase *database, const char *id, int64_t from, int64_t every, StoreQuery **query) {
  static const char sql[] = /* with max(), SQLite takes the other columns from the row of the maximum */
    "SELECT name, iteration, step, value, " STORE_SECONDS_SQL("?1", "kept.iteration") " FROM"
    " (SELECT name, max(iteration) AS iteration, step, value FROM metric"
    " WHERE run_id = ?1 AND iteration >= ?2 AND value IS NOT NULL GROUP BY name, (iteration + ?3 - 1) / ?3) AS kept";
  TRY(store_query_open(database, sql, query));
  store_query_bind_text(*query, 1, id);
  store_query_bind_int(*query, 2, from);
  store_query_bind_int(*query, 3, every);
  return CORE_OK;
}

/* Whether a name may be that of a column's value, or one that export_metric_name makes. */
static bool is_taken(ExportNaming naming, const char *name) {
  static const char metric[] = "metric/", evaluation[] = "eval";
  const size_t length = strlen(naming.prefix);
  while (strncmp(name, metric, strlen(metric)) == 0) name += strlen(metric);
  if (strncmp(name, naming.prefix, length) == 0 && find_column(&export_iterations, name + length) >= 0)
    return true;
  const char *column = strrchr(name, naming.separator);
  return strncmp(name, evaluation, strlen(evaluation)) == 0 && name[strlen(evaluation)] == naming.separator &&
         find_column(&export_evaluations, column + 1) >= 0;
}

void export_metric_name(ExportNaming naming, const char *metric, char name[EXPORT_NAME_MAX]) {
  CoreText text = {0};
  if (is_taken(naming, metric)) core_text_append(&text, "metric/");
  core_text_append_utf8(&text, metric);
  snprintf(name, EXPORT_NAME_MAX, "%s", core_text_string(&text));
  core_text_free(&text);
}

void export_settings(const char *config, void (*add)(void *to, const char *name, const json_t *value), void *to) {
  json_t *all = json_loads(config ? config : "{}", 0, NULL), *settings, *value;
  const char *section, *key;
  json_object_foreach(all, section, settings) {
    json_object_foreach(settings, key, value) {
      char name[128];
      snprintf(name, sizeof name, "%s.%s", section, key);
      add(to, name, value);
    }
  }
  json_decref(all);
}
