/* The steps that an attempt of a run has logged: how far it got, and what a later attempt did again. Read from its run
 * log, for trainers and for programs. */
#ifndef SWEEP_ATTEMPT_STEPS_H
#define SWEEP_ATTEMPT_STEPS_H
#include <stddef.h>

#include "core/error.h"

typedef struct SweepAttemptSteps {
  double *steps;             /* [count] transitions since the start of the run at each record, ascending */
  size_t count;
} SweepAttemptSteps;

/* Reads the log of an attempt; an absent one is empty. The caller frees. */
int sweep_attempt_steps_read(const char *root, const char *id, int attempt, SweepAttemptSteps *steps);
void sweep_attempt_steps_free(SweepAttemptSteps *steps);

/* Returns the largest step; 0 without records. */
double sweep_attempt_steps_last(const SweepAttemptSteps *steps);

/* Returns the fraction of the records that are beyond `step`, 0 without records. */
double sweep_attempt_steps_beyond(const SweepAttemptSteps *steps, double step);

/* Returns the fraction of the attempt's records that a later attempt has repeated: it has a record between the step
 * before and that of the record. The whole attempt without records. */
double sweep_attempt_steps_repeated(const SweepAttemptSteps *steps, const SweepAttemptSteps *later);

/* Adds the records of `other`. */
void sweep_attempt_steps_merge(SweepAttemptSteps *steps, const SweepAttemptSteps *other);

#endif
