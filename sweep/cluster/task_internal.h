/* Parts of `sweep task` (task.c) that concern the whole sweep: its [stop] rule and its searches. */
#ifndef SWEEP_CLUSTER_TASK_INTERNAL_H
#define SWEEP_CLUSTER_TASK_INTERNAL_H
#include "sweep/stop/stop_log.h"

/* ---- task_rule.c ------------------------------------------------------------------------------------------------- */

/* A sweep's [stop] rule in its Slurm tasks: one of them decides from time to time, and all read the decisions. */

typedef struct SweepTaskRule {
  const char *root, *name;
  bool is_active;             /* the sweep has a rule */
  double interval_s;          /* stop.every */
  double decided_at_s;        /* end of the last decision, monotonic */
  double decision_s;          /* its duration */
  int64_t log_size;           /* bytes of stop.log that `log` was read from */
  SweepStopLog log;
} SweepTaskRule;

void sweep_task_rule_open(const char *root, const char *name, SweepTaskRule *rule);
void sweep_task_rule_close(SweepTaskRule *rule);

/* Imports results, decides (decide.h) and submits promoted runs, if a decision is due. Then reads new decisions. Errors
 * are warnings: the runs continue. */
void sweep_task_rule_poll(SweepTaskRule *rule);
/* Decides at once, for a task whose runs have ended. Submits nothing. */
void sweep_task_rule_decide_now(SweepTaskRule *rule);
/* Submits promoted runs, for a task that is about to end. Retries for a minute while Slurm does not accept them. */
void sweep_task_rule_submit_promoted(const SweepTaskRule *rule);
/* Whether the rule has stopped the run. */
bool sweep_task_rule_stops(const SweepTaskRule *rule, const char *run);

/* ---- task_search.c ----------------------------------------------------------------------------------------------- */

/* Searches on Slurm: the last task of a wave proposes and submits the next wave. */

/* Continues the sweep's searches, for a task that is about to end: if their wave has ended, proposes and submits the
 * next one. Two tasks that end together propose it once. Also submits trials that a limit on queued jobs has held back.
 * Failed runs are not submitted again. Errors are warnings: sweep submit does the same. */
void sweep_task_search_continue(const char *root, const char *name);

#endif
