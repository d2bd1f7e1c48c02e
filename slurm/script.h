/* Batch script of an array: #SBATCH lines and one command, from typed values only. Tasks differ only in their index. */
#ifndef SLURM_SCRIPT_H
#define SLURM_SCRIPT_H
#include "core/text.h"
#include "slurm/cluster.h"

/* Appends the script. `command` is a program and its arguments, which are quoted here. It replaces the batch shell
 * (exec) so that it receives the signals that Slurm sends before the time limit and at preemption. Modules are loaded
 * before, and slurm.setup runs. */
void slurm_script_print(const SlurmJob *job, const char *const *command, CoreText *script);

/* Calls `emit` for each option of the job except its name, comment, array and dependencies: "--time", "02:00:00". value
 * NULL: an option without a value. */
void slurm_options_each(const SlurmSettings *settings,
                        void (*emit)(void *context, const char *option, const char *value), void *context);

/* Appends the job's dependencies, "afterany:12:13_4,aftercorr:15"; nothing if it has none. */
void slurm_options_dependency(const SlurmJob *job, CoreText *text);

#endif
