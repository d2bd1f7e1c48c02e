/* `sweep status`: what every run says of itself and what Slurm says of it, added up. Imports what is new into
 * results.db on the way. Slurm is asked once for all sweeps that are shown, and not at all when nothing of them is
 * unfinished. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/database.h"
#include "sweep/cluster/journal.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/status_internal.h"

enum { QUEUE_AGE_S = 5 /* so long an answer of Slurm is good for */ };

typedef struct StatusOptions {
  SweepCommon common;
  bool json, csv, watch, runs, failed;
} StatusOptions;

/* Opens results.db and imports what is new; NULL when it can not be had, or may lie behind (of an older version, or
 * another process is importing), which does not hide the status: the states are files. */
static StoreDatabase *open_and_import(const char *root) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database = NULL;
  StoreImport result;
  int64_t older = 0;
  int code = store_path_database(root, path);
  if (code == CORE_OK) code = store_database_open_to_show(path, &database, &older);
  if (code == CORE_OK && older) {
    core_warn(STORE_OLDER_NOTE, path, (long long)older);
    store_database_close(&database);
    return NULL;
  }
  if (code == CORE_OK) code = store_import(database, root, NULL, false, &result);
  if (code != CORE_OK) core_warn("results.db was not brought up to date: %s", core_error_message());
  else if (result.damaged_lines > 0)
    core_warn("%lld damaged run-log lines were skipped, the first: %s", (long long)result.damaged_lines,
              result.first_damage);
  if (code != CORE_OK || result.rows < 0) store_database_close(&database);
  return database;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

const char *sweep_shown_status(const SweepShown *shown, size_t index) {
  return shown->is_slurm ? sweep_kind_name(shown->cluster.run[index].kind)
                         : store_status_name(shown->progress.run[index].state.status);
}

const char *sweep_shown_reason(const SweepShown *shown, size_t index) {
  const bool is_known = shown->is_slurm && !shown->progress.run[index].is_dropped && shown->cluster.run[index].text[0];
  return is_known ? shown->cluster.run[index].text : sweep_progress_reason(&shown->progress, index);
}

static bool is_trouble(const SweepShown *shown, size_t index) {
  return shown->is_slurm ? sweep_cluster_status_is_trouble(&shown->progress, &shown->cluster, index)
                         : sweep_progress_is_trouble(&shown->progress, index);
}

/* Of solve rates, and of returns where episodes have no goal. */
static const char *result_name(const SweepProgress *progress) {
  bool rates = false, returns = false;
  for (size_t i = 0; i < progress->runs; i++) {
    rates |= isfinite(progress->run[i].state.solve_rate);
    returns |= isfinite(progress->run[i].state.episode_return);
  }
  return !returns ? "solve rate" : rates ? "solve rate or return" : "return";
}

static void print_result(CoreTable *table, const StoreState *state) {
  if (isfinite(state->solve_rate)) core_table_cell(table, "%.3f", state->solve_rate);
  else if (isfinite(state->episode_return)) core_table_cell(table, "%.4g", state->episode_return);
  else core_table_cell(table, "-");
}

/* A line a run: what --runs adds; --failed keeps only those that need a hand. */
static void print_runs(const SweepShown *shown, bool only_failed) {
  const char *const headers[] = {"index", "run", "status", "iteration", "of", result_name(&shown->progress),
                                 "steps/s", "message"};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  char buffer[32];
  for (size_t i = 0; i < shown->progress.runs; i++) {
    const StoreState *state = &shown->progress.run[i].state;
    const bool bad = is_trouble(shown, i);
    if (only_failed && !bad) continue;
    core_table_cell(table, "%zu", i);
    core_table_cell(table, "%s", shown->progress.run[i].id);
    core_table_cell_color(table,
                          bad                               ? CORE_RED
                          : state->status == STORE_FINISHED ? CORE_GREEN
                                                            : CORE_PLAIN,
                          "%s", sweep_shown_status(shown, i));
    core_table_cell(table, "%lld", (long long)state->iteration);
    core_table_cell(table, "%lld", (long long)state->iterations);
    print_result(table, state);
    if (isfinite(state->steps_per_second))
      core_table_cell(table, "%s", core_text_count(state->steps_per_second, buffer));
    else core_table_cell(table, "-");
    core_table_cell(table, "%s", sweep_shown_reason(shown, i));
  }
  core_table_print(table, stdout);
  core_table_destroy(&table);
}

/* A field of a CSV line, quoted where RFC 4180 wants it. */
static void print_field(const char *text, char end) {
  if (!strpbrk(text, ",\"\n")) {
    printf("%s%c", text, end);
    return;
  }
  putchar('"');
  for (; *text; text++) printf(*text == '"' ? "\"\"" : "%c", *text);
  printf("\"%c", end);
}

static void print_csv(const SweepShown *shown, bool only_failed) {
  char job[48];
  for (size_t i = 0; i < shown->progress.runs; i++) {
    const StoreState *state = &shown->progress.run[i].state;
    if (only_failed && !is_trouble(shown, i)) continue;
    job[0] = '\0';
    if (shown->is_slurm && shown->cluster.run[i].id.job > 0) slurm_id_format(shown->cluster.run[i].id, job);
    printf("%s,%zu,%s,", shown->progress.name, i, shown->progress.run[i].id);
    print_field(sweep_shown_status(shown, i), ',');
    printf("%d,%lld,%lld,", state->attempt, (long long)state->iteration, (long long)state->iterations);
    if (isfinite(state->solve_rate)) printf("%.6g", state->solve_rate);
    printf(",");
    if (isfinite(state->steps_per_second)) printf("%.6g", state->steps_per_second);
    printf(",%s,%s,", job, state->host);
    print_field(sweep_shown_reason(shown, i), '\n');
  }
}

/* ---- all sweeps -------------------------------------------------------------------------------------------------- */

static bool is_unfinished(const SweepProgress *progress) {
  return progress->count[STORE_FINISHED] + progress->count[STORE_DIVERGED] < progress->runs;
}

/* Joins with Slurm what is Slurm's. */
static int join(const StatusOptions *options, SweepShown *shown, size_t count) {
  const char **names = core_memory_allocate((count + 1) * sizeof *names);
  size_t asked = 0;
  char problem[512] = "";
  SlurmTasks tasks = {0};
  for (size_t i = 0; i < count; i++) {
    shown[i].is_slurm = sweep_journal_exists(options->common.root, shown[i].progress.name);
    if (shown[i].is_slurm && is_unfinished(&shown[i].progress)) names[asked++] = shown[i].progress.name;
  }
  const bool known = asked == 0 || sweep_cluster_status_ask(names, asked, QUEUE_AGE_S, &tasks) == CORE_OK;
  if (!known) snprintf(problem, sizeof problem, "%s", core_error_message());
  int code = CORE_OK;
  for (size_t i = 0; i < count && code == CORE_OK; i++)
    if (shown[i].is_slurm)
      code = sweep_cluster_status_make(options->common.root, &shown[i].progress, known ? &tasks : NULL, problem,
                                 &shown[i].cluster);
  slurm_tasks_free(&tasks);
  free(names);
  return code;
}

static bool is_busy(const SweepShown *shown) {
  const SweepProgress *progress = &shown->progress;
  if (!shown->is_slurm) return (progress->queued && progress->executor) || progress->count[STORE_RUNNING] > 0;
  return shown->cluster.count[SWEEP_QUEUED] + shown->cluster.count[SWEEP_STARTING] +
           shown->cluster.count[SWEEP_RUNNING] >
         0;
}

static void draw(const StatusOptions *options, const SweepShown *shown, CoreText *text) {
  if (shown->is_slurm) sweep_cluster_status_draw(&shown->progress, &shown->cluster, text);
  else sweep_progress_draw(&shown->progress, false, text);
  if (!options->failed) sweep_failures_draw(&shown->troubles, &shown->progress, text);
  if (shown->progress.queued && !shown->progress.executor)
    core_text_appendf(text, "  the executor is gone; sweep submit %s goes on\n", shown->progress.name);
  if (!options->runs && !options->failed) return;
  fputs(core_text_string(text), stdout);
  core_text_clear(text);
  print_runs(shown, options->failed);
}

static void print(const StatusOptions *options, SweepShown *shown, size_t count, CoreLive *live, bool busy) {
  json_t *list = options->json ? json_array() : NULL;
  CoreText text = {0};
  if (options->csv)
    printf("sweep,index,run,status,attempt,iteration,iterations,solve_rate,steps_per_second,job,host,reason\n");
  for (size_t i = 0; i < count; i++) {
    if (list) json_array_append_new(list, sweep_shown_json(&shown[i]));
    else if (options->csv) print_csv(&shown[i], options->failed);
    else draw(options, &shown[i], &text);
  }
  if (list) {
    core_json_print(list);
  } else if (options->watch) {
    core_live_draw(live, core_text_string(&text), !busy);
  } else {
    fputs(core_text_string(&text), stdout);
  }
  core_text_free(&text);
}

/* What the sweep's own file says: which runs it no longer has, and, for scripts, their settings. */
static void read_members(const StatusOptions *options, SweepShown *shown) {
  SweepProgress *progress = &shown->progress;
  if (!options->json && progress->count[STORE_FINISHED] == progress->runs) return;
  if (sweep_members_read(options->common.root, progress, &shown->members) == CORE_OK) {
    if (shown->is_slurm) sweep_cluster_status_drop(shown->members.absent, progress, &shown->cluster);
    else sweep_progress_drop(progress, shown->members.absent);
    return;
  }
  if (!options->watch)
    core_warn("%s; so it is not known which runs %s still has", core_error_message(), progress->name);
  core_error_clear();
}

/* A sweep that can not be read does not hide the others. */
static int read_progress(const StatusOptions *options, StoreDatabase *database, char **names, size_t *count,
                         SweepShown *shown) {
  char problem[512] = "";
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    shown[kept].root = options->common.root;
    if (sweep_progress_read(options->common.root, names[i], database, &shown[kept].progress) == CORE_OK) kept++;
    else if (!*problem) snprintf(problem, sizeof problem, "%s", core_error_message());
  }
  *count = kept;
  return *problem ? core_error(CORE_FAIL, "%s", problem) : CORE_OK;
}

static int judge(const StatusOptions *options, SweepShown *shown, size_t count) {
  TRY(join(options, shown, count));
  for (size_t i = 0; i < count; i++) {
    read_members(options, &shown[i]);
    if (shown[i].is_slurm) {
      sweep_cluster_status_expect(&shown[i].cluster, &shown[i].progress);
      sweep_cluster_status_trouble(&shown[i].progress, &shown[i].cluster, &shown[i].troubles);
    } else {
      sweep_failures_of_progress(&shown[i].progress, &shown[i].troubles);
    }
  }
  return CORE_OK;
}

static int show(const StatusOptions *options, StoreDatabase *database, char **names, size_t count, CoreLive *live,
                bool *busy) {
  SweepShown *shown = core_memory_zero_allocate(count + 1, sizeof *shown);
  char problem[512] = "";
  const int unread = read_progress(options, database, names, &count, shown);
  if (unread != CORE_OK) snprintf(problem, sizeof problem, "%s", core_error_message());
  int code = judge(options, shown, count);
  *busy = false;
  for (size_t i = 0; i < count && code == CORE_OK; i++) *busy |= is_busy(&shown[i]);
  if (code == CORE_OK && (count > 0 || unread == CORE_OK)) print(options, shown, count, live, *busy);
  for (size_t i = 0; i < count; i++) {
    sweep_failures_free(&shown[i].troubles);
    sweep_members_free(&shown[i].members);
    sweep_cluster_status_free(&shown[i].cluster);
    sweep_progress_free(&shown[i].progress);
  }
  free(shown);
  if (code == CORE_OK && unread != CORE_OK) return core_error(unread, "%s", problem);
  return code;
}

static int status(void *given, const char **operands, size_t operand_count) {
  StatusOptions *options = given;
  const char *root = options->common.root;
  char **names = NULL, name[SWEEP_NAME], *one = name;
  size_t count = 1;
  int code;
  if (options->watch + options->json + options->csv > 1)
    return core_error(CORE_USAGE, "--watch, --json and --csv exclude each other");
  TRY(sweep_common_open(&options->common));
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
  static const CoreManual manual = {
    .usage = "sweep status [NAME] [options]",
    .about = "Progress, speed, time left, and failures with their reasons: of one sweep, or of all in the workspace. "
             "Runs on a cluster are shown with what Slurm says of them: why they wait and what to do, who cancelled "
             "them, what killed them; Slurm is asked once for all, and its answer is good for five seconds. A run that "
             "says running but whose process is gone is shown as lost.",
    .most = 1};
  StatusOptions given = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(given.common),
    {"runs", 0, CORE_OPTION_FLAG, &given.runs, NULL, "a line for each run"},
    {"failed", 0, CORE_OPTION_FLAG, &given.failed, NULL,
     "a line for each run that needs a hand: failed, lost, cancelled ..."},
    {"watch", 'w', CORE_OPTION_FLAG, &given.watch, NULL, "redraw until nothing runs"},
    {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "everything, for scripts"},
    {"csv", 0, CORE_OPTION_FLAG, &given.csv, NULL, "a line for each run (with --failed: only those), for spreadsheets"},
    {0}};
  return core_options_answer(&manual, options, argc, argv, status, &given);
}
