/* The locomotion morphologies one by one, for the tools and tests that look behind sim_morphology_set (level.h).
 *
 * Two generators, both pure functions of their arguments, exact on every machine (no libm):
 *   public    Kinetix's own locomotion generator with its default arguments (spec kinetix.md 9.0): a body on two legs
 *             with ankles and one leg more, size L;
 *   families  eight body plans in four classes of difficulty (spec 9.1), size LOCO. A draw is only a candidate: each of
 *             the 512 levels has the number of the first attempt that passed the acceptance rules in a table, made by
 *             `trainer morphologies --search`. */
#ifndef SIM_MORPHOLOGY_H
#define SIM_MORPHOLOGY_H
#include "sim/physics/level.h"

enum {
  SIM_MORPHOLOGY_LEVELS = 512, SIM_MORPHOLOGY_FAMILIES = 8, SIM_MORPHOLOGY_CLASSES = 4,
  SIM_MORPHOLOGY_ATTEMPTS = 200, /* at most so many candidates a level */
  SIM_MORPHOLOGY_SEED = 2603,
};
extern const char *const SIM_MORPHOLOGY_NAME[SIM_MORPHOLOGY_FAMILIES]; /* "chain" ... "tree" */

int sim_morphology_family(int index); /* of level 0..511: 0..7 */
int sim_morphology_class(int index);  /* 0 (near goal, flat) .. 3 (far goal, a step, weaker motors) */

/* Level `key` of the public generator; keys 0..511 are the set "public", others are further samples of it. */
SimLevel sim_morphology_public(uint32_t key);

/* Candidate `attempt` for level `index` of the families. */
SimLevel sim_morphology_candidate(int index, uint32_t attempt);

/* The acceptance rules that need no simulation (spec 9.1 a, b): every part inside the arena, nothing deeper than 0.02 m
 * in a static or the step, root and goal apart. On refusal *reason is a constant text. */
bool sim_morphology_fits(const SimLevel *level, const char **reason);

/* Metres from the green body's to the blue one's centre, over all such pairs of active shapes. */
float sim_morphology_distance(const SimLevel *level);

#endif
