/* The parts of PPO's update. */
#ifndef TRAINER_LEARNERS_PPO_INTERNAL_H
#define TRAINER_LEARNERS_PPO_INTERNAL_H
#include "trainer/learners/learner.h"
#include "trainer/learners/ppo.h"

/* All ranks: advantages (standardised over the rollout where the settings say so) and targets, with what is reported of
 * them; values and targets in the critic's units. */
void ppo_estimate_advantages(Ppo *ppo, Ops *ops, const Rollout *rollout, LearnerUpdate *update);

#endif
