/* Reads rows of results.db, by one prepared statement per table. */
#include "sweep/stop/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/memory.h"
#include "store/database/query.h"
#include "store/runlog/runlog.h"

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* Selects the training levels or, for a run without evaluations on them, its first level set, as analyze does. */
#define LEVEL_SET \
  "(SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1)"

static const char score_sql[] = "SELECT transitions, coalesce(solve_rate, episode_return) FROM evaluation"
                                " WHERE run_id = ?1 AND level_set = " LEVEL_SET
                                " AND coalesce(solve_rate, episode_return) IS NOT NULL ORDER BY iteration";

static const char named_sql[] = "SELECT step, value FROM metric WHERE run_id = ?1 AND name = ?2 AND value IS NOT NULL"
                                " ORDER BY iteration";

static const struct {
  SweepMetricTable table;
  const char *column, *sql;
} statements[] = {
#define X(column, unit, comment) \
  {SWEEP_METRIC_EVALUATION, #column, \
   "SELECT transitions, " #column " FROM evaluation WHERE run_id = ?1 AND level_set = " LEVEL_SET " AND " #column \
   " IS NOT NULL ORDER BY iteration"},
    STORE_EVALUATION_COLUMNS(X)
#undef X
#define X(column, unit, comment) \
  {SWEEP_METRIC_ITERATION, #column, \
   "SELECT transitions, " #column " FROM iteration WHERE run_id = ?1 AND " #column " IS NOT NULL" \
   " ORDER BY iteration"},
        STORE_ITERATION_COLUMNS(X)
#undef X
};

static const char *find_statement(const SweepMetric *metric) {
  if (metric->table == SWEEP_METRIC_NAMED) return named_sql;
  if (!metric->column) return score_sql;
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
    if (statements[i].table == metric->table && strcmp(statements[i].column, metric->column) == 0)
      return statements[i].sql;
  CORE_CHECK(!"a metric has no statement");
  return NULL;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

typedef struct Points {
  SweepPoint *items;
  size_t count, capacity;
} Points;

static int read_points(StoreQuery *query, const char *id, const SweepMetric *metric, double sign, Points *points) {
  bool row = false;
  int code;
  double last = -INFINITY;

  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  if (metric->table == SWEEP_METRIC_NAMED) store_query_bind_text(query, 2, sweep_metric_short(metric));

  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const double position = store_query_real(query, 0), value = sign * store_query_real(query, 1);
    if (!isfinite(position) || !isfinite(value) || position <= last) continue;
    if (points->count == points->capacity) {
      points->capacity = points->capacity ? 2 * points->capacity : 1024;
      points->items = core_memory_resize(points->items, points->capacity * sizeof *points->items);
    }
    points->items[points->count++] = (SweepPoint){position, value};
    last = position;
  }
  return code;
}

/* Reads the points of all runs into one block. Sets pointers at the end, since the block moves while it grows. */
static int read_all_points(StoreDatabase *database, const SweepSpec *spec, SweepStopRuns *runs) {
  StoreQuery *query;
  SweepMetric metric;
  Points points = {0};
  int code = CORE_OK;
  const double sign = sweep_rule_sign(&spec->stop);
  TRY(sweep_stop_metric(&spec->stop, spec->base.program, &metric));
  TRY(store_query_open(database, find_statement(&metric), &query));

  for (size_t i = 0; i < runs->count; i++) {
    if (code != CORE_OK) break;
    const size_t first = points.count;
    if (runs->status[i] != STORE_PENDING) code = read_points(query, runs->items[i].id, &metric, sign, &points);
    runs->items[i].count = points.count - first;
    runs->is_measured |= runs->items[i].count > 0;
  }
  store_query_close(&query);

  runs->points = points.items;
  size_t offset = 0;
  for (size_t i = 0; i < runs->count; i++) {
    runs->items[i].points = points.items + offset;
    offset += runs->items[i].count;
  }
  return code;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int read_statuses(StoreDatabase *database, const char *sweep, const SweepIdSet *ids, StoreStatus *status) {
  StoreQuery *query;
  bool row = false;
  int code;
  size_t index;
  TRY(store_query_open(database,
                       "SELECT r.id, r.status FROM sweep_run AS s JOIN run AS r ON r.id = s.run_id WHERE s.sweep = ?1",
                       &query));
  store_query_bind_text(query, 1, sweep);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *id = store_query_text(query, 0), *name = store_query_text(query, 1);
    if (id && name && sweep_id_set_find(ids, id, &index)) (void)store_status_from_name(name, &status[index]);
  }
  store_query_close(&query);
  return code;
}

static int read_ddr(StoreDatabase *database, SweepStopRuns *runs) {
  StoreQuery *query;
  bool row;
  int code = CORE_OK;
  TRY(store_query_open(database, "SELECT ddr FROM run_ddr WHERE run_id = ?1", &query));
  for (size_t i = 0; i < runs->count; i++) {
    if (code != CORE_OK) break;
    if (runs->items[i].count == 0) continue;
    store_query_reset(query);
    store_query_bind_text(query, 1, runs->items[i].id);
    code = store_query_step(query, &row);
    if (code == CORE_OK && row) runs->items[i].ddr = store_query_real(query, 0);
  }
  store_query_close(&query);
  return code;
}

/* Numbers settings and tasks in the order of their first runs. */
static void number_settings(const SweepGrid *grid, SweepStopRuns *runs) {
  SweepIdSet cells = {0};
  CoreConfig config, *firsts = NULL;
  size_t tasks = 0;

  for (size_t i = 0; i < runs->count; i++) {
    SweepStopRun *run = &runs->items[i];
    char cell[CORE_RUN_ID];
    sweep_grid_config(grid, i, &config);
    core_config_cell_id(&config, cell);
    sweep_id_set_add(&cells, cell, &run->setting);
    run->budget = (double)config.train.total_steps;

    while (run->task < tasks && !core_config_is_same_task(&firsts[run->task], &config)) run->task++;
    if (run->task < tasks) continue;
    firsts = core_memory_resize(firsts, (tasks + 1) * sizeof *firsts);
    firsts[tasks++] = config;
  }
  sweep_id_set_free(&cells);
  free(firsts);
}

static void set_log_state(const SweepStopLog *log, SweepStopRun *run) {
  const SweepStopState *state = sweep_stop_log_find(log, run->id);
  run->stopped_rung = -1;
  if (!state) return;
  run->is_stopped = state->is_stopped;
  run->is_exempt = state->is_exempt;
  run->level = state->level;
  const SweepStopEntry *last = &log->entries[state->entry];
  if (state->is_stopped && last->rule == SWEEP_STOP_asha) run->stopped_rung = last->rung;
}

int sweep_stop_runs_read(StoreDatabase *database, const SweepGrid *grid, const SweepStopLog *log, SweepStopRuns *runs) {
  SweepIdSet ids = {0};
  *runs = (SweepStopRuns){.count = grid->runs};
  runs->items = core_memory_zero_allocate(grid->runs + 1, sizeof *runs->items);
  runs->status = core_memory_zero_allocate(grid->runs + 1, sizeof *runs->status);
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])grid->ids, grid->runs);
  number_settings(grid, runs);
  int code = read_statuses(database, grid->spec->name, &ids, runs->status);
  sweep_id_set_free(&ids);

  for (size_t i = 0; i < runs->count; i++) {
    SweepStopRun *run = &runs->items[i];
    const StoreStatus status = runs->status[i];
    memcpy(run->id, grid->ids[i], CORE_RUN_ID);
    run->ddr = NAN;
    run->is_broken = store_status_is_broken(status);
    run->is_over = status == STORE_FINISHED || run->is_broken;
    set_log_state(log, run);
  }

  if (code == CORE_OK) code = read_all_points(database, grid->spec, runs);
  if (code == CORE_OK && isfinite(grid->spec->stop.ddr_below)) code = read_ddr(database, runs);
  if (code != CORE_OK) sweep_stop_runs_free(runs);
  return code;
}

void sweep_stop_runs_free(SweepStopRuns *runs) {
  free(runs->items);
  free(runs->status);
  free(runs->points);
  *runs = (SweepStopRuns){0};
}
