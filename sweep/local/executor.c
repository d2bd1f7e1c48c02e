/* The executor's life: detaching, signals, and the loop that takes queued sweeps, fills free places with runs and reaps
 * what ended. What a run needs to start, and what its end means, is in job.c. */
#include "sweep/local/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/database.h"
#include "store/workspace/paths.h"
#include "sweep/local/job.h"
#include "sweep/local/next_wave.h"
#include "sweep/local/notify.h"
#include "sweep/local/queue.h"
#include "sweep/spec/sweep.h"

enum { POLL_MS = 500, IMPORT_EVERY_S = 20, IMPORT_REST = 20, START_WAIT_S = 60, RETRY_S = 2,
       MEASURE_EVERY_S = 1, MEASURE_REST = 50 };

typedef struct Executor {
  const char *root;
  JobSet **sets;         /* one a sweep that was taken */
  size_t set_count;
  double imported_at_s, import_took_s;
  double measured_at_s, measure_took_s; /* memory */
  double ending_since_s; /* sweeps have ended and wait for an import since then; 0: none does */
  bool stopping;
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

/* Takes one queued sweep: loads its runs. One that cannot be loaded is taken off the queue with its reason in the log,
 * so that it does not block the others. */
static void executor_take(Executor *executor, const char *name, const SweepQueueRequest *request) {
  JobSet *set;
  bool again;
  if (job_set_create(executor->root, name, request, &set) != CORE_OK) {
    core_log(CORE_LOG_ERROR, "%s: %s", name, core_error_message());
    if (sweep_queue_release(executor->root, name, getpid(), &again) != CORE_OK) core_warn("%s", core_error_message());
    return;
  }
  executor->sets = core_memory_resize(executor->sets, (executor->set_count + 1) * sizeof *executor->sets);
  executor->sets[executor->set_count++] = set;
  core_info("%s: %zu runs to do, %d at a time with %d threads each", name, job_set_waiting(set),
            job_set_max_running(set),
            job_set_threads(set));
}

/* One that is new is taken, one submitted again (perhaps with more runs) loaded anew, one no longer there stopped. */
static void executor_look_at(Executor *executor, const char *name) {
  SweepQueueRequest request;
  bool queued;
  JobSet *set = executor_find(executor, name);
  if (sweep_queue_read(executor->root, name, &request, &queued) != CORE_OK) {
    core_warn("%s", core_error_message());
    queued = false;
  }
  if (queued && set && request.executor == getpid()) return;
  if (queued && sweep_queue_claim(executor->root, name, getpid(), &request, &queued) != CORE_OK) {
    core_warn("%s", core_error_message());
    return; /* the next look tries again */
  }
  if (!queued && set) job_set_stop(set);
  if (queued && !set) executor_take(executor, name, &request);
  if (queued && set && job_set_reload(set, &request) != CORE_OK)
    core_log(CORE_LOG_ERROR, "%s: %s", name, core_error_message());
}

/* Looks at the queue. */
static void executor_scan(Executor *executor) {
  char **names;
  size_t count;
  if (sweep_common_list(executor->root, &names, &count) != CORE_OK) {
    core_warn("%s", core_error_message());
    return;
  }
  for (size_t i = 0; i < count; i++) {
    executor_look_at(executor, names[i]);
    free(names[i]);
  }
  free(names);
}

/* Never waits: the executor has trainers to see to. false: another process imports or decides just now. */
static bool executor_import(Executor *executor) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreImport result;
  executor->imported_at_s = core_clock_s();
  if (store_path_database(executor->root, path) != CORE_OK || store_database_open(path, false, &database) != CORE_OK) {
    core_warn("%s", core_error_message());
    return true;
  }
  if (store_import(database, executor->root, NULL, false, &result) != CORE_OK) core_warn("%s", core_error_message());
  bool done = result.rows >= 0;
  for (size_t i = 0; i < executor->set_count; i++) done &= job_set_apply_rule(executor->sets[i], database);
  store_database_close(&database);
  executor->import_took_s = core_clock_s() - executor->imported_at_s;
  return done;
}

/* As often as a rule wants to decide, but for most of the time trainers have the machine for themselves. */
static bool is_import_due(const Executor *executor) {
  double every_s = IMPORT_EVERY_S;
  for (size_t i = 0; i < executor->set_count; i++) every_s = fmin(every_s, job_set_rule_interval_s(executor->sets[i]));
  return core_clock_s() - executor->imported_at_s > fmax(every_s, IMPORT_REST * executor->import_took_s);
}

static bool is_idle(const JobSet *set) {
  return job_set_waiting(set) + job_set_running(set) + job_set_external(set) == 0;
}

static void say_end(const JobSet *set) {
  char stopped[64] = "";
  if (job_set_stopped(set) > 0) snprintf(stopped, sizeof stopped, ", %zu stopped by rule", job_set_stopped(set));
  core_info("%s: done, %zu finished and %zu failed in this session%s", job_set_name(set), job_set_finished(set),
            job_set_failed(set), stopped);
}

/* In a process of its own, so that a notifier that hangs holds nothing up; executor_reap takes its end. ended 0: a run
 * has failed, and others go on. */
static void notify_beside(const Executor *executor, JobSet *set, size_t ended, const char *failure) {
  const char *name = job_set_name(set);
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) core_warn("nobody is told of %s: no process can be started", name);
  if (child != 0) return;
  if (ended == 0) sweep_notify_run_failed(executor->root, name);
  else sweep_notify_runs_ended(executor->root, name, ended, failure);
  fflush(NULL);
  _exit(0);
}

/* Tells of the first failure of each sweep that goes on. */
static void executor_tell_failures(Executor *executor) {
  for (size_t i = 0; i < executor->set_count; i++) {
    JobSet *set = executor->sets[i];
    if (!is_idle(set) && job_set_has_new_failures(set)) notify_beside(executor, set, 0, NULL);
  }
}

/* A search whose wave has ended: proposes the next, and says whether there is something to do again. */
static bool executor_continue(Executor *executor, JobSet *set) {
  SweepQueueRequest request;
  bool queued;
  if (executor->stopping || !job_set_has_open_search(set)) return false;
  int code = sweep_queue_read(executor->root, job_set_name(set), &request, &queued);
  if (code == CORE_OK && !queued) return false;
  if (code == CORE_OK) code = sweep_next_wave_propose(executor->root, job_set_name(set), true);
  if (code == CORE_OK) code = job_set_continue(set, &request);
  if (code != CORE_OK) core_log(CORE_LOG_ERROR, "%s", core_error_message());
  return code == CORE_OK && !is_idle(set);
}

/* A sweep with nothing left leaves the queue. false: somebody has submitted it again meanwhile, so it stays. On a stop
 * of ours it stays in the queue for the next executor. */
static bool executor_release(const Executor *executor, const JobSet *set) {
  bool again;
  if (executor->stopping) return true;
  if (sweep_queue_release(executor->root, job_set_name(set), getpid(), &again) != CORE_OK)
    core_warn("%s", core_error_message());
  return !again;
}

/* Says and tells what became of a sweep. */
static void executor_end(const Executor *executor, JobSet *set) {
  char failures[160];
  say_end(set);
  snprintf(failures, sizeof failures, "%zu runs failed; sweep status %s says why", job_set_failed(set),
           job_set_name(set));
  const size_t ended = job_set_finished(set) + job_set_failed(set) + job_set_stopped(set);
  if (ended > 0) notify_beside(executor, set, ended, job_set_failed(set) ? failures : NULL);
}

/* The last import and look before sweeps leave the queue. false: another process is at it, so they stay for now, though
 * not for longer than anybody waits for that lock; what is missing comes with the next import. */
static bool executor_settle(Executor *executor) {
  const double now_s = core_clock_s();
  const bool is_first = executor->ending_since_s == 0;
  if (is_first) executor->ending_since_s = now_s;
  else if (now_s - executor->imported_at_s < RETRY_S) return false;
  const bool is_last = executor->stopping || now_s - executor->ending_since_s > CORE_FILES_LOCK_WAIT_S;
  if (!executor_import(executor) && !is_last) {
    if (is_first) core_info("another process imports; sweeps that have ended stay in the queue until it is done");
    return false;
  }
  executor->ending_since_s = 0;
  return true;
}

/* The last look of a rule may bring more to do. */
static void executor_finish_sets(Executor *executor) {
  size_t kept = 0;
  bool some_idle = false;
  for (size_t i = 0; i < executor->set_count; i++) some_idle |= is_idle(executor->sets[i]);
  if (!some_idle) executor->ending_since_s = 0;
  if (!some_idle || !executor_settle(executor)) return;
  for (size_t i = 0; i < executor->set_count; i++) {
    JobSet *set = executor->sets[i];
    if (!is_idle(set) || executor_continue(executor, set) || !executor_release(executor, set)) {
      executor->sets[kept++] = set;
      continue;
    }
    executor_end(executor, set);
    job_set_destroy(&set);
  }
  executor->set_count = kept;
}

static void executor_reap(Executor *executor) {
  int status;
  pid_t pid;
  struct rusage usage;
  while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
    for (size_t i = 0; i < executor->set_count; i++)
      if (job_set_reap(executor->sets[i], pid, status, usage.ru_maxrss)) break;
}

/* Memory, each second, but for at most a fiftieth of the time. */
static void executor_measure(Executor *executor) {
  const double now_s = core_clock_s();
  if (now_s - executor->measured_at_s < fmax(MEASURE_EVERY_S, MEASURE_REST * executor->measure_took_s)) return;
  for (size_t i = 0; i < executor->set_count; i++) job_set_sample_memory(executor->sets[i]);
  executor->measured_at_s = core_clock_s();
  executor->measure_took_s = executor->measured_at_s - now_s;
}

/* Whether another run of the set may start: the sweep has not as many as it may have at a time, and all sweeps together
 * have fewer than there are processors, or than the sweep may have. */
static bool has_place(const JobSet *set, int running) {
  const int places = job_set_max_running(set), cores = sweep_executor_cores();
  return (int)job_set_running(set) < places && running < (places > cores ? places : cores);
}

/* Starts waiting runs, the oldest sweep first. */
static void executor_fill(Executor *executor) {
  int running = 0;
  for (size_t i = 0; i < executor->set_count; i++) running += (int)job_set_running(executor->sets[i]);
  for (size_t i = 0; i < executor->set_count; i++) {
    JobSet *set = executor->sets[i];
    job_set_poll_external(set, executor->sets, executor->set_count);
    while (job_set_has_ready(set) && has_place(set, running))
      if (job_set_start_next(set, executor->sets, executor->set_count)) running++;
  }
}

/* Until the queue is empty, or SIGTERM: then the trainers are told to checkpoint and are waited for. */
static void executor_loop(Executor *executor, const sigset_t *signals) {
  for (;;) {
    executor_measure(executor);
    executor_reap(executor);
    executor_tell_failures(executor);
    if (!executor->stopping) { /* else what ends stays in the queue, for the next executor, and would be taken again */
      executor_scan(executor);
      executor_fill(executor);
    }
    executor_finish_sets(executor);
    if (executor->set_count == 0) return;
    if (is_import_due(executor)) executor_import(executor);
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    const int signal = sigtimedwait(signals, NULL, &pause);
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP) {
      core_info("told to stop: the runs checkpoint and end");
      executor->stopping = true;
      for (size_t i = 0; i < executor->set_count; i++) job_set_stop(executor->sets[i]);
    }
  }
}

/* The detached process. Tells the submitter through `report` ("started" or the executor that took the sweep). */
static void executor_main(const char *root, const char *name, int report) {
  sigset_t signals;
  sigemptyset(&signals);
  const int watched[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) sigaddset(&signals, watched[i]);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  int lock = -1;
  int64_t process = getpid(), joined = 0;
  const double begun_s = core_clock_s();
  while (sweep_queue_lock(root, &lock) != CORE_OK) { /* another one lives: has it taken our sweep? */
    SweepQueueRequest request;
    bool queued;
    const int64_t owner = sweep_queue_executor_pid(root);
    if (sweep_queue_read(root, name, &request, &queued) != CORE_OK) break;
    if (owner && (!queued || request.executor == owner)) {
      process = owner, joined = 1;
      break;
    }
    if (core_clock_s() - begun_s > START_WAIT_S) {
      core_log(CORE_LOG_ERROR, "%s", core_error_message());
      return; /* the submitter sees the pipe closed */
    }
    usleep(100 * 1000);
  }
  const int64_t answer[2] = {process, joined};
  if (write(report, answer, sizeof answer) != (ssize_t)sizeof answer) core_warn("the submitter is gone");
  close(report);
  if (lock < 0) return;
  Executor executor = {.root = root, .imported_at_s = core_clock_s()};
  core_info("executor %lld of %s, %d cores", (long long)getpid(), root, sweep_executor_cores());
  executor_loop(&executor, &signals);
  core_info("executor %lld: nothing left to do", (long long)getpid());
  free(executor.sets);
  core_files_unlock(&lock);
}

/* stdin from nowhere, messages to <root>/executor.log. */
static int redirect(int log) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return core_error_errno(CORE_FAIL, "/dev/null");
  dup2(null, 0), dup2(log, 1), dup2(log, 2);
  close(null), close(log);
  core_log_open(stderr, CORE_LOG_INFO);
  return CORE_OK;
}

int sweep_executor_start(const char *root, const char *name, int64_t *process, bool *joined) {
  int report[2], log;
  char path[CORE_PATH_MAX];
  TRY(sweep_queue_check_lock(root)); /* what is wrong with its files is said here, not in a log */
  TRY(core_files_path(path, "%s/executor.log", root));
  TRY(core_files_open(path, CORE_FILES_APPEND, &log));
  if (pipe2(report, O_CLOEXEC) != 0) return core_error_errno(CORE_FAIL, "cannot make a pipe");
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) return core_error_errno(CORE_FAIL, "cannot start the executor");
  if (child == 0) { /* twice forked: no controlling terminal, and init is the parent */
    close(report[0]);
    setsid();
    if (fork() != 0) _exit(0);
    if (redirect(log) == CORE_OK) executor_main(root, name, report[1]);
    _exit(0);
  }
  close(report[1]), close(log);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
  int64_t answer[2];
  const ssize_t got = read(report[0], answer, sizeof answer);
  close(report[0]);
  if (got != (ssize_t)sizeof answer)
    return core_error(CORE_FAIL, "the executor did not start; see %s/executor.log", root);
  *process = answer[0], *joined = answer[1] != 0;
  return CORE_OK;
}
