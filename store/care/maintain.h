/* Care of results.db: a copy before anything risky, a check with repair, and the union of two databases. */
#ifndef STORE_MAINTAIN_H
#define STORE_MAINTAIN_H
#include "store/database/database.h"

typedef enum StoreSeverity {
  STORE_NOTE,      /* worth knowing; nothing is wrong */
  STORE_WARNING,   /* the rows are not all that they could be */
  STORE_DAMAGE,    /* rows are wrong, or cannot be read */
} StoreSeverity;

typedef enum StoreRemedy {
  STORE_REMEDY_NONE,
  STORE_REMEDY_DELETED,  /* rows that belong to nothing were deleted */
  STORE_REMEDY_REBUILT,  /* the derived sums were made anew */
  STORE_REMEDY_AGAIN,    /* the run's logs are imported anew */
} StoreRemedy;

typedef struct StoreFinding {
  StoreSeverity severity;
  const char *subject;   /* "run d3b3d64313395237", "evaluation", "file" */
  const char *text;      /* what is wrong, and the way out; without the subject */
  bool repairable;       /* store_check with repair mends it */
  StoreRemedy remedy;    /* what was done */
} StoreFinding;

typedef struct StoreCheck {
  int64_t runs, iterations, evaluations, logs;  /* looked at */
  int64_t findings[3];                          /* by StoreSeverity */
  int64_t repairable, repaired;
  int64_t shorter;                              /* run logs that lost what was imported from them; no repair */
} StoreCheck;

/* Looks for what is wrong with a database:
 * - damage of the file (SQLite's integrity check);
 * - rows that belong to no run or sweep, gaps in iterations, runs whose rows end before their state says;
 * - settings that are no JSON, infinite or impossible values;
 * - run logs that are gone, or shorter than what was imported, or that differ from it; lines that could not be read.
 *
 * root: the workspace whose logs are compared; NULL for a database without one. `tell` is called with each finding, in
 * a fixed order.
 * repair: deletes rows of nothing. Marks runs with gaps or other logs, so that the next store_import reads their logs
 * anew; only where all of these are there. It is one transaction, and needs a database that is open for writing. */
int store_check(StoreDatabase *database, const char *root, bool repair,
                void (*tell)(void *context, const StoreFinding *finding), void *context, StoreCheck *check);

typedef struct StoreMerge {
  int64_t runs_added, runs_replaced, runs_kept;  /* replaced: the source had got further */
  int64_t iterations, evaluations;               /* copied */
  int64_t sweeps, renamed_sweeps;                /* renamed: another experiment file under the same name */
} StoreMerge;

/* Marks a database that is a union of others: nothing is imported into it, wherever it lies. Its table `merged` says
 * so. */
int store_merge_begin(StoreDatabase *target);

/* Adds the sweeps and runs of `source` (read only) to `target`. A run in both
 * comes from where it got further (iteration, attempt, heartbeat; equal: the target's stays), so merging again changes
 * nothing and the order of sources does not matter. Where two places gave other runs one index of a sweep, those that
 * come later get the next free one. A sweep whose name stands for another experiment file is added as
 * <name>.<8 hex digits of the file's checksum>. One transaction. */
int store_merge(StoreDatabase *target, StoreDatabase *source, StoreMerge *merge);

#endif
