/* Finds promoted runs in stop.log and submits them (launch.h). Prints to stderr: tasks and collect use stdout. */
#include "sweep/cluster/launch.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "store/workspace/run.h"
#include "sweep/cluster/journal.h"
#include "sweep/spec/sweep.h"
#include "sweep/spec/trust.h"
#include "sweep/stop/stop_log.h"

/* Whether the run is promoted and was not started since: its last attempt ended before. */
static bool is_resumable(const char *root, const SweepStopLog *log, const char *run) {
  const SweepStopState *standing = sweep_stop_log_find(log, run);
  StoreState state;
  if (!standing || standing->is_stopped) return false;
  const SweepStopEntry *entry = &log->entries[standing->entry];
  if (entry->verb != SWEEP_PROMOTES) return false;
  if (store_run_state_read(root, run, true, &state) != CORE_OK) return false;
  const bool is_stopped = state.status == STORE_STOPPED || state.status == STORE_STOPPED_BY_RULE;
  return is_stopped && state.finished_unix_s < entry->unix_s;
}

/* Whether sweep stop was called since the last submission. It overrides an earlier promotion. */
static bool is_cancelled(const SweepJournal *journal, const char *run) {
  return journal->count > 0 && sweep_journal_cancelled_by(journal, run, &journal->arrays[journal->count - 1]);
}

/* Lists the manifest indices of the runs to submit. */
static int find_promoted(const char *root, const SweepManifest *manifest, int64_t *indices, size_t *count) {
  SweepStopLog log;
  SweepJournal journal;
  TRY(sweep_stop_log_read(root, manifest->name, &log));
  const int code = sweep_journal_read(root, manifest->name, &journal);
  for (size_t i = 0; code == CORE_OK && i < manifest->count; i++)
    if (is_resumable(root, &log, manifest->ids[i]) && !is_cancelled(&journal, manifest->ids[i]))
      indices[(*count)++] = (int64_t)i;
  if (code == CORE_OK) sweep_journal_free(&journal);
  sweep_stop_log_free(&log);
  return code;
}

static int submit(const char *root, const SweepManifest *manifest, const int64_t *indices, size_t count,
                  SweepPromoteResult *result) {
  SweepSpec spec;
  SlurmSettings settings = slurm_settings_default();
  SweepResources resources = {0};
  size_t *run_sets = NULL;
  SlurmCluster *cluster = NULL;
  SweepLaunchResult launched = {0};

  TRY(sweep_common_frozen(root, manifest->name, &spec));
  int code = sweep_trust_check(root, &spec);
  if (code == CORE_OK) code = sweep_spec_slurm(&spec, &settings);
  if (code == CORE_OK) code = sweep_resources_of_indices(&spec, manifest, indices, count, &resources, &run_sets);
  sweep_spec_free(&spec);
  if (code == CORE_OK) code = slurm_cluster_open(settings.api, &cluster, NULL);

  const SweepLaunch launch = {
    .root = root, .name = manifest->name, .cluster = cluster, .settings = &settings, .resources = &resources,
    .run_sets = run_sets, .out = stderr};
  if (code == CORE_OK) code = sweep_launch_resubmit(&launch, manifest, indices, count, &launched);

  slurm_cluster_close(&cluster);
  sweep_resources_free(&resources);
  free(run_sets);
  *result = (SweepPromoteResult){.submitted = launched.submitted, .waiting = launched.runs[SWEEP_QUEUED]};
  return code;
}

int sweep_promote(const char *root, const char *name, SweepPromoteResult *result) {
  SweepManifest manifest;
  size_t count = 0;
  *result = (SweepPromoteResult){0};
  if (!sweep_journal_exists(root, name) || sweep_stop_log_size(root, name) == 0) return CORE_OK;
  TRY(sweep_manifest_read(root, name, &manifest));
  int64_t *indices = core_memory_allocate((manifest.count + 1) * sizeof *indices);
  int code = find_promoted(root, &manifest, indices, &count);
  if (code == CORE_OK && count > 0) code = submit(root, &manifest, indices, count, result);
  free(indices);
  sweep_manifest_free(&manifest);
  return code;
}
