/* A [search NAME] block as a sweep has it: the space (core/search/search.h) and the trials that are known so far. A
 * search is one axis, multiplied into every grid block as a zip is; each of its values is a trial. Several searches of
 * a file add up.
 *
 * Trials of random and sobol searches follow from the file. Of a tpe search the first `startup` do; the others are
 * proposed from finished runs, a wave at a time (sweep/search/wave.h), and stand in sweeps/<name>/search.<search>.tsv,
 * which is only ever appended to:
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

/* Adds a trial to the search's lists. coordinate: of core_search_draw; an axis that does not take part has the value
 * of `base`. */
void sweep_search_add(SweepSearch *search, const CoreConfig *base, const double *coordinate);
/* Takes away the trial that was added last. */
void sweep_search_drop(SweepSearch *search);
/* The trials that follow from the file. */
void sweep_search_draw(const SweepSpec *spec, SweepSearch *search);
/* Coordinates of trial `trial`: coordinate[search->space.count]. */
void sweep_search_trial(const SweepSearch *search, size_t trial, double *coordinate);
void sweep_search_free(SweepSearch *search);

/* Not all trials are known yet: a wave is to be proposed when the present one has ended. */
bool sweep_search_is_open(const SweepSearch *search);
/* Of any search of the sweep. */
bool sweep_spec_is_open(const SweepSpec *spec);

/* Adds what was proposed, and is not known yet, to the searches of the spec. CORE_USAGE: the space has changed since;
 * CORE_FAIL: a damaged file, with the line. */
int sweep_proposals_read(const char *root, SweepSpec *spec);
/* Writes the search's file anew with all that was proposed; all or nothing. The caller holds the sweep's lock. */
int sweep_proposals_write(const char *root, const SweepSpec *spec, const SweepSearch *search);

/* What --help says of [search NAME]. */
void sweep_search_help(CoreHelp *help);

#endif
