/* Measured speeds of runs similar to a planned one, in steps per second, from results.db, and costs by them. */
#ifndef SWEEP_SPEED_H
#define SWEEP_SPEED_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "sweep/plan/cost_model.h"

typedef struct SweepSpeeds SweepSpeeds;

/* Groups the database's runs by the settings that change their speed (env.task, env.num, minibatches, networks,
 * precision, metrics and others), the kind of device, ranks and threads, and computes the median of each group's latest
 * steps_per_second. Without a database or measured runs, the table is empty. Read-only. */
int sweep_speeds_load(const char *root, SweepSpeeds **speeds);
void sweep_speeds_destroy(SweepSpeeds **speeds);

typedef struct SweepSpeed {
  double steps_per_second; /* 0: unknown */
  bool exact;              /* whether all settings that change the speed are the same, and the numbers of GPUs or
                            * processors; else those of the nearest group, times the model's ratio of speeds */
  size_t runs;             /* number of measured runs in the group */
} SweepSpeed;

/* Returns the speed on the GPUs or processors of `settings`, by the most similar group of runs. Runs on processors are
 * not similar to train.device = cuda, nor runs on GPUs to cpu, or to auto if `settings` request none. Runs with as
 * many ranks, or of an unknown machine, count as runs on the GPUs of `settings`, since the database has no shares of
 * GPUs. settings: NULL for the machine of the measured runs. */
SweepSpeed sweep_speeds_find(const SweepSpeeds *speeds, const CoreConfig *config, const SlurmSettings *settings);

/* Remaining work of a run. */
typedef struct SweepWork {
  double left;       /* transitions */
  double speed;      /* transitions per second of --speed; 0: the measured speed, else the model's */
  bool is_here;      /* whether the run has the machine of the measured runs, since the file has no [slurm] */
} SweepWork;
/* Returns the cost of the remaining work, and in *speed the speed behind it; 0 transitions per second: the model's. A
 * program without measured runs costs nothing. speeds: may be NULL. */
SweepCost sweep_speeds_cost(const SweepSpeeds *speeds, const CoreConfig *config, const SlurmSettings *settings,
                            const SweepWork *work, SweepSpeed *speed);

#endif
