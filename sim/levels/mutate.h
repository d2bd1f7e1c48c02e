/* Random edits of a level (spec kinetix.md 5.8), as ACCEL makes them. Pure functions of their arguments; an edit keeps
 * a level usable: what would fail sim_level_check is left undone. */
#ifndef SIM_MUTATE_H
#define SIM_MUTATE_H
#include "core/random.h"
#include "sim/physics/level.h"

typedef enum SimMutation {
  SIM_MUTATE_ADD_SHAPE, SIM_MUTATE_ADD_CONNECTED, SIM_MUTATE_REMOVE_JOINT, SIM_MUTATE_REMOVE_SHAPE,
  SIM_MUTATE_SWAP_ROLE, SIM_MUTATE_ADD_THRUSTER, SIM_MUTATE_REMOVE_THRUSTER, SIM_MUTATE_TOGGLE_FIXTURE,
  SIM_MUTATE_SIZE, SIM_MUTATE_LOCATION, SIM_MUTATE_ROTATION,
  SIM_MUTATE_GRAVITY, /* there for those who want it; never drawn, as in the reference */
  SIM_MUTATIONS
} SimMutation;

/* How likely each edit is on this level, relative to each other; 0 where there is no room for it. */
void sim_mutate_weights(const SimLevel *level, float weights[SIM_MUTATIONS]);

/* Makes one edit; false (and the level as it was) when nothing is there to edit. The level has passed
 * sim_level_check. */
bool sim_mutate_apply(SimLevel *level, SimMutation edit, CoreRandomStream *random);

/* Makes `count` edits (ACCEL 5, PLR 2), each drawn by its weight, from the numbers of (seed, number). CORE_USAGE when
 * the level does not pass sim_level_check. */
int sim_mutate_level(SimLevel *level, uint64_t seed, uint32_t number, int count);

#endif
