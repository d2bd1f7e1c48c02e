/* Runs a program of Slurm's with arguments (never a shell), feeds it, listens, and gives up after a time. */
#ifndef SLURM_PROCESS_INTERNAL_H
#define SLURM_PROCESS_INTERNAL_H
#include <stdbool.h>

#include "core/process.h"

typedef CoreProcessOutput SlurmOutput;

/* core_process_run without those variables of the environment that would change what it prints or submits
 * (SQUEUE_FORMAT, SBATCH_ARRAY_INX ...). Caller frees with slurm_output_free. */
int slurm_process_run(const char *const *arguments, const char *input, int timeout_s, SlurmOutput *output);
void slurm_output_free(SlurmOutput *output);

/* Is there such a program in PATH? */
bool slurm_process_exists(const char *name);

/* CORE_USAGE where the environment chooses another cluster, which no call here would ask. */
int slurm_check_clusters(void);

#endif
