/* Sweeps as `sweep status` shows them: their files, results.db, Slurm and their own experiment files joined. For
 * status.c (people, CSV), shown_json.c (scripts) and sweep/serve. */
#ifndef SWEEP_SHOWN_H
#define SWEEP_SHOWN_H
#include "core/json.h"
#include "sweep/status/cluster_status.h"
#include "sweep/status/failures.h"
#include "sweep/status/members.h"
#include "sweep/status/progress.h"
#include "sweep/status/said.h"

typedef struct SweepShown {
  const char *root;           /* borrowed */
  SweepProgress progress;
  bool is_slurm;              /* `cluster` counts */
  SweepClusterStatus cluster;
  SweepMembers members;       /* unless they cannot be known: zeroes */
  SweepFailures troubles;
  SweepSaid said;             /* tags, notes, the pinned run */
} SweepShown;

typedef struct SweepShownAsked {
  const char *root;
  bool settings;              /* of each run, for sweep_shown_json */
  bool is_repeated;           /* says nothing of sweeps whose file cannot be read */
  double queue_age_s;         /* so long an answer of Slurm is good for */
} SweepShownAsked;

/* Opens results.db and imports what is new; NULL when it cannot be had, or may lie behind (of another version, or
 * another process is importing), which does not hide the status: the states are files. Warns of what is wrong, unless
 * `is_repeated`. */
StoreDatabase *sweep_shown_import(const char *root, bool is_repeated);

/* Reads names[*count] into `shown` [*count + 1], zeroes. Slurm is asked once for all, and not at all when nothing of
 * them is unfinished. A sweep that cannot be read does not hide the others: *count is how many could be, and *problem
 * says of the first that could not ("" otherwise). sweep_shown_free after it, also after an error. */
enum { SWEEP_SHOWN_PROBLEM = 512 };
int sweep_shown_read(const SweepShownAsked *asked, StoreDatabase *database, char **names, size_t *count,
                     SweepShown *shown, char problem[SWEEP_SHOWN_PROBLEM]);
void sweep_shown_free(SweepShown *shown, size_t count); /* what is in them, not the array */

/* Of run `index`: its status in words ("out of memory"), why it has it in one line ("" for nothing to say), and
 * whether it needs a hand. */
const char *sweep_shown_status(const SweepShown *shown, size_t index);
const char *sweep_shown_reason(const SweepShown *shown, size_t index);
bool sweep_shown_is_trouble(const SweepShown *shown, size_t index);
bool sweep_shown_is_busy(const SweepShown *shown); /* something of it runs, or will by itself */

/* What `sweep status --json` prints of it; its parts: all but the runs, and run `index`. */
json_t *sweep_shown_json(SweepShown *shown);
json_t *sweep_shown_summary_json(const SweepShown *shown);
json_t *sweep_shown_run_json(SweepShown *shown, size_t index);

#endif
