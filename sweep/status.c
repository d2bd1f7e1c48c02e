/* `sweep status`: what every run says of itself, added up. Imports what is new into results.db on the way. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"
#include "store/database.h"
#include "sweep/commands.h"
#include "sweep/progress.h"
#include "sweep/sweep.h"

typedef struct StatusOptions {
  SweepCommon common;
  bool json, watch, runs, failed;
} StatusOptions;

/* Opens results.db and imports what is new; NULL when it can not be had, which does not hide the status: the states are
 * files. */
static StoreDatabase *open_and_import(const char *root) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database = NULL;
  StoreImport result;
  int code = store_path_database(root, path);
  if (code == CORE_OK) code = store_database_open(path, false, &database);
  if (code == CORE_OK) code = store_import(database, root, NULL, false, &result);
  if (code != CORE_OK) core_warn("results.db was not brought up to date: %s", core_error_message());
  else if (result.damaged_lines > 0)
    core_warn("%lld damaged run-log lines were skipped, the first: %s", (long long)result.damaged_lines, result.first_damage);
  if (code != CORE_OK) store_database_close(&database);
  return database;
}

static json_t *real_or_null(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *run_json(const SweepRunState *run) {
  const StoreState *state = &run->state;
  return json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:s, s:I, s:s}", "run", run->id, "status",
                   store_status_name(state->status), "attempt", state->attempt, "iteration", (json_int_t)state->iteration,
                   "iterations", (json_int_t)state->iterations, "transitions", (json_int_t)state->transitions,
                   "transitions_total", (json_int_t)state->transitions_total, "steps_per_second",
                   real_or_null(state->steps_per_second), "solve_rate", real_or_null(state->solve_rate), "host", state->host,
                   "pid", (json_int_t)state->pid, "message", state->message);
}

static json_t *sweep_json(const SweepProgress *progress) {
  json_t *object = json_pack("{s:s, s:I, s:f, s:b, s:o}", "name", progress->name, "runs", (json_int_t)progress->runs,
                             "done", progress->done, "queued", progress->queued, "eta_s", real_or_null(progress->eta_s));
  json_t *counts = json_object(), *runs = json_array();
  for (int i = 0; i < SWEEP_STATUSES; i++)
    json_object_set_new(counts, store_status_name((StoreStatus)i), json_integer((json_int_t)progress->count[i]));
  for (size_t i = 0; i < progress->runs; i++) json_array_append_new(runs, run_json(&progress->run[i]));
  json_object_set_new(object, "count", counts);
  json_object_set_new(object, "run", runs);
  return object;
}

/* A line a run: what --runs adds; --failed keeps only those that need a hand. */
static void print_runs(const SweepProgress *progress, bool only_failed) {
  static const char *const headers[] = {"index", "run", "status", "iteration", "of", "solve rate", "steps/s", "message"};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  char buffer[32];
  for (size_t i = 0; i < progress->runs; i++) {
    const StoreState *state = &progress->run[i].state;
    const bool bad = state->status == STORE_FAILED || state->status == STORE_DIVERGED || state->status == STORE_LOST;
    if (only_failed && !bad) continue;
    core_table_cell(table, "%zu", i);
    core_table_cell(table, "%s", progress->run[i].id);
    core_table_cell_color(table, bad ? CORE_RED : state->status == STORE_FINISHED ? CORE_GREEN : CORE_PLAIN, "%s",
                          store_status_name(state->status));
    core_table_cell(table, "%lld", (long long)state->iteration);
    core_table_cell(table, "%lld", (long long)state->iterations);
    if (isfinite(state->solve_rate)) core_table_cell(table, "%.3f", state->solve_rate);
    else core_table_cell(table, "-");
    if (isfinite(state->steps_per_second)) core_table_cell(table, "%s", core_text_count(state->steps_per_second, buffer));
    else core_table_cell(table, "-");
    core_table_cell(table, "%s", state->message);
  }
  core_table_print(table, stdout);
  core_table_destroy(&table);
}

static int show(const StatusOptions *options, StoreDatabase *database, char **names, size_t count, CoreLive *live,
                bool *busy) {
  json_t *list = options->json ? json_array() : NULL;
  CoreText text = {0};
  *busy = false;
  for (size_t i = 0; i < count; i++) {
    SweepProgress progress;
    const int code = sweep_progress_read(options->common.root, names[i], database, &progress);
    if (code != CORE_OK) {
      json_decref(list);
      core_text_free(&text);
      return code;
    }
    *busy |= progress.queued || progress.count[STORE_RUNNING] > 0;
    if (list) json_array_append_new(list, sweep_json(&progress));
    else sweep_progress_draw(&progress, false, &text);
    if (progress.queued && !progress.executor)
      core_text_appendf(&text, "  the executor is gone; sweep submit %s goes on\n", progress.name);
    if (!list && (options->runs || options->failed)) {
      fputs(core_text_string(&text), stdout);
      core_text_clear(&text);
      print_runs(&progress, options->failed);
    }
    sweep_progress_free(&progress);
  }
  if (list) {
    json_dumpf(list, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    printf("\n");
  } else if (options->watch) {
    core_live_draw(live, core_text_string(&text), !*busy);
  } else {
    fputs(core_text_string(&text), stdout);
  }
  json_decref(list);
  core_text_free(&text);
  return CORE_OK;
}

static int status(const StatusOptions *options, const char **operands, size_t operand_count) {
  const char *root = options->common.root;
  char **names = NULL, name[SWEEP_NAME], *one = name;
  size_t count = 1;
  int code;
  if (operand_count > 0) TRY(sweep_common_name(&options->common, operands[0], name));
  else TRY(sweep_common_list(root, &names, &count));
  if (count == 0 && !options->json) printf("no sweeps in %s; sweep submit FILE starts one\n", root);
  CoreLive live = {.stream = stdout, .plain_every_s = 15};
  bool busy;
  do {
    StoreDatabase *database = open_and_import(root);
    code = show(options, database, operand_count > 0 ? &one : names, count, &live, &busy);
    store_database_close(&database);
    if (options->watch && busy && code == CORE_OK) sleep(2);
  } while (options->watch && busy && code == CORE_OK);
  for (size_t i = 0; names && i < count; i++) free(names[i]);
  free(names);
  return code;
}

int sweep_status(int argc, char **argv) {
  static const char *const usage = "sweep status [NAME] [options]";
  StatusOptions given = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(given.common),
    {"runs", 0, CORE_OPTION_FLAG, &given.runs, NULL, "a line for each run"},
    {"failed", 0, CORE_OPTION_FLAG, &given.failed, NULL, "a line for each run that failed, diverged or was lost"},
    {"watch", 'w', CORE_OPTION_FLAG, &given.watch, NULL, "redraw until nothing runs"},
    {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "everything, for scripts"},
    {0}};
  const char **operands;
  size_t count;
  bool help;
  TRY(core_options_parse(options, argc, argv, &operands, &count, &help));
  int code = CORE_OK;
  if (help)
    core_options_help(usage,
                      "Progress, speed, time left, and failures with their reasons: of one sweep, or of all in the "
                      "workspace. A run that says running but whose process is gone is shown as lost.", options);
  else if ((code = sweep_common_operands(usage, count, 0, 1)) == CORE_OK && given.watch && given.json)
    code = core_error(CORE_USAGE, "--watch and --json exclude each other");
  if (!help && code == CORE_OK) code = sweep_common_open(&given.common);
  if (!help && code == CORE_OK) code = status(&given, operands, count);
  sweep_common_close(&given.common);
  free(operands);
  return code;
}
