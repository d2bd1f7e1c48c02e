/* Environment of a sweep's runs: sweeps/<name>/environment holds the variables and the working directory of the shell
 * that submitted it last. The executor and Slurm tasks start runs with these instead of their own.
 *
 * The record contains all variables except those of a session, a machine or a job (DISPLAY, SSH_*, TMPDIR, SLURM_*,
 * ...), and those that look like secrets (names with TOKEN, KEY, SECRET, PASSWORD, ...; URLs with a password). Only its
 * owner can read the file, and only its owner's processes apply it, if the owner's list of trusted code
 * (store/code/trust.h) has its hash for this sweep, since PATH and LD_PRELOAD decide what is executed. */
#ifndef SWEEP_ENVIRONMENT_H
#define SWEEP_ENVIRONMENT_H
#include <stdbool.h>

#include "core/text.h"

/* Whether `variable` ("NAME=value") is recorded. */
bool sweep_environment_is_recorded(const char *variable);

/* Records the environment of this process. Warns if it differs from the previous record, naming the variables. */
int sweep_environment_record(const char *root, const char *name);

typedef enum SweepEnvironmentMode {
  SWEEP_ENVIRONMENT_REPLACE,  /* unset recordable variables that the record lacks; change to its directory */
  SWEEP_ENVIRONMENT_OVERRIDE, /* keep a job's other variables and its GPUs */
  SWEEP_ENVIRONMENT_FILL,     /* also keep all variables that the job has, e.g. set by its modules */
} SweepEnvironmentMode;

/* Applies the record to this process. Does nothing without a record, or if it may be another user's. No other
 * thread may be running. */
void sweep_environment_apply(const char *root, const char *name, SweepEnvironmentMode mode);

#endif
