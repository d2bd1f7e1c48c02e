/* `sweep stop`: ends sweeps and runs, on this machine and on Slurm. It never kills: a run that waits leaves the queue,
 * one that runs finishes its iteration, writes a checkpoint and ends.
 *
 * Runs that Slurm has are cancelled there (tasks.h). The others belong to this machine: a sweep leaves the executor's
 * queue, whose runs the executor then stops; a single run leaves it, and the process that trains it gets SIGTERM. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "sweep/cluster/journal.h"
#include "sweep/commands.h"
#include "sweep/control/output.h"
#include "sweep/control/tasks.h"
#include "sweep/local/queue.h"

enum { STOP_WAIT_S = 120, POLL_HERE_MS = 200, POLL_SLURM_MS = 2000 };

typedef struct StopOptions {
  SweepCommon common;
  bool no_wait, json;
  SweepOutput output;
  json_t *sweeps, *runs;     /* stopped sweeps and runs */
} StopOptions;

/* A sweep, or runs of it, that is being stopped. */
typedef struct Stop {
  const StopOptions *options;
  const SweepSelection *selection;
  SweepTasks tasks;          /* its tasks in Slurm's queue */
  SweepQueueRequest request; /* its request to the executor, if is_queued */
  bool is_queued;
  bool *is_stopped;          /* [manifest.count] runs that are stopped */
  size_t count;
} Stop;

/* ---- this machine ------------------------------------------------------------------------------------------------ */

/* Signals the process that writes a run. It is the one that holds the lease: the process id in the state is text that a
 * member of the group can write. */
static int signal_run(const char *root, const char *id, const StoreState *state) {
  char host[64];
  gethostname(host, sizeof host);
  if (strcmp(host, state->host) != 0)
    return core_error(CORE_FAIL, "run %s is running on %s; stop it there", id, state->host);

  const long writer = store_run_writer(root, id);
  if (writer == 0)
    return core_error(CORE_FAIL, "run %s: no process of this machine holds its lease; it has ended, or runs in another "
                      "container; see sweep status", id);
  if (kill((pid_t)writer, SIGTERM) != 0)
    return core_error_errno(CORE_FAIL, "run %s: cannot signal process %ld", id, writer);
  return CORE_OK;
}

/* Stops named runs: takes those that wait out of the queue, and signals those that run. */
static int stop_runs_here(Stop *stop) {
  const SweepSelection *selection = stop->selection;
  const SweepManifest *manifest = &selection->manifest;
  char(*ids)[CORE_RUN_ID] = core_memory_allocate((manifest->count + 1) * sizeof *ids);
  size_t count = 0;
  int code = CORE_OK;

  for (size_t i = 0; i < manifest->count && code == CORE_OK; i++) {
    StoreState state;
    if (!selection->is_selected[i] || stop->tasks.has_task[i]) continue;
    code = store_run_state_read(selection->root, manifest->ids[i], true, &state);
    const bool is_running = code == CORE_OK && state.status == STORE_RUNNING;
    const bool is_waiting = stop->is_queued && sweep_queue_waits(&stop->request, manifest->ids[i], &state);
    if (code != CORE_OK || !(is_running || is_waiting)) continue;
    if (is_running) code = signal_run(selection->root, manifest->ids[i], &state);
    stop->is_stopped[i] = code == CORE_OK;
    memcpy(ids[count++], manifest->ids[i], CORE_RUN_ID);
  }

  if (code == CORE_OK && stop->is_queued && count > 0)
    code = sweep_queue_stop(selection->root, selection->name, (const char(*)[CORE_RUN_ID])ids, count);
  free(ids);
  return code;
}

/* Adds the runs that the queued request selects. */
static int add_requested(const Stop *stop, SweepIdSet *requested) {
  SweepSpec spec;
  SweepGrid grid;
  bool *is_requested = NULL;
  TRY(sweep_common_frozen(stop->selection->root, stop->selection->name, &spec));
  int code = sweep_grid_expand(&spec, &grid);
  if (code == CORE_OK) {
    code = sweep_where_mark(&grid, stop->request.where, &is_requested);
    for (size_t i = 0; i < grid.runs && code == CORE_OK; i++)
      if (is_requested[i]) sweep_id_set_add(requested, grid.ids[i], NULL);
    sweep_grid_free(&grid);
  }
  free(is_requested);
  sweep_spec_free(&spec);
  return code;
}

/* Takes the sweep out of the queue. The executor stops its runs. */
static int stop_sweep_here(Stop *stop) {
  const SweepSelection *selection = stop->selection;
  SweepIdSet requested = {0};
  if (!stop->is_queued) return CORE_OK;
  const bool is_known = add_requested(stop, &requested) == CORE_OK; /* a damaged sweep can be stopped, too */
  for (size_t i = 0; i < selection->manifest.count && is_known; i++) {
    const char *id = selection->manifest.ids[i];
    StoreState state;
    if (stop->tasks.has_task[i] || !sweep_id_set_find(&requested, id, NULL)) continue;
    if (store_run_state_read(selection->root, id, true, &state) != CORE_OK) continue;
    stop->is_stopped[i] = state.status == STORE_RUNNING || sweep_queue_waits(&stop->request, id, &state);
  }
  sweep_id_set_free(&requested);
  core_error_clear();
  return sweep_queue_remove(selection->root, selection->name);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Counts the stopped runs that a process of this machine still runs or has a lease of. */
static int count_running(const Stop *stop, size_t *running) {
  const SweepSelection *selection = stop->selection;
  const bool has_executor = stop->is_queued && sweep_queue_executor_pid(selection->root, stop->request.owner);
  *running = 0;
  if (selection->is_whole_sweep && !has_executor) return CORE_OK;
  for (size_t i = 0; i < selection->manifest.count; i++) {
    StoreState state;
    if (!stop->is_stopped[i] || stop->tasks.has_task[i]) continue;
    TRY(store_run_state_read(selection->root, selection->manifest.ids[i], true, &state));
    /* A process that has written the run's end still has its lease for a moment. */
    *running += state.status == STORE_RUNNING || store_run_writer(selection->root, selection->manifest.ids[i]) != 0;
  }
  return CORE_OK;
}

static int wait_until_stopped(Stop *stop) {
  const char *name = stop->selection->name;
  const double start_s = core_clock_s();
  size_t running = 0;
  bool has_ended = !stop->tasks.is_running;
  core_files_unlock(&stop->tasks.lock); /* a task that ends may want to write to the journal */

  for (;;) {
    TRY(count_running(stop, &running));
    if (!has_ended) TRY(sweep_tasks_check_end(&stop->tasks, &has_ended));
    if (running == 0 && has_ended) return CORE_OK;
    if (core_clock_s() - start_s > STOP_WAIT_S) break;
    usleep((has_ended ? POLL_HERE_MS : POLL_SLURM_MS) * 1000);
  }
  if (running == 0) return core_error(CORE_FAIL, "%s: its jobs are still ending; see sweep status %s", name, name);
  return core_error(CORE_FAIL, "%s: %zu runs are still finishing their iteration; see sweep status %s",
                    *name ? name : "stop", running, name);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static int cancel_tasks(Stop *stop) {
  TRY(sweep_tasks_open(stop->selection, false, &stop->tasks));
  TRY(sweep_tasks_cancel(&stop->tasks));
  for (size_t i = 0; i < stop->selection->manifest.count; i++) stop->is_stopped[i] |= stop->tasks.has_task[i];
  return CORE_OK;
}

static void report(const Stop *stop, bool has_ended) {
  const SweepSelection *selection = stop->selection;
  const StopOptions *options = stop->options;
  sweep_selection_list(selection, stop->is_stopped, options->runs);
  if (!selection->is_whole_sweep) return;
  json_array_append_new(options->sweeps,
                        json_pack("{s:s, s:b, s:b}", "name", selection->name, "was_queued",
                                  stop->is_queued || stop->tasks.count > 0, "ended", has_ended));
}

/* Stops what Slurm and this machine have. Slurm's answer is not needed where the executor has the sweep. */
static int stop_both(Stop *stop) {
  const SweepSelection *selection = stop->selection;
  const char *name = selection->name;
  FILE *out = stop->options->output.out;

  if (*name) TRY(sweep_queue_read(selection->root, name, &stop->request, &stop->is_queued));
  int code = cancel_tasks(stop);
  if (code == CORE_FAIL && stop->is_queued && stop->tasks.count == 0) {
    core_warn("%s: only its runs on this machine are stopped: %s", name, core_error_message());
    code = CORE_OK;
  }
  TRY(code);
  TRY(selection->is_whole_sweep ? stop_sweep_here(stop) : stop_runs_here(stop));

  for (size_t i = 0; i < selection->manifest.count; i++) stop->count += stop->is_stopped[i];
  if (stop->count == 0 && !stop->is_queued) {
    if (selection->is_whole_sweep) fprintf(out, "%s: nothing is running or waiting\n", name);
    report(stop, true);
    return CORE_OK;
  }

  fprintf(out, "%s%sstopping %zu run%s; running ones finish their iteration and write checkpoints\n", name,
          *name ? ": " : "", stop->count, stop->count == 1 ? "" : "s");
  fflush(out);
  const bool waits = !stop->options->no_wait;
  if (waits) TRY(wait_until_stopped(stop));
  if (waits && *name) fprintf(out, "%s: stopped; resume: sweep submit %s\n", name, name);
  report(stop, waits || !(stop->is_queued || stop->tasks.is_running));
  return CORE_OK;
}

static int stop_selection(const StopOptions *options, const SweepSelection *selection, size_t *count) {
  Stop stop = {.options = options, .selection = selection};
  stop.is_stopped = core_memory_zero_allocate(selection->manifest.count + 1, sizeof *stop.is_stopped);
  const int code = stop_both(&stop);
  *count += stop.count;
  sweep_tasks_close(&stop.tasks);
  free(stop.is_stopped);
  return code;
}

/* Whether Slurm has jobs of this workspace; true if it does not answer. */
static bool has_jobs(const char *root, const char *name) {
  SlurmCluster *cluster;
  SlurmTasks tasks = {0};
  bool has = true;
  if (slurm_cluster_open("auto", &cluster, NULL) == CORE_OK &&
      slurm_list(cluster, &(SlurmSelection){&name, 1, root}, &tasks) == CORE_OK) {
    has = false;
    for (size_t i = 0; i < tasks.count; i++) has |= !slurm_state_is_over(tasks.rows[i].state);
  }
  slurm_tasks_free(&tasks);
  slurm_cluster_close(&cluster);
  core_error_clear();
  return has;
}

/* Slurm's answer for the workspace, which is needed only if a sweep was submitted to it. */
typedef enum OnSlurm { SLURM_NOT_ASKED, SLURM_HAS_NONE, SLURM_HAS_JOBS } OnSlurm;

/* Stops a sweep if it is queued here or may be in Slurm's queue. */
static int stop_if_queued(const StopOptions *options, const char *name, OnSlurm *on_slurm, size_t *stopped) {
  const char *root = options->common.root;
  SweepQueueRequest request;
  SweepSelection selection;
  bool is_queued = false;
  const int read = sweep_queue_read(root, name, &request, &is_queued);
  if (read != CORE_OK) return sweep_common_pass_over(root, name, read);

  const bool was_submitted = sweep_journal_exists(root, name);
  if (was_submitted && *on_slurm == SLURM_NOT_ASKED) *on_slurm = has_jobs(root, name) ? SLURM_HAS_JOBS : SLURM_HAS_NONE;
  if (!is_queued && !(was_submitted && *on_slurm == SLURM_HAS_JOBS)) return CORE_OK;

  int code = sweep_selection_make(root, name, &selection);
  if (code == CORE_OK) code = stop_selection(options, &selection, stopped);
  sweep_selection_free(&selection);
  return code;
}

/* Stops all sweeps that are queued, here or in Slurm. */
static int stop_all(const StopOptions *options) {
  OnSlurm on_slurm = SLURM_NOT_ASKED;
  char **names;
  size_t count, stopped = 0;
  int code = CORE_OK;
  TRY(sweep_common_list(options->common.root, &names, &count));

  for (size_t i = 0; i < count; i++) {
    if (code == CORE_OK) code = stop_if_queued(options, names[i], &on_slurm, &stopped);
    free(names[i]);
  }
  free(names);
  return code;
}

/* Returns CORE_USAGE, since none of the named runs is running or waiting. */
static int report_none(const SweepSelections *selections) {
  const SweepSelection *selection = &selections->items[selections->count - 1];
  size_t last = 0;
  StoreState state;
  if (sweep_selection_count(selection) > 1)
    return core_error(CORE_USAGE, "%s: none of these runs is running or waiting", selection->name);
  for (size_t i = 0; i < selection->manifest.count; i++)
    if (selection->is_selected[i]) last = i;
  TRY(store_run_state_read(selection->root, selection->manifest.ids[last], true, &state));
  return core_error(CORE_USAGE, "run %s is not running: it is %s", selection->manifest.ids[last],
                    store_status_name(state.status));
}

static int stop_named(const StopOptions *options, const char **operands, size_t count) {
  SweepSelections selections;
  size_t stopped = 0;
  int code = sweep_selections_make(&options->common, operands, count, &selections);
  for (size_t i = 0; i < selections.count && code == CORE_OK; i++)
    code = stop_selection(options, &selections.items[i], &stopped);
  if (code == CORE_OK && stopped == 0 && selections.has_runs) code = report_none(&selections);
  sweep_selections_free(&selections);
  return code;
}

static int stop(void *context, const char **operands, size_t count) {
  StopOptions *options = context;
  TRY(sweep_common_open(&options->common));
  options->output = sweep_output_open(options->json);
  options->sweeps = json_array();
  options->runs = json_array();
  const int code = count == 0 ? stop_all(options) : stop_named(options, operands, count);
  sweep_output_set(&options->output, "sweep", options->sweeps);
  sweep_output_set(&options->output, "run", options->runs);
  if (code == CORE_OK) sweep_output_close(&options->output);
  else sweep_output_discard(&options->output);
  return code;
}

int sweep_stop(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep stop [NAME|RUN]... [options]",
    .about = "Stops sweeps, or single runs of them, on this machine and on Slurm; without NAME all of the workspace. "
             "Waiting runs leave the queue. Running ones finish their iteration, write a checkpoint and end; runs that "
             "share a task (slurm.runs_per_task) end together. sweep submit resumes them. " SWEEP_SELECTION_HELP,
    .operands = {"NAME|RUN"}, .operands_max = SIZE_MAX};
  StopOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"no-wait", 0, CORE_OPTION_FLAG, &parsed.no_wait, NULL, "return at once"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print what was stopped as JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, stop, &parsed);
}
