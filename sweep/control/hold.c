/* `sweep hold`: keeps waiting runs from starting, and lets them start. */
#include <stdlib.h>

#include "core/files.h"
#include "sweep/commands.h"
#include "sweep/control/output.h"
#include "sweep/control/tasks.h"

typedef struct HoldOptions {
  SweepCommon common;
  bool release, json;
} HoldOptions;

/* Holds or releases the runs that Slurm has. */
static int hold_on_slurm(const HoldOptions *options, const SweepSelection *selection, json_t *runs, size_t *held) {
  SweepTasks tasks;
  int code = sweep_tasks_open(selection, true, &tasks);
  if (code == CORE_OK) code = sweep_tasks_hold(&tasks, !options->release);
  if (code == CORE_OK) *held += sweep_selection_list(selection, tasks.has_run, runs);
  sweep_tasks_close(&tasks);
  return code;
}

static int hold_selection(const HoldOptions *options, const SweepSelection *selection) {
  const char *done = options->release ? "released" : "held", *name = selection->name;
  json_t *runs = json_array();
  size_t count = 0;
  int code = CORE_OK;
  if (!selection->was_submitted)
    code = core_error(CORE_USAGE, "%s was never submitted to Slurm; to stop it on this machine: sweep stop %s", name,
                      name);
  if (code == CORE_OK) code = hold_on_slurm(options, selection, runs, &count);

  SweepOutput output = sweep_output_open(options->json);
  if (code == CORE_OK && count == 0) fprintf(output.out, "%s: none of these runs is waiting\n", name);
  else if (code == CORE_OK) fprintf(output.out, "%s: %zu runs %s\n", name, count, done);
  sweep_output_set(&output, "sweep", core_json_text(name));
  sweep_output_set(&output, "action", core_json_text(done));
  sweep_output_set_count(&output, "runs", count);
  sweep_output_set(&output, "run", runs);
  if (code == CORE_OK) sweep_output_close(&output);
  else sweep_output_discard(&output);
  return code;
}

static int run_command(void *context, const char **operands, size_t count) {
  HoldOptions *options = context;
  SweepSelections selections;
  TRY(sweep_common_open(&options->common));
  int code = sweep_selections_make(&options->common, operands, count, &selections);
  for (size_t i = 0; i < selections.count && code == CORE_OK; i++)
    code = hold_selection(options, &selections.items[i]);
  sweep_selections_free(&selections);
  return code;
}

static int parse_command(const CoreManual *manual, bool release, int argc, char **argv) {
  HoldOptions parsed = {.release = release};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print the affected runs as JSON"},
    {0}};
  return core_options_run(manual, options, argc, argv, run_command, &parsed);
}

int sweep_hold(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep hold NAME|RUN... [options]",
    .about = "Keeps waiting runs of a sweep from starting until sweep release. Running ones are not affected.",
    .operands_min = 1, .operands = {"NAME|RUN"}, .operands_max = SIZE_MAX};
  return parse_command(&manual, false, argc, argv);
}

int sweep_release(int argc, char **argv) {
  static const CoreManual manual = {.usage = "sweep release NAME|RUN... [options]",
                                    .about = "Lets held runs of a sweep start.",
                                    .operands_min = 1, .operands = {"NAME|RUN"}, .operands_max = SIZE_MAX};
  return parse_command(&manual, true, argc, argv);
}
