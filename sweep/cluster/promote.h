/* Returns runs that a sweep's [stop] rule stopped and later promoted to Slurm's queue. Any process may call it. */
#ifndef SWEEP_PROMOTE_H
#define SWEEP_PROMOTE_H
#include <stddef.h>

#include "core/error.h"

typedef struct SweepPromoteResult {
  size_t submitted;
  size_t waiting;    /* promoted runs whose old task is still in Slurm's queue: retry when it has ended */
} SweepPromoteResult;

/* Submits the promoted runs of a sweep that were not started since their promotion. Safe to repeat and to call from
 * several processes: a submission holds the journal's lock and skips runs in the queue. Slurm is not called for a sweep
 * that was never submitted to it, or without promoted runs. */
int sweep_promote(const char *root, const char *name, SweepPromoteResult *result);

#endif
