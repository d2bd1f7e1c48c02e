/* Checks, advantages and targets of a rollout for PPO (ppo_internal.h). */
#include <math.h>
#include <string.h>

#include "trainer/learners/optim.h"
#include "trainer/learners/ppo_internal.h"
#include "trainer/math/estimators.h"
#include "trainer/update/reduce.h"

/* Returns the rollout's values in units of rewards, for advantages. normalize_values() later converts values and
 * targets to the critic's units. */
static const float *restore_values(Ppo *ppo, Ops *ops, const Rollout *rollout) {
  const size_t n = ((size_t)rollout->steps + 1) * (size_t)rollout->worlds;
  if (ppo->values == NULL) return rollout->values;
  core_device_copy(ops->device, ppo->values, rollout->values, n * sizeof *ppo->values);
  value_moments_restore(ops, ppo->value_moments, ppo->values, n);
  if (rollout->limits.values)
    value_moments_restore(ops, ppo->value_moments, rollout->limits.values, n - (size_t)rollout->worlds);
  return ppo->values;
}

static void normalize_values(Ppo *ppo, Ops *ops, const Rollout *rollout) {
  const size_t n = (size_t)rollout->steps * (size_t)rollout->worlds;
  float *const x[] = {ppo->values, ppo->targets};
  for (int i = 0; i < 2 && ppo->values; i++) {
    Moments now;
    reduce_rollout_moments(ops, &rollout->shards, x[i], NULL, rollout->steps, ppo->moments_scratch, &now);
    value_moments_count(ops, ppo->value_moments, &now, x[i], n);
  }
  ppo->minibatch.values_of = ppo->values;
}

void ppo_compute_advantages(Ppo *ppo, Ops *ops, const Rollout *rollout, UpdateStats *stats) {
  const CoreConfig *config = ppo->config;
  size_t total = (size_t)rollout->steps * (size_t)rollout->worlds;
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = config->ppo.gae_lambda,
                              .reward_scale = config->ppo.reward_scale};
  bool batch = strcmp(config->ppo.normalize_advantage, "batch") == 0;
  float *scratch = ppo->moments_scratch;
  const float *values = restore_values(ppo, ops, rollout);
  Moments advantage, target, residual;

  advantage_estimate(ops, rule, rollout->rewards, values, rollout->dones, rollout_truncated(rollout),
                     rollout->limits.values, rollout->steps, rollout->worlds, ppo->advantages, ppo->targets);
  reduce_rollout_moments(ops, &rollout->shards, ppo->advantages, NULL, rollout->steps, scratch, &advantage);
  reduce_rollout_moments(ops, &rollout->shards, ppo->targets, NULL, rollout->steps, scratch, &target);
  reduce_rollout_moments(ops, &rollout->shards, ppo->targets, values, rollout->steps, scratch, &residual);

  advantage_normalize_by(ops, batch ? ADVANTAGE_STOIX_BATCH : ADVANTAGE_RAW, &advantage, ppo->advantages, total);
  if (ppo->advantage_moments)
    advantage_normalize_ewma(ops, ppo->advantage_moments, config->ppo.adv_ewma_decay, &advantage, ppo->advantages,
                             total);

  stats->advantage_mean = advantage.mean;
  stats->advantage_sd = sqrt(moments_variance(&advantage));
  stats->explained_variance = estimators_explained_variance(&target, &residual);
  normalize_values(ppo, ops, rollout);
}

int ppo_check_rollout(const Ppo *ppo, Ops *ops, const Rollout *rollout) {
  size_t k = (size_t)rollout->steps, n = (size_t)rollout->worlds;
  TRY(optim_check_matrix(ops, "rollout: reward[step,world]", rollout->rewards, k, n));
  const int code = rollout->samples_logits
                     ? optim_check_matrix(ops, "rollout: actor.logp[step,world]", rollout->logp, k, n)
                     : optim_check_matrix(ops, "rollout: actor.logits[state,logit]", rollout->logits, k * n,
                                          (size_t)ppo->agent->head.logits);
  TRY(optim_blame_observations(ops, rollout, code));
  TRY(optim_check_matrix(ops, "rollout: critic.value[step,world]", rollout->values, k + 1, n));
  return optim_check_matrix(ops, "rollout: target[step,world]", ppo->targets, k, n);
}
