/* Runs of a sweep grouped by their settings, as `analyze curves` groups them. Kept from one request to the next. */
#ifndef SWEEP_SERVE_GROUPS_H
#define SWEEP_SERVE_GROUPS_H
#include "analysis/runs/group.h"
#include "sweep/serve/reader.h"
#include "sweep/serve/snapshot.h"

/* Zero-initialize. */
typedef struct ServeGroups {
  char *key;                   /* sweep, keys and the version of the sweep's files; NULL: empty */
  int64_t runs, results_version; /* versions of the data of results.db that the groups were made from */
  double made_s, cost_s;       /* time of core_clock_s, and how long it took */
  AnalysisSelection selection;
  AnalysisGrouping grouping;
  size_t *index;               /* [run of the selection] run of the sweep; SIZE_MAX: not in its manifest */
  size_t *task;                /* [run of the selection] */
  size_t tasks;
  const CoreConfigRow **varied; /* [varied_count] settings in which the runs differ, without the seed */
  size_t varied_count;
  bool is_limited;             /* lines stand for several settings, of which they show the one that explains most */
} ServeGroups;

/* Groups the runs that results.db has of the sweep. keys: "KEY,KEY", "none" (one group) or NULL: all settings that
 * differ, or where those are too many, the one that explains most of the scores. Leaves the selection empty while the
 * database has no run. CORE_USAGE: unknown key. */
int serve_groups_read(ServeGroups *groups, StoreDatabase *database, const ServeSweep *sweep, const char *keys);
void serve_groups_free(ServeGroups *groups);

#endif
