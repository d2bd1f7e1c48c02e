/* Trust in slurm.setup, shell lines that the author of an experiment file wrote: jobs run them only if the user wrote
 * them too (an own experiment file or site file) or trusts them (store/code/trust.h). */
#ifndef SWEEP_CLUSTER_SETUP_H
#define SWEEP_CLUSTER_SETUP_H
#include <stdbool.h>
#include <stddef.h>

#include "slurm/settings.h"

/* Checks the settings of all resource sets. grant: trusts them from now on. CORE_USAGE: some are not trusted. */
int sweep_setup_check(const SlurmSettings *sets, size_t count, bool grant);

#endif
