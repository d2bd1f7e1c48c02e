/* Actions between policy and environment: the head for an action space, and clipping to its bounds. */
#ifndef TRAINER_ACTION_H
#define TRAINER_ACTION_H
#include "core/config/config.h"
#include "trainer/envs/env.h"

/* Returns the head of the environment's actions: categoricals for classes, net.action_head for real values. */
OpsHead action_head(const CoreConfig *config, const Env *env);

/* Returns the actions [worlds][factors] for the environment: a Gaussian's are clipped to the bounds, into `scratch` (as
 * many floats); others are returned unchanged. The learner keeps unclipped actions (docs/algorithms.md#policies). */
const void *action_for_env(Ops *ops, const OpsHead *head, const void *actions, int worlds, float *scratch);

/* Computes the mode of the policy's distribution, actions [rows][factors]: the first of the most probable classes, a
 * Gaussian's mean, or its tanh. On the logits' device. */
void action_mode(Ops *ops, const OpsHead *head, const float *logits, int rows, void *actions);

/* Draws uniformly random actions [worlds][factors], keyed by (seed; purpose, first_world + world, step). Unbounded
 * components are between -1 and 1. */
void action_random(const OpsHead *head, int worlds, uint64_t seed, uint32_t purpose, uint32_t first_world,
                   uint32_t step, void *actions);

#endif
