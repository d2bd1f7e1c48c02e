/* Environment steps without training: searches for levels (env.curriculum = sfl) and evaluations. */
#ifndef SWEEP_PLAN_ENV_STEPS_H
#define SWEEP_PLAN_ENV_STEPS_H
#include "core/config/config.h"

typedef struct SweepEnvSteps {
  double searches;    /* exact */
  double evaluations; /* upper bound, as if no episode ended early; 0 where the time limit is the environment's own */
} SweepEnvSteps;

/* Counts the steps that go with the last `left` of a run's transitions. */
SweepEnvSteps sweep_env_steps_left(const CoreConfig *config, double left);

#endif
