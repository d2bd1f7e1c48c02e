/* The no-op filter (spec kinetix.md 5.7): random levels, fewer of those that the goal solves by falling. */
#ifndef SIM_FILTER_H
#define SIM_FILTER_H
#include "sim/physics/level.h"

enum { SIM_FILTER_STEPS = 64, SIM_FILTER_RATIO = 2 }; /* environment steps; levels drawn for each one kept */

/* Does level i of the set end at the goal when nothing is done for SIM_FILTER_STEPS environment steps? Parallel over
 * levels, with the caller's thread count. solved: [set->count]. */
int sim_filter_noop(const SimLevelSet *set, uint8_t *solved);

/* Draws levels first .. first + 2 count - 1 of `seed` (generate.h) and keeps `count` of them, weighted 0.001 where the
 * no-op policy solves the level and 1 elsewhere, in their order. A pure function of its arguments. CORE_USAGE: a size
 * that no level can have, a count below 1, numbers beyond 32 bits; CORE_FAIL: out of memory. */
int sim_generate_filtered(SimSize size, uint64_t seed, uint32_t first, int count, SimLevelSet *set);

/* The one that sim_generate_filtered(size, seed, first, 1, ..) keeps, one level at a time on this thread and without
 * allocating, for resets inside a step: gives its number. The size must be one that levels can have. */
uint32_t sim_filter_draw(SimSize size, uint64_t seed, uint32_t first, SimLevel *level);

/* The fixed sets "random_s", "random_m", "random_l": the first levels of key 0 (level_stream.h), so that level i is the
 * same in sets of any count. */
int sim_generate_set(SimSize size, int count, SimLevelSet *set);

#endif
