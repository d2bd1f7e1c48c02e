/* Builder of levels that both morphology generators use: parts, hinges, and the random stream. */
#ifndef SIM_MORPHOLOGY_INTERNAL_H
#define SIM_MORPHOLOGY_INTERNAL_H
#include "core/random.h"
#include "sim/levels/morphology.h"
#include "sim/physics/model.h"

/* Level under construction; the counts are of slots in use (polygons: including the four statics). */
typedef struct SimBuilder {
  SimLevel *level;
  CoreRandomStream random;
  int polygons, circles, joints;
  int root; /* global index of the green body */
} SimBuilder;

/* Starts an empty scene and the stream (SIM_MORPHOLOGY_SEED; level generation, index, attempt). */
SimBuilder sim_builder_start(SimLevel *level, SimSize size, bool corrected, uint32_t index, uint32_t attempt);

float sim_builder_uniform(SimBuilder *builder, float low, float high);
bool sim_builder_chance(SimBuilder *builder, float probability);
int sim_builder_whole(SimBuilder *builder, int low, int high); /* draws from low..high, both included */

/* Returns the shape with a global index. */
SimShape *sim_builder_shape(SimBuilder *builder, int index);

/* Adds a moving rectangle or disc in the next free slot, at the origin; returns its global index. Density, friction and
 * mode are the empty scene's; sim_level_recompute_mass sets the masses. The caller must stay within the size. */
int sim_builder_rect(SimBuilder *builder, float half_x, float half_y);
int sim_builder_disc(SimBuilder *builder, float radius);

/* Turns `child` to the world angle `rotation`, moves its point `at_child` onto `at_parent` (both in body frames) and
 * adds a revolute joint there, without motor or limits. */
SimJoint *sim_builder_attach(SimBuilder *builder, int parent, SimVec at_parent, int child, SimVec at_child,
                             float rotation);

/* Adds the blue goal, a fixated circle in `slot`. */
SimShape *sim_builder_goal(SimBuilder *builder, int slot, SimVec position, float radius);

/* Returns the bounds of all active moving shapes as they are rotated. */
SimBox sim_builder_bounds(const SimLevel *level);

#endif
