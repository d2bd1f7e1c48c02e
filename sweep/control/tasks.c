/* Finds the tasks of the selected runs by the journal (job_map.h) and Slurm's queue, and cancels or holds them in as
 * few calls as possible. sweep_tasks_open locks the journal, sweep_tasks_close unlocks it. */
#include "sweep/control/tasks.h"

#include <stdlib.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "sweep/cluster/journal.h"
#include "sweep/status/cluster_status.h"

/* Lists the sweep's tasks in Slurm's queue. */
static int list_queue(const SweepTasks *tasks, SlurmTasks *listing) {
  const char *name = tasks->selection->name;
  return slurm_list(tasks->cluster, &(SlurmSelection){&name, 1, tasks->selection->root}, listing);
}

static int compare_ids(const void *a, const void *b) {
  const SlurmId *x = a, *y = b;
  if (x->job != y->job) return x->job < y->job ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

/* Finds the tasks of the selected runs: sorted, and each once, since runs may share a task. */
static void find_tasks(SweepTasks *tasks, bool only_waiting) {
  const SweepSelection *selection = tasks->selection;
  size_t found = 0;
  tasks->ids = core_memory_allocate((selection->manifest.count + 1) * sizeof *tasks->ids);

  for (size_t i = 0; i < selection->manifest.count; i++) {
    const SweepJobMapEntry *entry = &tasks->job_map.entries[i];
    const SlurmTask *task = sweep_job_map_task(&tasks->job_map, entry);
    if (!selection->is_selected[i] || !task || slurm_state_is_over(task->state)) continue;
    if (only_waiting && task->state != SLURM_PENDING) continue;
    if (task->state != SLURM_PENDING) tasks->is_running = true;
    tasks->ids[found++] = sweep_job_map_task_id(entry);
  }

  qsort(tasks->ids, found, sizeof *tasks->ids, compare_ids);
  for (size_t i = 0; i < found; i++)
    if (tasks->count == 0 || compare_ids(&tasks->ids[tasks->count - 1], &tasks->ids[i]) != 0)
      tasks->ids[tasks->count++] = tasks->ids[i];
}

static bool contains(const SweepTasks *tasks, SlurmId id) {
  return id.job > 0 && bsearch(&id, tasks->ids, tasks->count, sizeof id, compare_ids);
}

int sweep_tasks_open(const SweepSelection *selection, bool only_waiting, SweepTasks *tasks) {
  *tasks = (SweepTasks){.selection = selection, .lock = -1};
  tasks->has_task = core_memory_zero_allocate(selection->manifest.count + 1, sizeof *tasks->has_task);
  if (!selection->was_submitted) return CORE_OK;

  TRY(sweep_journal_lock(selection->root, selection->name, &tasks->lock));
  TRY(sweep_job_map_read(selection->root, &selection->manifest, &tasks->job_map));
  TRY(slurm_cluster_open("auto", &tasks->cluster, NULL));
  TRY(list_queue(tasks, &tasks->listing));
  sweep_job_map_join(selection->name, &tasks->job_map, &tasks->listing);

  find_tasks(tasks, only_waiting);
  for (size_t i = 0; i < tasks->job_map.count; i++)
    tasks->has_task[i] = contains(tasks, sweep_job_map_task_id(&tasks->job_map.entries[i]));
  return CORE_OK;
}

void sweep_tasks_close(SweepTasks *tasks) {
  slurm_cluster_close(&tasks->cluster);
  sweep_job_map_free(&tasks->job_map);
  slurm_tasks_free(&tasks->listing);
  free(tasks->ids);
  free(tasks->has_task);
  core_files_unlock(&tasks->lock);
}

/* Counts the cancels that hold: those of the journal that it has not taken back. */
static int count_cancels(const SweepSelection *selection, size_t *count) {
  SweepJournal journal;
  TRY(sweep_journal_read(selection->root, selection->name, &journal));
  *count = journal.cancel_count;
  sweep_journal_free(&journal);
  return CORE_OK;
}

static int record_cancels(const SweepSelection *selection) {
  if (selection->is_whole_sweep) return sweep_journal_append(selection->root, selection->name, "cancel\tall");
  for (size_t i = 0; i < selection->manifest.count; i++) {
    if (!selection->is_selected[i]) continue;
    TRY(sweep_journal_append(selection->root, selection->name, "cancel\t%s", selection->manifest.ids[i]));
  }
  return CORE_OK;
}

/* Takes back all cancels of the journal but the first `kept`, and returns the pending error. Otherwise a task that
 * stops for another reason would take itself for cancelled, and would not be requeued. */
static int take_back_cancels(const SweepSelection *selection, size_t kept, int pending) {
  char message[512];
  size_t count;
  snprintf(message, sizeof message, "%s", core_error_message());
  int code = count_cancels(selection, &count); /* a line whose writing failed may be there */
  if (code == CORE_OK && count > kept)
    code = sweep_journal_append(selection->root, selection->name, "uncancel\t%zu", count - kept);
  if (code != CORE_OK) core_warn("%s", core_error_message());
  return core_error(pending, "%s", message);
}

/* Cancels after the journal, so that the tasks and sweep status know the reason. If Slurm certainly did nothing, or the
 * journal could not be written whole, the journal takes the cancels back. */
int sweep_tasks_cancel(const SweepTasks *tasks) {
  size_t kept;
  if (tasks->count == 0) return CORE_OK;

  TRY(count_cancels(tasks->selection, &kept));
  int code = record_cancels(tasks->selection);
  if (code != CORE_OK) return take_back_cancels(tasks->selection, kept, code);

  code = slurm_cancel(tasks->cluster, tasks->ids, tasks->count);
  const SlurmFault fault = slurm_fault(tasks->cluster);
  sweep_cluster_status_clear_cache();
  if (code == CORE_OK || fault == SLURM_TIMED_OUT || fault == SLURM_GARBLED) return code;
  return take_back_cancels(tasks->selection, kept, code);
}

int sweep_tasks_hold(const SweepTasks *tasks, bool hold) {
  if (tasks->count == 0) return CORE_OK;
  const int code = slurm_hold(tasks->cluster, tasks->ids, tasks->count, hold);
  sweep_cluster_status_clear_cache();
  return code;
}

/* Whether a row of Slurm's queue, which may stand for a range of an array, contains the task. */
static bool row_contains(const SlurmTask *row, SlurmId id) {
  if (id.job != row->job || id.task < row->first || id.task > row->last) return false;
  return row->step <= 1 || (id.task - row->first) % row->step == 0;
}

int sweep_tasks_check_end(const SweepTasks *tasks, bool *has_ended) {
  SlurmTasks now = {0};
  *has_ended = true;
  TRY(list_queue(tasks, &now));
  for (size_t r = 0; r < now.count; r++) {
    const SlurmTask *row = &now.rows[r];
    if (slurm_state_is_over(row->state)) continue;
    for (size_t i = 0; i < tasks->count; i++)
      if (row_contains(row, tasks->ids[i])) *has_ended = false;
  }
  slurm_tasks_free(&now);
  return CORE_OK;
}
