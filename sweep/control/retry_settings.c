#include "sweep/control/retry_settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/cluster/job_map.h"
#include "sweep/status/usage.h"

/* "+50%" of what it was, or a size. */
static int raise_memory(SlurmSettings *settings, const char *text, int64_t before) {
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
  if (before == 0)
    return core_error(CORE_USAGE, "--mem %s: these runs asked for no memory (slurm.mem); give a size such as 8G", text);
  const double raised = (double)before * (1 + percent / 100);
  const int64_t now = slurm_settings_run_mem(settings);
  if (settings->mem_per_cpu > 0) /* the site's way of asking is kept */
    settings->mem_per_cpu = (int64_t)ceil((double)settings->mem_per_cpu * raised / (double)now);
  else settings->mem = (int64_t)ceil(raised);
  return CORE_OK;
}

/* Changes the settings of one set, whose runs these are. */
static int change_set(const SweepRetry *retry, const SweepJobMap *job_map, const int64_t *indices, size_t count,
                      SlurmSettings *settings) {
  int64_t memory = 0;
  for (size_t i = 0; i < count; i++) {
    const SweepJobMapEntry *entry = &job_map->entries[indices[i]];
    const int64_t of_batch = entry->array ? slurm_settings_run_mem(&job_map->batches[entry->batch].settings) : 0;
    if (of_batch > memory) memory = of_batch;
  }
  if (settings->mem_per_cpu == 0 && memory > settings->mem) settings->mem = memory; /* an earlier retry raised it */
  if (retry->mem) TRY(raise_memory(settings, retry->mem, memory));
  if (retry->time) TRY(slurm_settings_set(settings, "slurm.time", retry->time));
  const int64_t limit_mb = retry->mem ? slurm_settings_run_mem(settings) : 0;
  TRY(sweep_usage_check_memory(retry->common->root, retry->name, indices, count, limit_mb, !retry->dry_run));
  return slurm_settings_check(settings);
}

static int change_sets(const SweepRetry *retry, const SweepJobMap *job_map, const size_t *run_sets,
                       SweepResources *resources) {
  int64_t *own = core_memory_allocate((retry->count + 1) * sizeof *own);
  int code = CORE_OK;
  for (size_t set = 0; set < resources->count && code == CORE_OK; set++) {
    size_t count = 0;
    for (size_t i = 0; i < retry->count; i++)
      if (run_sets[i] == set) own[count++] = retry->indices[i];
    if (count > 0) code = change_set(retry, job_map, own, count, &resources->sets[set]);
  }
  free(own);
  return code;
}

int sweep_retry_settings(const SweepRetry *retry, SlurmSettings *settings, SweepResources *resources,
                         size_t **run_sets) {
  SweepSpec spec;
  SweepJobMap job_map;
  *settings = slurm_settings_default();
  *resources = (SweepResources){0};
  *run_sets = NULL;
  TRY(sweep_common_spec(retry->common, retry->name, &spec));
  int code = sweep_spec_slurm(&spec, settings);
  if (code == CORE_OK)
    code = sweep_resources_of_indices(&spec, retry->manifest, retry->indices, retry->count, resources, run_sets);
  sweep_spec_free(&spec);
  TRY(code);
  TRY(sweep_job_map_read(retry->common->root, retry->manifest, &job_map));
  code = change_sets(retry, &job_map, *run_sets, resources);
  sweep_job_map_free(&job_map);
  return code;
}
