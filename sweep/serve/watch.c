/* A loop of import and reading (watch.h), at most every two seconds and for at most a thirtieth of one processor. */
#include "sweep/serve/watch.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"

static const double INTERVAL_S = 2; /* the least between two readings */
static const double INTERVAL_MOST_S = 30; /* and the most: a first import may take minutes */
static const double CPU_SHARE = 30, WALL_SHARE = 4; /* the interval over what a reading takes of a processor, of time */
static const double WATCHED_S = 20; /* so long after a request somebody is taken to look */

struct ServeWatch {
  ServeWatchOptions options;
  ServeReader reader;                 /* of the thread */
  pthread_t thread;
  pthread_mutex_t lock;               /* of all below */
  pthread_cond_t changed;
  ServeSnapshot *snapshot;
  int64_t number;                     /* of readings */
  double read_s, asked_s, interval_s; /* when, by core_clock_s */
  bool wanted, imports, ends;         /* imports: is importing now */
};

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static double thread_cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Outside of the lock but for the exchange. */
static void read_now(ServeWatch *watch, bool imports) {
  const double start = core_clock_s(), cpu_start = thread_cpu_s();
  StoreDatabase *database = imports ? sweep_view_import(watch->options.root, true) : NULL;
  ServeSnapshot *made = serve_snapshot_read(watch->options.root, database, &watch->reader, watch->snapshot);
  store_database_close(&database);
  core_error_clear();
  pthread_mutex_lock(&watch->lock);
  ServeSnapshot *old = watch->snapshot;
  watch->snapshot = made;
  watch->number++;
  watch->read_s = core_clock_s();
  const double needed = fmax(CPU_SHARE * (thread_cpu_s() - cpu_start), WALL_SHARE * (watch->read_s - start));
  watch->interval_s = fmin(INTERVAL_MOST_S, fmax(INTERVAL_S, needed));
  watch->imports = false;
  pthread_mutex_unlock(&watch->lock);
  serve_snapshot_free(&old, made);
}

/* Under the lock. While somebody looks a reading is at most one interval old, and a while more as the next is made. */
static bool is_old(const ServeWatch *watch) {
  return core_clock_s() - watch->read_s > 2 * watch->interval_s + INTERVAL_S;
}

/* Until it is time, somebody wants it, or the end; false: the end. *hurries: somebody waits for it, who is not to wait
 * for an import too; that comes next. */
static bool wait_for_turn(ServeWatch *watch, bool *hurries) {
  pthread_mutex_lock(&watch->lock);
  for (;;) {
    const double now = core_clock_s(), due = watch->read_s + watch->interval_s;
    const bool is_watched = now - watch->asked_s < WATCHED_S;
    if (watch->ends || watch->wanted || (is_watched && now >= due)) break;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const double left = due - now + 1e-3;
    until.tv_sec += (time_t)left;
    until.tv_nsec += (long)(1e9 * fmod(left, 1));
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    if (is_watched) pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
    else pthread_cond_wait(&watch->changed, &watch->lock);
  }
  *hurries = watch->wanted = is_old(watch);
  watch->imports = !*hurries;
  const bool goes_on = !watch->ends;
  pthread_mutex_unlock(&watch->lock);
  return goes_on;
}

static void *run(void *given) {
  ServeWatch *watch = given;
  for (bool hurries; wait_for_turn(watch, &hurries);) {
    read_now(watch, !hurries);
    watch->options.read(watch->options.context);
  }
  return NULL;
}

/* ---- for others -------------------------------------------------------------------------------------------------- */

int serve_watch_start(const ServeWatchOptions *options, ServeWatch **watch) {
  pthread_condattr_t attributes;
  ServeWatch *made = core_memory_zero_allocate(1, sizeof *made);
  *watch = NULL;
  made->options = *options;
  made->wanted = true; /* the first import: it may take minutes, the first reading does not wait for it */
  made->asked_s = -WATCHED_S;
  const int code = store_path_database(options->root, made->reader.path);
  if (code != CORE_OK) {
    free(made);
    return code;
  }
  pthread_mutex_init(&made->lock, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&made->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  read_now(made, false);
  serve_reader_close(&made->reader); /* a connection is of one thread */
  errno = pthread_create(&made->thread, NULL, run, made);
  if (errno == 0) {
    *watch = made;
    return CORE_OK;
  }
  core_error_errno(CORE_FAIL, "cannot start a thread");
  serve_snapshot_free(&made->snapshot, NULL);
  free(made);
  return CORE_FAIL;
}

void serve_watch_stop(ServeWatch **watch) {
  ServeWatch *w = *watch;
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  w->ends = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  serve_reader_close(&w->reader);
  serve_snapshot_free(&w->snapshot, NULL);
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
  free(w);
  *watch = NULL;
}

ServeSnapshot *serve_watch_take(ServeWatch *watch, int64_t *number) {
  pthread_mutex_lock(&watch->lock);
  const double now = core_clock_s();
  const bool waits = is_old(watch) && !watch->imports, slept = now - watch->asked_s >= WATCHED_S;
  watch->asked_s = now;
  if (waits) watch->wanted = true;
  if (waits || slept) pthread_cond_signal(&watch->changed);
  *number = watch->number;
  if (!waits) return watch->snapshot; /* locked */
  pthread_mutex_unlock(&watch->lock);
  return NULL;
}

void serve_watch_give(ServeWatch *watch) { pthread_mutex_unlock(&watch->lock); }

void serve_watch_hurry(ServeWatch *watch) {
  pthread_mutex_lock(&watch->lock);
  watch->wanted = true;
  watch->asked_s = core_clock_s();
  pthread_cond_signal(&watch->changed);
  pthread_mutex_unlock(&watch->lock);
}

ServeWatchNow serve_watch_now(const ServeWatch *watch) {
  return (ServeWatchNow){.interval_s = watch->interval_s, .is_importing = watch->imports};
}
