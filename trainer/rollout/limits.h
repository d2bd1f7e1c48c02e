/* Time limits of episodes: truncated steps of a rollout, where the environment distinguishes them from terminations
 * (Env.truncates), and the values that the learner bootstraps from there (env.truncation = bootstrap). Part of a
 * rollout; everything is on the rollout's device. */
#ifndef TRAINER_LIMITS_H
#define TRAINER_LIMITS_H
#include "core/device/arena.h"
#include "trainer/nets/agent.h"
#include "trainer/rollout/states.h"
#include "trainer/ranks/shards.h"
#include "trainer/wrappers/obs_pipeline.h"

typedef struct Limits {
  uint8_t *truncated;  /* [steps][worlds] 1: ended by the time limit alone; NULL: the environment does not report it */
  float *raw;          /* [worlds][shown] last observations of the episodes that ended; NULL: not needed */
  float *seen;         /* [worlds][features] the same as the agent sees them; NULL: identical to `raw` */
  float *values;       /* [steps][worlds] values of them, where truncated; NULL unless bootstrap */
  float *leader_values; /* leader's values, which learns from all blocks; NULL unless bootstrap with SAPG */
} Limits;

/* Whether env.truncation = bootstrap. */
bool limits_bootstrap(const CoreConfig *config);
/* Checks env.truncation. CORE_USAGE: the environment or the learner does not support it. */
int limits_check(const CoreConfig *config, const Env *env);
/* Registers the buffers. pipeline: registered. */
void limits_register(Limits *limits, const CoreConfig *config, const Env *env, const ObsPipeline *pipeline, int steps,
                     CoreArena *arena);
/* Computes the values of worlds first .. first + count - 1 where step t was truncated, one shard at a time. Called by
 * all ranks. states: after that step, before the episodes' ends clear them. */
void limits_value(const Limits *limits, const ObsPipeline *pipeline, Ops *ops, const Agent *agent, const Shards *shards,
                  const RolloutStates *states, int t, int first, int count);

#endif
