/* Commands that print information as text, or with --json for scripts (tools.h). */
#include "trainer/tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "core/command/options.h"
#include "core/config/config.h"
#include "core/device/device.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "core/version.h"
#include "store/workspace/run_name.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/envs/bridge/bridge_process.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/ops/bf16.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run/machine.h"
#include "trainer/run/run_files.h"

/* ---- settings -------------------------------------------------------------------------------------------------- */

static json_t *choices_json(const char *choices) {
  json_t *list = json_array();
  while (*choices) {
    const size_t length = strcspn(choices, "|");
    json_array_append_new(list, json_stringn(choices, length));
    choices += length + (choices[length] == '|');
  }
  return list;
}

static json_t *setting_json(const CoreConfig *defaults, const CoreConfigRow *row) {
  static const char *const kinds[] = {"integer", "number", "boolean", "choice", "text"};
  json_t *object = json_pack("{s:s, s:s, s:o}", "name", row->name, "kind", kinds[row->kind], "default",
                             core_config_setting_json(defaults, row));
  if (row->kind == CORE_CONFIG_INT || row->kind == CORE_CONFIG_REAL) {
    json_object_set_new(object, "lowest", core_json_real(row->min));
    json_object_set_new(object, "highest", core_json_real(row->max));
    json_object_set_new(object, "unit", core_json_text(row->unit ? row->unit : ""));
  }
  if (row->choices) json_object_set_new(object, "choices", choices_json(row->choices));
  json_object_set_new(object, "identity", json_boolean(row->identity));
  json_object_set_new(object, "help", core_json_text(row->help));
  return object;
}

typedef struct ConfigOptions { bool markdown, json; } ConfigOptions;

static int print_config(void *opts, const char **operands, size_t count) {
  const ConfigOptions *options = opts;
  const CoreConfig defaults = core_config_default();
  size_t rows;

  if (options->markdown && options->json) return core_error(CORE_USAGE, "--markdown and --json are mutually exclusive");
  if (options->json) {
    const CoreConfigRow *row = core_config_rows(&rows);
    json_t *list = json_array();
    for (size_t i = 0; i < rows; i++) json_array_append_new(list, setting_json(&defaults, &row[i]));
    core_json_print(list);
    return CORE_OK;
  }

  CoreText text = {0};
  if (options->markdown) core_config_to_markdown(&text);
  else core_config_to_ini(&defaults, &text);
  fputs(core_text_string(&text), stdout);
  core_text_free(&text);
  return CORE_OK;
}

int trainer_config(int argc, char **argv) {
  static const CoreManual manual = {.usage = "trainer config [--markdown | --json]",
                                    .about = "Prints every setting with its default."};
  ConfigOptions options = {0};
  const CoreOption table[] = {
    {"markdown", 0, CORE_OPTION_FLAG, &options.markdown, NULL,
     "print docs/config.md instead of an INI file with the defaults"},
    {"json", 0, CORE_OPTION_FLAG, &options.json, NULL,
     "print JSON: kind, default, bounds and help of each setting; identity: whether it is part of the run id"},
    {0}};
  return core_options_run(&manual, table, argc, argv, print_config, &options);
}

/* ---- the build and the machine ----------------------------------------------------------------------------------- */

typedef struct InfoOptions { bool json; } InfoOptions;

static int print_info(void *opts, const char **operands, size_t count) {
  const InfoOptions *options = opts;
  char memory[32];

  if (options->json) {
    core_json_print(json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:i, s:f}", "version", core_version(), "commit",
                              core_commit(), "ops", ops_cpu_description(), "bf16", ops_cpu_bf16_description(), "cuda",
                              core_device_description(), "mpi", ranks_available(), "threads", machine_threads(0),
                              "memory_bytes", machine_memory_bytes()));
    return CORE_OK;
  }

  printf("trainer    %s commit %s\n", core_version(), core_commit());
  printf("ops        cpu: %s\n", ops_cpu_description());
  printf("bf16       %s\n", ops_cpu_bf16_description());
  printf("CUDA       %s\n", core_device_description());
  if (ranks_available()) printf("MPI        yes\n");
  else printf("MPI        no: a run is one process (%s)\n", core_error_message());
  printf("threads    %d\n", machine_threads(0));
  printf("memory     %sB\n", core_text_count(machine_memory_bytes(), memory));
  return CORE_OK;
}

int trainer_info(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer info [--json]",
    .about = "Prints what the program was built with and what it can use on this machine."};
  InfoOptions options = {0};
  const CoreOption table[] = {
    {"json", 0, CORE_OPTION_FLAG, &options.json, NULL, "print JSON"},
    {0}};
  return core_options_run(&manual, table, argc, argv, print_info, &options);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

static void print_task(const TaskInfo *info) {
  char observations[16] = "varies", limit[24] = "varies";
  if (info->observations > 0) snprintf(observations, sizeof observations, "%d", info->observations);
  const bool has_levels = strcmp(info->actions, "by env.actions") == 0;
  if (has_levels) snprintf(observations, sizeof observations, "by levels");
  if (has_levels) snprintf(limit, sizeof limit, "env.max_steps");
  if (info->limit > 0) snprintf(limit, sizeof limit, "%d", info->limit);
  printf("%-34s %12s  %-16s %13s  %s\n", info->name, observations, info->actions, limit, info->about);
}

static int print_tasks(void *opts, const char **operands, size_t count) {
  const bool *json = opts;
  if (count > 0) return bridge_list("", operands[0], *json);

  json_t *list = *json ? json_array() : NULL;
  TaskInfo info;
  if (!list) printf("%-34s %12s  %-16s %13s  %s\n", "env.task", "observations", "actions", "steps", "");
  for (int i = 0; task_info(i, &info); i++) {
    if (!list) print_task(&info);
    else
      json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s, s:o}", "task", info.name, "about", info.about,
                                            "observations",
                                            info.observations ? json_integer(info.observations) : json_null(),
                                            "actions", info.actions, "limit",
                                            info.limit ? json_integer(info.limit) : json_null()));
  }

  if (list) core_json_print(list);
  return CORE_OK;
}

int trainer_tasks(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer tasks [--json] [gym|atari|envpool]",
    .operands = {"gym|atari|envpool"}, .operands_max = 1,
    .about = "Lists the values of env.task with observation size, actions and time limit in steps. MuJoCo's tasks "
             "require its library, which `make mujoco` downloads.\n\n"
             "gym, atari or envpool: lists the environments in the Python of SWEEP_PYTHON, or else python3."};
  bool json = false;
  const CoreOption table[] = {{"json", 0, CORE_OPTION_FLAG, &json, NULL, "print JSON"}, {0}};
  return core_options_run(&manual, table, argc, argv, print_tasks, &json);
}

/* ---- checkpoints ----------------------------------------------------------------------------------------------- */

static json_t *contents_json(const char *file, const CheckpointContents *contents) {
  json_t *sections = json_array();
  for (int i = 0; i < contents->sections; i++) {
    char checksum[2 * CHECKPOINT_SHOWN + 1];
    checkpoint_checksum_text(&contents->section[i], checksum);
    json_array_append_new(sections,
                          json_pack("{s:s, s:I, s:s}", "name", contents->section[i].name, "bytes",
                                    (json_int_t)contents->section[i].bytes, "checksum", checksum));
  }
  json_t *object = json_object();
  json_object_set_new(object, "file", core_json_text(file));
  json_object_set_new(object, "run", core_json_text(contents->run_id));
  json_object_set_new(object, "iteration", json_integer(contents->iteration));
  json_object_set_new(object, "sections", sections);
  return object;
}

static int show_checkpoint(const char *file, json_t *list) {
  CheckpointContents contents;
  CoreText text = {0};
  TRY(checkpoint_inspect(file, &contents));
  if (list) {
    json_array_append_new(list, contents_json(file, &contents));
    return CORE_OK;
  }
  checkpoint_describe(&contents, &text);
  core_unicode_print(stdout, "file       %s\n%s", file, core_text_string(&text));
  core_text_free(&text);
  return CORE_OK;
}

typedef struct CheckpointOptions { const char *root; bool best, json; } CheckpointOptions;

static int print_checkpoints(void *opts, const char **names, size_t count) {
  const CheckpointOptions *options = opts;
  json_t *list = options->json ? json_array() : NULL;
  int code = CORE_OK;
  for (size_t i = 0; i < count; i++) {
    if (code != CORE_OK) break;
    RunFiles files;
    code = run_files_find(names[i], options->root, options->best, &files);
    if (code == CORE_OK) code = show_checkpoint(files.checkpoint, list);
  }
  if (list && code == CORE_OK) core_json_print(list);
  else json_decref(list);
  return code;
}

int trainer_checkpoint(int argc, char **argv) {
  static const CoreManual manual = {
      .usage = "trainer checkpoint RUN|FILE... [options]",
      .about =
          "Validates checkpoint files, or the newest one of each run, and lists their sections. " STORE_RUN_NAME_HELP,
      .operands_min = 1,
      .operands = {"RUN|FILE"}, .operands_max = SIZE_MAX,
      .hint = "name a run or a checkpoint file (runs/ab/<id>/ckpt/iteration-*.ckpt)"};

  CheckpointOptions options = {0};
  const CoreOption table[] = {
    {"root", 'r', CORE_OPTION_TEXT, &options.root, "DIR",
     "workspace; default $SWEEP_ROOT, else the current directory"},
    {"best", 'b', CORE_OPTION_FLAG, &options.best, NULL, "the best checkpoint of each run (checkpoint.best)"},
    {"json", 0, CORE_OPTION_FLAG, &options.json, NULL, "print JSON"},
    {0}};

  return core_options_run(&manual, table, argc, argv, print_checkpoints, &options);
}
