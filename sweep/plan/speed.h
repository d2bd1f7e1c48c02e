/* Measured speeds of runs similar to a planned one, in steps per second, from results.db, and costs by them. */
#ifndef SWEEP_SPEED_H
#define SWEEP_SPEED_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "sweep/plan/cost_model.h"

typedef struct SweepSpeeds SweepSpeeds;

/* Groups the database's runs by the settings that change their speed (env.task, env.num, minibatches, networks,
 * precision, metrics and others) and the kind of device, and computes the median of each group's latest
 * steps_per_second. Without a database or measured runs, the table is empty. Read-only. */
int sweep_speeds_load(const char *root, SweepSpeeds **speeds);
void sweep_speeds_destroy(SweepSpeeds **speeds);

typedef enum SweepDevice { SWEEP_ANY_DEVICE, SWEEP_CPU, SWEEP_GPU } SweepDevice;

typedef struct SweepSpeed {
  double steps_per_second; /* 0: unknown */
  bool exact;              /* whether all settings that change the speed are the same; else those of the nearest
                            * group, times the model's ratio of speeds */
  size_t runs;             /* number of measured runs in the group */
} SweepSpeed;

/* Returns the speed of the most similar group of runs on that kind of device. */
SweepSpeed sweep_speeds_find(const SweepSpeeds *speeds, const CoreConfig *config, SweepDevice device);

/* Remaining work of a run, in transitions, and the speed of --speed; 0: the measured speed, else the model's. */
typedef struct SweepWork { double left, speed; } SweepWork;
/* Returns the cost of the remaining work, and in *speed the speed behind it; 0 transitions per second: the model's. A
 * program without measured runs costs nothing. speeds: may be NULL. */
SweepCost sweep_speeds_cost(const SweepSpeeds *speeds, const CoreConfig *config, const SlurmSettings *settings,
                            const SweepWork *work, SweepSpeed *speed);

#endif
