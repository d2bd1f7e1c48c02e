/* Time limits of episodes: what a rollout keeps of steps that were cut, where the environment tells them from ends
 * (Env.truncates), and the values that the learner goes on from there (env.truncation = bootstrap). Part of a rollout;
 * everything is on the rollout's device. */
#ifndef TRAINER_LIMITS_H
#define TRAINER_LIMITS_H
#include "core/device/arena.h"
#include "trainer/nets/agent.h"
#include "trainer/rollout/states.h"
#include "trainer/ranks/shards.h"
#include "trainer/wrappers/obs_pipeline.h"

typedef struct Limits {
  uint8_t *truncated;  /* [steps][worlds] 1: cut by the time limit alone; NULL: the environment does not tell */
  float *raw;          /* [worlds][shown] last observations of the episodes that ended; NULL: nobody needs them */
  float *seen;         /* [worlds][features] the same as the agent sees them; NULL: they are `raw` */
  float *values;       /* [steps][worlds] of them, where truncated; NULL but with bootstrap */
  float *leader_values; /* the same in the leader's eyes, who learns from all blocks; NULL but with SAPG, too */
} Limits;

/* env.truncation = bootstrap? */
bool limits_bootstrap(const CoreConfig *config);
/* CORE_USAGE: the environment or the learner lacks what env.truncation needs. */
int limits_check(const CoreConfig *config, const Env *env);
/* observer: registered. */
void limits_register(Limits *limits, const CoreConfig *config, const Env *env, const ObsPipeline *pipeline, int steps,
                     CoreArena *arena);
/* The values of worlds first .. first + count - 1 where step t cut, a shard's worlds at a time. All ranks. states: as
 * that step left them, before they end with their episodes. */
void limits_value(const Limits *limits, const ObsPipeline *pipeline, Ops *ops, const Agent *agent, const Shards *shards,
                  const RolloutStates *states, int t, int first, int count);

#endif
