/* Detaching, signals, and the main loop: claims queued sweeps, starts runs and collects ended ones. job.c decides when
 * a run starts and what follows from its end; the supervisor starts and watches it. */
#include "sweep/local/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/terminal.h"
#include "store/database/database.h"
#include "store/workspace/paths.h"
#include "sweep/local/job.h"
#include "sweep/local/notify.h"
#include "sweep/local/queue.h"
#include "sweep/spec/sweep.h"

enum {
  POLL_MS = 500,
  IMPORT_INTERVAL_S = 20,
  IMPORT_PAUSE = 20,      /* minimum pause between imports, in multiples of their duration */
  FINAL_IMPORT_RETRY_S = 2,
  START_WAIT_S = 60
};

typedef struct Executor {
  const char *root;
  SweepSupervisor supervisor;
  JobSet **sets;              /* [set_count] one per claimed sweep */
  size_t set_count;
  double import_start_s, import_duration_s; /* last import */
  double ending_since_s;      /* when the first ended sweep began to wait for its last import; 0: none waits */
  bool is_stopping;
} Executor;

int sweep_executor_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}

static JobSet *executor_find(const Executor *executor, const char *name) {
  for (size_t i = 0; i < executor->set_count; i++)
    if (strcmp(job_set_name(executor->sets[i]), name) == 0) return executor->sets[i];
  return NULL;
}

/* Loads the runs of a claimed sweep. A sweep that cannot be loaded is removed from the queue, with the reason in the
 * log, so that it does not block the others. */
static void executor_add(Executor *executor, const char *name, const SweepQueueRequest *request) {
  JobSet *set;
  bool has_new_request;
  if (job_set_create(&executor->supervisor, name, request, &set) != CORE_OK) {
    core_log(CORE_LOG_ERROR, "%s: %s", name, core_error_message());
    if (sweep_queue_release(executor->root, name, getpid(), &has_new_request) != CORE_OK)
      core_warn("%s", core_error_message());
    return;
  }
  executor->sets = core_memory_resize(executor->sets, (executor->set_count + 1) * sizeof *executor->sets);
  executor->sets[executor->set_count++] = set;
  core_info("%s: %zu runs to do, %d at a time with %d threads each", name, job_set_count(set).waiting,
            job_set_max_running(set), job_set_threads(set));
}

/* Compares the queue with the sets: claims and adds a new sweep, reloads one that was submitted again, updates one
 * whose request has changed, and stops one that was removed. */
static void executor_sync(Executor *executor, const char *name) {
  SweepQueueRequest request;
  bool is_queued;
  JobSet *set = executor_find(executor, name);
  if (sweep_queue_read(executor->root, name, &request, &is_queued) != CORE_OK) {
    core_warn("%s", core_error_message());
    is_queued = false;
  }
  is_queued &= request.is_own;

  if (is_queued && set && request.executor == getpid()) {
    job_set_update(set, &request);
    return;
  }
  if (is_queued && sweep_queue_claim(executor->root, name, getpid(), &request, &is_queued) != CORE_OK) {
    core_warn("%s", core_error_message());
    return; /* the next scan retries */
  }

  if (!is_queued && set) job_set_stop(set);
  if (is_queued && !set) executor_add(executor, name, &request);
  if (is_queued && set && job_set_reload(set, &request) != CORE_OK)
    core_log(CORE_LOG_ERROR, "%s: %s", name, core_error_message());
}

/* Compares all sweeps of the workspace with the sets. */
static void executor_scan(Executor *executor) {
  char **names;
  size_t count;
  if (sweep_common_list(executor->root, &names, &count) != CORE_OK) {
    core_warn("%s", core_error_message());
    return;
  }
  for (size_t i = 0; i < count; i++) {
    executor_sync(executor, names[i]);
    free(names[i]);
  }
  free(names);
}

/* Imports results, and lets the [stop] rules decide. Never waits, since trainers need the executor. Returns false if
 * another process is importing or deciding. */
static bool executor_import(Executor *executor) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreImport result;
  executor->import_start_s = core_clock_s();
  if (store_path_database(executor->root, path) != CORE_OK || store_database_open(path, false, &database) != CORE_OK) {
    core_warn("%s", core_error_message());
    return true;
  }
  if (store_import(database, executor->root, NULL, false, &result) != CORE_OK) core_warn("%s", core_error_message());
  bool is_done = result.rows >= 0;
  for (size_t i = 0; i < executor->set_count; i++) is_done &= job_set_apply_rule(executor->sets[i], database);
  store_database_close(&database);
  executor->import_duration_s = core_clock_s() - executor->import_start_s;
  return is_done;
}

/* Whether an import is due: as often as the rules decide, limited to a small part of the time. */
static bool is_import_due(const Executor *executor) {
  double interval_s = IMPORT_INTERVAL_S;
  for (size_t i = 0; i < executor->set_count; i++)
    interval_s = fmin(interval_s, job_set_rule_interval_s(executor->sets[i]));
  return core_clock_s() - executor->import_start_s > fmax(interval_s, IMPORT_PAUSE * executor->import_duration_s);
}

static bool is_idle(const JobSet *set) {
  const JobCounts counts = job_set_count(set);
  return counts.waiting + counts.running + counts.external == 0;
}

static void log_end(const JobSet *set) {
  const JobCounts counts = job_set_count(set);
  char stopped[64] = "";
  if (counts.stopped > 0) snprintf(stopped, sizeof stopped, ", %zu stopped by rule", counts.stopped);
  core_info("%s: done, %zu finished and %zu failed in this session%s", job_set_name(set), counts.finished,
            counts.failed, stopped);
}

/* Forks a child process for a notification, so that a notifier that hangs cannot block the executor. Returns true in
 * the child, which then calls _exit. executor_reap collects it. */
static bool fork_notifier(const char *name) {
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) core_warn("%s: no notification was sent: cannot start a process", name);
  return child == 0;
}

static _Noreturn void exit_notifier(void) {
  fflush(NULL);
  _exit(0);
}

/* Notifies of the first failure of each sweep that still runs. */
static void executor_notify_failures(Executor *executor) {
  for (size_t i = 0; i < executor->set_count; i++) {
    JobSet *set = executor->sets[i];
    if (is_idle(set) || !job_set_has_new_failures(set) || !fork_notifier(job_set_name(set))) continue;
    sweep_notify_run_failed(executor->root, job_set_name(set));
    exit_notifier();
  }
}

/* Notifies of the end of a sweep, and of its failures. */
static void notify_end(const Executor *executor, const JobSet *set) {
  const char *name = job_set_name(set);
  const JobCounts counts = job_set_count(set);
  const size_t ended = counts.finished + counts.failed + counts.stopped;
  char failures[160];
  if (ended == 0 || !fork_notifier(name)) return;
  snprintf(failures, sizeof failures, "%zu runs failed; see sweep status %s", counts.failed, name);
  sweep_notify_runs_ended(executor->root, name, ended, counts.failed ? failures : NULL);
  exit_notifier();
}

/* Continues a search whose wave has ended: proposes the next wave. Returns whether there are new runs. */
static bool executor_continue(Executor *executor, JobSet *set) {
  SweepQueueRequest request;
  bool is_queued;
  if (executor->is_stopping || !job_set_has_open_search(set)) return false;
  int code = sweep_queue_read(executor->root, job_set_name(set), &request, &is_queued);
  if (code == CORE_OK && !(is_queued && request.is_own)) return false;
  if (code == CORE_OK) code = sweep_next_wave_propose(executor->root, job_set_name(set), true);
  if (code == CORE_OK) code = job_set_continue(set, &request);
  if (code != CORE_OK) core_log(CORE_LOG_ERROR, "%s", core_error_message());
  return code == CORE_OK && !is_idle(set);
}

/* Removes an ended sweep from the queue. Returns false if it was submitted again meanwhile, so that it stays. If the
 * executor is stopping, the sweep stays in the queue for the next one. */
static bool executor_release(const Executor *executor, const JobSet *set) {
  bool has_new_request;
  if (executor->is_stopping) return true;
  if (sweep_queue_release(executor->root, job_set_name(set), getpid(), &has_new_request) != CORE_OK)
    core_warn("%s", core_error_message());
  return !has_new_request;
}

/* Imports for the last time before ended sweeps leave the queue. Returns false while another process imports, so that
 * the sweeps stay. They do not stay longer than a wait for that lock takes: the next import brings what is missing. */
static bool executor_finish_imports(Executor *executor) {
  const double now_s = core_clock_s();
  const bool is_first = executor->ending_since_s == 0;
  if (is_first) executor->ending_since_s = now_s;
  else if (now_s - executor->import_start_s < FINAL_IMPORT_RETRY_S) return false;
  const bool is_last = executor->is_stopping || now_s - executor->ending_since_s > CORE_FILES_LOCK_WAIT_S;
  if (!executor_import(executor) && !is_last) {
    if (is_first) core_info("another process is importing; ended sweeps stay in the queue until it is done");
    return false;
  }
  executor->ending_since_s = 0;
  return true;
}

/* Ends the sets without jobs, unless the last decision of their rule or their search brings more. */
static void executor_finish_sets(Executor *executor) {
  size_t remaining = 0;
  bool has_idle = false;
  for (size_t i = 0; i < executor->set_count; i++) has_idle |= is_idle(executor->sets[i]);
  if (!has_idle) executor->ending_since_s = 0;
  if (!has_idle || !executor_finish_imports(executor)) return;

  for (size_t i = 0; i < executor->set_count; i++) {
    JobSet *set = executor->sets[i];
    if (!is_idle(set) || executor_continue(executor, set) || !executor_release(executor, set)) {
      executor->sets[remaining++] = set;
      continue;
    }
    log_end(set);
    notify_end(executor, set);
    job_set_destroy(&set);
  }

  executor->set_count = remaining;
}

static void executor_reap(Executor *executor) {
  SweepChild *child;
  SweepEnd end;
  while ((child = sweep_supervisor_reap(&executor->supervisor, &end))) {
    for (size_t i = 0; i < executor->set_count; i++)
      if (job_set_end(executor->sets[i], child, &end)) break;
    free(child);
  }
}

/* Whether another run of the set may start: the set is below its own limit, and all sets together are below the number
 * of cores or the set's limit, whichever is larger. running: runs of all sets. */
static bool can_start(const JobSet *set, int running) {
  const int max_running = job_set_max_running(set), cores = sweep_executor_cores();
  return (int)job_set_count(set).running < max_running && running < (max_running > cores ? max_running : cores);
}

/* Starts waiting runs, the oldest sweep first. */
static void executor_fill(Executor *executor) {
  for (size_t i = 0; i < executor->set_count; i++) {
    JobSet *set = executor->sets[i];
    job_set_poll_external(set, executor->sets, executor->set_count);
    while (job_set_has_ready(set) && can_start(set, (int)executor->supervisor.count))
      job_set_start_next(set, executor->sets, executor->set_count);
  }
}

/* Runs until the queue is empty, or until a signal: then the trainers are asked to stop and waited for. A stopping
 * executor does not scan the queue, where its ended sweeps stay for the next executor. */
static void executor_loop(Executor *executor) {
  for (;;) {
    sweep_supervisor_sample_memory(&executor->supervisor);
    executor_reap(executor);
    executor_notify_failures(executor);
    if (!executor->is_stopping) {
      executor_scan(executor);
      executor_fill(executor);
    }

    executor_finish_sets(executor);
    if (executor->set_count == 0) return;
    if (is_import_due(executor)) executor_import(executor);

    if (sweep_supervisor_wait(&executor->supervisor, POLL_MS) > 0) {
      core_info("stopping: the runs save a checkpoint and end");
      executor->is_stopping = true;
      for (size_t i = 0; i < executor->set_count; i++) job_set_stop(executor->sets[i]);
    }
  }
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Message from the detached process to the submitter. */
typedef struct StartReport { int64_t process, has_joined; } StartReport;

/* Waits for the executor's lock (*lock), or until the executor that holds it has claimed the sweep; *lock is -1 then.
 * Returns false after START_WAIT_S. */
static bool acquire_lock(const char *root, const char *name, int *lock, StartReport *report) {
  const double start_s = core_clock_s();
  *report = (StartReport){.process = getpid()};

  while (sweep_queue_lock(root, lock) != CORE_OK) {
    SweepQueueRequest request;
    bool is_queued;
    const int64_t owner = sweep_queue_executor_pid(root, geteuid());
    if (sweep_queue_read(root, name, &request, &is_queued) != CORE_OK) return true;
    if (owner && (!is_queued || request.executor == owner)) {
      *report = (StartReport){.process = owner, .has_joined = 1};
      return true;
    }
    if (core_clock_s() - start_s > START_WAIT_S) return false;
    usleep(100 * 1000);
  }
  return true;
}

/* Runs the detached process. Writes a StartReport to the pipe, or closes it without one after an error. */
static void executor_main(const char *root, const char *name, int report_fd) {
  static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
  Executor executor = {.root = root};
  int lock = -1;
  StartReport report;

  const int code = sweep_supervisor_open(root, signals, sizeof signals / sizeof *signals, &executor.supervisor);
  if (code != CORE_OK || !acquire_lock(root, name, &lock, &report)) {
    core_log(CORE_LOG_ERROR, "%s", core_error_message());
    return;
  }
  if (write(report_fd, &report, sizeof report) != (ssize_t)sizeof report) core_warn("the submitter is gone");
  close(report_fd);
  if (lock < 0) return;

  executor.import_start_s = core_clock_s();
  core_info("executor %lld of %s, %d cores", (long long)getpid(), root, sweep_executor_cores());
  executor_loop(&executor);
  core_info("executor %lld: nothing left to do", (long long)getpid());
  free(executor.sets);
  sweep_supervisor_close(&executor.supervisor);
  core_files_unlock(&lock);
}

/* Redirects stdin from /dev/null, and stdout and stderr to <root>/executor.log. */
static int redirect(int log) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return core_error_errno(CORE_FAIL, "/dev/null");
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  close(null);
  close(log);
  core_log_open(stderr, CORE_LOG_INFO);
  return CORE_OK;
}

int sweep_executor_start(const char *root, const char *name, int64_t *process, bool *has_joined) {
  int ends[2], log;
  char path[CORE_PATH_MAX];
  TRY(sweep_queue_check_lock(root)); /* reports a problem with the file here and not in a log */
  TRY(core_files_path(path, "%s/executor.log", root));
  TRY(core_files_open(path, CORE_FILES_APPEND, &log));
  if (pipe2(ends, O_CLOEXEC) != 0) return core_error_errno(CORE_FAIL, "cannot make a pipe");

  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) return core_error_errno(CORE_FAIL, "cannot start the executor");
  if (child == 0) { /* fork twice: no controlling terminal, and init is the parent */
    close(ends[0]);
    setsid();
    if (fork() != 0) _exit(0);
    if (redirect(log) == CORE_OK) executor_main(root, name, ends[1]);
    _exit(0);
  }

  close(ends[1]);
  close(log);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;

  StartReport report;
  const ssize_t bytes_read = read(ends[0], &report, sizeof report);
  close(ends[0]);
  if (bytes_read != (ssize_t)sizeof report)
    return core_error(CORE_FAIL, "the executor did not start; see %s/executor.log", root);
  *process = report.process;
  *has_joined = report.has_joined != 0;
  return CORE_OK;
}

/* Logs the child's output without its last newline. */
static void log_output(const CoreText *text) {
  size_t length = text->length;
  while (length > 0 && text->data[length - 1] == '\n') length--;
  if (length > 0) core_info("%.*s", (int)length, text->data);
}

int sweep_next_wave_propose(const char *root, const char *name, bool same_environment) {
  enum { TIMEOUT_S = 2 * 3600 };
  char program[CORE_PATH_MAX];
  CoreProcessOutput output = {0};
  TRY(core_program_path(program));
  const char *const arguments[] = {program, "submit", name, "--root", root, "--no-start", "--no-check",
                                   same_environment ? "--same-environment" : NULL, NULL};
  TRY(core_process_run(arguments, NULL, NULL, TIMEOUT_S, &output));
  log_output(&output.out);
  log_output(&output.error);
  const int exit_code = output.exit_code;
  core_process_output_free(&output);
  if (exit_code == 0) return CORE_OK;
  return core_error(CORE_FAIL, "%s: cannot propose the next trials of the search; retry: sweep submit %s", name, name);
}
