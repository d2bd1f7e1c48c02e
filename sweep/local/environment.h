/* Environment of a sweep's runs: sweeps/<name>/environment, the variables and the working directory of the shell that
 * submitted it last. Whoever starts the runs (executor, Slurm task) takes them from there and not from its own shell.
 *
 * Recorded is the whole environment but for what belongs to a session, a machine or a job (DISPLAY, SSH_*, TMPDIR,
 * SLURM_*, ...), and what looks like a secret (names with TOKEN, KEY, SECRET, PASSWORD, ...; URLs with a
 * password). The file is readable by
 * its owner alone, and only its owner's processes take anything from it: PATH and LD_PRELOAD choose what is
 * executed. */
#ifndef SWEEP_ENVIRONMENT_H
#define SWEEP_ENVIRONMENT_H
#include <stdbool.h>

#include "core/text.h"

/* Is `variable` ("NAME=value") recorded? */
bool sweep_environment_is_recorded(const char *variable);

/* Records this process's. Warns when it differs from the sweep's record before, and names the variables. */
int sweep_environment_record(const char *root, const char *name);

typedef enum SweepEnvironmentMode {
  SWEEP_ENVIRONMENT_REPLACE, /* recorded variables that the record lacks are unset, and the directory is entered */
  SWEEP_ENVIRONMENT_OVERRIDE,  /* over a job's, whose other variables and GPUs stay */
  SWEEP_ENVIRONMENT_FILL, /* the same, but variables that the job has stay: its modules have set them */
} SweepEnvironmentMode;

/* Sets this process's environment from the record; without one, or with another user's, it stays as it is. Only where
 * no other thread runs. */
void sweep_environment_apply(const char *root, const char *name, SweepEnvironmentMode how);

#endif
