/* Decides whether a run starts, starts it, and records its failure (attempt.h). */
#include "sweep/cluster/attempt.h"

#include <stdio.h>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/cluster/joblog.h"
#include "sweep/local/attempt_steps.h"

enum { OTHER_OWNER_WAIT_S = STORE_LOST_AFTER_S + 30 };
static const double progress_min = 0.1; /* fraction of a start's records that must be beyond all earlier ones */

void sweep_attempt_write_record(const SweepArrayTask *task, const SweepAttempt *attempt) {
  if (sweep_record_write(task->root, attempt->id, &attempt->record) != CORE_OK) core_warn("%s", core_error_message());
}

/* Writes the record before the state, so that a reader of the failure finds its cause even if this process is killed in
 * between. */
void sweep_attempt_fail(const SweepArrayTask *task, SweepAttempt *attempt, SweepCause cause, const char *reason,
                        bool with_last_line) {
  attempt->condition = SWEEP_FAILED;
  attempt->record.cause = cause;
  attempt->record.ended_unix_s = core_clock_unix_s();
  sweep_attempt_write_record(task, attempt);
  sweep_end_record_failure(task->root, attempt->id, attempt->record.restarted_attempt, reason, with_last_line);
}

/* ---- the evidence ------------------------------------------------------------------------------------------------ */

/* Facts about a run before its start. */
typedef struct StartEvidence {
  StoreState state;
  SweepRecord record;         /* record of the last start */
  bool has_record;
  bool is_first_start;        /* for this submission */
  bool is_restart;            /* from the beginning, by --force */
  double furthest;            /* largest step that any start has logged, in transitions */
  int64_t stalled;            /* last consecutive starts that got no further */
} StartEvidence;

/* Reads the run's state, and waits while another process owns the run. After the death of a node that is until its
 * heartbeat expires. A heartbeat that stays the same all the time is lost even if clocks differ. */
static void wait_for_owner(const SweepArrayTask *task, const char *id, StoreState *state) {
  double first_heartbeat_unix_s = 0;
  for (int waited_s = 0;; waited_s++) {
    if (store_run_state_read(task->root, id, true, state) != CORE_OK) core_warn("%s", core_error_message());
    if (waited_s == 0) first_heartbeat_unix_s = state->heartbeat_unix_s;
    const bool is_last = waited_s >= OTHER_OWNER_WAIT_S;
    if (is_last && state->status == STORE_RUNNING && state->heartbeat_unix_s == first_heartbeat_unix_s)
      state->status = STORE_LOST;
    if (is_last || state->status != STORE_RUNNING) return;
    sleep(1);
  }
}

/* Judges the last start: whether the run got further than ever before. A run without checkpoints repeats its work at
 * each start, and gets a few records further by chance: a tenth of its records must be new. */
static int judge_progress(const SweepArrayTask *task, const char *id, StartEvidence *evidence, bool *has_progressed) {
  const SweepRecord *record = &evidence->record;
  SweepAttemptSteps steps;
  TRY(sweep_attempt_steps_read(task->root, id, evidence->state.attempt, &steps));
  const double last = sweep_attempt_steps_last(&steps);
  *has_progressed = last > 0 ? sweep_attempt_steps_beyond(&steps, record->furthest) >= progress_min
                             : evidence->state.iteration > record->iteration;
  evidence->furthest = last > record->furthest ? last : record->furthest;
  sweep_attempt_steps_free(&steps);
  return CORE_OK;
}

/* Gathers the evidence. The job identifies the submission: batches are numbered per sweep, and sweeps share runs. A
 * restart counts until the trainer has begun its own attempt, since an earlier start may have been killed before. */
static int gather_evidence(const SweepArrayTask *task, const char *id, StartEvidence *evidence) {
  const SweepRecord *record = &evidence->record;
  wait_for_owner(task, id, &evidence->state);
  TRY(sweep_record_read(task->root, id, &evidence->record, &evidence->has_record));
  evidence->is_first_start =
    !evidence->has_record || record->batch != task->batch.number || record->job != task->job;
  evidence->is_restart = task->batch.force &&
    (evidence->is_first_start || record->restarted_attempt == evidence->state.attempt);
  if (store_status_is_final(evidence->state.status) && !evidence->is_restart) return CORE_OK; /* it is done */

  bool has_progressed;
  TRY(judge_progress(task, id, evidence, &has_progressed));
  if (evidence->is_restart) evidence->furthest = 0;
  evidence->stalled = evidence->is_first_start || has_progressed ? 0 : record->stalled + 1;
  return CORE_OK;
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

/* Makes the record of this start. A start whose end was not recorded (its node died) lasted until the run's last
 * heartbeat. */
static SweepRecord make_record(const SweepArrayTask *task, const StartEvidence *evidence) {
  const SweepRecord *last = &evidence->record;
  const StoreState *state = &evidence->state;
  const double now_unix_s = core_clock_unix_s();
  const bool is_end_unknown = evidence->has_record && last->ended_unix_s <= 0;
  const double unrecorded_s = is_end_unknown ? state->heartbeat_unix_s - last->started_unix_s : 0;

  SweepRecord record = {.first_unix_s = last->first_unix_s > 0 ? last->first_unix_s : now_unix_s,
                        .spent_s = last->spent_s + (unrecorded_s > 0 ? unrecorded_s : 0),
                        .batch = task->batch.number,
                        .job = task->job,
                        .task = task->index,
                        .slurm_job = task->slurm_job,
                        .starts = last->starts + 1,
                        .stalled = evidence->stalled,
                        .iteration = state->iteration,
                        .furthest = evidence->furthest,
                        .restarted_attempt = evidence->is_restart ? state->attempt : -1,
                        .started_unix_s = now_unix_s};

  gethostname(record.node, sizeof record.node - 1);
  return record;
}

/* Writes the record and starts the run, in this order: a start is never missing from the record. */
static int launch(SweepArrayTask *task, size_t slot, SweepAttempt *attempt, const CoreConfig *config,
                  bool is_restart) {
  const SlurmSettings *settings = &task->batch.settings;
  char log[CORE_PATH_MAX];

  TRY(sweep_record_write(task->root, attempt->id, &attempt->record));
  TRY(store_path_run(task->root, attempt->id, "log.txt", log));
  attempt->log_start = sweep_joblog_size(log);

  const SweepTrainer trainer = {.root = task->root, .id = attempt->id, .sweep = task->name, .config = config,
                                .from_start = is_restart, .force = task->batch.force,
                                .threads = (int)settings->cpus_per_run, .ranks = (int)settings->ranks_per_run,
                                .nodes = (int)settings->nodes, .mpi = settings->mpi,
                                .slot = settings->runs_per_task > 1 ? (int)slot : -1,
                                .gpus_per_run = settings->gpus_per_run};

  TRY(sweep_supervisor_start(&task->supervisor, &trainer, &attempt->child));
  attempt->condition = SWEEP_RUNNING;
  return CORE_OK;
}

/* Fails a run of which too many consecutive starts got no further. */
static void fail_without_progress(const SweepArrayTask *task, SweepAttempt *attempt) {
  char message[256];
  attempt->record.starts--; /* this is none */
  snprintf(message, sizeof message, "no progress in %lld starts: none got further than step %.15g "
           "(slurm.max_restarts); save checkpoints, or raise slurm.time; sweep logs %s shows its log",
           (long long)attempt->record.stalled, attempt->record.furthest, attempt->id);
  sweep_attempt_fail(task, attempt, SWEEP_CAUSE_NO_PROGRESS, message, false);
}

/* Whether the run has no reason not to start: another process writes it, it is done, it has failed in this job whose
 * other runs continue, or the rule has stopped it. */
static bool can_start(const SweepArrayTask *task, const StartEvidence *evidence, SweepAttempt *attempt) {
  const StoreState *state = &evidence->state;
  const bool was_started = attempt->condition != SWEEP_NOT_SUBMITTED; /* by this task, and was killed or stopped */
  attempt->condition = SWEEP_NOT_SUBMITTED;
  if (state->status == STORE_RUNNING) {
    core_warn("run %s: not started: process %lld on %s still writes it", attempt->id, (long long)state->pid,
              state->host);
    return false;
  }

  if (store_status_is_final(state->status) && !evidence->is_restart) {
    if (was_started) attempt->condition = SWEEP_FINISHED;
    return false;
  }
  const bool is_alone = task->batch.settings.runs_per_task <= 1;
  if (state->status == STORE_FAILED && !evidence->is_first_start && !is_alone) {
    attempt->condition = SWEEP_FAILED;
    return false;
  }

  const bool is_stopped = sweep_task_rule_stops(&task->rule, attempt->id);
  if (is_stopped) core_info("run %s: stopped by rule; resume it with sweep submit --by-rule", attempt->id);
  return !is_stopped;
}

static int start(SweepArrayTask *task, size_t slot, SweepAttempt *attempt) {
  CoreConfig config;
  char id[CORE_RUN_ID];
  StartEvidence evidence = {0};
  if (!task->batch.is_own)
    return core_error(CORE_FAIL, "batch %lld of %s was changed, or this user has not submitted it; submit the sweep "
                      "again", (long long)task->batch.number, task->name);

  TRY(sweep_batch_config(&task->batch, attempt->line, &config));
  config.train.threads = (int)task->batch.settings.cpus_per_run; /* as on the trainer's command line */
  TRY(store_run_prepare(task->root, &config, id));
  TRY(gather_evidence(task, attempt->id, &evidence));
  attempt->record = evidence.record;
  if (!can_start(task, &evidence, attempt)) return CORE_OK;

  attempt->record = make_record(task, &evidence);
  if (evidence.stalled > 0 && evidence.stalled >= task->batch.settings.max_restarts) {
    fail_without_progress(task, attempt);
    return CORE_OK;
  }
  return launch(task, slot, attempt, &config, evidence.is_restart);
}

void sweep_attempt_start(SweepArrayTask *task, size_t slot, SweepAttempt *attempt) {
  if (start(task, slot, attempt) == CORE_OK) return;
  char message[512];
  snprintf(message, sizeof message, "could not be started: %s", core_error_message());
  core_log(CORE_LOG_ERROR, "run %s %s", attempt->id, message);
  sweep_attempt_fail(task, attempt, SWEEP_CAUSE_NOT_STARTED, message, false);
}
