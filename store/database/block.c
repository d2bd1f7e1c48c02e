/* Block of an import: collects rows in memory and commits them. Rows, progress of their logs and states of runs are
 * written in one transaction, so that a killed import can be repeated without loss or duplicates. The file is locked
 * only while a block is written, never while logs are read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/database/bulk_internal.h"
#include "store/database/ingest_internal.h"
#include "store/runlog/runlog_internal.h"

enum { SMALL_ROWS_MAX = 4096 }; /* evaluations, logs or runs of a full block */

typedef struct EvaluationRow { char id[CORE_RUN_ID]; StoreEvaluation row; } EvaluationRow;
typedef struct LayerRow { char id[CORE_RUN_ID]; StoreLayer row; } LayerRow;
typedef struct MetricRow { char id[CORE_RUN_ID]; StoreMetric row; } MetricRow;
typedef struct Restart { char id[CORE_RUN_ID]; } Restart;

/* Growing array. */
#define LIST(Type) struct { Type *items; size_t count, capacity; }
#define LIST_ADD(list, item)                                                                                \
  do {                                                                                                      \
    if ((list).count == (list).capacity) {                                                                  \
      (list).capacity = (list).capacity ? 2 * (list).capacity : 64;                                         \
      (list).items = core_memory_resize((list).items, (list).capacity * sizeof *(list).items);              \
    }                                                                                                       \
    (list).items[(list).count++] = (item);                                                                  \
  } while (0)

/* Statements of a commit, in the order of their execution. */
enum Statement {
  DELETE_ITERATIONS, DELETE_BINS, DELETE_EVALUATIONS, DELETE_LAYERS, DELETE_METRICS,
  DELETE_PROGRESS,
  PUT_EVALUATION, REMOVE_EVALUATION, PUT_LAYER, PUT_METRIC, REMOVE_METRIC, PUT_PROGRESS, PUT_LOG_ATTEMPT,
  PUT_RUN, PUT_ATTEMPT, END_ATTEMPTS, PUT_RUN_IMPORT,
  STATEMENT_COUNT
};

#define COMMA_NAME(name, unit, comment) ", " #name
#define COMMA_MARK(name, unit, comment) ", ?"
static const char *const statement_sql[STATEMENT_COUNT] = {
  [DELETE_ITERATIONS] = "DELETE FROM iteration WHERE run_id = ?1",
  [DELETE_BINS] = "DELETE FROM iteration_bin WHERE run_id = ?1",
  [DELETE_EVALUATIONS] = "DELETE FROM evaluation WHERE run_id = ?1",
  [DELETE_LAYERS] = "DELETE FROM layer WHERE run_id = ?1",
  [DELETE_METRICS] = "DELETE FROM metric WHERE run_id = ?1",
  [DELETE_PROGRESS] = "DELETE FROM run_log WHERE run_id = ?1",
  [PUT_EVALUATION] =
    "INSERT OR REPLACE INTO evaluation(run_id, iteration, level_set" STORE_EVALUATION_COLUMNS(COMMA_NAME) ")"
    " VALUES(?, ?, ?" STORE_EVALUATION_COLUMNS(COMMA_MARK) ")",
  [REMOVE_EVALUATION] = "DELETE FROM evaluation WHERE run_id = ?1 AND iteration = ?2 AND level_set = ?3",
  [PUT_LAYER] =
    "INSERT OR REPLACE INTO layer(run_id, iteration, network, layer" STORE_LAYER_COLUMNS(COMMA_NAME) ")"
    " VALUES(?, ?, ?, ?" STORE_LAYER_COLUMNS(COMMA_MARK) ")",
  [PUT_METRIC] = "INSERT OR REPLACE INTO metric(run_id, name, iteration, step, value) VALUES(?, ?, ?, ?, ?)",
  [REMOVE_METRIC] = "DELETE FROM metric WHERE run_id = ?1 AND name = ?2 AND iteration = ?3",
  [PUT_PROGRESS] =
    "INSERT INTO run_log(run_id, attempt, kind, file, offset, mark, damage, first_damage)"
    " VALUES(?1, ?2, ?3, ?8, ?4, ?5, ?6, ?7)"
    " ON CONFLICT(run_id, attempt, kind) DO UPDATE SET offset = excluded.offset, mark = excluded.mark,"
    " damage = damage + excluded.damage, first_damage = coalesce(first_damage, excluded.first_damage)",
  [PUT_LOG_ATTEMPT] = "INSERT OR IGNORE INTO attempt(run_id, attempt) VALUES(?1, ?2)",
  [PUT_RUN] =
    "UPDATE run SET status = ?2, attempt = ?3, host = ?4, pid = ?5, device = ?6, git_commit = ?7, started = ?8,"
    " heartbeat = ?9, finished = ?10, message = ?11, iteration = ?12, iterations = coalesce(?13, iterations),"
    " transitions = ?14, transitions_total = coalesce(?15, transitions_total), steps_per_second = ?16,"
    " solve_rate = ?17, train_seconds = ?18, code = ?19, code_files = ?20 WHERE id = ?1",
  [PUT_ATTEMPT] =
    ("INSERT OR REPLACE INTO attempt(run_id, status, attempt, host, pid, device, git_commit, started, heartbeat,"
     " finished, message, code, code_files) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?19, ?20)"),
  [END_ATTEMPTS] = "UPDATE attempt SET status = 'lost' WHERE run_id = ?1 AND attempt < ?2 AND status = 'running'",
  [PUT_RUN_IMPORT] = "INSERT OR REPLACE INTO run_import(run, folder_time, mark) VALUES(?1, ?2, ?3)",
};

struct StoreBlock {
  StoreDatabase *database;
  StoreBulk *bulk;
  LIST(EvaluationRow) evaluations;
  LIST(LayerRow) layers;
  LIST(MetricRow) metrics;
  LIST(StoreLogProgress) progress;
  LIST(StoreRunSnapshot) runs;
  LIST(StoreRunSnapshot) attempts;  /* ended attempts */
  LIST(Restart) restarts;
  sqlite3_stmt *statements[STATEMENT_COUNT];
};

int store_block_create(StoreDatabase *database, StoreBlock **result) {
  StoreBlock *block = core_memory_zero_allocate(1, sizeof *block);
  block->database = database;
  int code = store_bulk_create(database, &block->bulk);
  for (int i = 0; i < STATEMENT_COUNT && code == CORE_OK; i++)
    code = store_database_prepare(database, statement_sql[i], &block->statements[i]);
  *result = block;
  if (code != CORE_OK) store_block_destroy(result);
  return code;
}

void store_block_destroy(StoreBlock **block) {
  if (!*block) return;
  for (int i = 0; i < STATEMENT_COUNT; i++) sqlite3_finalize((*block)->statements[i]);
  store_bulk_destroy(&(*block)->bulk);
  free((*block)->evaluations.items);
  free((*block)->layers.items);
  free((*block)->metrics.items);
  free((*block)->progress.items);
  free((*block)->runs.items);
  free((*block)->attempts.items);
  free((*block)->restarts.items);
  free(*block);
  *block = NULL;
}

/* ---- collection ------------------------------------------------------------------------------------------------- */

void store_block_add_iteration(StoreBlock *block, const char *id, const StoreIteration *row) {
  store_bulk_add(block->bulk, id, row);
}

void store_block_add_evaluation(StoreBlock *block, const char *id, const StoreEvaluation *row) {
  EvaluationRow item = {.row = *row};
  memcpy(item.id, id, CORE_RUN_ID);
  LIST_ADD(block->evaluations, item);
}

void store_block_add_layer(StoreBlock *block, const char *id, const StoreLayer *row) {
  LayerRow item = {.row = *row};
  memcpy(item.id, id, CORE_RUN_ID);
  LIST_ADD(block->layers, item);
}

void store_block_add_metric(StoreBlock *block, const char *id, const StoreMetric *row) {
  MetricRow item = {.row = *row};
  memcpy(item.id, id, CORE_RUN_ID);
  LIST_ADD(block->metrics, item);
}

void store_block_add_progress(StoreBlock *block, const StoreLogProgress *progress) {
  LIST_ADD(block->progress, *progress);
}

void store_block_add_run(StoreBlock *block, const StoreRunSnapshot *run) { LIST_ADD(block->runs, *run); }

void store_block_add_attempt(StoreBlock *block, const StoreRunSnapshot *attempt) {
  LIST_ADD(block->attempts, *attempt);
}

void store_block_add_restart(StoreBlock *block, const char *id) {
  Restart item;
  memcpy(item.id, id, CORE_RUN_ID);
  LIST_ADD(block->restarts, item);
}

bool store_block_is_full(const StoreBlock *block) {
  return store_bulk_count(block->bulk) == STORE_BULK_ROWS || block->evaluations.count >= SMALL_ROWS_MAX ||
         block->layers.count >= SMALL_ROWS_MAX || block->metrics.count >= STORE_BULK_ROWS ||
         block->progress.count >= SMALL_ROWS_MAX || block->runs.count >= SMALL_ROWS_MAX ||
         block->attempts.count >= SMALL_ROWS_MAX;
}

/* ---- commit ----------------------------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *statement, int index, const char *value) {
  if (value && *value) sqlite3_bind_text(statement, index, value, -1, SQLITE_STATIC);
  else sqlite3_bind_null(statement, index);
}

/* Binds a time; 0 was never set and binds NULL. */
static void bind_time(sqlite3_stmt *statement, int index, double unix_s) {
  if (unix_s > 0) sqlite3_bind_double(statement, index, unix_s);
  else sqlite3_bind_null(statement, index);
}

/* Binds a positive number; 0 is unknown and binds NULL. */
static void bind_known(sqlite3_stmt *statement, int index, int64_t value) {
  if (value > 0) sqlite3_bind_int64(statement, index, value);
  else sqlite3_bind_null(statement, index);
}

static int commit_restarts(StoreBlock *block) {
  for (size_t i = 0; i < block->restarts.count; i++) {
    const Restart *item = &block->restarts.items[i];
    for (int k = DELETE_ITERATIONS; k <= DELETE_PROGRESS; k++) {
      sqlite3_bind_text(block->statements[k], 1, item->id, -1, SQLITE_STATIC);
      TRY(store_database_run(block->database, block->statements[k]));
    }
  }
  return CORE_OK;
}

/* Writes evaluations, and removes those without a number. */
static int commit_evaluations(StoreBlock *block) {
  for (size_t i = 0; i < block->evaluations.count; i++) {
    const EvaluationRow *item = &block->evaluations.items[i];
    const double *values = store_evaluation_values(&item->row);
    const bool is_absent = store_values_are_absent(values, STORE_EVALUATION_COUNT);
    sqlite3_stmt *put = block->statements[is_absent ? REMOVE_EVALUATION : PUT_EVALUATION];
    sqlite3_bind_text(put, 1, item->id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(put, 2, item->row.iteration);
    sqlite3_bind_text(put, 3, item->row.level_set, -1, SQLITE_STATIC);
    for (int column = 0; column < STORE_EVALUATION_COUNT && !is_absent; column++)
      sqlite3_bind_double(put, 4 + column, values[column]); /* SQLite stores NaN as NULL */
    TRY(store_database_run(block->database, put));
  }
  return CORE_OK;
}

static int commit_layers(StoreBlock *block) {
  sqlite3_stmt *put = block->statements[PUT_LAYER];
  for (size_t i = 0; i < block->layers.count; i++) {
    const LayerRow *item = &block->layers.items[i];
    const double *values = store_layer_values(&item->row);
    sqlite3_bind_text(put, 1, item->id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(put, 2, item->row.iteration);
    sqlite3_bind_text(put, 3, item->row.network, -1, SQLITE_STATIC);
    for (int column = 0; column < STORE_LAYER_COUNT; column++) sqlite3_bind_double(put, 4 + column, values[column]);
    TRY(store_database_run(block->database, put));
  }
  return CORE_OK;
}

/* Writes metrics, and removes those without a number. */
static int commit_metrics(StoreBlock *block) {
  for (size_t i = 0; i < block->metrics.count; i++) {
    const MetricRow *item = &block->metrics.items[i];
    const bool is_absent = store_values_are_absent(store_metric_values(&item->row), STORE_METRIC_COUNT);
    sqlite3_stmt *put = block->statements[is_absent ? REMOVE_METRIC : PUT_METRIC];
    sqlite3_bind_text(put, 1, item->id, -1, SQLITE_STATIC);
    sqlite3_bind_text(put, 2, item->row.name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(put, 3, item->row.iteration);
    if (!is_absent) {
      sqlite3_bind_double(put, 4, item->row.step);
      sqlite3_bind_double(put, 5, item->row.value);
    }
    TRY(store_database_run(block->database, put));
  }
  return CORE_OK;
}

static int commit_progress(StoreBlock *block) {
  sqlite3_stmt *put = block->statements[PUT_PROGRESS], *put_attempt = block->statements[PUT_LOG_ATTEMPT];

  for (size_t i = 0; i < block->progress.count; i++) {
    const StoreLogProgress *item = &block->progress.items[i];
    sqlite3_bind_text(put, 1, item->id, -1, SQLITE_STATIC);
    sqlite3_bind_int(put, 2, item->attempt);
    sqlite3_bind_text(put, 3, store_runlog_kind_name(item->kind), -1, SQLITE_STATIC);
    sqlite3_bind_int64(put, 4, item->offset);
    sqlite3_bind_int64(put, 5, item->prefix_crc);
    sqlite3_bind_int64(put, 6, item->damage.lines);
    bind_known(put, 7, item->damage.first_line);
    sqlite3_bind_text(put, 8, item->file, -1, SQLITE_STATIC);
    TRY(store_database_run(block->database, put));

    sqlite3_bind_text(put_attempt, 1, item->id, -1, SQLITE_STATIC);
    sqlite3_bind_int(put_attempt, 2, item->attempt);
    TRY(store_database_run(block->database, put_attempt));
  }
  return CORE_OK;
}

/* Binds the columns that `run` and `attempt` share: 1 to 11, 19 and 20 in both statements. */
static void bind_state(sqlite3_stmt *statement, const StoreRunSnapshot *item) {
  const StoreState *state = &item->state;
  sqlite3_bind_text(statement, 1, item->id, -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, store_status_name(state->status), -1, SQLITE_STATIC);
  sqlite3_bind_int(statement, 3, state->attempt);
  bind_text(statement, 4, state->host);
  bind_known(statement, 5, state->pid);
  bind_text(statement, 6, state->device);
  bind_text(statement, 7, state->commit);
  bind_time(statement, 8, state->started_unix_s);
  bind_time(statement, 9, state->heartbeat_unix_s);
  bind_time(statement, 10, state->finished_unix_s);
  bind_text(statement, 11, state->message);
  bind_text(statement, 19, state->code);
  bind_text(statement, 20, state->code_files);
}

static int commit_attempts(StoreBlock *block) {
  for (size_t i = 0; i < block->attempts.count; i++) {
    bind_state(block->statements[PUT_ATTEMPT], &block->attempts.items[i]);
    TRY(store_database_run(block->database, block->statements[PUT_ATTEMPT]));
  }
  return CORE_OK;
}

static int commit_runs(StoreBlock *block) {
  sqlite3_stmt **statements = block->statements;

  for (size_t i = 0; i < block->runs.count; i++) {
    const StoreRunSnapshot *item = &block->runs.items[i];
    const StoreState *state = &item->state;
    sqlite3_stmt *run = statements[PUT_RUN], *end = statements[END_ATTEMPTS], *import = statements[PUT_RUN_IMPORT];
    bind_state(run, item);
    sqlite3_bind_int64(run, 12, state->iteration);
    bind_known(run, 13, state->iterations);
    sqlite3_bind_int64(run, 14, state->transitions);
    bind_known(run, 15, state->transitions_total);
    sqlite3_bind_double(run, 16, state->steps_per_second);
    sqlite3_bind_double(run, 17, state->solve_rate);
    sqlite3_bind_double(run, 18, state->train_seconds);
    TRY(store_database_run(block->database, run));

    if (state->attempt > 0) {
      bind_state(statements[PUT_ATTEMPT], item);
      TRY(store_database_run(block->database, statements[PUT_ATTEMPT]));
      sqlite3_bind_text(end, 1, item->id, -1, SQLITE_STATIC);
      sqlite3_bind_int(end, 2, state->attempt);
      TRY(store_database_run(block->database, end));
    }

    sqlite3_bind_int64(import, 1, item->run);
    sqlite3_bind_int64(import, 2, item->directory_time_ns);
    sqlite3_bind_int64(import, 3, item->state_crc);
    TRY(store_database_run(block->database, import));
  }
  return CORE_OK;
}

static int commit_all(StoreBlock *block) {
  TRY(commit_restarts(block));
  TRY(store_bulk_insert(block->bulk));
  TRY(commit_evaluations(block));
  TRY(commit_layers(block));
  TRY(commit_metrics(block));
  TRY(commit_progress(block));
  TRY(commit_attempts(block));
  TRY(commit_runs(block));
  return store_database_commit(block->database);
}

int store_block_commit(StoreBlock *block) {
  const size_t count = store_bulk_count(block->bulk) + block->evaluations.count + block->layers.count +
                       block->metrics.count + block->progress.count + block->runs.count + block->restarts.count;
  if (count == 0) return CORE_OK;
  TRY(store_database_begin(block->database));
  int code = commit_all(block);
  if (code != CORE_OK) {
    store_database_rollback(block->database);
    return code;
  }
  store_bulk_clear(block->bulk);
  block->evaluations.count = block->layers.count = block->metrics.count = block->progress.count = 0;
  block->runs.count = block->restarts.count = block->attempts.count = 0;
  return CORE_OK;
}
