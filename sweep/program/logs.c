/* Rows out of records (logs.h). The score is the mean of the goal's values over each hundredth of the run, so that one
 * lucky episode at the end is not what runs are compared by. */
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

enum { PARTS = 100 }; /* parts of a run, each with a mean of the score */

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

/* Meaning of a metric's name. */
typedef struct Meaning {
  bool is_known, is_step, is_goal;
  size_t iteration, evaluation;  /* offset of its column; 0: none */
  const char *name;              /* ours */
} Meaning;

typedef struct Steps { double *items; size_t count, capacity; } Steps; /* by row number - 1 */

struct ProgramLogs {
  char root[CORE_PATH_MAX], id[CORE_RUN_ID];
  int attempt;
  const CoreConfig *config;
  StoreRunlog *stats, *evaluations, *metrics;
  Steps before;              /* steps of earlier attempts */
  Meaning *meanings;         /* by the number of a name */
  size_t meaning_count;
  char step_name[CORE_SCRIPT_NAME], goal_name[CORE_SCRIPT_NAME];
  double sign, total;
  bool has_goal, has_begun;
  int64_t base, taken, done; /* rows before this attempt's; records taken; rows that its log had */
  int64_t evaluated;         /* row of the last evaluation that its log had */
  double step, score, started_s;
  double sum, part, at;      /* running mean: its sum, part of the run, last step */
  int64_t count, row;        /* values in it, row of the last */
};

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static void set_step(Steps *steps, int64_t row, double step) {
  if (row < 1) return;
  if ((size_t)row > steps->capacity) {
    steps->capacity = 2 * (size_t)row + 1024;
    steps->items = core_memory_resize(steps->items, steps->capacity * sizeof *steps->items);
  }
  while (steps->count < (size_t)row) steps->items[steps->count++] = NAN;
  steps->items[row - 1] = step;
}

static int take_step(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                     const StoreLayer *layer, const StoreMetric *metric) {
  if (iteration) set_step(context, iteration->iteration, iteration->transitions);
  return CORE_OK;
}

static int count_row(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                     const StoreLayer *layer, const StoreMetric *metric) {
  ProgramLogs *logs = context;
  if (iteration && !isnan(iteration->transitions)) logs->done++;
  if (evaluation && !isnan(evaluation->transitions) && evaluation->iteration > logs->evaluated)
    logs->evaluated = evaluation->iteration;
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
    TRY(read_log(root, id, earlier, "stats", take_step, &logs->before));
  TRY(read_log(root, id, attempt, "stats", count_row, logs));
  return read_log(root, id, attempt, "eval", count_row, logs);
}

int program_logs_open(const char *root, const char *id, int attempt, const CoreConfig *config, ProgramLogs **result) {
  ProgramLogs *logs = core_memory_zero_allocate(1, sizeof *logs);
  snprintf(logs->root, sizeof logs->root, "%s", root);
  memcpy(logs->id, id, CORE_RUN_ID);
  logs->attempt = attempt;
  logs->config = config;
  logs->step = logs->score = NAN;
  logs->started_s = core_clock_s();
  core_script_step(config->program, logs->step_name, &logs->total);
  logs->has_goal = core_script_goal(config->program, logs->goal_name, &logs->sign);
  int code = read_earlier(root, id, attempt, logs);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_STATS, &logs->stats);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_EVAL, &logs->evaluations);
  if (code == CORE_OK) code = store_runlog_open(root, id, attempt, STORE_LOG_METRICS, &logs->metrics);
  if (code != CORE_OK) program_logs_close(&logs, false);
  *result = logs;
  return code;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static size_t offset_of(const char *name, bool evaluation) {
  for (size_t i = 0; i < ITERATION_COLUMNS && !evaluation; i++)
    if (strcmp(iteration_columns[i].name, name) == 0 && strcmp(name, "transitions") != 0)
      return iteration_columns[i].offset;
  for (size_t i = 0; i < EVALUATION_COLUMNS && evaluation; i++)
    if (strcmp(evaluation_columns[i].name, name) == 0 && strcmp(name, "transitions") != 0)
      return evaluation_columns[i].offset;
  return 0;
}

/* Our name of a program's metric: that of [metric], else its own. */
static const char *our_name(const ProgramLogs *logs, const char *theirs) {
  const CoreScriptDefinition *definition = logs->config->program->definition;
  for (size_t i = 0; i < definition->metric_count; i++)
    if (strcmp(definition->metrics[i].name, theirs) == 0) return definition->metrics[i].column;
  return theirs;
}

static const Meaning *find_meaning(ProgramLogs *logs, const ProgramNames *names, size_t name) {
  if (name >= logs->meaning_count) {
    const size_t count = 2 * name + 64;
    logs->meanings = core_memory_resize(logs->meanings, count * sizeof *logs->meanings);
    memset(logs->meanings + logs->meaning_count, 0, (count - logs->meaning_count) * sizeof *logs->meanings);
    logs->meaning_count = count;
  }
  Meaning *meaning = &logs->meanings[name];
  if (meaning->is_known) return meaning;
  const char *theirs = names->items[name], *ours = our_name(logs, theirs);
  *meaning = (Meaning){.is_known = true,
                       .is_step = strcmp(theirs, logs->step_name) == 0,
                       .is_goal = logs->has_goal && (strcmp(ours, logs->goal_name) == 0 ||
                                                     strcmp(theirs, logs->goal_name) == 0),
                       .iteration = offset_of(ours, false),
                       .evaluation = offset_of(ours, true),
                       .name = ours};
  return meaning;
}

/* ---- the score --------------------------------------------------------------------------------------------------- */

static void end_part(ProgramLogs *logs) {
  if (logs->count == 0) return;
  logs->score = logs->sign * logs->sum / (double)logs->count;
  if (logs->row > logs->evaluated) {
    StoreEvaluation row = store_evaluation_unmeasured(logs->row, "train");
    row.transitions = logs->at;
    row.episode_return = logs->score;
    row.episodes = (double)logs->count;
    store_runlog_evaluation(logs->evaluations, &row);
  }
  logs->count = 0;
  logs->sum = 0;
}

static void add_goal(ProgramLogs *logs, double value, int64_t row) {
  const double part = logs->total > 0 ? floor(logs->step * PARTS / logs->total) : (double)row;
  if (!isfinite(value)) return;
  if (logs->count > 0 && part != logs->part) end_part(logs);
  logs->sum += value;
  logs->count++;
  logs->part = part;
  logs->at = logs->step;
  logs->row = row;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Rows of earlier attempts before the step that this one begins at. */
static int64_t find_base(const Steps *before, double step) {
  size_t row = 0;
  const double limit = isnan(step) ? INFINITY : step;
  while (row < before->count && before->items[row] < limit) row++;
  return (int64_t)row;
}

/* An emptied row takes the place of one that this attempt's rows replace: it may come to fewer of them. */
static int empty_row(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
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

/* Before the attempt's first row, so that a log that has rows has these, too. */
static void empty_replaced_rows(ProgramLogs *logs) {
  static const char *const kinds[] = {"metrics", "eval", "stats"};
  for (int earlier = 1; earlier < logs->attempt; earlier++)
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
      if (read_log(logs->root, logs->id, earlier, kinds[i], empty_row, logs) != CORE_OK)
        core_warn("%s", core_error_message());
}

static void take_evaluation(ProgramLogs *logs, const ProgramRecord *record) {
  StoreEvaluation row = store_evaluation_unmeasured(logs->base + logs->taken, record->evaluation);
  row.transitions = isnan(logs->step) ? 0 : logs->step;
  for (size_t i = 0; i < record->count; i++) {
    const Meaning *meaning = find_meaning(logs, record->names, record->values[i].name);
    const double value = record->values[i].value;
    if (meaning->is_goal) row.episode_return = logs->sign * value;
    else if (meaning->evaluation) *(double *)((char *)&row + meaning->evaluation) = value;
    if (meaning->is_step) row.transitions = value;
  }
  store_runlog_evaluation(logs->evaluations, &row);
}

double program_logs_speed(const ProgramLogs *logs) {
  const double seconds = core_clock_s() - logs->started_s;
  const double first = logs->base > 0 && (size_t)logs->base <= logs->before.count
                         ? logs->before.items[logs->base - 1] : 0;
  return logs->taken > logs->done && seconds > 1 && logs->step > first ? (logs->step - first) / seconds : NAN;
}

/* A metric that no column is for. */
static void add_metric(ProgramLogs *logs, const char *name, int64_t row, double value) {
  StoreMetric metric = {.iteration = row, .step = logs->step, .value = value};
  snprintf(metric.name, sizeof metric.name, "%s", name);
  store_runlog_metric(logs->metrics, &metric);
}

void program_logs_append(ProgramLogs *logs, const ProgramRecord *record) {
  double step = NAN;
  if (record->evaluation[0]) {
    take_evaluation(logs, record);
    return;
  }
  for (size_t i = 0; i < record->count; i++)
    if (find_meaning(logs, record->names, record->values[i].name)->is_step) step = record->values[i].value;
  if (!logs->has_begun) {
    logs->base = find_base(&logs->before, step);
    if (logs->done == 0 && (size_t)logs->base < logs->before.count) empty_replaced_rows(logs);
  }
  logs->has_begun = true;
  logs->taken++;
  const int64_t number = logs->base + logs->taken;
  if (isfinite(step)) logs->step = step;
  else if (isnan(logs->step)) logs->step = 0;
  StoreIteration row = store_iteration_unmeasured(number);
  for (size_t i = 0; i < record->count; i++) {
    const Meaning *meaning = find_meaning(logs, record->names, record->values[i].name);
    if (!meaning->iteration && !meaning->is_step && logs->taken > logs->done)
      add_metric(logs, meaning->name, number, record->values[i].value);
    if (meaning->iteration) *(double *)((char *)&row + meaning->iteration) = record->values[i].value;
    if (meaning->is_goal) add_goal(logs, record->values[i].value, number);
  }
  if (logs->taken <= logs->done) return; /* its log has it */
  row.transitions = logs->step;
  if (isnan(row.steps_per_second)) row.steps_per_second = program_logs_speed(logs);
  store_runlog_iteration(logs->stats, &row);
}

/* Stats last: a row there says that its record is done with. */
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
  free(logs->before.items);
  free(logs->meanings);
  free(logs);
  *result = NULL;
  return code;
}

int64_t program_logs_rows(const ProgramLogs *logs) { return logs->base + logs->taken; }
double program_logs_step(const ProgramLogs *logs) { return logs->step; }
double program_logs_score(const ProgramLogs *logs) { return logs->score; }
