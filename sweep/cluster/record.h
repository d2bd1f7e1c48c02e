/* runs/<id>/job: what the Slurm task that last carried a run knows of it and the run itself cannot: which task, how
 * often it was started, how its process ended. Written by `sweep task` only. */
#ifndef SWEEP_RECORD_H
#define SWEEP_RECORD_H
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

/* Why an attempt ended before the run was done. */
typedef enum SweepCause {
  SWEEP_CAUSE_NONE,           /* it runs, is done, or said itself why it failed */
  SWEEP_CAUSE_TIME_LIMIT,     /* stopped before the task's time limit, given back to Slurm */
  SWEEP_CAUSE_NOT_REQUEUED,   /* the same, but Slurm could not be told: sweep submit goes on */
  SWEEP_CAUSE_STOPPED,        /* by a signal: cancelled, requeued or stopped by hand, or perhaps preempted */
  SWEEP_CAUSE_KILLED,
  SWEEP_CAUSE_OUT_OF_MEMORY,
  SWEEP_CAUSE_NO_PROGRESS,    /* max_restarts starts in a row without an iteration */
  SWEEP_CAUSE_NOT_STARTED,    /* no program, no folder, no configuration */
  SWEEP_CAUSE_PREEMPTED,      /* Slurm said so; else preemption is SWEEP_CAUSE_STOPPED */
  SWEEP_CAUSE_RULE,           /* the sweep's [stop] */
} SweepCause;

typedef struct SweepRecord {
  int64_t batch, job, task;
  int64_t slurm_job; /* the task's own number, SLURM_JOB_ID, by which the node's daemon calls it; 0: not known */
  int64_t starts;             /* of the program, over all tasks */
  int64_t stalled;            /* of these, the last ones in a row that began at the same iteration */
  int64_t iteration;          /* at the last start */
  int64_t over;               /* the attempt that this job starts over (--force); -1: none */
  SweepCause cause;
  double started_unix_s, ended_unix_s;
  /* Over all starts, for sweep report: */
  double first_unix_s;        /* the first start */
  double spent_s;             /* seconds that the program ran, also what was lost and done again */
  int64_t peak_mb; /* of older versions: memory of the largest process alone; run_memory.h has what counts. 0: none */
  char node[64];
} SweepRecord;

/* *present = false and an empty record when there is none, or one that cannot be understood. */
int sweep_record_read(const char *root, const char *id, SweepRecord *record, bool *present);
int sweep_record_write(const char *root, const char *id, const SweepRecord *record);

#endif
