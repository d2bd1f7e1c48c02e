/* The truth about each run of a sweep that went to Slurm: what its own files say joined with what Slurm says, in words,
 * with what to do about it. Over progress.h, which knows the files alone. */
#ifndef SWEEP_CLUSTER_STATUS_H
#define SWEEP_CLUSTER_STATUS_H
#include "slurm/cluster.h"
#include "sweep/status/failures.h"
#include "sweep/status/progress.h"

typedef enum SweepCondition {
  SWEEP_NOT_SUBMITTED,
  SWEEP_QUEUED,
  SWEEP_HELD,
  SWEEP_STARTING,
  SWEEP_RUNNING,
  SWEEP_FINISHED,
  SWEEP_STOPPED_BY_RULE,
  SWEEP_STOPPED,
  SWEEP_LOST,
  SWEEP_ORPHANED /* waits for a parent that failed */,
  SWEEP_CANCELLED,
  SWEEP_FAILED,
  SWEEP_DIVERGED,
  SWEEP_OUT_OF_MEMORY,
  SWEEP_TIME_LIMIT,
  SWEEP_NODE_FAILURE,
  SWEEP_CONDITIONS
} SweepCondition;
const char *sweep_condition_name(SweepCondition condition);     /* "out of memory" */
bool sweep_condition_needs_attention(SweepCondition condition); /* someone has to do something */

typedef struct SweepRunStatus {
  SweepCondition condition;
  SlurmId id;            /* job 0: never submitted */
  int64_t restarts;      /* starts of the program after the first; -1: not known */
  char parent[CORE_RUN_ID]; /* of an orphaned run: the one that it begins from */
  char text[448];        /* reason and advice, one line; "" when there is nothing to say */
} SweepRunStatus;

typedef struct SweepClusterStatus {
  SweepRunStatus *run;       /* [progress->runs] */
  size_t count[SWEEP_CONDITIONS]; /* without dropped ones */
  bool is_stale;         /* Slurm could not be asked: what is said of the queue is from the files alone */
  char problem[512];     /* why */
} SweepClusterStatus;

/* What Slurm knows of these sweeps: one call for all of them, or the answer to the same question of at most max_age_s
 * ago (kept in the user's cache folder). CORE_FAIL when Slurm cannot be asked. Caller frees. */
int sweep_cluster_status_query(const char *const *names, size_t count, double max_age_s, SlurmTasks *tasks);

/* Whoever has just changed the queue forgets the answers kept of it, or status would miss the change for seconds. */
void sweep_cluster_status_clear_cache(void);

/* Joins. tasks NULL: Slurm could not be asked, `problem` says why. Asks the accounting database for the runs that
 * nobody else knows anything of, if there is one. */
int sweep_cluster_status_classify(const char *root, const SweepProgress *progress, const SlurmTasks *tasks,
                                  const char *problem, SweepClusterStatus *cluster);
void sweep_cluster_status_free(SweepClusterStatus *cluster);

/* Marks the runs of flags[runs] as dropped in both, but for those that Slurm has, or that are done. */
void sweep_cluster_status_mark_absent(const bool *flags, SweepProgress *progress, SweepClusterStatus *cluster);

/* Does run `index` need a hand, and is it still the sweep's? */
bool sweep_cluster_status_needs_attention(const SweepProgress *progress, const SweepClusterStatus *cluster,
                                          size_t index);
void sweep_cluster_status_add_failures(const SweepProgress *progress, const SweepClusterStatus *cluster,
                                       SweepFailures *failures);

/* Tells the progress which runs the queue will bring. */
void sweep_cluster_status_set_expected(const SweepClusterStatus *cluster, SweepProgress *progress);

/* Appends lines: the bar, those that run, why others wait (one line a reason). */
void sweep_cluster_status_draw(const SweepProgress *progress, const SweepClusterStatus *cluster, CoreText *text);

#endif
