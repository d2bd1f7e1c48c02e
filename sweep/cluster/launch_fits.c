/* What a submission would ask of a cluster: whether it fits at all, and what it costs at most (launch.h). */
#include <stdlib.h>
#include <string.h>

#include "sweep/cluster/launch.h"

static int64_t count_tasks(const SweepDemand *demand) {
  const int64_t packed = demand->settings->runs_per_task;
  return ((int64_t)demand->runs + packed - 1) / packed;
}

void sweep_launch_append_cost(const SweepDemand *demands, size_t count, CoreText *text) {
  double gpu_hours = 0, cpu_hours = 0;
  bool bounded = true;
  for (size_t i = 0; i < count; i++) {
    const SlurmSettings *settings = demands[i].settings;
    const double hours = (double)count_tasks(&demands[i]) * (double)settings->time / 3600;
    if (demands[i].runs > 0 && settings->time == 0) bounded = false;
    gpu_hours += hours * (double)slurm_settings_task_gpus(settings);
    cpu_hours += hours * (double)slurm_settings_task_cpus(settings);
  }
  if (!bounded) core_text_append(text, "without a time limit (slurm.time) the cost has no bound");
  else if (gpu_hours > 0) core_text_appendf(text, "at most %.4g GPU-hours and %.4g CPU-hours", gpu_hours, cpu_hours);
  else core_text_appendf(text, "at most %.4g CPU-hours", cpu_hours);
}

/* Appends lines on the limits of a single task. */
static void append_task_limits(const SlurmAllowance *allowance, const SlurmSettings *settings, CoreText *text) {
  const double minutes = (double)settings->time / 60, cpus = (double)slurm_settings_task_cpus(settings) * minutes;
  if (cpus > allowance->task_cpu_minutes)
    core_text_appendf(
      text,
      "  a task may take %.4g CPU-hours (MaxTRESMinsPerJob), these ask for %.4g: none would start; lower slurm.time\n",
      allowance->task_cpu_minutes / 60, cpus / 60);
  if (minutes > allowance->task_minutes)
    core_text_appendf(
      text, "  a task may last %.4g minutes (MaxWall), these ask for %.4g: none would start; lower slurm.time\n",
      allowance->task_minutes, minutes);
}

void sweep_launch_append_allowance(const SlurmAllowance *allowance, const SweepDemand *demands, size_t count,
                            CoreText *text) {
  int64_t tasks = 0;
  double all_cpus = 0, all_gpus = 0;
  for (size_t i = 0; i < count; i++) {
    const SlurmSettings *settings = demands[i].settings;
    const double minutes = (double)count_tasks(&demands[i]) * (double)settings->time / 60;
    tasks += count_tasks(&demands[i]);
    all_cpus += (double)slurm_settings_task_cpus(settings) * minutes;
    all_gpus += (double)slurm_settings_task_gpus(settings) * minutes;
  }
  const char *account = *allowance->account ? allowance->account : "?";
  if (allowance->submit_room >= 0 && tasks > allowance->submit_room)
    core_text_appendf(text,
                      "  account %s lets you have %lld jobs in the queue (MaxSubmitJobs), %lld more now: of %lld tasks "
                      "the rest waits\n",
                      account, (long long)allowance->submit_max, (long long)allowance->submit_room, (long long)tasks);
  if (all_cpus > allowance->cpu_minutes)
    core_text_appendf(
      text,
      "  account %s has %.4g CPU-hours left (GrpTRESMins), these runs may take %.4g: the last would wait for ever\n",
      account, allowance->cpu_minutes / 60, all_cpus / 60);
  if (all_gpus > allowance->gpu_minutes)
    core_text_appendf(
      text,
      "  account %s has %.4g GPU-hours left (GrpTRESMins), these runs may take %.4g: the last would wait for ever\n",
      account, allowance->gpu_minutes / 60, all_gpus / 60);
  for (size_t i = 0; i < count; i++)
    if (demands[i].runs > 0) append_task_limits(allowance, demands[i].settings, text);
}

static bool fits(const SlurmPartition *p, const SlurmSettings *s) {
  return (!p->time_max_s || s->time <= p->time_max_s) && slurm_settings_task_cpus(s) / s->nodes <= p->cpus_max &&
         slurm_settings_task_gpus(s) / s->nodes <= p->gpus_max && s->mem * s->runs_per_task <= p->memory_max_mb &&
         s->nodes <= p->nodes && p->up;
}

static bool is_named(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *c = list; *c; c += strcspn(c, ","), c += *c == ',')
    if (strncmp(c, name, length) == 0 && (c[length] == ',' || !c[length])) return true;
  return false;
}

int sweep_launch_check_fit(SlurmCluster *cluster, const SlurmSettings *s) {
  SlurmPartition *partitions, *nearest = NULL;
  size_t count;
  bool good = false;
  char limit[32], asked[32];
  TRY(slurm_partitions(cluster, &partitions, &count));
  for (size_t i = 0; i < count && !good; i++) {
    if (*s->partition ? !is_named(s->partition, partitions[i].name) : !partitions[i].is_default) continue;
    nearest = &partitions[i];
    good = fits(nearest, s);
  }
  int code = CORE_OK;
  if (!nearest && *s->partition) {
    CoreText names = {0};
    for (size_t i = 0; i < count; i++) core_text_appendf(&names, "%s%s", i ? ", " : "", partitions[i].name);
    code = core_error(CORE_USAGE, "slurm.partition = %s: this cluster has no such partition; it has %s", s->partition,
                      core_text_string(&names));
    core_text_free(&names);
  } else if (nearest && !good) {
    code = core_error(
      CORE_USAGE,
      "no task fits partition %s: a task asks for %s, %lld nodes of %lld processors, %lld GPUs and %lld MB each; it "
      "has %lld nodes%s of at most %lld processors, %lld GPUs and %lld MB, for at most %s (slurm.time, nodes, "
      "cpus_per_run, gpus_per_run, mem, runs_per_task)",
      nearest->name, s->time ? slurm_time_format(s->time, asked) : "its default time", (long long)s->nodes,
      (long long)(slurm_settings_task_cpus(s) / s->nodes), (long long)(slurm_settings_task_gpus(s) / s->nodes),
      (long long)(s->mem * s->runs_per_task), (long long)nearest->nodes, nearest->up ? "" : " (it is down)",
      (long long)nearest->cpus_max, (long long)nearest->gpus_max, (long long)nearest->memory_max_mb,
      nearest->time_max_s ? slurm_time_format(nearest->time_max_s, limit) : "any time");
  }
  free(partitions);
  return code;
}
