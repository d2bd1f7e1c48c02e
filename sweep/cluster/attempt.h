/* One of the runs that a task carries: its trainer's start, and its record (runs/<id>/job). */
#ifndef SWEEP_ATTEMPT_H
#define SWEEP_ATTEMPT_H
#include <sys/types.h>

#include "sweep/cluster/batch.h"
#include "sweep/cluster/record.h"
#include "sweep/cluster/task_rule.h"
#include "sweep/local/run_memory.h"

/* A task of a Slurm array, as the run's trainers and records need to know it. */
typedef struct SweepArrayTask {
  const char *root, *name;    /* the workspace, the sweep */
  SweepBatch batch;
  int64_t job, index;         /* SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID */
  int64_t slurm_job;          /* SLURM_JOB_ID: the task's own number */
  SweepTaskRule rule;         /* [stop]: what it has stopped is not started */
} SweepArrayTask;

typedef struct SweepAttempt {
  size_t line;                /* in the batch */
  const char *id;
  pid_t process;              /* 0: none */
  bool begun;                 /* was started by this task */
  bool unfinished;            /* ended before it was done, and would go on */
  bool failed;
  bool told;                  /* to end, by the sweep's [stop] rule */
  int64_t log_start;          /* size of the run's log at its start */
  double begun_s;             /* the last start, by the monotonic clock: the record's times are the calendar's, which
                               * may be set */
  SweepRecord record;
  SweepMemoryProbe memory;
} SweepAttempt;

/* Starts the trainer, unless the run is done, stopped by rule, or carried out by another process: waits for that one's
 * end, or until its heartbeat is old enough. `place`: among the task's runs. A run that cannot be started, or that has
 * made no progress in slurm.max_restarts starts, fails. */
void sweep_attempt_start(const SweepArrayTask *task, size_t place, SweepAttempt *attempt);

/* The run has failed: says so, with the last line of its log, in its record, and in its state where the trainer could
 * not. */
void sweep_attempt_fail_with_last_line(const SweepArrayTask *task, SweepAttempt *attempt, SweepCause cause,
                                       const char *reason);

#endif
