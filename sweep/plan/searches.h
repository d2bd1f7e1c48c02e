/* Searches in a plan: their spaces, the number of proposed trials and the cost of the others, and a check that trials
 * contain no settings without effect. */
#ifndef SWEEP_SEARCHES_H
#define SWEEP_SEARCHES_H
#include "core/json.h"

#include "sweep/spec/grid.h"

/* Checks the trials. CORE_USAGE: one sets a setting that its algorithm does not read; the message has the line, the
 * reason and a remedy (a condition). Does nothing if [sweep] unread = allow. */
int sweep_searches_check(const SweepGrid *grid);

/* Estimated runs and transitions of trials that are not proposed yet, by the mean over the proposed ones. */
typedef struct SweepPendingTrials {
  size_t trials;
  double runs, transitions;
} SweepPendingTrials;
SweepPendingTrials sweep_searches_estimate(const SweepGrid *grid, double transitions);

/* Print a table of each search's space to stdout, and make it as JSON. */
void sweep_searches_print(const SweepSpec *spec);
json_t *sweep_searches_json(const SweepSpec *spec);

#endif
