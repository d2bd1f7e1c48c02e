/* Evaluations in the life of a run: when one is due, on all level sets, into the run's log. */
#ifndef TRAINER_RUN_EVALUATE_H
#define TRAINER_RUN_EVALUATE_H
#include "trainer/run/logs.h"
#include "trainer/run/progress.h"

typedef struct RunEvaluation {
  Training *training;
  RunLogs *logs;         /* not used on ranks but the first */
  Progress *progress;
  const char *root, *id; /* of the run */
} RunEvaluation;

/* All ranks together, after each iteration and before the first: evaluates where that is due, on all level sets, and
 * logs the rows. Warns once of attempts that did not end. CORE_REQUEUE: a rank was told to stop; no row is logged, and
 * the training notes for its checkpoint that the evaluation is due. CORE_FAIL: an environment failed. */
int run_evaluate_if_due(const RunEvaluation *evaluation, bool *unfinished_warned);
/* Before training: of an environment that states no time limit. */
void run_evaluate_warn(const Training *training, Progress *progress);

#endif
