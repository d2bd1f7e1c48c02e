/* Splits a batch into Slurm arrays and fills in the job of each, the same whether it is submitted, tested or
 * previewed. */
#ifndef SWEEP_SPLIT_H
#define SWEEP_SPLIT_H
#include "core/files.h"
#include "core/text.h"
#include "slurm/cluster.h"
#include "sweep/cluster/batch.h"
#include "sweep/cluster/launch.h"

typedef struct SweepSplit {
  const SweepLaunch *launch;     /* borrowed */
  const SlurmSettings *settings; /* settings of the batch's runs; borrowed */
  int64_t batch;                 /* number of the batch */
  char hash[SWEEP_HASH];         /* hash of the batch file */
  size_t runs;
  int64_t tasks;                 /* tasks of the whole batch */
  int64_t array_tasks;           /* tasks of a full array */
  int64_t arrays;
} SweepSplit;

/* Splits `runs` runs of batch number `batch`. limits NULL: the cluster cannot be queried, so Slurm's defaults apply.
 * submit_room: tasks that may be submitted now, the maximum of an array; 0 or less: no limit. The caller fills in the
 * hash. */
SweepSplit sweep_split_make(const SweepLaunch *launch, const SlurmSettings *settings, const SlurmLimits *limits,
                            int64_t submit_room, size_t runs, int64_t batch);

/* Returns the number of runs in array 0 .. arrays-1. */
size_t sweep_split_runs(const SweepSplit *split, int64_t array);

/* Dependencies of an array. */
typedef struct SweepWait {
  SlurmId *after;                /* [count] jobs and tasks that must have ended */
  size_t count;
  int64_t after_each;            /* as in SlurmJob */
  CoreText unknown;              /* dependencies without a job id yet (previews): " array 0 of batch 1;"... */
} SweepWait;
/* Adds a dependency, once. id.job 0: array `array` of batch `batch` of this submission, which has no job id yet (a
 * preview). */
void sweep_wait_add(SweepWait *wait, SlurmId id, int64_t batch, int64_t array);
void sweep_wait_free(SweepWait *wait);

/* A job and the texts that it borrows. */
typedef struct SweepArrayJob {
  SlurmJob job;
  char comment[SLURM_NAME], output[CORE_PATH_MAX], remark[512];
  CoreText script;
} SweepArrayJob;

/* Fills in a job, including its script; borrows launch and wait. The caller calls core_text_free(&job->script), also
 * after an error. */
int sweep_split_job(const SweepSplit *split, int64_t array, const SweepWait *wait, SweepArrayJob *job);

#endif
