/* The `trainer` program: parses, calls, returns. Without a command it trains (run.c). */
#include <string.h>

#include "core/command/options.h"
#include "core/config/config.h"
#include "core/signals.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"
#include "trainer/export/export.h"
#include "trainer/run/run.h"
#include "trainer/tools/tools.h"

typedef struct TrainOptions {
  const char *file, *hash;  /* --config, and what its bytes must have */
  CoreOptionList sets;
  RunOptions run;
  bool trusted_only;
} TrainOptions;

/* A parent whose id is cut short is refused with the whole one, where the workspace has it. */
static int load(const TrainOptions *options, CoreConfig *config) {
  char root[CORE_PATH_MAX];
  *config = core_config_default();
  if (options->file && options->hash) TRY(store_trust_read_config(options->file, options->hash, config));
  else if (options->file) TRY(core_config_read(options->file, config));
  const int code = core_config_override(options->file, options->sets.items, options->sets.count, config);
  if (code != CORE_USAGE || strncmp(config->init.from, "run:", 4) != 0) return code;
  CoreText message = {0};
  core_text_append(&message, core_error_message());
  int found = store_root(options->run.root, root);
  if (found == CORE_OK) found = store_run_check_origin(root, config->init.from);
  if (found != CORE_USAGE) core_error(code, "%s", core_text_string(&message));
  core_text_free(&message);
  return code;
}

static int train(void *given, const char **operands, size_t count) {
  const TrainOptions *options = given;
  CoreConfig config;
  if (options->run.resume && options->run.force)
    return core_error(CORE_USAGE, "--resume and --force exclude each other");
  if (options->run.json && !options->run.dry_run)
    return core_error(CORE_USAGE, "--json goes with --dry-run; a run's state is sweep status --json's to tell");
  TRY(load(options, &config));
  TRY(run_code_check_option(options->run.if_changed));
  if (options->trusted_only) TRY(store_trust_check(&config, false));
  return run_train(&config, &options->run);
}

static int command_train(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer [--config FILE] [--set KEY=VALUE]... [OPTIONS]",
    .about = "Trains one agent as its configuration says, in <root>/runs/ab/<id>: run logs, checkpoints, log.txt and "
             "state. The id is a hash of the configuration, so the same configuration is the same run.\n\n"
             "mpirun -n 4 trainer ... (or srun) divides the environments over 4 processes.\n\n"
             "Exit codes: 0 finished, 1 failed or diverged, 2 usage error, 75 stopped by SIGUSR1, SIGUSR2, SIGTERM or "
             "SIGINT, with a checkpoint (run again with --resume to go on).\n\n"
             "Other commands: trainer config, info, tasks, checkpoint, show, play, plasticity, export, check-level; "
             "trainer help lists them.",
    .more = core_config_help,
    .hint = "settings go as --set KEY=VALUE, a file as --config FILE"};

  TrainOptions given = {0};
  const CoreOption table[] = {
    {"config", 'c', CORE_OPTION_TEXT, &given.file, "FILE", "read settings from an INI file; the rest are defaults"},
    {"set", 's', CORE_OPTION_LIST, &given.sets, "KEY=VALUE", "change one setting; may be given several times"},
    {"root", 'r', CORE_OPTION_TEXT, &given.run.root, "DIR",
     "the workspace; default $SWEEP_ROOT, else the current folder"},
    {"resume", 0, CORE_OPTION_FLAG, &given.run.resume, NULL, "go on from the newest good checkpoint, if there is one"},
    {"force", 0, CORE_OPTION_FLAG, &given.run.force, NULL, "start over, whatever was done before"},
    {"quiet", 'q', CORE_OPTION_FLAG, &given.run.quiet, NULL, "print nothing but errors"},
    {"if-changed", 0, CORE_OPTION_TEXT, &given.run.if_changed, "WHAT",
     "with --resume, when the code that the run is trained on has changed: refuse (default), keep it and go on, "
     "restart, or go on only with code of these hashes"},
    {"config-hash", 0, CORE_OPTION_TEXT, &given.hash, "HASH",
     "with --config: refuse a file of another BLAKE2b (b2sum -l 128), as sweep does"},
    {"trusted-only", 0, CORE_OPTION_FLAG, &given.trusted_only, NULL,
     "refuse code that the configuration names and that this user has not trusted, as sweep does"},
    {"dry-run", 'n', CORE_OPTION_FLAG, &given.run.dry_run, NULL, "print settings, sizes and memory; write nothing"},
    {"json", 0, CORE_OPTION_FLAG, &given.run.json, NULL, "with --dry-run: for scripts"},
    {0}};

  return core_options_run(&manual, table, argc, argv, train, &given);
}

static const CoreCommand COMMANDS[] = {
  {"train", "train one run; the default when no command is given (trainer --config FILE)", command_train},
  {"config", "print every setting with its default", trainer_config},
  {"info", "what the program was built with and may use here", trainer_info},
  {"tasks", "list what env.task can name", trainer_tasks},
  {"checkpoint", "check checkpoint files and list what they hold", trainer_checkpoint},
  {"show", "draw levels or a task as they start, stand or move: .png, .svg, .gif, .mp4", trainer_show},
  {"play", "draw an episode of a trained policy", trainer_play},
  {"plasticity", "how fast trained networks fit random targets, against fresh ones", trainer_plasticity},
  {"export", "write a trained policy for other programs: ONNX, safetensors", trainer_export},
  {"check-level", "say what is wrong with level files, or what they hold", trainer_check_level},
  {"check-configs", NULL, trainer_check_configs},
  {0},
};

int main(int argc, char **argv) {
  const int code = core_signals_begin(); /* before any library has a thread */
  if (code != CORE_OK) return core_options_report("trainer", code);
  static const CoreProgram program = {
    .name = "trainer", .intro = "Trains reinforcement-learning agents in a batched 2D physics simulator.",
    .commands = COMMANDS, .usual = "train"};
  return core_options_dispatch(&program, argc, argv);
}
