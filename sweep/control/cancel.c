/* `sweep cancel`, `hold` and `release`: change a submitted sweep, or runs of it, in Slurm's queue. Each finds the runs'
 * tasks (job_map.h), acts in as few calls as possible, and reports what it did. */
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "slurm/cluster.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/journal.h"
#include "sweep/commands.h"
#include "sweep/control/output.h"
#include "sweep/control/selection.h"
#include "sweep/status/cluster_status.h"

typedef enum Action { CANCEL, HOLD, RELEASE } Action;

typedef struct Command {
  SweepSelection selection;
  Action action;
  bool json;
} Command;

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* The sweep's jobs in Slurm's queue. */
typedef struct Queue {
  SlurmCluster *cluster;
  SweepJobMap job_map;
  SlurmTasks tasks;
} Queue;

static int open_queue(const SweepSelection *selection, Queue *queue) {
  const char *name = selection->name;
  TRY(sweep_job_map_read(selection->common.root, &selection->manifest, &queue->job_map));
  TRY(slurm_cluster_open("auto", &queue->cluster, NULL));
  TRY(slurm_list(queue->cluster, &(SlurmSelection){&name, 1, selection->common.root}, &queue->tasks));
  sweep_job_map_join(name, &queue->job_map, &queue->tasks);
  return CORE_OK;
}

static void close_queue(Queue *queue) {
  slurm_cluster_close(&queue->cluster);
  sweep_job_map_free(&queue->job_map);
  slurm_tasks_free(&queue->tasks);
}

static int compare_ids(const void *a, const void *b) {
  const SlurmId *x = a, *y = b;
  if (x->job != y->job) return x->job < y->job ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

/* Lists the tasks of the selected runs that the action applies to, sorted and each once. */
static SlurmId *find_tasks(const SweepSelection *selection, const Queue *queue, Action action, size_t *count) {
  SlurmId *ids = core_memory_allocate((selection->manifest.count + 1) * sizeof *ids);
  size_t found = 0, unique = 0;
  for (size_t i = 0; i < selection->manifest.count; i++) {
    const SweepJobMapEntry *entry = &queue->job_map.entries[i];
    const SlurmTask *task = sweep_job_map_task(&queue->job_map, entry);
    if (!selection->is_selected[i] || !task || slurm_state_is_over(task->state)) continue;
    if (action != CANCEL && task->state != SLURM_PENDING) continue;
    ids[found++] = sweep_job_map_task_id(entry);
  }
  qsort(ids, found, sizeof *ids, compare_ids);
  for (size_t i = 0; i < found; i++)
    if (unique == 0 || compare_ids(&ids[unique - 1], &ids[i]) != 0) ids[unique++] = ids[i];
  *count = unique;
  return ids;
}

/* Lists the ids of the runs of these tasks, in the manifest's order. They include runs that were not named but share a
 * task with one. */
static json_t *list_runs(const SweepSelection *selection, const Queue *queue, const SlurmId *ids, size_t count) {
  json_t *runs = json_array();
  for (size_t i = 0; i < queue->job_map.count; i++) {
    const SlurmId id = sweep_job_map_task_id(&queue->job_map.entries[i]);
    if (id.job > 0 && bsearch(&id, ids, count, sizeof *ids, compare_ids))
      json_array_append_new(runs, core_json_text(selection->manifest.ids[i]));
  }
  return runs;
}

/* ---- cancelling -------------------------------------------------------------------------------------------------- */

/* Journals the cancels. *lines: number of lines written. */
static int record_cancels(const SweepSelection *selection, size_t *lines) {
  const char *root = selection->common.root, *name = selection->name;
  *lines = 0;
  if (selection->is_whole_sweep) {
    *lines = 1;
    return sweep_journal_append(root, name, "cancel\tall");
  }
  for (size_t i = 0; i < selection->manifest.count; i++) {
    if (!selection->is_selected[i]) continue;
    TRY(sweep_journal_append(root, name, "cancel\t%s", selection->manifest.ids[i]));
    (*lines)++;
  }
  return CORE_OK;
}

/* Cancels the tasks, after the journal so that they and sweep status know the reason. If Slurm certainly did nothing,
 * the journal takes the cancels back: otherwise a task that stops for another reason would take itself for cancelled,
 * and would not be requeued. */
static int cancel(const SweepSelection *selection, const Queue *queue, const SlurmId *ids, size_t count) {
  char message[512];
  size_t lines;
  TRY(record_cancels(selection, &lines));
  const int code = slurm_cancel(queue->cluster, ids, count);
  const SlurmFault fault = slurm_fault(queue->cluster);
  if (code == CORE_OK || fault == SLURM_TIMED_OUT || fault == SLURM_GARBLED) return code;
  snprintf(message, sizeof message, "%s", core_error_message());
  if (sweep_journal_append(selection->common.root, selection->name, "uncancel\t%zu", lines) != CORE_OK)
    core_warn("%s", core_error_message());
  return core_error(code, "%s", message);
}

/* ---- the commands ------------------------------------------------------------------------------------------------ */

/* Takes over `runs`. */
static void report(const Command *command, json_t *runs) {
  static const char *const done[] = {"cancelled", "held", "released"},
                    *const required[] = {"in the queue", "waiting", "waiting"};
  const char *name = command->selection.name;
  const size_t count = json_array_size(runs);

  SweepOutput output = sweep_output_open(command->json);
  if (count == 0) fprintf(output.out, "%s: none of these runs is %s\n", name, required[command->action]);
  else fprintf(output.out, "%s: %zu runs %s", name, count, done[command->action]);
  if (count > 0 && command->action == CANCEL)
    fprintf(output.out, "; running ones save a checkpoint first, and sweep submit %s resumes them", name);
  if (count > 0) fprintf(output.out, "\n");

  sweep_output_set(&output, "sweep", core_json_text(name));
  sweep_output_set(&output, "action", core_json_text(done[command->action]));
  sweep_output_set_count(&output, "runs", count);
  sweep_output_set(&output, "run", runs);
  sweep_output_close(&output);
}

static int act(const Command *command) {
  const SweepSelection *selection = &command->selection;
  Queue queue = {0};
  SlurmId *ids = NULL;
  size_t count = 0;
  int lock = -1, code;

  TRY(sweep_journal_lock(selection->common.root, selection->name, &lock));
  TRY_GOTO(code, out, open_queue(selection, &queue));
  ids = find_tasks(selection, &queue, command->action, &count);
  if (count > 0) {
    code = command->action == CANCEL ? cancel(selection, &queue, ids, count)
                                     : slurm_hold(queue.cluster, ids, count, command->action == HOLD);
    sweep_cluster_status_clear_cache();
    if (code != CORE_OK) goto out;
  }

  report(command, list_runs(selection, &queue, ids, count));
out:
  free(ids);
  close_queue(&queue);
  core_files_unlock(&lock);
  return code;
}

static int run_command(void *context, const char **operands, size_t count) {
  Command *command = context;
  const char *name = command->selection.name;
  int code = sweep_selection_make(operands, count, &command->selection);
  if (code == CORE_OK && !command->selection.was_submitted)
    code = core_error(CORE_USAGE, "%s was never submitted to Slurm; to stop it on this machine: sweep stop %s", name,
                      name);
  if (code == CORE_OK) code = act(command);
  sweep_selection_free(&command->selection);
  return code;
}

static int parse_command(const CoreManual *manual, Action action, int argc, char **argv) {
  Command command = {.action = action};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(command.selection.common),
    {"json", 0, CORE_OPTION_FLAG, &command.json, NULL, "print the affected runs as JSON"},
    {0}};
  return core_options_run(manual, options, argc, argv, run_command, &command);
}

int sweep_cancel(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep cancel NAME [RUN]... [options]",
    .about = "Removes a sweep, or single runs of it, from Slurm's queue. Running ones save a checkpoint and end. Runs "
             "that share a task (slurm.runs_per_task) are cancelled together. RUN is an index in the sweep, a run's "
             "id, the beginning of an id, or the run's directory.",
    .operands_min = 1, .operands = {"NAME", "RUN"}, .operands_max = SIZE_MAX};
  return parse_command(&manual, CANCEL, argc, argv);
}

int sweep_hold(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep hold NAME [RUN]... [options]",
    .about = "Keeps waiting runs of a sweep from starting until sweep release. Running ones are not affected.",
    .operands_min = 1, .operands = {"NAME", "RUN"}, .operands_max = SIZE_MAX};
  return parse_command(&manual, HOLD, argc, argv);
}

int sweep_release(int argc, char **argv) {
  static const CoreManual manual = {.usage = "sweep release NAME [RUN]... [options]",
                                    .about = "Lets held runs of a sweep start.",
                                    .operands_min = 1, .operands = {"NAME", "RUN"}, .operands_max = SIZE_MAX};
  return parse_command(&manual, RELEASE, argc, argv);
}
