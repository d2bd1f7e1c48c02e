/* `sweep task`: what an array task of Slurm executes (the batch script becomes this program), one or more runs side by
 * side. It starts trainers, hands on Slurm's signals, starts killed ones again, and gives unfinished runs back to Slurm
 * at the time limit. What it finds out about an attempt's end goes into its record (attempt.h).
 *
 * Signals: slurm.signal comes before the time limit: checkpoint, then requeue. SIGTERM means preemption, a cancellation
 * or the limit itself; mostly the node's daemon has just said which in the task's own output (joblog.h). Checkpoint in
 * any case; then end at once if it was cancelled. Preempted, or told nothing (a grace time), it waits to be killed,
 * since a task that ends by itself then would not be requeued by Slurm. */
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
  REQUEUE_WAIT_S = 120,
  KILL_WAIT_S = 900,
  MEASURE_REST = 50 /* times as long as a measurement of memory took until the next */
};

/* Why runs were told to end; a later reason counts when it is further down. */
typedef enum Stop { STOP_NONE, STOP_TIME_LIMIT, STOP_TERMINATED, STOP_PREEMPTED, STOP_CANCELLED } Stop;

typedef struct Task {
  const char *name;
  SweepArrayTask self;
  SweepArray array;
  char log[CORE_PATH_MAX];    /* the batch scripts' output, where Slurm says why it ends them (joblog.h) */
  int64_t log_start;          /* its size when this task began */
  double started_s, measure_s; /* start; the next measurement of memory is not before */
  SweepAttempt *attempts;
  size_t count;
  Stop stop;
  int64_t oom_kills;          /* of this job's memory cgroup, at the start */
} Task;

/* ---- where we are ------------------------------------------------------------------------------------------------ */

static int from_environment(const char *name, int64_t *value) {
  const char *text = getenv(name);
  if (text && core_text_to_int(text, value) && *value >= 0) return CORE_OK;
  return core_error(CORE_USAGE,
                    "%s is not set: sweep task is what Slurm's array tasks execute; sweep submit starts them", name);
}

/* What the node's daemon has said of this job's end in the task's own output. */
static SweepExitCause word_of_slurm(const Task *task) {
  return sweep_joblog_read_cause(task->log, task->log_start, task->self.slurm_job);
}

/* Finds our array in the journal. *ours = false: another job carries it, or it counts as never taken: nothing to do
 * here. */
static int find_array(Task *task, int64_t number, int64_t array, bool *ours) {
  SweepJournal journal;
  TRY(sweep_journal_read(task->self.root, task->name, &journal));
  int code = CORE_FAIL;
  for (size_t i = 0; i < journal.count; i++) {
    if (journal.arrays[i].batch != number || journal.arrays[i].array != array) continue;
    task->array = journal.arrays[i];
    code = CORE_OK;
  }
  sweep_journal_free(&journal);
  if (code != CORE_OK)
    core_error(code, "%s: no array %lld of batch %lld was ever asked for", task->name, (long long)array,
               (long long)number);
  *ours = code == CORE_OK && (task->array.state == SWEEP_ARRAY_REQUESTED ||
                              (task->array.state == SWEEP_ARRAY_ACCEPTED && task->array.job == task->self.job));
  return code;
}

static bool is_cancelled(const Task *task) {
  SweepJournal journal;
  if (sweep_journal_read(task->self.root, task->name, &journal) != CORE_OK) return false;
  bool cancelled = true;
  for (size_t i = 0; i < task->count && cancelled; i++)
    cancelled = sweep_journal_cancelled_by(&journal, task->attempts[i].id, &task->array) != NULL;
  sweep_journal_free(&journal);
  return cancelled;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void block_signals(sigset_t *signals) {
  sigemptyset(signals);
  static const int ours[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGCHLD};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) sigaddset(signals, ours[i]);
  sigprocmask(SIG_BLOCK, signals, NULL);
}

static bool is_at_time_limit(const Task *task) {
  const int64_t limit = task->self.batch.settings.time;
  return limit > 0 && core_clock_s() - task->started_s > (double)limit - 10;
}

/* The signal that was agreed on means the time limit; any other what Slurm has said, or else what
 * the clock suggests. */
static Stop meaning(const Task *task, int signal) {
  const char *agreed = task->self.batch.settings.signal;
  if ((strcmp(agreed, "USR1") == 0 && signal == SIGUSR1) || (strcmp(agreed, "USR2") == 0 && signal == SIGUSR2))
    return STOP_TIME_LIMIT;
  switch (word_of_slurm(task)) {
    case SWEEP_EXIT_CANCELLED: return STOP_CANCELLED;
    case SWEEP_EXIT_PREEMPTED: return STOP_PREEMPTED;
    case SWEEP_EXIT_TIME_LIMIT: return STOP_TIME_LIMIT;
    default: return is_at_time_limit(task) ? STOP_TIME_LIMIT : STOP_TERMINATED;
  }
}

/* Through srun only the user signals reach the ranks without srun's own ideas of what they mean. */
static void tell_to_end(const Task *task, const SweepAttempt *attempt) {
  kill(attempt->process, task->self.batch.settings.ranks_per_run > 1 ? SIGUSR2 : SIGTERM);
}

static void stop(Task *task, int signal) {
  const Stop why = meaning(task, signal);
  static const char *const words[] = {"", "the time limit is near", "told to end", "preempted",
                                      "cancelled or requeued"};
  if (task->stop == STOP_NONE) core_info("signal %d: %s; runs save a checkpoint and end", signal, words[why]);
  if (why > task->stop) task->stop = why;
  for (size_t i = 0; i < task->count; i++)
    if (task->attempts[i].process > 0) tell_to_end(task, &task->attempts[i]);
}

static void wait_signal(Task *task, const sigset_t *signals, int seconds) {
  const struct timespec tick = {.tv_sec = seconds};
  const int signal = sigtimedwait(signals, NULL, &tick);
  if (signal > 0 && signal != SIGCHLD) stop(task, signal);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* By this job's cgroup, by what the node's daemon said of this job before it began to kill its processes, of which we
 * may be the last, or by what the daemons of a step of several ranks say through srun in the run's own log. */
static bool ran_out_of_memory(Task *task, const SweepAttempt *attempt, SweepExitCause word) {
  char path[CORE_PATH_MAX];
  const int64_t kills = sweep_cgroup_oom_kills();
  const bool killed_here = kills > task->oom_kills;
  task->oom_kills = kills;
  return killed_here || word == SWEEP_EXIT_OUT_OF_MEMORY ||
         (store_path_run(task->self.root, attempt->id, "log.txt", path) == CORE_OK &&
          sweep_joblog_read_cause(path, attempt->log_start, task->self.slurm_job) == SWEEP_EXIT_OUT_OF_MEMORY);
}

/* Killed by a signal, or by one below srun (exit code 128 + n). Where Slurm has said that it ends this job, the signal
 * is a part of that, and ours is on its way. */
static void killed(Task *task, SweepAttempt *attempt, int signal) {
  const SweepExitCause word = word_of_slurm(task);
  char reason[160];
  if (ran_out_of_memory(task, attempt, word)) {
    const int64_t mem = slurm_settings_run_mem(&task->self.batch.settings);
    if (sweep_run_memory_record_oom(task->self.root, attempt->id, mem) != CORE_OK) core_warn("%s",
                                                                                             core_error_message());
    sweep_memory_probe_begin(task->self.root, attempt->id, &attempt->memory);
    snprintf(reason, sizeof reason, "out of memory (slurm.mem = %lldM); sweep retry --mem %lldM gives it more",
             (long long)mem, (long long)sweep_run_memory_needed(&attempt->memory.run));
    sweep_attempt_fail_with_last_line(&task->self, attempt, SWEEP_CAUSE_OUT_OF_MEMORY, reason);
    return;
  }
  core_warn("run %s: killed by signal %d", attempt->id, signal);
  attempt->unfinished = true;
  attempt->record.cause = SWEEP_CAUSE_KILLED;
  if (sweep_record_write(task->self.root, attempt->id, &attempt->record) != CORE_OK)
    core_warn("%s", core_error_message()); /* start reads it */
  if (task->stop == STOP_NONE && word != SWEEP_EXIT_UNKNOWN) stop(task, signal);
  if (task->stop == STOP_NONE) /* again, from its checkpoint; max_restarts bounds it */
    sweep_attempt_start(&task->self, (size_t)(attempt - task->attempts), attempt);
}

/* The job's control group belongs to a run only where the run has the job for itself. */
static void measure_group(const Task *task, SweepAttempt *attempt) {
  if (task->count == 1 && attempt->process > 0)
    sweep_memory_probe_add_peak(&attempt->memory, SWEEP_MEMORY_CGROUP, sweep_cgroup_peak_mb(task->self.slurm_job));
}

static void measure(Task *task) {
  const double now_s = core_clock_s();
  if (now_s < task->measure_s) return;
  const char **ids = core_memory_allocate((task->count + 1) * sizeof *ids);
  SweepMemoryProbe **probes = core_memory_allocate((task->count + 1) * sizeof *probes);
  size_t count = 0;
  for (size_t i = 0; i < task->count; i++) {
    if (task->attempts[i].process <= 0) continue;
    measure_group(task, &task->attempts[i]);
    ids[count] = task->attempts[i].id;
    probes[count++] = &task->attempts[i].memory;
  }
  sweep_memory_probe_sample(task->self.root, ids, probes, count);
  free(ids);
  free(probes);
  task->measure_s = core_clock_s() + MEASURE_REST * (core_clock_s() - now_s);
}

static void account(Task *task, SweepAttempt *attempt, const struct rusage *usage) {
  SweepRecord *record = &attempt->record;
  record->ended_unix_s = core_clock_unix_s();
  record->spent_s += core_clock_s() - attempt->begun_s;
  sweep_memory_probe_end(task->self.root, attempt->id, &attempt->memory, usage->ru_maxrss);
}

/* It was told to, and has saved; or had nothing to save yet. */
static bool ended_by_rule(const Task *task, const SweepAttempt *attempt, int status) {
  return attempt->told && task->stop == STOP_NONE &&
         (WIFEXITED(status) ? WEXITSTATUS(status) == CORE_REQUEUE : WTERMSIG(status) == SIGTERM);
}

/* Tells whether a trainer with exit code 0 has left its run unfinished: code that it loads may end the process. */
static bool is_early(const Task *task, const SweepAttempt *attempt) {
  StoreState state;
  if (store_run_state_read(task->self.root, attempt->id, true, &state) == CORE_OK) return state.status == STORE_LOST;
  core_warn("%s", core_error_message());
  return false;
}

static void ended(Task *task, SweepAttempt *attempt, int status, const struct rusage *usage) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  measure_group(task, attempt);
  attempt->process = 0;
  account(task, attempt, usage);
  if (ended_by_rule(task, attempt, status)) {
    attempt->record.cause = SWEEP_CAUSE_RULE;
    if (sweep_record_write(task->self.root, attempt->id, &attempt->record) != CORE_OK)
      core_warn("%s", core_error_message());
  } else if (WIFSIGNALED(status)) {
    killed(task, attempt, WTERMSIG(status));
  } else if (task->self.batch.settings.ranks_per_run > 1 && code > 128) {
    killed(task, attempt, code - 128);
  } else if (code == CORE_REQUEUE) {
    attempt->unfinished = true;
    attempt->record.cause = SWEEP_CAUSE_STOPPED;
  } else if (code != CORE_OK) {
    char reason[64];
    snprintf(reason, sizeof reason, code == 127 ? "the trainer cannot be started" : "exit code %d", code);
    sweep_attempt_fail_with_last_line(&task->self, attempt, code == 127 ? SWEEP_CAUSE_NOT_STARTED : SWEEP_CAUSE_NONE,
                                      reason);
  } else if (is_early(task, attempt)) {
    sweep_attempt_fail_with_last_line(&task->self, attempt, SWEEP_CAUSE_NONE,
                                      "ended with exit code 0 before the run had finished");
  } else if (sweep_record_write(task->self.root, attempt->id, &attempt->record) != CORE_OK) {
    core_warn("%s", core_error_message());
  }
}

static size_t count_living(const Task *task) {
  size_t living = 0;
  for (size_t i = 0; i < task->count; i++) living += task->attempts[i].process > 0;
  return living;
}

static void reap(Task *task) {
  int status;
  pid_t pid;
  struct rusage usage;
  while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
    for (size_t i = 0; i < task->count; i++)
      if (task->attempts[i].process == pid) ended(task, &task->attempts[i], status, &usage);
}

/* ---- the sweep's [stop] rule ------------------------------------------------------------------------------------- */

static void follow_rule(Task *task) {
  sweep_task_rule_poll(&task->self.rule);
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt *attempt = &task->attempts[i];
    if (attempt->process <= 0 || attempt->told || !sweep_task_rule_stops(&task->self.rule, attempt->id)) continue;
    core_info("run %s: stopped by rule; it saves a checkpoint and ends", attempt->id);
    attempt->told = true;
    tell_to_end(task, attempt);
  }
}

/* A run that was promoted while it ended goes on here, since Slurm has its task still; those of other tasks are
 * submitted. */
static void go_on_with_promoted(Task *task) {
  if (!task->self.rule.is_active || task->stop != STOP_NONE) return;
  sweep_task_rule_decide_now(&task->self.rule);
  for (size_t i = 0; i < task->count; i++) {
    SweepAttempt *attempt = &task->attempts[i];
    if (attempt->told && attempt->record.cause == SWEEP_CAUSE_RULE &&
        !sweep_task_rule_stops(&task->self.rule, attempt->id))
      sweep_attempt_start(&task->self, i, attempt);
  }
  if (count_living(task) == 0) sweep_task_rule_submit_promoted(&task->self.rule);
}

/* ---- the end of the task ----------------------------------------------------------------------------------------- */

static void record_unfinished(const Task *task, SweepCause cause) {
  for (size_t i = 0; i < task->count; i++) {
    SweepRecord record = task->attempts[i].record;
    if (!task->attempts[i].unfinished) continue;
    if (cause != SWEEP_CAUSE_STOPPED || record.cause != SWEEP_CAUSE_KILLED) record.cause = cause;
    if (sweep_record_write(task->self.root, task->attempts[i].id, &record) != CORE_OK)
      core_warn("%s", core_error_message());
  }
}

/* Slurm has said that it is ending this job, and not for a preemption: it counts as ended there, whatever we do from
 * here on. */
static bool is_let_go(const Task *task) {
  return word_of_slurm(task) == SWEEP_EXIT_CANCELLED;
}

/* Unfinished runs go back into the queue as the same task. We stay until Slurm ends us, which is part of requeueing. */
static int give_back(Task *task, const sigset_t *signals) {
  SlurmCluster *cluster = NULL;
  record_unfinished(task, SWEEP_CAUSE_TIME_LIMIT);
  int code =
    task->self.batch.settings.requeue
      ? slurm_cluster_open("auto", &cluster, NULL) /* slurmrestd cannot requeue; nodes mostly have the commands */
      : core_error(CORE_FAIL, "slurm.requeue = no");
  for (int attempt = 0; code == CORE_OK && attempt < 3; attempt++) {
    code = slurm_requeue(cluster, (SlurmId){task->self.job, task->self.index});
    if (code == CORE_OK) break;
    if (slurm_fault(cluster) == SLURM_UNREACHABLE || slurm_fault(cluster) == SLURM_TIMED_OUT)
      code = CORE_OK; /* again */
    sleep(5);
  }
  slurm_cluster_close(&cluster);
  if (code == CORE_OK) {
    for (int waited = 0; waited < REQUEUE_WAIT_S && !is_let_go(task); waited += TICK_S)
      wait_signal(task, signals, TICK_S);
    if (is_let_go(task)) return core_error(CORE_REQUEUE, "given back to Slurm");
    code = core_error(CORE_FAIL, "Slurm was told to requeue this task and has not ended it");
  }
  core_warn("the task cannot be requeued from here: %s; sweep submit %s goes on with its runs", core_error_message(),
            task->name);
  record_unfinished(task, SWEEP_CAUSE_NOT_REQUEUED);
  return CORE_REQUEUE;
}

static int conclude(Task *task, const sigset_t *signals) {
  bool unfinished = false, failed = false;
  for (size_t i = 0; i < task->count; i++)
    unfinished |= task->attempts[i].unfinished, failed |= task->attempts[i].failed;
  if (!unfinished) return failed ? CORE_FAIL : CORE_OK;
  if (task->stop == STOP_TIME_LIMIT) return give_back(task, signals);
  record_unfinished(task, task->stop == STOP_PREEMPTED ? SWEEP_CAUSE_PREEMPTED : SWEEP_CAUSE_STOPPED);
  const bool wait = task->stop == STOP_TERMINATED ||
                    task->stop == STOP_PREEMPTED; /* else: sweep stop, a hand that knew the process, scancel */
  for (int waited = 0; wait && waited < KILL_WAIT_S && !is_cancelled(task) && !is_let_go(task); waited += TICK_S)
    wait_signal(task, signals, TICK_S);
  return core_error(CORE_REQUEUE, "ended with unfinished runs; they go on from their checkpoints");
}

static void notify(const Task *task) {
  size_t ended = 0;
  const SweepAttempt *failed = NULL;
  StoreState state;
  for (size_t i = 0; i < task->count; i++) {
    ended += !task->attempts[i].unfinished && (task->attempts[i].begun || task->attempts[i].failed);
    if (task->attempts[i].failed && !failed) failed = &task->attempts[i];
  }
  if (failed && store_run_state_read(task->self.root, failed->id, true, &state) != CORE_OK)
    core_warn("%s", core_error_message());
  sweep_notify_runs_ended(task->self.root, task->name, ended, failed ? state.message : NULL);
}

static int carry_out(Task *task) {
  const int64_t packed = task->self.batch.settings.runs_per_task;
  sigset_t signals;
  block_signals(&signals);
  task->started_s = core_clock_s();
  task->oom_kills = sweep_cgroup_oom_kills();
  task->attempts = core_memory_zero_allocate((size_t)packed, sizeof *task->attempts);
  for (int64_t k = 0; k < packed; k++) {
    const size_t line = (size_t)((task->array.first_task + task->self.index) * packed + k);
    if (line < task->self.batch.count)
      task->attempts[task->count++] = (SweepAttempt){.line = line, .id = task->self.batch.runs[line].id};
  }
  for (size_t i = 0; i < task->count; i++) sweep_attempt_start(&task->self, i, &task->attempts[i]);
  while (count_living(task) > 0) {
    measure(task);
    reap(task);
    follow_rule(task);
    if (count_living(task) > 0) wait_signal(task, &signals, TICK_S);
    else go_on_with_promoted(task);
  }
  if (task->stop == STOP_NONE) sweep_task_search_continue(task->self.root, task->name);
  notify(task);
  return conclude(task, &signals);
}

static int run_task(void *given, const char **operands, size_t count) {
  SweepCommon *common = given;
  const char *root = common->root, *name = operands[0];
  Task task = {.name = name, .self.root = root, .self.name = name};
  int64_t number, array;
  bool ours;
  TRY(sweep_common_open(common));
  if (!core_text_to_int(operands[1], &number) || number < 1 || !core_text_to_int(operands[2], &array) || array < 0)
    return core_error(CORE_USAGE, "sweep task: '%.20s' '%.20s' are no batch and array", operands[1], operands[2]);
  TRY(core_text_check_name(name, "sweep"));
  TRY(from_environment("SLURM_ARRAY_JOB_ID", &task.self.job));
  TRY(from_environment("SLURM_ARRAY_TASK_ID", &task.self.index));
  TRY(from_environment("SLURM_JOB_ID", &task.self.slurm_job));
  TRY(find_array(&task, number, array, &ours));
  if (!ours) {
    core_warn("%s: job %lld is not what carries array %lld of batch %lld; nothing to do", name,
              (long long)task.self.job, (long long)array, (long long)number);
    return CORE_OK;
  }
  TRY(sweep_batch_output(root, name, number, array, task.log));
  task.log_start = sweep_joblog_size(task.log);
  sweep_task_rule_open(root, name, &task.self.rule);
  TRY(sweep_batch_read(root, name, number, &task.self.batch));
  int code = strcmp(task.self.batch.hash, task.array.hash) == 0 ? CORE_OK
             : core_error(CORE_FAIL, "%s: batch %lld was changed after it was submitted", name, (long long)number);
  const SlurmSettings *settings = &task.self.batch.settings;
  const bool prepared = *settings->modules || *settings->container; /* what these set is not to be written over */
  if (code == CORE_OK) {
    sweep_environment_apply(root, name, prepared ? SWEEP_ENVIRONMENT_FILL : SWEEP_ENVIRONMENT_OVERRIDE);
    code = carry_out(&task);
  }
  free(task.attempts);
  sweep_task_rule_close(&task.self.rule);
  sweep_batch_free(&task.self.batch);
  return code;
}

int sweep_task(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep task NAME BATCH ARRAY [options]",
    .about = "What the array tasks of a submitted sweep execute on compute nodes; not for people. It carries out the "
             "runs that array ARRAY of batch BATCH (sweeps/NAME/batches) has for SLURM_ARRAY_TASK_ID.",
    .least = 3, .most = 3};
  SweepCommon common = {0};
  const CoreOption options[] = {SWEEP_OPTION_ROOT(common), {0}};
  return core_options_answer(&manual, options, argc, argv, run_task, &common);
}
