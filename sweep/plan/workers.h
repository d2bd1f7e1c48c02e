/* Python processes of a run: environments of gym/, atari/ and envpool/ are stepped by worker processes, which
 * hold memory and processors of the same job. */
#ifndef SWEEP_PLAN_WORKERS_H
#define SWEEP_PLAN_WORKERS_H
#include "core/config/config.h"
#include "core/text.h"
#include "slurm/settings.h"

/* Counts the processes that a rank has at once: one that describes the environment, and env.workers for training and
 * for evaluation each; 0: its environments are not in Python. */
int64_t sweep_workers_count(const CoreConfig *config);
/* Returns a lower bound of their memory in bytes: an interpreter with Gymnasium and NumPy takes some 25 MB without its
 * environments. */
double sweep_workers_bytes(const CoreConfig *config, int64_t ranks);
/* Appends the number of processes and their memory, and whether [slurm] has too few processors for them; nothing if
 * there are none. slurm NULL: there is no [slurm]. */
void sweep_workers_describe(const CoreConfig *config, const SlurmSettings *slurm, CoreText *text);

#endif
