/* Proposes through a child process (executor.h), then submits what that has recorded (task_internal.h). */
#include "sweep/cluster/task_internal.h"

#include <unistd.h>

#include "core/log.h"
#include "store/workspace/run.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/launch.h"
#include "sweep/local/executor.h"
#include "sweep/search/wave.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"

static int launch(const char *root, const SweepSpec *spec) {
  SweepGrid grid;
  SweepManifest manifest = {0};
  SlurmSettings settings = slurm_settings_default();
  SlurmCluster *cluster = NULL;
  SweepResources resources = {0};
  SweepLaunchResult result;

  TRY(sweep_spec_slurm(spec, &settings));
  TRY(sweep_grid_expand(spec, &grid));
  int code = sweep_manifest_read(root, spec->name, &manifest);
  if (code == CORE_OK) code = sweep_resources_make(&grid, &resources);
  if (code == CORE_OK) code = slurm_cluster_open(settings.api, &cluster, NULL);

  const SweepLaunch request = {.root = root, .name = spec->name, .cluster = cluster, .settings = &settings,
                               .resources = &resources, .keep_failed = true, .out = stderr};
  if (code == CORE_OK) code = sweep_launch_grid(&request, &grid, &manifest, &result);
  if (code == CORE_OK && result.waiting > 0)
    core_warn("%s: %zu runs wait because the job limit is reached; the next task that ends submits them, or sweep "
              "submit %s", spec->name, result.waiting, spec->name);

  slurm_cluster_close(&cluster);
  sweep_resources_free(&resources);
  sweep_manifest_free(&manifest);
  sweep_grid_free(&grid);
  return code;
}

/* Whether the run is pending, was never submitted to Slurm, and is not cancelled. ids: of the manifest. */
static int is_held_back(const char *root, const SweepJobMap *job_map, const SweepIdSet *ids, const char *id,
                        bool *held_back) {
  const SweepJournal *journal = &job_map->journal;
  size_t index;
  StoreState state;
  *held_back = false;
  if (!sweep_id_set_find(ids, id, &index) || job_map->entries[index].array || journal->count == 0) return CORE_OK;
  if (sweep_journal_cancelled_by(journal, id, &journal->arrays[journal->count - 1])) return CORE_OK;
  TRY(store_run_state_read(root, id, true, &state));
  *held_back = state.status == STORE_PENDING;
  return CORE_OK;
}

/* Whether the account's limit on queued jobs has held back trials of the last wave. */
static int has_held_back_trials(const char *root, const SweepSpec *spec, bool *held_back) {
  SweepGrid grid;
  SweepManifest manifest = {0};
  SweepJobMap job_map = {0};
  SweepIdSet ids = {0};
  *held_back = false;
  if (spec->search_count == 0) return CORE_OK;

  TRY(sweep_grid_expand(spec, &grid));
  int code = sweep_manifest_read(root, spec->name, &manifest);
  if (code == CORE_OK) code = sweep_job_map_read(root, &manifest, &job_map);
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
  for (size_t i = 0; i < grid.runs && code == CORE_OK && !*held_back; i++)
    code = is_held_back(root, &job_map, &ids, grid.ids[i], held_back);

  sweep_id_set_free(&ids);
  sweep_job_map_free(&job_map);
  sweep_manifest_free(&manifest);
  sweep_grid_free(&grid);
  return code;
}

/* Submits the trials that this process or another has recorded. */
static int submit(const char *root, const char *name) {
  SweepSpec spec;
  TRY(sweep_common_frozen(root, name, &spec));
  const int code = launch(root, &spec);
  sweep_spec_free(&spec);
  return code;
}

/* Checks whether the wave has ended and a next one may be proposed (*is_due), and otherwise whether trials were held
 * back. */
static int check_due(const char *root, const char *name, bool *is_due, bool *held_back) {
  SweepSpec spec;
  *held_back = false;
  TRY(sweep_common_frozen(root, name, &spec));
  int code = sweep_wave_has_ended(root, &spec, is_due);
  if (code == CORE_OK && !*is_due) code = has_held_back_trials(root, &spec, held_back);
  sweep_spec_free(&spec);
  return code;
}

/* Retries after a failure, since another process may be submitting. */
static int submit_with_retries(const char *root, const char *name) {
  enum { TRIES = 10, RETRY_S = 2 };
  int code = submit(root, name);
  for (int i = 1; i < TRIES && code == CORE_FAIL; i++) {
    sleep(RETRY_S);
    code = submit(root, name);
  }
  return code;
}

void sweep_task_search_continue(const char *root, const char *name) {
  bool is_due, held_back;
  int code = check_due(root, name, &is_due, &held_back);
  if (code == CORE_OK && !is_due && !held_back) return;
  if (code == CORE_OK && is_due) code = sweep_next_wave_propose(root, name, false); /* the task has its environment */
  if (code == CORE_OK) code = submit_with_retries(root, name);
  if (code != CORE_OK)
    core_warn("%s: the next trials were not submitted: %s; sweep submit %s submits them", name, core_error_message(),
              name);
  core_error_clear();
}
