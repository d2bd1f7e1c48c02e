/* The filter's parts, for level_stream.c, which plays the same levels in another order. */
#ifndef SIM_FILTER_INTERNAL_H
#define SIM_FILTER_INTERNAL_H
#include "sim/batch/batch.h"
#include "sim/batch/filter.h"

enum { SIM_FILTER_WORLDS_MAX = 256 }; /* of a batch that is played */

/* Plays every world with idle hands for SIM_FILTER_STEPS environment steps: did its first end come at the goal? The
 * batch has just been reset and does not reset by itself. solved: [worlds]. */
void sim_filter_play_noop(SimBatch *batch, uint8_t *solved);
/* The same of one level, on this thread. */
bool sim_filter_solves_itself(const SimLevel *level);

#endif
