/* The draws of which random levels are made (spec kinetix.md 5.2 to 5.5), and what the random streams of a level are
 * for. */
#ifndef SIM_GENERATE_INTERNAL_H
#define SIM_GENERATE_INTERNAL_H
#include "sim/levels/generate_joint.h"

/* What the streams (seed; level generation, number, use) of one level are for. New ones at the end. */
enum {
  SIM_GENERATE_LEVEL,      /* all draws of sim_generate_draw but the last permutation */
  SIM_GENERATE_FILTER,     /* the level's luck in the filter */
  SIM_GENERATE_PERMUTE,    /* one stream for each kind of slot: 2..5 */
};

#endif
