/* Implements `sweep status`: prints views of sweeps (view.c) as text, CSV and JSON. Imports new rows into
 * results.db. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "store/database/database.h"
#include "sweep/commands.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/usage.h"
#include "sweep/status/view.h"

enum { QUEUE_AGE_S = 5 /* maximum age of a cached answer of Slurm */ };

typedef struct StatusOptions {
  SweepCommon common;
  const char *tag;            /* NULL: any */
  bool json, csv, watch, runs, failed, cost;
} StatusOptions;

/* ---- all sweeps -------------------------------------------------------------------------------------------------- */

/* Whether the run is listed: --failed selects runs that need attention, --tag runs with the tag or in a sweep with
 * it. */
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
  sweep_search_waits_draw(&view->searches, &view->progress, text);
  if (!options->failed) sweep_failures_draw(&view->failures, &view->progress, text);
  if (view->progress.queued && !view->progress.executor)
    core_text_appendf(text, "  the executor is gone; sweep submit %s resumes\n", view->progress.name);
  if (!options->runs && !options->failed) return;
  fputs(core_text_string(text), stdout);
  core_text_clear(text);
  sweep_view_print_runs(view, database, &filter);
}

static void print(const StatusOptions *options, StoreDatabase *database, SweepView *view, size_t count, CoreLive *live,
                  bool is_active) {
  const SweepRunFilter filter = {is_listed, options};
  size_t listed = 0;
  CoreText text = {0};

  if (options->csv) sweep_view_print_csv(view, count, database, &filter);
  for (size_t i = 0; i < count && !options->csv; i++) {
    if (options->tag && !sweep_annotations_has_tag(&view[i].annotations, options->tag)) continue;
    if (!options->json) {
      draw(options, database, &view[i], &text);
      continue;
    }
    fputs(listed++ ? ",\n  " : "[\n  ", stdout);
    sweep_view_print_json(&view[i], stdout);
  }

  if (options->json) {
    fputs(listed ? "\n]\n" : "[]\n", stdout);
  } else if (options->watch) {
    core_live_draw(live, core_text_string(&text), !is_active);
  } else {
    fputs(core_text_string(&text), stdout);
  }
  core_text_free(&text);
}

static int show(const StatusOptions *options, StoreDatabase *database, char **names, size_t count, CoreLive *live,
                bool *is_active) {
  const SweepViewOptions asked = {.root = options->common.root,
                                  .settings = options->json || options->csv || options->runs || options->failed,
                                  .is_repeated = options->watch,
                                  .queue_age_s = QUEUE_AGE_S};
  SweepView *view = core_memory_zero_allocate(count + 1, sizeof *view);
  char problem[SWEEP_VIEW_PROBLEM];
  int code = sweep_view_read(&asked, database, names, &count, view, problem);
  *is_active = false;
  for (size_t i = 0; i < count && code == CORE_OK; i++) *is_active |= sweep_view_is_active(&view[i]);
  if (code == CORE_OK && (count > 0 || !*problem)) print(options, database, view, count, live, *is_active);
  sweep_view_free(view, count);
  free(view);
  return code == CORE_OK && *problem ? core_error(CORE_FAIL, "%s", problem) : code;
}

static int status(void *given, const char **operands, size_t operand_count) {
  StatusOptions *options = given;
  const char *root = options->common.root;
  char **names = NULL, name[SWEEP_NAME], *single = name;
  size_t count = 1;
  int code;

  if (options->watch + options->json + options->csv > 1)
    return core_error(CORE_USAGE, "--watch, --json and --csv cannot be combined");
  if (options->cost && (options->watch || options->failed || options->tag))
    return core_error(CORE_USAGE, "--cost and %s exclude each other", options->watch    ? "--watch"
                                                                     : options->failed ? "--failed"
                                                                                       : "--tag");
  if (options->cost && operand_count == 0) return core_error(CORE_USAGE, "--cost is that of one sweep: add its NAME");
  if (options->tag) TRY(core_text_check_name(options->tag, "--tag"));
  TRY(sweep_common_open(&options->common));
  if (operand_count > 0) TRY(sweep_common_name(&options->common, operands[0], name));
  else TRY(sweep_common_list(root, &names, &count));
  if (options->cost) {
    const SweepCostOptions cost = {.json = options->json, .csv = options->csv, .runs = options->runs};
    return sweep_cost_print(&cost, root, name);
  }
  if (count == 0 && !options->json) core_unicode_print(stdout, "no sweeps in %s; sweep submit FILE starts one\n",
                                                       root);

  CoreLive live = {.stream = stdout, .plain_every_s = 15};
  bool is_active;
  do {
    StoreDatabase *database = sweep_view_import(root, false);
    code = show(options, database, operand_count > 0 ? &single : names, count, &live, &is_active);
    store_database_close(&database);
    if (options->watch && is_active && code == CORE_OK) sleep(2);
  } while (options->watch && is_active && code == CORE_OK);

  if (names) {
    for (size_t i = 0; i < count; i++) free(names[i]);
  }
  free(names);
  return code;
}

int sweep_status(int argc, char **argv) {
  static const CoreManual manual = {
      .usage = "sweep status [NAME] [options]",
      .about = "Progress, speed, remaining time and failures with reasons, for one sweep or for all in the workspace. "
               "For runs on a cluster Slurm is queried once (answers are cached for five seconds) for why they wait, "
               "who cancelled them and what killed them. A running run whose process is gone is shown as lost.\n\n"
               "--cost shows what a sweep has used instead: time in the queue, time, CPU-hours and GPU-hours spent and "
               "wasted (failed runs, repeated work), and memory, with time and memory limits that would be enough. It "
               "reads files only and does not query Slurm.",
      .operands = {"NAME"},
      .operands_max = 1};

  StatusOptions given = {0};
  const CoreOption options[] = {
      SWEEP_OPTION_ROOT(given.common),
      {"runs", 0, CORE_OPTION_FLAG, &given.runs, NULL, "print one line per run"},
      {"failed", 0, CORE_OPTION_FLAG, &given.failed, NULL,
       "print one line per run that needs attention: failed, lost, cancelled, ..."},
      {"tag", 't', CORE_OPTION_TEXT, &given.tag, "TAG",
       "show only sweeps with this tag or with runs that have it, and list only these runs (sweep annotate)"},
      {"cost", 0, CORE_OPTION_FLAG, &given.cost, NULL, "show what the sweep NAME has used, and recommended limits"},
      {"watch", 'w', CORE_OPTION_FLAG, &given.watch, NULL, "redraw until nothing runs"},
      {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "print everything as JSON"},
      {"csv", 0, CORE_OPTION_FLAG, &given.csv, NULL, "print one line per run as CSV (with --failed: only those)"},
      {0}};
  return core_options_run(&manual, options, argc, argv, status, &given);
}
