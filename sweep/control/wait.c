/* Waits for a sweep: polls the executor's queue, or runs sweep status --watch; and counts its unfinished runs
 * (submit_internal.h). */
#include "sweep/control/submit_internal.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/terminal.h"
#include "store/workspace/run.h"
#include "sweep/commands.h"
#include "sweep/local/queue.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/failures.h"
#include "sweep/status/progress.h"
#include "sweep/stop/stop_log.h"

enum { POLL_MS = 500, PLAIN_PROGRESS_S = 15 };

static char interrupt_notice[512];

/* Prints the notice and raises the signal again, whose handler is removed by now. */
static void on_interrupt(int signal) {
  if (write(STDERR_FILENO, interrupt_notice, strlen(interrupt_notice)) < 0) _exit(1);
  raise(signal);
}

/* Makes Ctrl-C print that the sweep continues, since it ends this command only. */
static void install_interrupt_notice(const char *name) {
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  snprintf(interrupt_notice, sizeof interrupt_notice,
           "\n%s continues in the background; progress: sweep status %s   end it: sweep stop %s\n", name, name,
           name);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

/* *is_held: nothing runs, and all runs that wait are held. */
static int draw_progress(const char *root, const char *name, bool is_last, CoreLive *live, bool *is_held) {
  SweepProgress progress;
  CoreText text = {0};
  SweepFailures failures = {0};
  TRY(sweep_progress_read(root, name, NULL, &progress));
  *is_held = progress.held > 0 && !sweep_progress_is_active(&progress);
  sweep_progress_draw(&progress, is_last, &text);
  sweep_failures_add_progress(&progress, &failures);
  sweep_failures_draw(&failures, &progress, &text);
  core_live_draw(live, core_text_string(&text), is_last);
  sweep_failures_free(&failures);
  core_text_free(&text);
  sweep_progress_free(&progress);
  return CORE_OK;
}

int sweep_wait_here(const char *root, const SweepGrid *grid, FILE *out) {
  const char *name = grid->spec->name;
  CoreLive live = {.stream = out, .plain_every_s = PLAIN_PROGRESS_S};
  bool is_queued = true, is_held = false;
  install_interrupt_notice(name);
  while (is_queued && !is_held) {
    SweepQueueRequest request;
    TRY(sweep_queue_read(root, name, &request, &is_queued));
    if (is_queued && !sweep_queue_executor_pid(root, request.owner))
      return core_error(CORE_FAIL, "the executor is gone (see %s/executor.log); run sweep submit again to continue",
                        root);
    TRY(draw_progress(root, name, !is_queued, &live, &is_held));
    if (is_queued && !is_held) usleep(POLL_MS * 1000);
  }
  return sweep_missing_check_all(root, grid);
}

/* Runs `sweep status --watch` with its output on `out`. */
static int watch_status(const char *root, const char *name, FILE *out) {
  char command[] = "status", option[] = "--root", watch[] = "--watch";
  char *arguments[] = {command, option, (char *)root, (char *)name, watch, NULL};
  fflush(stdout);
  const int saved = dup(STDOUT_FILENO);
  if (saved < 0 || dup2(fileno(out), STDOUT_FILENO) < 0)
    return core_error_errno(CORE_FAIL, "cannot redirect the output of sweep status");
  const int code = sweep_status(5, arguments);
  fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  return code;
}

int sweep_wait_on_slurm(const char *root, const SweepGrid *grid, FILE *out) {
  install_interrupt_notice(grid->spec->name);
  TRY(watch_status(root, grid->spec->name, out));
  return sweep_missing_check(root, grid);
}

/* ---- unfinished runs --------------------------------------------------------------------------------------------- */

int sweep_missing_count(const char *root, const SweepGrid *grid, bool force, bool resume_stopped,
                        size_t runs[SWEEP_CONDITIONS]) {
  SweepStopLog log = {0};
  int code = CORE_OK;
  for (int i = 0; i < SWEEP_CONDITIONS; i++) runs[i] = 0;
  if (grid->spec->stop.rule != SWEEP_STOP_NONE && !resume_stopped)
    TRY(sweep_stop_log_read(root, grid->spec->name, &log));
  for (size_t i = 0; i < grid->runs && code == CORE_OK; i++) {
    StoreState state;
    code = store_run_state_read(root, grid->ids[i], true, &state);
    const SweepRunEvidence evidence = {.status = state.status, .is_forced = force,
                                       .is_stopped_by_rule = sweep_stop_log_is_stopped(&log, grid->ids[i])};
    runs[sweep_condition_before_start(&evidence)]++;
  }
  sweep_stop_log_free(&log);
  return code;
}

int sweep_missing_check(const char *root, const SweepGrid *grid) {
  size_t failed = 0, remaining = 0;
  for (size_t i = 0; i < grid->runs; i++) {
    StoreState state;
    TRY(store_run_state_read(root, grid->ids[i], true, &state));
    if (store_status_is_broken(state.status)) failed++;
    else if (state.status != STORE_FINISHED && state.status != STORE_STOPPED_BY_RULE) remaining++;
  }
  if (failed > 0) return core_error(CORE_FAIL, "%zu runs failed; see sweep status %s", failed, grid->spec->name);
  if (remaining > 0)
    return core_error(CORE_REQUEUE, "stopped with %zu runs remaining; sweep submit %s resumes them", remaining,
                      grid->spec->name);
  return CORE_OK;
}

int sweep_missing_check_all(const char *root, const SweepGrid *grid) {
  SweepSpec spec;
  SweepGrid current;
  if (grid->spec->search_count == 0) return sweep_missing_check(root, grid);
  TRY(sweep_common_frozen(root, grid->spec->name, &spec));
  int code = sweep_grid_expand(&spec, &current);
  if (code == CORE_OK) {
    code = sweep_missing_check(root, &current);
    sweep_grid_free(&current);
    if (code == CORE_OK && sweep_spec_is_open(&spec))
      code = core_error(CORE_REQUEUE, "%s: the search has trials left; sweep submit %s continues it, and reports what "
                        "prevents it", spec.name, spec.name);
  }
  sweep_spec_free(&spec);
  return code;
}
