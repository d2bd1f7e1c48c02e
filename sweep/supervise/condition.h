/* Condition of a run: what people read, and what decides whether a run is started. StoreStatus is what the run's own
 * files say, and SweepCause (end.h) why an attempt ended; a condition joins them with what Slurm, the executor and the
 * user have decided. Three functions derive it: sweep_condition_before_start (submissions), the executor's table in
 * sweep/local/job.c, and the rules of sweep/status/cluster_status.c (Slurm). */
#ifndef SWEEP_CONDITION_H
#define SWEEP_CONDITION_H
#include <stdbool.h>

#include "store/workspace/run.h"

typedef enum SweepCondition {
  SWEEP_NOT_SUBMITTED,
  SWEEP_QUEUED,
  SWEEP_HELD,
  SWEEP_SUSPENDED,
  SWEEP_STARTING,
  SWEEP_RUNNING,
  SWEEP_FINISHED,
  SWEEP_STOPPED_BY_RULE,
  /* These and all below need attention: */
  SWEEP_STOPPED,
  SWEEP_LOST,
  SWEEP_ORPHANED, /* its parent run has failed */
  SWEEP_CANCELLED,
  SWEEP_FAILED,
  SWEEP_DIVERGED,
  SWEEP_OUT_OF_MEMORY,
  SWEEP_TIME_LIMIT,
  SWEEP_NODE_FAILURE,
  SWEEP_CONDITIONS
} SweepCondition;
const char *sweep_condition_name(SweepCondition condition); /* "out of memory" */
bool sweep_condition_needs_attention(SweepCondition condition);

/* Facts about a run before a start. */
typedef struct SweepRunEvidence {
  StoreStatus status;
  bool is_queued;                 /* Slurm has it in its queue */
  bool is_forced;                 /* --force applies to it */
  bool keep_failed;               /* failed runs are left alone */
  bool is_stopped_by_rule;        /* by the sweep's stop.log */
} SweepRunEvidence;

/* Returns the condition that keeps a run from being started: QUEUED, RUNNING, FINISHED, DIVERGED, FAILED or
 * STOPPED_BY_RULE, the first that applies; NOT_SUBMITTED: nothing does. */
SweepCondition sweep_condition_before_start(const SweepRunEvidence *evidence);

#endif
