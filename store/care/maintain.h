/* Maintenance of results.db: check with repair, and the union of two databases. */
#ifndef STORE_MAINTAIN_H
#define STORE_MAINTAIN_H
#include "store/database/database.h"

typedef enum StoreSeverity {
  STORE_NOTE,      /* information; nothing is wrong */
  STORE_WARNING,   /* missing or suspicious rows */
  STORE_DAMAGE,    /* wrong or unreadable rows */
} StoreSeverity;

typedef enum StoreRemedy {
  STORE_REMEDY_NONE,
  STORE_REMEDY_DELETED,  /* orphaned rows were deleted */
  STORE_REMEDY_REBUILT,  /* derived sums were recomputed */
  STORE_REMEDY_AGAIN,    /* the next import reads the run's logs again */
} StoreRemedy;

typedef struct StoreFinding {
  StoreSeverity severity;
  const char *subject;   /* "run d3b3d64313395237", "evaluation", "file" */
  const char *text;      /* problem and remedy, without the subject */
  bool repairable;       /* whether store_check with repair fixes it */
  StoreRemedy remedy;    /* remedy that was applied */
} StoreFinding;

typedef struct StoreCheck {
  int64_t runs, iterations, evaluations, logs;  /* numbers of checked objects */
  int64_t findings[3];                          /* number of findings by StoreSeverity */
  int64_t repairable, repaired;
  int64_t shorter;                              /* run logs shorter than what was imported; cannot be repaired */
} StoreCheck;

/* Checks a database for
 * - damage of the file (SQLite's integrity check);
 * - rows without a run or sweep, gaps in iterations, runs with fewer rows than their state records;
 * - settings that are not JSON, infinite or invalid values;
 * - run logs that are missing, truncated or changed since their import, and unreadable lines.
 *
 * root: workspace whose logs are compared; NULL for a database without one. Calls on_finding with each finding, in a
 * fixed order.
 * repair: deletes orphaned rows, and marks runs with gaps or changed logs so that the next store_import reads their
 * logs again, provided that all of these exist. One transaction; the database must be open for writing. */
int store_check(StoreDatabase *database, const char *root, bool repair,
                void (*on_finding)(void *context, const StoreFinding *finding), void *context, StoreCheck *check);

typedef struct StoreMerge {
  int64_t runs_added, runs_replaced, runs_kept;  /* replaced: the run has progressed further in the source */
  int64_t iterations, evaluations;               /* numbers of copied rows */
  int64_t sweeps, renamed_sweeps;                /* renamed: the name was taken by another experiment file */
} StoreMerge;

/* Marks a database as a union of others, by a table `merged`: nothing is imported into it, wherever it is. */
int store_merge_begin(StoreDatabase *target);

/* Adds the sweeps and runs of `source` (read only) to `target`. A run in both comes from the database where it has
 * progressed further (by iteration, attempt, heartbeat; if equal, from the target). Merging again therefore changes
 * nothing, and the order of sources does not matter. If both have different runs at one index of a sweep, the source's
 * gets the next free index. A sweep whose name is taken by another experiment file is added as
 * <name>.<8 hex digits of the file's checksum>. One transaction. */
int store_merge(StoreDatabase *target, StoreDatabase *source, StoreMerge *merge);

/* ---- extract.c --------------------------------------------------------------------------------------------------- */

/* Writes the rows of `source` that belong to these sweeps and their runs to `path`, a new file. Like a union
 * (store_merge_begin), nothing can be imported into it. Equal rows give equal bytes. CORE_USAGE: `source` lacks one of
 * the sweeps; CORE_FAIL: it cannot be written. On an error `path` is removed. */
int store_extract(StoreDatabase *source, const char *const *sweeps, size_t count, const char *path);

#endif
