/* `sweep status`: what every run says of itself and what Slurm says of it, added up (view.c), for people and as CSV.
 * Imports what is new into results.db on the way. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/database.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/view.h"
#include "sweep/status/view_runs.h"

enum { QUEUE_AGE_S = 5 /* so long an answer of Slurm is good for */ };

typedef struct StatusOptions {
  SweepCommon common;
  const char *tag;            /* NULL: any */
  bool json, csv, watch, runs, failed;
} StatusOptions;

/* ---- all sweeps -------------------------------------------------------------------------------------------------- */

/* Among the lines a run: --failed keeps those that need a hand, --tag those that have it, or whose sweep has. */
static bool is_listed(const void *context, const SweepView *view, size_t index) {
  const StatusOptions *options = context;
  return (!options->failed || sweep_view_needs_attention(view, index)) &&
         sweep_annotations_run_has_tag(&view->annotations, index, options->tag);
}

static void draw(const StatusOptions *options, StoreDatabase *database, SweepView *view, CoreText *text) {
  const SweepRunFilter filter = {is_listed, options};
  if (view->is_slurm) sweep_cluster_status_draw(&view->progress, &view->cluster, text);
  else sweep_progress_draw(&view->progress, false, text);
  sweep_annotations_draw(&view->annotations, view->progress.name, text);
  if (!options->failed) sweep_failures_draw(&view->failures, &view->progress, text);
  if (view->progress.queued && !view->progress.executor)
    core_text_appendf(text, "  the executor is gone; sweep submit %s goes on\n", view->progress.name);
  if (!options->runs && !options->failed) return;
  fputs(core_text_string(text), stdout);
  core_text_clear(text);
  sweep_view_print_runs(view, database, &filter);
}

static void print(const StatusOptions *options, StoreDatabase *database, SweepView *view, size_t count, CoreLive *live,
                  bool busy) {
  const SweepRunFilter filter = {is_listed, options};
  json_t *list = options->json ? json_array() : NULL;
  CoreText text = {0};
  if (options->csv) sweep_view_print_csv(view, count, database, &filter);
  for (size_t i = 0; i < count && !options->csv; i++) {
    if (options->tag && !sweep_annotations_has_tag(&view[i].annotations, options->tag)) continue;
    if (list) json_array_append_new(list, sweep_view_json(&view[i]));
    else draw(options, database, &view[i], &text);
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
  const SweepViewOptions asked = {.root = options->common.root,
                                  .settings = options->json || options->csv || options->runs || options->failed,
                                  .is_repeated = options->watch,
                                  .queue_age_s = QUEUE_AGE_S};
  SweepView *view = core_memory_zero_allocate(count + 1, sizeof *view);
  char problem[SWEEP_VIEW_PROBLEM];
  int code = sweep_view_read(&asked, database, names, &count, view, problem);
  *busy = false;
  for (size_t i = 0; i < count && code == CORE_OK; i++) *busy |= sweep_view_is_active(&view[i]);
  if (code == CORE_OK && (count > 0 || !*problem)) print(options, database, view, count, live, *busy);
  sweep_view_free(view, count);
  free(view);
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
    StoreDatabase *database = sweep_view_import(root, false);
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
