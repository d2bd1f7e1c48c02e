/* `trainer morphologies`: table of the locomotion morphologies, and the search for acceptable ones. */
#ifndef TRAINER_MORPHOLOGIES_H
#define TRAINER_MORPHOLOGIES_H
#include <stdint.h>

#include "sim/physics/level.h"

/* The command; argv[0] is its name. Returns a CORE_ code. */
int trainer_morphologies(int argc, char **argv);

/* Measures the solve rate of a uniformly random policy on each level of a set, over `episodes` first episodes of at
 * most 256 steps per level. solve_rate: [set->count]. */
int trainer_morphologies_random(const SimLevelSet *set, int episodes, uint64_t seed, float *solve_rate);

#endif
