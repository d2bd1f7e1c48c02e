/* Reads the states of a grid's runs (missing.h). */
#include "sweep/control/missing.h"

#include "store/workspace/run.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"
#include "sweep/stop/stop_log.h"

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
