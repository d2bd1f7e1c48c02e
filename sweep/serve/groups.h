/* Runs of a sweep grouped by their settings, as `analyze curves` groups them. Kept from one request to the next, and
 * shared by requests that run at once. */
#ifndef SWEEP_SERVE_GROUPS_H
#define SWEEP_SERVE_GROUPS_H
#include <pthread.h>
#include <stdatomic.h>

#include "analysis/plot/page.h"
#include "analysis/runs/group.h"
#include "core/json.h"
#include "sweep/serve/reader.h"
#include "sweep/serve/snapshot.h"

/* Immutable once made. */
typedef struct ServeGroups {
  atomic_int users;
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

enum { SERVE_GROUPS = 4 }; /* kept at a time: at least as many as requests that use them at once */

typedef struct ServeGroupsEntry {
  char *key;                   /* sweep, keys and the version of the sweep's files; NULL: free */
  ServeGroups *groups;         /* NULL: being made for the first time */
  bool is_being_made;          /* by one request, while others wait */
  int64_t used;                /* larger: used later */
} ServeGroupsEntry;

/* Initialize with SERVE_GROUPS_INITIALIZER. */
typedef struct ServeGroupsCache {
  pthread_mutex_t lock;        /* protects all below */
  pthread_cond_t made;
  ServeGroupsEntry entry[SERVE_GROUPS];
  int64_t uses;
} ServeGroupsCache;
#define SERVE_GROUPS_INITIALIZER {.lock = PTHREAD_MUTEX_INITIALIZER, .made = PTHREAD_COND_INITIALIZER}

/* Groups the runs that results.db has of the sweep. keys: "KEY,KEY", "none" (one group) or NULL: all settings that
 * differ, or where those are too many, the one that explains most of the scores. The selection is empty while the
 * database has no run, or is NULL. The caller calls serve_groups_release. CORE_USAGE: unknown key. */
int serve_groups_acquire(ServeGroupsCache *cache, StoreDatabase *database, const ServeSweep *sweep, const char *keys,
                         ServeGroups **groups);
/* Frees the groups after their last user. NULL is valid. */
void serve_groups_release(ServeGroups **groups);
void serve_groups_cache_free(ServeGroupsCache *cache);

/* Makes {"label", "runs", "color", "settings", "covers"} of a group: the settings that its runs share, and what runs it
 * covers. */
json_t *serve_groups_json(const ServeGroups *groups, const AnalysisPageColors *colors, size_t group);
/* Makes {"ppo.com": 8} of the settings in which the runs differ. */
json_t *serve_groups_settings_json(const ServeGroups *groups, const AnalysisConfig *config);
/* Adds "keys", the settings that differ, and "lines", those that the lines stand for where these average over the
 * others. */
void serve_groups_add_keys(const ServeGroups *groups, json_t *value);

#endif
