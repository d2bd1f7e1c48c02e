/* Trust in slurm.setup, shell lines that the author of an experiment file wrote: jobs run them only if the user wrote
 * them too (an own experiment file or site file) or trusts them (store/code/trust.h). */
#ifndef SWEEP_CLUSTER_SETUP_H
#define SWEEP_CLUSTER_SETUP_H
#include <stdbool.h>

#include "slurm/settings.h"
#include "sweep/spec/resources.h"

/* Checks the settings of a sweep and of its resource sets (NULL: none). grant: trusts them from now on. CORE_USAGE:
 * some are not trusted in the workspace `root`, where jobs run them. Each submission calls it. */
int sweep_setup_check(const char *root, const SlurmSettings *settings, const SweepResources *resources, bool grant);

#endif
