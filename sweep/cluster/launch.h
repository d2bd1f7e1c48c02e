/* Runs to Slurm: chooses what is missing, writes the batch, cuts it into arrays and hands them over, exactly once
 * whatever happens in between. `sweep submit`'s and `sweep retry`'s way to a cluster, as executor.h is the way to this
 * machine. */
#ifndef SWEEP_LAUNCH_H
#define SWEEP_LAUNCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "slurm/cluster.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/resources.h"

/* Instead of submitting: the script of one of the arrays that would be handed over, to the byte. */
typedef struct SweepPreview {
  int64_t array;                  /* which, counted over the whole submission */
  int64_t arrays;                 /* out: how many there are */
  CoreText script;                /* out: "" when there is no such array */
} SweepPreview;

typedef struct SweepLaunch {
  const char *root, *name;
  SlurmCluster *cluster;          /* NULL only with dry_run */
  const SlurmSettings *settings;  /* the sweep's: its account, what it waits for, how many run at a time */
  const SweepResources *resources; /* sets of runs, by block; NULL: settings holds for all */
  const size_t *run_sets;         /* [count] of sweep_launch_resubmit: the set of each run; NULL: the first */
  bool force;                     /* also finished and diverged runs, from the beginning */
  int64_t forced_from;            /* but none that is in this batch or a later one; 0: all */
  bool keep_failed;               /* failed runs stay as they are */
  bool dry_run, test_only;        /* say what would be done; change nothing */
  SweepPreview *preview;          /* not NULL: as dry_run, and says nothing */
  FILE *words;                    /* who tells what is done: NULL is stdout; with --json stderr */
  bool held;                      /* hand them over held: sweep release lets them start */
} SweepLaunch;

/* What there was to do and what was done. */
typedef struct SweepLaunchResult {
  size_t submitted, queued, finished, diverged, failed, running, /* failed: kept so */
      exhausted; /* exhausted: out of memory: the same would happen again */
  size_t stopped;                 /* by the sweep's [stop] rule: sweep retry takes them up */
  size_t orphans;                 /* begin from runs that are neither done nor in any queue: they would fail */
  char orphan[CORE_RUN_ID];       /* such a parent */
  size_t arrays, tasks;
  size_t refused;                 /* runs that Slurm did not take; refusal says why */
  char refusal[512];
  int64_t batch;                  /* the first that this submission made, or would have */
  size_t waiting;                 /* runs that the account's limit on queued jobs keeps out for now */
} SweepLaunchResult;

/* Submits the runs of the grid that are neither done nor in the queue. Prints a line for each array. CORE_FAIL:
 * somebody else is submitting this sweep; Slurm cannot be reached or refuses; what it has taken until then stays, and
 * the next call goes on. */
int sweep_launch_grid(const SweepLaunch *launch, const SweepGrid *grid, const SweepManifest *manifest,
                      SweepLaunchResult *done);

/* Submits runs again that were submitted before (by manifest index, ascending), whatever their state: sweep retry. */
int sweep_launch_resubmit(const SweepLaunch *launch, const SweepManifest *manifest, const int64_t *indices,
                          size_t count,
                       SweepLaunchResult *done);

/* Runs that ask for the same. */
typedef struct SweepDemand {
  const SlurmSettings *settings;
  size_t runs;
} SweepDemand;

/* "at most 12.5 GPU-hours and 50 CPU-hours" by the tasks' time limits, of all demands together. */
void sweep_launch_append_cost(const SweepDemand *demands, size_t count, CoreText *text);

/* Lines on what the account still allows, where these runs need more: jobs in the queue, minutes of processors and
 * GPUs. */
void sweep_launch_append_allowance(const SlurmAllowance *allowance, const SweepDemand *demands, size_t count,
                            CoreText *text);

/* Does what is asked for fit a partition of this cluster at all? CORE_USAGE names the setting and the largest that
 * fits. */
int sweep_launch_check_fit(SlurmCluster *cluster, const SlurmSettings *settings);

#endif
