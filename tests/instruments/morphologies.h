/* `instruments morphologies`: table of the locomotion morphologies, and the search for acceptable ones. */
#ifndef TESTS_MORPHOLOGIES_H
#define TESTS_MORPHOLOGIES_H
#include <stdint.h>

#include "sim/physics/level.h"

/* The command; argv[0] is its name. Returns a CORE_ code. */
int instrument_morphologies(int argc, char **argv);

/* Measures the solve rate of a uniformly random policy on each level of a set, over `episodes` first episodes of at
 * most 256 steps per level. solve_rate: [set->count]. */
int morphologies_play_randomly(const SimLevelSet *set, int episodes, uint64_t seed, float *solve_rate);

#endif
