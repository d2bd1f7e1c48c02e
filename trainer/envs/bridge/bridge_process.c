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
#include "core/process.h"
#include "core/text.h"
#include "store/code/code.h"
#include "trainer/ranks/ranks.h"

enum {
  CHECK_NS = 100000000,
  QUIT_CHECKS = 20
}; /* interval of liveness checks; number of checks after a quit request */

/* ---- ending ------------------------------------------------------------------------------------------------------ */

/* Whether the process has exited. Does not reap it, so that its id is not reused. */
static bool has_ended(const BridgeWorker *worker) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)worker->process, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return false;
  return info.si_pid == worker->process;
}

/* Kills the worker's process group and reaps the worker. Returns its wait status. */
static int reap(BridgeWorker *worker) {
  int status = 0;
  kill(-worker->process, SIGKILL);
  kill(worker->process, SIGKILL);
  waitpid(worker->process, &status, 0);
  worker->process = 0;
  return status;
}

/* Ends the worker. Only an idle worker gets a quit request; a busy one is killed. */
static void end(BridgeWorker *worker) {
  if (worker->process > 0) {
    const Bridge *shared = worker->shared;
    const bool is_idle = shared && !shared->failed &&
                       atomic_load(&shared->requests.number) + 1 == atomic_load(&shared->replies.number);
    if (is_idle) {
      bridge_worker_request(worker, BRIDGE_QUIT);
      for (int i = 0; i < QUIT_CHECKS && !has_ended(worker); i++) usleep(5000);
    }
    reap(worker);
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
  if (worker->file < 0) return core_error_errno(CORE_FAIL, "cannot allocate memory shared with a worker");
  if (ftruncate(worker->file, sizeof(Bridge)) != 0) return core_error_errno(CORE_FAIL, "cannot allocate memory shared "
                                        "with a worker");

  worker->shared = mmap(NULL, sizeof(Bridge), PROT_READ | PROT_WRITE, MAP_SHARED, worker->file, 0);
  if (worker->shared == MAP_FAILED) {
    worker->shared = NULL;
    return core_error_errno(CORE_FAIL, "cannot allocate memory shared with a worker");
  }

  worker->mapped = sizeof(Bridge);
  worker->shared->version = BRIDGE_VERSION;
  worker->shared->worlds = worker->opts.worlds;
  worker->shared->spin_ns = worker->opts.spin_ns;
  worker->spin.spin_ns = worker->opts.spin_ns;
  return CORE_OK;
}

/* Returns the next directory of PYTHONPATH, of `length` bytes, and advances *list. NULL: the end. */
static const char *next_directory(const char **list, size_t *length) {
  const char *directory = *list;
  if (!directory) return NULL;
  *length = strcspn(directory, ":");
  *list = directory[*length] ? directory + *length + 1 : NULL;
  return directory;
}

/* Removes relative directories from PYTHONPATH: the current directory may contain another user's sitecustomize.py. The
 * task's module is still found there (find_code.py). */
static void remove_relative_paths(void) {
  const char *list = getenv("PYTHONPATH"), *directory;
  size_t length;
  CoreText absolute = {0};
  while ((directory = next_directory(&list, &length)))
    if (*directory == '/')
      core_text_appendf(&absolute, "%s%.*s", absolute.length ? ":" : "", (int)length, directory);
  if (absolute.length) setenv("PYTHONPATH", absolute.data, 1);
  else unsetenv("PYTHONPATH");
  core_text_free(&absolute);
}

void bridge_append_relative_paths(CoreText *list) {
  const char *inherited = getenv("PYTHONPATH"), *directory;
  size_t length;
  while ((directory = next_directory(&inherited, &length)))
    if (length > 0 && *directory != '/')
      core_text_appendf(list, "%s%.*s", list->length ? " " : "", (int)length, directory);
}

/* Executes Python in the child process. error: file descriptor for standard error. */
static _Noreturn void exec_worker(const char *python, char *const arguments[], int error) {
  const int null_file = open("/dev/null", O_RDONLY);
  setpgid(0, 0); /* own process group, which is killed together with its environments' processes */
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
  const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}; /* the trainer ends its workers */
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
  if (null_file >= 0) dup2(null_file, 0);
  if (error != STDERR_FILENO) dup2(error, STDERR_FILENO);
  remove_relative_paths();
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
  if (process == 0) exec_worker(arguments[0], arguments, STDERR_FILENO);
  if (process < 0 || waitpid(process, &status, 0) != process)
    return core_error_errno(CORE_FAIL, "cannot start a process");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "cannot list the tasks of %.60s/; set SWEEP_PYTHON to a Python that has them",
                    kind);
}

static int start_process(BridgeWorker *worker) {
  const BridgeWorkerOptions *opts = &worker->opts;
  char path[CORE_PATH_MAX];
  int error;
  const char *python = store_code_python(opts->python, path);
  char program[CORE_PATH_MAX], library[CORE_PATH_MAX], file[16], parent[24], worlds[16];
  TRY(core_program_library_file("worker.py", program));
  TRY(core_program_library_file("bridge_side.so", library));

  snprintf(file, sizeof file, "%d", worker->file);
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  snprintf(worlds, sizeof worlds, "%d", opts->worlds);
  char *const arguments[] = {(char *)python, program, file, parent, (char *)opts->task, worlds, library,
                             (char *)opts->options, NULL};

  TRY(bridge_output_open(&worker->output, &error));
  worker->process = fork();
  if (worker->process == 0) exec_worker(python, arguments, error);
  close(error);
  if (worker->process < 0) {
    worker->process = 0;
    return core_error_errno(CORE_FAIL, "cannot start a process");
  }
  return CORE_OK;
}

/* Maps the arrays, by which the worker has grown the memory. */
static int map_arrays(BridgeWorker *worker) {
  const uint64_t bytes = worker->shared->arrays.bytes;
  const BridgeArrays expected = bridge_arrange(&worker->shared->spaces, worker->opts.worlds);
  if (memcmp(&expected, &worker->shared->arrays, sizeof expected) != 0)
    return core_error(CORE_FAIL, "the worker of %.100s uses another version of the memory layout; rebuild or reinstall",
                                 worker->opts.task);
  void *mapping = mremap(worker->shared, sizeof(Bridge), bytes, MREMAP_MAYMOVE);
  if (mapping == MAP_FAILED) return core_error_errno(CORE_FAIL, "cannot allocate memory shared with a worker");
  worker->shared = mapping;
  worker->mapped = bytes;
  return CORE_OK;
}

/* Starts a worker without waiting for its first reply. */
static int launch(const BridgeWorkerOptions *opts, BridgeWorker *worker) {
  *worker = (BridgeWorker){.opts = *opts, .file = -1};
  TRY(share_memory(worker));
  return start_process(worker);
}

static int start_new(const BridgeWorkerOptions *opts, BridgeWorker *worker) {
  int code = launch(opts, worker);
  if (code == CORE_OK) {
    code = bridge_worker_await(worker);
    if (code == CORE_FAIL) code = CORE_USAGE;
  }
  if (code == CORE_OK) code = map_arrays(worker);
  if (code != CORE_OK) end(worker);
  return code;
}

/* ---- requests and replies ---------------------------------------------------------------------------------------- */

void bridge_worker_request(BridgeWorker *worker, BridgeCommand command) {
  worker->shared->command = command;
  bridge_post(&worker->shared->requests);
}

/* Sets the error from a Python traceback: its last line is the error's message; the full text goes to the log. */
static int set_python_error(const BridgeWorker *worker) {
  char message[BRIDGE_TEXT];
  memcpy(message, worker->shared->message, sizeof message);
  message[sizeof message - 1] = '\0';
  size_t length = strlen(message);
  while (length > 0 && message[length - 1] == '\n') message[--length] = '\0';
  const char *last = strrchr(message, '\n');
  if (last) core_log(CORE_LOG_ERROR, "the worker of %s:\n%s", worker->opts.task, message);
  return core_error(CORE_FAIL, "%.100s: %.600s", worker->opts.task, last ? last + 1 : message);
}

/* Returns the path of the Python that runs a worker. */
static const char *find_python(const BridgeWorker *worker, char found[CORE_PATH_MAX]) {
  char path[CORE_PATH_MAX];
  const char *python = store_code_python(worker->opts.python, path);
  if (store_code_find_program(python, found)) return found;
  snprintf(found, CORE_PATH_MAX, "%s", python);
  return found;
}

/* Sets the error for a worker that has exited. */
static int set_exit_error(const BridgeWorker *worker, int status) {
  char python[CORE_PATH_MAX], tail[BRIDGE_OUTPUT_TAIL];
  const char *task = worker->opts.task;
  if (worker->shared->failed) return set_python_error(worker);

  find_python(worker, python);
  bridge_output_tail(worker->output, tail);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return core_error(CORE_FAIL, "%.100s: cannot run %.300s, the Python of its worker; set env.python or "
                      "SWEEP_PYTHON", task, python);

  const char *output = *tail ? "; its last output: " : ", without output";
  if (WIFSIGNALED(status))
    return core_error(CORE_FAIL, "%.100s: its worker, run by %.300s, was killed by signal %d (%s)%s%s%s", task, python,
                      WTERMSIG(status), strsignal(WTERMSIG(status)),
                      WTERMSIG(status) == SIGKILL ? "; the kernel kills processes when memory runs out" : "", output,
                                                    tail);
  return core_error(CORE_FAIL, "%.100s: its worker, run by %.300s, exited with code %d%s%s", task, python,
                    WEXITSTATUS(status), output, tail);
}

/* Waits for the reply. Errors: as bridge_worker_await. */
static int wait_for_reply(BridgeWorker *worker) {
  Bridge *shared = worker->shared;
  const uint32_t target = atomic_load(&shared->requests.number) + 1;
  const double checks = worker->opts.timeout_s * 1e9 / CHECK_NS;
  TRY(ranks_check_stop());
  for (double i = 0; !bridge_wait(&shared->replies, target, CHECK_NS, &worker->spin); i++) {
    if (has_ended(worker)) return set_exit_error(worker, reap(worker));
    TRY(ranks_check_stop());
    if (i >= checks)
      return core_error(CORE_FAIL, "%.100s: its worker did not reply within %g s%s", worker->opts.task,
                        worker->opts.timeout_s, worker->opts.timeout_hint);
  }
  return shared->failed ? set_python_error(worker) : CORE_OK;
}

int bridge_worker_run_once(const BridgeWorkerOptions *opts, CoreText *text) {
  BridgeWorker worker;
  int code = launch(opts, &worker);
  if (code == CORE_OK) code = wait_for_reply(&worker);
  const Bridge *shared = worker.shared;
  if (code != CORE_REQUEUE && shared && !shared->failed && *shared->message)
    code = CORE_OK; /* sent before the worker failed */
  if (code == CORE_OK) core_text_appendf(text, "%.*s", BRIDGE_TEXT, shared->message);
  else core_text_append(text, core_error_message());
  end(&worker);
  return code;
}

int bridge_worker_await(BridgeWorker *worker) {
  const int code = wait_for_reply(worker);
  if (code != CORE_OK) end(worker);
  return code;
}

/* ---- reuse ------------------------------------------------------------------------------------------------------- */

typedef struct IdleWorker {
  BridgeWorker worker;
  char *key;             /* options of the worker; NULL: free slot */
} IdleWorker;

enum { IDLE_MAX = 16 };

static IdleWorker idle_workers[IDLE_MAX];
static bool reuses_workers;

/* Formats the options that a reused worker must match. The caller frees the result. */
static char *make_key(const BridgeWorkerOptions *opts) {
  CoreText key = {0};
  core_text_appendf(&key, "%s\n%s\n%s\n%d %lld", opts->task, opts->options, opts->python, opts->worlds,
                    (long long)opts->spin_ns);
  return key.data;
}

static void clear_slot(IdleWorker *slot) {
  free(slot->key);
  *slot = (IdleWorker){.worker.file = -1};
}

/* Finds an idle worker with these options. Returns false if there is none. */
static bool take_idle(const BridgeWorkerOptions *opts, BridgeWorker *worker) {
  char *key = make_key(opts);
  bool found = false;
  for (int i = 0; i < IDLE_MAX && !found; i++) {
    if (!idle_workers[i].key || strcmp(idle_workers[i].key, key) != 0) continue;
    found = !has_ended(&idle_workers[i].worker);
    *worker = idle_workers[i].worker;
    worker->opts = *opts;
    if (!found) end(worker);
    clear_slot(&idle_workers[i]);
  }
  free(key);
  return found;
}

/* Caches an idle worker. Returns false if the cache is full or the worker has had a request. */
static bool cache_idle(BridgeWorker *worker) {
  if (!worker->shared || worker->shared->failed || atomic_load(&worker->shared->requests.number) != 0) return false;
  for (int i = 0; i < IDLE_MAX; i++) {
    if (idle_workers[i].key) continue;
    idle_workers[i] = (IdleWorker){*worker, make_key(&worker->opts)};
    *worker = (BridgeWorker){.file = -1};
    return true;
  }
  return false;
}

void bridge_worker_set_reuse(bool enabled) {
  reuses_workers = enabled;
  if (enabled) return;
  for (int i = 0; i < IDLE_MAX; i++) {
    if (idle_workers[i].key) end(&idle_workers[i].worker);
    clear_slot(&idle_workers[i]);
  }
}

int bridge_worker_start(const BridgeWorkerOptions *opts, BridgeWorker *worker) {
  return reuses_workers && take_idle(opts, worker) ? CORE_OK : start_new(opts, worker);
}

void bridge_worker_end(BridgeWorker *worker) {
  if (!reuses_workers || !cache_idle(worker)) end(worker);
}
