/* Kinetix' random levels (spec kinetix.md 5.1 to 5.6, the published parameters, with its oddities, which are marked): a
 * green and a blue shape, actuators that move them, and clutter. Not every level is solvable; filter.h removes those
 * that solve themselves.
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

#endif
