/* Sweeps as `sweep status` shows them: their files, results.db, Slurm and their own experiment files joined. For
 * status.c (people, CSV), view_json.c (scripts) and sweep/serve. */
#ifndef SWEEP_VIEW_H
#define SWEEP_VIEW_H
#include "core/json.h"
#include "sweep/status/cluster_status.h"
#include "sweep/status/failures.h"
#include "sweep/status/members.h"
#include "sweep/status/progress.h"
#include "sweep/status/annotations.h"

typedef struct SweepView {
  const char *root; /* borrowed */
  SweepProgress progress;
  bool is_slurm; /* `cluster` counts */
  SweepClusterStatus cluster;
  SweepMembers members; /* unless they cannot be known: zeroes */
  SweepFailures failures;
  SweepAnnotations annotations; /* tags, notes, the pinned run */
} SweepView;

typedef struct SweepViewOptions {
  const char *root;
  bool settings;      /* of each run, for sweep_view_json */
  bool is_repeated;   /* says nothing of sweeps whose file cannot be read */
  double queue_age_s; /* so long an answer of Slurm is good for */
} SweepViewOptions;

/* Opens results.db and imports what is new; NULL when it cannot be had, or may lie behind (of another version, or
 * another process is importing), which does not hide the status: the states are files. Warns of what is wrong, unless
 * `is_repeated`. */
StoreDatabase *sweep_view_import(const char *root, bool is_repeated);

/* Reads names[*count] into `shown` [*count + 1], zeroes. Slurm is asked once for all, and not at all when nothing of
 * them is unfinished. A sweep that cannot be read does not hide the others: *count is how many could be, and *problem
 * says of the first that could not ("" otherwise). sweep_view_free after it, also after an error. */
enum { SWEEP_VIEW_PROBLEM = 512 };
int sweep_view_read(const SweepViewOptions *asked, StoreDatabase *database, char **names, size_t *count,
                    SweepView *view, char problem[SWEEP_VIEW_PROBLEM]);
void sweep_view_free(SweepView *view, size_t count); /* what is in them, not the array */

/* Of run `index`: its status in words ("out of memory"), why it has it in one line ("" for nothing to say), and
 * whether it needs a hand. */
const char *sweep_view_status(const SweepView *view, size_t index);
const char *sweep_view_reason(const SweepView *view, size_t index);
bool sweep_view_needs_attention(const SweepView *view, size_t index);
bool sweep_view_is_active(const SweepView *view); /* something of it runs, or will by itself */

/* What `sweep status --json` prints of it; its parts: all but the runs, and run `index`. */
json_t *sweep_view_json(SweepView *view);
json_t *sweep_view_summary_json(const SweepView *view);
json_t *sweep_view_run_json(SweepView *view, size_t index);

#endif
