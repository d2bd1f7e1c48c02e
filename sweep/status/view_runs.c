/* Prints runs as a table and as CSV (view.h). */
#include "sweep/status/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/query.h"

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* Results of a run's evaluations on its training levels; NaN: not in results.db. */
typedef struct RunScores {
  double best_solve_rate, best_return, last_return;
} RunScores;

static int read_scores(StoreDatabase *database, const SweepProgress *progress, RunScores *scores) {
  StoreQuery *query;
  bool row;
  int code;
  TRY(store_query_open(database,
                       "SELECT s.idx, s.run_id, r.best_solve_rate, r.best_return, r.last_return "
                       "FROM sweep_run AS s JOIN run_summary AS r ON r.run_id = s.run_id WHERE s.sweep = ?1",
                       &query));

  store_query_bind_text(query, 1, progress->name);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const int64_t index = store_query_int(query, 0);
    if (index < 0 || (size_t)index >= progress->runs) continue;
    if (strcmp(progress->run[index].id, store_query_text(query, 1)) != 0) continue;
    scores[index] = (RunScores){store_query_real(query, 2), store_query_real(query, 3), store_query_real(query, 4)};
  }

  store_query_close(&query);
  return code;
}

/* Returns scores[progress->runs]. The last return comes from the run's state, if it has one, so that it is known before
 * the evaluations are imported. Caller frees. */
static RunScores *make_scores(StoreDatabase *database, const SweepProgress *progress) {
  RunScores *scores = core_memory_allocate((progress->runs + 1) * sizeof *scores);
  for (size_t i = 0; i < progress->runs; i++) scores[i] = (RunScores){NAN, NAN, NAN};
  if (database && read_scores(database, progress, scores) != CORE_OK) core_error_clear();
  for (size_t i = 0; i < progress->runs; i++)
    if (isfinite(progress->run[i].state.episode_return)) scores[i].last_return = progress->run[i].state.episode_return;
  return scores;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Returns differs[row of core/config]: whether runs within one of the sweeps differ in the setting. Caller frees. */
static bool *find_settings(SweepView *view, size_t count) {
  bool *differs = core_memory_zero_allocate(CORE_CONFIG_ROWS_MAX, sizeof *differs);
  for (size_t i = 0; i < count; i++) sweep_members_add_differences(&view[i].members, differs);
  return differs;
}

/* Calls `add` with the value of each setting of differs[]; "": unknown, or the run does not read it. */
static void visit_settings(SweepView *view, size_t index, const bool *differs,
                           void (*add)(void *target, const char *value), void *target) {
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  CoreConfig config;
  CoreText value = {0};
  const bool is_known = sweep_members_config(&view->members, index, &config);
  for (size_t r = 0; r < rows; r++) {
    const bool is_read = is_known && (!(config.program || row[r].is_program) || core_config_is_read(&config, &row[r]));
    if (differs[r]) add(target, is_read ? core_config_get(&config, &row[r], &value) : "");
  }
  core_text_free(&value);
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

/* Returns the header of the result column: "solve rate", "return", or both if only some runs report solve rates. */
static const char *result_name(const SweepProgress *progress) {
  bool has_rates = false, has_returns = false;
  for (size_t i = 0; i < progress->runs; i++) {
    has_rates |= isfinite(progress->run[i].state.solve_rate);
    has_returns |= isfinite(progress->run[i].state.episode_return);
  }
  return !has_returns ? "solve rate" : has_rates ? "solve rate or return" : "return";
}

/* Whether a run counts steps: a program, whose rows may be at any interval. */
static bool counts_steps(const SweepState *state) {
  return state->iterations > 0 && state->iterations == state->transitions_total;
}

/* Returns the header of the progress column. */
static const char *progress_name(const SweepProgress *progress) {
  bool has_programs = false, has_others = false; /* neither: a program's run that has not started */
  for (size_t i = 0; i < progress->runs; i++) {
    has_programs |= counts_steps(&progress->run[i].state);
    has_others |= progress->run[i].state.iterations > 0 && !counts_steps(&progress->run[i].state);
  }
  return !has_programs ? "iteration" : has_others ? "iteration or step" : "step";
}

static void print_number(CoreTable *table, const char *format, double value) {
  char number[32];
  snprintf(number, sizeof number, format, value);
  core_table_cell(table, "%s", isfinite(value) ? number : "-");
}

/* Prints the last and the best result. */
static void print_results(CoreTable *table, const SweepState *state, const RunScores *scores) {
  const bool is_rate = isfinite(state->solve_rate);
  if (is_rate) print_number(table, "%.3f", state->solve_rate);
  else print_number(table, "%.4g", state->episode_return);
  if (is_rate) print_number(table, "%.3f", scores->best_solve_rate);
  else print_number(table, "%.4g", scores->best_return);
}

/* Prints the reason of the run's condition, and its annotations in brackets. */
static void print_message(CoreTable *table, const SweepView *view, size_t index) {
  const StoreAnnotations *run_annotations = sweep_annotations_find_run(&view->annotations, index);
  const char *reason = sweep_view_reason(view, index), *pinned = index == view->annotations.pinned ? "pinned; " : "";
  CoreText line = {0};
  if (run_annotations) store_annotations_line(run_annotations, &line);
  if (line.length) core_table_cell(table, "%s%s[%s%s]", reason, *reason ? " " : "", pinned, core_text_string(&line));
  else core_table_cell(table, "%s%s%s", reason, *pinned && *reason ? " " : "", *pinned ? "[pinned]" : "");
  core_text_free(&line);
}

static void add_to_table(void *target, const char *value) { core_table_cell(target, "%s", value); }

static void print_run(CoreTable *table, SweepView *view, size_t i, const RunScores *scores, const bool *differs) {
  const SweepState *state = &view->progress.run[i].state;
  const bool needs_attention = sweep_view_needs_attention(view, i);
  char buffer[32];

  core_table_cell(table, "%zu", i);
  core_table_cell(table, "%s", view->progress.run[i].id);
  core_table_cell_color(table,
                        needs_attention                   ? CORE_RED
                        : state->status == STORE_FINISHED ? CORE_GREEN
                                                          : CORE_PLAIN,
                        "%s", sweep_view_status(view, i));

  core_table_cell(table, "%lld", (long long)(counts_steps(state) ? state->transitions : state->iteration));
  core_table_cell(table, "%lld", (long long)state->iterations);
  print_results(table, state, scores);
  core_table_cell(table, "%s",
                  isfinite(state->steps_per_second) ? core_text_count(state->steps_per_second, buffer) : "-");
  visit_settings(view, i, differs, add_to_table, table);
  print_message(table, view, i);
}

void sweep_view_print_runs(SweepView *view, StoreDatabase *database, const SweepRunFilter *filter) {
  size_t rows, columns = 0;
  const CoreConfigRow *row = core_config_rows(&rows);
  const char *const fixed[] = {"index", "run",    "status", progress_name(&view->progress), "of",
                               result_name(&view->progress), "best", "steps/s"};
  const char **headers = core_memory_allocate((CORE_CONFIG_ROWS_MAX + 16) * sizeof *headers);
  bool *differs = find_settings(view, 1);
  core_config_rows(&rows); /* again: runs of programs that were read have added rows */
  RunScores *scores = make_scores(database, &view->progress);

  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) headers[columns++] = fixed[i];
  for (size_t r = 0; r < rows; r++)
    if (differs[r]) headers[columns++] = row[r].name;
  headers[columns++] = "message";

  CoreTable *table = core_table_create(headers, columns);
  for (size_t i = 0; i < view->progress.runs; i++)
    if (filter->is_listed(filter->context, view, i)) print_run(table, view, i, &scores[i], differs);
  core_table_print(table, stdout);
  core_table_destroy(&table);

  free(scores);
  free(differs);
  free(headers);
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

/* Appends the next cell of a line. */
static void append_cell(void *line, const char *text) {
  core_text_append(line, ",");
  core_text_append_cell(line, text);
}

static void append_number(CoreText *line, double value) {
  if (isfinite(value)) core_text_appendf(line, ",%.6g", value);
  else core_text_append(line, ",");
}

static void append_run(SweepView *view, size_t i, const RunScores *scores, const bool *differs, CoreText *line) {
  const SweepState *state = &view->progress.run[i].state;
  char job[48] = "";
  if (view->is_slurm && view->cluster.run[i].id.job > 0) slurm_id_format(view->cluster.run[i].id, job);

  core_text_append_cell(line, view->progress.name);
  core_text_appendf(line, ",%zu", i);
  append_cell(line, view->progress.run[i].id);
  append_cell(line, sweep_view_status(view, i));
  core_text_appendf(line, ",%d,%lld,%lld", state->attempt, (long long)state->iteration, (long long)state->iterations);

  append_number(line, state->solve_rate);
  append_number(line, state->steps_per_second);
  append_cell(line, job);
  append_cell(line, state->host);
  append_cell(line, sweep_view_reason(view, i));
  append_number(line, scores->best_solve_rate);
  append_number(line, scores->last_return);
  append_number(line, scores->best_return);
  visit_settings(view, i, differs, append_cell, line);
  core_text_append(line, "\n");
}

static void print_sweep(SweepView *view, StoreDatabase *database, const SweepRunFilter *filter, const bool *differs) {
  CoreText line = {0};
  RunScores *scores = make_scores(database, &view->progress);
  for (size_t i = 0; i < view->progress.runs; i++) {
    if (!filter->is_listed(filter->context, view, i)) continue;
    core_text_clear(&line);
    append_run(view, i, &scores[i], differs, &line);
    fputs(core_text_string(&line), stdout);
  }
  free(scores);
  core_text_free(&line);
}

void sweep_view_print_csv(SweepView *view, size_t count, StoreDatabase *database, const SweepRunFilter *filter) {
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  bool *differs = find_settings(view, count);
  core_config_rows(&rows); /* again: runs of programs that were read have added rows */
  printf("sweep,index,run,status,attempt,iteration,iterations,solve_rate,steps_per_second,job,host,reason,"
         "best_solve_rate,episode_return,best_return");
  for (size_t r = 0; r < rows; r++)
    if (differs[r]) printf(",%s", row[r].name);
  printf("\n");
  for (size_t i = 0; i < count; i++) print_sweep(&view[i], database, filter, differs);
  free(differs);
}
