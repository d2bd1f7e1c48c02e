/* From rows to lines to states (decide.h). The order is: lock, read, decide, append, show. Killed between any two, the
 * next one goes on: the log alone counts, and states are brought after it. */
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
#include "sweep/stop/trials.h"

/* ---- showing ----------------------------------------------------------------------------------------------------- */

/* A run's state after the log: one that nobody writes, under its lease. */
static int show_state(const char *root, const char *run, const SweepStopEntry *stop) {
  StoreState state;
  StoreLease *lease;
  TRY(store_run_state_read(root, run, true, &state));
  if (state.status == STORE_RUNNING) return CORE_OK; /* it is told to end by who carries it out */
  TRY(store_run_acquire(root, run, &lease));
  int code = store_run_state_read(root, run, true, &state);
  const bool rests = state.status == STORE_STOPPED || state.status == STORE_LOST;
  if (code == CORE_OK && stop && rests) {
    state.status = STORE_STOPPED_BY_RULE;
    sweep_stop_log_words(stop, state.message, sizeof state.message);
    code = store_run_state_write(root, run, &state);
  } else if (code == CORE_OK && !stop && state.status == STORE_STOPPED_BY_RULE) {
    state.status = STORE_STOPPED;
    state.message[0] = '\0';
    code = store_run_state_write(root, run, &state);
  }
  store_run_release(&lease);
  return code;
}

/* Runs whose row does not say what the log does. A run that is just being written is shown the next time. */
static void show(const char *root, const SweepTrials *trials, const SweepStopLog *log) {
  for (size_t i = 0; i < trials->count; i++) {
    const SweepStopStanding *standing = sweep_stop_log_find(log, trials->items[i].run);
    if (!standing || trials->items[i].is_over) continue;
    if (standing->is_stopped == (trials->status[i] == STORE_STOPPED_BY_RULE)) continue;
    const SweepStopEntry *stop = standing->is_stopped ? &log->entries[standing->entry] : NULL;
    if (show_state(root, trials->items[i].run, stop) != CORE_OK) core_error_clear();
  }
}

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

static int append(const char *root, const char *name, const SweepStop *rule, const SweepTrials *trials,
                  const SweepDecisions *decisions, SweepStopOutcome *outcome) {
  for (size_t i = 0; i < decisions->count; i++) {
    const SweepDecision *decision = &decisions->items[i];
    SweepStopEntry entry = {.verb = decision->verb, .rule = rule->rule, .rung = decision->rung,
                            .transitions = decision->transitions, .value = decision->value,
                            .threshold = decision->threshold};
    memcpy(entry.run, trials->items[decision->trial].run, sizeof entry.run);
    snprintf(entry.why, sizeof entry.why, "%s", decision->why);
    TRY(sweep_stop_log_append(root, name, &entry));
    if (decision->verb == SWEEP_STOPS) outcome->stopped++;
    else outcome->promoted++;
  }
  return CORE_OK;
}

static bool has_finished(const SweepTrials *trials) {
  bool some = false;
  for (size_t i = 0; i < trials->count; i++) some |= trials->status[i] == STORE_FINISHED;
  return some;
}

/* Under the lock. */
static int decide(const char *root, const SweepGrid *grid, StoreDatabase *database, SweepStopOutcome *outcome) {
  const char *name = grid->spec->name;
  SweepStopLog log, after;
  SweepTrials trials;
  SweepDecisions decisions = {0};
  TRY(sweep_stop_log_read(root, name, &log));
  int code = sweep_trials_read(database, grid, &log, &trials);
  sweep_stop_log_free(&log);
  if (code != CORE_OK) return code;
  sweep_rule_apply(&grid->spec->stop, trials.items, trials.count, &decisions);
  outcome->is_unmeasured = !trials.is_measured && has_finished(&trials);
  code = append(root, name, &grid->spec->stop, &trials, &decisions, outcome);
  if (code == CORE_OK) code = sweep_stop_log_read(root, name, &after);
  if (code == CORE_OK) {
    show(root, &trials, &after);
    sweep_stop_log_free(&after);
  }
  sweep_decisions_free(&decisions);
  sweep_trials_free(&trials);
  return code;
}

/* Seconds since anybody decided last; INFINITY: nobody has. */
static double age_s(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  struct stat file;
  if (store_path_sweep(root, name, "stop.lock", path) != CORE_OK || stat(path, &file) != 0) return INFINITY;
  return core_clock_unix_s() - ((double)file.st_mtim.tv_sec + 1e-9 * (double)file.st_mtim.tv_nsec);
}

static int decide_for(const char *root, const SweepSpec *spec, StoreDatabase *database, bool wait,
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
  const int code =
    spec.stop.rule == SWEEP_STOP_NONE ? CORE_OK : decide_for(root, &spec, database, wait, outcome);
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
  if (code == CORE_OK) code = decide_for(root, spec, database, now, outcome);
  store_database_close(&database);
  return code;
}

int sweep_stop_look(const char *root, const char *name, bool now, SweepStopOutcome *outcome) {
  SweepSpec spec;
  *outcome = (SweepStopOutcome){0};
  TRY(sweep_common_frozen(root, name, &spec));
  int code = CORE_OK;
  if (spec.stop.rule == SWEEP_STOP_NONE || (!now && age_s(root, name) < spec.stop.every)) outcome->is_busy = !now;
  else code = import_and_decide(root, &spec, now, outcome);
  sweep_spec_free(&spec);
  return code;
}

SweepStopKind sweep_stop_of(const char *root, const char *name, double *every_s) {
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

/* ---- taking up --------------------------------------------------------------------------------------------------- */

int sweep_stop_retry(const char *root, const char *name, const char (*runs)[CORE_RUN_ID], size_t count, size_t *taken) {
  SweepStopLog log;
  int lock;
  *taken = 0;
  TRY(sweep_stop_lock(root, name, true, &lock));
  int code = sweep_stop_log_read(root, name, &log);
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    SweepStopEntry entry = {.verb = SWEEP_RETRIES};
    if (!sweep_stop_log_stops(&log, runs[i])) continue;
    memcpy(entry.run, runs[i], sizeof entry.run);
    code = sweep_stop_log_append(root, name, &entry);
    if (code == CORE_OK && show_state(root, runs[i], NULL) != CORE_OK) core_error_clear();
    (*taken)++;
  }
  sweep_stop_log_free(&log);
  core_files_unlock(&lock);
  return code;
}
