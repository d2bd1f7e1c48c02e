/* One submission at work: what it knows of the sweep, of Slurm and of its runs. launch.c leads it; here are what Slurm
 * has already (submission_queue.c), and which runs come before which (submission_order.c). */
#ifndef SWEEP_SUBMISSION_H
#define SWEEP_SUBMISSION_H
#include "sweep/cluster/generations.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/launch.h"
#include "sweep/cluster/split.h"
#include "sweep/stop/stop_log.h"

/* A run to submit: of the grid, or as it stands in an earlier batch (source). */
typedef struct SweepPendingRun {
  int64_t index;               /* in the manifest */
  const char *id;
  size_t run;
  const SweepBatch *source;
  size_t line;
  size_t parent;               /* in the list, or as generations.h says; `task` carries a SWEEP_PARENT_EXTERNAL */
  SlurmId task;
  size_t generation, place;    /* where generations.h has put it */
  size_t set;                  /* number in launch->resources */
} SweepPendingRun;

/* One batch of it. */
typedef struct SweepGenerationBatch {
  SweepGeneration order;
  size_t set;                  /* all of its runs have the same */
  SweepSplit split;
  int64_t *jobs;               /* [split.arrays]; 0: not (yet) taken by Slurm */
} SweepGenerationBatch;

/* What one submission works with. */
typedef struct SweepSubmission {
  const SweepLaunch *launch;
  const SweepManifest *manifest;
  const SweepGrid *grid;       /* NULL: runs of earlier batches */
  SweepJobMap job_map;
  SlurmTasks queue;
  const SlurmLimits *limits;   /* NULL without a cluster */
  SlurmAllowance allowance;    /* of the account, when the submission began */
  int64_t room;                /* tasks that it still lets us submit; -1: any number */
  SweepWait after;             /* jobs of settings->after that are still there */
  SweepStopLog stops;          /* of the grid's sweep: what its [stop] rule has stopped is not submitted */
  SweepLaunchResult *done;
  SweepPendingRun *wanted;         /* [count] */
  size_t count;
  SweepGenerationBatch *generations;
  size_t generation_count;
} SweepSubmission;

/* Who tells what is done. */
FILE *sweep_submission_words(const SweepSubmission *s);
/* Returns the settings of a set's runs. */
const SlurmSettings *sweep_submission_settings(const SweepSubmission *s, size_t set);

/* ---- what Slurm has ---------------------------------------------------------------------------------------------- */

/* Asks for the jobs of this sweep and of those in slurm.after: fills `queue`, and joins `job_map` to it. */
int sweep_submission_read_queue(SweepSubmission *s);
/* sweep_submission_read_queue, and finds out what became of arrays that were asked for and never answered: waits for
 * those that may be under way, and journals which were taken and which are gone. */
int sweep_submission_reconcile(SweepSubmission *s);
/* Fills `after`: the jobs of other sweeps that must have ended first, as far as they have not. */
int sweep_submission_find_after(SweepSubmission *s);

/* ---- which runs come first --------------------------------------------------------------------------------------- */

/* The settings of a run to submit. */
int sweep_submission_config(const SweepSubmission *s, const SweepPendingRun *wanted, CoreConfig *config);
/* Finds the runs that runs begin from (init.from). Leaves out whoever begins from a run that nobody is at, and counts
 * it in `done`. */
int sweep_submission_find_parents(SweepSubmission *s);
/* Sorts the runs into generations, and each into its resource sets: a batch each. With slurm.max_running batches follow
 * each other: a child must not run together with the parents of others, nor sets at one time. */
void sweep_submission_arrange(SweepSubmission *s);
/* What an array of a generation waits for. Earlier generations have their jobs. Caller calls sweep_wait_free. */
void sweep_submission_find_waits(const SweepSubmission *s, const SweepGenerationBatch *generation, int64_t array,
                                 SweepWait *wait);

#endif
