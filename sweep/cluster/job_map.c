/* Joins journal, batches and queue (job_map.h). Reads files only; never calls Slurm. */
#include "sweep/cluster/job_map.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { CLOCKS_DIFFER_S = 3600 }; /* tolerated difference between the clocks of the submitter and of slurmctld */

/* Points the entries of an array's runs to it. Later arrays replace earlier ones. */
static void map_array(SweepJobMap *job_map, const SweepArray *array, size_t batch_index) {
  const SweepBatch *batch = &job_map->batches[batch_index];
  const int64_t runs_per_task = batch->settings.runs_per_task;
  for (int64_t task = 0; task < array->tasks; task++) {
    for (int64_t k = 0; k < runs_per_task; k++) {
      const size_t line = (size_t)((array->first_task + task) * runs_per_task + k);
      if (line >= batch->count) break;
      const int64_t index = batch->runs[line].index;
      if (index < 0 || (size_t)index >= job_map->count) continue;
      job_map->entries[index] =
        (SweepJobMapEntry){.array = array, .task = task, .batch = batch_index, .line = line};
    }
  }
}

int sweep_job_map_read(const char *root, const SweepManifest *manifest, SweepJobMap *job_map) {
  *job_map = (SweepJobMap){.count = manifest->count};
  TRY(sweep_journal_read(root, manifest->name, &job_map->journal));
  const SweepJournal *journal = &job_map->journal;
  job_map->entries = core_memory_zero_allocate(manifest->count + 1, sizeof *job_map->entries);
  job_map->batch_count = (size_t)journal->batches;
  job_map->batches = core_memory_zero_allocate(job_map->batch_count + 1, sizeof *job_map->batches);
  job_map->tasks = core_memory_zero_allocate(journal->count + 1, sizeof *job_map->tasks);

  int code = CORE_OK;
  for (size_t i = 0; i < journal->count && code == CORE_OK; i++) {
    const SweepArray *array = &journal->arrays[i];
    const size_t batch = (size_t)array->batch - 1;
    job_map->tasks[i] = core_memory_zero_allocate((size_t)array->tasks, sizeof **job_map->tasks);
    if (array->state == SWEEP_ARRAY_REJECTED || array->state == SWEEP_ARRAY_LOST) continue;

    if (!job_map->batches[batch].count)
      code = sweep_batch_read(root, manifest->name, array->batch, &job_map->batches[batch]);
    if (code == CORE_OK && strcmp(job_map->batches[batch].hash, array->hash) != 0)
      code = core_error(CORE_FAIL, "%s: batch %lld was changed after its submission; restore the file", manifest->name,
                        (long long)array->batch);
    if (code == CORE_OK) map_array(job_map, array, batch);
  }

  if (code != CORE_OK) sweep_job_map_free(job_map);
  return code;
}

void sweep_job_map_free(SweepJobMap *job_map) {
  for (size_t i = 0; job_map->tasks && i < job_map->journal.count; i++) free(job_map->tasks[i]);
  for (size_t i = 0; job_map->batches && i < job_map->batch_count; i++) sweep_batch_free(&job_map->batches[i]);
  free(job_map->tasks);
  free(job_map->batches);
  free(job_map->entries);
  sweep_journal_free(&job_map->journal);
  *job_map = (SweepJobMap){0};
}

/* ---- rows of the queue ------------------------------------------------------------------------------------------- */

/* Whether the row's comment contains that of the array, possibly among words of a site. */
static bool has_comment(const char *name, const SweepArray *array, const SlurmTask *row) {
  char comment[SLURM_NAME];
  sweep_journal_comment(name, array->batch, array->hash, array->array, comment);
  const char *found = strstr(row->comment, comment);
  const char next = found ? found[strlen(comment)] : '\0';
  return found && !(next >= '0' && next <= '9');
}

/* Whether the row's comment is that of an array, of whatever sweep. */
static bool has_any_comment(const SlurmTask *row) {
  char name[SLURM_NAME], hash[SWEEP_HASH];
  long long batch, array;
  const char *found = strstr(row->comment, "sweep=");
  return found && sscanf(found, "sweep=%127s batch=%lld.%16[0-9a-f]:%lld", name, &batch, hash, &array) == 4;
}

/* Whether the row was submitted by the array's user in this workspace. The journal has the number of a user whose name
 * is unusual. */
static bool has_origin(const SweepArray *array, const SlurmTask *row) {
  char user[sizeof array->submitted_by];
  int64_t number;
  snprintf(user, sizeof user, "%.*s", (int)strcspn(array->submitted_by, "@"), array->submitted_by);
  const struct passwd *account =
    core_text_to_int(user, &number) && number >= 0 ? getpwuid((uid_t)number) : NULL;
  return row->is_in_directory &&
         (strcmp(row->user, user) == 0 || (account && strcmp(row->user, account->pw_name) == 0));
}

static bool is_job_known(const SweepJournal *journal, int64_t job) {
  for (size_t i = 0; i < journal->count; i++)
    if (journal->arrays[i].job == job) return true;
  return false;
}

/* Whether the row is of the array. Job ids are reused, and users and sites change comments and names. The comment with
 * which the array was submitted proves it, that of another array disproves it. Otherwise job id, user and working
 * directory decide. Without a job id, the name and the time of the submission must match as well. */
static bool is_of_array(const char *name, const SweepJournal *journal, const SweepArray *array, const SlurmTask *row) {
  if (array->state == SWEEP_ARRAY_REJECTED || (array->job && array->job != row->job)) return false;
  if (has_comment(name, array, row)) return true;
  if (has_any_comment(row) || row->first < 0 || !has_origin(array, row)) return false;
  if (array->job) return true;
  return array->state == SWEEP_ARRAY_REQUESTED && strcmp(row->name, name) == 0 && !is_job_known(journal, row->job) &&
         (double)row->submit_unix_s > array->requested_unix_s - CLOCKS_DIFFER_S;
}

/* Finds the array that a row belongs to, the latest first; NULL: none. */
static SweepArray *find_array(const char *name, SweepJournal *journal, const SlurmTask *row) {
  for (size_t i = journal->count; i-- > 0;)
    if (is_of_array(name, journal, &journal->arrays[i], row)) return &journal->arrays[i];
  return NULL;
}

void sweep_job_map_join(const char *name, SweepJobMap *job_map, const SlurmTasks *tasks) {
  for (size_t r = 0; r < tasks->count; r++) {
    const SlurmTask *row = &tasks->rows[r];
    SweepArray *array = find_array(name, &job_map->journal, row);
    if (!array || array->state == SWEEP_ARRAY_LOST) continue;
    if (array->state == SWEEP_ARRAY_REQUESTED) {
      array->state = SWEEP_ARRAY_ACCEPTED;
      array->job = row->job;
    }
    const SlurmTask **rows = job_map->tasks[array - job_map->journal.arrays];
    for (int64_t t = row->first; t >= 0 && t <= row->last && t < array->tasks; t += row->step) rows[t] = row;
  }
}

const SlurmTask *sweep_job_map_task(const SweepJobMap *job_map, const SweepJobMapEntry *entry) {
  return entry->array ? job_map->tasks[entry->array - job_map->journal.arrays][entry->task] : NULL;
}

SlurmId sweep_job_map_task_id(const SweepJobMapEntry *entry) {
  return (SlurmId){.job = entry->array ? entry->array->job : 0, .task = entry->task};
}
