/* Chooses runs by their status and raises their limits (resubmission.h). */
#include "sweep/control/resubmission.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/cluster/job_map.h"
#include "sweep/spec/id_set.h"
#include "sweep/status/usage.h"
#include "sweep/status/view.h"
#include "sweep/stop/decide.h"

bool sweep_resubmission_is_requested(const SweepResubmission *again) {
  return again->failed || again->by_rule || again->run_count > 0;
}

int sweep_resubmission_check(const SweepResubmission *again) {
  if ((!again->mem && !again->time) || sweep_resubmission_is_requested(again)) return CORE_OK;
  return core_error(CORE_USAGE, "--%s changes the limit of chosen runs: add --failed or RUN; for all runs set slurm.%s "
                    "in the experiment file", again->mem ? "mem" : "time", again->mem ? "mem" : "time");
}

/* ---- which runs -------------------------------------------------------------------------------------------------- */

/* Whether --failed chooses a run in this condition. */
static bool is_failed(const SweepView *view, size_t index) {
  const StoreStatus status = view->progress.run[index].state.status;
  if (view->progress.run[index].is_absent) return false;
  if (!view->is_slurm) return status == STORE_FAILED || status == STORE_LOST;
  switch (view->cluster.run[index].condition) {
    case SWEEP_FAILED:
    case SWEEP_ORPHANED:
    case SWEEP_OUT_OF_MEMORY:
    case SWEEP_TIME_LIMIT:
    case SWEEP_LOST:
    case SWEEP_NODE_FAILURE:
    case SWEEP_STOPPED: return true;
    default: return false;
  }
}

/* Adds the orphaned descendants of the chosen runs. */
static void add_orphans(const SweepView *view, const SweepManifest *manifest, bool *is_chosen) {
  SweepIdSet ids = {0};
  size_t parent;
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t i = 0; i < manifest->count; i++) {
      const SweepRunStatus *status = &view->cluster.run[i];
      if (is_chosen[i] || status->condition != SWEEP_ORPHANED) continue;
      if (!sweep_id_set_find(&ids, status->parent, &parent) || !is_chosen[parent]) continue;
      is_chosen[i] = true;
      has_changed = true;
    }
  }
  sweep_id_set_free(&ids);
}

static int choose_by_status(const SweepView *view, const SweepStopLog *stops, SweepResubmission *again) {
  SweepSelection *selection = &again->selection;
  const SweepManifest *manifest = &selection->manifest;
  const bool is_any = !again->failed && !again->by_rule;
  for (size_t i = 0; i < manifest->count && i < view->progress.runs; i++) {
    if (again->run_count > 0 && selection->is_selected[i] && view->progress.run[i].is_absent)
      return core_error(CORE_USAGE, "run %s is no longer in the file of %s; submit a file that has it",
                        manifest->ids[i], selection->name);
    selection->is_selected[i] &= is_any || (again->failed && is_failed(view, i)) ||
                                 (again->by_rule && sweep_stop_log_is_stopped(stops, manifest->ids[i]));
  }
  if (view->is_slurm) add_orphans(view, manifest, selection->is_selected);
  return CORE_OK;
}

/* Reads the status of all runs, and chooses. */
static int choose(const char *root, SweepResubmission *again) {
  const SweepViewOptions options = {.root = root, .is_repeated = true};
  char *names[] = {again->selection.name}, problem[SWEEP_VIEW_PROBLEM];
  SweepView view[2] = {0};
  SweepStopLog stops = {0};
  size_t count = 1;
  int code = sweep_view_read(&options, NULL, names, &count, view, problem);
  if (code == CORE_OK && count == 0) code = core_error(CORE_FAIL, "%s", problem);
  if (code == CORE_OK && view->is_slurm && view->cluster.is_stale)
    code = core_error(CORE_FAIL, "%s", view->cluster.problem);
  if (code == CORE_OK) code = sweep_stop_log_read(root, again->selection.name, &stops);
  if (code == CORE_OK) code = choose_by_status(view, &stops, again);
  sweep_stop_log_free(&stops);
  sweep_view_free(view, count);
  return code;
}

int sweep_resubmission_choose(const char *root, const char *name, SweepResubmission *again, CoreOptionList *where,
                              size_t *count) {
  SweepSelection *selection = &again->selection;
  *count = 0;
  TRY(sweep_selection_make(root, name, selection));
  for (size_t i = 0; i < again->run_count; i++) TRY(sweep_selection_add_run(selection, again->runs[i]));
  TRY(choose(root, again));

  again->conditions = core_memory_allocate((selection->manifest.count + 1) * sizeof *again->conditions);
  for (size_t i = 0; i < selection->manifest.count; i++) {
    if (!selection->is_selected[i]) continue;
    snprintf(again->conditions[*count], SWEEP_RUN_CONDITION, "run=%s", selection->manifest.ids[i]);
    core_options_add(where, again->conditions[(*count)++]);
  }
  return CORE_OK;
}

void sweep_resubmission_free(SweepResubmission *again) {
  sweep_selection_free(&again->selection);
  free(again->conditions);
  again->conditions = NULL;
}

int sweep_resubmission_lift_stops(const SweepResubmission *again) {
  const SweepSelection *selection = &again->selection;
  char(*ids)[CORE_RUN_ID] = core_memory_allocate((selection->manifest.count + 1) * sizeof *ids);
  size_t count = 0, lifted;
  for (size_t i = 0; i < selection->manifest.count; i++)
    if (selection->is_selected[i]) memcpy(ids[count++], selection->manifest.ids[i], CORE_RUN_ID);
  const int code =
    sweep_stop_retry(selection->root, selection->name, (const char(*)[CORE_RUN_ID])ids, count, &lifted);
  free(ids);
  return code;
}

/* ---- resources --------------------------------------------------------------------------------------------------- */

/* Applies --mem: a size, or "+50%" of the old limit. A limit per CPU stays one. */
static int raise_memory(SlurmSettings *settings, const char *text, int64_t old_limit_mb) {
  char digits[32];
  double percent;
  const size_t length = strlen(text);
  if (text[0] != '+' || length < 3 || text[length - 1] != '%') {
    settings->mem_per_cpu = 0;
    return slurm_settings_set(settings, "slurm.mem", text);
  }

  snprintf(digits, sizeof digits, "%.*s", (int)length - 2, text + 1);
  if (!core_text_to_real(digits, &percent) || !(percent > 0 && percent <= 10000))
    return core_error(CORE_USAGE, "--mem %s: expected a size such as 8G, or +50%%", text);
  if (old_limit_mb == 0)
    return core_error(CORE_USAGE, "--mem %s: these runs had no memory limit (slurm.mem); give a size such as 8G", text);

  const double raised_mb = (double)old_limit_mb * (1 + percent / 100);
  const double run_mb = (double)slurm_settings_run_mem(settings);
  if (settings->mem_per_cpu > 0)
    settings->mem_per_cpu = (int64_t)ceil((double)settings->mem_per_cpu * raised_mb / run_mb);
  else settings->mem = (int64_t)ceil(raised_mb);
  return CORE_OK;
}

/* Changes the settings of a resource set. indices: its runs. */
static int change_set(const SweepResubmission *again, const SweepJobMap *job_map, const int64_t *indices, size_t count,
                      SlurmSettings *settings) {
  const SweepSelection *selection = &again->selection;
  int64_t old_limit_mb = 0;
  for (size_t i = 0; i < count; i++) {
    const SweepJobMapEntry *entry = &job_map->entries[indices[i]];
    const int64_t limit_mb = entry->array ? slurm_settings_run_mem(&job_map->batches[entry->batch].settings) : 0;
    if (limit_mb > old_limit_mb) old_limit_mb = limit_mb;
  }

  if (settings->mem_per_cpu == 0 && old_limit_mb > settings->mem)
    settings->mem = old_limit_mb; /* an earlier --mem raised it */
  if (again->mem) TRY(raise_memory(settings, again->mem, old_limit_mb));
  if (again->time) TRY(slurm_settings_set(settings, "slurm.time", again->time));

  const int64_t new_limit_mb = again->mem ? slurm_settings_run_mem(settings) : 0;
  TRY(sweep_usage_check_memory(selection->root, selection->name, indices, count, new_limit_mb));
  return slurm_settings_check(settings);
}

/* Lists the manifest indices of the runs of a set. */
static size_t list_members(const SweepGrid *part, const SweepResources *resources, size_t set, const SweepIdSet *ids,
                           int64_t *indices) {
  size_t count = 0, index;
  for (size_t run = 0; run < part->runs; run++)
    if (sweep_resources_of_run(resources, part, run) == set && sweep_id_set_find(ids, part->ids[run], &index))
      indices[count++] = (int64_t)index;
  return count;
}

int sweep_resubmission_set_resources(const SweepResubmission *again, const SweepGrid *part,
                                     SweepResources *resources) {
  const SweepManifest *manifest = &again->selection.manifest;
  SweepJobMap job_map;
  SweepIdSet ids = {0};
  int code = CORE_OK;
  TRY(sweep_job_map_read(again->selection.root, manifest, &job_map));
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
  int64_t *indices = core_memory_allocate((part->runs + 1) * sizeof *indices);

  for (size_t set = 0; set < resources->count && code == CORE_OK; set++) {
    const size_t count = list_members(part, resources, set, &ids, indices);
    if (count > 0) code = change_set(again, &job_map, indices, count, &resources->sets[set]);
  }

  free(indices);
  sweep_id_set_free(&ids);
  sweep_job_map_free(&job_map);
  return code;
}
