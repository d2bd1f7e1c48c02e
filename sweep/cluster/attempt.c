/* A trainer's start, and what is written of its end (attempt.h). */
#include "sweep/cluster/attempt.h"

#include <stdio.h>
#include <unistd.h>

#include "core/log.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/cluster/joblog.h"
#include "sweep/local/trainer.h"
#include "sweep/spec/kept.h"

enum { OTHER_WRITER_WAIT_S = STORE_LOST_AFTER_S + 30 };

/* A run that another process writes: after a node's death, wait until its heartbeat is old enough to be taken over. One
 * that has not been heard of all the while is lost whatever the clocks say. */
static int wait_for_writer(const SweepArrayTask *task, const char *id, StoreState *state) {
  double first_heard_unix_s = 0;
  for (int waited = 0;; waited++) {
    if (store_run_state_read(task->root, id, true, state) != CORE_OK) core_warn("%s", core_error_message());
    if (waited == 0) first_heard_unix_s = state->heartbeat_unix_s;
    if (waited >= OTHER_WRITER_WAIT_S && state->status == STORE_RUNNING &&
        state->heartbeat_unix_s == first_heard_unix_s)
      state->status = STORE_LOST;
    if (state->status != STORE_RUNNING || waited >= OTHER_WRITER_WAIT_S) return CORE_OK;
    sleep(1);
  }
}

/* The record first: whoever reads of a failure finds its cause, even if we are killed in between. */
static void fail(const SweepArrayTask *task, SweepAttempt *attempt, SweepCause cause, const char *message) {
  StoreState state;
  if (store_run_state_read(task->root, attempt->id, true, &state) != CORE_OK) core_warn("%s", core_error_message());
  attempt->failed = true;
  attempt->record.cause = cause;
  attempt->record.ended_unix_s = core_clock_unix_s();
  if (sweep_record_write(task->root, attempt->id, &attempt->record) != CORE_OK) core_warn("%s", core_error_message());
  if (state.status == STORE_FAILED || state.status == STORE_DIVERGED || state.status == STORE_FINISHED ||
      state.status == STORE_RUNNING)
    return;
  state.status = STORE_FAILED;
  state.finished_unix_s = core_clock_unix_s();
  snprintf(state.message, sizeof state.message, "%s", message);
  if (store_run_state_write(task->root, attempt->id, &state) != CORE_OK) core_warn("%s", core_error_message());
}

void sweep_attempt_fail_with_last_line(const SweepArrayTask *task, SweepAttempt *attempt, SweepCause cause,
                                       const char *reason) {
  char line[256], message[512];
  sweep_trainer_last_line(task->root, attempt->id, line, sizeof line);
  snprintf(message, sizeof message, "%s%s%s", reason, line[0] ? "; last message: " : "", line);
  fail(task, attempt, cause, message);
}

/* Processors and GPUs of the task, shared out among its runs. */
static void share_out(const SweepArrayTask *task, size_t place, SweepTrainer *trainer) {
  const SlurmSettings *s = &task->batch.settings;
  trainer->threads = (int)s->cpus_per_run;
  trainer->ranks = (int)s->ranks_per_run;
  trainer->nodes = (int)s->nodes;
  trainer->mpi = s->mpi;
  trainer->place = s->runs_per_task > 1 ? (int)place : -1;
  trainer->gpus_per_run = s->gpus_per_run;
}

/* Its first start for this submission? Batches are counted sweep by sweep, and sweeps share runs: the job says whose
 * it is. */
static bool is_first_start(const SweepArrayTask *task, const SweepRecord *record, bool known) {
  return !known || record->batch != task->batch.number || record->job != task->job;
}

/* The record says that it starts before it does. */
static int begin(const SweepArrayTask *task, size_t place, SweepAttempt *attempt, bool is_program, bool from_start) {
  TRY(sweep_record_write(task->root, attempt->id, &attempt->record));
  CoreText kept = {0};
  if (!task->batch.force) TRY(sweep_kept_read(task->root, task->name, &kept));
  SweepTrainer trainer = {.root = task->root, .id = attempt->id, .is_program = is_program, .from_start = from_start,
                          .if_changed = task->batch.force ? "restart" : core_text_string(&kept)};
  share_out(task, place, &trainer);
  char log[CORE_PATH_MAX];
  int code = store_path_run(task->root, attempt->id, "log.txt", log);
  if (code == CORE_OK) attempt->log_start = sweep_joblog_size(log);
  sweep_memory_probe_begin(task->root, attempt->id, &attempt->memory);
  if (code == CORE_OK) code = sweep_trainer_start(&trainer, &attempt->process);
  core_text_free(&kept);
  TRY(code);
  attempt->begun = true, attempt->begun_s = core_clock_s();
  return CORE_OK;
}

static int start(const SweepArrayTask *task, size_t place, SweepAttempt *attempt) {
  CoreConfig config;
  char id[CORE_RUN_ID];
  StoreState state;
  bool known;
  SweepRecord *record = &attempt->record;
  TRY(sweep_batch_config(&task->batch, attempt->line, &config));
  /* As the trainer is told: it then finds its config.ini as it would write it. */
  config.train.threads = (int)task->batch.settings.cpus_per_run;
  TRY(store_run_prepare(task->root, &config, id));
  TRY(wait_for_writer(task, attempt->id, &state));
  if (state.status == STORE_RUNNING) {
    core_warn("run %s: process %lld on %s writes it", attempt->id, (long long)state.pid, state.host);
    return CORE_OK;
  }
  TRY(sweep_record_read(task->root, attempt->id, record, &known));
  const bool is_new = is_first_start(task, record, known);
  /* Until the trainer has begun an attempt of its own: an earlier start may have been killed before. */
  const bool from_start = task->batch.force && (is_new || record->over == state.attempt);
  const bool done = state.status == STORE_FINISHED || state.status == STORE_DIVERGED;
  if (done && !from_start) return CORE_OK;
  if (state.status == STORE_FAILED && !is_new && task->batch.settings.runs_per_task > 1) { /* others go on */
    attempt->failed = true;
    return CORE_OK;
  }
  if (sweep_task_rule_stops(&task->rule, attempt->id)) {
    core_info("run %s is stopped by rule: sweep retry takes it up", attempt->id);
    return CORE_OK;
  }
  const bool stalled = !is_new && state.iteration <= record->iteration;
  const double now = core_clock_unix_s();
  /* A start that nobody saw the end of (its node died) lasted until the run's last sign of life. */
  double lost = known && record->ended_unix_s <= 0 ? state.heartbeat_unix_s - record->started_unix_s : 0;
  if (!(lost > 0)) lost = 0;
  *record = (SweepRecord){.first_unix_s = record->first_unix_s > 0 ? record->first_unix_s : now,
                          .spent_s = record->spent_s + lost,
                          .batch = task->batch.number,
                          .job = task->job,
                          .task = task->index,
                          .slurm_job = task->slurm_job,
                          .starts = record->starts + 1,
                          .stalled = stalled ? record->stalled + 1 : 0,
                          .iteration = state.iteration,
                          .over = from_start ? state.attempt : -1,
                          .started_unix_s = now};
  gethostname(record->node, sizeof record->node - 1);
  if (record->stalled > task->batch.settings.max_restarts) {
    char message[256];
    snprintf(
      message, sizeof message,
      "no progress in %lld starts, always at iteration %lld (slurm.max_restarts); its log says more: sweep logs %s",
      (long long)record->stalled, (long long)record->iteration, attempt->id);
    fail(task, attempt, SWEEP_CAUSE_NO_PROGRESS, message);
    return CORE_OK;
  }
  return begin(task, place, attempt, config.program != NULL, from_start);
}

void sweep_attempt_start(const SweepArrayTask *task, size_t place, SweepAttempt *attempt) {
  attempt->unfinished = attempt->told = false;
  if (start(task, place, attempt) == CORE_OK) return;
  char message[512];
  snprintf(message, sizeof message, "could not be started: %s", core_error_message());
  core_log(CORE_LOG_ERROR, "run %s %s", attempt->id, message);
  fail(task, attempt, SWEEP_CAUSE_NOT_STARTED, message);
}
