/* What the server knows of the workspace at one moment: all sweeps as `sweep status` shows them, and what results.db
 * says of their runs. A snapshot is read anew as a whole (watch.c) and is not changed afterwards. */
#ifndef SWEEP_SERVE_SNAPSHOT_H
#define SWEEP_SERVE_SNAPSHOT_H
#include "sweep/serve/reader.h"
#include "sweep/status/view.h"

/* NaN: not measured. Scores are solve rates, or returns where episodes have no goal, of evaluations on the training
 * levels. */
typedef struct ServeResult { double ddr, best, last; } ServeResult;

typedef struct ServeSweep {
  SweepView *view;              /* borrowed from the snapshot */
  ServeResult *result;          /* [runs] */
  char **label;                 /* [runs] "ppo.com=8 train.seed=3": the settings in which the runs differ */
  int64_t results_version, label_version; /* of what they were read from */
} ServeSweep;

typedef struct ServeSnapshot {
  SweepView *view;              /* [count] */
  ServeSweep *sweep;            /* [count], sorted by name */
  size_t count;
  double read_unix_s, cost_s;   /* when, and how long it took */
  char problem[SWEEP_VIEW_PROBLEM]; /* what could not be read; "" */
} ServeSnapshot;

/* Reads; never fails: what cannot be read is told in `problem`. database: just brought up to date, or NULL. before
 * (may be NULL): an earlier one, with which it shares results and labels where nothing has changed since. */
ServeSnapshot *serve_snapshot_read(const char *root, StoreDatabase *database, ServeReader *reader,
                                   const ServeSnapshot *before);
/* after (may be NULL): the one that was read with this one before it, which keeps what both share. */
void serve_snapshot_free(ServeSnapshot **snapshot, const ServeSnapshot *after);

/* NULL: there is no such sweep. */
const ServeSweep *serve_snapshot_find(const ServeSnapshot *snapshot, const char *name);
/* The first sweep that has this run, and where; NULL: none has. */
const ServeSweep *serve_snapshot_find_run(const ServeSnapshot *snapshot, const char *id, size_t *index);

#endif
