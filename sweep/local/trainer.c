/* Builds the trainer's command line, forks, and binds the child to its slot's CPUs and GPUs (trainer.h). */
#include "sweep/local/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/files.h"
#include "core/program.h"
#include "core/text.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"
#include "sweep/local/environment.h"
#include "sweep/program/processes.h"

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
  cpu_set_t all, slot;
  const int first = trainer->slot * trainer->threads;
  int seen = 0;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < first + trainer->threads)
    return; /* the task has too few, or is not bound */
  CPU_ZERO(&slot);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &all)) continue;
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

/* A command line; `arguments` points to the other members. */
typedef struct Command {
  char program[CORE_PATH_MAX], config[CORE_PATH_MAX], hash[STORE_CODE_HASH], threads[64], thread_count[32];
  char mpi[64], nodes[32], ranks[32], cpus[32];
  char *arguments[ARGUMENTS_MAX];
} Command;

static _Noreturn void exec_trainer(const SweepTrainer *trainer, Command *command, int log, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(CORE_REQUEUE); /* the parent died before prctl */

  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (trainer->sweep) {
    sweep_environment_apply(trainer->root, trainer->sweep, SWEEP_ENVIRONMENT_REPLACE);
    if (!trainer->config->program && sweep_trainer_program(command->program) != CORE_OK)
      fprintf(stderr, "%s\n", core_error_message());
  }

  setenv(SWEEP_RUN_VARIABLE, trainer->id, 1);
  unsetenv(SWEEP_DIR_VARIABLE); /* a program may have started this sweep */
  if (trainer->slot >= 0 && trainer->ranks <= 1) {
    bind_cpus(trainer);
    bind_gpus(trainer);
  }

  execvp(command->arguments[0], command->arguments);
  fprintf(stderr, "cannot start %s: %s\n", command->arguments[0], strerror(errno));
  _exit(127);
}

/* Adds srun and its options, for a run of several ranks. option: precedes each of them; NULL: nothing does. Returns the
 * number of arguments. */
static size_t add_launcher(const SweepTrainer *trainer, Command *command, const char *option) {
  size_t count = 0;
  if (trainer->ranks <= 1) return 0;
  snprintf(command->mpi, sizeof command->mpi, "--mpi=%s", trainer->mpi);
  snprintf(command->nodes, sizeof command->nodes, "--nodes=%d", trainer->nodes);
  snprintf(command->ranks, sizeof command->ranks, "--ntasks=%d", trainer->ranks);
  snprintf(command->cpus, sizeof command->cpus, "--cpus-per-task=%d", trainer->threads);
  char *const launcher[] = {"srun",      command->mpi, command->nodes,           command->ranks,
                            command->cpus, "--exact",  "--kill-on-bad-exit=1", "--quiet"};
  for (size_t i = 0; i < sizeof launcher / sizeof *launcher; i++) {
    if (option) command->arguments[count++] = (char *)option;
    command->arguments[count++] = launcher[i];
  }
  return count;
}

/* Makes the command line of a run's single supervisor, which starts the program, through srun for several ranks. */
static int make_supervisor_command(const SweepTrainer *trainer, Command *command) {
  char *launcher[ARGUMENTS_MAX];
  TRY(core_program_path(command->program));
  snprintf(command->thread_count, sizeof command->thread_count, "%d", trainer->threads);
  const size_t launcher_count = add_launcher(trainer, command, "--launcher");
  memcpy(launcher, command->arguments, launcher_count * sizeof *launcher);
  char *const arguments[] = {command->program,      "supervise", (char *)trainer->id, "--root",
                             (char *)trainer->root, "--threads", command->thread_count,
                             "--config-hash",       command->hash};
  size_t count = 0;
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) command->arguments[count++] = arguments[i];
  if (trainer->from_start) command->arguments[count++] = "--from-start";
  for (size_t i = 0; i < launcher_count; i++) command->arguments[count++] = launcher[i];
  command->arguments[count] = NULL;
  return CORE_OK;
}

/* Makes the command line of the trainer, through srun for several ranks. */
static int make_command(const SweepTrainer *trainer, Command *command) {
  store_trust_hash_config(trainer->config, command->hash);
  if (trainer->config->program) return make_supervisor_command(trainer, command);
  TRY(store_path_run(trainer->root, trainer->id, "config.ini", command->config));
  TRY(sweep_trainer_program(command->program));
  snprintf(command->threads, sizeof command->threads, "train.threads=%d", trainer->threads);
  size_t count = add_launcher(trainer, command, NULL);
  const bool has_action = trainer->if_changed && *trainer->if_changed;
  char *const arguments[] = {command->program, "--root", (char *)trainer->root, "--config", command->config,
                             "--config-hash", command->hash, "--set", command->threads, "--quiet", "--trusted-only",
                             "--if-changed", has_action ? (char *)trainer->if_changed : "refuse",
                             trainer->from_start ? "--force" : "--resume"};
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) command->arguments[count++] = arguments[i];
  command->arguments[count] = NULL;
  return CORE_OK;
}

int sweep_trainer_start(const SweepTrainer *trainer, pid_t *process) {
  Command command;
  char path[CORE_PATH_MAX];
  *process = 0;
  TRY(make_command(trainer, &command));
  TRY(store_path_run(trainer->root, trainer->id, "log.txt", path));
  int log;
  TRY(core_files_open(path, CORE_FILES_APPEND, &log));
  const pid_t parent = getpid(), child = fork();
  if (child == 0) exec_trainer(trainer, &command, log, parent);
  close(log);
  if (child < 0) return core_error_errno(CORE_FAIL, "cannot start a process");
  *process = child;
  return CORE_OK;
}

void sweep_trainer_kill_rest(const char *root, const char *id) {
  char directory[CORE_PATH_MAX];
  if (store_path_run(root, id, "files", directory) == CORE_OK) program_processes_kill(id, directory);
}

void sweep_trainer_last_line(const char *root, const char *id, char *line, size_t capacity) {
  char path[CORE_PATH_MAX], *data;
  size_t size;
  line[0] = '\0';
  if (store_path_run(root, id, "log.txt", path) != CORE_OK) return;
  if (core_files_read(path, 0, &data, &size) != CORE_OK) return;
  while (size > 0 && (data[size - 1] == '\n' || data[size - 1] == ' ')) data[--size] = '\0';
  const char *start = strrchr(data, '\n');
  start = start ? start + 1 : data;
  if (strncmp(start, "trainer: ", 9) == 0) start += 9;
  if (strncmp(start, "sweep: ", 7) == 0) start += 7;
  snprintf(line, capacity, "%s", start);
  free(data);
}
