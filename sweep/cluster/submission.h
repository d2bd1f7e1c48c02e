/* State of one submission: its sweep, Slurm's queue and the runs to submit. launch.c drives it; submission.c reads the
 * queue, orders the runs by their parents and determines the dependencies of each array. */
#ifndef SWEEP_SUBMISSION_H
#define SWEEP_SUBMISSION_H
#include "sweep/cluster/generations.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/launch.h"
#include "sweep/cluster/split.h"
#include "sweep/stop/stop_log.h"

/* A run to submit: of the grid, or a line of an earlier batch. */
typedef struct SweepPendingRun {
  int64_t index;               /* manifest index */
  const char *id;
  size_t grid_index;           /* in SweepSubmission.grid */
  const SweepBatch *source;    /* earlier batch; NULL: the grid */
  size_t line;                 /* in `source` */
  size_t parent;               /* index in SweepSubmission.runs, SWEEP_NO_PARENT or SWEEP_PARENT_EXTERNAL */
  SlurmId parent_task;         /* task of a SWEEP_PARENT_EXTERNAL */
  size_t batch, batch_line;    /* index in SweepSubmission.batches, and the run's line there */
  size_t set;                  /* index of its resource set */
} SweepPendingRun;

/* Runs of one generation that share a resource set. */
typedef struct SweepPendingBatch {
  SweepGeneration generation;  /* `first` and `count` are a range of SweepSubmission.runs */
  size_t set;                  /* index of the resource set */
  SweepSplit split;
  int64_t *jobs;               /* [split.arrays] Slurm job ids; 0: not (yet) accepted */
} SweepPendingBatch;

typedef struct SweepSubmission {
  const SweepLaunch *launch;
  const SweepManifest *manifest;
  const SweepGrid *grid;       /* NULL: the runs are lines of earlier batches */
  SweepJobMap job_map;
  SlurmTasks queue;
  const SlurmLimits *limits;   /* NULL without a cluster */
  SlurmAllowance allowance;    /* limits of the account at the start of the submission */
  int64_t submit_room;         /* tasks that the account may still submit; -1: unlimited */
  SweepWait after;             /* unfinished jobs of the sweeps in slurm.after */
  SweepStopLog stops;          /* decisions of the sweep's [stop] rule */
  SweepLaunchResult *result;
  SweepPendingRun *runs;       /* [count] */
  size_t count;
  SweepPendingBatch *batches;  /* [batch_count], parents before children */
  size_t batch_count;
  int lock;                    /* the journal's; -1: not taken */
} SweepSubmission;

/* Returns the stream for human-readable progress. */
FILE *sweep_submission_out(const SweepSubmission *s);
/* Returns the settings of a resource set. */
const SlurmSettings *sweep_submission_settings(const SweepSubmission *s, size_t set);

/* ---- the queue --------------------------------------------------------------------------------------------------- */

/* Lists the jobs of this sweep and of those in slurm.after: fills `queue` and joins `job_map` to it. */
int sweep_submission_read_queue(SweepSubmission *s);
/* Reads the queue and resolves arrays that were requested but never confirmed: waits for those that may still be on
 * their way, then records each as accepted or lost in the journal. */
int sweep_submission_reconcile(SweepSubmission *s);
/* Fills `after` with the unfinished jobs of the sweeps in slurm.after. */
int sweep_submission_find_after(SweepSubmission *s);

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Reads the configuration of a run to submit. */
int sweep_submission_config(const SweepSubmission *s, const SweepPendingRun *run, CoreConfig *config);
/* Finds the settings that the runs of a batch are described against: those of the file or, for runs that are submitted
 * again without it, the first run of a program, since each run line has settings only. */
int sweep_submission_base(const SweepSubmission *s, const SweepPendingBatch *batch, CoreConfig *base);
/* Finds the parents (init.from) of all runs. Drops runs whose parent is neither done nor in a queue, and counts them in
 * result->orphans. */
int sweep_submission_find_parents(SweepSubmission *s);
/* Sorts the runs into `batches`, by generation and resource set. With slurm.max_running the batches run one after the
 * other: neither may a child run together with parents of other runs, nor may two resource sets run at once. */
void sweep_submission_arrange(SweepSubmission *s);
/* Determines the dependencies of an array. The arrays of earlier batches have their jobs. The caller calls
 * sweep_wait_free. */
void sweep_submission_find_waits(const SweepSubmission *s, const SweepPendingBatch *batch, int64_t array,
                                 SweepWait *wait);

#endif
