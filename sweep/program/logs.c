/* Turns records into rows (logs.h). The score is the mean of the goal metric over each hundredth of the run, so that
 * runs are not compared by one lucky episode at the end. */
#include "sweep/program/logs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"

enum { MEAN_PARTS = 100 }; /* parts of a run with a mean score each */

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

/* Use of a metric. */
typedef struct MetricUse {
  bool is_known, is_step, is_goal;
  size_t iteration, evaluation;  /* offsets of its columns; 0: none */
  const char *name;              /* its name in the database */
} MetricUse;

/* Step of each row, by row number - 1. */
typedef struct Steps { double *items; size_t count, capacity; } Steps;

struct ProgramLogs {
  char root[CORE_PATH_MAX], id[CORE_RUN_ID];
  int attempt;
  const CoreConfig *config;
  StoreRunlog *stats, *evaluations, *metrics;
  Steps earlier;             /* steps of earlier attempts */
  MetricUse *uses;           /* [use_count], by index of the name */
  size_t use_count;
  char step_name[CORE_SCRIPT_NAME], goal_name[CORE_SCRIPT_NAME];
  double sign;               /* direction of the goal: 1: maximize, -1: minimize */
  double total;              /* total steps; 0: unknown */
  bool has_goal, has_rows;
  bool is_rate;              /* whether the goal is max solve_rate */
  int64_t base;              /* rows of earlier attempts that stay */
  int64_t appended;          /* records appended to this attempt */
  int64_t existing;          /* rows that its log had when it was opened */
  int64_t evaluated_row;     /* row of the last evaluation that its log had then */
  double step, score, started_s;
  double reported_speed;     /* last steps_per_second of the program; NaN: none */
  double part, part_sum;     /* current part of the run, and the sum of the goal in it */
  double part_step;          /* last step in it */
  int64_t part_count, part_row; /* values in it, and the row of the last one */
};

/* ---- existing rows ----------------------------------------------------------------------------------------------- */

static void set_step(Steps *steps, int64_t row, double step) {
  if (row < 1) return;
  if ((size_t)row > steps->capacity) {
    steps->capacity = 2 * (size_t)row + 1024;
    steps->items = core_memory_resize(steps->items, steps->capacity * sizeof *steps->items);
  }
  while (steps->count < (size_t)row) steps->items[steps->count++] = NAN;
  steps->items[row - 1] = step;
}

static int read_step(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                     const StoreLayer *layer, const StoreMetric *metric) {
  if (iteration) set_step(context, iteration->iteration, iteration->transitions);
  return CORE_OK;
}

static int count_row(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                     const StoreLayer *layer, const StoreMetric *metric) {
  ProgramLogs *logs = context;
  if (iteration && !isnan(iteration->transitions)) logs->existing++;
  if (evaluation && !isnan(evaluation->transitions) && evaluation->iteration > logs->evaluated_row)
    logs->evaluated_row = evaluation->iteration;
  return CORE_OK;
}

static int read_log(const char *root, const char *id, int attempt, const char *kind, StoreLogRow row, void *context) {
  char name[32], path[CORE_PATH_MAX];
  int64_t end;
  StoreLogDamage damage;
  snprintf(name, sizeof name, "%s.%d.tsv", kind, attempt);
  TRY(store_path_run(root, id, name, path));
  return core_files_exists(path) ? store_runlog_read(path, 0, row, context, &end, &damage) : CORE_OK;
}

static int read_earlier(const char *root, const char *id, int attempt, ProgramLogs *logs) {
  for (int earlier = 1; earlier < attempt; earlier++)
    TRY(read_log(root, id, earlier, "stats", read_step, &logs->earlier));
  TRY(read_log(root, id, attempt, "stats", count_row, logs));
  return read_log(root, id, attempt, "eval", count_row, logs);
}

/* Returns the database name of a program's metric: that of [metric], otherwise its own. */
static const char *metric_name(const ProgramLogs *logs, const char *name) {
  const CoreScriptDefinition *definition = logs->config->program->definition;
  for (size_t i = 0; i < definition->metric_count; i++)
    if (strcmp(definition->metrics[i].name, name) == 0) return definition->metrics[i].column;
  return name;
}

int program_logs_open(const char *root, const char *id, int attempt, const CoreConfig *config, ProgramLogs **result) {
  ProgramLogs *logs = core_memory_zero_allocate(1, sizeof *logs);
  snprintf(logs->root, sizeof logs->root, "%s", root);
  memcpy(logs->id, id, CORE_RUN_ID);
  logs->attempt = attempt;
  logs->config = config;
  logs->step = NAN;
  logs->score = NAN;
  logs->reported_speed = NAN;
  logs->started_s = core_clock_s();
  core_script_step(config->program, logs->step_name, &logs->total);
  logs->has_goal = core_script_goal(config->program, logs->goal_name, &logs->sign);
  logs->is_rate = logs->has_goal && logs->sign > 0 && strcmp(metric_name(logs, logs->goal_name), "solve_rate") == 0;
  int code = read_earlier(root, id, attempt, logs);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_STATS, &logs->stats);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_EVAL, &logs->evaluations);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_METRICS, &logs->metrics);
  if (code != CORE_OK) program_logs_close(&logs, false);
  *result = logs;
  return code;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Returns the offset of a column; 0: none. */
static size_t find_column(const char *name, bool evaluation) {
  for (size_t i = 0; i < ITERATION_COLUMNS && !evaluation; i++)
    if (strcmp(iteration_columns[i].name, name) == 0 && strcmp(name, "transitions") != 0)
      return iteration_columns[i].offset;
  for (size_t i = 0; i < EVALUATION_COLUMNS && evaluation; i++)
    if (strcmp(evaluation_columns[i].name, name) == 0 && strcmp(name, "transitions") != 0)
      return evaluation_columns[i].offset;
  return 0;
}

/* Returns the use of a metric, by the index of its name. */
static const MetricUse *find_metric_use(ProgramLogs *logs, const ProgramNames *names, size_t index) {
  if (index >= logs->use_count) {
    const size_t count = 2 * index + 64;
    logs->uses = core_memory_resize(logs->uses, count * sizeof *logs->uses);
    memset(logs->uses + logs->use_count, 0, (count - logs->use_count) * sizeof *logs->uses);
    logs->use_count = count;
  }
  MetricUse *use = &logs->uses[index];
  if (use->is_known) return use;
  const char *name = names->items[index], *column = metric_name(logs, name);
  const char *goal = core_script_text(logs->config->program, CORE_SCRIPT_goal); /* its metric may begin with metric. */
  const bool is_goal_name = strcmp(column, logs->goal_name) == 0 || strcmp(name, logs->goal_name) == 0 ||
                            (logs->has_goal && strcmp(name, goal + 4) == 0);
  *use = (MetricUse){.is_known = true,
                     .is_step = strcmp(name, logs->step_name) == 0,
                     .is_goal = logs->has_goal && is_goal_name,
                     .iteration = find_column(column, false),
                     .evaluation = find_column(column, true),
                     .name = column};
  return use;
}

/* ---- the score --------------------------------------------------------------------------------------------------- */

static double *score_column(const ProgramLogs *logs, StoreEvaluation *row) {
  return logs->is_rate ? &row->solve_rate : &row->episode_return;
}

static void end_part(ProgramLogs *logs) {
  if (logs->part_count == 0) return;
  logs->score = logs->sign * logs->part_sum / (double)logs->part_count;
  if (logs->part_row > logs->evaluated_row) {
    StoreEvaluation row = store_evaluation_unmeasured(logs->part_row, "train");
    row.transitions = logs->part_step;
    *score_column(logs, &row) = logs->score;
    row.episodes = (double)logs->part_count;
    store_runlog_evaluation(logs->evaluations, &row);
  }
  logs->part_count = 0;
  logs->part_sum = 0;
}

static void add_goal(ProgramLogs *logs, double value, int64_t row) {
  const double part = logs->total > 0 ? floor(logs->step * MEAN_PARTS / logs->total) : (double)row;
  if (!isfinite(value)) return;
  if (logs->part_count > 0 && part != logs->part) end_part(logs);
  logs->part_sum += value;
  logs->part_count++;
  logs->part = part;
  logs->part_step = logs->step;
  logs->part_row = row;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Returns the number of rows of earlier attempts before the first step of this one. */
static int64_t find_base(const Steps *earlier, double step) {
  size_t row = 0;
  const double limit = isnan(step) ? INFINITY : step;
  while (row < earlier->count && earlier->items[row] < limit) row++;
  return (int64_t)row;
}

/* Writes an empty row over a row of an earlier attempt that this one replaces, since it may have fewer rows. */
static int clear_row(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                     const StoreLayer *layer, const StoreMetric *metric) {
  ProgramLogs *logs = context;
  if (iteration && iteration->iteration > logs->base) {
    const StoreIteration empty = store_iteration_unmeasured(iteration->iteration);
    store_runlog_iteration(logs->stats, &empty);
  }
  if (evaluation && evaluation->iteration > logs->base) {
    const StoreEvaluation empty = store_evaluation_unmeasured(evaluation->iteration, evaluation->level_set);
    store_runlog_evaluation(logs->evaluations, &empty);
  }
  if (metric && metric->iteration > logs->base) {
    StoreMetric empty = *metric;
    empty.value = NAN;
    store_runlog_metric(logs->metrics, &empty);
  }
  return CORE_OK;
}

/* Clears all replaced rows. Called before the attempt's first row, so that a log with rows has these, too. */
static void clear_replaced_rows(ProgramLogs *logs) {
  static const char *const kinds[] = {"metrics", "eval", "stats"};
  for (int earlier = 1; earlier < logs->attempt; earlier++)
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
      if (read_log(logs->root, logs->id, earlier, kinds[i], clear_row, logs) != CORE_OK)
        core_warn("%s", core_error_message());
}

static void append_evaluation(ProgramLogs *logs, const ProgramRecord *record) {
  StoreEvaluation row = store_evaluation_unmeasured(logs->base + logs->appended, record->evaluation);
  row.transitions = isnan(logs->step) ? 0 : logs->step;
  for (size_t i = 0; i < record->count; i++) {
    const MetricUse *use = find_metric_use(logs, record->names, record->values[i].name);
    const double value = record->values[i].value;
    if (use->is_goal) *score_column(logs, &row) = logs->sign * value;
    else if (use->evaluation) *(double *)((char *)&row + use->evaluation) = value;
    if (use->is_step) row.transitions = value;
  }
  store_runlog_evaluation(logs->evaluations, &row);
}

double program_logs_speed(const ProgramLogs *logs) {
  if (isfinite(logs->reported_speed)) return logs->reported_speed;
  const double seconds = core_clock_s() - logs->started_s;
  const double first = logs->base > 0 && (size_t)logs->base <= logs->earlier.count
                         ? logs->earlier.items[logs->base - 1] : 0;
  return logs->appended > logs->existing && seconds > 1 && logs->step > first ? (logs->step - first) / seconds : NAN;
}

/* Writes a metric without a column of its own. */
static void add_metric(ProgramLogs *logs, const char *name, int64_t row, double value) {
  StoreMetric metric = {.iteration = row, .step = logs->step, .value = value};
  snprintf(metric.name, sizeof metric.name, "%s", name);
  store_runlog_metric(logs->metrics, &metric);
}

void program_logs_append(ProgramLogs *logs, const ProgramRecord *record) {
  double step = NAN;
  if (record->evaluation[0]) {
    append_evaluation(logs, record);
    return;
  }
  for (size_t i = 0; i < record->count; i++)
    if (find_metric_use(logs, record->names, record->values[i].name)->is_step) step = record->values[i].value;
  if (!logs->has_rows) {
    logs->base = find_base(&logs->earlier, step);
    if (logs->existing == 0 && (size_t)logs->base < logs->earlier.count) clear_replaced_rows(logs);
  }
  logs->has_rows = true;
  logs->appended++;
  const int64_t row_number = logs->base + logs->appended;
  if (isfinite(step)) logs->step = step;
  else if (isnan(logs->step)) logs->step = 0;
  StoreIteration row = store_iteration_unmeasured(row_number);
  for (size_t i = 0; i < record->count; i++) {
    const MetricUse *use = find_metric_use(logs, record->names, record->values[i].name);
    if (!use->iteration && !use->is_step && logs->appended > logs->existing)
      add_metric(logs, use->name, row_number, record->values[i].value);
    if (use->iteration) *(double *)((char *)&row + use->iteration) = record->values[i].value;
    if (use->is_goal) add_goal(logs, record->values[i].value, row_number);
  }
  if (isfinite(row.steps_per_second)) logs->reported_speed = row.steps_per_second;
  if (logs->appended <= logs->existing) return; /* already in its log */
  row.transitions = logs->step;
  if (isnan(row.steps_per_second)) row.steps_per_second = program_logs_speed(logs);
  store_runlog_iteration(logs->stats, &row);
}

/* Flushes stats last: a row there means that its record is written completely. */
int program_logs_flush(ProgramLogs *logs, bool durable) {
  TRY(store_runlog_flush(logs->metrics, durable));
  TRY(store_runlog_flush(logs->evaluations, durable));
  return store_runlog_flush(logs->stats, durable);
}

int program_logs_close(ProgramLogs **result, bool ended) {
  ProgramLogs *logs = *result;
  if (!logs) return CORE_OK;
  if (ended && logs->evaluations) end_part(logs);
  int code = CORE_OK;
  StoreRunlog **all[] = {&logs->metrics, &logs->evaluations, &logs->stats};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const int closed = store_runlog_close(all[i]);
    if (code == CORE_OK) code = closed;
  }
  free(logs->earlier.items);
  free(logs->uses);
  free(logs);
  *result = NULL;
  return code;
}

int64_t program_logs_rows(const ProgramLogs *logs) { return logs->base + logs->appended; }
double program_logs_step(const ProgramLogs *logs) { return logs->step; }

double program_logs_score(const ProgramLogs *logs, bool *is_rate) {
  *is_rate = logs->is_rate;
  return logs->score;
}
