/* No-op filter (create_vmapped_filtered_distribution in Kinetix' kinetix/environment/ued/distributions.py): random
 * levels with fewer of those that are solved without any action. */
#ifndef SIM_FILTER_H
#define SIM_FILTER_H
#include "sim/physics/level.h"

enum { SIM_FILTER_STEPS = 64, SIM_FILTER_RATIO = 2 }; /* environment steps; levels drawn for each one kept */

/* Plays each level without actions for SIM_FILTER_STEPS environment steps and writes whether it ended at the goal:
 * solved [set->count]. Parallel over levels, with the caller's thread count. */
int sim_filter_noop(const SimLevelSet *set, uint8_t *solved);

/* Draws levels first .. first + 2 count - 1 of `seed` (generate.h) and keeps `count` of them in their order, chosen
 * with weight 0.001 where the no-op policy solves the level and 1 elsewhere. A pure function of its arguments.
 * CORE_USAGE: an impossible size, a count below 1, numbers beyond 32 bits; CORE_FAIL: out of memory. */
int sim_generate_filtered(SimSize size, uint64_t seed, uint32_t first, int count, SimLevelSet *set);

/* Draws the level that sim_generate_filtered(size, seed, first, 1, ..) keeps, on this thread and without allocation,
 * for resets inside a step; returns its number. The size must be valid. */
uint32_t sim_filter_draw(SimSize size, uint64_t seed, uint32_t first, SimLevel *level);

/* Generates the fixed sets "random_s", "random_m" and "random_l": the first levels of key 0 (level_stream.h), so that
 * level i does not depend on the count. */
int sim_generate_set(SimSize size, int count, SimLevelSet *set);

#endif
