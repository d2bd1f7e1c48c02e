/* KL penalties of PPO's loss, in place of the clip or with it (docs/algorithms.md#losses).
 *
 *   squared  beta 0.5 E[(log pi - log pi_ref)^2] over the sampled actions (openai/ppo-ewma's compute_losses)
 *   exact    beta E[KL(pi_ref || pi)] over all actions (Schulman et al. 2017, section 4)
 *
 * pi_ref is the policy that acted, or the proximal one of PPO-EWMA. beta is ppo.kl_penalty, or follows the KL
 * (kl_control.h). */
#include <math.h>
#include <string.h>

#include "trainer/learners/ppo_internal.h"

const float *ppo_ref_logp(const Ppo *ppo) { return ppo->ewma ? ppo->proximal_logp : ppo->minibatch.logp; }

int ppo_penalty_register(Ppo *ppo, CoreArena *arena) {
  const CoreConfig *config = ppo->config;
  const size_t rows = (size_t)ppo->minibatch.capacity, logits = (size_t)ppo->agent->head.logits;
  if (config->ppo.kl_penalty == 0) return CORE_OK;
  ppo->penalizes_exact_kl = strcmp(config->ppo.kl_penalty_form, "exact") == 0;
  if (!ppo->penalizes_exact_kl) {
    CORE_ARENA_DEVICE(arena, ppo->kl_penalty_weights, rows, "weights of the KL penalty [rows]");
    CORE_ARENA_DEVICE(arena, ppo->dkl_penalty, rows * logits, "gradient of the KL penalty [rows][logits]");
  } else if (!ppo->ewma) {
    CORE_ARENA_DEVICE(arena, ppo->behavior_logits, rows * logits, "behavior logits [rows][logits]");
  }
  return CORE_OK;
}

/* The squared form's gradient equals that of a policy loss at ratio 1 with advantages -beta (logp - logp_ref). */
void ppo_penalty_before_loss(Ppo *ppo, Ops *ops, const float *logits, OpsPolicySums *scratch, double *kl) {
  const Minibatch *batch = &ppo->minibatch;
  if (ppo->kl_penalty_weights == NULL) return;
  ops->kl_penalty_weights(ops, ppo->logp, ppo_ref_logp(ppo), ppo->penalty.coefficient, batch->rows,
                          ppo->kl_penalty_weights, kl);
  ops->policy_loss(ops, &ppo->agent->head, logits, batch->actions, ppo->logp, NULL, ppo->kl_penalty_weights,
                   batch->rows, INFINITY, 0, ppo->dkl_penalty, scratch);
}

/* Returns the reference policy's logits at the micro-batch's states. */
static const float *ref_logits(Ppo *ppo, Ops *ops) {
  const Minibatch *batch = &ppo->minibatch;
  if (ppo->ewma) return ppo->proximal_logits;
  ops->gather_rows(ops, ppo->rollout->logits, batch->own_index, ppo->behavior_logits, batch->rows,
                   ppo->agent->head.logits);
  return ppo->behavior_logits;
}

void ppo_penalty_after_loss(Ppo *ppo, Ops *ops, const float *logits, double *kl) {
  const Minibatch *batch = &ppo->minibatch;
  const OpsHead *head = &ppo->agent->head;
  if (ppo->kl_penalty_weights)
    ops->add(ops, ppo->doutput, ppo->dkl_penalty, (size_t)batch->rows * (size_t)head->logits);
  if (ppo->penalizes_exact_kl)
    ops->exact_kl_penalty(ops, head, logits, ref_logits(ppo, ops), batch->rows, ppo->penalty.coefficient,
                          ppo->doutput, kl);
}
