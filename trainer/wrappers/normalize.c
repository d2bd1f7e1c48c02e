/* Running moments and the factors that the rules derive from them (normalize.h). */
#include "trainer/wrappers/normalize.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_normalize_each.h"
#include "trainer/ranks/ranks.h"
#include "trainer/wrappers/normalize_device.h"

enum { TILE = 16 }; /* features per thread: whole cache lines of every row */

NormalizeRule normalize_rule(const char *name) {
  static const char *const names[] = {"none", "stoix", "cleanrl", "rl_games", "cleanrl_each"};
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
    if (strcmp(name, names[i]) == 0) return (NormalizeRule)i;
  return NORMALIZE_NONE;
}

/* Returns the rule's prior: a number of rows of mean 0 and variance 1. */
static double prior(NormalizeRule rule) {
  const bool cleanrl = rule == NORMALIZE_CLEANRL || rule == NORMALIZE_CLEANRL_EACH;
  return cleanrl ? 1e-4 : rule == NORMALIZE_RL_GAMES ? 1 : 0;
}

/* ---- moments ---------------------------------------------------------------------------------------------------- */

/* Merges features first .. first+tile-1 of all rows: the mean moves by the batch's mean difference, m2 by the sum of (x
 * - old mean)(x - new mean), which equals merging the batch's own moments. */
static void merge_tile(double count, double *mean, double *m2, int features, const float *x, int rows, int first,
                       int tile) {
  double shift[TILE] = {0}, squares[TILE] = {0};
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < tile; k++)
      shift[k] += (double)x[(size_t)r * (size_t)features + (size_t)(first + k)] - mean[first + k];
  for (int k = 0; k < tile; k++) shift[k] /= count + rows;
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < tile; k++) {
      const double d = (double)x[(size_t)r * (size_t)features + (size_t)(first + k)] - mean[first + k];
      squares[k] += d * (d - shift[k]);
    }
  for (int k = 0; k < tile; k++) {
    mean[first + k] += shift[k];
    m2[first + k] += squares[k];
  }
}

double normalize_merge(double count, double *mean, double *m2, int features, const float *x, int rows) {
#pragma omp parallel for schedule(static) if ((double)rows * features > 1e5)
  for (int first = 0; first < features; first += TILE)
    merge_tile(count, mean, m2, features, x, rows, first, features - first < TILE ? features - first : TILE);
  return count + rows;
}

/* ---- observations ----------------------------------------------------------------------------------------------- */

void normalize_register(Normalizer *normalizer, NormalizeRule rule, int features, const Shards *shards,
                        CoreArena *arena) {
  *normalizer = (Normalizer){.rule = rule, .features = features, .shards = *shards, .device = core_arena_device(arena)};
  CORE_ARENA_DEVICE(arena, normalizer->moments, normalize_moments(features), "observation moments [1 + 2 features]");
  CORE_ARENA_DEVICE(arena, normalizer->next, normalize_moments(features), "next observation moments [1 + 2 features]");
  CORE_ARENA_DEVICE(arena, normalizer->factor, (size_t)features, "observation factors [features]");
  if (normalizer->device) normalize_device_register(normalizer, arena);
}

static void make_factors(Normalizer *normalizer) {
  if (normalizer->device) {
    normalize_device_factors(normalizer);
    return;
  }
  const double *m2 = normalizer->moments + 1 + normalizer->features;
  for (int k = 0; k < normalizer->features; k++)
    normalizer->factor[k] = normalize_factor(normalizer->rule, normalizer->moments[0], m2[k]);
}

static size_t moments_bytes(const Normalizer *normalizer) {
  return normalize_moments(normalizer->features) * sizeof *normalizer->moments;
}

void normalize_restored(Normalizer *normalizer) {
  core_device_copy(normalizer->device, normalizer->next, normalizer->moments, moments_bytes(normalizer));
  make_factors(normalizer);
}

void normalize_start(Normalizer *normalizer) {
  const double count = prior(normalizer->rule);
  const size_t features = (size_t)normalizer->features;
  double *moments = core_memory_zero_allocate(normalize_moments(normalizer->features), sizeof *moments);
  moments[0] = count;
  for (size_t k = 0; k < features; k++) moments[1 + features + k] = count; /* means 0, variances 1 */
  core_device_to_device(normalizer->device, normalizer->moments, moments, moments_bytes(normalizer));
  free(moments);
  normalize_restored(normalizer);
}

void normalize_add(Normalizer *normalizer, const float *x, int rows) {
  double *mean = normalizer->next + 1, *m2 = mean + normalizer->features;
  if (normalizer->device) normalize_device_add(normalizer, x, rows);
  else normalizer->next[0] = normalize_merge(normalizer->next[0], mean, m2, normalizer->features, x, rows);
  if (normalizer->rule == NORMALIZE_CLEANRL) normalize_advance(normalizer);
}

void normalize_advance(Normalizer *normalizer) {
  core_device_copy(normalizer->device, normalizer->moments, normalizer->next, moments_bytes(normalizer));
  make_factors(normalizer);
}

void normalize_apply(const Normalizer *normalizer, const float *x, int rows, float *y, int y_stride) {
  if (normalizer->device) {
    normalize_device_apply(normalizer, x, rows, y, y_stride);
    return;
  }
  const double *mean = normalizer->moments + 1, *factor = normalizer->factor, limit = normalize_bound(normalizer->rule);
  const int features = normalizer->features;

#pragma omp parallel for schedule(static) if ((double)rows * features > 1e5)
  for (int r = 0; r < rows; r++) {
    const float *from = x + (size_t)r * (size_t)features;
    float *to = y + (size_t)r * (size_t)y_stride;
    for (int k = 0; k < features; k++) {
      const double value = ((double)from[k] - mean[k]) * factor[k];
      to[k] = (float)(value > limit ? limit : value < -limit ? -limit : value);
    }
  }
}

/* ---- rewards ---------------------------------------------------------------------------------------------------- */

RewardRule reward_rule(const char *name) {
  static const char *const names[] = {"none", "cleanrl", "ppo_ewma", "cleanrl_each"};
  for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
    if (strcmp(name, names[i]) == 0) return (RewardRule)i;
  return REWARD_NONE;
}

void reward_register(RewardScale *scale, RewardRule rule, double gamma, int worlds, int global_worlds,
                     CoreArena *arena) {
  *scale = (RewardScale){.rule = rule, .gamma = gamma, .worlds = worlds, .global_worlds = global_worlds,
                         .device = core_arena_device(arena)};
  if (rule == REWARD_NONE) return;
  CORE_ARENA_DEVICE(arena, scale->returns, (size_t)worlds, "discounted rewards [worlds]");
  const bool is_each = rule == REWARD_CLEANRL_EACH;
  if (global_worlds > worlds && !is_each)
    CORE_ARENA_DEVICE(arena, scale->all, (size_t)global_worlds, "discounted rewards of all ranks");
  CORE_ARENA_DEVICE(arena, scale->moments, reward_moments(scale), "moments of discounted rewards [1 or worlds][3]");
}

/* Both implementations start with 1e-4 returns of mean 0 and variance 1. */
void reward_restart(RewardScale *scale) {
  if (scale->rule == REWARD_NONE) return;
  core_device_zero(scale->device, scale->returns, (size_t)scale->worlds * sizeof *scale->returns);
}

void reward_start(RewardScale *scale) {
  if (scale->rule == REWARD_NONE) return;
  reward_restart(scale);
  const size_t n = reward_moments(scale);
  double *moments = core_memory_allocate(n * sizeof *moments);
  for (size_t i = 0; i < n; i++) moments[i] = i % 3 == 1 ? 0 : 1e-4;
  core_device_to_device(scale->device, scale->moments, moments, n * sizeof *moments);
  free(moments);
}

static void scale_rewards(const RewardScale *scale, float *rewards, size_t n) {
  const double factor = normalize_reward_factor(scale->moments[0], scale->moments[2]);
  for (size_t i = 0; i < n; i++) rewards[i] = normalize_reward(rewards[i], factor);
}

/* Adds the running returns of all worlds. */
static void count_returns(const RewardScale *scale) {
  double *moments = scale->moments, shift = 0, squares = 0;
  const double *returns = scale->all ? scale->all : scale->returns;
  if (scale->all) ranks_gather_all(scale->returns, (size_t)scale->worlds * sizeof *scale->returns, scale->all);
  for (int w = 0; w < scale->global_worlds; w++) shift += returns[w] - moments[1];
  shift /= moments[0] + scale->global_worlds;
  for (int w = 0; w < scale->global_worlds; w++) {
    const double d = returns[w] - moments[1];
    squares += d * (d - shift);
  }
  moments[0] += scale->global_worlds;
  moments[1] += shift;
  moments[2] += squares;
}

/* Scales each world's reward by its own statistics. */
static void step_each(const RewardScale *scale, float *rewards, const uint8_t *dones, const uint8_t *truncated) {
  const OpsRewardEach step = {rewards, dones, truncated, scale->returns, scale->moments, (size_t)scale->worlds,
                              scale->gamma};
  KERNELS_EACH(scale->device, ops_reward_of_worlds, ops_reward_of_world, step.worlds, &step);
}

void reward_step(RewardScale *scale, float *rewards, const uint8_t *dones, const uint8_t *truncated) {
  /* In openai/ppo-ewma the sums end where episodes do. */
  const uint8_t *goes_on = scale->rule == REWARD_CLEANRL ? truncated : NULL;
  const OpsRewardSigns signs = {rewards, (size_t)scale->worlds};
  if (scale->clips) KERNELS_EACH(scale->device, ops_reward_signs, ops_reward_sign, signs.n, &signs);
  if (scale->rule == REWARD_NONE) return;

  if (scale->rule == REWARD_CLEANRL_EACH) {
    step_each(scale, rewards, dones, truncated);
    return;
  }
  if (scale->device) {
    reward_device_step(scale, rewards, dones, goes_on);
    return;
  }

  for (int w = 0; w < scale->worlds; w++) scale->returns[w] = scale->returns[w] * scale->gamma + (double)rewards[w];
  count_returns(scale);
  for (int w = 0; w < scale->worlds; w++)
    if (dones[w] && !(goes_on && goes_on[w])) scale->returns[w] = 0;
  if (scale->rule == REWARD_CLEANRL) scale_rewards(scale, rewards, (size_t)scale->worlds);
}

void reward_finish(const RewardScale *scale, float *rewards, size_t n) {
  if (scale->rule != REWARD_PPO_EWMA) return;
  if (scale->device) reward_device_finish(scale, rewards, n);
  else scale_rewards(scale, rewards, n);
}
