/* Helpers of the agent's files: the part below the towers. */
#ifndef TRAINER_AGENT_INTERNAL_H
#define TRAINER_AGENT_INTERNAL_H
#include "trainer/nets/agent.h"

static inline bool agent_has_encoder(const Agent *agent) { return agent->encoder.shape.kind != ENCODER_NONE; }
static inline bool agent_has_common_encoder(const Agent *agent) {
  return agent_has_encoder(agent) && agent->sharing == AGENT_SHARED;
}
static inline bool agent_is_gaussian(const Agent *agent) { return agent->head.kind == OPS_GAUSSIAN; }

/* Returns the number of sets of log standard deviations. */
static inline int agent_sigma_sets(const Agent *agent) { return agent->blocks.count > 0 ? agent->blocks.count : 1; }

/* Returns the width of a tower's trainable input: trunk, LSTM or encoder; 0 where there is none. */
static inline int agent_below_width(const Agent *agent) {
  if (agent->trunk > 0) return agent->actor.shape.width[agent->trunk];
  if (agent_is_recurrent(agent)) return agent->recurrent.shape.width;
  return agent_has_encoder(agent) ? agent->encoder.shape.width : 0;
}
static inline bool agent_has_common_recurrent(const Agent *agent) {
  return agent_is_recurrent(agent) && agent->sharing == AGENT_SHARED;
}

#endif
