/* Parts of PPO's update. */
#ifndef TRAINER_LEARNERS_PPO_INTERNAL_H
#define TRAINER_LEARNERS_PPO_INTERNAL_H
#include "trainer/learners/learner.h"
#include "trainer/learners/ppo.h"

/* Computes advantages (normalized over the rollout where the settings say so) and targets, and their statistics. Leaves
 * values and targets in the critic's units. Called by all ranks. */
void ppo_compute_advantages(Ppo *ppo, Ops *ops, const Rollout *rollout, UpdateStats *update);

#endif
