/* Cluster limits from the output of `scontrol show config` or from slurm.conf. */
#ifndef SLURM_LIMITS_INTERNAL_H
#define SLURM_LIMITS_INTERNAL_H
#include "slurm/cluster.h"

/* Parses lines "Key = value"; missing keys get Slurm's defaults. Returns false if the version or MaxArraySize is
 * missing, which scontrol always prints. */
bool slurm_limits_parse(const char *text, SlurmLimits *limits);

#endif
