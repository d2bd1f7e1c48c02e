/* The local executor: one process a workspace that starts trainers for every queued sweep, as many at a time as there
 * are cores, and sees them to their end. It keeps nothing in memory that files do not hold: kill it at any moment and
 * the next `sweep submit` goes on from the checkpoints. */
#ifndef SWEEP_EXECUTOR_H
#define SWEEP_EXECUTOR_H
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

/* Makes sure that an executor serves the workspace's queue: leaves a detached one behind, unless one lives already.
 * *process: its process id; *joined: it was there before. The caller has written the queue file of `name`. */
int sweep_executor_start(const char *root, const char *name, int64_t *process, bool *joined);

/* How many processors this process may use. */
int sweep_executor_cores(void);

#endif
