/* Single locomotion morphologies, for tools and tests that need more than sim_morphology_set (level_set.h).
 *
 * Two generators, both pure functions of their arguments, exact on every machine (no libm):
 *   public    Kinetix' own locomotion generator with its default arguments (morphology_public.c): a body on two legs
 *             with ankles and a third leg, size L;
 *   families  eight body plans in four classes of difficulty (docs/simulator.md#families), size LOCO. A draw is only a
 *             candidate: a table made by `instruments morphologies --search` has, for each of the 512 levels, the
 *             number of the first attempt that passed the acceptance rules. */
#ifndef SIM_MORPHOLOGY_H
#define SIM_MORPHOLOGY_H
#include "sim/physics/level.h"

enum {
  SIM_MORPHOLOGY_LEVELS = 512, SIM_MORPHOLOGY_FAMILIES = 8, SIM_MORPHOLOGY_CLASSES = 4,
  SIM_MORPHOLOGY_ATTEMPTS = 200, /* bound of the candidates per level */
  SIM_MORPHOLOGY_SEED = 2603,
};
extern const char *const SIM_MORPHOLOGY_NAME[SIM_MORPHOLOGY_FAMILIES]; /* "chain" ... "tree" */

int sim_morphology_family(int index); /* family 0..7 of level 0..511 */
int sim_morphology_class(int index);  /* 0 (near goal, flat) .. 3 (far goal, a step, weaker motors) */

/* Generates level `key` of the public generator; keys 0..511 are the set "public", others are further samples. */
SimLevel sim_morphology_public(uint32_t key);

/* Generates candidate `attempt` of level `index` of the families. */
SimLevel sim_morphology_candidate(int index, uint32_t attempt);

/* Checks the acceptance rules that need no simulation: every part inside the arena, no penetration deeper than 0.02 m
 * into a static or the step, root and goal apart. On rejection *reason is a static string. */
bool sim_morphology_fits(const SimLevel *level, const char **reason);

/* Returns the distance in meters between the centers of active green and blue shapes, summed over all such pairs. */
float sim_morphology_distance(const SimLevel *level);

#endif
