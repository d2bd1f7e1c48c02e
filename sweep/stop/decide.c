/* Makes decisions in this order: lock, read rows, decide, append to the log, update states. A process may be killed
 * between any two steps: the log is authoritative, and the next process updates states that lag behind. */
#include "sweep/stop/decide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/log.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/sweep.h"
#include "sweep/stop/runs.h"

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* Updates the state of a run from the log, under the run's lease, if no process runs it. stop NULL: it is not
 * stopped. */
static int update_state(const char *root, const char *run, const SweepStopEntry *stop) {
  StoreState state;
  StoreLease *lease;
  TRY(store_run_state_read(root, run, true, &state));
  if (state.status == STORE_RUNNING) return CORE_OK; /* the process that executes it stops it */

  TRY(store_run_acquire(root, run, &lease));
  int code = store_run_state_read(root, run, true, &state);
  const bool is_idle = state.status == STORE_STOPPED || state.status == STORE_LOST;
  if (code == CORE_OK && stop && is_idle) {
    state.status = STORE_STOPPED_BY_RULE;
    sweep_stop_log_format(stop, state.message, sizeof state.message);
    code = store_run_state_write(root, run, &state);
  } else if (code == CORE_OK && !stop && state.status == STORE_STOPPED_BY_RULE) {
    state.status = STORE_STOPPED;
    state.message[0] = '\0';
    code = store_run_state_write(root, run, &state);
  }

  store_run_release(&lease);
  return code;
}

/* Updates the states of runs that differ from the log. A run that is being written is updated the next time. */
static void update_states(const char *root, const SweepStopRuns *runs, const SweepStopLog *log) {
  for (size_t i = 0; i < runs->count; i++) {
    const SweepStopState *state = sweep_stop_log_find(log, runs->items[i].id);
    if (!state || runs->items[i].is_over) continue;
    if (state->is_stopped == (runs->status[i] == STORE_STOPPED_BY_RULE)) continue;
    const SweepStopEntry *stop = state->is_stopped ? &log->entries[state->entry] : NULL;
    if (update_state(root, runs->items[i].id, stop) != CORE_OK) core_error_clear();
  }
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

static int append_decisions(const char *root, const char *name, const SweepStop *rule, const SweepStopRuns *runs,
                            const SweepDecisions *decisions, SweepStopOutcome *outcome) {
  for (size_t i = 0; i < decisions->count; i++) {
    const SweepDecision *decision = &decisions->items[i];
    SweepStopEntry entry = {.verb = decision->verb, .rule = rule->rule, .rung = decision->rung,
                            .transitions = decision->transitions, .value = decision->value,
                            .threshold = decision->threshold};
    memcpy(entry.run, runs->items[decision->run].id, sizeof entry.run);
    snprintf(entry.why, sizeof entry.why, "%s", decision->why);
    TRY(sweep_stop_log_append(root, name, &entry));
    if (decision->verb == SWEEP_STOPS) outcome->stopped++;
    else outcome->promoted++;
  }
  return CORE_OK;
}

static bool has_finished(const SweepStopRuns *runs) {
  bool has_any = false;
  for (size_t i = 0; i < runs->count; i++) has_any |= runs->status[i] == STORE_FINISHED;
  return has_any;
}

/* Applies the rule. Call under the lock. */
static int decide(const char *root, const SweepGrid *grid, StoreDatabase *database, SweepStopOutcome *outcome) {
  const char *name = grid->spec->name;
  SweepStopLog log, new_log;
  SweepStopRuns runs;
  SweepDecisions decisions = {0};

  TRY(sweep_stop_log_read(root, name, &log));
  int code = sweep_stop_runs_read(database, grid, &log, &runs);
  sweep_stop_log_free(&log);
  if (code != CORE_OK) return code;

  sweep_rule_apply(&grid->spec->stop, runs.items, runs.count, &decisions);
  outcome->is_unmeasured = !runs.is_measured && has_finished(&runs);
  code = append_decisions(root, name, &grid->spec->stop, &runs, &decisions, outcome);
  if (code == CORE_OK) code = sweep_stop_log_read(root, name, &new_log);
  if (code == CORE_OK) {
    update_states(root, &runs, &new_log);
    sweep_stop_log_free(&new_log);
  }

  sweep_decisions_free(&decisions);
  sweep_stop_runs_free(&runs);
  return code;
}

/* Returns the seconds since the last decision of any process; INFINITY: none yet. */
static double age_s(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  struct stat file;
  if (store_path_sweep(root, name, "stop.lock", path) != CORE_OK || stat(path, &file) != 0) return INFINITY;
  return core_clock_unix_s() - ((double)file.st_mtim.tv_sec + 1e-9 * (double)file.st_mtim.tv_nsec);
}

static int lock_and_decide(const char *root, const SweepSpec *spec, StoreDatabase *database, bool wait,
                           SweepStopOutcome *outcome) {
  SweepGrid grid;
  int lock;
  if (sweep_stop_lock(root, spec->name, wait, &lock) != CORE_OK) {
    if (wait) return CORE_FAIL;
    core_error_clear();
    outcome->is_busy = true;
    return CORE_OK;
  }

  (void)futimens(lock, NULL); /* for age_s */
  int code = sweep_grid_expand(spec, &grid);
  if (code == CORE_OK) {
    code = decide(root, &grid, database, outcome);
    sweep_grid_free(&grid);
  }

  core_files_unlock(&lock);
  return code;
}

int sweep_stop_decide(const char *root, const char *name, StoreDatabase *database, bool wait,
                      SweepStopOutcome *outcome) {
  SweepSpec spec;
  *outcome = (SweepStopOutcome){0};
  TRY(sweep_common_frozen(root, name, &spec));
  const int code = spec.stop.rule == SWEEP_STOP_NONE ? CORE_OK : lock_and_decide(root, &spec, database, wait, outcome);
  sweep_spec_free(&spec);
  return code;
}

static int import_and_decide(const char *root, const SweepSpec *spec, bool now, SweepStopOutcome *outcome) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreImport import;
  TRY(store_path_database(root, path));
  TRY(store_database_open(path, false, &database));
  int code = store_import(database, root, now ? spec->name : NULL, now, &import);
  if (code == CORE_OK) code = lock_and_decide(root, spec, database, now, outcome);
  store_database_close(&database);
  return code;
}

int sweep_stop_poll(const char *root, const char *name, bool now, SweepStopOutcome *outcome) {
  SweepSpec spec;
  *outcome = (SweepStopOutcome){0};
  TRY(sweep_common_frozen(root, name, &spec));
  int code = CORE_OK;
  if (spec.stop.rule == SWEEP_STOP_NONE || (!now && age_s(root, name) < spec.stop.every)) outcome->is_busy = !now;
  else code = import_and_decide(root, &spec, now, outcome);
  sweep_spec_free(&spec);
  return code;
}

SweepStopKind sweep_stop_read_rule(const char *root, const char *name, double *every_s) {
  SweepSpec spec;
  if (sweep_common_frozen(root, name, &spec) != CORE_OK) {
    core_error_clear();
    return SWEEP_STOP_NONE;
  }
  const SweepStopKind rule = spec.stop.rule;
  *every_s = spec.stop.every;
  sweep_spec_free(&spec);
  return rule;
}

/* ---- retry ------------------------------------------------------------------------------------------------------- */

int sweep_stop_retry(const char *root, const char *name, const char (*runs)[CORE_RUN_ID], size_t count,
                     size_t *resumed) {
  SweepStopLog log;
  int lock;
  *resumed = 0;

  TRY(sweep_stop_lock(root, name, true, &lock));
  int code = sweep_stop_log_read(root, name, &log);
  for (size_t i = 0; i < count; i++) {
    if (code != CORE_OK) break;
    SweepStopEntry entry = {.verb = SWEEP_RETRIES};
    if (!sweep_stop_log_is_stopped(&log, runs[i])) continue;
    memcpy(entry.run, runs[i], sizeof entry.run);
    code = sweep_stop_log_append(root, name, &entry);
    if (code == CORE_OK && update_state(root, runs[i], NULL) != CORE_OK) core_error_clear();
    (*resumed)++;
  }

  sweep_stop_log_free(&log);
  core_files_unlock(&lock);
  return code;
}
