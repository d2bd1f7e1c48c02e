/* What an account still allows, out of `scontrol show assoc_mgr`: slurmctld's own memory, limits with what is used of
 * them, no database. */
#ifndef SLURM_ALLOWANCE_INTERNAL_H
#define SLURM_ALLOWANCE_INTERNAL_H
#include "slurm/cluster.h"

/* Takes in the records of `account` ("": the user's default, whose name is then noted) for the user and for the account
 * itself: the narrowest of their limits. Records of others are passed over. */
void slurm_allowance_parse(const char *text, const char *user, SlurmAllowance *allowance);

/* Through the commands; see slurm_allowance. */
int slurm_allowance_ask(const char *account, const char *qos, SlurmAllowance *allowance);

#endif
