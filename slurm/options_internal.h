/* Resources as options of sbatch: what the script's #SBATCH lines say (script.c) and what rest.c says in JSON. */
#ifndef SLURM_OPTIONS_INTERNAL_H
#define SLURM_OPTIONS_INTERNAL_H
#include "core/text.h"
#include "slurm/cluster.h"

/* Calls `emit` for each option of the job but its name, comment, array and dependencies: "--time", "02:00:00". value
 * NULL: an option without one. */
void slurm_options_each(const SlurmSettings *settings,
                        void (*emit)(void *context, const char *option, const char *value), void *context);

/* Appends "afterany:12:13_4,aftercorr:15"; nothing for a job that waits for none. */
void slurm_options_dependency(const SlurmJob *job, CoreText *text);

#endif
