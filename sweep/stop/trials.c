/* Rows of results.db to trials (trials.h). One statement a run, prepared once. */
#include "sweep/stop/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/task.h"
#include "core/memory.h"
#include "store/database/query.h"
#include "store/runlog/runlog.h"

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* Of the levels trained on, or where a run is not evaluated on them on the first of its sets: as analyze does. */
#define LEVEL_SET \
  "(SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1)"

static const char score_sql[] =
  "SELECT transitions, coalesce(solve_rate, episode_return) FROM evaluation"
  " WHERE run_id = ?1 AND level_set = " LEVEL_SET
  " AND coalesce(solve_rate, episode_return) IS NOT NULL ORDER BY iteration";

static const struct { const char *column, *evaluation_sql, *iteration_sql; } statements[] = {
#define X(column, unit, comment) \
  {#column, "SELECT transitions, " #column " FROM evaluation WHERE run_id = ?1 AND level_set = " LEVEL_SET \
            " AND " #column " IS NOT NULL ORDER BY iteration", NULL},
  STORE_EVALUATION_COLUMNS(X)
#undef X
#define X(column, unit, comment) \
  {#column, NULL, "SELECT transitions, " #column " FROM iteration WHERE run_id = ?1 AND " #column " IS NOT NULL" \
                  " ORDER BY iteration"},
  STORE_ITERATION_COLUMNS(X)
#undef X
};

static const char *statement_of(const SweepStop *rule) {
  SweepStopMeasure measure;
  CORE_CHECK(sweep_stop_measure_find(rule->measure, &measure)); /* it was when the file was read */
  if (!measure.column) return score_sql;
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
    const char *sql = measure.evaluation ? statements[i].evaluation_sql : statements[i].iteration_sql;
    if (sql && strcmp(statements[i].column, measure.column) == 0) return sql;
  }
  CORE_CHECK(!"a measure has no statement");
  return NULL;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

typedef struct Points { SweepPoint *items; size_t count, capacity; } Points;

static int read_points(StoreQuery *query, const char *run, double sign, Points *points) {
  bool row = false;
  int code;
  double last = -INFINITY;
  store_query_reset(query);
  store_query_bind_text(query, 1, run);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const double at = store_query_real(query, 0), value = sign * store_query_real(query, 1);
    if (!isfinite(at) || !isfinite(value) || at <= last) continue;
    if (points->count == points->capacity) {
      points->capacity = points->capacity ? 2 * points->capacity : 1024;
      points->items = core_memory_resize(points->items, points->capacity * sizeof *points->items);
    }
    points->items[points->count++] = (SweepPoint){at, value};
    last = at;
  }
  return code;
}

/* All runs' points, in one block: where each run's begin is known only when it has stopped growing. */
static int read_all_points(StoreDatabase *database, const SweepStop *rule, SweepTrials *trials) {
  StoreQuery *query;
  Points points = {0};
  int code = CORE_OK;
  TRY(store_query_open(database, statement_of(rule), &query));
  for (size_t i = 0; i < trials->count && code == CORE_OK; i++) {
    const size_t before = points.count;
    if (trials->status[i] != STORE_PENDING)
      code = read_points(query, trials->items[i].run, sweep_rule_sign(rule), &points);
    trials->items[i].count = points.count - before;
    trials->is_measured |= trials->items[i].count > 0;
  }
  store_query_close(&query);
  trials->points = points.items;
  for (size_t i = 0, at = 0; i < trials->count; at += trials->items[i++].count)
    trials->items[i].points = points.items + at;
  return code;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int read_statuses(StoreDatabase *database, const char *sweep, const SweepIdSet *places, StoreStatus *status) {
  StoreQuery *query;
  bool row = false;
  int code;
  size_t at;
  TRY(store_query_open(
    database, "SELECT r.id, r.status FROM sweep_run AS s JOIN run AS r ON r.id = s.run_id WHERE s.sweep = ?1", &query));
  store_query_bind_text(query, 1, sweep);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *id = store_query_text(query, 0), *word = store_query_text(query, 1);
    if (id && word && sweep_id_set_find(places, id, &at)) (void)store_status_from_name(word, &status[at]);
  }
  store_query_close(&query);
  return code;
}

static int read_ddr(StoreDatabase *database, SweepTrials *trials) {
  StoreQuery *query;
  bool row;
  int code = CORE_OK;
  TRY(store_query_open(database, "SELECT ddr FROM run_ddr WHERE run_id = ?1", &query));
  for (size_t i = 0; i < trials->count && code == CORE_OK; i++) {
    if (trials->items[i].count == 0) continue;
    store_query_reset(query);
    store_query_bind_text(query, 1, trials->items[i].run);
    code = store_query_step(query, &row);
    if (code == CORE_OK && row) trials->items[i].ddr = store_query_real(query, 0);
  }
  store_query_close(&query);
  return code;
}

/* Numbers of settings and tasks in the order of their first runs. */
static void number(const SweepGrid *grid, SweepTrials *trials) {
  SweepIdSet cells = {0};
  CoreConfig config, *firsts = NULL;
  size_t tasks = 0;
  for (size_t i = 0; i < trials->count; i++) {
    SweepTrial *trial = &trials->items[i];
    char cell[CORE_RUN_ID];
    sweep_grid_config(grid, i, &config);
    core_config_cell_id(&config, cell);
    sweep_id_set_add(&cells, cell, &trial->setting);
    trial->budget = (double)config.train.total_steps;
    while (trial->task < tasks && !core_config_is_same_task(&firsts[trial->task], &config)) trial->task++;
    if (trial->task < tasks) continue;
    firsts = core_memory_resize(firsts, (tasks + 1) * sizeof *firsts);
    firsts[tasks++] = config;
  }
  sweep_id_set_free(&cells);
  free(firsts);
}

static void take_log(const SweepStopLog *log, SweepTrial *trial) {
  const SweepStopStanding *standing = sweep_stop_log_find(log, trial->run);
  trial->stopped_rung = -1;
  if (!standing) return;
  trial->is_stopped = standing->is_stopped;
  trial->is_exempt = standing->is_exempt;
  trial->level = standing->level;
  const SweepStopEntry *last = &log->entries[standing->entry];
  if (standing->is_stopped && last->rule == SWEEP_STOP_asha) trial->stopped_rung = last->rung;
}

int sweep_trials_read(StoreDatabase *database, const SweepGrid *grid, const SweepStopLog *log, SweepTrials *trials) {
  SweepIdSet places = {0};
  *trials = (SweepTrials){.count = grid->runs};
  trials->items = core_memory_zero_allocate(grid->runs + 1, sizeof *trials->items);
  trials->status = core_memory_zero_allocate(grid->runs + 1, sizeof *trials->status);
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])grid->ids, grid->runs);
  number(grid, trials);
  int code = read_statuses(database, grid->spec->name, &places, trials->status);
  sweep_id_set_free(&places);
  for (size_t i = 0; i < trials->count; i++) {
    SweepTrial *trial = &trials->items[i];
    const StoreStatus status = trials->status[i];
    memcpy(trial->run, grid->ids[i], CORE_RUN_ID);
    trial->ddr = NAN;
    trial->is_broken = status == STORE_FAILED || status == STORE_DIVERGED;
    trial->is_over = status == STORE_FINISHED || trial->is_broken;
    take_log(log, trial);
  }
  if (code == CORE_OK) code = read_all_points(database, &grid->spec->stop, trials);
  if (code == CORE_OK && isfinite(grid->spec->stop.ddr_below)) code = read_ddr(database, trials);
  if (code != CORE_OK) sweep_trials_free(trials);
  return code;
}

void sweep_trials_free(SweepTrials *trials) {
  free(trials->items);
  free(trials->status);
  free(trials->points);
  *trials = (SweepTrials){0};
}
