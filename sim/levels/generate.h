/* Kinetix' random levels (sample_kinetix_level in its kinetix/environment/ued/distributions.py, with the parameters of
 * its ued_state.py and its oddities, docs/simulator.md#kept-oddities): a green and a blue shape, actuators that move
 * them, and clutter. Not every level is solvable; filter.h removes those that solve themselves.
 *
 * Pure functions of their arguments, exact on every machine (no libm): level `number` of `seed` is always the same. */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H
#include "sim/physics/level.h"

/* Draws level `number` of the unfiltered distribution. Its name holds size, seed and number. CORE_USAGE: the size is
 * not valid or has fewer than two slots for the green and the blue shape. */
int sim_generate_level(SimSize size, uint64_t seed, uint32_t number, SimLevel *level);

/* Shuffles the slots of each kind, except the statics, and remaps all indices; the world is equivalent. */
void sim_generate_permute(SimLevel *level, uint64_t seed, uint32_t number);

/* Uses of the streams (seed; level generation, number, use) of one level. Append new ones at the end. */
enum {
  SIM_GENERATE_LEVEL,      /* all draws of sim_generate_draw except the final permutation */
  SIM_GENERATE_FILTER,     /* the level's time in the filter */
  SIM_GENERATE_PERMUTE,    /* one stream for each kind of slot: 2..5 */
};

#endif
