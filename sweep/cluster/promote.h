/* Runs on Slurm that a sweep's [stop] rule has stopped and then promoted: back into the queue, by whoever notices. */
#ifndef SWEEP_PROMOTE_H
#define SWEEP_PROMOTE_H
#include <stddef.h>

#include "core/error.h"

typedef struct SweepPromoteResult {
  size_t submitted;  /* now */
  size_t waiting;    /* Slurm still has the task in which they were stopped: try again when that has ended */
} SweepPromoteResult;

/* Submits the promoted runs of a sweep that nobody has started since. Safe to repeat, and for several at once: a
 * submission holds the journal's lock, and what is in the queue is not submitted again. A sweep that Slurm never had,
 * or one without promoted runs: nothing is asked of Slurm. */
int sweep_promote(const char *root, const char *name, SweepPromoteResult *promoted);

#endif
