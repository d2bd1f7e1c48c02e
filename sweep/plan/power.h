/* Power of the claims that an experiment tests: `sweep plan FILE --power`. */
#ifndef SWEEP_POWER_H
#define SWEEP_POWER_H
#include <stdbool.h>

#include "sweep/spec/spec.h"

/* Simulates, for each claim of the papers whose data the sweep is, how often its test supports the claim where it is
 * true (analysis/claims/power.h), and finds the number of seeds for a power of 0.8. Seeds vary as those of the
 * workspace's runs do, or as assumed. Prints a table or JSON. CORE_USAGE: no claim uses the sweep. */
int sweep_power_print(const char *root, const SweepSpec *spec, bool json);

#endif
