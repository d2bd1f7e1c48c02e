/* Compares a task with the cluster's partitions (launch.h). */
#include "sweep/cluster/launch.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"

/* Whether a task with these settings fits the partition, now or later. */
static bool fits(const SlurmPartition *p, const SlurmSettings *s) {
  return (!p->time_max_s || s->time <= p->time_max_s) && s->nodes <= p->nodes &&
         slurm_settings_task_cpus(s) / s->nodes <= p->cpus_max &&
         slurm_settings_task_gpus(s) / s->nodes <= p->gpus_max && s->mem * s->runs_per_task <= p->memory_max_mb;
}

/* Whether `name` is in a comma-separated list. */
static bool is_listed(const char *list, const char *name) {
  const size_t length = strlen(name);
  const char *item = list;
  while (*item) {
    if (strncmp(item, name, length) == 0 && (item[length] == ',' || !item[length])) return true;
    item += strcspn(item, ",");
    if (*item == ',') item++;
  }
  return false;
}

static int no_such_partition(const char *name, const SlurmPartition *partitions, size_t count) {
  CoreText names = {0};
  for (size_t i = 0; i < count; i++) core_text_appendf(&names, "%s%s", i ? ", " : "", partitions[i].name);
  const int code = core_error(CORE_USAGE, "slurm.partition = %s: this cluster has no such partition; it has %s", name,
                              core_text_string(&names));
  core_text_free(&names);
  return code;
}

static int too_large(const SlurmPartition *p, const SlurmSettings *s) {
  char limit[32], requested[32];
  return core_error(
    CORE_USAGE,
    "no task fits partition %s: a task requests %s, %lld nodes with %lld CPUs, %lld GPUs and %lld MB each; the "
    "partition has %lld nodes with at most %lld CPUs, %lld GPUs and %lld MB, for at most %s; change slurm.time, "
    "nodes, cpus_per_run, gpus_per_run, mem or runs_per_task",
    p->name, s->time ? slurm_time_format(s->time, requested) : "its default time", (long long)s->nodes,
    (long long)(slurm_settings_task_cpus(s) / s->nodes), (long long)(slurm_settings_task_gpus(s) / s->nodes),
    (long long)(s->mem * s->runs_per_task), (long long)p->nodes, (long long)p->cpus_max,
    (long long)p->gpus_max, (long long)p->memory_max_mb,
    p->time_max_s ? slurm_time_format(p->time_max_s, limit) : "any time");
}

/* Returns the rank of a partition that fits: the highest starts jobs soonest. */
static int rank(const SlurmPartition *p) {
  if (p->up && p->nodes_up > 0) return 3;
  return p->up ? 2 : p->is_open;
}

/* Reports a partition that starts no jobs at present. Slurm queues jobs for one that is down, and refuses those for one
 * that is drained or inactive. */
static int report_delay(const SlurmPartition *p) {
  switch (rank(p)) {
    case 0:
      return core_error(CORE_USAGE, "partition %s accepts no jobs at present (it is drained or inactive); submit "
                        "later, or choose another slurm.partition", p->name);
    case 1: core_warn("partition %s is down: the jobs wait until it is up", p->name); break;
    case 2: core_warn("partition %s has no node that is up: the jobs wait until there is one", p->name); break;
    default: break;
  }
  return CORE_OK;
}

int sweep_fit_check(SlurmCluster *cluster, const SlurmSettings *settings) {
  SlurmPartition *partitions;
  const SlurmPartition *candidate = NULL, *best = NULL;
  size_t count;
  TRY(slurm_partitions(cluster, &partitions, &count));
  for (size_t i = 0; i < count; i++) {
    const SlurmPartition *p = &partitions[i];
    if (*settings->partition ? !is_listed(settings->partition, p->name) : !p->is_default) continue;
    candidate = p;
    if (fits(p, settings) && (!best || rank(p) > rank(best))) best = p;
  }

  int code = CORE_OK;
  if (best) code = report_delay(best);
  else if (candidate) code = too_large(candidate, settings);
  else if (*settings->partition) code = no_such_partition(settings->partition, partitions, count);
  free(partitions);
  return code;
}
