/* Reads series by the statements of analysis/runs/columns.h, and long runs by one look-up per point (series.h). */
#include "sweep/serve/series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

const char serve_series_score[] = "score";
static const char level_set[] = "train";

/* A plain name is a column of iterations before it is one of evaluations. */
int serve_series_find(const char *name, ServeSeries *series) {
  CoreText full = {0};
  const bool is_metric = strncmp(name, "metric.", strlen("metric.")) == 0;
  int code = CORE_USAGE;
  series->is_score = strcmp(name, serve_series_score) == 0;
  if (series->is_score) core_text_append(&full, "evaluation.solve_rate");
  else core_text_appendf(&full, "iteration.%s", name);
  if (!is_metric) code = analysis_column_find("column", core_text_string(&full), &series->column);
  if (code != CORE_OK) code = analysis_column_find("column", name, &series->column);
  core_text_free(&full);
  if (code != CORE_OK || analysis_column_is_number(series->column)) return code;
  return core_error(CORE_USAGE, "column %s is not a number; /api/columns lists those that are", name);
}

/* Prepares the last row of a run, and a look-up of its first row from an iteration on for columns that long runs
 * have many rows of. Only names of our own tables reach the statements; a program's metric is bound as a value. */
static int open_long(ServeSeries *series) {
  const AnalysisColumn *column = series->column;
  char sql[512];
  if (column->evaluation)
    return store_query_open(series->database,
                            "SELECT iteration, coalesce(solve_rate, episode_return) FROM evaluation WHERE run_id = ?1"
                            " ORDER BY iteration DESC LIMIT 1", &series->last);

  if (column->metric) {
    TRY(store_query_open(series->database, "SELECT iteration, value FROM metric WHERE run_id = ?1 AND name = ?4"
                         " ORDER BY iteration DESC LIMIT 1", &series->last));
    return store_query_open(series->database,
                            "SELECT step, iteration, NULL, value FROM metric WHERE run_id = ?1 AND name = ?4"
                            " AND iteration >= ?2 AND value IS NOT NULL ORDER BY iteration LIMIT 1", &series->next);
  }

  const char *name = analysis_column_short(column);
  TRY(store_query_open(series->database, "SELECT iteration, wall_seconds FROM iteration WHERE run_id = ?1"
                       " ORDER BY iteration DESC LIMIT 1", &series->last));
  if (column->normalized) return CORE_OK;
  snprintf(sql, sizeof sql,
           "SELECT transitions, iteration, wall_seconds, %s FROM iteration WHERE run_id = ?1 AND iteration >= ?2"
           " AND %s IS NOT NULL ORDER BY iteration LIMIT 1", name, name);
  return store_query_open(series->database, sql, &series->next);
}

int serve_series_open(ServeSeries *series) {
  serve_series_close(series);
  core_text_appendf(&series->cached, "%s %s%s", series->column->name, analysis_abscissa_names[series->x],
                    series->is_log_x ? " log" : "");
  TRY(store_query_open(series->database, series->column->sql, &series->all));
  return open_long(series);
}

/* Reads the last iteration of a run, 0 without a row, and a number that changes with that row. */
static int read_last(const ServeSeries *series, const char *run, int64_t *last, uint64_t *version) {
  bool has_row = false;
  *last = 0;
  *version = 0;

  store_query_reset(series->last);
  store_query_bind_text(series->last, 1, run);
  if (series->column->metric) store_query_bind_text(series->last, 4, series->column->metric);

  const int code = store_query_step(series->last, &has_row);
  if (code == CORE_OK && has_row) {
    const double value = store_query_real(series->last, 1);
    *last = store_query_int(series->last, 0);
    memcpy(version, &value, sizeof *version);
    *version = (*version ^ (uint64_t)*last * 1000003) | 1;
  }
  store_query_reset(series->last);
  return code;
}

/* Runs one statement per point, so that an import waits for none of them longer than a look-up. */
static int sample(const ServeSeries *series, const char *run, int64_t last, AnalysisCurve *curve) {
  int code = CORE_OK;
  int64_t next = 1;
  for (int point = 1; point <= SERVE_SERIES_POINTS && next <= last; point++) {
    if (code != CORE_OK) break;
    bool has_row = false;
    const double share = (double)point / SERVE_SERIES_POINTS;
    const int64_t target = llround(series->is_log_x ? pow((double)last, share) : (double)last * share);

    store_query_reset(series->next);
    store_query_bind_text(series->next, 1, run);
    store_query_bind_int(series->next, 2, target > next ? target : next);
    if (series->column->metric) store_query_bind_text(series->next, 4, series->column->metric);
    code = store_query_step(series->next, &has_row);
    if (code != CORE_OK || !has_row) break;

    const double y = store_query_real(series->next, 3);
    if (isfinite(y)) analysis_curve_add(curve, store_query_real(series->next, (int)series->x), y);
    next = store_query_int(series->next, 1) + 1;
  }
  store_query_reset(series->next);
  return code;
}

int serve_series_read(const ServeSeries *series, const AnalysisRun *run, AnalysisCurve *curve) {
  int64_t last;
  uint64_t version;
  size_t infinite = 0;
  int code;
  TRY(read_last(series, run->id, &last, &version));
  if (serve_series_cache_find(series->cache, series->cached.data, run->id, version, curve)) return CORE_OK;
  if (last > SERVE_SERIES_LONG && series->next) {
    code = sample(series, run->id, last, curve);
  } else {
    code = analysis_column_read(series->column, series->all, run, level_set, series->x, curve, &infinite);
    store_query_reset(series->all);
  }
  if (code == CORE_OK) serve_series_cache_keep(series->cache, series->cached.data, run->id, version, curve);
  return code;
}

void serve_series_close(ServeSeries *series) {
  core_text_free(&series->cached);
  store_query_close(&series->all);
  store_query_close(&series->last);
  store_query_close(&series->next);
}
