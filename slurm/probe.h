/* Asking programs for what they know of this machine: `trainer info`, `srun --mpi=list`. For sweep doctor. */
#ifndef SLURM_PROBE_H
#define SLURM_PROBE_H
#include "core/text.h"

/* Runs a program (found in PATH, no shell) for at most timeout_s seconds and appends what it printed on both outputs.
 * CORE_FAIL: it can not be started, did not end in time, or ended with another exit code than 0. */
int slurm_probe(const char *const *arguments, int timeout_s, CoreText *output);

/* Does `srun --mpi=list` name this kind? CORE_FAIL when srun can not be asked; *kinds gets what it listed, one line. */
int slurm_probe_mpi(const char *kind, bool *known, CoreText *kinds);

#endif
