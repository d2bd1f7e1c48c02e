/* Measured speeds of runs similar to a planned one, in steps per second, from results.db. */
#ifndef SWEEP_SPEED_H
#define SWEEP_SPEED_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"

typedef struct SweepSpeeds SweepSpeeds;

/* Groups the database's runs by the settings that determine their speed (env.task, net.width, net.depth, ppo.epochs,
 * env.num, kind of device) and computes the median of each group's latest steps_per_second. Without a database or
 * measured runs, the table is empty. Read-only. */
int sweep_speeds_load(const char *root, SweepSpeeds **speeds);
void sweep_speeds_destroy(SweepSpeeds **speeds);

typedef enum SweepDevice { SWEEP_ANY_DEVICE, SWEEP_CPU, SWEEP_GPU } SweepDevice;

typedef struct SweepSpeed {
  double steps_per_second; /* 0: unknown */
  bool exact;              /* whether task, network and epochs are the same; else the nearest ones */
  size_t runs;             /* number of measured runs in the group */
} SweepSpeed;

/* Returns the speed of the most similar group of runs on that kind of device. */
SweepSpeed sweep_speeds_find(const SweepSpeeds *speeds, const CoreConfig *config, SweepDevice device);

#endif
