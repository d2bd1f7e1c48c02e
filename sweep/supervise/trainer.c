/* Builds the trainer's command line, and binds the child to its slot's CPUs and GPUs (trainer.h). */
#include "sweep/supervise/trainer.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "core/text.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"
#include "sweep/spec/markers.h"
#include "sweep/supervise/environment.h"
#include "sweep/supervise/process.h"
#include "sweep/supervise/processes.h"

enum { ARGUMENTS_MAX = 48 };

int sweep_trainer_program(char path[CORE_PATH_MAX]) {
  const char *override = getenv("SWEEP_TRAINER");
  if (override && *override) return core_files_path(path, "%s", override);
  char self[CORE_PATH_MAX];
  if (core_program_directory(self) != CORE_OK) return core_files_path(path, "trainer");
  return core_files_path(path, "%s/trainer", self);
}

/* ---- resources of a slot ----------------------------------------------------------------------------------------- */

/* Binds the process to its own CPUs: slot n gets the n-th `threads` of those that the task may use. */
static void bind_cpus(const SweepTrainer *trainer) {
  cpu_set_t allowed, slot;
  const int first = trainer->slot * trainer->threads;
  int seen = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < first + trainer->threads)
    return; /* the task has too few, or is not bound */
  CPU_ZERO(&slot);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    if (seen >= first && seen < first + trainer->threads) CPU_SET(cpu, &slot);
    seen++;
  }
  sched_setaffinity(0, sizeof slot, &slot); /* a failure is harmless */
}

/* Restricts CUDA_VISIBLE_DEVICES, the GPUs of the task, to those of the slot, or to the one that it shares. */
static void bind_gpus(const SweepTrainer *trainer) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (!visible || trainer->gpus_per_run <= 0) return;

  const int first = (int)(trainer->slot * trainer->gpus_per_run);
  const int count = trainer->gpus_per_run < 1 ? 1 : (int)trainer->gpus_per_run;
  CoreText devices = {0};
  const char *item = visible;
  for (int index = 0; *item; index++) {
    const size_t length = strcspn(item, ",");
    if (index >= first && index < first + count)
      core_text_appendf(&devices, "%s%.*s", devices.length ? "," : "", (int)length, item);
    item += length + (item[length] == ',');
  }

  if (devices.length) setenv("CUDA_VISIBLE_DEVICES", devices.data, 1);
  core_text_free(&devices);

  if (trainer->gpus_per_run < 1) { /* the run's memory estimate is compared with its share of the GPU (device.h) */
    char share[32];
    snprintf(share, sizeof share, "%.6g", trainer->gpus_per_run);
    setenv("CORE_DEVICE_SHARE", share, 0);
  }
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* A command line. */
typedef struct Command {
  const SweepTrainer *trainer;
  char program[CORE_PATH_MAX];      /* the first argument, or that after srun's */
  char *arguments[ARGUMENTS_MAX];   /* [count] owned, except `program`; NULL-terminated */
  size_t count;
} Command;

CORE_PRINTF(2, 3) static void add(Command *command, const char *format, ...) {
  va_list values;
  CORE_CHECK(command->count + 1 < ARGUMENTS_MAX);
  va_start(values, format);
  if (vasprintf(&command->arguments[command->count++], format, values) < 0) abort();
  va_end(values);
}

static void add_option(Command *command, const char *option, const char *value) {
  add(command, "%s", option);
  add(command, "%s", value);
}

/* Prepares the child: its environment, and the CPUs and GPUs of its slot. */
static void prepare_child(void *context) {
  Command *command = context;
  const SweepTrainer *trainer = command->trainer;
  if (trainer->applies_environment) {
    sweep_environment_apply(trainer->root, trainer->sweep, SWEEP_ENVIRONMENT_REPLACE);
    if (!trainer->config->program && sweep_trainer_program(command->program) != CORE_OK)
      fprintf(stderr, "%s\n", core_error_message());
  }

  setenv(SWEEP_RUN_VARIABLE, trainer->id, 1);
  unsetenv(SWEEP_DIR_VARIABLE); /* a program may have started this sweep */
  if (trainer->slot < 0 || trainer->ranks > 1) return;
  bind_cpus(trainer);
  bind_gpus(trainer);
}

/* Adds srun and its options, for a run of several ranks. prefix: "", or that of the supervisor's option. */
static void add_launcher(Command *command, const char *prefix) {
  const SweepTrainer *trainer = command->trainer;
  if (trainer->ranks <= 1) return;
  add(command, "%ssrun", prefix);
  add(command, "%s--mpi=%s", prefix, trainer->mpi);
  add(command, "%s--nodes=%d", prefix, trainer->nodes);
  add(command, "%s--ntasks=%d", prefix, trainer->ranks);
  add(command, "%s--cpus-per-task=%d", prefix, trainer->threads);
  add(command, "%s--exact", prefix);
  add(command, "%s--kill-on-bad-exit=1", prefix);
  add(command, "%s--quiet", prefix);
}

/* Adds the command line of a run's single supervisor, which starts the program, through srun for several ranks. */
static int add_supervisor(Command *command, const char *hash) {
  const SweepTrainer *trainer = command->trainer;
  TRY(core_program_path(command->program));
  command->arguments[command->count++] = command->program;
  add(command, "supervise");
  add(command, "%s", trainer->id);
  add_option(command, "--root", trainer->root);
  add(command, "--threads=%d", trainer->threads);
  add_option(command, "--config-hash", hash);
  if (trainer->from_start) add(command, "--from-start");
  add_launcher(command, "--launcher=");
  return CORE_OK;
}

/* Adds the command line of the trainer, through srun for several ranks. */
static int add_trainer(Command *command, const char *hash) {
  const SweepTrainer *trainer = command->trainer;
  char config[CORE_PATH_MAX];
  CoreText kept = {0};
  TRY(store_path_run(trainer->root, trainer->id, "config.ini", config));
  TRY(sweep_trainer_program(command->program));
  if (!trainer->force) TRY(sweep_kept_read(trainer->root, trainer->sweep, &kept));

  add_launcher(command, "");
  command->arguments[command->count++] = command->program;
  add_option(command, "--root", trainer->root);
  add_option(command, "--config", config);
  add_option(command, "--config-hash", hash);
  add(command, "--set");
  add(command, "train.threads=%d", trainer->threads);
  add(command, "--quiet");
  add(command, "--trusted-only");
  add_option(command, "--if-changed", trainer->force ? "restart" : kept.length > 0 ? kept.data : "refuse");
  add(command, trainer->from_start ? "--force" : "--resume");
  core_text_free(&kept);
  return CORE_OK;
}

int sweep_trainer_start(const SweepTrainer *trainer, pid_t *id) {
  Command command = {.trainer = trainer};
  char path[CORE_PATH_MAX], hash[STORE_CODE_HASH];
  int log = -1;
  store_trust_hash_config(trainer->config, hash);
  int code = trainer->config->program ? add_supervisor(&command, hash) : add_trainer(&command, hash);
  if (code == CORE_OK) code = store_path_run(trainer->root, trainer->id, "log.txt", path);
  if (code == CORE_OK) code = core_files_open(path, CORE_FILES_APPEND, &log);

  const SweepProcess process = {.arguments = command.arguments, .output = log, .error = log, .death_signal = SIGTERM,
                                .prepare = prepare_child, .context = &command};
  if (code == CORE_OK) code = sweep_process_start(&process, id);
  if (log >= 0) close(log);
  for (size_t i = 0; i < command.count; i++)
    if (command.arguments[i] != command.program) free(command.arguments[i]);
  return code;
}
