/* Sweeps as `sweep status` shows them: states of runs, results.db, Slurm and experiment files, joined. For
 * status.c (text, CSV), view_json.c (JSON) and sweep/serve. */
#ifndef SWEEP_VIEW_H
#define SWEEP_VIEW_H
#include "core/json.h"
#include "sweep/status/annotations.h"
#include "sweep/status/cluster_status.h"
#include "sweep/status/failures.h"
#include "sweep/status/members.h"
#include "sweep/status/progress.h"
#include "sweep/status/search_waits.h"

typedef struct SweepView {
  const char *root; /* borrowed */
  SweepProgress progress;
  bool is_slurm; /* whether `cluster` is set */
  SweepClusterStatus cluster;
  SweepMembers members; /* zeroes if the sweep's file cannot be read */
  SweepFailures failures;
  SweepSearchWaits searches;
  SweepAnnotations annotations; /* tags, notes, the pinned run */
} SweepView;

typedef struct SweepViewOptions {
  const char *root;
  bool settings;      /* whether to read the settings of runs, for JSON */
  bool is_repeated;   /* whether this is a later reading: does not repeat warnings */
  double queue_age_s; /* maximum age of a cached answer of Slurm */
} SweepViewOptions;

/* Opens results.db and imports new rows. NULL: it cannot be opened or may be out of date (another version, or another
 * process is importing); status works without it, from files. Warns of problems unless `is_repeated`. */
StoreDatabase *sweep_view_import(const char *root, bool is_repeated);

/* Reads names[*count] into view[*count + 1], which must be zeroed. Queries Slurm once for all, and not at all if no run
 * is unfinished. Skips sweeps that cannot be read: *count becomes the number of views, `problem` the first error or "".
 * Call sweep_view_free after it, also after an error. */
enum { SWEEP_VIEW_PROBLEM = 512 };
int sweep_view_read(const SweepViewOptions *asked, StoreDatabase *database, char **names, size_t *count,
                    SweepView *view, char problem[SWEEP_VIEW_PROBLEM]);
void sweep_view_free(SweepView *view, size_t count); /* frees the contents, not the array */

/* Return of run `index`: its condition ("out of memory"), the reason in one line ("": none), and whether it needs
 * attention. */
const char *sweep_view_status(const SweepView *view, size_t index);
const char *sweep_view_reason(const SweepView *view, size_t index);
bool sweep_view_needs_attention(const SweepView *view, size_t index);
bool sweep_view_is_active(const SweepView *view); /* whether a run runs, or will without the user */

/* Prints an element of the list of `sweep status --json`, run by run. */
void sweep_view_print_json(SweepView *view, FILE *stream);
/* Runs of a list of sweeps: `limit` after the first `offset`. */
typedef struct SweepViewPage { size_t offset, limit; } SweepViewPage;
/* Appends such an element on one line, with its runs of the page, which is reduced to those of further sweeps. */
void sweep_view_append_json(SweepView *view, SweepViewPage *page, CoreText *text);
/* Make its parts: all without the runs, and run `index`. */
json_t *sweep_view_summary_json(const SweepView *view);
json_t *sweep_view_run_json(SweepView *view, size_t index);

/* ---- view_runs.c ------------------------------------------------------------------------------------------------- */

/* Runs of sweeps, one line each: the table of `sweep status --runs` and the CSV of `--csv`. */

/* Selection of the runs to list: whether run `index` of `view` is one. */
typedef struct SweepRunFilter {
  bool (*is_listed)(const void *context, const SweepView *view, size_t index);
  const void *context;
} SweepRunFilter;

/* Prints the table of one sweep, with a column for each setting in which its runs differ. */
void sweep_view_print_runs(SweepView *view, StoreDatabase *database, const SweepRunFilter *filter);

/* Prints one CSV of all sweeps, with a column for each setting in which runs of one of them differ. database: source of
 * the best and the last evaluations; NULL: not available. */
void sweep_view_print_csv(SweepView *view, size_t count, StoreDatabase *database, const SweepRunFilter *filter);

#endif
