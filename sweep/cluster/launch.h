/* Submission of runs to Slurm: selects the missing runs, writes their batch, splits it into arrays and submits each of
 * them exactly once, even if a crash interrupts it. The path of `sweep submit` to a cluster, as
 * executor.h is the path to this machine. */
#ifndef SWEEP_LAUNCH_H
#define SWEEP_LAUNCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"
#include "slurm/cluster.h"
#include "store/workspace/run.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/resources.h"
#include "sweep/supervise/condition.h"

/* Effect of a launch. All modes except SWEEP_LAUNCH_SUBMIT leave the workspace and the queue unchanged. */
typedef enum SweepLaunchMode {
  SWEEP_LAUNCH_SUBMIT,
  SWEEP_LAUNCH_TEST_ONLY, /* print the batches and their cost, and ask Slurm when the first array of each would start
                             (sbatch --test-only) */
  SWEEP_LAUNCH_PREVIEW,   /* print nothing; generate the script of one array */
} SweepLaunchMode;

/* Request and result of SWEEP_LAUNCH_PREVIEW. */
typedef struct SweepPreview {
  int64_t array;                  /* index of the array, counted over the whole submission */
  int64_t arrays;                 /* out: number of arrays */
  CoreText script;                /* out: its script, to the byte; "" if there is no such array */
} SweepPreview;

typedef struct SweepLaunch {
  const char *root, *name;        /* workspace, sweep */
  SweepLaunchMode mode;
  SweepPreview *preview;          /* required with SWEEP_LAUNCH_PREVIEW, unused otherwise */
  SlurmCluster *cluster;          /* NULL only in previews */
  const SlurmSettings *settings;  /* settings of the whole sweep: account, slurm.after, max_running */
  const SweepResources *resources; /* resource sets of the blocks; NULL: all runs use `settings` */
  const size_t *run_sets;         /* [count] resource set of each run of sweep_launch_resubmit; NULL: the first */
  bool force;                     /* restart finished and diverged runs from the beginning */
  int64_t forced_before_batch;    /* except runs last submitted in this batch or a later one; 0: no exception */
  bool keep_failed;               /* leave failed runs alone */
  bool resume_stopped;            /* submit also runs that the [stop] rule has stopped */
  FILE *out;                      /* human-readable progress; NULL: stdout. stderr with --json */
  bool held;                      /* submit the arrays held; sweep hold --off lets them start */
} SweepLaunch;

typedef struct SweepLaunchResult {
  /* Runs by the condition that keeps them from being submitted; NOT_SUBMITTED: the due ones. QUEUED, RUNNING, FINISHED,
   * DIVERGED, FAILED (and keep_failed), STOPPED_BY_RULE (until --by-rule), OUT_OF_MEMORY (and would get no more). */
  size_t runs[SWEEP_CONDITIONS];
  size_t submitted;               /* due runs that Slurm accepted */
  size_t waiting;                 /* due runs that the account's limit on queued jobs holds back */
  size_t rejected;                /* due runs that Slurm did not accept */
  char rejection[512];            /* Slurm's reason; "": none was rejected */
  size_t orphans;                 /* due runs left out since their parent is neither done nor in a queue */
  char orphan[CORE_RUN_ID];       /* one such parent */
  size_t arrays, tasks;
  int64_t batch;                  /* number of the first batch of this submission, also if nothing is submitted */
} SweepLaunchResult;

/* Submits the due runs of the grid. Prints a line per array. CORE_FAIL: another process is submitting this sweep, or
 * Slurm cannot be reached or rejects an array. Accepted arrays stay submitted, and the next call submits the rest. */
int sweep_launch_grid(const SweepLaunch *launch, const SweepGrid *grid, const SweepManifest *manifest,
                      SweepLaunchResult *result);

/* Submits runs again that were submitted before (by manifest index, ascending), whatever their state: promoted runs. */
int sweep_launch_resubmit(const SweepLaunch *launch, const SweepManifest *manifest, const int64_t *indices,
                          size_t count, SweepLaunchResult *result);

/* ---- cost and limits --------------------------------------------------------------------------------------------- */

/* Number of runs with the same settings. */
typedef struct SweepDemand {
  const SlurmSettings *settings;
  size_t runs;
} SweepDemand;

/* Appends "at most 12.5 GPU-hours and 50 CPU-hours": all demands together, by the time limits of their tasks. */
void sweep_launch_append_cost(const SweepDemand *demands, size_t count, CoreText *text);

/* Appends a line for each limit of the account that these runs exceed: queued jobs, CPU and GPU minutes. */
void sweep_launch_append_allowance(const SlurmAllowance *allowance, const SweepDemand *demands, size_t count,
                                   CoreText *text);

/* Checks that a task with these settings fits one of its partitions. CORE_USAGE: its limits exclude it, or Slurm
 * accepts no jobs there at present; the message names settings and limits. A partition that fits but starts no jobs at
 * present is a warning, since they wait in the queue. */
int sweep_fit_check(SlurmCluster *cluster, const SlurmSettings *settings);

/* ---- promote.c --------------------------------------------------------------------------------------------------- */

/* Returns runs that a sweep's [stop] rule stopped and later promoted to Slurm's queue. Any process may call it. */

typedef struct SweepPromoteResult {
  size_t submitted;
  size_t waiting;    /* promoted runs whose old task is still in Slurm's queue: retry when it has ended */
} SweepPromoteResult;

/* Submits the promoted runs of a sweep that were not started since their promotion. Safe to repeat and to call from
 * several processes: a submission holds the journal's lock and skips runs in the queue. Slurm is not called for a sweep
 * that was never submitted to it, or without promoted runs. */
int sweep_promote(const char *root, const char *name, SweepPromoteResult *result);

#endif
