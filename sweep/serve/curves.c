/* Curves of runs, thinned here: a page gets some hundred points of each, however long the run is. A point is one
 * look-up by key, so that a run of a million iterations costs as much as one of a thousand (routes.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/database/tables.h"
#include "store/workspace/paths.h"
#include "sweep/serve/routes.h"

enum { RUNS_MOST = 24, POINTS_MOST = 500, POINTS_USUAL = 200 };

static const char score[] = "score"; /* beside the columns of iterations: evaluations on the training levels */

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static const StoreTableColumn *columns(void) {
  size_t count;
  const StoreTable *tables = store_tables(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(tables[i].name, "iteration") == 0) return tables[i].columns;
  return NULL;
}

static bool is_measure(const StoreTableColumn *column) {
  return strcmp(column->name, "run_id") != 0 && strcmp(column->name, "iteration") != 0;
}

int serve_answer_columns(const ServeAsked *asked, json_t **value) {
  *value = json_array();
  json_array_append_new(*value, json_pack("{s:s, s:s, s:s}", "name", score, "unit", "", "description",
                                          "score of evaluations: solve rate, or return where there is no goal"));
  for (const StoreTableColumn *column = columns(); column->name; column++)
    if (is_measure(column))
      json_array_append_new(*value, json_pack("{s:s, s:s, s:s}", "name", column->name, "unit", column->unit,
                                              "description", column->comment));
  return CORE_OK;
}

/* Only a name of ours ever gets into SQL. */
static int find_column(const char *name, const StoreTableColumn **found) {
  *found = NULL;
  if (strcmp(name, score) == 0) return CORE_OK;
  for (const StoreTableColumn *column = columns(); column->name; column++)
    if (is_measure(column) && strcmp(column->name, name) == 0) *found = column;
  return *found ? CORE_OK : core_error(CORE_USAGE, "column: there is no such column; /api/columns lists them");
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

typedef struct Curve { json_t *x, *y; } Curve;

/* Six digits: more cannot be seen. */
static json_t *short_number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return json_real(strtod(text, NULL));
}

static void add_point(Curve *curve, double x, double y) {
  if (!isfinite(x) || !isfinite(y)) return;
  json_array_append_new(curve->x, short_number(x));
  json_array_append_new(curve->y, short_number(y));
}

typedef struct Drawing {
  StoreDatabase *database;
  const StoreTableColumn *column;  /* NULL: scores */
  bool by_iteration;
  int64_t points;
  StoreQuery *last, *next;         /* the run's last iteration; its first row from an iteration on */
} Drawing;

static const char last_sql[] = "SELECT max(iteration) FROM iteration WHERE run_id = ?1";

static int open_queries(Drawing *drawing) {
  char sql[512];
  if (!drawing->column)
    return store_query_open(drawing->database,
                            "SELECT iteration, transitions, coalesce(solve_rate, episode_return) FROM evaluation"
                            " WHERE run_id = ?1 AND level_set = 'train' ORDER BY iteration",
                            &drawing->next);
  const char *name = drawing->column->name;
  snprintf(sql, sizeof sql,
           "SELECT iteration, transitions, %s FROM iteration WHERE run_id = ?1 AND iteration >= ?2 AND %s IS NOT NULL"
           " ORDER BY iteration LIMIT 1", name, name);
  TRY(store_query_open(drawing->database, last_sql, &drawing->last));
  return store_query_open(drawing->database, sql, &drawing->next);
}

static void take_row(const Drawing *drawing, Curve *curve) {
  add_point(curve, store_query_real(drawing->next, drawing->by_iteration ? 0 : 1), store_query_real(drawing->next, 2));
}

/* Evaluations are few. Of many each k-th, and the last. An import may add some after they were counted. */
static int draw_scores(const Drawing *drawing, const char *id, Curve *curve) {
  bool row = false;
  int64_t rows = 0, at = 0;
  int code;
  store_query_bind_text(drawing->next, 1, id);
  while ((code = store_query_step(drawing->next, &row)) == CORE_OK && row) rows++;
  store_query_reset(drawing->next);
  TRY(code);
  const int64_t every = rows > 0 ? (rows + drawing->points - 1) / drawing->points : 1;
  store_query_bind_text(drawing->next, 1, id);
  while ((code = store_query_step(drawing->next, &row)) == CORE_OK && row)
    if (at++ % every == 0 || at == rows) take_row(drawing, curve);
  store_query_reset(drawing->next);
  return code;
}

/* A statement a point, ended before the next: an import waits for none of them. */
static int draw_column(const Drawing *drawing, const char *id, Curve *curve) {
  bool row = false;
  store_query_bind_text(drawing->last, 1, id);
  int code = store_query_step(drawing->last, &row);
  const int64_t last = row ? store_query_int(drawing->last, 0) : 0;
  store_query_reset(drawing->last);
  for (int64_t place = 1, next = 1; code == CORE_OK && place <= drawing->points && next <= last; place++) {
    const int64_t wanted = (last * place + drawing->points - 1) / drawing->points;
    store_query_bind_text(drawing->next, 1, id);
    store_query_bind_int(drawing->next, 2, wanted > next ? wanted : next);
    code = store_query_step(drawing->next, &row);
    next = code == CORE_OK && row ? store_query_int(drawing->next, 0) + 1 : last + 1;
    if (code == CORE_OK && row) take_row(drawing, curve);
    store_query_reset(drawing->next);
  }
  return code;
}

static int draw_run(const Drawing *drawing, const char *id, json_t *list) {
  Curve curve = {json_array(), json_array()};
  const int code = drawing->column ? draw_column(drawing, id, &curve) : draw_scores(drawing, id, &curve);
  json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "run", id, "x", curve.x, "y", curve.y));
  return code;
}

static int draw_runs(const Drawing *drawing, const char *runs, json_t *list) {
  char words[RUNS_MOST * (CORE_RUN_ID + 1)], *save = NULL;
  if (core_text_copy(words, sizeof words, runs, "run") != CORE_OK)
    return core_error(CORE_USAGE, "run: at most %d runs at a time", RUNS_MOST);
  for (char *id = strtok_r(words, ",", &save); id; id = strtok_r(NULL, ",", &save)) {
    if (!store_is_run_id(id)) return core_error(CORE_USAGE, "run=ID,ID: expected the 16 digits of runs' ids");
    TRY(draw_run(drawing, id, list));
  }
  return CORE_OK;
}

int serve_answer_curves(const ServeAsked *asked, json_t **value) {
  const char *runs = serve_request_argument(asked->request, "run");
  const char *name = serve_request_argument(asked->request, "column"), *x = serve_request_argument(asked->request, "x");
  Drawing drawing = {.by_iteration = x && strcmp(x, "iteration") == 0};
  if (!runs || !*runs) return core_error(CORE_USAGE, "run=ID,ID is missing");
  if (x && *x && !drawing.by_iteration && strcmp(x, "transitions") != 0)
    return core_error(CORE_USAGE, "x: transitions or iteration");
  if (!name || !*name) name = score;
  TRY(find_column(name, &drawing.column));
  TRY(serve_asked_int(asked, "points", 2, POINTS_MOST, POINTS_USUAL, &drawing.points));
  json_t *list = json_array();
  int code = CORE_OK;
  if (serve_reader_open(&asked->serve->reader) == CORE_OK) { /* before the first import there is nothing to draw */
    drawing.database = asked->serve->reader.database;
    code = open_queries(&drawing);
    if (code == CORE_OK) code = draw_runs(&drawing, runs, list);
  }
  store_query_close(&drawing.last);
  store_query_close(&drawing.next);
  *value = json_pack("{s:s, s:s, s:s, s:o}", "column", drawing.column ? drawing.column->name : score, "unit",
                     drawing.column ? drawing.column->unit : "", "x",
                     drawing.by_iteration ? "iteration" : "transitions", "curve", list);
  return code;
}
