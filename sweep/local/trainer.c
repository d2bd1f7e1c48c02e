/* The trainer's command line, its share of a task's processors and GPUs, and the fork. */
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
#include "store/workspace/paths.h"
#include "sweep/local/environment.h"
#include "sweep/local/run_memory.h"

enum { ARGUMENTS_MAX = 48 };

int sweep_trainer_program(char path[CORE_PATH_MAX]) {
  const char *given = getenv("SWEEP_TRAINER");
  if (given && *given) return core_files_path(path, "%s", given);
  char self[CORE_PATH_MAX];
  if (core_program_folder(self) != CORE_OK) return core_files_path(path, "trainer");
  return core_files_path(path, "%s/trainer", self);
}

/* ---- a share of a task ------------------------------------------------------------------------------------------- */

/* Runs side by side do not share processors: place p gets the p-th `threads` of those that the task may use. */
static void share_processors(const SweepTrainer *trainer) {
  cpu_set_t all, own;
  const int first = trainer->slot * trainer->threads;
  int seen = 0;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < first + trainer->threads)
    return; /* not bound: leave it */
  CPU_ZERO(&own);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &all)) continue;
    if (seen >= first && seen < first + trainer->threads) CPU_SET(cpu, &own);
    seen++;
  }
  sched_setaffinity(0, sizeof own, &own); /* a processor less or more is no reason to fail */
}

/* The GPUs of the task are CUDA_VISIBLE_DEVICES; place p sees its own, or the one that it shares. */
static void share_gpus(const SweepTrainer *trainer) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (!visible || trainer->gpus_per_run <= 0) return;
  const int first = (int)(trainer->slot * trainer->gpus_per_run);
  const int count = trainer->gpus_per_run < 1 ? 1 : (int)trainer->gpus_per_run;
  CoreText own = {0};
  int at = 0;
  for (const char *c = visible; *c; c += strcspn(c, ","), c += *c == ',', at++)
    if (at >= first && at < first + count)
      core_text_appendf(&own, "%s%.*s", own.length ? "," : "", (int)strcspn(c, ","), c);
  if (own.length) setenv("CUDA_VISIBLE_DEVICES", own.data, 1);
  core_text_free(&own);
  if (trainer->gpus_per_run < 1) { /* so that a run's estimate is held against its part of the memory (device.h) */
    char share[32];
    snprintf(share, sizeof share, "%.6g", trainer->gpus_per_run);
    setenv("CORE_DEVICE_SHARE", share, 0);
  }
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Numbers and paths behind `arguments`. */
typedef struct Words {
  char program[CORE_PATH_MAX], config[CORE_PATH_MAX], threads[64], number[32], mpi[64], nodes[32], ranks[32], cpus[32];
  char *arguments[ARGUMENTS_MAX];
} Words;

static _Noreturn void become_trainer(const SweepTrainer *trainer, Words *words, int log, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(CORE_REQUEUE); /* it died before prctl */
  dup2(log, 1), dup2(log, 2);
  if (trainer->sweep) {
    sweep_environment_apply(trainer->root, trainer->sweep, SWEEP_ENVIRONMENT_REPLACE);
    if (!trainer->is_program && sweep_trainer_program(words->program) != CORE_OK)
      fprintf(stderr, "%s\n", core_error_message());
  }
  setenv(SWEEP_RUN_VARIABLE, trainer->id, 1);
  if (trainer->slot >= 0 && trainer->ranks <= 1) {
    share_processors(trainer);
    share_gpus(trainer);
  }
  execvp(words->arguments[0], words->arguments);
  fprintf(stderr, "cannot start %s: %s\n", words->arguments[0], strerror(errno));
  _exit(127);
}

/* Words of srun, for a run of several ranks. Each goes behind `before`, where that is given. */
static size_t add_launcher(const SweepTrainer *trainer, Words *words, const char *before) {
  size_t count = 0;
  if (trainer->ranks <= 1) return 0;
  snprintf(words->mpi, sizeof words->mpi, "--mpi=%s", trainer->mpi);
  snprintf(words->nodes, sizeof words->nodes, "--nodes=%d", trainer->nodes);
  snprintf(words->ranks, sizeof words->ranks, "--ntasks=%d", trainer->ranks);
  snprintf(words->cpus, sizeof words->cpus, "--cpus-per-task=%d", trainer->threads);
  char *const launcher[] = {"srun",      words->mpi, words->nodes,           words->ranks,
                            words->cpus, "--exact",  "--kill-on-bad-exit=1", "--quiet"};
  for (size_t i = 0; i < sizeof launcher / sizeof *launcher; i++) {
    if (before) words->arguments[count++] = (char *)before;
    words->arguments[count++] = launcher[i];
  }
  return count;
}

/* One supervisor a run: ranks are its program's. */
static int make_supervisor_words(const SweepTrainer *trainer, Words *words) {
  char *launcher[ARGUMENTS_MAX];
  TRY(core_program_path(words->program));
  snprintf(words->number, sizeof words->number, "%d", trainer->threads);
  const size_t launched = add_launcher(trainer, words, "--launcher");
  memcpy(launcher, words->arguments, launched * sizeof *launcher);
  char *const own[] = {words->program, "supervise", (char *)trainer->id, "--root", (char *)trainer->root, "--threads",
                       words->number};
  size_t count = 0;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) words->arguments[count++] = own[i];
  if (trainer->from_start) words->arguments[count++] = "--from-start";
  for (size_t i = 0; i < launched; i++) words->arguments[count++] = launcher[i];
  words->arguments[count] = NULL;
  return CORE_OK;
}

static int make_words(const SweepTrainer *trainer, Words *words) {
  if (trainer->is_program) return make_supervisor_words(trainer, words);
  TRY(store_path_run(trainer->root, trainer->id, "config.ini", words->config));
  TRY(sweep_trainer_program(words->program));
  snprintf(words->threads, sizeof words->threads, "train.threads=%d", trainer->threads);
  size_t count = add_launcher(trainer, words, NULL);
  char *const own[] = {words->program, "--root",      (char *)trainer->root,
                       "--config",     words->config, "--set",
                       words->threads, "--quiet",     "--trusted-only", "--if-changed",
                       (char *)(trainer->if_changed && *trainer->if_changed ? trainer->if_changed : "refuse"),
                       trainer->from_start ? "--force" : "--resume"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) words->arguments[count++] = own[i];
  words->arguments[count] = NULL;
  return CORE_OK;
}

int sweep_trainer_start(const SweepTrainer *trainer, pid_t *process) {
  Words words;
  char path[CORE_PATH_MAX];
  *process = 0;
  TRY(make_words(trainer, &words));
  TRY(store_path_run(trainer->root, trainer->id, "log.txt", path));
  int log;
  TRY(core_files_open(path, CORE_FILES_APPEND, &log));
  const pid_t parent = getpid(), child = fork();
  if (child == 0) become_trainer(trainer, &words, log, parent);
  close(log);
  if (child < 0) return core_error_errno(CORE_FAIL, "cannot start a process");
  *process = child;
  return CORE_OK;
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
