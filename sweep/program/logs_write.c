/* Reads the rows of a run from its logs, and appends lines for those that have changed (logs_internal.h). The score is
 * the mean of the goal's metric over each hundredth of the run, so that runs are not compared by one lucky episode at
 * the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "sweep/program/logs_internal.h"

enum { MEAN_PARTS = 100 }; /* parts of a run with a mean score each */

static const char row_name[] = "\036row"; /* no metric's name, since it has a control character */

static const struct { const char *name; size_t offset; } iteration_columns[] = {
#define X(name, unit, comment) {#name, offsetof(StoreIteration, name)},
  STORE_ITERATION_COLUMNS(X)
#undef X
};
static const struct { const char *name; size_t offset; } evaluation_columns[] = {
#define X(name, unit, comment) {#name, offsetof(StoreEvaluation, name)},
  STORE_EVALUATION_COLUMNS(X)
#undef X
};
enum {
  ITERATION_COLUMNS = sizeof iteration_columns / sizeof *iteration_columns,
  EVALUATION_COLUMNS = sizeof evaluation_columns / sizeof *evaluation_columns,
};

size_t program_logs_offset(const char *column, bool is_evaluation) {
  if (strcmp(column, "transitions") == 0) return 0;
  for (size_t i = 0; i < ITERATION_COLUMNS && !is_evaluation; i++)
    if (strcmp(iteration_columns[i].name, column) == 0) return iteration_columns[i].offset;
  for (size_t i = 0; i < EVALUATION_COLUMNS && is_evaluation; i++)
    if (strcmp(evaluation_columns[i].name, column) == 0) return evaluation_columns[i].offset;
  return 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static double *iteration_value(StoreIteration *row, size_t offset) { return (double *)((char *)row + offset); }
static double *evaluation_value(StoreEvaluation *row, size_t offset) { return (double *)((char *)row + offset); }

static double *score_column(const ProgramLogs *logs, StoreEvaluation *row) {
  return logs->is_rate ? &row->solve_rate : &row->episode_return;
}

static void unwrite_score(ProgramLogs *logs, const ProgramRow *row) {
  const StoreEvaluation empty = store_evaluation_unmeasured(row->number, PROGRAM_SCORE_SET);
  store_runlog_evaluation(logs->evaluations, &empty);
}

void program_logs_unwrite(ProgramLogs *logs, ProgramRow *row, uint32_t key) {
  const ProgramKey *metric = &logs->keys[key];
  if (metric->kind == PROGRAM_METRIC) {
    StoreMetric empty = {.iteration = row->number, .step = NAN, .value = NAN};
    memcpy(empty.name, metric->name, sizeof empty.name);
    store_runlog_metric(logs->metrics, &empty);
  } else if (metric->kind == PROGRAM_EVALUATION) {
    const StoreEvaluation empty = store_evaluation_unmeasured(row->number, metric->level_set);
    store_runlog_evaluation(logs->evaluations, &empty);
    for (uint32_t c = 0; c < row->count; c++) { /* its other columns */
      const ProgramKey *other = &logs->keys[row->cells[c].key];
      row->cells[c].is_new |= other->kind == PROGRAM_EVALUATION && strcmp(other->level_set, metric->level_set) == 0;
    }
  }
}

void program_logs_unwrite_row(ProgramLogs *logs, const ProgramRow *row) {
  const StoreIteration empty = store_iteration_unmeasured(row->number);
  store_runlog_iteration(logs->stats, &empty);
  if (row->has_score) unwrite_score(logs, row);
}

/* Removes all lines of a row that gets another number. */
static void unwrite_number(void *context, const ProgramRow *row) {
  ProgramLogs *logs = context;
  ProgramRow copy = *row;
  for (uint32_t c = 0; c < row->count; c++) program_logs_unwrite(logs, &copy, row->cells[c].key);
  program_logs_unwrite_row(logs, row);
}

/* Returns the transitions per nat of a row with a KL: the steps since the last row with one. */
static double find_ddr(const ProgramLogs *logs, const ProgramRow *row, double kl) {
  size_t i = program_rows_lower(&logs->rows, row->step);
  while (i > 0 && !program_row_find(logs->rows.items[i - 1], logs->kl_key)) i--;
  const double steps = row->step - (i > 0 ? logs->rows.items[i - 1]->step : 0);
  return logs->has_step && steps > 0 ? steps / fmax(kl, 1e-12) : NAN;
}

static void write_stats(ProgramLogs *logs, const ProgramRow *row) {
  StoreIteration line = store_iteration_unmeasured(row->number);
  for (uint32_t c = 0; c < row->count; c++) {
    const ProgramKey *key = &logs->keys[row->cells[c].key];
    if (key->kind == PROGRAM_COLUMN) *iteration_value(&line, key->column) = row->cells[c].value;
  }
  line.transitions = row->step;
  if (isnan(line.steps_per_second)) line.steps_per_second = row->speed;
  if (isnan(line.ddr) && !isnan(line.kl)) line.ddr = find_ddr(logs, row, line.kl);
  store_runlog_iteration(logs->stats, &line);
}

/* Writes the evaluation that a new cell belongs to. */
static void write_evaluation(ProgramLogs *logs, ProgramRow *row, const char *level_set) {
  StoreEvaluation line = store_evaluation_unmeasured(row->number, level_set);
  line.transitions = row->step;
  for (uint32_t c = 0; c < row->count; c++) {
    const ProgramKey *key = &logs->keys[row->cells[c].key];
    if (key->kind != PROGRAM_EVALUATION || strcmp(key->level_set, level_set) != 0) continue;
    if (key->column) *evaluation_value(&line, key->column) = row->cells[c].value;
    row->cells[c].is_new = false;
  }
  store_runlog_evaluation(logs->evaluations, &line);
}

static void write_row(ProgramLogs *logs, ProgramRow *row) {
  for (uint32_t c = 0; c < row->count; c++) {
    ProgramCell *cell = &row->cells[c];
    const ProgramKey *key = &logs->keys[cell->key];
    if (!cell->is_new) continue;
    cell->is_new = false;
    if (key->kind == PROGRAM_EVALUATION) write_evaluation(logs, row, key->level_set);
    if (key->kind != PROGRAM_METRIC) continue;
    StoreMetric line = {.iteration = row->number, .step = row->step, .value = cell->value};
    memcpy(line.name, key->name, sizeof line.name);
    store_runlog_metric(logs->metrics, &line);
  }

  if (row->is_score_new) {
    StoreEvaluation line = store_evaluation_unmeasured(row->number, PROGRAM_SCORE_SET);
    line.transitions = row->step;
    line.episodes = row->score_values;
    *score_column(logs, &line) = row->score;
    store_runlog_evaluation(logs->evaluations, &line);
    row->is_score_new = false;
  }
  if (!row->is_score_only) write_stats(logs, row);
}

/* ---- the score --------------------------------------------------------------------------------------------------- */

/* Returns the part of the run that a step belongs to. */
static double part_of(const ProgramLogs *logs, double step) { return floor(step * MEAN_PARTS / logs->total); }

/* Returns the end of the rows that share a mean with the row at `first`. */
static size_t end_of_part(const ProgramLogs *logs, size_t first) {
  const ProgramRows *rows = &logs->rows;
  size_t end = first + 1;
  if (logs->total <= 0) return end;
  while (end < rows->count && part_of(logs, rows->items[end]->step) == part_of(logs, rows->items[first]->step)) end++;
  return end;
}

static void set_score(ProgramLogs *logs, ProgramRow *row, bool has_score, double score, double values) {
  const bool is_equal = program_logs_is_same(score, row->score) && values == row->score_values;
  if (row->has_score == has_score && (!has_score || is_equal)) return;

  if (!has_score) unwrite_score(logs, row);
  row->has_score = row->is_score_new = has_score;
  row->score = score;
  row->score_values = values;
  const bool is_score_only = !row->is_dirty || row->is_score_only;
  program_row_mark(&logs->rows, row);
  row->is_score_only = is_score_only;
}

/* Scores the last row with a goal among [first, end) by their mean. */
static void score_part(ProgramLogs *logs, size_t first, size_t end) {
  double sum = 0, values = 0;
  ProgramRow *last = NULL;
  for (size_t i = first; i < end; i++) {
    ProgramRow *row = logs->rows.items[i];
    for (uint32_t c = 0; c < row->count; c++) {
      if (!logs->keys[row->cells[c].key].is_goal) continue;
      last = row;
      if (!isfinite(row->cells[c].value)) continue;
      sum += row->cells[c].value;
      values++;
    }
  }

  for (size_t i = first; i < end; i++) {
    ProgramRow *row = logs->rows.items[i];
    if (row == last) set_score(logs, row, true, values > 0 ? logs->sign * sum / values : NAN, values);
    else set_score(logs, row, false, NAN, 0);
  }
}

/* Scores the parts whose goal has changed. The part that the attempt is in waits until it is complete. */
static void update_scores(ProgramLogs *logs, bool ended) {
  if (!logs->has_goal || logs->score_low > logs->score_high) return;
  const ProgramRows *rows = &logs->rows;
  size_t first = program_rows_lower(rows, logs->score_low);
  while (first > 0 && logs->total > 0 && part_of(logs, rows->items[first - 1]->step) == part_of(logs, logs->score_low))
    first--;

  for (size_t end; first < rows->count && rows->items[first]->step <= logs->score_high; first = end) {
    end = end_of_part(logs, first);
    const bool is_current = logs->total > 0 && part_of(logs, rows->items[first]->step) == part_of(logs, logs->end);
    if (is_current && !ended) break;
    score_part(logs, first, end);
  }
  const bool is_done = first >= rows->count || rows->items[first]->step > logs->score_high;
  logs->score_low = is_done ? INFINITY : rows->items[first]->step;
  if (is_done) logs->score_high = -INFINITY;
}

double program_logs_score(const ProgramLogs *logs, bool *is_rate) {
  *is_rate = logs->is_rate;
  for (size_t i = logs->rows.count; i-- > 0;)
    if (logs->rows.items[i]->has_score) return logs->rows.items[i]->score;
  return NAN;
}

/* ---- existing rows ----------------------------------------------------------------------------------------------- */

/* Logs that are read, whose rows are sorted by number. */
typedef struct Loading {
  ProgramLogs *logs;
  int attempt;
  uint32_t columns[ITERATION_COLUMNS]; /* keys; 0: not used so far */
} Loading;

static ProgramRow *find_number(ProgramLogs *logs, int64_t number, double step) {
  ProgramRows *rows = &logs->rows;
  size_t low = 0, high = rows->count;
  if (high > 0 && rows->items[high - 1]->number < number) low = high;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (rows->items[middle]->number < number) low = middle + 1;
    else high = middle;
  }
  if (low < rows->count && rows->items[low]->number == number) return rows->items[low];

  return program_rows_add(rows, low, step, number);
}

/* Loads a value. One that a later attempt wrote again, with its row, stays that of the earlier one. */
static void load_value(const Loading *loading, ProgramRow *row, uint32_t key, double value) {
  const ProgramCell *cell = program_row_find(row, key);
  const bool is_same = cell && (cell->value == value || (isnan(cell->value) && isnan(value)));
  if (is_same) return;
  program_row_set(row, key, loading->attempt, value);
  program_row_find(row, key)->is_new = false;
}

/* Whether the column is computed from others if the program does not report it. */
static bool is_derived(const char *column) {
  return strcmp(column, "transitions") == 0 || strcmp(column, "ddr") == 0 || strcmp(column, "steps_per_second") == 0;
}

static void load_iteration(Loading *loading, const StoreIteration *line) {
  ProgramLogs *logs = loading->logs;
  ProgramRow *row = find_number(logs, line->iteration, line->transitions);
  StoreIteration values = *line;
  const bool is_removed = isnan(line->transitions);

  row->step = is_removed ? row->step : line->transitions;
  row->speed = line->steps_per_second;
  if (is_removed) program_row_remove(row, logs->row_key);
  else load_value(loading, row, logs->row_key, line->transitions);

  for (size_t i = 0; i < ITERATION_COLUMNS; i++) {
    const double value = *iteration_value(&values, iteration_columns[i].offset);
    if (isnan(value) && loading->columns[i] > 0) program_row_remove(row, loading->columns[i]);
    if (isnan(value) || is_derived(iteration_columns[i].name)) continue;
    if (loading->columns[i] == 0) loading->columns[i] = program_logs_key(logs, iteration_columns[i].name, "");
    load_value(loading, row, loading->columns[i], value);
  }
}

static void load_evaluation(const Loading *loading, const StoreEvaluation *line) {
  ProgramLogs *logs = loading->logs;
  ProgramRow *row = find_number(logs, line->iteration, line->transitions);
  StoreEvaluation values = *line;

  if (logs->has_goal && strcmp(line->level_set, PROGRAM_SCORE_SET) == 0) {
    row->has_score = !isnan(line->transitions);
    row->score = *score_column(logs, &values);
    row->score_values = line->episodes;
    return;
  }

  for (size_t i = 0; i < EVALUATION_COLUMNS; i++) {
    const char *name = evaluation_columns[i].name;
    const double value = *evaluation_value(&values, evaluation_columns[i].offset);
    if (strcmp(name, "transitions") == 0) continue;
    const uint32_t key = program_logs_key(logs, name, line->level_set);
    if (isnan(value)) program_row_remove(row, key);
    else load_value(loading, row, key, value);
  }
}

static void load_metric(const Loading *loading, const StoreMetric *line) {
  ProgramLogs *logs = loading->logs;
  ProgramRow *row = find_number(logs, line->iteration, line->step);
  const uint32_t key = program_logs_key(logs, line->name, "");
  if (isnan(line->step)) program_row_remove(row, key);
  else if (line->step == row->step || isnan(row->step)) {
    if (isnan(row->step)) row->step = line->step;
    load_value(loading, row, key, line->value);
  }
}

static int load_line(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                     const StoreLayer *layer, const StoreMetric *metric) {
  Loading *loading = context;
  if (iteration) load_iteration(loading, iteration);
  if (evaluation) load_evaluation(loading, evaluation);
  if (metric) load_metric(loading, metric);
  return CORE_OK;
}

static int load_attempt(Loading *loading, int attempt) {
  static const char *const kinds[] = {"stats", "metrics", "eval"};
  const ProgramLogs *logs = loading->logs;
  loading->attempt = attempt;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char name[32], path[CORE_PATH_MAX];
    int64_t end;
    StoreLogDamage damage;
    snprintf(name, sizeof name, "%s.%d.tsv", kinds[i], attempt);
    TRY(store_path_run(logs->root, logs->id, name, path));
    if (core_files_exists(path)) TRY(store_runlog_read(path, 0, load_line, loading, &end, &damage));
  }
  return CORE_OK;
}

/* Drops rows that were removed, or whose step is unknown, and notes the metrics of the others. */
static void drop_removed(ProgramLogs *logs) {
  ProgramRows *rows = &logs->rows;
  for (size_t i = 0; i < rows->count; i++) {
    ProgramRow *row = rows->items[i];
    if (isnan(row->step)) row->count = 0;
    for (uint32_t c = 0; c < row->count; c++) logs->keys[row->cells[c].key].is_loaded = true;
  }
  program_rows_take_empty(rows, 0, rows->count);
  program_rows_clean(rows);
}

/* Lets the values of the goal after the last score be scored: the attempt may have been killed within their part. */
static void note_unscored(ProgramLogs *logs) {
  for (size_t i = logs->rows.count; i-- > 0 && !logs->rows.items[i]->has_score;) {
    const ProgramRow *row = logs->rows.items[i];
    for (uint32_t c = 0; c < row->count; c++)
      if (logs->keys[row->cells[c].key].is_goal) program_logs_note_goal(logs, row->step);
  }
}

static int load_rows(ProgramLogs *logs) {
  Loading loading = {.logs = logs};
  for (int attempt = 1; attempt < logs->attempt; attempt++) TRY(load_attempt(&loading, attempt));
  for (size_t i = 0; i < logs->rows.count; i++) {
    const ProgramRow *row = logs->rows.items[i];
    if (row->count > 0 && row->step > logs->earlier_end) logs->earlier_end = row->step;
  }
  logs->number_base = fmax(logs->earlier_end, 0);
  logs->has_loaded_rows = logs->earlier_end > -INFINITY;

  TRY(load_attempt(&loading, logs->attempt));
  drop_removed(logs);
  program_rows_sort(&logs->rows);
  note_unscored(logs);
  return CORE_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

int program_logs_open(const char *root, const char *id, int attempt, const CoreConfig *config, ProgramLogs **result) {
  ProgramLogs *logs = core_memory_zero_allocate(1, sizeof *logs);
  snprintf(logs->root, sizeof logs->root, "%s", root);
  memcpy(logs->id, id, CORE_RUN_ID);
  logs->attempt = attempt;
  logs->config = config;
  logs->begin = logs->end = logs->reported_speed = logs->rate_above = NAN;
  logs->earlier_end = logs->score_high = logs->empty_high = -INFINITY;
  logs->score_low = logs->empty_low = INFINITY;
  logs->started_s = core_clock_s();
  logs->rows.on_renumbered = unwrite_number;
  logs->rows.context = logs;
  *result = logs;

  core_script_step(config->program, logs->step_name, &logs->total, &logs->is_sum);
  logs->has_goal = core_script_goal(config->program, logs->goal_name, &logs->sign);
  logs->is_rate = logs->has_goal && logs->sign > 0 &&
                  strcmp(program_logs_column(logs, logs->goal_name), "solve_rate") == 0;
  logs->row_key = program_logs_key(logs, row_name, "");
  logs->keys[logs->row_key].kind = PROGRAM_ROW;
  logs->kl_key = program_logs_key(logs, "kl", "");

  int code = load_rows(logs);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_STATS, &logs->stats);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_EVAL, &logs->evaluations);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_METRICS, &logs->metrics);
  if (code != CORE_OK) program_logs_close(result);
  return code;
}

static int flush(ProgramLogs *logs, bool durable, bool ended) {
  update_scores(logs, ended);
  for (size_t i = 0; i < logs->rows.dirty_count; i++)
    if (!logs->rows.dirty[i]->is_removed) write_row(logs, logs->rows.dirty[i]);
  program_rows_clean(&logs->rows);

  TRY(store_runlog_flush(logs->metrics, durable));
  TRY(store_runlog_flush(logs->evaluations, durable));
  return store_runlog_flush(logs->stats, durable);
}

int program_logs_flush(ProgramLogs *logs, bool durable) { return flush(logs, durable, false); }

int program_logs_end(ProgramLogs *logs) { return flush(logs, true, true); }

void program_logs_close(ProgramLogs **result) {
  ProgramLogs *logs = *result;
  if (!logs) return;
  StoreRunlog **opened[] = {&logs->metrics, &logs->evaluations, &logs->stats};
  for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
    if (store_runlog_close(opened[i]) != CORE_OK) core_warn("%s", core_error_message());

  program_rows_free(&logs->rows);
  program_names_free(&logs->key_names);
  free(logs->keys);
  free(logs->uses);
  free(logs->entries);
  free(logs);
  *result = NULL;
}
