/* `sweep rm`: removes sweeps, single runs, or stale runs of a sweep from the workspace and results.db; or only the
 * checkpoints of sweeps. */
#include "sweep/control/remove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/commands.h"
#include "sweep/control/removal.h"

/* Selects the sweep of that name, otherwise the run. */
static int select_operand(const SweepRemoveOptions *options, const char *operand, SweepRemoval *removal) {
  const char *root = options->common.root;
  SweepTarget named;
  TRY(sweep_common_find(root, operand, &named));
  if (named.is_sweep) return sweep_removal_plan_sweep(root, named.name, options->stale, removal);
  if (options->stale) return sweep_common_unknown(root, operand);
  return sweep_removal_plan_run(root, named.id, removal);
}

static int plan_operand(const SweepRemoveOptions *options, const char *operand, SweepRemoval *removal) {
  TRY(select_operand(options, operand, removal));
  const int code = sweep_removal_measure(options->common.root, removal);
  if (code != CORE_OK) sweep_removal_free(removal);
  return code;
}

/* Appends "my_study: 40 runs, 120 MB; 3 shared with other sweeps stay". */
static void describe(const SweepRemoval *removal, CoreText *text) {
  char bytes[32];
  if (!removal->is_whole_sweep && removal->manifest.count == 0) {
    core_text_appendf(text, "run %s", removal->ids[0]);
    if (removal->name[0]) core_text_appendf(text, " of %s", removal->name);
  } else {
    core_text_appendf(text, "%s: %zu %srun%s", removal->name, removal->count, removal->is_whole_sweep ? "" : "stale ",
                      removal->count == 1 ? "" : "s");
  }
  core_text_appendf(text, ", %sB", core_text_count(removal->bytes, bytes));
  if (removal->shared) core_text_appendf(text, "; %zu shared with other sweeps stay", removal->shared);
}

int sweep_remove_check_terminal(void) {
  if (isatty(STDIN_FILENO) && core_terminal_is_tty(stdout)) return CORE_OK;
  return core_error(CORE_USAGE, "sweep rm asks for confirmation, which needs a terminal; --yes removes without "
                    "asking, --dry-run shows what would be removed");
}

int sweep_remove_ask(const char *question) {
  char answer[16] = "";
  printf("%s [y/N] ", question);
  fflush(stdout);
  if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y')) return CORE_OK;
  return core_error(CORE_FAIL, "nothing was removed");
}

static int confirm(const SweepRemoval *removals, size_t count) {
  for (size_t i = 0; i < count; i++) {
    CoreText text = {0};
    describe(&removals[i], &text);
    printf("%s\n", core_text_string(&text));
    core_text_free(&text);
  }
  return sweep_remove_ask("remove permanently?");
}

static void print_removed(const SweepRemoveOptions *options, const SweepRemoval *removal) {
  CoreText text = {0};
  describe(removal, &text);
  printf("%s %s\n", options->dry_run ? "would remove" : "removed", core_text_string(&text));
  core_text_free(&text);
  if (!options->dry_run && !removal->is_whole_sweep && removal->manifest.count == 0 && removal->name[0])
    printf("  it keeps its index in %s; sweep submit %s trains it again\n", removal->name, removal->name);
}

static void print_json(const SweepRemoveOptions *options, const SweepRemoval *removals, size_t count) {
  json_t *list = json_array();
  double bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const SweepRemoval *removal = &removals[i];
    json_t *ids = json_array();
    for (size_t k = 0; k < removal->count; k++) json_array_append_new(ids, core_json_text(removal->ids[k]));
    json_t *name = removal->name[0] ? core_json_text(removal->name) : json_null();
    json_array_append_new(list, json_pack("{s:o, s:b, s:o, s:I, s:f}", "sweep", name, "entire_sweep",
                                          removal->is_whole_sweep, "runs", ids, "shared",
                                          (json_int_t)removal->shared, "bytes", removal->bytes));
    bytes += removal->bytes;
  }
  core_json_print(json_pack("{s:b, s:o, s:f}", "removed", !options->dry_run, "sweeps", list, "bytes", bytes));
}

/* Selects and checks everything before anything is removed. *planned: number of removals that the caller frees. */
static int remove_operands(const SweepRemoveOptions *options, SweepRemoval *removals, const char **operands,
                           size_t count, size_t *planned) {
  const char *root = options->common.root;
  for (; *planned < count; (*planned)++) {
    const char *operand = operands[*planned];
    for (size_t k = 0; k < *planned; k++)
      if (strcmp(operands[k], operand) == 0) return core_error(CORE_USAGE, "%s is named twice", operand);
    TRY(plan_operand(options, operand, &removals[*planned]));
  }

  for (size_t i = 0; i < count; i++) TRY(sweep_removal_check(root, &removals[i]));
  if (!options->yes && !options->dry_run) {
    TRY(sweep_remove_check_terminal());
    TRY(confirm(removals, count));
    for (size_t i = 0; i < count; i++) TRY(sweep_removal_check(root, &removals[i])); /* it may have started since */
  }

  for (size_t i = 0; i < count && !options->dry_run; i++) {
    if (i > 0) { /* runs that it shared with the sweeps removed before are no longer shared */
      sweep_removal_free(&removals[i]);
      TRY(plan_operand(options, operands[i], &removals[i]));
    }
    TRY(sweep_removal_execute(root, &removals[i]));
    if (!options->json) print_removed(options, &removals[i]);
  }

  if (options->json) print_json(options, removals, count);
  else if (options->dry_run)
    for (size_t i = 0; i < count; i++) print_removed(options, &removals[i]);
  return CORE_OK;
}

/* Completes interrupted removals of sweeps, and takes their names off the list of operands. */
static int resume_interrupted(const SweepRemoveOptions *options, const char **operands, size_t *count) {
  size_t remaining = 0;
  for (size_t i = 0; i < *count; i++) {
    bool finished = false;
    if (!options->dry_run) TRY(sweep_removal_resume(options->common.root, operands[i], &finished));
    if (!finished) operands[remaining++] = operands[i];
    else if (!options->json) printf("removed %s: completed an interrupted sweep rm\n", operands[i]);
  }
  *count = remaining;
  return CORE_OK;
}

static int rm(void *context, const char **operands, size_t count) {
  SweepRemoveOptions *options = context;
  size_t planned = 0;
  if (options->stale && options->checkpoints)
    return core_error(CORE_USAGE, "--stale and --checkpoints exclude each other: stale runs are removed with theirs");
  TRY(sweep_common_open(&options->common));
  if (options->checkpoints) return sweep_remove_checkpoints(options, operands, count);
  TRY(resume_interrupted(options, operands, &count));
  if (count == 0 && !options->json) return CORE_OK;
  SweepRemoval *removals = core_memory_zero_allocate(count, sizeof *removals);
  const int code = remove_operands(options, removals, operands, count, &planned);
  for (size_t i = 0; i < planned; i++) sweep_removal_free(&removals[i]);
  free(removals);
  return code;
}

int sweep_rm(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep rm NAME|RUN... [options]",
    .about = "Removes sweeps with their runs, or single runs: directories, checkpoints and rows in results.db. Runs "
             "that other sweeps share stay. Asks for confirmation. Running and queued runs must be ended first (sweep "
             "stop). RUN is an id, the beginning of one, or NAME/INDEX; it keeps its index in its sweep, "
             "and sweep submit trains it again.\n\n"
             "--checkpoints removes the checkpoints of sweeps only, which take the most space: the trainer's, and all "
             "files that a program has in its SWEEP_DIR. Results, logs and settings stay, so that status and analyze "
             "work as before. Without its checkpoint a run can be neither played, exported nor resumed; sweep submit "
             "restarts unfinished ones. Runs that other sweeps share keep theirs.",
    .operands_min = 1, .operands = {"NAME|RUN"}, .operands_max = SIZE_MAX};

  SweepRemoveOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"yes", 'y', CORE_OPTION_FLAG, &parsed.yes, NULL, "remove without asking"},
    {"dry-run", 'n', CORE_OPTION_FLAG, &parsed.dry_run, NULL,
     "show what would be removed and its size; remove nothing"},
    {"stale", 0, CORE_OPTION_FLAG, &parsed.stale, NULL,
     "remove only the sweeps' runs that their files, as last submitted, no longer have"},
    {"checkpoints", 0, CORE_OPTION_FLAG, &parsed.checkpoints, NULL, "remove only checkpoints, of entire sweeps"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print JSON; with --yes or --dry-run"},
    {0}};
  return core_options_run(&manual, options, argc, argv, rm, &parsed);
}
