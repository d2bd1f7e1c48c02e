/* Record of a run's last Slurm task: runs/<id>/job. It holds what the run itself cannot know: the task, the number of
 * starts, and how its process ended. Written by `sweep task` only. */
#ifndef SWEEP_RECORD_H
#define SWEEP_RECORD_H
#include <stdbool.h>
#include <stdint.h>

#include "sweep/supervise/end.h"

typedef struct SweepRecord {
  int64_t batch;              /* number of the batch */
  int64_t job, task;          /* SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID */
  int64_t slurm_job;          /* SLURM_JOB_ID of the task, which slurmstepd prints; 0: unknown */
  int64_t starts;             /* starts of the program, over all tasks */
  int64_t stalled;            /* last consecutive starts after which the run was no further than ever before */
  int64_t iteration;          /* iteration at the last start */
  double furthest;            /* largest step, in transitions, that any start has logged */
  int64_t restarted_attempt;  /* attempt that this job restarts from the beginning (--force); -1: none */
  SweepCause cause;
  double started_unix_s, ended_unix_s; /* last start and its end; 0: running, or its end was not seen */
  double first_unix_s;        /* first of all starts */
  double spent_s;             /* run time over all starts, including lost work */
  int64_t peak_mb;            /* memory of the largest process, from older versions (now run_memory.h); 0: none */
  char node[64];
} SweepRecord;

/* Reads the record. *exists = false and an empty record if it is absent or cannot be parsed. */
int sweep_record_read(const char *root, const char *id, SweepRecord *record, bool *exists);
int sweep_record_write(const char *root, const char *id, const SweepRecord *record);

#endif
