/* The weights that an agent begins with. */
#ifndef TRAINER_AGENT_INITIALISE_H
#define TRAINER_AGENT_INITIALISE_H
#include "trainer/nets/agent.h"

/* Draws them, after agent_bind_activations: a function of the seed only, the same on every device. Those over compact
 * observations are the rows of networks over whole observations that see what is left. Log standard deviations begin at
 * 0. */
void agent_initialise(Agent *agent, uint64_t seed);

#endif
