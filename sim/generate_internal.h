/* The draws of which random levels are made (spec kinetix.md 5.2 to 5.5), shared by the generator and the mutators.
 * What they decide comes from `random`, in a fixed order; arithmetic is float32 with the sines of real.h.
 *
 * A function that adds something takes the first free slot. Where there is none, or nothing to attach to, it leaves the
 * level as it is and says so. */
#ifndef SIM_GENERATE_INTERNAL_H
#define SIM_GENERATE_INTERNAL_H
#include "core/random.h"
#include "sim/model.h"

/* What the streams (seed; level generation, number, use) of one level are for. New ones at the end. */
enum {
  SIM_GENERATE_LEVEL,      /* all draws of sim_generate_level but the last permutation */
  SIM_GENERATE_FILTER,     /* the level's luck in the filter */
  SIM_GENERATE_PERMUTE,    /* one stream for each kind of slot: 2..5 */
  SIM_GENERATE_MUTATE = 6,
};

/* The arena, in metres; the floor's top. */
#define SIM_GENERATE_ARENA 5.0f
#define SIM_GENERATE_FLOOR 0.4f

bool sim_generate_chance(CoreRandomStream *random, float probability);
/* Index drawn in proportion to weights of 0 and more; 0 when all are 0 (the reference's rule). */
int sim_generate_pick(CoreRandomStream *random, const float *weights, int count);
/* A free slot's index, -1 when all are in use. */
int sim_generate_free_polygon(const SimLevel *level);
int sim_generate_free_circle(const SimLevel *level);
int sim_generate_free_joint(const SimLevel *level);
int sim_generate_free_thruster(const SimLevel *level);

/* The shape with a global index, and whether that is a circle's. */
SimShape *sim_generate_shape(SimLevel *level, int index);
bool sim_generate_is_circle(const SimLevel *level, int index);
/* Where a point of a body lies in the world. */
SimVec sim_generate_to_world(const SimShape *shape, SimVec local);

/* Half sides of a rectangle, radius of a disc. Both are always set: the reference measures a shape by all of them. */
typedef struct SimDimensions { float half_x, half_y, radius; } SimDimensions;
SimDimensions sim_generate_dimensions(CoreRandomStream *random, bool rect);
/* A resting body at the origin; its masses wait for sim_level_recompute_mass. */
SimShape sim_generate_body(SimDimensions dimensions, bool rect, int role);
/* Green and blue first, then normal, or red while there is none. `allowed`: a factor for each of the four roles. */
int sim_generate_role(CoreRandomStream *random, const SimLevel *level, const float *allowed);
/* Half extents of a polygon's vertices. */
SimVec sim_generate_half_extents(const SimShape *polygon);
/* Uniform in the bounding box of a polygon's vertices. */
SimVec sim_generate_point_on_polygon(CoreRandomStream *random, const SimShape *polygon);

/* A shape on its own, sometimes fixated unless no_fix; gives its global index or -1 (spec 5.3). */
int sim_generate_add_shape(SimLevel *level, CoreRandomStream *random, bool no_fix);
/* A shape joined to one that is there; gives its global index or -1 (spec 5.4). *visible: could both be seen however
 * they turn around the joint? May be NULL. */
int sim_generate_add_connected(SimLevel *level, CoreRandomStream *random, bool force_revolute, bool *visible);
/* A thruster on a shape that can move (spec 5.5). */
bool sim_generate_add_thruster(SimLevel *level, CoreRandomStream *random);

#endif
