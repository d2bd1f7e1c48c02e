/* Computes array sizes, throttles and scripts (split.h). Makes no calls to Slurm. */
#include "sweep/cluster/split.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/process.h"
#include "slurm/cluster.h"
#include "sweep/cluster/journal.h"

enum { ARRAY_TASKS_DEFAULT = 1000 }; /* for a cluster that cannot be queried */

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

SweepSplit sweep_split_make(const SweepLaunch *launch, const SlurmSettings *settings, const SlurmLimits *limits,
                            int64_t submit_room, size_t runs, int64_t batch) {
  const int64_t runs_per_task = settings->runs_per_task;
  SweepSplit split = {.launch = launch,
                      .settings = settings,
                      .batch = batch,
                      .hash = "0000000000000000",
                      .runs = runs,
                      .tasks = ((int64_t)runs + runs_per_task - 1) / runs_per_task,
                      .array_tasks = limits ? limits->array_tasks_max : ARRAY_TASKS_DEFAULT};
  if (submit_room > 0) split.array_tasks = min(split.array_tasks, submit_room);
  if (limits && limits->jobs_max > 0) split.array_tasks = min(split.array_tasks, limits->jobs_max);
  split.arrays = (split.tasks + split.array_tasks - 1) / split.array_tasks;
  return split;
}

size_t sweep_split_runs(const SweepSplit *split, int64_t array) {
  const size_t full = (size_t)(split->array_tasks * split->settings->runs_per_task);
  const size_t first = (size_t)array * full;
  return split->runs - first < full ? split->runs - first : full;
}

void sweep_wait_add(SweepWait *wait, SlurmId id, int64_t batch, int64_t array) {
  char label[64];
  snprintf(label, sizeof label, " array %lld of batch %lld;", (long long)array, (long long)batch);
  if (id.job == 0) {
    if (!strstr(core_text_string(&wait->unknown), label)) core_text_append(&wait->unknown, label);
    return;
  }
  for (size_t i = 0; i < wait->count; i++)
    if (wait->after[i].job == id.job && (wait->after[i].task == id.task || wait->after[i].task < 0)) return;
  wait->after = core_memory_resize(wait->after, (wait->count + 1) * sizeof *wait->after);
  wait->after[wait->count++] = id;
}

void sweep_wait_free(SweepWait *wait) {
  free(wait->after);
  core_text_free(&wait->unknown);
  *wait = (SweepWait){0};
}

/* Returns the array's share of max_running, which limits the whole sweep; 0: no limit. If there are more arrays than
 * max_running, each has a share of 1 and depends on an earlier one. */
static int64_t compute_throttle(const SweepSplit *split, int64_t array) {
  const int64_t max_running = split->settings->max_running;
  if (max_running == 0) return 0;
  const int64_t share = max_running / split->arrays + (array < max_running % split->arrays);
  return share > 0 ? share : 1;
}

int sweep_split_job(const SweepSplit *split, int64_t array, const SweepWait *wait, SweepArrayJob *job) {
  const SweepLaunch *launch = split->launch;
  char program[CORE_PATH_MAX], config[CORE_PATH_MAX], batch_text[32], array_text[32];
  const char *config_home = getenv("XDG_CONFIG_HOME");
  const bool has_config = config_home && *config_home == '/';
  const int64_t first = array * split->array_tasks;
  *job = (SweepArrayJob){0};

  if (*split->settings->container) snprintf(program, sizeof program, "sweep"); /* found by the container's PATH */
  else TRY(core_program_path(program));
  TRY(sweep_batch_output(launch->root, launch->name, split->batch, array, job->output));
  if (strpbrk(job->output, "%\n"))
    return core_error(CORE_USAGE, "%s: Slurm does not accept a directory whose name contains %% or a newline; use "
                      "another workspace", launch->root);

  snprintf(batch_text, sizeof batch_text, "%lld", (long long)split->batch);
  snprintf(array_text, sizeof array_text, "%lld", (long long)array);
  snprintf(job->remark, sizeof job->remark,
           "It also depends (--dependency) on jobs that have no number before they are submitted:%s",
           core_text_string(&wait->unknown));

  /* The task needs the list of trusted code before it can apply the recorded environment. */
  if (has_config) TRY(core_files_path(config, "XDG_CONFIG_HOME=%s", config_home));
  const char *const command[] = {"env",        config,     program,    "task", "--root", launch->root,
                                 launch->name, batch_text, array_text, NULL};
  job->job = (SlurmJob){.name = launch->name,
                        .comment = sweep_journal_comment(launch->name, split->batch, split->hash, array, job->comment),
                        .directory = launch->root,
                        .output = job->output,
                        .tasks = min(split->array_tasks, split->tasks - first),
                        .running_max = compute_throttle(split, array),
                        .after = wait->after,
                        .after_count = wait->count,
                        .after_each = wait->after_each,
                        .remark = wait->unknown.length ? job->remark : NULL,
                        .held = launch->held,
                        .settings = split->settings};

  slurm_script_print(&job->job, has_config ? command : command + 2, &job->script);
  job->job.script = core_text_string(&job->script);
  return CORE_OK;
}
