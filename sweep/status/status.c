/* `sweep status`: what every run says of itself and what Slurm says of it, added up (shown.c), for people and as CSV.
 * Imports what is new into results.db on the way. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/database.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/shown.h"

enum { QUEUE_AGE_S = 5 /* so long an answer of Slurm is good for */ };

typedef struct StatusOptions {
  SweepCommon common;
  const char *tag;            /* NULL: any */
  bool json, csv, watch, runs, failed;
} StatusOptions;

/* ---- one run ----------------------------------------------------------------------------------------------------- */

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

/* Among the lines a run: --failed keeps those that need a hand, --tag those that have it, or whose sweep has. */
static bool is_listed(const StatusOptions *options, const SweepShown *shown, size_t index) {
  return (!options->failed || sweep_shown_is_trouble(shown, index)) &&
         sweep_said_is_tagged(&shown->said, index, options->tag);
}

/* Why it has its status, and in brackets what people say of it. */
static void print_message(CoreTable *table, const SweepShown *shown, size_t index) {
  const StoreAnnotations *own = sweep_said_of(&shown->said, index);
  const char *reason = sweep_shown_reason(shown, index), *pinned = index == shown->said.pinned ? "pinned; " : "";
  CoreText line = {0};
  if (own) store_annotations_line(own, &line);
  if (line.length) core_table_cell(table, "%s%s[%s%s]", reason, *reason ? " " : "", pinned, core_text_string(&line));
  else core_table_cell(table, "%s%s%s", reason, *pinned && *reason ? " " : "", *pinned ? "[pinned]" : "");
  core_text_free(&line);
}

/* A line a run: what --runs adds. */
static void print_runs(const StatusOptions *options, const SweepShown *shown) {
  const char *const headers[] = {"index", "run", "status", "iteration", "of", result_name(&shown->progress),
                                 "steps/s", "message"};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  char buffer[32];
  for (size_t i = 0; i < shown->progress.runs; i++) {
    const StoreState *state = &shown->progress.run[i].state;
    const bool bad = sweep_shown_is_trouble(shown, i);
    if (!is_listed(options, shown, i)) continue;
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
    print_message(table, shown, i);
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

static void print_csv(const StatusOptions *options, const SweepShown *shown) {
  char job[48];
  for (size_t i = 0; i < shown->progress.runs; i++) {
    const StoreState *state = &shown->progress.run[i].state;
    if (!is_listed(options, shown, i)) continue;
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

static void draw(const StatusOptions *options, const SweepShown *shown, CoreText *text) {
  if (shown->is_slurm) sweep_cluster_status_draw(&shown->progress, &shown->cluster, text);
  else sweep_progress_draw(&shown->progress, false, text);
  sweep_said_draw(&shown->said, shown->progress.name, text);
  if (!options->failed) sweep_failures_draw(&shown->troubles, &shown->progress, text);
  if (shown->progress.queued && !shown->progress.executor)
    core_text_appendf(text, "  the executor is gone; sweep submit %s goes on\n", shown->progress.name);
  if (!options->runs && !options->failed) return;
  fputs(core_text_string(text), stdout);
  core_text_clear(text);
  print_runs(options, shown);
}

static void print(const StatusOptions *options, SweepShown *shown, size_t count, CoreLive *live, bool busy) {
  json_t *list = options->json ? json_array() : NULL;
  CoreText text = {0};
  if (options->csv)
    printf("sweep,index,run,status,attempt,iteration,iterations,solve_rate,steps_per_second,job,host,reason\n");
  for (size_t i = 0; i < count; i++) {
    if (options->tag && !sweep_said_has_tag(&shown[i].said, options->tag)) continue;
    if (list) json_array_append_new(list, sweep_shown_json(&shown[i]));
    else if (options->csv) print_csv(options, &shown[i]);
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

static int show(const StatusOptions *options, StoreDatabase *database, char **names, size_t count, CoreLive *live,
                bool *busy) {
  const SweepShownAsked asked = {.root = options->common.root, .settings = options->json,
                                 .is_repeated = options->watch, .queue_age_s = QUEUE_AGE_S};
  SweepShown *shown = core_memory_zero_allocate(count + 1, sizeof *shown);
  char problem[SWEEP_SHOWN_PROBLEM];
  int code = sweep_shown_read(&asked, database, names, &count, shown, problem);
  *busy = false;
  for (size_t i = 0; i < count && code == CORE_OK; i++) *busy |= sweep_shown_is_busy(&shown[i]);
  if (code == CORE_OK && (count > 0 || !*problem)) print(options, shown, count, live, *busy);
  sweep_shown_free(shown, count);
  free(shown);
  return code == CORE_OK && *problem ? core_error(CORE_FAIL, "%s", problem) : code;
}

static int status(void *given, const char **operands, size_t operand_count) {
  StatusOptions *options = given;
  const char *root = options->common.root;
  char **names = NULL, name[SWEEP_NAME], *one = name;
  size_t count = 1;
  int code;
  if (options->watch + options->json + options->csv > 1)
    return core_error(CORE_USAGE, "--watch, --json and --csv exclude each other");
  if (options->tag) TRY(core_text_check_name(options->tag, "--tag"));
  TRY(sweep_common_open(&options->common));
  if (operand_count > 0) TRY(sweep_common_name(&options->common, operands[0], name));
  else TRY(sweep_common_list(root, &names, &count));
  if (count == 0 && !options->json) printf("no sweeps in %s; sweep submit FILE starts one\n", root);
  CoreLive live = {.stream = stdout, .plain_every_s = 15};
  bool busy;
  do {
    StoreDatabase *database = sweep_shown_import(root, false);
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
    {"tag", 't', CORE_OPTION_TEXT, &given.tag, "TAG",
     "only sweeps that have this tag or a run with it; of lines a run only those runs (sweep tag)"},
    {"watch", 'w', CORE_OPTION_FLAG, &given.watch, NULL, "redraw until nothing runs"},
    {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "everything, for scripts"},
    {"csv", 0, CORE_OPTION_FLAG, &given.csv, NULL, "a line for each run (with --failed: only those), for spreadsheets"},
    {0}};
  return core_options_answer(&manual, options, argc, argv, status, &given);
}
