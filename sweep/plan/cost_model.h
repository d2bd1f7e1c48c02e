/* Model of a run's time and disk space from its configuration, for runs whose speed is not measured. The constants are
 * those of docs/benchmarks.md and docs/cuda-measurements.md: two cores of an EPYC with AVX-512, and an H200.
 * tests/unit/test_cost_model.c compares the model with speeds measured there; docs/experiments.md states the error. */
#ifndef SWEEP_COST_MODEL_H
#define SWEEP_COST_MODEL_H
#include <stdbool.h>

#include "core/config/config.h"
#include "slurm/settings.h"

/* Wall-clock time of a complete run in seconds, and the bytes that it leaves on disk. */
typedef struct SweepCost {
  bool on_gpu;          /* Whether networks and updates are on GPUs (train.device = cuda) */
  double training_s;    /* rollouts and updates */
  double searches_s;    /* SFL's searches for levels */
  double evaluations_s; /* as if no episode ended early */
  double checkpoints_s;
  double disk_bytes;    /* run log, rows of results.db, kept checkpoints, profiles, visited states */
} SweepCost;

/* Predicts the cost on the processors and GPUs of `settings` (ranks_per_run, cpus_per_run, gpus_per_run). Runs with
 * train.device = auto count as runs on processors. */
SweepCost sweep_cost_model(const CoreConfig *config, const SlurmSettings *settings);

/* Returns the GPUs that a run on GPUs uses: gpus_per_run, at most one per rank; 1 if it requests none. */
double sweep_cost_gpus(const SlurmSettings *settings);

/* Returns the sum of the times. */
double sweep_cost_seconds(const SweepCost *cost);

/* Scales the times of searches, evaluations and checkpoints by `left`, the remaining fraction of the run, and all
 * times by the ratio of `training_s` to the model's: a measured or given training time of that remainder. 0: keeps the
 * model's speed. */
SweepCost sweep_cost_remaining(const SweepCost *cost, double left, double training_s);

typedef struct SweepEnvSteps {
  double searches;    /* exact */
  double evaluations; /* upper bound, as if no episode ended early; 0 where the time limit is the environment's own */
} SweepEnvSteps;

/* Counts the steps that go with the last `left` of a run's transitions. */
SweepEnvSteps sweep_env_steps_left(const CoreConfig *config, double left);

#endif
