/* Queue of the local executor: sweeps/<name>/queued, one small file per sweep. `sweep submit` writes it, the executor
 * claims it, and it is removed when the sweep is done or stopped. The file survives a crash, so the next submission
 * continues. It changes only under sweeps/<name>/queued.lock, so no request is overwritten or removed unread. */
#ifndef SWEEP_QUEUE_H
#define SWEEP_QUEUE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"
#include "store/workspace/run.h"
#include "sweep/spec/where.h"

enum { SWEEP_QUEUE_RUNS = 8192 /* maximum length of a list of runs: about 480 */ };

typedef struct SweepQueueRequest {
  uid_t owner;             /* user who wrote the file; an executor runs its own user's requests only */
  bool is_own;             /* this user wrote it, and no other can have changed it */
  int64_t jobs;            /* maximum runs at a time; 0: one per core */
  bool force;              /* restart finished and diverged runs as new attempts */
  int64_t executor;        /* process id of the executor that claimed it; 0: none yet */
  double requested_unix_s; /* `force` does not apply to runs that have ended since; 0: unknown */
  char where[SWEEP_WHERE_TEXT]; /* selections of runs (sweep_where_format); "": all */
  char held[SWEEP_QUEUE_RUNS];    /* ids of runs that are kept from starting, or "all" */
  char stopped[SWEEP_QUEUE_RUNS]; /* ids of requested runs that `sweep stop` has taken out again, each after a blank */
} SweepQueueRequest;

/* Whether the request restarts a run that had ended before. Not if it has ended since the request: an earlier executor
 * or another sweep has already restarted it. */
bool sweep_queue_forces(const SweepQueueRequest *request, const StoreState *state);

/* Whether a run of the request, in this state, waits for the executor. Failed runs are retried when the request is
 * read, and do not wait afterwards. */
bool sweep_queue_waits(const SweepQueueRequest *request, const char *id, const StoreState *state);

/* Writes a request, which replaces a queued one, except that the runs of both are requested, that held runs stay held,
 * and that `force` and its time stay if both request the same runs. CORE_USAGE: too long, another user's is queued, or
 * they differ in their runs and one has `force`. */
int sweep_queue_write(const char *root, const char *name, const SweepQueueRequest *request);
/* Checks whether sweep_queue_write would accept the request. *has_more_runs: a queued one adds runs to it. */
int sweep_queue_check(const char *root, const char *name, const SweepQueueRequest *request, bool *has_more_runs);
/* Reads the request. *is_queued = false (and CORE_OK): there is none. */
int sweep_queue_read(const char *root, const char *name, SweepQueueRequest *request, bool *is_queued);
/* Removes the sweep from the queue unconditionally. */
int sweep_queue_remove(const char *root, const char *name);
/* Takes runs out of a queued request, until the next one. CORE_USAGE: too many. */
int sweep_queue_stop(const char *root, const char *name, const char (*ids)[CORE_RUN_ID], size_t count);
/* Sets which runs of a queued request are kept from starting: ids, each after a blank; "all"; "": none. */
int sweep_queue_hold(const char *root, const char *name, const char *held);
/* Appends a run to such a list. CORE_USAGE: too many. */
int sweep_queue_list_add(const char *id, char list[SWEEP_QUEUE_RUNS]);
/* Whether the run is kept from starting. */
bool sweep_queue_holds(const SweepQueueRequest *request, const char *id);
/* Whether sweep_queue_stop has taken the run out. */
bool sweep_queue_has_stopped(const SweepQueueRequest *request, const char *id);

/* Claims the current request for an executor if it is this user's (*is_queued): writes its process id to the file.
 * *request: the claimed one. Waits for the lock for a moment only, as does sweep_queue_release. */
int sweep_queue_claim(const char *root, const char *name, int64_t executor, SweepQueueRequest *request,
                      bool *is_queued);
/* Removes the request that `executor` claimed. *has_new_request: it stays, since it was replaced meanwhile. */
int sweep_queue_release(const char *root, const char *name, int64_t executor, bool *has_new_request);

/* Takes the lock of this user's executor in the workspace, which it holds for its lifetime. As core_files_lock. */
int sweep_queue_lock(const char *root, int *fd);
/* Checks that the lock's file can be opened, without locking it. Must not be called by the holder of the lock. */
int sweep_queue_check_lock(const char *root);
/* Returns the process id of a user's executor in the workspace; 0: none is running. */
int64_t sweep_queue_executor_pid(const char *root, uid_t user);

#endif
