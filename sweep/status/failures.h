/* Runs that need attention, grouped by reason. */
#ifndef SWEEP_FAILURES_H
#define SWEEP_FAILURES_H
#include <stddef.h>

#include "core/json.h"
#include "sweep/status/progress.h"

typedef struct SweepFailure {
  const char *status; /* "failed" */
  char *reason;       /* one line; numbers and run ids that differ between the runs are "..." */
  size_t *runs;       /* [count] indices, ascending */
  size_t count, capacity;
} SweepFailure;

/* Zero-initialize. */
typedef struct SweepFailures {
  SweepFailure *items;
  size_t count;
  size_t others; /* runs beyond the largest number of reasons */
} SweepFailures;

/* Adds run `index`. status: borrowed; reason: copied. */
void sweep_failures_add(SweepFailures *failures, const char *status, const char *reason, size_t index);
void sweep_failures_free(SweepFailures *failures);

/* Adds runs on this machine that have failed, diverged or are lost. */
void sweep_failures_add_progress(const SweepProgress *progress, SweepFailures *failures);

/* Appends a line per reason and, if several runs have it, a line with the first of them. */
void sweep_failures_draw(const SweepFailures *failures, const SweepProgress *progress, CoreText *text);

/* Returns [{"status": "failed", "reason": "...", "count": 16, "run": ["021a...", ...]}, ...] with all runs. */
json_t *sweep_failures_json(const SweepFailures *failures, const SweepProgress *progress);

#endif
