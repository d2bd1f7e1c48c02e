/* Places records in rows, and writes the rows that have changed (logs.h). */
#include "sweep/program/logs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/runlog/runlog.h"
#include "sweep/program/logs_internal.h"

static const double jump_length = 1.5; /* least length of a jump, in later steps */

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

const char *program_logs_column(const ProgramLogs *logs, const char *name) {
  const CoreScriptDefinition *definition = logs->config->program->definition;
  for (size_t i = 0; i < definition->metric_count; i++)
    if (strcmp(definition->metrics[i].name, name) == 0) return definition->metrics[i].column;
  return name;
}

static bool is_goal_name(const ProgramLogs *logs, const char *name, const char *column) {
  const char *goal = core_script_text(logs->config->program, CORE_SCRIPT_goal); /* its metric may begin with metric. */
  return logs->has_goal && (strcmp(column, logs->goal_name) == 0 || strcmp(name, logs->goal_name) == 0 ||
                            strcmp(name, goal + 4) == 0 || strcmp(column, program_logs_column(logs, goal + 4)) == 0);
}

/* Returns the key of a metric under its name in the database. level_set: of an evaluation; "": none. */
uint32_t program_logs_key(ProgramLogs *logs, const char *name, const char *level_set) {
  CoreText text = {0};
  core_text_appendf(&text, "%s%s%s", level_set, *level_set ? "\037" : "", name);
  const size_t known = logs->key_names.count;
  const size_t key = program_names_add_exact(&logs->key_names, text.data);
  core_text_free(&text);
  if (key < known) return (uint32_t)key;

  logs->keys = core_memory_resize(logs->keys, (key + 1) * sizeof *logs->keys);
  ProgramKey *added = &logs->keys[key];
  *added = (ProgramKey){.kind = *level_set ? PROGRAM_EVALUATION : PROGRAM_METRIC, .last = NAN, .jump_from = NAN};
  snprintf(added->name, sizeof added->name, "%s", name);
  snprintf(added->level_set, sizeof added->level_set, "%s", level_set);
  added->column = program_logs_offset(name, *level_set != '\0');
  if (!*level_set && added->column) added->kind = PROGRAM_COLUMN;
  added->is_kl = added->column == offsetof(StoreIteration, kl) && !*level_set;
  added->is_goal = !*level_set && is_goal_name(logs, name, name);
  return (uint32_t)key;
}

/* Returns the key of a value of an evaluation. What has no column there is a metric: test/accuracy. */
static uint32_t find_evaluation_key(ProgramLogs *logs, const char *level_set, const char *name, const char *column) {
  const bool is_goal = is_goal_name(logs, name, column);
  const bool is_reserved = logs->has_goal && strcmp(level_set, PROGRAM_SCORE_SET) == 0;
  if (is_goal) column = logs->is_rate ? "solve_rate" : "episode_return";
  if (program_logs_offset(column, true) > 0)
    return program_logs_key(logs, column, is_reserved ? "train (evaluation)" : level_set);

  char text[PROGRAM_NAME_MAX];
  snprintf(text, sizeof text, "%s/%s", level_set, column);
  return program_logs_key(logs, text, "");
}

/* Makes room for a name of the program. */
static void reserve_use(ProgramLogs *logs, size_t name) {
  if (name < logs->use_count) return;
  const size_t count = 2 * name + 64;
  logs->uses = core_memory_resize(logs->uses, count * sizeof *logs->uses);
  memset(logs->uses + logs->use_count, 0, (count - logs->use_count) * sizeof *logs->uses);
  logs->use_count = count;
}

/* Returns the key of a value of a record. */
static uint32_t find_key(ProgramLogs *logs, const ProgramRecord *record, size_t index) {
  const size_t name = record->values[index].name;
  reserve_use(logs, name);
  if (!record->evaluation[0] && logs->uses[name].key > 0) return logs->uses[name].key;

  const char *text = record->names->items[name], *column = program_logs_column(logs, text);
  if (record->evaluation[0]) {
    logs->uses[name].is_evaluated = true;
    logs->has_evaluated_goal |= is_goal_name(logs, text, column);
    return find_evaluation_key(logs, record->evaluation, text, column);
  }
  const uint32_t key = program_logs_key(logs, column, "");
  if (is_goal_name(logs, text, column)) logs->keys[key].is_goal = true;
  logs->uses[name].key = key;
  return key;
}

/* Finds the entries of a record: its values as the database has them. The goal of an evaluation is negated if it is to
 * be small. Returns the value of the step's metric; NaN: none. */
static double find_entries(ProgramLogs *logs, const ProgramRecord *record) {
  const size_t step_index = program_names_find(record->names, logs->step_name);
  double step = NAN;
  if (record->count > logs->entry_capacity) {
    logs->entry_capacity = 2 * record->count;
    logs->entries = core_memory_resize(logs->entries, logs->entry_capacity * sizeof *logs->entries);
  }

  for (size_t i = 0; i < record->count; i++) {
    const ProgramValue *value = &record->values[i];
    const char *name = record->names->items[value->name];
    const bool is_goal = record->evaluation[0] && is_goal_name(logs, name, program_logs_column(logs, name));
    const bool is_step = value->name == step_index;
    if (is_step) step = value->value;
    logs->entries[i] = (ProgramEntry){.key = find_key(logs, record, i), .is_step = is_step && !logs->is_sum,
                                      .value = value->value * (is_goal ? logs->sign : 1)};
  }
  return step;
}

void program_logs_reserve(const ProgramLogs *logs, ProgramNames *names) {
  const CoreScriptDefinition *definition = logs->config->program->definition;
  if (*logs->step_name) program_names_reserve(names, logs->step_name);
  if (logs->has_goal) program_names_reserve(names, core_script_text(logs->config->program, CORE_SCRIPT_goal) + 4);
  if (logs->has_goal) program_names_reserve(names, logs->goal_name);
  for (size_t i = 0; i < definition->metric_count; i++) program_names_reserve(names, definition->metrics[i].name);
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

void program_logs_note_goal(ProgramLogs *logs, double step) {
  logs->score_low = fmin(logs->score_low, step);
  logs->score_high = fmax(logs->score_high, step);
}

/* Lets the DDR of the next row with a KL be computed again. */
static void note_kl(ProgramLogs *logs, double step) {
  for (size_t i = program_rows_upper(&logs->rows, step); i < logs->rows.count; i++) {
    if (!program_row_find(logs->rows.items[i], logs->kl_key)) continue;
    program_row_mark(&logs->rows, logs->rows.items[i]);
    return;
  }
}

static void remove_cell(ProgramLogs *logs, ProgramRow *row, uint32_t key) {
  program_logs_unwrite(logs, row, key);
  program_row_remove(row, key);
  program_row_mark(&logs->rows, row);
  if (logs->keys[key].is_goal) program_logs_note_goal(logs, row->step);
  if (logs->keys[key].is_kl) note_kl(logs, row->step);
}

/* Removes values of a metric in the rows [first, end): those of earlier attempts, or of this one. Rows without a value
 * stay until take_empty. */
static void remove_values(ProgramLogs *logs, uint32_t key, size_t first, size_t end, bool earlier) {
  for (size_t i = first; i < end; i++) {
    ProgramRow *row = logs->rows.items[i];
    const ProgramCell *cell = program_row_find(row, key);
    if (!cell || (cell->attempt < logs->attempt) != earlier) continue;
    remove_cell(logs, row, key);
    if (row->count > 0) continue;
    logs->empty_low = fmin(logs->empty_low, row->step);
    logs->empty_high = fmax(logs->empty_high, row->step);
  }
}

/* Takes rows out that have become empty. */
static void take_empty(ProgramLogs *logs) {
  if (logs->empty_low > logs->empty_high) return;
  const size_t first = program_rows_lower(&logs->rows, logs->empty_low);
  const size_t end = program_rows_upper(&logs->rows, logs->empty_high);
  for (size_t i = first; i < end; i++)
    if (logs->rows.items[i]->count == 0) program_logs_unwrite_row(logs, logs->rows.items[i]);
  program_rows_take_empty(&logs->rows, first, end);
  logs->empty_low = INFINITY;
  logs->empty_high = -INFINITY;
}

/* Whether a metric skips earlier values after its first step of the attempt, so that the first may have been a record
 * of the start, after which the attempt went on from a later step. */
static bool may_jump(const ProgramLogs *logs, uint32_t key, size_t first, size_t end) {
  if (logs->keys[key].steps != 1) return false;
  for (size_t i = first; i < end; i++) {
    const ProgramCell *cell = program_row_find(logs->rows.items[i], key);
    if (cell && cell->attempt < logs->attempt) return true;
  }
  return false;
}

/* Decides at the third step of a metric whether its second was a jump: it was if the steps are short now. Otherwise the
 * attempt takes long steps, and what lay between the first two is removed. */
static void judge_jump(ProgramLogs *logs, uint32_t key, double step) {
  ProgramKey *metric = &logs->keys[key];
  const double jumped = metric->last - metric->jump_from;
  if (isnan(metric->jump_from)) return;
  if (jumped < jump_length * (step - metric->last)) {
    const size_t first = program_rows_upper(&logs->rows, metric->jump_from);
    remove_values(logs, key, first, program_rows_lower(&logs->rows, metric->last), true);
  } else if (key == logs->row_key) {
    logs->begin = metric->last;
  }
  metric->jump_from = NAN;
}

/* Removes the values of earlier attempts that a metric passes on its way to `step`. */
static void pass(ProgramLogs *logs, uint32_t key, double step) {
  ProgramKey *metric = &logs->keys[key];
  const bool is_later = !isnan(metric->last) && step > metric->last;
  const double from = is_later ? metric->last : step;

  if (is_later) judge_jump(logs, key, step);
  if (from <= logs->earlier_end) {
    const size_t same = program_rows_lower(&logs->rows, step), end = program_rows_upper(&logs->rows, step);
    size_t first = is_later ? program_rows_upper(&logs->rows, from) : same;
    if (is_later && may_jump(logs, key, first, same)) {
      metric->jump_from = from;
      first = same;
    }
    remove_values(logs, key, first, end, true);
  }

  if (isnan(metric->last) || is_later) {
    metric->last = step;
    metric->steps++;
  }
}

/* ---- placing records --------------------------------------------------------------------------------------------- */

/* Rounds a step as logs do, so that it is found again. */
static double round_step(double step) {
  char text[40];
  if (step == nearbyint(step)) return step;
  snprintf(text, sizeof text, "%.9g", step);
  return strtod(text, NULL);
}

/* Keeps the first record of a series, and finds out whether a restarted one begins with it: if not, it is another log,
 * whose records without a step are counted on. */
static void check_first(ProgramSeries *series, const ProgramRecord *record) {
  bool is_equal = true;
  for (size_t i = 0; i < series->first_count && series->is_restarted; i++) {
    const ProgramValue *old = &series->first[i];
    bool is_found = false;
    for (size_t k = 0; k < record->count; k++)
      is_found |= record->values[k].name == old->name && (record->values[k].value == old->value || isnan(old->value));
    is_equal &= is_found;
  }

  if (series->is_restarted && !is_equal) {
    series->number_base += series->number;
    series->sum_base += series->sum;
  }
  if (series->is_restarted) {
    series->number = 0;
    series->sum = 0;
  }

  if (!series->is_begun || !is_equal) {
    series->first = core_memory_resize(series->first, (record->count + 1) * sizeof *series->first);
    memcpy(series->first, record->values, record->count * sizeof *series->first);
    series->first_count = record->count;
  }
  series->is_begun = true;
  series->is_restarted = false;
}

/* Returns the step of a record: its own, the sum so far, the latest of its series, or the number of the record. named:
 * value of the step's metric. */
static double find_step(ProgramLogs *logs, ProgramSeries *series, const ProgramRecord *record, double named) {
  if (!series->is_begun || series->is_restarted) check_first(series, record);

  if (logs->is_sum && isfinite(named)) {
    series->sum += named;
    series->step = round_step(logs->number_base + series->sum_base + series->sum);
    series->has_step = true;
  } else if (isfinite(named)) {
    series->step = round_step(named);
    series->has_step = true;
  }
  logs->has_step |= series->has_step;
  if (series->has_step) return series->step;
  return logs->number_base + (double)(series->number_base + ++series->number);
}

/* Returns the place of a metric in a series. */
static struct ProgramPlace *find_place(ProgramSeries *series, uint32_t key) {
  if (key >= series->place_count) {
    const size_t count = 2 * (size_t)key + 16;
    series->places = core_memory_resize(series->places, count * sizeof *series->places);
    for (size_t i = series->place_count; i < count; i++) series->places[i] = (struct ProgramPlace){NAN, 0};
    series->place_count = count;
  }
  return &series->places[key];
}

/* Returns the row at `step` with that index among those of this step, and makes it if there is none. */
static ProgramRow *find_row(ProgramLogs *logs, double step, int64_t index) {
  const size_t first = program_rows_lower(&logs->rows, step), end = program_rows_upper(&logs->rows, step);
  if (first + (size_t)index < end) return logs->rows.items[first + (size_t)index];
  return program_rows_insert(&logs->rows, end, step);
}

static void set_value(ProgramLogs *logs, ProgramRow *row, uint32_t key, double value) {
  const ProgramCell *cell = program_row_find(row, key);
  if (cell && cell->attempt == logs->attempt && program_logs_is_same(cell->value, value)) return;
  if (logs->keys[key].column == offsetof(StoreIteration, solve_rate) && logs->keys[key].kind == PROGRAM_COLUMN &&
      isfinite(value) && value > 1)
    logs->rate_above = value;
  program_row_set(row, key, logs->attempt, value);
  program_row_mark(&logs->rows, row);
  if (logs->keys[key].is_goal) program_logs_note_goal(logs, row->step);
  if (logs->keys[key].is_kl) note_kl(logs, row->step);
}

static void note_speed(ProgramLogs *logs, ProgramRow *row, const ProgramEntry *entries, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const ProgramKey *key = &logs->keys[entries[i].key];
    const bool is_speed = key->kind == PROGRAM_COLUMN && key->column == offsetof(StoreIteration, steps_per_second);
    if (is_speed) logs->reported_speed = entries[i].value;
  }
  if (row->is_dirty && isnan(row->speed)) row->speed = program_logs_speed(logs);
}

void program_logs_append(ProgramLogs *logs, ProgramSeries *series, const ProgramRecord *record) {
  const double named = find_entries(logs, record), step = find_step(logs, series, record, named);
  const ProgramEntry *entries = logs->entries;
  const size_t count = record->count;
  int64_t index = 0;
  if (isnan(logs->begin)) logs->begin = step;
  logs->end = fmax(logs->end, step);

  /* Repeated values of a metric at one step go to a row each. */
  for (size_t i = 0; i < count; i++) {
    const struct ProgramPlace *place = find_place(series, entries[i].key);
    const int64_t next = place->step == step ? place->index + 1 : 0;
    if (!entries[i].is_step && next > index) index = next;
  }

  pass(logs, logs->row_key, step);
  for (size_t i = 0; i < count; i++) pass(logs, entries[i].key, step);

  ProgramRow *row = find_row(logs, step, index);
  set_value(logs, row, logs->row_key, step);
  for (size_t i = 0; i < count; i++) {
    *find_place(series, entries[i].key) = (struct ProgramPlace){step, index};
    if (!entries[i].is_step) set_value(logs, row, entries[i].key, entries[i].value);
  }
  note_speed(logs, row, entries, count);
  take_empty(logs);
}

void program_logs_forget(ProgramLogs *logs, const char *name) {
  const uint32_t key = program_logs_key(logs, program_logs_column(logs, name), "");
  remove_values(logs, key, 0, logs->rows.count, false);
  take_empty(logs);
  logs->keys[key].last = logs->keys[key].jump_from = NAN;
  logs->keys[key].steps = 0;
}

void program_logs_clear(ProgramLogs *logs) {
  for (uint32_t key = 0; key < logs->key_names.count; key++) {
    remove_values(logs, key, 0, logs->rows.count, true);
    logs->keys[key].is_loaded = false;
  }
  take_empty(logs);
  logs->number_base = 0;
  logs->earlier_end = -INFINITY;
  logs->has_loaded_rows = false;
}

void program_logs_trim(ProgramLogs *logs) {
  const size_t first = isnan(logs->end) ? logs->rows.count : program_rows_upper(&logs->rows, logs->end);
  const bool is_one_step = logs->keys[logs->row_key].steps < 2; /* it may have logged its start only */
  for (uint32_t key = 0; key < logs->key_names.count; key++)
    if (logs->keys[key].steps > 0 || !is_one_step) remove_values(logs, key, first, logs->rows.count, true);
  take_empty(logs);
}

/* ---- what is known of the run ------------------------------------------------------------------------------------ */

int64_t program_logs_rows(const ProgramLogs *logs) { return (int64_t)logs->rows.count; }

double program_logs_step(const ProgramLogs *logs) { return logs->has_step || logs->total <= 0 ? logs->end : NAN; }

double program_logs_speed(const ProgramLogs *logs) {
  if (isfinite(logs->reported_speed)) return logs->reported_speed;
  if (isnan(logs->begin) || !logs->has_step) return NAN;
  const double seconds = core_clock_s() - logs->started_s;
  const size_t first = program_rows_lower(&logs->rows, logs->begin);
  const double begin = first > 0 ? logs->rows.items[first - 1]->step : 0;
  return seconds > 1 && logs->end > begin ? (logs->end - begin) / seconds : NAN;
}

bool program_logs_is_diverged(const ProgramLogs *logs) {
  double last = NAN;
  for (size_t i = logs->rows.count; i-- > 0;) {
    const ProgramRow *row = logs->rows.items[i];
    if (!isnan(last) && row->step < last - 0.02 * fmax(logs->total, last)) break;
    for (uint32_t c = 0; c < row->count; c++) {
      if (!logs->keys[row->cells[c].key].is_goal) continue;
      if (isfinite(row->cells[c].value)) return false;
      if (isnan(last)) last = row->step;
    }
  }
  return !isnan(last);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Whether this attempt has logged a name, which it has not changed since. */
static bool is_logged(const ProgramLogs *logs, size_t name) {
  if (name >= logs->use_count) return false;
  const ProgramUse *use = &logs->uses[name];
  return use->is_evaluated || (use->key > 0 && logs->keys[use->key].steps > 0);
}

/* Whether a metric has appeared under a name or in a column, in this attempt or an earlier one. */
static bool has_appeared(const ProgramLogs *logs, const ProgramSink *sink, const char *name, const char *column) {
  if (is_logged(logs, program_names_find(&sink->names, name))) return true;
  for (size_t i = 0; i < logs->key_names.count; i++)
    if (logs->keys[i].is_loaded && strcmp(logs->keys[i].name, column) == 0) return true;
  return false;
}

static bool has_goal_appeared(const ProgramLogs *logs) {
  for (size_t i = 0; i < logs->key_names.count; i++)
    if (logs->keys[i].is_goal && (logs->keys[i].steps > 0 || logs->keys[i].is_loaded)) return true;
  return !logs->has_goal || logs->has_evaluated_goal;
}

/* Appends a name that is missing, with a value of it that is no number. */
static void append_missing(const ProgramSink *sink, const char *use, const char *name, CoreText *text) {
  core_text_appendf(text, "%s%s: no %s", text->length ? "; " : "", use, name);
  for (size_t i = 0; i < sink->ignored.count; i++)
    if (strcmp(sink->ignored.items[i].name, name) == 0)
      core_text_appendf(text, " ('%s' is not a number)", sink->ignored.items[i].example);
}

static void append_logged(const ProgramLogs *logs, const ProgramSink *sink, CoreText *text) {
  enum { NAMES_SHOWN = 8 };
  size_t count = 0;
  for (size_t i = 0; i < sink->names.count; i++) {
    if (!is_logged(logs, i)) continue;
    if (count++ < NAMES_SHOWN) core_text_appendf(text, "%s%s", count > 1 ? ", " : "; logged: ", sink->names.items[i]);
  }
  if (count > NAMES_SHOWN) core_text_appendf(text, " and %zu more", count - NAMES_SHOWN);
}

void program_logs_describe_missing(const ProgramLogs *logs, const ProgramSink *sink, CoreText *text) {
  const CoreScriptDefinition *definition = logs->config->program->definition;
  const char *goal = core_script_text(logs->config->program, CORE_SCRIPT_goal);
  if (sink->names.count == 0 && sink->ignored.count == 0) return;

  const bool has_goal = has_goal_appeared(logs);
  const char *source = goal + (logs->has_goal ? 4 : 0); /* the program's own name of it */
  for (size_t i = 0; i < definition->metric_count; i++)
    if (strcmp(definition->metrics[i].column, logs->goal_name) == 0) source = definition->metrics[i].name;
  if (!has_goal) append_missing(sink, "goal", source, text);

  const bool needs_step = *logs->step_name && (logs->total > 0 || strcmp(logs->step_name, "step") != 0);
  if (needs_step && !has_appeared(logs, sink, logs->step_name, "") && !logs->has_loaded_rows)
    append_missing(sink, "step", logs->step_name, text);
  for (size_t i = 0; i < definition->metric_count; i++) {
    const CoreScriptMetric *metric = &definition->metrics[i];
    const bool is_told = !has_goal && strcmp(metric->name, source) == 0;
    if (!is_told && !has_appeared(logs, sink, metric->name, metric->column))
      append_missing(sink, metric->column, metric->name, text);
  }

  if (text->length > 0) append_logged(logs, sink, text);
  if (!isnan(logs->rate_above))
    core_text_appendf(text, "%sa solve rate is %g: expected 0 to 1; log percent / 100", text->length ? "; " : "",
                      logs->rate_above);
}

void program_logs_describe_ignored(const ProgramSink *sink, CoreText *text) {
  const ProgramIgnored *ignored = &sink->ignored;
  for (size_t i = 0; i < ignored->count; i++)
    core_text_appendf(text, "%s%s (%lld values, such as '%s')", i ? ", " : "not numbers, ignored: ",
                      ignored->items[i].name, (long long)ignored->items[i].count, ignored->items[i].example);
  if (ignored->empty > 0)
    core_text_appendf(text, "%s%lld records without a number", text->length ? "; " : "", (long long)ignored->empty);
  if (sink->names.dropped > 0)
    core_text_appendf(text, "%s%lld values dropped: more than %d metrics", text->length ? "; " : "",
                      (long long)sink->names.dropped, PROGRAM_NAMES_MAX);
  if (sink->damaged > 0)
    core_text_appendf(text, "%s%lld lines or events of the metrics could not be read", text->length ? "; " : "",
                      (long long)sink->damaged);
}
