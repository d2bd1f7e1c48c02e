/* A sweep's [stop] rule as its tasks on Slurm carry it out: one of them looks now and then, all read what was
 * decided. */
#ifndef SWEEP_TASK_RULE_H
#define SWEEP_TASK_RULE_H
#include "sweep/stop/stop_log.h"

typedef struct SweepTaskRule {
  const char *root, *name;
  bool is_active;             /* the sweep has a rule */
  double every_s, looked_at_s, took_s;
  int64_t log_size;           /* of stop.log as read */
  SweepStopLog log;
} SweepTaskRule;

void sweep_task_rule_open(const char *root, const char *name, SweepTaskRule *rule);
void sweep_task_rule_close(SweepTaskRule *rule);

/* Imports, decides and submits what was promoted, where that is due (decide.h). Then reads what is new in the log.
 * Faults are warnings: the runs go on. */
void sweep_task_rule_poll(SweepTaskRule *rule);
/* For a task whose runs have ended: decides in any case, and submits nothing. */
void sweep_task_rule_decide_now(SweepTaskRule *rule);
/* For a task that is about to end: submits what was promoted, and waits a minute where Slurm does not take it yet. */
void sweep_task_rule_submit_promoted(const SweepTaskRule *rule);
bool sweep_task_rule_stops(const SweepTaskRule *rule, const char *run);

#endif
