/* `sweep stop`: stops sweeps and runs on this machine. It never kills: a run finishes its iteration, writes a
 * checkpoint and ends. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "store/workspace/run_name.h"
#include "sweep/cluster/journal.h"
#include "sweep/commands.h"
#include "sweep/control/output.h"
#include "sweep/local/queue.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/progress.h"

enum { STOP_WAIT_S = 120, POLL_MS = 200 };

typedef struct StopOptions {
  SweepCommon common;
  bool no_wait, json;
  FILE *out;
  json_t *sweeps, *runs;     /* stopped sweeps and runs */
} StopOptions;

/* Signals the process that writes a run. It is the one that holds the lease: the process id in the state is text that a
 * member of the group can write. */
static int stop_run(const StopOptions *options, const char *id) {
  StoreState state;
  char host[64];
  TRY(store_run_state_read(options->common.root, id, true, &state));
  if (state.status != STORE_RUNNING)
    return core_error(CORE_USAGE, "run %s is not running: it is %s", id, store_status_name(state.status));
  gethostname(host, sizeof host);
  if (strcmp(host, state.host) != 0)
    return core_error(CORE_FAIL, "run %s is running on %s; stop it there", id, state.host);

  const long writer = store_run_writer(options->common.root, id);
  if (writer == 0)
    return core_error(CORE_FAIL, "run %s: no process of this machine holds its lease; it has ended, or runs in another "
                      "container; see sweep status", id);
  if (kill((pid_t)writer, SIGTERM) != 0)
    return core_error_errno(CORE_FAIL, "run %s: cannot signal process %ld", id, writer);
  fprintf(options->out, "run %s: stopping; it writes a checkpoint first\n", id);
  json_array_append_new(options->runs, core_json_text(id));
  return CORE_OK;
}

static int wait_until_stopped(const char *root, const char *name, uid_t owner) {
  const double start_s = core_clock_s();
  while (sweep_queue_executor_pid(root, owner)) {
    SweepProgress progress;
    TRY(sweep_progress_read(root, name, NULL, &progress));
    const size_t running = progress.count[STORE_RUNNING];
    sweep_progress_free(&progress);
    if (running == 0) break;
    if (core_clock_s() - start_s > STOP_WAIT_S)
      return core_error(CORE_FAIL, "%s: %zu runs are still finishing their iteration; see sweep status %s", name,
                        running, name);
    usleep(POLL_MS * 1000);
  }
  return CORE_OK;
}

/* Removes the sweep from the queue, and waits until its runs have ended. */
static int stop_sweep(const StopOptions *options, const char *name) {
  const char *root = options->common.root;
  FILE *out = options->out;
  bool is_queued;
  SweepQueueRequest request;

  TRY(sweep_queue_read(root, name, &request, &is_queued));
  if (is_queued) {
    TRY(sweep_queue_remove(root, name));
    fprintf(out, "%s: stopping; its runs finish their iteration and write checkpoints\n", name);
    fflush(out);
    if (!options->no_wait) TRY(wait_until_stopped(root, name, request.owner));
    if (!options->no_wait) fprintf(out, "%s: stopped; resume: sweep submit %s\n", name, name);
  } else if (sweep_journal_exists(root, name)) {
    fprintf(out, "%s: nothing is running or waiting on this machine; to end its Slurm jobs: sweep cancel %s\n", name,
            name);
  } else {
    fprintf(out, "%s: nothing is running or waiting on this machine\n", name);
  }

  json_array_append_new(options->sweeps, json_pack("{s:s, s:b, s:b}", "name", name, "was_queued", is_queued, "ended",
                                                   !is_queued || !options->no_wait));
  return CORE_OK;
}

/* Stops all queued sweeps. */
static int stop_all(const StopOptions *options) {
  const char *root = options->common.root;
  char **names;
  size_t count;
  int code = CORE_OK;
  TRY(sweep_common_list(root, &names, &count));
  for (size_t i = 0; i < count; i++) {
    SweepQueueRequest request;
    bool is_queued = false;
    const int read = code == CORE_OK ? sweep_queue_read(root, names[i], &request, &is_queued) : code;
    if (code == CORE_OK) code = sweep_common_pass_over(root, names[i], read);
    if (read == CORE_OK && is_queued) code = stop_sweep(options, names[i]);
    free(names[i]);
  }
  free(names);
  return code;
}

static bool is_sweep(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  return store_path_sweep(root, name, "manifest.tsv", path) == CORE_OK && core_files_exists(path);
}

/* Stops the named sweeps and runs. */
static int stop_named(const StopOptions *options, const char **operands, size_t count) {
  const char *root = options->common.root;
  for (size_t i = 0; i < count; i++) {
    char id[CORE_RUN_ID];
    if (is_sweep(root, operands[i])) {
      TRY(stop_sweep(options, operands[i]));
    } else {
      TRY(store_run_find(root, operands[i], id));
      TRY(stop_run(options, id));
    }
  }
  return CORE_OK;
}

static int stop(void *context, const char **operands, size_t count) {
  StopOptions *options = context;
  TRY(sweep_common_open(&options->common));
  SweepOutput output = sweep_output_open(options->json);
  options->out = output.out;
  options->sweeps = json_array();
  options->runs = json_array();
  const int code = count == 0 ? stop_all(options) : stop_named(options, operands, count);
  sweep_output_set(&output, "sweep", options->sweeps);
  sweep_output_set(&output, "run", options->runs);
  if (code == CORE_OK) sweep_output_close(&output);
  else sweep_output_discard(&output);
  return code;
}

int sweep_stop(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep stop [NAME|RUN]... [options]",
    .about = "Stops sweeps (all queued ones if none is named) or single runs on this machine: they finish their "
             "iteration, write a checkpoint and end. sweep submit resumes them. " STORE_RUN_NAME_HELP,
    .operands = {"NAME|RUN"}, .operands_max = SIZE_MAX};
  StopOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"no-wait", 0, CORE_OPTION_FLAG, &parsed.no_wait, NULL, "return at once"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print what was stopped as JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, stop, &parsed);
}
