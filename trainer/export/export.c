/* `trainer export`: writes a run's policy as ONNX and its weights as safetensors. Only reads the run's directory. */
#include "trainer/export/export.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/command/options.h"
#include "core/files.h"
#include "core/unicode.h"
#include "core/version.h"
#include "store/workspace/run_name.h"

typedef struct ExportOptions { const char *onnx, *safetensors, *root; bool best; } ExportOptions;

/* Rejects devices and pipes, which the atomic rename would replace. */
static int check_target(const char *path) {
  struct stat status;
  if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
    return core_error(CORE_USAGE, "%s is not a regular file; give the name of a new file", path);
  return CORE_OK;
}

static int write_file(const ExportOptions *options, const char *given, const char *extension, const Player *player,
                      const char *content, CoreText *file) {
  char path[CORE_PATH_MAX];
  int code = player_output(player, options->root, given, extension, path);
  if (code == CORE_OK) code = check_target(path);
  if (code == CORE_OK) code = core_files_write_atomic(path, file->data, file->length);
  if (code == CORE_OK)
    core_unicode_print(stdout, "%s: %s of run %s after iteration %" PRId64 ", %zu bytes\n", path, content,
                       player->run_id, player->iteration, file->length);
  core_text_free(file);
  return code;
}

static int write_all(const ExportOptions *options, Player *player) {
  CoreText file = {0};
  if (options->onnx) {
    TRY(onnx_policy(player, &file));
    TRY(write_file(options, options->onnx, ".onnx", player, "policy", &file));
  }
  if (!options->safetensors) return CORE_OK;
  TRY(player_read_critic(player));
  safetensors_policy(player, &file);
  return write_file(options, options->safetensors, ".safetensors", player, "weights", &file);
}

static const CoreManual manual = {
  .usage = "trainer export RUN|FILE --onnx FILE | --safetensors FILE",
  .about = "Exports a trained policy for other programs.\n\n"
           "--onnx: a model from observation (normalization included) to logits and the mode of the action "
           "distribution, for onnxruntime etc. Supports dense layers, set encoders and convolutions, but not the "
           "transformer.\n"
           "--safetensors: all weights of actor and critic by name, the normalization of observations, and the "
           "settings as metadata.\n\n" STORE_RUN_NAME_HELP " Uses its newest checkpoint, or its best.",
  .operands_min = 1, .operands = {"RUN|FILE"}, .operands_max = 1,
  .hint = "expected one run or checkpoint"};

static int export(void *opts, const char **operands, size_t count) {
  const ExportOptions *options = opts;
  Player player;
  if (!options->onnx && !options->safetensors)
    return core_options_usage_error(&manual, "missing output; give --onnx FILE, --safetensors FILE, or both");
  omp_set_num_threads(1);
  int code = player_create(&(PlayerOptions){operands[0], options->root, options->best, false}, &player);
  if (code == CORE_OK) code = write_all(options, &player);
  player_destroy(&player);
  return code;
}

int trainer_export(int argc, char **argv) {
  ExportOptions options = {0};
  const CoreOption table[] = {
    {"onnx", 'o', CORE_OPTION_TEXT, &options.onnx, "FILE",
     "write the policy as an ONNX model; in a directory, named after the run"},
    {"safetensors", 's', CORE_OPTION_TEXT, &options.safetensors, "FILE",
     "write all weights as safetensors; in a directory, named after the run"},
    {"best", 'b', CORE_OPTION_FLAG, &options.best, NULL, "export the run's best checkpoint (checkpoint.best)"},
    {"root", 'r', CORE_OPTION_TEXT, &options.root, "DIR",
     "workspace; default $SWEEP_ROOT, else the current directory"},
    {0}};
  return core_options_run(&manual, table, argc, argv, export, &options);
}

/* ---- metadata of both formats ------------------------------------------------------------------------------------ */

static const char *policy_kind(const Agent *agent) {
  if (agent->is_q) return "q";
  switch (agent->head.kind) {
    case OPS_GAUSSIAN: return "gaussian";
    case OPS_TANH_AFFINE: return "tanh_affine";
    case OPS_MULTI_DISCRETE: break;
  }
  return "categorical";
}

static void append_actions(const OpsHead *head, CoreText *text) {
  char low[32], high[32];
  if (ops_head_is_continuous(head)) {
    core_text_appendf(text, "%s,%s", core_text_from_real((double)head->low, low),
                      core_text_from_real((double)head->high, high));
    return;
  }
  for (int f = 0; f < head->factors; f++) core_text_appendf(text, "%s%d", f ? "," : "", head->size[f]);
}

void policy_metadata(const Player *player, void (*add)(void *context, const char *key, const char *value),
                     void *context) {
  const OpsHead *head = &player->agent.head;
  const Normalizer *normalizer = &player->pipeline.normalizer;
  CoreText text = {0};
  char number[32];

  add(context, "run", player->run_id);
  snprintf(number, sizeof number, "%" PRId64, player->iteration);
  add(context, "iteration", number);
  core_text_appendf(&text, "%s (%s)", core_version(), core_commit());
  add(context, "sweep", core_text_string(&text));
  add(context, "policy", policy_kind(&player->agent));

  core_text_clear(&text);
  append_actions(head, &text);
  add(context, ops_head_is_continuous(head) ? "bounds" : "classes", core_text_string(&text));
  if (player->env->action_space) add(context, "action_space", player->env->action_space);
  if (player->pipeline.has_moments && normalizer->rule != NORMALIZE_NONE)
    add(context, "observation_bound", core_text_from_real(normalize_bound(normalizer->rule), number));

  core_text_clear(&text);
  core_config_to_json(&player->config, &text);
  add(context, "config", core_text_string(&text));
  core_text_free(&text);
}
