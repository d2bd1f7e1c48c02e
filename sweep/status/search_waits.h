/* Reasons why the searches of a sweep wait, for `sweep status`: runs of their present wave, or proposals of the next
 * one. */
#ifndef SWEEP_SEARCH_WAITS_H
#define SWEEP_SEARCH_WAITS_H
#include "core/json.h"
#include "sweep/status/members.h"

/* Search that has trials left to propose. */
typedef struct SweepSearchWait {
  char name[SWEEP_NAME];
  size_t proposed, trials; /* trials so far, and in the end */
  size_t runs;             /* runs of its trials that have not ended; 0: the next wave is due */
  char *problem;           /* why the last attempt to propose it failed; "": it has not */
} SweepSearchWait;

typedef struct SweepSearchWaits {
  SweepSearchWait *items;
  size_t count;
} SweepSearchWaits;

/* Finds the searches. members: of the sweep; zeroes, because all runs have finished or its file cannot be read: reads
 * the file itself, and finds none if it cannot. Free with sweep_search_waits_free. */
void sweep_search_waits_find(const char *root, const SweepProgress *progress, const SweepMembers *members,
                             SweepSearchWaits *waits);
void sweep_search_waits_free(SweepSearchWaits *waits);

/* Appends a line per search. */
void sweep_search_waits_draw(const SweepSearchWaits *waits, const SweepProgress *progress, CoreText *text);
/* Makes [{"search": ..., "proposed": ..., "trials": ..., "waits_for_runs": ..., "problem": ...}]. */
json_t *sweep_search_waits_json(const SweepSearchWaits *waits);

#endif
