/* The condition of each run of a sweep on Slurm: the states that runs report, joined with Slurm's queue and accounting,
 * with a reason and a remedy. progress.h has the states alone. */
#ifndef SWEEP_CLUSTER_STATUS_H
#define SWEEP_CLUSTER_STATUS_H
#include "slurm/cluster.h"
#include "sweep/status/failures.h"
#include "sweep/status/progress.h"
#include "sweep/supervise/condition.h"

typedef struct SweepRunStatus {
  SweepCondition condition;
  SlurmId id;               /* Slurm task; job 0: never submitted */
  char parent[CORE_RUN_ID]; /* id of an orphaned run's parent */
  char text[448];           /* reason and remedy, one line; "" if there is none */
} SweepRunStatus;

typedef struct SweepClusterStatus {
  SweepRunStatus *run;            /* [progress->runs] */
  size_t count[SWEEP_CONDITIONS]; /* runs per condition, without those absent from the sweep's file */
  bool is_stale;                  /* Slurm did not answer: the queue is unknown */
  char problem[512];              /* error message of Slurm if is_stale */
} SweepClusterStatus;

/* Queries Slurm's queue for sweeps of a workspace, by one call for all of them. Uses an answer to the same query of at
 * most max_age_s ago from the user's cache directory. CORE_FAIL: Slurm does not answer. Caller frees. */
int sweep_cluster_status_query(const SlurmSelection *selection, double max_age_s, SlurmTasks *tasks);

/* Deletes cached answers. Call after every change of the queue, or status would miss the change for seconds. */
void sweep_cluster_status_clear_cache(void);

/* Finds the condition of each run. tasks NULL: Slurm did not answer, for the reason `problem`. Queries the accounting
 * database, if there is one, for runs that neither their files nor the queue account for. */
int sweep_cluster_status_classify(const char *root, const SweepProgress *progress, const SlurmTasks *tasks,
                                  const char *problem, SweepClusterStatus *cluster);
void sweep_cluster_status_free(SweepClusterStatus *cluster);

/* Marks the runs of flags[runs] as absent from the sweep's file in both, except those that Slurm has or that are
 * done. */
void sweep_cluster_status_mark_absent(const bool *flags, SweepProgress *progress, SweepClusterStatus *cluster);

/* Whether run `index` needs attention and is still in the sweep's file. */
bool sweep_cluster_status_needs_attention(const SweepProgress *progress, const SweepClusterStatus *cluster,
                                          size_t index);
void sweep_cluster_status_add_failures(const SweepProgress *progress, const SweepClusterStatus *cluster,
                                       SweepFailures *failures);

/* Estimates the remaining time with the runs that are in Slurm's queue. */
void sweep_cluster_status_set_expected(const SweepClusterStatus *cluster, SweepProgress *progress);

/* Appends lines: the progress bar, running runs, and why others wait, one line per reason. */
void sweep_cluster_status_draw(const SweepProgress *progress, const SweepClusterStatus *cluster, CoreText *text);

#endif
