/* Batch script of an array: #SBATCH lines and one command, from typed values only. Tasks differ only in their index. */
#ifndef SLURM_SCRIPT_H
#define SLURM_SCRIPT_H
#include "core/text.h"
#include "slurm/cluster.h"

/* Appends the script. `command` is a program and its arguments, which are quoted here. It replaces the batch shell
 * (exec) so that it receives the signals that Slurm sends before the time limit and at preemption. Modules are loaded
 * before. */
void slurm_script_print(const SlurmJob *job, const char *const *command, CoreText *script);

#endif
