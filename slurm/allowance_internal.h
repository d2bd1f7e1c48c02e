/* Remaining limits of an account from `scontrol show assoc_mgr`, which prints slurmctld's limits with their current use
 * and needs no database connection. */
#ifndef SLURM_ALLOWANCE_INTERNAL_H
#define SLURM_ALLOWANCE_INTERNAL_H
#include "slurm/cluster.h"

/* Lowers the limits of `allowance` to those of its account ("": the user's default, whose name is then set) for the
 * user and for the account itself. Ignores records of others. */
void slurm_allowance_parse(const char *text, const char *user, SlurmAllowance *allowance);

/* Queries the limits through Slurm's commands; see slurm_allowance. */
int slurm_allowance_query(const char *account, const char *qos, SlurmAllowance *allowance);

#endif
