/* `sweep task`: the process of a Slurm array task (the batch script execs it). It runs one or more runs concurrently:
 * starts them, forwards Slurm's signals, restarts killed ones, and requeues unfinished runs at the time
 * limit. It records what it learns about the end of an attempt (attempt.h).
 *
 * Signals: slurm.signal arrives before the time limit: save a checkpoint, then requeue. SIGTERM means preemption, a
 * cancellation or the limit itself; slurmstepd usually has just printed which to the task's own output (joblog.h). In
 * any case save a checkpoint, and exit at once if the task was cancelled. If it was preempted, or nothing was printed
 * (a grace time), wait to be killed, since Slurm would not requeue a task that exits by itself.
 *
 * Stop of a task (SweepCause). A signal, or a kill that slurmstepd explains, changes it only to a greater value, i.e.
 * downwards:
 *   value          signal (classify_signal)                           end of the task with unfinished runs (finish)
 *   NONE           (none)                                             exits
 *   TIME_LIMIT     slurm.signal; slurmstepd printed the limit; the    requeues itself, and waits to be ended
 *                  clock is near it
 *   STOPPED        any other                                          waits to be killed, unless it was cancelled
 *   PREEMPTED      slurmstepd printed it                              waits to be killed, unless it was cancelled
 *   CANCELLED      slurmstepd printed it                              exits
 *
 * Conditions of an attempt in this task; supervisor.c has the states of its process, and its ends:
 *   NOT_SUBMITTED   not started: done, of another owner, or stopped by rule before
 *   RUNNING         has a child
 *   FINISHED        its run has ended
 *   STOPPED         can be resumed from its checkpoint
 *   STOPPED_BY_RULE stopped by rule in this task
 *   FAILED
 *
 *   condition       event                                                      next
 *   NOT_SUBMITTED   sweep_attempt_start                                        RUNNING, NOT_SUBMITTED or FAILED
 *   RUNNING         done                                                       FINISHED
 *                   failed by itself, or ran out of memory                     FAILED
 *                   stopped by rule                                            STOPPED_BY_RULE
 *                   stopped otherwise                                          STOPPED
 *                   is killed otherwise, while stop is NONE                    NOT_SUBMITTED: restarted
 *                   is killed otherwise, while it is not                       STOPPED
 *   STOPPED_BY_RULE promoted, and no run of the task is running                NOT_SUBMITTED: resumed
 *
 * The other conditions are final. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "slurm/cluster.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/cluster/attempt.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/journal.h"
#include "sweep/cluster/task_internal.h"
#include "sweep/commands.h"
#include "sweep/local/notify.h"
#include "sweep/spec/sweep.h"
#include "sweep/supervise/environment.h"

enum {
  TICK_S = 1,
  LIMIT_MARGIN_S = 10,   /* a signal this close to the time limit is taken for the limit */
  REQUEUE_TRIES = 3,
  REQUEUE_RETRY_S = 5,
  REQUEUE_WAIT_S = 120,
  KILL_WAIT_S = 900
};

typedef struct Task {
  SweepArrayTask base;
  SweepArray array;
  char log[CORE_PATH_MAX];    /* output of the batch scripts, where slurmstepd prints why it ends them (joblog.h) */
  int64_t log_start;          /* its size at the start of this task, bytes */
  double started_s;
  SweepAttempt *attempts;     /* [count] */
  size_t count;
  SweepCause stop;            /* reason why the runs were asked to stop */
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
  bool are_cancelled = true;
  for (size_t i = 0; i < task->count && are_cancelled; i++)
    are_cancelled = sweep_journal_cancelled_by(&journal, task->attempts[i].id, &task->array) != NULL;
  sweep_journal_free(&journal);
  return are_cancelled;
}

/* Reads slurmstepd's message about the end of this job, if any, from the task's own output. */
static SweepCause read_exit_cause(const Task *task) {
  return sweep_joblog_read_cause(task->log, task->log_start, task->base.slurm_job);
}

/* Whether slurmstepd reported that the job was cancelled (which includes requeued) and not preempted: Slurm then counts
 * it as ended, even while this process still runs. */
static bool is_released(const Task *task) { return read_exit_cause(task) == SWEEP_CAUSE_CANCELLED; }

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static bool is_at_time_limit(const Task *task) {
  const int64_t limit_s = task->base.batch.settings.time;
  return limit_s > 0 && core_clock_s() - task->started_s > (double)(limit_s - LIMIT_MARGIN_S);
}

/* Returns the meaning of a signal: slurm.signal is the time limit; any other what slurmstepd printed, or otherwise what
 * the clock suggests. */
static SweepCause classify_signal(const Task *task, int signal) {
  const char *warning = task->base.batch.settings.signal;
  if (strcmp(warning, "USR1") == 0 && signal == SIGUSR1) return SWEEP_CAUSE_TIME_LIMIT;
  if (strcmp(warning, "USR2") == 0 && signal == SIGUSR2) return SWEEP_CAUSE_TIME_LIMIT;
  switch (read_exit_cause(task)) {
    case SWEEP_CAUSE_CANCELLED: return SWEEP_CAUSE_CANCELLED;
    case SWEEP_CAUSE_PREEMPTED: return SWEEP_CAUSE_PREEMPTED;
    case SWEEP_CAUSE_TIME_LIMIT: return SWEEP_CAUSE_TIME_LIMIT;
    default: return is_at_time_limit(task) ? SWEEP_CAUSE_TIME_LIMIT : SWEEP_CAUSE_STOPPED;
  }
}

static void stop_runs(Task *task, int signal) {
  static const char *const descriptions[] = {
    [SWEEP_CAUSE_TIME_LIMIT] = "the time limit is near", [SWEEP_CAUSE_STOPPED] = "terminated",
    [SWEEP_CAUSE_PREEMPTED] = "preempted", [SWEEP_CAUSE_CANCELLED] = "cancelled or requeued"};
  const SweepCause cause = classify_signal(task, signal);
  if (task->stop == SWEEP_CAUSE_NONE)
    core_info("signal %d: %s; the runs save a checkpoint and stop", signal, descriptions[cause]);
  if (cause > task->stop) task->stop = cause;
  for (size_t i = 0; i < task->count; i++)
    if (task->attempts[i].child) sweep_supervisor_stop(task->attempts[i].child, SWEEP_CAUSE_STOPPED);
}

/* Waits for a signal for a tick, and handles it. */
static void wait_signal(Task *task) {
  const int signal = sweep_supervisor_wait(&task->base.supervisor, TICK_S * 1000);
  if (signal > 0) stop_runs(task, signal);
}

/* ---- ends of attempts -------------------------------------------------------------------------------------------- */

/* Whether a killed run ran out of memory: by the OOM kills of this job's cgroup, by what slurmstepd printed before it
 * killed the job's processes (this one may be the last), or by what the slurmstepd of a step with several ranks printed
 * through srun to the run's own log. */
static bool is_oom(Task *task, const SweepAttempt *attempt, SweepCause cause) {
  char path[CORE_PATH_MAX];
  const int64_t kills = sweep_cgroup_oom_kills();
  const bool has_new_kills = kills > task->oom_kills;
  task->oom_kills = kills;
  if (has_new_kills || cause == SWEEP_CAUSE_OUT_OF_MEMORY) return true;
  if (store_path_run(task->base.root, attempt->id, "log.txt", path) != CORE_OK) return false;
  return sweep_joblog_read_cause(path, attempt->log_start, task->base.slurm_job) == SWEEP_CAUSE_OUT_OF_MEMORY;
}

static void fail_out_of_memory(const Task *task, SweepAttempt *attempt) {
  SweepRunMemory memory;
  char reason[160];
  const int64_t limit_mb = slurm_settings_run_mem(&task->base.batch.settings);
  int code = sweep_run_memory_record_oom(task->base.root, attempt->id, limit_mb);
  if (code != CORE_OK) core_warn("%s", core_error_message());
  code = sweep_run_memory_read(task->base.root, attempt->id, &memory);
  if (code != CORE_OK) core_warn("%s", core_error_message());

  snprintf(reason, sizeof reason, "out of memory (slurm.mem = %lldM); sweep submit --failed --mem %lldM gives it more",
           (long long)limit_mb, (long long)sweep_run_memory_needed(&memory));
  sweep_attempt_fail(&task->base, attempt, SWEEP_CAUSE_OUT_OF_MEMORY, reason, true);
}

/* Handles a killed run: restarts it from its checkpoint, up to slurm.max_restarts times. If slurmstepd has reported the
 * end of the job, the kill is part of it, and this process will get its signal, too. */
static void handle_kill(Task *task, SweepAttempt *attempt, int signal) {
  const SweepCause cause = read_exit_cause(task);
  if (is_oom(task, attempt, cause)) {
    fail_out_of_memory(task, attempt);
    return;
  }

  core_warn("run %s: killed by signal %d", attempt->id, signal);
  attempt->condition = SWEEP_STOPPED;
  attempt->record.cause = SWEEP_CAUSE_KILLED;
  sweep_attempt_write_record(&task->base, attempt); /* sweep_attempt_start reads it */
  if (task->stop == SWEEP_CAUSE_NONE && cause != SWEEP_CAUSE_NONE) stop_runs(task, signal);
  if (task->stop == SWEEP_CAUSE_NONE)
    sweep_attempt_start(&task->base, (size_t)(attempt - task->attempts), attempt);
}

static void handle_end(Task *task, SweepAttempt *attempt, const SweepChild *child, const SweepEnd *end) {
  attempt->child = NULL;
  attempt->record.ended_unix_s = core_clock_unix_s();
  attempt->record.spent_s += core_clock_s() - child->started_s;

  if (end->is_done) {
    attempt->condition = SWEEP_FINISHED;
    sweep_attempt_write_record(&task->base, attempt);
  } else if (end->cause == SWEEP_CAUSE_RULE) {
    attempt->condition = SWEEP_STOPPED_BY_RULE;
    attempt->record.cause = SWEEP_CAUSE_RULE;
    sweep_attempt_write_record(&task->base, attempt);
  } else if (end->signal > 0) { /* also by SIGTERM, before it could handle that: a restart or memory come first */
    handle_kill(task, attempt, end->signal);
  } else if (end->cause == SWEEP_CAUSE_STOPPED) {
    attempt->condition = SWEEP_STOPPED;
    attempt->record.cause = SWEEP_CAUSE_STOPPED;
  } else {
    sweep_attempt_fail(&task->base, attempt, end->cause, end->reason, true);
  }
}

static void reap(Task *task) {
  SweepChild *child;
  SweepEnd end;
  while ((child = sweep_supervisor_reap(&task->base.supervisor, &end))) {
    for (size_t i = 0; i < task->count; i++)
      if (task->attempts[i].child == child) handle_end(task, &task->attempts[i], child, &end);
    free(child);
  }
}

/* ---- the sweep's [stop] rule ------------------------------------------------------------------------------------- */

static void apply_rule(Task *task) {
  sweep_task_rule_poll(&task->base.rule);
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt *attempt = &task->attempts[i];
    if (!attempt->child || attempt->child->requested != SWEEP_CAUSE_NONE) continue; /* it ends already */
    if (!sweep_task_rule_stops(&task->base.rule, attempt->id)) continue;
    core_info("run %s: stopped by rule; it saves a checkpoint and ends", attempt->id);
    sweep_supervisor_stop(attempt->child, SWEEP_CAUSE_RULE);
  }
}

/* Resumes runs of this task that the rule stopped and has promoted since, while the task still has its allocation. Then
 * submits promoted runs of other tasks. */
static void resume_promoted(Task *task) {
  if (!task->base.rule.is_active || task->stop != SWEEP_CAUSE_NONE) return;
  sweep_task_rule_decide_now(&task->base.rule);
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt *attempt = &task->attempts[i];
    if (attempt->condition == SWEEP_STOPPED_BY_RULE && !sweep_task_rule_stops(&task->base.rule, attempt->id))
      sweep_attempt_start(&task->base, i, attempt);
  }
  if (task->base.supervisor.count == 0) sweep_task_rule_submit_promoted(&task->base.rule);
}

/* ---- the end of the task ----------------------------------------------------------------------------------------- */

static size_t count_attempts(const Task *task, SweepCondition condition) {
  size_t count = 0;
  for (size_t i = 0; i < task->count; i++) count += task->attempts[i].condition == condition;
  return count;
}

/* Records why the runs that can be resumed have ended. A kill remains the cause unless Slurm's is known. */
static void record_unfinished(const Task *task, SweepCause cause) {
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt attempt = task->attempts[i];
    if (attempt.condition != SWEEP_STOPPED) continue;
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
static int requeue_task(Task *task) {
  record_unfinished(task, SWEEP_CAUSE_TIME_LIMIT);
  int code = call_requeue(task);
  if (code == CORE_OK) {
    for (int waited_s = 0; waited_s < REQUEUE_WAIT_S && !is_released(task); waited_s += TICK_S)
      wait_signal(task);
    if (is_released(task)) return core_error(CORE_REQUEUE, "requeued");
    code = core_error(CORE_FAIL, "Slurm accepted the requeue but did not end the task");
  }
  core_warn("the task cannot be requeued: %s; sweep submit %s resumes its runs", core_error_message(),
            task->base.name);
  record_unfinished(task, SWEEP_CAUSE_NOT_REQUEUED);
  return CORE_REQUEUE;
}

static int finish(Task *task) {
  if (count_attempts(task, SWEEP_STOPPED) == 0) return count_attempts(task, SWEEP_FAILED) > 0 ? CORE_FAIL : CORE_OK;
  if (task->stop == SWEEP_CAUSE_TIME_LIMIT) return requeue_task(task);
  record_unfinished(task, task->stop == SWEEP_CAUSE_PREEMPTED ? SWEEP_CAUSE_PREEMPTED : SWEEP_CAUSE_STOPPED);
  /* Otherwise sweep stop, a user's signal to the process or scancel ended the runs. */
  const bool may_be_killed = task->stop == SWEEP_CAUSE_STOPPED || task->stop == SWEEP_CAUSE_PREEMPTED;
  for (int waited_s = 0; may_be_killed && waited_s < KILL_WAIT_S; waited_s += TICK_S) {
    if (is_cancelled(task) || is_released(task)) break;
    wait_signal(task);
  }
  return core_error(CORE_REQUEUE, "the task ends with unfinished runs; they can be resumed from their checkpoints");
}

static void notify(const Task *task) {
  const size_t ended = count_attempts(task, SWEEP_FINISHED) + count_attempts(task, SWEEP_STOPPED_BY_RULE) +
                       count_attempts(task, SWEEP_FAILED);
  const SweepAttempt *failed = NULL;
  StoreState state;
  for (size_t i = 0; i < task->count && !failed; i++)
    if (task->attempts[i].condition == SWEEP_FAILED) failed = &task->attempts[i];
  if (failed && store_run_state_read(task->base.root, failed->id, true, &state) != CORE_OK)
    core_warn("%s", core_error_message());
  sweep_notify_runs_ended(task->base.root, task->base.name, ended, failed ? state.message : NULL);
}

static int run_attempts(Task *task) {
  const int64_t runs_per_task = task->base.batch.settings.runs_per_task;
  static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGCHLD};
  TRY(sweep_supervisor_open(task->base.root, signals, sizeof signals / sizeof *signals, &task->base.supervisor));
  task->started_s = core_clock_s();
  task->oom_kills = sweep_cgroup_oom_kills();
  task->attempts = core_memory_zero_allocate((size_t)runs_per_task, sizeof *task->attempts);

  for (int64_t k = 0; k < runs_per_task; k++) {
    const size_t line = (size_t)((task->array.first_task + task->base.index) * runs_per_task + k);
    if (line < task->base.batch.count)
      task->attempts[task->count++] = (SweepAttempt){.line = line, .id = task->base.batch.runs[line].id};
  }

  if (task->count == 1) task->base.supervisor.cgroup_job = task->base.slurm_job;

  for (size_t i = 0; i < task->count; i++) sweep_attempt_start(&task->base, i, &task->attempts[i]);
  while (task->base.supervisor.count > 0) {
    sweep_supervisor_sample_memory(&task->base.supervisor);
    reap(task);
    apply_rule(task);
    if (task->base.supervisor.count > 0) wait_signal(task);
    else resume_promoted(task);
  }

  if (task->stop == SWEEP_CAUSE_NONE) sweep_task_search_continue(task->base.root, task->base.name);
  notify(task);
  return finish(task);
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
  sweep_supervisor_close(&task.base.supervisor);
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
