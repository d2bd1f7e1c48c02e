/* A cluster's limits out of its configuration: what `scontrol show config` prints, or slurm.conf itself. */
#ifndef SLURM_LIMITS_INTERNAL_H
#define SLURM_LIMITS_INTERNAL_H
#include "slurm/cluster.h"

/* Lines "Key = value"; what is not there gets Slurm's default. false: the text says neither its version nor
 * a MaxArraySize, so that it is no answer of scontrol's. */
bool slurm_limits_parse(const char *text, SlurmLimits *limits);

#endif
