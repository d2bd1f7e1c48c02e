/* A thread that reads the workspace while clients are connected. Requests do not wait for a disk, a cluster or an
 * import unless the snapshot is too old; then they wait for the next one, but not for long. */
#ifndef SWEEP_SERVE_WATCH_H
#define SWEEP_SERVE_WATCH_H
#include "sweep/serve/snapshot.h"

typedef struct ServeWatch ServeWatch;

/* Reads a first snapshot, then starts the thread. root: borrowed. CORE_FAIL: the thread cannot be started. */
int serve_watch_start(const char *root, ServeWatch **watch);
void serve_watch_stop(ServeWatch **watch);

/* Returns the current snapshot and its number, for any number of threads; the caller calls serve_snapshot_release. If
 * it is too old, waits for a new one, for 0.7 s at most. */
ServeSnapshot *serve_watch_acquire(ServeWatch *watch, int64_t *number);
/* Requests a new snapshot, after an action. */
void serve_watch_refresh(ServeWatch *watch);

typedef struct ServeWatchStatus {
  double interval_s;          /* time between two reads, long enough that they use 1/30 of a CPU */
  bool is_importing;          /* an import is running, so the snapshot may be older */
} ServeWatchStatus;
ServeWatchStatus serve_watch_status(ServeWatch *watch);

#endif
