/* What Slurm has of a sweep before anything is submitted (submission.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/cluster/submission.h"

/* The sweep's own name and those that it waits for: they are asked for in one call. */
static size_t names_of(const SweepLaunch *launch, char *copy, const char **names, size_t most) {
  size_t count = 0;
  char *rest = copy;
  names[count++] = launch->name;
  snprintf(copy, SLURM_TEXT, "%s", launch->settings->after);
  for (char *name; *launch->settings->after && count < most && (name = strsep(&rest, ","));) names[count++] = name;
  return count;
}

int sweep_submission_read_queue(SweepSubmission *s) {
  char copy[SLURM_TEXT];
  const char *names[64];
  const size_t count = names_of(s->launch, copy, names, 64);
  slurm_tasks_free(&s->queue);
  TRY(slurm_list(s->launch->cluster, names, count, &s->queue));
  sweep_job_map_join(s->launch->name, &s->job_map, &s->queue);
  return CORE_OK;
}

static size_t count_unanswered(const SweepJournal *journal, double *latest_unix_s) {
  size_t count = 0;
  for (size_t i = 0; i < journal->count; i++) {
    if (journal->arrays[i].state != SWEEP_ARRAY_REQUESTED) continue;
    if (journal->arrays[i].requested_unix_s > *latest_unix_s) *latest_unix_s = journal->arrays[i].requested_unix_s;
    count++;
  }
  return count;
}

/* An array that was asked for and is not in the queue may still be under way to it: slurmctld works on for a while
 * after a client has given up. Only one that stays away for twice that time is gone; should a task of it turn up all
 * the same, it finds that in the journal and ends (task.c). */
int sweep_submission_reconcile(SweepSubmission *s) {
  const SweepJournal *journal = &s->job_map.journal;
  double latest = 0;
  uint8_t *asked = core_memory_zero_allocate(journal->count + 1, 1);
  for (size_t i = 0; i < journal->count; i++) asked[i] = journal->arrays[i].state == SWEEP_ARRAY_REQUESTED;
  int code = sweep_submission_read_queue(s);
  const double settle_s = 2.0 * (double)s->limits->message_timeout_s, start = core_clock_s();
  while (code == CORE_OK && count_unanswered(journal, &latest) > 0) {
    const double age = core_clock_unix_s() - latest;
    if ((age > settle_s || age < 0 || core_clock_s() - start > settle_s) && core_clock_s() - start > 1) break;
    usleep(500 * 1000);
    code = sweep_submission_read_queue(s);
  }
  for (size_t i = 0; i < journal->count && code == CORE_OK; i++) {
    SweepArray *array = &journal->arrays[i];
    if (!asked[i]) continue;
    if (array->state == SWEEP_ARRAY_ACCEPTED) {
      fprintf(sweep_submission_words(s), "  job %lld was taken by Slurm when it was submitted before, unnoticed\n",
              (long long)array->job);
      code = sweep_journal_append(s->launch->root, s->launch->name, "took\t%lld\t%lld\t%lld", (long long)array->batch,
                                  (long long)array->array, (long long)array->job);
    } else {
      array->state = SWEEP_ARRAY_LOST;
      code = sweep_journal_append(s->launch->root, s->launch->name, "gone\t%lld\t%lld", (long long)array->batch,
                                  (long long)array->array);
    }
  }
  free(asked);
  return code;
}

int sweep_submission_find_after(SweepSubmission *s) {
  char copy[SLURM_TEXT];
  const char *names[64];
  const SweepLaunch *launch = s->launch;
  const size_t count = names_of(launch, copy, names, 64);
  for (size_t n = 1; n < count; n++) {
    SweepManifest manifest;
    SweepJobMap job_map;
    if (strcmp(names[n], launch->name) == 0)
      return core_error(CORE_USAGE, "slurm.after = %s: a sweep cannot wait for itself", names[n]);
    TRY(sweep_manifest_read(launch->root, names[n], &manifest));
    int code = sweep_job_map_read(launch->root, &manifest, &job_map);
    sweep_manifest_free(&manifest);
    TRY(code);
    sweep_job_map_join(names[n], &job_map, &s->queue);
    for (size_t i = 0; i < job_map.journal.count; i++) {
      const SweepArray *array = &job_map.journal.arrays[i];
      bool alive = false;
      for (int64_t t = 0; t < array->tasks && !alive; t++)
        alive = job_map.rows[i][t] && !slurm_state_is_over(job_map.rows[i][t]->state);
      if (!alive || array->state != SWEEP_ARRAY_ACCEPTED) continue;
      sweep_wait_add(&s->after, (SlurmId){array->job, -1}, 0, 0);
    }
    sweep_job_map_free(&job_map);
  }
  return CORE_OK;
}
