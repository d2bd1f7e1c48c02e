/* What the local executor is asked to do: sweeps/<name>/queued, one small file a sweep, written by `sweep submit`,
 * taken by the executor, removed when the sweep is done or stopped. The file outlives a crash, so the next submit goes
 * on. It changes under sweeps/<name>/queued.lock only, so no request is written over or removed unread. */
#ifndef SWEEP_QUEUE_H
#define SWEEP_QUEUE_H
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

typedef struct SweepQueueRequest {
  int64_t jobs;        /* runs at a time; 0 = one a core */
  bool force;          /* also runs that finished or diverged, as new attempts */
  int64_t executor;    /* process that took it; 0 = nobody yet */
  double requested_unix_s; /* when it was asked: what has finished since was not meant by `force`. 0: unknown */
} SweepQueueRequest;

/* Asks, in the place of what was asked before. */
int sweep_queue_write(const char *root, const char *name, const SweepQueueRequest *request);
/* *present = false (and CORE_OK) when the sweep is not queued. */
int sweep_queue_read(const char *root, const char *name, SweepQueueRequest *request, bool *present);
/* Takes the sweep off the queue, whoever asked for it and when. */
int sweep_queue_remove(const char *root, const char *name);

/* The executor's two ways, which wait for the lock for moments only.
 * Takes what is asked now: writes `executor` into the file. *request is what it took; *present as above. */
int sweep_queue_claim(const char *root, const char *name, int64_t executor, SweepQueueRequest *request, bool *present);
/* Takes the sweep off the queue when what `executor` claimed is done. *again: it stays, as somebody has asked since. */
int sweep_queue_release(const char *root, const char *name, int64_t executor, bool *again);

/* The executor's lock in the workspace; held for its lifetime. core_files_lock's rules. */
int sweep_queue_lock(const char *root, int *fd);
/* Could that file be locked at all? Takes nothing; not for a process that has the lock. */
int sweep_queue_check_lock(const char *root);
/* Process id of the executor that lives in this workspace, 0 when none does. */
int64_t sweep_queue_executor_pid(const char *root);

#endif
