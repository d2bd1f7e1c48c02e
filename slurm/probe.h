/* Runs programs that describe this machine, for sweep doctor: `trainer info`, `srun --mpi=list`. */
#ifndef SLURM_PROBE_H
#define SLURM_PROBE_H
#include "core/text.h"

/* Runs a program from PATH, without a shell, for at most timeout_s seconds and appends its stdout and stderr.
 * CORE_FAIL: it could not be started, timed out, or ended with a nonzero exit code. */
int slurm_probe(const char *const *arguments, int timeout_s, CoreText *output);

/* Sets *known to whether `srun --mpi=list` lists this kind, and *kinds to the listed ones, comma-separated. CORE_FAIL:
 * srun failed. */
int slurm_probe_mpi(const char *kind, bool *known, CoreText *kinds);

#endif
