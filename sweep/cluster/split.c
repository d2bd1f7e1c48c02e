/* How many tasks an array takes, and the typed values and the script of each. Calls nobody. */
#include "sweep/cluster/split.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/program.h"
#include "slurm/script.h"
#include "sweep/cluster/journal.h"

enum { ARRAY_TASKS_OTHERWISE = 1000 };

SweepSplit sweep_split_make(const SweepLaunch *launch, const SlurmSettings *settings, const SlurmLimits *limits,
                            int64_t room, size_t runs, int64_t number) {
  const int64_t packed = settings->runs_per_task;
  SweepSplit split = {.launch = launch,
                  .settings = settings,
                  .number = number,
                  .hash = "0000000000000000",
                  .runs = runs,
                  .tasks = ((int64_t)runs + packed - 1) / packed,
                  .array_tasks = limits ? limits->array_tasks_max : ARRAY_TASKS_OTHERWISE};
  if (room > 0 && room < split.array_tasks) split.array_tasks = room;
  if (limits && limits->jobs_max > 0 && limits->jobs_max < split.array_tasks) split.array_tasks = limits->jobs_max;
  split.arrays = (split.tasks + split.array_tasks - 1) / split.array_tasks;
  return split;
}

size_t sweep_split_runs(const SweepSplit *split, int64_t array) {
  const size_t full = (size_t)(split->array_tasks * split->settings->runs_per_task);
  const size_t first = (size_t)array * full;
  return split->runs - first < full ? split->runs - first : full;
}

void sweep_wait_add(SweepWait *wait, SlurmId id, int64_t number, int64_t array) {
  char words[64];
  snprintf(words, sizeof words, " array %lld of batch %lld;", (long long)array, (long long)number);
  if (id.job == 0) {
    if (!strstr(core_text_string(&wait->unknown), words)) core_text_append(&wait->unknown, words);
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

/* max_running holds for the whole sweep: arrays share it; where there are more arrays than that, each waits for an
 * earlier one. */
static int64_t throttle_of(const SweepSplit *split, int64_t array) {
  const SlurmSettings *settings = split->settings;
  if (settings->max_running == 0) return 0;
  const int64_t share = settings->max_running / split->arrays + (array < settings->max_running % split->arrays);
  return share > 0 ? share : 1;
}

int sweep_split_job(const SweepSplit *split, int64_t array, const SweepWait *wait, SweepArrayJob *job) {
  const SweepLaunch *launch = split->launch;
  char program[CORE_PATH_MAX], number[32], first[32];
  const int64_t begin = array * split->array_tasks,
                end = begin + split->array_tasks < split->tasks ? begin + split->array_tasks : split->tasks;
  *job = (SweepArrayJob){0};
  if (*split->settings->container) snprintf(program, sizeof program, "sweep"); /* the image's, by its PATH */
  else TRY(core_program_path(program));
  TRY(sweep_batch_output(launch->root, launch->name, split->number, array, job->output));
  if (strpbrk(job->output, "%\n"))
    return core_error(CORE_USAGE, "%s: Slurm takes no folder whose name holds %% or a newline", launch->root);
  snprintf(number, sizeof number, "%lld", (long long)split->number);
  snprintf(first, sizeof first, "%lld", (long long)array);
  snprintf(job->remark, sizeof job->remark,
           "It also waits (--dependency) for what has no number before it is submitted:%s",
           core_text_string(&wait->unknown));
  const char *const command[] = {program, "task", "--root", launch->root, launch->name, number, first, NULL};
  job->job = (SlurmJob){.name = launch->name,
                        .comment = sweep_journal_comment(launch->name, split->number, split->hash, array, job->comment),
                        .folder = launch->root,
                        .output = job->output,
                        .tasks = end - begin,
                        .running_max = throttle_of(split, array),
                        .after = wait->after,
                        .after_count = wait->count,
                        .after_each = wait->after_each,
                        .remark = wait->unknown.length ? job->remark : NULL,
                        .held = launch->held,
                        .settings = split->settings};
  slurm_script_print(&job->job, command, &job->script);
  job->job.script = core_text_string(&job->script);
  return CORE_OK;
}
