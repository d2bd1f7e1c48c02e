/* Advantages of a rollout (advantage.h): which statistics normalize what. The loops are the ops'. */
#include "trainer/update/advantage.h"

#include "trainer/ops/update.h"

void advantage_estimate(Ops *ops, AdvantageRule rule, const float *reward, const float *value, const uint8_t *done,
                        const uint8_t *truncated, const float *bootstrap, int steps, int worlds, float *advantage,
                        float *target) {
  CORE_CHECK((truncated == NULL) == (bootstrap == NULL));
  ops->gae(ops, rule.gamma, rule.lambda, rule.reward_scale, reward, value, done, truncated, bootstrap, steps, worlds,
           advantage, target);
}

/* Returns the divisor of the centered advantages. */
static double spread(AdvantageNorm norm, const Moments *moments) {
  switch (norm) {
    case ADVANTAGE_STOIX_BATCH: return sqrt(moments_variance(moments) + 1e-5);
    case ADVANTAGE_KINETIX_MINIBATCH: return sqrt(moments_variance(moments)) + 1e-8;
    case ADVANTAGE_CLEANRL_MINIBATCH: return sqrt(moments_variance_unbiased(moments)) + 1e-8;
    default: return 1;
  }
}

void advantage_normalize_by(Ops *ops, AdvantageNorm norm, const Moments *moments, float *advantage, size_t n) {
  if (norm != ADVANTAGE_RAW) ops->normalize(ops, advantage, n, moments->mean, 1 / spread(norm, moments));
}

void advantage_normalize_minibatch(Ops *ops, AdvantageNorm norm, float *advantage, size_t n) {
  CORE_CHECK(norm != ADVANTAGE_STOIX_BATCH);
  if (norm != ADVANTAGE_RAW) ops->update->normalize(ops, advantage, n, norm == ADVANTAGE_CLEANRL_MINIBATCH);
}

void advantage_normalize_ewma(Ops *ops, Moments *moments, double decay, const Moments *now, float *advantage,
                              size_t n) {
  moments_scale(moments, decay);
  moments_merge(moments, now);
  ops->normalize(ops, advantage, n, moments->mean, 1 / (sqrt(moments_variance(moments)) + 1e-8));
}
