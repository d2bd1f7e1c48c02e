/* Random streams of a generated level (generate.h). */
#ifndef SIM_GENERATE_INTERNAL_H
#define SIM_GENERATE_INTERNAL_H
#include "sim/levels/generate_joint.h"

/* Uses of the streams (seed; level generation, number, use) of one level. Append new ones at the end. */
enum {
  SIM_GENERATE_LEVEL,      /* all draws of sim_generate_draw except the final permutation */
  SIM_GENERATE_FILTER,     /* the level's time in the filter */
  SIM_GENERATE_PERMUTE,    /* one stream for each kind of slot: 2..5 */
};

#endif
