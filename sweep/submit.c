/* `sweep submit`: records the manifest and the runs, then hands what is missing to the local executor. Safe to repeat: what
 * is finished stays, what is missing or failed is started, what was interrupted goes on from its checkpoint. */
#include <stdlib.h>
#include <unistd.h>

#include "core/terminal.h"
#include "store/database.h"
#include "store/run.h"
#include "sweep/commands.h"
#include "sweep/executor.h"
#include "sweep/ids.h"
#include "sweep/manifest.h"
#include "sweep/progress.h"
#include "sweep/queue.h"
#include "sweep/sweep.h"

typedef struct SubmitOptions {
  SweepCommon common;
  bool wait, force, no_start;
  int64_t jobs;
} SubmitOptions;

/* Every run of the file into results.db, so that even a run that never started is known there. */
static int record_runs(const char *root, const SweepSpec *spec, const SweepGrid *grid, const SweepManifest *manifest) {
  char path[CORE_PATH_MAX];
  TRY(store_path_database(root, path));
  StoreDatabase *database;
  TRY(store_database_open(path, false, &database));
  SweepIds places = {0};
  for (size_t i = 0; i < manifest->count; i++) sweep_ids_add(&places, manifest->ids[i], NULL);
  int code;
  TRY_GOTO(code, close, store_database_begin(database));
  TRY_GOTO(code, rollback, store_database_put_sweep(database, spec->name, core_text_string(&spec->source)));
  for (size_t i = 0; i < grid->runs; i++) {
    CoreConfig config;
    sweep_grid_config(grid, i, &config);
    size_t index;
    CORE_CHECK(sweep_ids_find(&places, grid->ids[i], &index)); /* the manifest has just been merged with this grid */
    TRY_GOTO(code, rollback, store_database_put_run(database, spec->name, (int64_t)index, &config, grid->ids[i]));
  }
  TRY_GOTO(code, rollback, store_database_commit(database));
  goto close;
rollback:
  store_database_rollback(database);
close:
  sweep_ids_free(&places);
  store_database_close(&database);
  return code;
}

typedef struct Missing { size_t todo, finished, diverged, running; } Missing;

/* What the executor will find to do. */
static int count_missing(const char *root, const SweepGrid *grid, bool force, Missing *missing) {
  *missing = (Missing){0};
  for (size_t i = 0; i < grid->runs; i++) {
    StoreState state;
    TRY(store_run_state_read(root, grid->ids[i], true, &state));
    if (state.status == STORE_RUNNING) missing->running++;
    else if (state.status == STORE_FINISHED && !force) missing->finished++;
    else if (state.status == STORE_DIVERGED && !force) missing->diverged++;
    else missing->todo++;
  }
  return CORE_OK;
}

/* How the submitted runs ended; earlier runs of the sweep that this file no longer names do not count. */
static int judge(const char *root, const SweepGrid *grid) {
  size_t bad = 0, left = 0;
  for (size_t i = 0; i < grid->runs; i++) {
    StoreState state;
    TRY(store_run_state_read(root, grid->ids[i], true, &state));
    if (state.status == STORE_FAILED || state.status == STORE_DIVERGED) bad++;
    else left += state.status != STORE_FINISHED;
  }
  if (bad > 0) return core_error(CORE_FAIL, "%zu runs failed; sweep status %s says why", bad, grid->spec->name);
  if (left > 0) return core_error(CORE_REQUEUE, "stopped with %zu runs left; sweep submit goes on", left);
  return CORE_OK;
}

/* Draws the sweep's progress until the executor has taken it off the queue. 1 when a submitted run failed. */
static int wait_for(const char *root, const SweepGrid *grid) {
  const char *name = grid->spec->name;
  CoreLive live = {.stream = stdout, .plain_every_s = 15};
  bool queued = true;
  SweepProgress progress;
  while (queued) {
    SweepRequest request;
    TRY(sweep_queue_read(root, name, &request, &queued));
    if (queued && !sweep_queue_executor(root))
      return core_error(CORE_FAIL, "the executor is gone (see %s/executor.log); sweep submit again goes on", root);
    TRY(sweep_progress_read(root, name, NULL, &progress));
    CoreText text = {0};
    sweep_progress_draw(&progress, !queued, &text);
    core_live_draw(&live, core_text_string(&text), !queued);
    core_text_free(&text);
    sweep_progress_free(&progress);
    if (queued) usleep(500 * 1000);
  }
  return judge(root, grid);
}

static int start(const SubmitOptions *options, const SweepGrid *grid, const Missing *missing) {
  const char *root = options->common.root, *name = grid->spec->name;
  if (missing->todo + missing->running == 0) {
    printf("nothing to start: %zu runs are finished", missing->finished);
    if (missing->diverged) printf(", %zu diverged (--force runs them again)", missing->diverged);
    printf("\n");
    return CORE_OK;
  }
  const SweepRequest request = {.jobs = options->jobs, .force = options->force};
  TRY(sweep_queue_write(root, name, &request));
  int64_t process;
  bool joined;
  TRY(sweep_executor_start(root, name, &process, &joined));
  printf("%s: %zu runs to do, %s executor %lld\n", name, missing->todo, joined ? "added to" : "started",
         (long long)process);
  if (!options->wait) {
    printf("it goes on when this shell closes;  sweep status %s  shows progress,  sweep stop %s  ends it\n", name, name);
    return CORE_OK;
  }
  return wait_for(root, grid);
}

static int submit(const SubmitOptions *options, const SweepSpec *spec) {
  const char *root = options->common.root;
  SweepGrid grid;
  SweepManifest manifest = {0};
  SweepManifestChange change;
  Missing missing;
  int code;
  TRY(sweep_grid_expand(spec, &grid));
  TRY_GOTO(code, done, sweep_manifest_record(root, &grid, &manifest, &change));
  TRY_GOTO(code, done, record_runs(root, spec, &grid, &manifest));
  printf("%s: %zu runs, %zu new in the manifest", spec->name, grid.runs, change.added);
  if (change.absent) printf("; %zu earlier ones are no longer in the file and stay as they are", change.absent);
  printf("\n");
  fflush(stdout);
  if (options->no_start) goto done;
  TRY_GOTO(code, done, count_missing(root, &grid, options->force, &missing));
  code = start(options, &grid, &missing);
done:
  sweep_manifest_free(&manifest);
  sweep_grid_free(&grid);
  return code;
}

int sweep_submit(int argc, char **argv) {
  static const char *const usage = "sweep submit FILE|NAME [options]";
  SubmitOptions given = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(given.common), SWEEP_OPTION_PROFILE(given.common), SWEEP_OPTION_SET(given.common),
    {"jobs", 'j', CORE_OPTION_INT, &given.jobs, "N", "runs at a time; the cores are shared out among them (default: one a core)"},
    {"wait", 'w', CORE_OPTION_FLAG, &given.wait, NULL, "stay, show progress, return 1 if a run failed"},
    {"force", 'f', CORE_OPTION_FLAG, &given.force, NULL, "run finished and diverged runs again, as new attempts"},
    {"no-start", 0, CORE_OPTION_FLAG, &given.no_start, NULL, "record the manifest and start nothing"},
    {0}};
  const char **operands;
  size_t count;
  bool help;
  TRY(core_options_parse(options, argc, argv, &operands, &count, &help));
  if (help) {
    core_options_help(usage,
                      "Records the experiment's runs in the workspace and starts what is missing on this machine, detached: "
                      "the shell may close. Repeating it is safe: finished runs stay, interrupted ones go on from their "
                      "checkpoints, failed ones are tried again. FILE is an experiment (.ini); NAME a sweep submitted before.",
                      options);
    free(operands);
    return CORE_OK;
  }
  int code = sweep_common_operands(usage, count, 1, 1);
  if (code == CORE_OK && given.jobs < 0) code = core_error(CORE_USAGE, "--jobs %lld: at least 1", (long long)given.jobs);
  if (code == CORE_OK) code = sweep_common_open(&given.common);
  SweepSpec spec;
  if (code == CORE_OK) code = sweep_common_spec(&given.common, operands[0], &spec);
  if (code == CORE_OK) {
    code = submit(&given, &spec);
    sweep_spec_free(&spec);
  }
  sweep_common_close(&given.common);
  free(operands);
  return code;
}
