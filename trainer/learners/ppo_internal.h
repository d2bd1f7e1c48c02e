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

/* Returns the log-probs of the reference policy of the clip and of the KL penalty: proximal (PPO-EWMA) or behavior
 * (PPO). */
const float *ppo_ref_logp(const Ppo *ppo);
/* Registers the buffers of ppo.kl_penalty. CORE_USAGE: settings that exclude each other. */
int ppo_penalty_register(Ppo *ppo, CoreArena *arena);
/* Compute the penalty's gradient for the current micro-batch: the squared form before the policy's loss, whose sums it
 * uses as scratch, and add it to ppo->doutput after the loss. *kl: sum of the penalty without its coefficient. The sums
 * may be NULL (ops.h). ppo->logp must hold the current policy's log-probs for the squared form. */
void ppo_penalty_before_loss(Ppo *ppo, Ops *ops, const float *logits, OpsPolicySums *scratch, double *kl);
void ppo_penalty_after_loss(Ppo *ppo, Ops *ops, const float *logits, double *kl);

#endif
