/* Runs a program with arguments (never a shell), feeds it, listens, and gives up after a time. */
#ifndef SLURM_PROCESS_INTERNAL_H
#define SLURM_PROCESS_INTERNAL_H
#include <stdbool.h>

#include "core/text.h"

typedef struct SlurmOutput {
  CoreText out, error;   /* what it printed; at most 256 MB each */
  int exit_code;         /* 128 + n when it was killed by signal n */
  bool timed_out;        /* it was killed after timeout_s, also when it had closed its outputs before */
} SlurmOutput;

/* Finds arguments[0] in PATH. `input` (may be NULL) is its standard input. Runs it without those variables of the
 * environment that would change what it prints or submits (SQUEUE_FORMAT, SBATCH_ARRAY_INX ...). CORE_FAIL only when it
 * can not be started. Caller frees with slurm_output_free. */
int slurm_process_run(const char *const *arguments, const char *input, int timeout_s, SlurmOutput *output);
void slurm_output_free(SlurmOutput *output);

/* Is there such a program in PATH? */
bool slurm_process_exists(const char *name);

#endif
