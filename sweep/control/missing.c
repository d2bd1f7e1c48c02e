/* States of a grid's runs, added up (missing.h). */
#include "sweep/control/missing.h"

#include "store/workspace/run.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"
#include "sweep/stop/stop_log.h"

int sweep_missing_count(const char *root, const SweepGrid *grid, bool force, SweepMissing *missing) {
  SweepStopLog log = {0};
  int code = CORE_OK;
  *missing = (SweepMissing){0};
  if (grid->spec->stop.rule != SWEEP_STOP_NONE) TRY(sweep_stop_log_read(root, grid->spec->name, &log));
  for (size_t i = 0; i < grid->runs && code == CORE_OK; i++) {
    StoreState state;
    code = store_run_state_read(root, grid->ids[i], true, &state);
    if (state.status == STORE_RUNNING) missing->running++;
    else if (state.status == STORE_FINISHED && !force) missing->finished++;
    else if (state.status == STORE_DIVERGED && !force) missing->diverged++;
    else if (sweep_stop_log_stops(&log, grid->ids[i])) missing->stopped++;
    else missing->todo++;
  }
  sweep_stop_log_free(&log);
  return code;
}

int sweep_missing_check(const char *root, const SweepGrid *grid) {
  size_t bad = 0, left = 0;
  for (size_t i = 0; i < grid->runs; i++) {
    StoreState state;
    TRY(store_run_state_read(root, grid->ids[i], true, &state));
    if (state.status == STORE_FAILED || state.status == STORE_DIVERGED) bad++;
    else left += state.status != STORE_FINISHED && state.status != STORE_STOPPED_BY_RULE;
  }
  if (bad > 0) return core_error(CORE_FAIL, "%zu runs failed; sweep status %s says why", bad, grid->spec->name);
  if (left > 0) return core_error(CORE_REQUEUE, "stopped with %zu runs left; sweep submit goes on", left);
  return CORE_OK;
}

int sweep_missing_check_all(const char *root, const SweepGrid *grid) {
  SweepSpec spec;
  SweepGrid now;
  if (grid->spec->search_count == 0) return sweep_missing_check(root, grid);
  TRY(sweep_common_frozen(root, grid->spec->name, &spec));
  int code = sweep_grid_expand(&spec, &now);
  if (code == CORE_OK) {
    code = sweep_missing_check(root, &now);
    sweep_grid_free(&now);
    if (code == CORE_OK && sweep_spec_is_open(&spec))
      code = core_error(CORE_REQUEUE, "the search of %s has trials left; sweep submit %s goes on, and says what is in "
                        "the way", spec.name, spec.name);
  }
  sweep_spec_free(&spec);
  return code;
}
