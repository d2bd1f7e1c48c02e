/* `trainer morphologies`: what the locomotion morphologies are, and the search that accepted them. */
#ifndef TRAINER_MORPHOLOGIES_H
#define TRAINER_MORPHOLOGIES_H
#include <stdint.h>

#include "sim/physics/level.h"

/* The command; argv[0] is its name. Returns a CORE_ code. */
int trainer_morphologies(int argc, char **argv);

/* How often a uniformly random policy solves each level of a set: `episodes` first episodes of at most 256 steps a
 * level, actions from the stream `seed`. solve_rate: [set->count]. */
int trainer_morphologies_random(const SimLevelSet *set, int episodes, uint64_t seed, float *solve_rate);

#endif
