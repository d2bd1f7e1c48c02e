/* Advantages and value targets of a rollout, and their normalization (docs/algorithms.md#advantages). Between the
 * rollout and the minibatches; buffers are float32 on the ops' device, time-major [steps][worlds]. Allocates nothing,
 * never fails. */
#ifndef TRAINER_ADVANTAGE_H
#define TRAINER_ADVANTAGE_H
#include "trainer/ops/ops.h"

typedef struct AdvantageRule { double gamma, lambda, reward_scale; } AdvantageRule;

/* Computes generalized advantages, and target = value + advantage (before any normalization).
 *   reward     [steps][worlds]
 *   value      [steps + 1][worlds]: V(obs_t); the last row is V of the observation after the last step
 *   done       [steps][worlds]: 1 where the episode ended (discount 0; nothing is bootstrapped across it), or was
 *              truncated
 *   truncated  [steps][worlds] or NULL: 1 where it was truncated, whatever done says; the trace stops there, and
 *   bootstrap  [steps][worlds] is read there: V of the true next observation, which the reset has replaced in
 *              `value`. Elsewhere V(next) is value[t + 1] or is multiplied by 0, so it is never computed. NULL iff
 *              truncated is. */
void advantage_estimate(Ops *ops, AdvantageRule rule, const float *reward, const float *value, const uint8_t *done,
                        const uint8_t *truncated, const float *bootstrap, int steps, int worlds, float *advantage,
                        float *target);

typedef enum AdvantageNorm {
  ADVANTAGE_RAW,                 /* unchanged */
  ADVANTAGE_STOIX_BATCH,         /* (A - m) / sqrt(v + 1e-5), population v: over the whole rollout, once per
                                  * iteration */
  ADVANTAGE_KINETIX_MINIBATCH,   /* (A - m) / (population std + 1e-8): each minibatch */
  ADVANTAGE_CLEANRL_MINIBATCH,   /* (A - m) / (unbiased std + 1e-8): each minibatch */
} AdvantageNorm;

/* Normalizes advantage[n] in place; `moments` may cover more values than these. Moments are float64, so a large mean
 * costs no digits (the JAX reference computes E[A^2] - m^2 in float32). */
void advantage_normalize_by(Ops *ops, AdvantageNorm norm, const Moments *moments, float *advantage, size_t n);

/* Normalizes by the minibatch's own moments, which never leave the ops' device (one with ops->update). norm: RAW or a
 * minibatch rule. */
void advantage_normalize_minibatch(Ops *ops, AdvantageNorm norm, float *advantage, size_t n);

/* Normalizes by (A - m) / (sqrt(v) + 1e-8) with moments over all calls, the count (hence the weight) of earlier calls
 * times decay (openai/ppo-ewma's ppo_ewma/ppo.py, EwmaMoments). now: moments of this call's values, of which
 * advantage[n] may be a part. *moments: n 0 before the first call. decay 0: this call alone. */
void advantage_normalize_ewma(Ops *ops, Moments *moments, double decay, const Moments *now, float *advantage,
                              size_t n);

#endif
