/* Imports and reads in a loop, at most every two seconds and with at most 1/30 of a CPU. */
#include "sweep/serve/watch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"

static const double INTERVAL_S = 2; /* shortest time between two reads */
static const double INTERVAL_MAX_S = 30; /* longest time: a first import may take minutes */
static const double CPU_SHARE = 30, WALL_SHARE = 4; /* interval over the CPU time, and the wall time, of a read */
static const double WAIT_S = 0.7;        /* a read of 100 000 runs takes longer; requests then get the last snapshot */
static const double WATCHED_S = 20; /* time after a request during which a client counts as connected */

struct ServeWatch {
  const char *root;
  ServeReader reader;                 /* used by the thread only */
  pthread_t thread;
  pthread_mutex_t lock;               /* protects all below */
  pthread_cond_t changed;             /* the thread has something to do */
  pthread_cond_t published;           /* there is a new snapshot */
  ServeSnapshot *snapshot;
  int64_t number;                     /* number of reads */
  double read_s, requested_s, interval_s; /* times of core_clock_s */
  bool is_requested, is_importing, is_stopping;
};

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static double thread_cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Reads without the lock, and takes it to exchange the snapshot. */
static void read_workspace(ServeWatch *watch, bool with_import) {
  const double start = core_clock_s(), cpu_start = thread_cpu_s();
  StoreDatabase *database = with_import ? sweep_view_import(watch->root, true) : NULL;
  ServeSnapshot *snapshot = serve_snapshot_read(watch->root, database, &watch->reader, watch->snapshot);
  store_database_close(&database);
  core_error_clear();

  pthread_mutex_lock(&watch->lock);
  ServeSnapshot *old = watch->snapshot;
  watch->snapshot = snapshot;
  watch->number++;
  watch->read_s = core_clock_s();

  const double needed = fmax(CPU_SHARE * (thread_cpu_s() - cpu_start), WALL_SHARE * (watch->read_s - start));
  watch->interval_s = fmin(INTERVAL_MAX_S, fmax(INTERVAL_S, needed));
  watch->is_importing = false;
  pthread_cond_broadcast(&watch->published);
  pthread_mutex_unlock(&watch->lock);
  serve_snapshot_release(&old);
}

/* Whether the snapshot is older than it gets while clients are connected: an interval and the time of a read. Under the
 * lock. */
static bool is_stale(const ServeWatch *watch) {
  return core_clock_s() - watch->read_s > 2 * watch->interval_s + INTERVAL_S;
}

/* Waits for the condition until a time of core_clock_s. Under the lock. */
static void wait_until(ServeWatch *watch, pthread_cond_t *condition, double time_s) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const double left = fmax(0, time_s - core_clock_s()) + 1e-3;
  until.tv_sec += (time_t)left;
  until.tv_nsec += (long)(1e9 * fmod(left, 1));
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_cond_timedwait(condition, &watch->lock, &until);
}

/* Waits until the next read is due or requested. false: the thread shall end. *is_urgent: a request waits for the read,
 * so the import is left to the next one. */
static bool wait_until_due(ServeWatch *watch, bool *is_urgent) {
  pthread_mutex_lock(&watch->lock);
  for (;;) {
    const double now = core_clock_s(), due = watch->read_s + watch->interval_s;
    const bool is_watched = now - watch->requested_s < WATCHED_S;
    if (watch->is_stopping || watch->is_requested || (is_watched && now >= due)) break;
    if (is_watched) wait_until(watch, &watch->changed, due);
    else pthread_cond_wait(&watch->changed, &watch->lock);
  }
  watch->is_requested = is_stale(watch);
  *is_urgent = watch->is_requested;
  watch->is_importing = !*is_urgent;
  const bool is_due = !watch->is_stopping;
  pthread_mutex_unlock(&watch->lock);
  return is_due;
}

static void *read_in_loop(void *context) {
  ServeWatch *watch = context;
  for (bool is_urgent; wait_until_due(watch, &is_urgent);) read_workspace(watch, !is_urgent);
  return NULL;
}

/* ---- interface --------------------------------------------------------------------------------------------------- */

int serve_watch_start(const char *root, ServeWatch **watch) {
  pthread_condattr_t attributes;
  ServeWatch *created = core_memory_zero_allocate(1, sizeof *created);
  *watch = NULL;
  created->root = root;
  created->is_requested = true; /* the first import, which may take minutes, follows the first read */
  created->requested_s = -WATCHED_S;

  const int code = store_path_database(root, created->reader.path);
  if (code != CORE_OK) {
    free(created);
    return code;
  }

  pthread_mutex_init(&created->lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&created->changed, &attributes);
  pthread_cond_init(&created->published, &attributes);
  pthread_condattr_destroy(&attributes);

  read_workspace(created, false);
  serve_reader_close(&created->reader); /* each thread has its own connection */
  errno = pthread_create(&created->thread, NULL, read_in_loop, created);
  if (errno == 0) {
    *watch = created;
    return CORE_OK;
  }

  core_error_errno(CORE_FAIL, "cannot start the thread that reads the workspace");
  serve_snapshot_release(&created->snapshot);
  free(created);
  return CORE_FAIL;
}

void serve_watch_stop(ServeWatch **watch) {
  ServeWatch *w = *watch;
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  w->is_stopping = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  serve_reader_close(&w->reader);
  serve_snapshot_release(&w->snapshot);
  pthread_cond_destroy(&w->changed);
  pthread_cond_destroy(&w->published);
  pthread_mutex_destroy(&w->lock);
  free(w);
  *watch = NULL;
}

ServeSnapshot *serve_watch_acquire(ServeWatch *watch, int64_t *number) {
  pthread_mutex_lock(&watch->lock);
  const double now = core_clock_s();
  const bool must_wait = is_stale(watch) && !watch->is_importing, was_idle = now - watch->requested_s >= WATCHED_S;
  const int64_t before = watch->number;
  watch->requested_s = now;
  if (must_wait) watch->is_requested = true;
  if (must_wait || was_idle) pthread_cond_signal(&watch->changed);
  while (must_wait && watch->number == before && core_clock_s() < now + WAIT_S)
    wait_until(watch, &watch->published, now + WAIT_S);
  ServeSnapshot *snapshot = watch->snapshot;
  serve_snapshot_hold(snapshot);
  *number = watch->number;
  pthread_mutex_unlock(&watch->lock);
  return snapshot;
}

void serve_watch_refresh(ServeWatch *watch) {
  pthread_mutex_lock(&watch->lock);
  watch->is_requested = true;
  watch->requested_s = core_clock_s();
  pthread_cond_signal(&watch->changed);
  pthread_mutex_unlock(&watch->lock);
}

ServeWatchStatus serve_watch_status(ServeWatch *watch) {
  pthread_mutex_lock(&watch->lock);
  const ServeWatchStatus status = {.interval_s = watch->interval_s, .is_importing = watch->is_importing};
  pthread_mutex_unlock(&watch->lock);
  return status;
}
