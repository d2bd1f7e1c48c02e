/* Resources as sbatch options, for #SBATCH lines (script.c) and slurmrestd's JSON (rest_job.c). */
#ifndef SLURM_OPTIONS_INTERNAL_H
#define SLURM_OPTIONS_INTERNAL_H
#include "core/text.h"
#include "slurm/cluster.h"

/* Calls `emit` for each option of the job except its name, comment, array and dependencies: "--time", "02:00:00". value
 * NULL: an option without a value. */
void slurm_options_each(const SlurmSettings *settings,
                        void (*emit)(void *context, const char *option, const char *value), void *context);

/* Appends the job's dependencies, "afterany:12:13_4,aftercorr:15"; nothing if it has none. */
void slurm_options_dependency(const SlurmJob *job, CoreText *text);

#endif
