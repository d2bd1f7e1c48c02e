/* Kernels of normalization with separate statistics per world (trainer/wrappers/normalize_each.h), like wrappers inside
 * each environment. The work on one element is a function that the host's loops also call. */
#ifndef TRAINER_OPS_KERNELS_NORMALIZE_EACH_H
#define TRAINER_OPS_KERNELS_NORMALIZE_EACH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/math/normalize_rule.h"

/* Adds one value to the statistics of `count` values. */
CORE_DEVICE_FN void ops_join_value(double count, double *mean, double *m2, double x) {
  const double d = x - *mean, shift = d / (count + 1);
  *mean += shift;
  *m2 += d * (d - shift);
}

/* Returns one normalized value, within the rule's bound. */
CORE_DEVICE_FN float ops_normalize_value(double count, double mean, double m2, float x) {
  const double value = ((double)x - mean) * normalize_factor(NORMALIZE_CLEANRL, count, m2);
  const double bound = normalize_bound(NORMALIZE_CLEANRL);
  return (float)(value > bound ? bound : value < -bound ? -bound : value);
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* New observations of each world, preceded by the last observation of an episode that ended. */
typedef struct OpsCountEach {
  const float *x;         /* [worlds][features] */
  const float *last;      /* [worlds][features], read where done; NULL: no such observations */
  const uint8_t *dones;   /* [worlds]; not read without `last` */
  double *moments;        /* [worlds][1 + 2 features]: count, means, sums of squared differences */
  size_t worlds;
  CoreDivisor features;
  size_t stride;          /* stride of the rows of `seen` */
  float *seen;            /* last observations, normalized by the statistics at that point; NULL: not wanted */
} OpsCountEach;

/* Adds feature i % features of world i / features; the count is unchanged. */
CORE_DEVICE_FN void ops_count_feature(const OpsCountEach *a, size_t i) {
  const CoreDivided place = core_divide(i, a->features);
  const size_t w = place.whole, k = place.rest, features = a->features.number;
  double *record = a->moments + w * (1 + 2 * features), *mean = record + 1 + k, *m2 = mean + features;
  double count = record[0];
  if (a->last && a->dones[w]) {
    ops_join_value(count, mean, m2, (double)a->last[i]);
    count += 1;
    if (a->seen) a->seen[w * a->stride + k] = ops_normalize_value(count, *mean, *m2, a->last[i]);
  }
  ops_join_value(count, mean, m2, (double)a->x[i]);
}
CORE_KERNEL_FN void ops_count_features(const CoreDeviceThread *at, const OpsCountEach *a) {
  for (size_t i = core_device_first(at); i < a->worlds * a->features.number; i += core_device_stride(at))
    ops_count_feature(a, i);
}

/* Updates the counts after all features. */
CORE_DEVICE_FN void ops_count_world(const OpsCountEach *a, size_t w) {
  a->moments[w * (1 + 2 * a->features.number)] += a->last && a->dones[w] ? 2 : 1;
}
CORE_KERNEL_FN void ops_count_worlds(const CoreDeviceThread *at, const OpsCountEach *a) {
  for (size_t w = core_device_first(at); w < a->worlds; w += core_device_stride(at)) ops_count_world(a, w);
}

typedef struct OpsNormalizeEach {
  const float *x;         /* [worlds][features] */
  const double *moments;  /* as above */
  size_t worlds;
  CoreDivisor features;
  size_t stride;          /* stride of y's rows */
  float *y;
} OpsNormalizeEach;
CORE_DEVICE_FN void ops_normalize_feature(const OpsNormalizeEach *a, size_t i) {
  const CoreDivided place = core_divide(i, a->features);
  const size_t w = place.whole, features = a->features.number;
  const double *record = a->moments + w * (1 + 2 * features), *mean = record + 1 + place.rest;
  a->y[w * a->stride + place.rest] = ops_normalize_value(record[0], *mean, mean[features], a->x[i]);
}
CORE_KERNEL_FN void ops_normalize_features(const CoreDeviceThread *at, const OpsNormalizeEach *a) {
  for (size_t i = core_device_first(at); i < a->worlds * a->features.number; i += core_device_stride(at))
    ops_normalize_feature(a, i);
}

/* ---- rewards ----------------------------------------------------------------------------------------------------- */

/* Scales a step's rewards in place (gymnasium's NormalizeReward): the discounted sum is 0 before the reward of a
 * terminating step, and continues across a truncation. */
typedef struct OpsRewardEach {
  float *rewards;                   /* [worlds] */
  const uint8_t *dones, *truncated; /* [worlds]; truncated NULL: every end terminates */
  double *returns;                  /* [worlds] discounted sums */
  double *moments;                  /* [worlds][3]: count, mean, sum of squared differences of them */
  size_t worlds;
  double gamma;
} OpsRewardEach;
CORE_DEVICE_FN void ops_reward_of_world(const OpsRewardEach *a, size_t w) {
  const bool terminates = a->dones[w] && !(a->truncated && a->truncated[w]);
  double *record = a->moments + 3 * w;
  a->returns[w] = (terminates ? 0 : a->returns[w] * a->gamma) + (double)a->rewards[w];
  ops_join_value(record[0], &record[1], &record[2], a->returns[w]);
  record[0] += 1;
  a->rewards[w] = normalize_reward(a->rewards[w], normalize_reward_factor(record[0], record[2]));
}
CORE_KERNEL_FN void ops_reward_of_worlds(const CoreDeviceThread *at, const OpsRewardEach *a) {
  for (size_t w = core_device_first(at); w < a->worlds; w += core_device_stride(at)) ops_reward_of_world(a, w);
}

/* ---- clipped rewards --------------------------------------------------------------------------------------------- */

/* In place; NaN stays, so that it is detected. */
typedef struct OpsRewardSigns { float *rewards; size_t n; } OpsRewardSigns;
CORE_DEVICE_FN void ops_reward_sign(const OpsRewardSigns *a, size_t i) {
  const float reward = a->rewards[i];
  a->rewards[i] = reward > 0 ? 1.0f : reward < 0 ? -1.0f : reward;
}
CORE_KERNEL_FN void ops_reward_signs(const CoreDeviceThread *at, const OpsRewardSigns *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_reward_sign(a, i);
}

#endif
