/* A thread that reads the workspace while clients are connected. Requests do not wait for a disk, a cluster or an
 * import unless the snapshot is too old; then they are suspended until the next one. */
#ifndef SWEEP_SERVE_WATCH_H
#define SWEEP_SERVE_WATCH_H
#include "sweep/serve/snapshot.h"

typedef struct ServeWatch ServeWatch;

typedef struct ServeWatchOptions {
  const char *root;                   /* borrowed */
  void (*on_read)(void *context);     /* called by the thread after each read */
  void *context;
} ServeWatchOptions;

/* Reads a first snapshot, then starts the thread. CORE_FAIL: the thread cannot be started. */
int serve_watch_start(const ServeWatchOptions *options, ServeWatch **watch);
void serve_watch_stop(ServeWatch **watch);

/* Returns the current snapshot, valid until serve_watch_release, for one thread at a time. NULL: it is too old; a new
 * one has been requested, and on_read will be called. */
ServeSnapshot *serve_watch_acquire(ServeWatch *watch, int64_t *number);
void serve_watch_release(ServeWatch *watch);
/* Requests a new snapshot, after an action. */
void serve_watch_refresh(ServeWatch *watch);

typedef struct ServeWatchStatus {
  double interval_s;          /* time between two reads, long enough that they use 1/30 of a CPU */
  bool is_importing;          /* an import is running, so the snapshot may be older */
} ServeWatchStatus;
/* Between acquire and release. */
ServeWatchStatus serve_watch_status(const ServeWatch *watch);

#endif
