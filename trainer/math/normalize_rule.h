/* Rules of running normalization, for the CPU (normalize.c) and the device's kernels (kernels_normalize.h). */
#ifndef TRAINER_NORMALIZE_RULE_H
#define TRAINER_NORMALIZE_RULE_H
#include <math.h>

#include "core/device/device_kernel.h"

/* x -> (x - mean) / std of all x so far, feature by feature (docs/algorithms.md#normalization). */
typedef enum NormalizeRule {
  NORMALIZE_NONE,
  NORMALIZE_STOIX,     /* std clamped to 5e-4..5e4; statistics change once per iteration */
  NORMALIZE_CLEANRL,   /* variance + 1e-8, result clamped to +-10; statistics change with every step */
  NORMALIZE_RL_GAMES,  /* variance + 1e-5, result clamped to +-5; statistics change once per iteration */
  NORMALIZE_CLEANRL_EACH, /* CLEANRL's rule for each world separately (gymnasium's wrapper inside an environment) */
} NormalizeRule;

/* Returns 1 / std of one feature. */
CORE_DEVICE_FN double normalize_factor(NormalizeRule rule, double count, double m2) {
  if (count == 0) return 1;
  const double variance = fmax(m2, 0.0) / count;
  switch (rule) {
    case NORMALIZE_STOIX: return 1 / sqrt(fmin(fmax(variance, 5e-4 * 5e-4), 5e4 * 5e4));
    case NORMALIZE_CLEANRL:
    case NORMALIZE_CLEANRL_EACH: return 1 / sqrt(variance + 1e-8);
    case NORMALIZE_RL_GAMES: return 1 / sqrt(variance + 1e-5);
    default: return 1;
  }
}

/* Returns the largest magnitude of a normalized value. */
CORE_DEVICE_FN double normalize_bound(NormalizeRule rule) {
  return rule == NORMALIZE_CLEANRL || rule == NORMALIZE_CLEANRL_EACH ? 10 : rule == NORMALIZE_RL_GAMES ? 5 : INFINITY;
}

/* Returns 1 / std of discounted sums of rewards; and a reward times it. */
CORE_DEVICE_FN double normalize_reward_factor(double count, double m2) { return 1 / sqrt(m2 / count + 1e-8); }
CORE_DEVICE_FN float normalize_reward(float reward, double factor) {
  return (float)fmin(fmax((double)reward * factor, -10.0), 10.0);
}

#endif
