/* sweep submit --no-start proposes and records (next_wave.h); what it has recorded goes to Slurm from here. */
#include "sweep/cluster/task_search.h"

#include <unistd.h>

#include "core/log.h"
#include "store/workspace/run.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/launch.h"
#include "sweep/local/next_wave.h"
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
  SweepLaunchResult done;
  TRY(sweep_spec_slurm(spec, &settings));
  TRY(sweep_grid_expand(spec, &grid));
  int code = sweep_manifest_read(root, spec->name, &manifest);
  if (code == CORE_OK) code = sweep_resources_make(&grid, &resources);
  if (code == CORE_OK) code = slurm_cluster_open(settings.api, &cluster, NULL);
  const SweepLaunch wanted = {.root = root, .name = spec->name, .cluster = cluster, .settings = &settings,
                              .resources = &resources, .keep_failed = true, .words = stderr};
  if (code == CORE_OK) code = sweep_launch_grid(&wanted, &grid, &manifest, &done);
  if (code == CORE_OK && done.waiting > 0)
    core_warn("%zu runs of %s wait, since the limit on jobs in the queue is reached: the next task that ends submits "
              "them, or sweep submit %s", done.waiting, spec->name, spec->name);
  slurm_cluster_close(&cluster);
  sweep_resources_free(&resources);
  sweep_manifest_free(&manifest);
  sweep_grid_free(&grid);
  return code;
}

/* A run that nobody has asked Slurm for yet, and that nobody has cancelled since. */
static int is_waiting(const char *root, const SweepJobMap *job_map, const SweepIdSet *places, const char *id,
                      bool *waits) {
  const SweepJournal *journal = &job_map->journal;
  size_t index;
  StoreState state;
  *waits = false;
  if (!sweep_id_set_find(places, id, &index) || job_map->entries[index].array || journal->count == 0) return CORE_OK;
  if (sweep_journal_cancelled_by(journal, id, &journal->arrays[journal->count - 1])) return CORE_OK;
  TRY(store_run_state_read(root, id, true, &state));
  *waits = state.status == STORE_PENDING;
  return CORE_OK;
}

/* Trials of the last wave that an account's limit on queued jobs has kept out. */
static int find_waiting(const char *root, const SweepSpec *spec, bool *waits) {
  SweepGrid grid;
  SweepManifest manifest = {0};
  SweepJobMap job_map = {0};
  SweepIdSet places = {0};
  *waits = false;
  if (spec->search_count == 0) return CORE_OK;
  TRY(sweep_grid_expand(spec, &grid));
  int code = sweep_manifest_read(root, spec->name, &manifest);
  if (code == CORE_OK) code = sweep_job_map_read(root, &manifest, &job_map);
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
  for (size_t i = 0; i < grid.runs && code == CORE_OK && !*waits; i++)
    code = is_waiting(root, &job_map, &places, grid.ids[i], waits);
  sweep_id_set_free(&places);
  sweep_job_map_free(&job_map);
  sweep_manifest_free(&manifest);
  sweep_grid_free(&grid);
  return code;
}

/* The trials that were proposed have been recorded, by this call or another. */
static int submit(const char *root, const char *name) {
  SweepSpec spec;
  TRY(sweep_common_frozen(root, name, &spec));
  const int code = launch(root, &spec);
  sweep_spec_free(&spec);
  return code;
}

static int is_due(const char *root, const char *name, bool *due, bool *waits) {
  SweepSpec spec;
  *waits = false;
  TRY(sweep_common_frozen(root, name, &spec));
  int code = sweep_wave_has_ended(root, &spec, due);
  if (code == CORE_OK && !*due) code = find_waiting(root, &spec, waits);
  sweep_spec_free(&spec);
  return code;
}

void sweep_task_search_continue(const char *root, const char *name) {
  enum { TRIES = 10, TRY_S = 2 }; /* somebody else may be submitting */
  bool due, waits;
  int code = is_due(root, name, &due, &waits);
  if (code == CORE_OK && !due && !waits) return;
  if (code == CORE_OK && due) code = sweep_next_wave_propose(root, name, false); /* the task has its environment */
  if (code == CORE_OK) code = submit(root, name);
  for (int i = 1; i < TRIES && code == CORE_FAIL; i++) {
    sleep(TRY_S);
    code = submit(root, name);
  }
  if (code != CORE_OK)
    core_warn("the next trials of %s could not be submitted from here: %s; sweep submit %s does it", name,
              core_error_message(), name);
  core_error_clear();
}
