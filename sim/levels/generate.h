/* Kinetix' random levels (spec kinetix.md 5.1 to 5.6, the published parameters, its oddities kept and marked): a green
 * and a blue shape, something to move them with, and clutter. Solvable or not; filter.h leaves out what solves itself.
 *
 * Pure functions of their arguments, exact on every machine (no libm): level `number` of `seed` is always the same. */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H
#include "sim/physics/level.h"

/* Draws level `number` of the unfiltered distribution. Its name holds size, seed and number. CORE_USAGE when the size
 * is none of this simulator's or has no two slots for the green and the blue shape. */
int sim_generate_level(SimSize size, uint64_t seed, uint32_t number, SimLevel *level);

/* Shuffles the slots of each kind (the statics stay) with all indices that name them; the world means the same. */
void sim_generate_permute(SimLevel *level, uint64_t seed, uint32_t number);

#endif
