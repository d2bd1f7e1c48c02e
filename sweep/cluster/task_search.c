/* sweep submit --no-start proposes and records (next_wave.h); what it has recorded goes to Slurm from here. */
#include "sweep/cluster/task_search.h"

#include <unistd.h>

#include "core/log.h"
#include "sweep/cluster/launch.h"
#include "sweep/local/next_wave.h"
#include "sweep/search/wave.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"

static int launch(const char *root, const SweepSpec *spec) {
  SweepGrid grid;
  SweepManifest manifest = {0};
  SlurmSettings settings = slurm_settings_default();
  SlurmCluster *cluster = NULL;
  SweepLaunched done;
  TRY(sweep_spec_slurm(spec, &settings));
  TRY(sweep_grid_expand(spec, &grid));
  int code = sweep_manifest_read(root, spec->name, &manifest);
  if (code == CORE_OK) code = slurm_cluster_open(settings.api, &cluster, NULL);
  const SweepLaunch wanted = {.root = root, .name = spec->name, .cluster = cluster, .settings = &settings,
                              .keep_failed = true, .words = stderr};
  if (code == CORE_OK) code = sweep_launch_grid(&wanted, &grid, &manifest, &done);
  slurm_cluster_close(&cluster);
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

static int is_due(const char *root, const char *name, bool *due) {
  SweepSpec spec;
  TRY(sweep_common_frozen(root, name, &spec));
  const int code = sweep_wave_has_ended(root, &spec, due);
  sweep_spec_free(&spec);
  return code;
}

void sweep_task_search_go_on(const char *root, const char *name) {
  enum { TRIES = 10, TRY_S = 2 }; /* somebody else may be submitting */
  bool due;
  int code = is_due(root, name, &due);
  if (code == CORE_OK && !due) return;
  if (code == CORE_OK) code = sweep_next_wave(root, name);
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
