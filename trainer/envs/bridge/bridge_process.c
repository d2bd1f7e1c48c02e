/* Worker processes (bridge_process.h). */
#include "trainer/envs/bridge/bridge_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/program.h"
#include "core/text.h"
#include "store/code/code.h"
#include "trainer/ranks/ranks.h"

enum { CHECK_NS = 100000000, QUIT_CHECKS = 20 }; /* how often it is checked that a worker lives */

/* ---- ending ------------------------------------------------------------------------------------------------------ */

/* Its process is still to be waited for, so that no other one has its number. */
static bool has_ended(const BridgeWorker *worker) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)worker->process, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
  return info.si_pid == worker->process;
}

/* Ends what is left of it and of the processes that its environments have started. Gives its status. */
static int bury(BridgeWorker *worker) {
  int status = 0;
  kill(-worker->process, SIGKILL);
  kill(worker->process, SIGKILL);
  waitpid(worker->process, &status, 0);
  worker->process = 0;
  return status;
}

/* One that is in the midst of a turn is not waited for. */
static void end(BridgeWorker *worker) {
  if (worker->process > 0) {
    const Bridge *shared = worker->shared;
    const bool waits = shared && !shared->failed &&
                       atomic_load(&shared->asked.number) + 1 == atomic_load(&shared->answered.number);
    if (waits) bridge_worker_ask(worker, BRIDGE_QUIT);
    for (int i = 0; waits && i < QUIT_CHECKS && !has_ended(worker); i++) usleep(5000);
    bury(worker);
  }
  bridge_output_close(&worker->output);
  if (worker->shared) munmap(worker->shared, worker->mapped);
  if (worker->file >= 0) close(worker->file);
  worker->shared = NULL;
  worker->file = -1;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static int share_memory(BridgeWorker *worker) {
  worker->file = memfd_create("sweep-bridge", 0);
  if (worker->file < 0) return core_error_errno(CORE_FAIL, "memory to share with a worker");
  if (ftruncate(worker->file, sizeof(Bridge)) != 0) return core_error_errno(CORE_FAIL, "memory to share with a worker");
  worker->shared = mmap(NULL, sizeof(Bridge), PROT_READ | PROT_WRITE, MAP_SHARED, worker->file, 0);
  if (worker->shared == MAP_FAILED) {
    worker->shared = NULL;
    return core_error_errno(CORE_FAIL, "memory to share with a worker");
  }
  worker->mapped = sizeof(Bridge);
  worker->shared->version = BRIDGE_VERSION;
  worker->shared->worlds = worker->order.worlds;
  worker->shared->look_ns = worker->patience.look_ns = worker->order.look_ns;
  return CORE_OK;
}

/* Gives the next folder of PYTHONPATH, of `length` bytes, and steps behind it. NULL: there is none. */
static const char *next_folder(const char **at, size_t *length) {
  const char *folder = *at;
  if (!folder) return NULL;
  *length = strcspn(folder, ":");
  *at = folder[*length] ? folder + *length + 1 : NULL;
  return folder;
}

/* Folders of PYTHONPATH that are not whole paths count from the current folder, where a sitecustomize.py of other
 * people may lie: Python starts without them. A module of the task is found there all the same (find_code.py). */
static void keep_whole_paths(void) {
  const char *at = getenv("PYTHONPATH"), *folder;
  size_t length;
  CoreText kept = {0};
  while ((folder = next_folder(&at, &length)))
    if (*folder == '/') core_text_appendf(&kept, "%s%.*s", kept.length ? ":" : "", (int)length, folder);
  if (kept.length) setenv("PYTHONPATH", kept.data, 1);
  else unsetenv("PYTHONPATH");
  core_text_free(&kept);
}

void bridge_relative_folders(CoreText *folders) {
  const char *at = getenv("PYTHONPATH"), *folder;
  size_t length;
  while ((folder = next_folder(&at, &length)))
    if (length > 0 && *folder != '/')
      core_text_appendf(folders, "%s%.*s", folders->length ? " " : "", (int)length, folder);
}

/* error: the file that its standard error is. */
static _Noreturn void become_worker(const char *python, char *const arguments[], int error) {
  const int nothing = open("/dev/null", O_RDONLY);
  setpgid(0, 0); /* a group of its own: with it ends what its environments start */
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
  const int kept[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}; /* the trainer decides when its workers end */
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) signal(kept[i], SIG_IGN);
  if (nothing >= 0) dup2(nothing, 0);
  if (error != STDERR_FILENO) dup2(error, STDERR_FILENO);
  keep_whole_paths();
  execvp(python, arguments);
  fprintf(stderr, "cannot start %s: %s\n", python, strerror(errno));
  _exit(127);
}

int bridge_list(const char *python, const char *kind, bool json) {
  char program[CORE_PATH_MAX], path[CORE_PATH_MAX];
  int status = 0;
  TRY(core_program_library_file("worker.py", program));
  char *const arguments[] = {(char *)store_code_python(python, path), program, "list", (char *)kind,
                             json ? "json" : "lines", NULL};
  fflush(stdout);
  const pid_t process = fork();
  if (process == 0) become_worker(arguments[0], arguments, STDERR_FILENO);
  if (process < 0 || waitpid(process, &status, 0) != process)
    return core_error_errno(CORE_FAIL, "cannot start a process");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "the tasks of %.60s/ are listed by a Python that has them; name it by SWEEP_PYTHON",
                    kind);
}

static int start_process(BridgeWorker *worker) {
  const BridgeOrder *order = &worker->order;
  char path[CORE_PATH_MAX];
  int error;
  const char *python = store_code_python(order->python, path);
  char program[CORE_PATH_MAX], library[CORE_PATH_MAX], file[16], parent[24], worlds[16];
  TRY(core_program_library_file("worker.py", program));
  TRY(core_program_library_file("bridge_side.so", library));
  snprintf(file, sizeof file, "%d", worker->file);
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  snprintf(worlds, sizeof worlds, "%d", order->worlds);
  char *const arguments[] = {(char *)python, program, file, parent, (char *)order->task, worlds, library,
                             (char *)order->options, NULL};
  TRY(bridge_output_open(&worker->output, &error));
  worker->process = fork();
  if (worker->process == 0) become_worker(python, arguments, error);
  close(error);
  if (worker->process < 0) {
    worker->process = 0;
    return core_error_errno(CORE_FAIL, "cannot start a process");
  }
  return CORE_OK;
}

/* The memory has grown by the worlds' arrays. */
static int map_whole(BridgeWorker *worker) {
  const uint64_t bytes = worker->shared->arrays.bytes;
  const BridgeArrays ours = bridge_arrange(&worker->shared->spaces, worker->order.worlds);
  if (memcmp(&ours, &worker->shared->arrays, sizeof ours) != 0)
    return core_error(CORE_FAIL, "the worker of %.100s has arrays of another version", worker->order.task);
  void *whole = mremap(worker->shared, sizeof(Bridge), bytes, MREMAP_MAYMOVE);
  if (whole == MAP_FAILED) return core_error_errno(CORE_FAIL, "memory to share with a worker");
  worker->shared = whole;
  worker->mapped = bytes;
  return CORE_OK;
}

static int launch(const BridgeOrder *order, BridgeWorker *worker) {
  *worker = (BridgeWorker){.order = *order, .file = -1};
  TRY(share_memory(worker));
  return start_process(worker);
}

static int start_new(const BridgeOrder *order, BridgeWorker *worker) {
  int code = launch(order, worker);
  if (code == CORE_OK) {
    code = bridge_worker_await(worker);
    if (code == CORE_FAIL) code = CORE_USAGE;
  }
  if (code == CORE_OK) code = map_whole(worker);
  if (code != CORE_OK) end(worker);
  return code;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

void bridge_worker_ask(BridgeWorker *worker, BridgeCommand command) {
  worker->shared->command = command;
  bridge_raise(&worker->shared->asked);
}

/* The last line says what, the lines before it where. */
static int tell_error(const BridgeWorker *worker) {
  char message[BRIDGE_TEXT];
  memcpy(message, worker->shared->message, sizeof message);
  message[sizeof message - 1] = '\0';
  size_t length = strlen(message);
  while (length > 0 && message[length - 1] == '\n') message[--length] = '\0';
  const char *last = strrchr(message, '\n');
  if (last) core_log(CORE_LOG_ERROR, "the worker of %s:\n%s", worker->order.task, message);
  return core_error(CORE_FAIL, "%.100s: %.600s", worker->order.task, last ? last + 1 : message);
}

/* Names the Python that a worker ran by its path. */
static const char *name_python(const BridgeWorker *worker, char found[CORE_PATH_MAX]) {
  char path[CORE_PATH_MAX];
  const char *python = store_code_python(worker->order.python, path);
  if (store_code_find_program(python, found)) return found;
  snprintf(found, CORE_PATH_MAX, "%s", python);
  return found;
}

/* Says how a process that is gone has ended. */
static int tell_end(const BridgeWorker *worker, int status) {
  char python[CORE_PATH_MAX], tail[BRIDGE_OUTPUT_TAIL];
  const char *task = worker->order.task;
  if (worker->shared->failed) return tell_error(worker);
  name_python(worker, python);
  bridge_output_tail(worker->output, tail);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return core_error(CORE_FAIL, "%.100s: its worker needs a Python, and %.300s cannot be run; name one by "
                      "env.python or SWEEP_PYTHON", task, python);
  const char *before = *tail ? "; the last that it said: " : ", without a word";
  if (WIFSIGNALED(status))
    return core_error(CORE_FAIL, "%.100s: its worker, run by %.300s, was ended by signal %d (%s)%s%s%s", task, python,
                      WTERMSIG(status), strsignal(WTERMSIG(status)),
                      WTERMSIG(status) == SIGKILL ? "; the kernel does so where memory is short" : "", before, tail);
  return core_error(CORE_FAIL, "%.100s: its worker, run by %.300s, ended with exit code %d%s%s", task, python,
                    WEXITSTATUS(status), before, tail);
}

/* CORE_OK: there is an answer. */
static int wait_for_answer(BridgeWorker *worker) {
  Bridge *shared = worker->shared;
  const uint32_t wanted = atomic_load(&shared->asked.number) + 1;
  const double checks = worker->order.timeout_s * 1e9 / CHECK_NS;
  TRY(ranks_check_stop());
  for (double i = 0; !bridge_wait(&shared->answered, wanted, CHECK_NS, &worker->patience); i++) {
    if (has_ended(worker)) return tell_end(worker, bury(worker));
    TRY(ranks_check_stop());
    if (i >= checks)
      return core_error(CORE_FAIL, "%.100s: its worker gave no answer within %g s%s", worker->order.task,
                        worker->order.timeout_s, worker->order.timeout_hint);
  }
  return shared->failed ? tell_error(worker) : CORE_OK;
}

int bridge_worker_ask_once(const BridgeOrder *order, CoreText *text) {
  BridgeWorker worker;
  int code = launch(order, &worker);
  if (code == CORE_OK) code = wait_for_answer(&worker);
  const Bridge *shared = worker.shared;
  if (code != CORE_REQUEUE && shared && !shared->failed && *shared->message) code = CORE_OK; /* told before it failed */
  if (code == CORE_OK) core_text_appendf(text, "%.*s", BRIDGE_TEXT, shared->message);
  else core_text_append(text, core_error_message());
  end(&worker);
  return code;
}

int bridge_worker_await(BridgeWorker *worker) {
  const int code = wait_for_answer(worker);
  if (code != CORE_OK) end(worker);
  return code;
}

/* ---- spares ------------------------------------------------------------------------------------------------------ */

typedef struct Spare {
  BridgeWorker worker;   /* without shared memory: none */
  char *key;             /* what was ordered */
} Spare;

enum { SPARES = 16 };

static Spare spares[SPARES];
static bool keeps_spares;

/* Two orders of one key get the same worker. The caller frees it. */
static char *key_of(const BridgeOrder *order) {
  CoreText key = {0};
  core_text_appendf(&key, "%s\n%s\n%s\n%d %lld", order->task, order->options, order->python, order->worlds,
                    (long long)order->look_ns);
  return key.data;
}

static void empty(Spare *spare) {
  free(spare->key);
  *spare = (Spare){.worker.file = -1};
}

/* Takes a spare for the order. False: there is none. */
static bool take_spare(const BridgeOrder *order, BridgeWorker *worker) {
  char *key = key_of(order);
  bool found = false;
  for (int i = 0; i < SPARES && !found; i++) {
    if (!spares[i].key || strcmp(spares[i].key, key) != 0) continue;
    found = !has_ended(&spares[i].worker);
    *worker = spares[i].worker;
    worker->order = *order;
    if (!found) end(worker);
    empty(&spares[i]);
  }
  free(key);
  return found;
}

/* False: no place is left, or it is not as it was when it started. */
static bool keep_spare(BridgeWorker *worker) {
  if (!worker->shared || worker->shared->failed || atomic_load(&worker->shared->asked.number) != 0) return false;
  for (int i = 0; i < SPARES; i++) {
    if (spares[i].key) continue;
    spares[i] = (Spare){*worker, key_of(&worker->order)};
    *worker = (BridgeWorker){.file = -1};
    return true;
  }
  return false;
}

void bridge_worker_keep_spares(bool keep) {
  keeps_spares = keep;
  for (int i = 0; !keep && i < SPARES; i++) {
    if (spares[i].key) end(&spares[i].worker);
    empty(&spares[i]);
  }
}

int bridge_worker_start(const BridgeOrder *order, BridgeWorker *worker) {
  return keeps_spares && take_spare(order, worker) ? CORE_OK : start_new(order, worker);
}

void bridge_worker_end(BridgeWorker *worker) {
  if (!keeps_spares || !keep_spare(worker)) end(worker);
}
