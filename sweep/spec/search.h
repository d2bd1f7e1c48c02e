/* [search NAME] block of a sweep: its space (core/search/search.h) and the trials proposed until now. Like a zip, a
 * search is one axis, multiplied into every grid block; each of its values is a trial. Several searches form a union.
 *
 * Trials of random and sobol searches follow from the file. So do the first `startup` trials of the other methods;
 * the later ones are proposed from finished runs, one wave at a time (sweep/search/wave.h), and recorded in
 * sweeps/<name>/search.<search>.tsv, which only grows. What it has is what is trained, whatever a program would
 * propose now:
 *
 *   # search 1 <sweep> <search> <hash of the space>
 *   trial <tab> wave <tab> settings
 *   10 <tab> 1 <tab> ppo.learning_rate=0.000213 <tab> ppo.epochs=3 */
#ifndef SWEEP_SEARCH_H
#define SWEEP_SEARCH_H
#include <stddef.h>
#include <stdint.h>

#include "core/help.h"
#include "sweep/spec/spec.h"

/* Adds a trial to the search's lists. coordinate: from core_search_draw; inactive axes get the value of `base`. */
void sweep_search_add(SweepSearch *search, const CoreConfig *base, const double *coordinate);
/* Removes the last trial. */
void sweep_search_drop(SweepSearch *search);
/* Samples the trials that follow from the file. */
void sweep_search_draw(const SweepSpec *spec, SweepSearch *search);
/* Gets coordinate[search->space.count] of a trial. */
void sweep_search_trial(const SweepSearch *search, size_t trial, double *coordinate);
/* Finds the trial with these coordinates, which are as core_search_coordinate returns them. False: there is none. */
bool sweep_search_find(const SweepSearch *search, const double *coordinate, size_t *trial);
void sweep_search_free(SweepSearch *search);

/* Whether trials remain to be proposed when the present wave has ended. */
bool sweep_search_is_open(const SweepSearch *search);
/* Whether any search of the sweep is open. */
bool sweep_spec_is_open(const SweepSpec *spec);

/* Adds recorded trials that the searches of the spec lack. CORE_USAGE: the space has changed; CORE_FAIL: the file is
 * damaged, with the line. */
int sweep_proposals_read(const char *root, SweepSpec *spec);
/* Writes all proposed trials to the search's file, atomically. The caller holds the sweep's lock. */
int sweep_proposals_write(const char *root, const SweepSpec *spec, const SweepSearch *search);

/* Prints the help on [search NAME]. */
void sweep_search_help(CoreHelp *help);

#endif
