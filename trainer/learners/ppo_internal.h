/* Parts of PPO's update. */
#ifndef TRAINER_LEARNERS_PPO_INTERNAL_H
#define TRAINER_LEARNERS_PPO_INTERNAL_H
#include "trainer/learners/learner.h"
#include "trainer/learners/ppo.h"

/* Computes advantages (normalized over the rollout where the settings say so) and targets, and their statistics. Leaves
 * values and targets in the critic's units. Called by all ranks. */
void ppo_compute_advantages(Ppo *ppo, Ops *ops, const Rollout *rollout, UpdateStats *stats);
/* Checks rewards, logits, values and targets of the rollout. CORE_FAIL names the first element that is not finite. */
int ppo_check_rollout(const Ppo *ppo, Ops *ops, const Rollout *rollout);

#endif
