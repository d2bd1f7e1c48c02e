/* Runs Slurm's commands with a clean environment, without a shell. */
#ifndef SLURM_PROCESS_INTERNAL_H
#define SLURM_PROCESS_INTERNAL_H
#include <stdbool.h>

#include "core/process.h"

/* Calls core_process_run without the environment variables that would change what the command prints or submits
 * (SQUEUE_FORMAT, SBATCH_ARRAY_INX ...). The caller frees `output` with core_process_output_free. */
int slurm_process_run(const char *const *arguments, const char *input, int timeout_s, CoreProcessOutput *output);

/* Fails with CORE_USAGE if the environment selects another cluster (SLURM_CLUSTERS ...), which no call here uses. */
int slurm_check_clusters(void);

#endif
