/* Finds the job ids through which slurmrestd changes just the selected tasks (rest_internal.h). Slurm keeps the pending
 * tasks of an array in one job with the array's id, and gives a task its own id when it starts, is requeued or was
 * changed. */
#include <stdlib.h>

#include "core/memory.h"
#include "slurm/rest_internal.h"

/* Pending tasks of a job record, and how many of them were selected. */
typedef struct Waiting { int64_t array, own, tasks, chosen; } Waiting;

static int by_id(const void *a, const void *b) {
  const SlurmId *x = a, *y = b;
  if (x->job != y->job) return x->job < y->job ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

static bool is_chosen(const SlurmId *ids, size_t count, SlurmId id) {
  const SlurmId whole_job = {id.job, -1};
  return bsearch(&id, ids, count, sizeof *ids, by_id) || bsearch(&whole_job, ids, count, sizeof *ids, by_id);
}

static int read_waiting(const json_t *record, const SlurmId *ids, size_t count, Waiting *waiting) {
  SlurmTasks rows = {0};
  *waiting = (Waiting){0};
  const int code = rest_read_waiting(record, &waiting->own, &rows);
  if (code == CORE_OK) {
    for (size_t i = 0; i < rows.count; i++) {
      const SlurmTask *row = &rows.rows[i];
      waiting->array = row->job;
      for (int64_t task = row->first; task <= row->last; task += row->step > 0 ? row->step : 1) {
        waiting->tasks++;
        waiting->chosen += is_chosen(ids, count, (SlurmId){row->job, task});
      }
    }
  }
  slurm_tasks_free(&rows);
  return code;
}

/* Whether any pending task of this array was not selected. */
static bool is_partial(const Waiting *waiting, size_t count, int64_t array) {
  for (size_t i = 0; i < count; i++)
    if (waiting[i].array == array && waiting[i].chosen < waiting[i].tasks) return true;
  return false;
}

int rest_update_numbers(const json_t *jobs, const SlurmId *ids, size_t count, int64_t *numbers, size_t *number_count) {
  const size_t records = json_array_size(jobs);
  Waiting *waiting = core_memory_zero_allocate(records + 1, sizeof *waiting);
  int code = CORE_OK;

  for (size_t i = 0; i < records; i++) {
    code = read_waiting(json_array_get(jobs, i), ids, count, &waiting[i]);
    if (code != CORE_OK) break;
  }

  for (size_t i = 0; i < records; i++) {
    if (code != CORE_OK) break;
    const Waiting *one = &waiting[i];
    const bool is_alone = one->own != one->array && one->chosen == one->tasks;
    if (one->chosen == 0) continue;
    if (is_alone || !is_partial(waiting, records, one->array)) numbers[(*number_count)++] = one->own;
    else
      code =
        core_error(CORE_USAGE,
                   "slurmrestd of this version holds and releases arrays as a whole, and job %lld has "
                   "waiting tasks that are not meant; leave out the runs (all of the sweep), or use slurm.api = cli",
                   (long long)one->array);
  }

  free(waiting);
  return code;
}
