/* One of the runs of a task: the start of its trainer, and its record (runs/<id>/job). */
#ifndef SWEEP_ATTEMPT_H
#define SWEEP_ATTEMPT_H
#include "sweep/cluster/batch.h"
#include "sweep/cluster/record.h"
#include "sweep/cluster/task_internal.h"
#include "sweep/supervise/condition.h"
#include "sweep/supervise/supervisor.h"

/* A task of a Slurm array, as its runs and records need it. */
typedef struct SweepArrayTask {
  SweepSupervisor supervisor; /* starts and watches the runs */
  const char *root, *name;    /* workspace, sweep */
  SweepBatch batch;
  int64_t job, index;         /* SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID */
  int64_t slurm_job;          /* SLURM_JOB_ID: the task's own job id */
  SweepTaskRule rule;         /* [stop] rule; runs that it has stopped are not started */
} SweepArrayTask;

typedef struct SweepAttempt {
  size_t line;                /* in the batch */
  const char *id;
  SweepChild *child;          /* owned by the supervisor; NULL: not running */
  SweepCondition condition;   /* in this task; task.c has the table */
  int64_t log_start;          /* size of the run's log at the start, bytes */
  SweepRecord record;
} SweepAttempt;

/* Starts the run, unless the run is done, stopped by rule, or owned by another process: waits until that process
 * ends or its heartbeat expires. slot: index among the task's runs. A run that cannot be started, or that made no
 * progress in slurm.max_restarts starts, fails. */
void sweep_attempt_start(SweepArrayTask *task, size_t slot, SweepAttempt *attempt);

/* Marks the run as failed for `reason` and, with_last_line, the last line of its log: in its record, and in its state
 * if it could not write one. */
void sweep_attempt_fail(const SweepArrayTask *task, SweepAttempt *attempt, SweepCause cause, const char *reason,
                        bool with_last_line);

/* Writes the attempt's record; an error is a warning. */
void sweep_attempt_write_record(const SweepArrayTask *task, const SweepAttempt *attempt);

#endif
