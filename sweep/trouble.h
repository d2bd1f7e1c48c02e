/* Runs that need a hand, by what is wrong with them: a reason once, with how many runs have it and which. */
#ifndef SWEEP_TROUBLE_H
#define SWEEP_TROUBLE_H
#include <stddef.h>

#include "core/json.h"
#include "sweep/progress.h"

typedef struct SweepTrouble {
  const char *kind;   /* "failed" */
  char *reason;       /* one line; numbers and run ids in which its runs differ are "..." */
  size_t *runs;       /* [count] indices, in their order */
  size_t count, capacity;
} SweepTrouble;

/* Zero-initialise. */
typedef struct SweepTroubles {
  SweepTrouble *items;
  size_t count;
  size_t others;      /* runs beyond the reasons that are kept apart */
} SweepTroubles;

/* `kind` is a constant, `reason` is copied. */
void sweep_trouble_add(SweepTroubles *troubles, const char *kind, const char *reason, size_t index);
void sweep_trouble_free(SweepTroubles *troubles);

/* Of runs on this machine: failed, diverged, lost. */
void sweep_trouble_of_progress(const SweepProgress *progress, SweepTroubles *troubles);

/* Appends, for each reason, a line and, when several runs have it, a line with the first of them. */
void sweep_trouble_draw(const SweepTroubles *troubles, const SweepProgress *progress, CoreText *text);

/* [{"status": "failed", "reason": "...", "count": 16, "run": ["021a...", ...]}, ...], all runs of each. */
json_t *sweep_trouble_json(const SweepTroubles *troubles, const SweepProgress *progress);

#endif
