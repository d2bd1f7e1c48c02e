/* Actions between policy and environment: the head for an action space, and clipping to its bounds. */
#ifndef TRAINER_ACTION_H
#define TRAINER_ACTION_H
#include "core/config/config.h"
#include "trainer/envs/env.h"

/* The head of the environment's actions: categoricals for classes, net.action_head for real numbers. */
OpsHead action_head(const CoreConfig *config, const Env *env);

/* The actions [worlds][factors] that the environment takes: a Gaussian's are clipped to the bounds, into `room` (as
 * many floats); others are returned as they are. The learner keeps unclipped actions (spec ppo.md 8.1). */
const void *action_for_env(Ops *ops, const OpsHead *head, const void *actions, int worlds, float *room);

/* The actions [rows][factors] that the policy takes for the best: the first of the most probable classes, a Gaussian's
 * mean, or the tanh of it. Where logits are. */
void action_mode(Ops *ops, const OpsHead *head, const float *logits, int rows, void *actions);

/* Uniformly random actions [worlds][factors], keyed by (seed; purpose, first_world + world, step). Numbers without
 * bounds are between -1 and 1. */
void action_random(const OpsHead *head, int worlds, uint64_t seed, uint32_t purpose, uint32_t first_world,
                   uint32_t step, void *actions);

#endif
