/* Initial weights of an agent. */
#ifndef TRAINER_AGENT_INIT_H
#define TRAINER_AGENT_INIT_H
#include "trainer/nets/agent.h"

/* Draws the initial weights, after agent_bind_activations(): a function of the seed only, the same on every device.
 * Networks over compact observations get the rows of networks over full observations that belong to their features. Log
 * standard deviations begin at net.log_std. */
void agent_init_weights(Agent *agent, uint64_t seed);

#endif
