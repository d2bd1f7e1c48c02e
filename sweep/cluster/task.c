/* `sweep task`: the process of a Slurm array task (the batch script execs it). It runs one or more runs concurrently:
 * starts their trainers, forwards Slurm's signals, restarts killed trainers, and requeues unfinished runs at the time
 * limit. It records what it learns about the end of an attempt (attempt.h).
 *
 * Signals: slurm.signal arrives before the time limit: save a checkpoint, then requeue. SIGTERM means preemption, a
 * cancellation or the limit itself; slurmstepd usually has just printed which to the task's own output (joblog.h). In
 * any case save a checkpoint, and exit at once if the task was cancelled. If it was preempted, or nothing was printed
 * (a grace time), wait to be killed, since Slurm would not requeue a task that exits by itself.
 *
 * Stop of a task (StopReason). A signal, or a kill that slurmstepd explains, changes it only to a greater value, i.e.
 * downwards:
 *   value          signal (classify_signal)                           end of the task with unfinished runs (finish)
 *   NONE           (none)                                             exits
 *   TIME_LIMIT     slurm.signal; slurmstepd printed the limit; the    requeues itself, and waits to be ended
 *                  clock is near it
 *   TERMINATED     any other                                          waits to be killed, unless it was cancelled
 *   PREEMPTED      slurmstepd printed it                              waits to be killed, unless it was cancelled
 *   CANCELLED      slurmstepd printed it                              exits
 *
 * States of an attempt:
 *   idle           not started: done, of another owner, or stopped by rule
 *   running        process > 0
 *   done           exited with 0 after its run had ended
 *   unfinished     is_unfinished: can be resumed from its checkpoint
 *   held           stop_requested, with cause RULE: stopped by rule
 *   failed         has_failed
 *
 *   state          event                                                      next
 *   (new)          sweep_attempt_start: the first decision that applies       running, idle or failed
 *   running        exits with 0                                               done
 *                  exits with 0 too early, or with an error                   failed
 *                  exits with CORE_REQUEUE                                    unfinished
 *                  ran out of memory                                          failed
 *                  is killed otherwise, while stop is NONE                    (new): restarted
 *                  is killed otherwise, while it is not                       unfinished
 *                  exits with CORE_REQUEUE or by SIGTERM, as requested by     held
 *                  the rule, while stop is NONE
 *   held           promoted, and no run of the task is running                (new): resumed
 *
 * The other states are final. Several ranks run below srun, whose exit code 128 + n means killed by signal n. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "slurm/cluster.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/cluster/attempt.h"
#include "sweep/cluster/cgroup.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/journal.h"
#include "sweep/cluster/task_search.h"
#include "sweep/commands.h"
#include "sweep/local/environment.h"
#include "sweep/local/notify.h"
#include "sweep/spec/sweep.h"

enum {
  TICK_S = 1,
  LIMIT_MARGIN_S = 10,   /* a signal this close to the time limit is taken for the limit */
  REQUEUE_TRIES = 3,
  REQUEUE_RETRY_S = 5,
  REQUEUE_WAIT_S = 120,
  KILL_WAIT_S = 900,
  MEASURE_REST = 50,     /* pause after a memory sample, in multiples of its duration */
  EXIT_NOT_EXECUTABLE = 127,
  EXIT_SIGNALED = 128    /* srun's exit code for signal n is EXIT_SIGNALED + n */
};

/* Reason why the runs were asked to stop. A greater value overrides a smaller one. */
typedef enum StopReason {
  STOP_NONE, STOP_TIME_LIMIT, STOP_TERMINATED, STOP_PREEMPTED, STOP_CANCELLED
} StopReason;

typedef struct Task {
  SweepArrayTask base;
  SweepArray array;
  char log[CORE_PATH_MAX];    /* output of the batch scripts, where slurmstepd prints why it ends them (joblog.h) */
  int64_t log_start;          /* its size at the start of this task, bytes */
  double started_s;
  double next_sample_s;       /* earliest time of the next memory sample */
  SweepAttempt *attempts;     /* [count] */
  size_t count;
  StopReason stop;
  int64_t oom_kills;          /* last count of this job's memory cgroup */
} Task;

/* ---- identity ---------------------------------------------------------------------------------------------------- */

static int read_variable(const char *name, int64_t *value) {
  const char *text = getenv(name);
  if (text && core_text_to_int(text, value) && *value >= 0) return CORE_OK;
  return core_error(CORE_USAGE, "%s is not set: sweep task runs inside Slurm array tasks only; use sweep submit", name);
}

/* Finds the array in the journal. *is_ours = false: another job runs it, or it counts as lost. */
static int find_array(Task *task, int64_t batch, int64_t array, bool *is_ours) {
  SweepJournal journal;
  bool is_known = false;
  TRY(sweep_journal_read(task->base.root, task->base.name, &journal));

  for (size_t i = 0; i < journal.count; i++) {
    if (journal.arrays[i].batch != batch || journal.arrays[i].array != array) continue;
    task->array = journal.arrays[i];
    is_known = true;
  }
  sweep_journal_free(&journal);

  if (!is_known)
    return core_error(CORE_FAIL, "%s: array %lld of batch %lld is not in the journal", task->base.name,
                      (long long)array, (long long)batch);
  *is_ours = task->array.state == SWEEP_ARRAY_REQUESTED ||
             (task->array.state == SWEEP_ARRAY_ACCEPTED && task->array.job == task->base.job);
  return CORE_OK;
}

/* Whether sweep stop was called for all runs of the task. */
static bool is_cancelled(const Task *task) {
  SweepJournal journal;
  if (sweep_journal_read(task->base.root, task->base.name, &journal) != CORE_OK) return false;
  bool all = true;
  for (size_t i = 0; i < task->count && all; i++)
    all = sweep_journal_cancelled_by(&journal, task->attempts[i].id, &task->array) != NULL;
  sweep_journal_free(&journal);
  return all;
}

/* Reads slurmstepd's message about the end of this job, if any, from the task's own output. */
static SweepExitCause read_exit_cause(const Task *task) {
  return sweep_joblog_read_cause(task->log, task->log_start, task->base.slurm_job);
}

/* Whether slurmstepd reported that the job was cancelled (which includes requeued) and not preempted: Slurm then counts
 * it as ended, even while this process still runs. */
static bool is_released(const Task *task) { return read_exit_cause(task) == SWEEP_EXIT_CANCELLED; }

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void block_signals(sigset_t *signals) {
  static const int blocked[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGCHLD};
  sigemptyset(signals);
  for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++) sigaddset(signals, blocked[i]);
  sigprocmask(SIG_BLOCK, signals, NULL);
}

static bool is_at_time_limit(const Task *task) {
  const int64_t limit_s = task->base.batch.settings.time;
  return limit_s > 0 && core_clock_s() - task->started_s > (double)(limit_s - LIMIT_MARGIN_S);
}

/* Returns the meaning of a signal: slurm.signal is the time limit; any other what slurmstepd printed, or otherwise what
 * the clock suggests. */
static StopReason classify_signal(const Task *task, int signal) {
  const char *warning = task->base.batch.settings.signal;
  if (strcmp(warning, "USR1") == 0 && signal == SIGUSR1) return STOP_TIME_LIMIT;
  if (strcmp(warning, "USR2") == 0 && signal == SIGUSR2) return STOP_TIME_LIMIT;
  switch (read_exit_cause(task)) {
    case SWEEP_EXIT_CANCELLED: return STOP_CANCELLED;
    case SWEEP_EXIT_PREEMPTED: return STOP_PREEMPTED;
    case SWEEP_EXIT_TIME_LIMIT: return STOP_TIME_LIMIT;
    default: return is_at_time_limit(task) ? STOP_TIME_LIMIT : STOP_TERMINATED;
  }
}

/* Asks a trainer to save and stop. srun forwards only the user signals to its ranks without acting on them itself. */
static void request_stop(const Task *task, const SweepAttempt *attempt) {
  kill(attempt->process, task->base.batch.settings.ranks_per_run > 1 ? SIGUSR2 : SIGTERM);
}

static void stop_runs(Task *task, int signal) {
  static const char *const descriptions[] = {"", "the time limit is near", "terminated", "preempted",
                                             "cancelled or requeued"};
  const StopReason reason = classify_signal(task, signal);
  if (task->stop == STOP_NONE)
    core_info("signal %d: %s; the runs save a checkpoint and stop", signal, descriptions[reason]);
  if (reason > task->stop) task->stop = reason;
  for (size_t i = 0; i < task->count; i++)
    if (task->attempts[i].process > 0) request_stop(task, &task->attempts[i]);
}

/* Waits for a signal for a tick, and handles it. */
static void wait_signal(Task *task, const sigset_t *signals) {
  const struct timespec tick = {.tv_sec = TICK_S};
  const int signal = sigtimedwait(signals, NULL, &tick);
  if (signal > 0 && signal != SIGCHLD) stop_runs(task, signal);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Adds the peak of the job's control group, which is the run's only if the run has the job to itself. */
static void add_cgroup_peak(const Task *task, SweepAttempt *attempt) {
  if (task->count == 1 && attempt->process > 0)
    sweep_memory_probe_add_peak(&attempt->memory, SWEEP_MEMORY_CGROUP, sweep_cgroup_peak_mb(task->base.slurm_job));
}

static void sample_memory(Task *task) {
  const double start_s = core_clock_s();
  if (start_s < task->next_sample_s) return;

  const char **ids = core_memory_allocate((task->count + 1) * sizeof *ids);
  SweepMemoryProbe **probes = core_memory_allocate((task->count + 1) * sizeof *probes);
  size_t count = 0;
  for (size_t i = 0; i < task->count; i++) {
    if (task->attempts[i].process <= 0) continue;
    add_cgroup_peak(task, &task->attempts[i]);
    ids[count] = task->attempts[i].id;
    probes[count++] = &task->attempts[i].memory;
  }
  sweep_memory_probe_sample(task->base.root, ids, probes, count);
  free(ids);
  free(probes);

  const double end_s = core_clock_s();
  task->next_sample_s = end_s + MEASURE_REST * (end_s - start_s);
}

/* Whether a killed run ran out of memory: by the OOM kills of this job's cgroup, by what slurmstepd printed before it
 * killed the job's processes (this one may be the last), or by what the slurmstepd of a step with several ranks printed
 * through srun to the run's own log. */
static bool is_oom(Task *task, const SweepAttempt *attempt, SweepExitCause cause) {
  char path[CORE_PATH_MAX];
  const int64_t kills = sweep_cgroup_oom_kills();
  const bool has_new_kills = kills > task->oom_kills;
  task->oom_kills = kills;
  if (has_new_kills || cause == SWEEP_EXIT_OUT_OF_MEMORY) return true;
  if (store_path_run(task->base.root, attempt->id, "log.txt", path) != CORE_OK) return false;
  return sweep_joblog_read_cause(path, attempt->log_start, task->base.slurm_job) == SWEEP_EXIT_OUT_OF_MEMORY;
}

static void fail_out_of_memory(const Task *task, SweepAttempt *attempt) {
  char reason[160];
  const int64_t limit_mb = slurm_settings_run_mem(&task->base.batch.settings);
  if (sweep_run_memory_record_oom(task->base.root, attempt->id, limit_mb) != CORE_OK)
    core_warn("%s", core_error_message());
  sweep_memory_probe_begin(task->base.root, attempt->id, &attempt->memory);
  snprintf(reason, sizeof reason, "out of memory (slurm.mem = %lldM); sweep submit --failed --mem %lldM gives it more",
           (long long)limit_mb, (long long)sweep_run_memory_needed(&attempt->memory.run));
  sweep_attempt_fail(&task->base, attempt, SWEEP_CAUSE_OUT_OF_MEMORY, reason);
}

/* ---- ends of attempts -------------------------------------------------------------------------------------------- */

/* Handles a trainer that a signal killed: restarts it from its checkpoint, up to slurm.max_restarts times. If
 * slurmstepd has reported the end of the job, the kill is part of it, and this process will get its signal, too. */
static void handle_kill(Task *task, SweepAttempt *attempt, int signal) {
  const SweepExitCause cause = read_exit_cause(task);
  if (is_oom(task, attempt, cause)) {
    fail_out_of_memory(task, attempt);
    return;
  }
  core_warn("run %s: killed by signal %d", attempt->id, signal);
  attempt->is_unfinished = true;
  attempt->record.cause = SWEEP_CAUSE_KILLED;
  sweep_attempt_write_record(&task->base, attempt); /* sweep_attempt_start reads it */
  if (task->stop == STOP_NONE && cause != SWEEP_EXIT_UNKNOWN) stop_runs(task, signal);
  if (task->stop == STOP_NONE) sweep_attempt_start(&task->base, (size_t)(attempt - task->attempts), attempt);
}

/* Whether the attempt ended because the [stop] rule stopped it: it has saved, or had nothing to save yet. */
static bool is_stopped_by_rule(const Task *task, const SweepAttempt *attempt, int status) {
  if (!attempt->stop_requested || task->stop != STOP_NONE) return false;
  return WIFEXITED(status) ? WEXITSTATUS(status) == CORE_REQUEUE : WTERMSIG(status) == SIGTERM;
}

/* Whether a trainer with exit code 0 left its run unfinished, e.g. because code that it loaded called exit(). */
static bool has_exited_early(const Task *task, const SweepAttempt *attempt) {
  StoreState state;
  if (store_run_state_read(task->base.root, attempt->id, true, &state) == CORE_OK) return state.status == STORE_LOST;
  core_warn("%s", core_error_message());
  return false;
}

static void handle_exit_code(Task *task, SweepAttempt *attempt, int code) {
  char reason[64];

  if (code == CORE_REQUEUE) {
    attempt->is_unfinished = true;
    attempt->record.cause = SWEEP_CAUSE_STOPPED;
  } else if (code == EXIT_NOT_EXECUTABLE) {
    sweep_attempt_fail(&task->base, attempt, SWEEP_CAUSE_NOT_STARTED, "the trainer cannot be started");
  } else if (code != CORE_OK) {
    snprintf(reason, sizeof reason, "exit code %d", code);
    sweep_attempt_fail(&task->base, attempt, SWEEP_CAUSE_NONE, reason);
  } else if (has_exited_early(task, attempt)) {
    sweep_attempt_fail(&task->base, attempt, SWEEP_CAUSE_NONE,
                       "ended with exit code 0 before the run had finished");
  } else {
    sweep_attempt_write_record(&task->base, attempt);
  }
}

static void handle_exit(Task *task, SweepAttempt *attempt, int status, const struct rusage *usage) {
  add_cgroup_peak(task, attempt);
  attempt->process = 0;
  attempt->record.ended_unix_s = core_clock_unix_s();
  attempt->record.spent_s += core_clock_s() - attempt->started_s;
  sweep_memory_probe_end(task->base.root, attempt->id, &attempt->memory, usage->ru_maxrss);

  const bool is_below_srun = task->base.batch.settings.ranks_per_run > 1;
  if (is_stopped_by_rule(task, attempt, status)) {
    attempt->record.cause = SWEEP_CAUSE_RULE;
    sweep_attempt_write_record(&task->base, attempt);
  } else if (WIFSIGNALED(status)) {
    handle_kill(task, attempt, WTERMSIG(status));
  } else if (is_below_srun && WEXITSTATUS(status) > EXIT_SIGNALED) {
    handle_kill(task, attempt, WEXITSTATUS(status) - EXIT_SIGNALED);
  } else {
    handle_exit_code(task, attempt, WEXITSTATUS(status));
  }
}

static size_t count_running(const Task *task) {
  size_t running = 0;
  for (size_t i = 0; i < task->count; i++) running += task->attempts[i].process > 0;
  return running;
}

static void reap(Task *task) {
  int status;
  pid_t pid;
  struct rusage usage;
  while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
    for (size_t i = 0; i < task->count; i++)
      if (task->attempts[i].process == pid) handle_exit(task, &task->attempts[i], status, &usage);
}

/* ---- the sweep's [stop] rule ------------------------------------------------------------------------------------- */

static void apply_rule(Task *task) {
  sweep_task_rule_poll(&task->base.rule);
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt *attempt = &task->attempts[i];
    if (attempt->process <= 0 || attempt->stop_requested) continue;
    if (!sweep_task_rule_stops(&task->base.rule, attempt->id)) continue;
    core_info("run %s: stopped by rule; it saves a checkpoint and ends", attempt->id);
    attempt->stop_requested = true;
    request_stop(task, attempt);
  }
}

/* Resumes runs of this task that the rule stopped and has promoted since, while the task still has its allocation. Then
 * submits promoted runs of other tasks. */
static void resume_promoted(Task *task) {
  if (!task->base.rule.is_active || task->stop != STOP_NONE) return;
  sweep_task_rule_decide_now(&task->base.rule);
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt *attempt = &task->attempts[i];
    const bool was_stopped = attempt->stop_requested && attempt->record.cause == SWEEP_CAUSE_RULE;
    if (was_stopped && !sweep_task_rule_stops(&task->base.rule, attempt->id))
      sweep_attempt_start(&task->base, i, attempt);
  }
  if (count_running(task) == 0) sweep_task_rule_submit_promoted(&task->base.rule);
}

/* ---- the end of the task ----------------------------------------------------------------------------------------- */

static void record_unfinished(const Task *task, SweepCause cause) {
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt attempt = task->attempts[i];
    if (!attempt.is_unfinished) continue;
    const bool keeps_cause = cause == SWEEP_CAUSE_STOPPED && attempt.record.cause == SWEEP_CAUSE_KILLED;
    if (!keeps_cause) attempt.record.cause = cause;
    sweep_attempt_write_record(&task->base, &attempt);
  }
}

/* Calls Slurm's requeue for this task. Retries while Slurm is unreachable or times out. */
static int call_requeue(const Task *task) {
  const SlurmId id = {task->base.job, task->base.index};
  SlurmCluster *cluster = NULL;
  if (!task->base.batch.settings.requeue) return core_error(CORE_FAIL, "slurm.requeue = no");
  TRY(slurm_cluster_open("auto", &cluster, NULL)); /* slurmrestd cannot requeue; most nodes have scontrol */

  int code = CORE_OK;
  for (int i = 0; i < REQUEUE_TRIES; i++) {
    code = slurm_requeue(cluster, id);
    if (code == CORE_OK) break;
    const SlurmFault fault = slurm_fault(cluster);
    sleep(REQUEUE_RETRY_S);
    if (fault != SLURM_UNREACHABLE && fault != SLURM_TIMED_OUT) break;
    if (i == REQUEUE_TRIES - 1) code = CORE_OK; /* it may still be processed */
  }

  slurm_cluster_close(&cluster);
  return code;
}

/* Requeues this task, for its unfinished runs. Waits until Slurm ends this process, which is a part of requeueing. */
static int requeue_task(Task *task, const sigset_t *signals) {
  record_unfinished(task, SWEEP_CAUSE_TIME_LIMIT);
  int code = call_requeue(task);
  if (code == CORE_OK) {
    for (int waited_s = 0; waited_s < REQUEUE_WAIT_S && !is_released(task); waited_s += TICK_S)
      wait_signal(task, signals);
    if (is_released(task)) return core_error(CORE_REQUEUE, "requeued");
    code = core_error(CORE_FAIL, "Slurm accepted the requeue but did not end the task");
  }
  core_warn("the task cannot be requeued: %s; sweep submit %s resumes its runs", core_error_message(),
            task->base.name);
  record_unfinished(task, SWEEP_CAUSE_NOT_REQUEUED);
  return CORE_REQUEUE;
}

static int finish(Task *task, const sigset_t *signals) {
  bool has_unfinished = false, has_failed = false;
  for (size_t i = 0; i < task->count; i++) {
    has_unfinished |= task->attempts[i].is_unfinished;
    has_failed |= task->attempts[i].has_failed;
  }
  if (!has_unfinished) return has_failed ? CORE_FAIL : CORE_OK;
  if (task->stop == STOP_TIME_LIMIT) return requeue_task(task, signals);
  record_unfinished(task, task->stop == STOP_PREEMPTED ? SWEEP_CAUSE_PREEMPTED : SWEEP_CAUSE_STOPPED);
  /* Otherwise sweep stop, a user's signal to the process or scancel ended the runs. */
  const bool may_be_killed = task->stop == STOP_TERMINATED || task->stop == STOP_PREEMPTED;
  for (int waited_s = 0; may_be_killed && waited_s < KILL_WAIT_S; waited_s += TICK_S) {
    if (is_cancelled(task) || is_released(task)) break;
    wait_signal(task, signals);
  }
  return core_error(CORE_REQUEUE, "the task ends with unfinished runs; they can be resumed from their checkpoints");
}

static void notify(const Task *task) {
  size_t ended = 0;
  const SweepAttempt *failed = NULL;
  StoreState state;
  for (size_t i = 0; i < task->count; i++) {
    const SweepAttempt *attempt = &task->attempts[i];
    ended += !attempt->is_unfinished && (attempt->is_started || attempt->has_failed);
    if (attempt->has_failed && !failed) failed = attempt;
  }
  if (failed && store_run_state_read(task->base.root, failed->id, true, &state) != CORE_OK)
    core_warn("%s", core_error_message());
  sweep_notify_runs_ended(task->base.root, task->base.name, ended, failed ? state.message : NULL);
}

static int run_attempts(Task *task) {
  const int64_t runs_per_task = task->base.batch.settings.runs_per_task;
  sigset_t signals;
  block_signals(&signals);
  task->started_s = core_clock_s();
  task->oom_kills = sweep_cgroup_oom_kills();
  task->attempts = core_memory_zero_allocate((size_t)runs_per_task, sizeof *task->attempts);

  for (int64_t k = 0; k < runs_per_task; k++) {
    const size_t line = (size_t)((task->array.first_task + task->base.index) * runs_per_task + k);
    if (line < task->base.batch.count)
      task->attempts[task->count++] = (SweepAttempt){.line = line, .id = task->base.batch.runs[line].id};
  }

  for (size_t i = 0; i < task->count; i++) sweep_attempt_start(&task->base, i, &task->attempts[i]);
  while (count_running(task) > 0) {
    sample_memory(task);
    reap(task);
    apply_rule(task);
    if (count_running(task) > 0) wait_signal(task, &signals);
    else resume_promoted(task);
  }

  if (task->stop == STOP_NONE) sweep_task_search_continue(task->base.root, task->base.name);
  notify(task);
  return finish(task, &signals);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run_batch(Task *task) {
  SweepArrayTask *base = &task->base;
  const SlurmSettings *settings = &base->batch.settings;
  if (strcmp(base->batch.hash, task->array.hash) != 0)
    return core_error(CORE_FAIL, "%s: batch %lld was changed after its submission; restore the file", base->name,
                      (long long)base->batch.number);
  /* Variables that modules, slurm.setup or a container have set take precedence. */
  const bool has_environment = *settings->modules || *settings->setup || *settings->container;
  sweep_environment_apply(base->root, base->name,
                          has_environment ? SWEEP_ENVIRONMENT_FILL : SWEEP_ENVIRONMENT_OVERRIDE);
  return run_attempts(task);
}

static int run_task(void *context, const char **operands, size_t count) {
  SweepCommon *common = context;
  const char *root = common->root, *name = operands[0];
  Task task = {.base = {.root = root, .name = name}};
  int64_t batch, array;
  bool is_ours = false;

  TRY(sweep_common_open(common));
  if (!core_text_to_int(operands[1], &batch) || batch < 1 || !core_text_to_int(operands[2], &array) || array < 0)
    return core_error(CORE_USAGE, "'%.20s' '%.20s': expected the numbers of a batch and an array", operands[1],
                      operands[2]);
  TRY(core_text_check_name(name, "sweep"));
  TRY(read_variable("SLURM_ARRAY_JOB_ID", &task.base.job));
  TRY(read_variable("SLURM_ARRAY_TASK_ID", &task.base.index));
  TRY(read_variable("SLURM_JOB_ID", &task.base.slurm_job));

  TRY(find_array(&task, batch, array, &is_ours));
  if (!is_ours) {
    core_warn("%s: job %lld does not run array %lld of batch %lld; nothing to do", name, (long long)task.base.job,
              (long long)array, (long long)batch);
    return CORE_OK;
  }

  TRY(sweep_batch_output(root, name, batch, array, task.log));
  task.log_start = sweep_joblog_size(task.log);
  sweep_task_rule_open(root, name, &task.base.rule);
  TRY(sweep_batch_read(root, name, batch, &task.base.batch));
  const int code = run_batch(&task);
  free(task.attempts);
  sweep_task_rule_close(&task.base.rule);
  sweep_batch_free(&task.base.batch);
  return code;
}

int sweep_task(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep task NAME BATCH ARRAY [options]",
    .about = "Internal: entry point of Slurm array tasks on compute nodes. Executes the runs of batch BATCH "
             "(sweeps/NAME/batches) that array ARRAY assigns to SLURM_ARRAY_TASK_ID.",
    .operands_min = 3, .operands = {"NAME", "BATCH", "ARRAY"}, .operands_max = 3};
  SweepCommon common = {0};
  const CoreOption options[] = {SWEEP_OPTION_ROOT(common), {0}};
  return core_options_run(&manual, options, argc, argv, run_task, &common);
}
