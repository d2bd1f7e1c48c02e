/* Kernels of running normalization (trainer/wrappers/normalize.h). Sums over rows are computed in parts, so their last
 * bits differ from the CPU's, which adds the rows one by one. */
#ifndef TRAINER_OPS_KERNELS_NORMALIZE_H
#define TRAINER_OPS_KERNELS_NORMALIZE_H
#include "trainer/math/normalize_rule.h"

enum { KERNEL_NORMALIZE_PARTS = 64, KERNEL_REWARD_THREADS = 1024 };

/* ---- observations: rows [rows][features] join moments = count, means, sums of squared differences --------------- */

/* Rows are equal shards, each divided into parts; each rank has some shards, in order. */
typedef struct OpsMergeMoments {
  const float *x;
  size_t shard_rows, global_rows, features;
  size_t parts, own_parts, all_parts; /* parts of a shard, of this rank, of all ranks */
  double *moments;        /* [1 + 2 features] */
  double *sums;           /* [own_parts][features] */
  const double *global_sums; /* [all_parts][features] */
  double *shift;          /* [features] change of the means */
} OpsMergeMoments;

/* Computes a part's sum of x - mean, or (squares) of (x - mean)(x - new mean): one thread per feature of a part. */
CORE_KERNEL_FN void ops_moments_of_part(const CoreDeviceThread *at, const OpsMergeMoments *a, int squares) {
  const size_t size = (a->shard_rows + a->parts - 1) / a->parts;
  for (size_t i = core_device_first(at); i < a->own_parts * a->features; i += core_device_stride(at)) {
    const size_t k = i % a->features, part = i / a->features, shard = part / a->parts * a->shard_rows;
    const size_t first = shard + part % a->parts * size, last = shard + a->shard_rows;
    const size_t end = first + size < last ? first + size : last;
    const double mean = a->moments[1 + k], shift = squares ? a->shift[k] : 0;
    double sum = 0;
    for (size_t r = first; r < end; r++) {
      const double d = (double)a->x[r * a->features + k] - mean;
      sum += squares ? d * (d - shift) : d;
    }
    a->sums[i] = sum;
  }
}
CORE_KERNEL_FN void ops_shift_parts(const CoreDeviceThread *at, const OpsMergeMoments *a) {
  ops_moments_of_part(at, a, 0);
}
CORE_KERNEL_FN void ops_square_parts(const CoreDeviceThread *at, const OpsMergeMoments *a) {
  ops_moments_of_part(at, a, 1);
}

CORE_DEVICE_FN double ops_sum_of_feature(const OpsMergeMoments *a, size_t k) {
  double sum = 0;
  for (size_t part = 0; part < a->all_parts; part++) sum += a->global_sums[part * a->features + k];
  return sum;
}

CORE_KERNEL_FN void ops_shift(const CoreDeviceThread *at, const OpsMergeMoments *a) {
  for (size_t k = core_device_first(at); k < a->features; k += core_device_stride(at))
    a->shift[k] = ops_sum_of_feature(a, k) / (a->moments[0] + (double)a->global_rows);
}

CORE_KERNEL_FN void ops_merge_moments(const CoreDeviceThread *at, const OpsMergeMoments *a) {
  for (size_t k = core_device_first(at); k < a->features; k += core_device_stride(at)) {
    a->moments[1 + k] += a->shift[k];
    a->moments[1 + a->features + k] += ops_sum_of_feature(a, k);
    if (k == 0) a->moments[0] += (double)a->global_rows;
  }
}

typedef struct OpsFactors { const double *moments; size_t features; NormalizeRule rule; double *factor; } OpsFactors;
CORE_KERNEL_FN void ops_factors(const CoreDeviceThread *at, const OpsFactors *a) {
  for (size_t k = core_device_first(at); k < a->features; k += core_device_stride(at))
    a->factor[k] = normalize_factor(a->rule, a->moments[0], a->moments[1 + a->features + k]);
}

typedef struct OpsNormalize {
  const float *x;
  size_t rows;
  CoreDivisor features;
  size_t stride;          /* stride of y's rows */
  const double *mean, *factor;
  double limit;
  float *y;
} OpsNormalize;
CORE_KERNEL_FN void ops_normalize(const CoreDeviceThread *at, const OpsNormalize *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->features.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->features);
    const size_t k = place.rest;
    const double value = ((double)a->x[i] - a->mean[k]) * a->factor[k];
    a->y[place.whole * a->stride + k] =
      (float)(value > a->limit ? a->limit : value < -a->limit ? -a->limit : value);
  }
}

/* ---- rewards of a step: discounted sums per world, moments in one block, normalization ------------------------- */

typedef struct OpsRewardStep {
  float *rewards;         /* [worlds] */
  const uint8_t *dones, *goes_on; /* goes_on: ends across which a sum continues; NULL: none */
  double *returns;        /* [worlds] discounted sums */
  const double *all_returns; /* [global_worlds] of all ranks */
  double *moments;        /* count, mean, sum of squared differences of them */
  size_t worlds, global_worlds;
  double gamma;
  int scales;             /* not 0: scales by the current statistics */
} OpsRewardStep;

CORE_KERNEL_FN void ops_reward_returns(const CoreDeviceThread *at, const OpsRewardStep *a) {
  for (size_t w = core_device_first(at); w < a->worlds; w += core_device_stride(at))
    a->returns[w] = a->returns[w] * a->gamma + (double)a->rewards[w];
}

/* Returns the block's sum in the order of its threads. */
CORE_KERNEL_FN double ops_add_block(const CoreDeviceThread *at, double own) {
  double *of_thread = (double *)at->shared, sum = 0;
  core_device_barrier(at);
  of_thread[at->thread] = own;
  core_device_barrier(at);
  for (uint32_t i = 0; i < at->threads; i++) sum += of_thread[i];
  return sum;
}

CORE_KERNEL_FN void ops_reward_moments(const CoreDeviceThread *at, const OpsRewardStep *a) {
  const double mean = a->moments[1], count = a->moments[0] + (double)a->global_worlds, before = a->moments[2];
  double shift = 0, squares = 0;
  for (size_t w = at->thread; w < a->global_worlds; w += at->threads) shift += a->all_returns[w] - mean;
  shift = ops_add_block(at, shift) / count;
  for (size_t w = at->thread; w < a->global_worlds; w += at->threads) {
    const double d = a->all_returns[w] - mean;
    squares += d * (d - shift);
  }
  squares = before + ops_add_block(at, squares);
  if (at->thread > 0) return; /* all threads read the moments before the barrier */
  a->moments[0] = count;
  a->moments[1] = mean + shift;
  a->moments[2] = squares;
}

CORE_KERNEL_FN void ops_reward_step(const CoreDeviceThread *at, const OpsRewardStep *a) {
  const double factor = normalize_reward_factor(a->moments[0], a->moments[2]);
  for (size_t w = core_device_first(at); w < a->worlds; w += core_device_stride(at)) {
    if (a->dones[w] && !(a->goes_on && a->goes_on[w])) a->returns[w] = 0;
    if (a->scales) a->rewards[w] = normalize_reward(a->rewards[w], factor);
  }
}

typedef struct OpsRewardScale { float *rewards; size_t n; const double *moments; } OpsRewardScale;
CORE_KERNEL_FN void ops_reward_scale(const CoreDeviceThread *at, const OpsRewardScale *a) {
  const double factor = normalize_reward_factor(a->moments[0], a->moments[2]);
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->rewards[i] = normalize_reward(a->rewards[i], factor);
}

#endif
