/* Runs that need a hand, by what is wrong with them: a reason once, with how many runs have it and which. */
#ifndef SWEEP_FAILURES_H
#define SWEEP_FAILURES_H
#include <stddef.h>

#include "core/json.h"
#include "sweep/status/progress.h"

typedef struct SweepFailure {
  const char *status; /* "failed" */
  char *reason;       /* one line; numbers and run ids in which its runs differ are "..." */
  size_t *runs;       /* [count] indices, in their order */
  size_t count, capacity;
} SweepFailure;

/* Zero-initialise. */
typedef struct SweepFailures {
  SweepFailure *items;
  size_t count;
  size_t others;      /* runs beyond the reasons that are kept apart */
} SweepFailures;

/* `kind` is a constant, `reason` is copied. */
void sweep_failures_add(SweepFailures *failures, const char *status, const char *reason, size_t index);
void sweep_failures_free(SweepFailures *failures);

/* Of runs on this machine: failed, diverged, lost. */
void sweep_failures_add_progress(const SweepProgress *progress, SweepFailures *failures);

/* Appends, for each reason, a line and, when several runs have it, a line with the first of them. */
void sweep_failures_draw(const SweepFailures *failures, const SweepProgress *progress, CoreText *text);

/* [{"status": "failed", "reason": "...", "count": 16, "run": ["021a...", ...]}, ...], all runs of each. */
json_t *sweep_failures_json(const SweepFailures *failures, const SweepProgress *progress);

#endif
