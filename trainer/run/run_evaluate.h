/* Scheduling of a run's evaluations, on all level sets, into the run's log. */
#ifndef TRAINER_RUN_EVALUATE_H
#define TRAINER_RUN_EVALUATE_H
#include "trainer/run/logs.h"
#include "trainer/run/progress.h"
#include "trainer/run/run_best.h"

typedef struct RunEvaluation {
  Training *training;
  RunLogs *logs;         /* used on the first rank only */
  Progress *progress;
  const char *root, *id; /* workspace and id of the run */
  RunBest *best;         /* compared with each evaluation */
} RunEvaluation;

/* Evaluates if due, on all level sets, and logs the rows; called by all ranks, after each iteration and before the
 * first. Warns once of attempts that did not end. CORE_REQUEUE: a rank was asked to stop; no row is logged, and the
 * training records for its checkpoint that the evaluation is due. CORE_FAIL: an environment failed. */
int run_evaluate_if_due(const RunEvaluation *evaluation, bool *unfinished_warned);
/* Warns, before training, of an environment that declares no time limit. */
void run_evaluate_warn(const Training *training, Progress *progress);

#endif
