/* What a plan says of searches: their spaces, how many trials are known, and what the others will cost; and the check
 * that trials draw nothing that nobody reads. */
#ifndef SWEEP_SEARCHES_H
#define SWEEP_SEARCHES_H
#include "core/json.h"

#include "sweep/spec/grid.h"

/* CORE_USAGE: a trial gives a value to a setting that its algorithm does not read; names line, reason and way out (a
 * condition). CORE_OK where [sweep] unread = allow. */
int sweep_searches_check(const SweepGrid *grid);

/* Runs and transitions of trials that are not known yet, about: as many a trial as those that are known. */
typedef struct SweepLater { size_t trials; double runs, transitions; } SweepLater;
SweepLater sweep_searches_later(const SweepGrid *grid, double transitions);

/* To stdout: a table of each search's space. */
void sweep_searches_print(const SweepSpec *spec);
json_t *sweep_searches_json(const SweepSpec *spec);

#endif
