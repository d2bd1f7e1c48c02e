/* The thread that reads the workspace while somebody looks. Requests never wait for a disk, a cluster or an import but
 * when what is known is too old; then they are put off until it is read. When nobody asks, nothing is read. */
#ifndef SWEEP_SERVE_WATCH_H
#define SWEEP_SERVE_WATCH_H
#include "sweep/serve/snapshot.h"

typedef struct ServeWatch ServeWatch;

typedef struct ServeWatchOptions {
  const char *root;                   /* borrowed as long as the watch */
  void (*read)(void *context);        /* called after each reading, by the thread */
  void *context;
} ServeWatchOptions;

/* Reads a first time, then starts the thread. CORE_FAIL: no thread. */
int serve_watch_start(const ServeWatchOptions *options, ServeWatch **watch);
void serve_watch_stop(ServeWatch **watch);

/* The present snapshot, which stays until serve_watch_give. NULL: it is too old, and a new one has been asked for;
 * options.read tells when it is there. One thread at a time. */
ServeSnapshot *serve_watch_take(ServeWatch *watch, int64_t *number);
void serve_watch_give(ServeWatch *watch);
/* Read again soon: something was done. */
void serve_watch_hurry(ServeWatch *watch);
/* Of the thread, for the page. */
typedef struct ServeWatchNow {
  double interval_s;          /* between two readings: so long that they take a thirtieth of a processor */
  bool is_importing;          /* an import is under way: what is shown may be older */
} ServeWatchNow;
ServeWatchNow serve_watch_now(const ServeWatch *watch); /* between take and give */

#endif
