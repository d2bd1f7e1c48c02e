/* The batch script of an array: #SBATCH lines and one command, made of typed values only. What differs between tasks is
 * their index alone. */
#ifndef SLURM_SCRIPT_H
#define SLURM_SCRIPT_H
#include "core/text.h"
#include "slurm/cluster.h"

/* Appends the script: `command` is a program and its arguments, quoted here; it replaces the batch shell (exec), so
 * that it gets the signals that Slurm sends before the time limit and at preemption itself. Modules
 * are loaded before. */
void slurm_script_print(const SlurmJob *job, const char *const *command, CoreText *script);

#endif
