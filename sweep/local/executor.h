/* The local executor: one process per user and workspace that starts trainers for the user's queued sweeps, as many
 * at a time as there are cores, and waits for their ends. Its state is in files: it may be killed at any moment, and
 * the next `sweep submit` resumes from the checkpoints. */
#ifndef SWEEP_EXECUTOR_H
#define SWEEP_EXECUTOR_H
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

/* Starts a detached executor for the workspace, unless one is running. *process: its process id; *has_joined: it was
 * running before. The caller has written the queue file of `name`. */
int sweep_executor_start(const char *root, const char *name, int64_t *process, bool *has_joined);

/* Returns the number of CPUs that this process may use. */
int sweep_executor_cores(void);

/* Waits for the child process, seconds, and logs its output. CORE_FAIL: it failed. same_environment: runs it in the
 * sweep's recorded environment (environment.h), which its checks depend on. */
int sweep_next_wave_propose(const char *root, const char *name, bool same_environment);

#endif
