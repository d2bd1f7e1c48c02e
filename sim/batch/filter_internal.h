/* Parts of the filter for level_stream.c, which plays the same levels in another order. */
#ifndef SIM_FILTER_INTERNAL_H
#define SIM_FILTER_INTERNAL_H
#include "sim/batch/batch.h"
#include "sim/batch/filter.h"

enum { SIM_FILTER_WORLDS_MAX = 256 }; /* worlds of the batch that plays levels */

/* Plays every world without actions for SIM_FILTER_STEPS environment steps and writes whether its first episode ended
 * at the goal: solved [world]. The batch must have just been reset and have no auto-reset. */
void sim_filter_play_noop(SimBatch *batch, uint8_t *solved);
/* Plays one level in the same way, on this thread. */
bool sim_filter_solves_itself(const SimLevel *level);

#endif
