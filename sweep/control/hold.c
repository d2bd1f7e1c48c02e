/* `sweep hold`: keeps waiting runs from starting, and with --off lets them start, on this machine and on Slurm. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/workspace/run.h"
#include "sweep/commands.h"
#include "sweep/control/output.h"
#include "sweep/control/tasks.h"
#include "sweep/local/executor.h"
#include "sweep/local/queue.h"

typedef struct HoldOptions {
  SweepCommon common;
  bool off, json;
} HoldOptions;

/* ---- this machine ------------------------------------------------------------------------------------------------ */

/* Makes the list of held runs after the change, and marks those that change. */
static int change_list(const HoldOptions *options, const SweepSelection *selection, const SweepQueueRequest *request,
                       char held[SWEEP_QUEUE_RUNS], bool *is_changed) {
  const bool is_all = selection->is_whole_sweep;
  held[0] = '\0';
  for (size_t i = 0; i < selection->manifest.count; i++) {
    const char *id = selection->manifest.ids[i];
    const bool was_held = sweep_queue_holds(request, id);
    const bool is_held = selection->is_selected[i] ? !options->off : was_held;
    StoreState state;
    TRY(store_run_state_read(selection->root, id, true, &state));
    const bool waits = sweep_queue_waits(request, id, &state);
    is_changed[i] = waits && is_held != was_held;
    if (waits && is_held && !is_all) TRY(sweep_queue_list_add(id, held));
  }
  if (is_all && !options->off) snprintf(held, SWEEP_QUEUE_RUNS, "all");
  return CORE_OK;
}

/* Holds or releases the runs that the executor has in its queue. Released runs need an executor. */
static int hold_here(const HoldOptions *options, const SweepSelection *selection, bool *is_changed) {
  const char *root = selection->root, *name = selection->name;
  SweepQueueRequest request;
  bool is_queued, has_joined;
  int64_t executor;
  char held[SWEEP_QUEUE_RUNS];
  if (!*name) return CORE_OK;
  TRY(sweep_queue_read(root, name, &request, &is_queued));
  if (!is_queued) return CORE_OK;
  TRY(change_list(options, selection, &request, held, is_changed));
  TRY(sweep_queue_hold(root, name, held));
  return options->off ? sweep_executor_start(root, name, &executor, &has_joined) : CORE_OK;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static int hold_on_slurm(const HoldOptions *options, const SweepSelection *selection, bool *is_changed) {
  SweepTasks tasks;
  int code = sweep_tasks_open(selection, true, &tasks);
  if (code == CORE_OK) code = sweep_tasks_hold(&tasks, !options->off);
  for (size_t i = 0; i < selection->manifest.count && code == CORE_OK; i++) is_changed[i] |= tasks.has_task[i];
  sweep_tasks_close(&tasks);
  return code;
}

static void report(const HoldOptions *options, const SweepSelection *selection, const bool *is_changed) {
  const char *done = options->off ? "released" : "held", *name = selection->name;
  SweepOutput output = sweep_output_open(options->json);
  json_t *runs = json_array();
  const size_t count = sweep_selection_list(selection, is_changed, runs);
  if (count == 0) fprintf(output.out, "%s: none of these runs is %s\n", name, options->off ? "held" : "waiting");
  else fprintf(output.out, "%s: %zu runs %s\n", name, count, done);
  sweep_output_set(&output, "sweep", core_json_text(name));
  sweep_output_set(&output, "action", core_json_text(done));
  sweep_output_set_count(&output, "runs", count);
  sweep_output_set(&output, "run", runs);
  sweep_output_close(&output);
}

static int hold_selection(const HoldOptions *options, const SweepSelection *selection) {
  bool *is_changed = core_memory_zero_allocate(selection->manifest.count + 1, sizeof *is_changed);
  int code = hold_here(options, selection, is_changed);
  if (code == CORE_OK) code = hold_on_slurm(options, selection, is_changed);
  if (code == CORE_OK) report(options, selection, is_changed);
  free(is_changed);
  return code;
}

static int hold(void *context, const char **operands, size_t count) {
  HoldOptions *options = context;
  SweepSelections selections;
  TRY(sweep_common_open(&options->common));
  int code = sweep_selections_make(&options->common, operands, count, &selections);
  if (code == CORE_OK && options->json && selections.count > 1)
    code = core_error(CORE_USAGE, "--json prints the runs of one sweep; found %zu sweeps", selections.count);
  for (size_t i = 0; i < selections.count && code == CORE_OK; i++)
    code = hold_selection(options, &selections.items[i]);
  sweep_selections_free(&selections);
  return code;
}

int sweep_hold(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep hold NAME|RUN... [options]",
    .about = "Keeps waiting runs of sweeps from starting, on this machine and on Slurm, until sweep hold --off. "
             "Running ones are not affected. sweep submit --hold queues held runs. " SWEEP_SELECTION_HELP,
    .operands_min = 1, .operands = {"NAME|RUN"}, .operands_max = SIZE_MAX};
  HoldOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"off", 0, CORE_OPTION_FLAG, &parsed.off, NULL, "let held runs start"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print the affected runs as JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, hold, &parsed);
}
