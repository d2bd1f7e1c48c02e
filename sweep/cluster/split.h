/* A batch split into Slurm arrays, and what Slurm is told of each: the same whether it is submitted, tested or only
 * shown. */
#ifndef SWEEP_SPLIT_H
#define SWEEP_SPLIT_H
#include "core/files.h"
#include "core/text.h"
#include "slurm/cluster.h"
#include "sweep/cluster/batch.h"
#include "sweep/cluster/launch.h"

typedef struct SweepSplit {
  const SweepLaunch *launch;     /* borrowed */
  const SlurmSettings *settings; /* its runs'; borrowed */
  int64_t number;                /* of the batch */
  char hash[SWEEP_HASH];
  size_t runs;
  int64_t tasks, array_tasks;    /* of the batch; of a full array */
  int64_t arrays;
} SweepSplit;

/* limits: NULL for a cluster that cannot be asked, which means Slurm's defaults. room: how many tasks may be submitted
 * at this moment, which is the most that an array gets; 0 or less: no limit. The caller fills in the hash. */
SweepSplit sweep_split_make(const SweepLaunch *launch, const SlurmSettings *settings, const SlurmLimits *limits,
                            int64_t room, size_t runs, int64_t number);

/* How many runs array 0 .. arrays-1 carries. */
size_t sweep_split_runs(const SweepSplit *split, int64_t array);

/* What an array waits for: jobs and tasks. For previews, `unknown` names those that have no number yet. */
typedef struct SweepWait {
  SlurmId *after;
  size_t count;
  int64_t after_each;            /* see SlurmJob */
  CoreText unknown;              /* " array 0 of batch 1;"...; empty: none */
} SweepWait;
/* Once each. A job of number 0 is one that this submission is yet to get: `array` of batch `number` (a preview). */
void sweep_wait_add(SweepWait *wait, SlurmId id, int64_t number, int64_t array);
void sweep_wait_free(SweepWait *wait);

typedef struct SweepArrayJob {   /* a job with what it borrows */
  SlurmJob job;
  char comment[SLURM_NAME], output[CORE_PATH_MAX], remark[512];
  CoreText script;
} SweepArrayJob;

/* Fills in a job, script included; borrows launch and wait. Caller calls core_text_free(&job->script), whatever is
 * returned. */
int sweep_split_job(const SweepSplit *split, int64_t array, const SweepWait *wait, SweepArrayJob *job);

#endif
