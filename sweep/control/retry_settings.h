/* Resources of a retry: as the sweep was submitted, with more memory or time (steer.c). */
#ifndef SWEEP_RETRY_SETTINGS_H
#define SWEEP_RETRY_SETTINGS_H
#include "sweep/spec/resources.h"
#include "sweep/spec/sweep.h"

typedef struct SweepRetry {
  const SweepCommon *common;
  const char *name;
  const SweepManifest *manifest;
  const int64_t *indices; /* [count] */
  size_t count;
  const char *mem, *time; /* --mem, --time; NULL: not given */
  bool dry_run;
} SweepRetry;

/* Fills in the settings of the sweep (its frozen [slurm] section) and those of the runs' sets, changed. Caller calls
 * sweep_resources_free and free(*run_sets), whatever is returned. */
int sweep_retry_settings(const SweepRetry *retry, SlurmSettings *settings, SweepResources *resources,
                         size_t **run_sets);

#endif
