/* Format of the record: key=value lines, rewritten as a whole (record.h). */
#include "sweep/cluster/record.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/text.h"
#include "store/workspace/paths.h"

static const char *const cause_names[] = {"none",          "time_limit",  "not_requeued", "stopped",  "killed",
                                          "out_of_memory", "no_progress", "not_started",  "preempted",
                                          "rule",          "cancelled"};
enum { CAUSES = sizeof cause_names / sizeof *cause_names };

static const char *cause_name(SweepCause cause) {
  CORE_CHECK((unsigned)cause < CAUSES);
  return cause_names[cause];
}

int sweep_record_write(const char *root, const char *id, const SweepRecord *record) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  TRY(store_path_run(root, id, "job", path));
  core_text_appendf(
    &text,
    "batch=%lld\njob=%lld\ntask=%lld\nstarts=%lld\nstalled=%lld\niteration=%lld\ncause=%s\nstarted=%.3f\n"
    "ended=%.3f\nfirst=%.3f\nspent=%.3f\npeak_mb=%lld\nnode=%s\nslurm_job=%lld\nover=%lld\nfurthest=%.17g\n",
    (long long)record->batch, (long long)record->job, (long long)record->task, (long long)record->starts,
    (long long)record->stalled, (long long)record->iteration, cause_name(record->cause), record->started_unix_s,
    record->ended_unix_s, record->first_unix_s, record->spent_s, (long long)record->peak_mb, record->node,
    (long long)record->slurm_job, (long long)record->restarted_attempt, record->furthest);
  /* Not synced: each task writes two records, and losing one in a power failure costs only a count of starts. */
  const int code = core_files_write_unsynced(path, text.data, text.length);
  core_text_free(&text);
  return code;
}

int sweep_record_read(const char *root, const char *id, SweepRecord *record, bool *exists) {
  char path[CORE_PATH_MAX], *data, cause[32] = "";
  size_t size;
  long long batch, job, task, starts, stalled, iteration, peak = 0, slurm_job = 0, over = -1;
  *record = (SweepRecord){0};

  TRY(store_path_run(root, id, "job", path));
  *exists = core_files_exists(path);
  if (!*exists) return CORE_OK;
  TRY(core_files_read(path, 4096, &data, &size));

  *exists =
    sscanf(data,
           "batch=%lld job=%lld task=%lld starts=%lld stalled=%lld iteration=%lld cause=%31s started=%lf ended=%lf "
           "first=%lf spent=%lf peak_mb=%lld node=%63s slurm_job=%lld over=%lld furthest=%lf",
           &batch, &job, &task, &starts, &stalled, &iteration, cause, &record->started_unix_s, &record->ended_unix_s,
           &record->first_unix_s, &record->spent_s, &peak, record->node, &slurm_job, &over, &record->furthest) >= 9;
  free(data);
  if (!*exists) return CORE_OK;

  record->batch = batch;
  record->job = job;
  record->task = task;
  record->slurm_job = slurm_job;
  record->starts = starts;
  record->stalled = stalled;
  record->iteration = iteration;
  record->restarted_attempt = over;
  record->peak_mb = peak;
  for (int i = 0; i < CAUSES; i++)
    if (strcmp(cause, cause_names[i]) == 0) record->cause = (SweepCause)i;
  return CORE_OK;
}
