/* The workspace at one moment: all sweeps as in `sweep status`, with results of their runs from results.db. A snapshot
 * is read as a whole (watch.c) and is immutable, so any number of threads may read it. It lives until its last user
 * releases it; later snapshots share the results and labels that have not changed. */
#ifndef SWEEP_SERVE_SNAPSHOT_H
#define SWEEP_SERVE_SNAPSHOT_H
#include <stdatomic.h>

#include "sweep/serve/reader.h"
#include "sweep/status/view.h"

/* Results of a run; NaN: not measured. Scores are solve rates on the training levels, or returns if episodes have no
 * goal. */
typedef struct ServeResult { double ddr, best, last; } ServeResult;

typedef struct ServeResults { atomic_int users; ServeResult run[]; } ServeResults;
typedef struct ServeLabels { atomic_int users; size_t runs; char *run[]; } ServeLabels;

typedef struct ServeSweep {
  SweepView *view;              /* borrowed from the snapshot */
  ServeResults *results;        /* with the snapshots before and after this one */
  ServeLabels *labels;
  const ServeResult *result;    /* [runs] */
  char *const *label;           /* [runs] "ppo.com=8 train.seed=3": the settings in which the runs differ */
  int64_t results_version, label_version; /* versions of their sources */
} ServeSweep;

typedef struct ServeSnapshot {
  atomic_int users;
  SweepView *view;              /* [count] */
  ServeSweep *sweep;            /* [count], sorted by name */
  size_t count;
  double read_unix_s;           /* time of reading */
  char problem[SWEEP_VIEW_PROBLEM]; /* message about a sweep that could not be read; "" */
} ServeSnapshot;

/* Reads the workspace. Does not fail: `problem` has the message. database: up to date, or NULL. previous: an earlier
 * snapshot whose results and labels are shared as far as they have not changed; may be NULL. The caller is the first
 * user. */
ServeSnapshot *serve_snapshot_read(const char *root, StoreDatabase *database, ServeReader *reader,
                                   const ServeSnapshot *previous);
void serve_snapshot_hold(ServeSnapshot *snapshot);
/* Frees it after its last user. NULL is valid. */
void serve_snapshot_release(ServeSnapshot **snapshot);

/* Finds a sweep by name; NULL: not found. */
const ServeSweep *serve_snapshot_find(const ServeSnapshot *snapshot, const char *name);
/* Finds the first sweep that has the run, and the run's index in it; NULL: not found. */
const ServeSweep *serve_snapshot_find_run(const ServeSnapshot *snapshot, const char *id, size_t *index);

#endif
