/* Running moments and the rules that make factors of them (normalise.h). */
#include "trainer/normalise.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "trainer/ranks.h"

enum { TILE = 16 }; /* features that one thread takes: whole cache lines of every row */

NormaliseRule normalise_rule(const char *name) {
  static const char *const names[] = {"none", "stoix", "cleanrl", "rl_games"};
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) return (NormaliseRule)i;
  return NORMALISE_NONE;
}

/* What a rule takes for granted before the first observation: so many rows of mean 0 and variance 1. */
static double prior(NormaliseRule rule) {
  return rule == NORMALISE_CLEANRL ? 1e-4 : rule == NORMALISE_RL_GAMES ? 1 : 0;
}

/* Largest magnitude of a normalised number. */
static double bound(NormaliseRule rule) {
  return rule == NORMALISE_CLEANRL ? 10 : rule == NORMALISE_RL_GAMES ? 5 : INFINITY;
}

double normalise_factor(NormaliseRule rule, double count, double m2) {
  if (count == 0) return 1;
  const double variance = fmax(m2, 0) / count;
  switch (rule) {
    case NORMALISE_STOIX: return 1 / sqrt(fmin(fmax(variance, 5e-4 * 5e-4), 5e4 * 5e4));
    case NORMALISE_CLEANRL: return 1 / sqrt(variance + 1e-8);
    case NORMALISE_RL_GAMES: return 1 / sqrt(variance + 1e-5);
    default: return 1;
  }
}

/* ---- moments ---------------------------------------------------------------------------------------------------- */

/* Features first .. first+tile-1 of all rows: the mean moves by the batch's mean difference, m2 by the sum of
 * (x - old mean)(x - new mean), which equals merging the batch's own moments. */
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

double normalise_merge(double count, double *mean, double *m2, int features, const float *x, int rows) {
#pragma omp parallel for schedule(static) if ((double)rows * features > 1e5)
  for (int first = 0; first < features; first += TILE)
    merge_tile(count, mean, m2, features, x, rows, first, features - first < TILE ? features - first : TILE);
  return count + rows;
}

/* ---- observations ----------------------------------------------------------------------------------------------- */

void normalise_register(Normaliser *normaliser, NormaliseRule rule, int features, CoreArena *arena) {
  *normaliser = (Normaliser){.rule = rule, .features = features};
  CORE_ARENA(arena, normaliser->moments, normalise_moments(features), "observation moments [1 + 2 features]");
  CORE_ARENA(arena, normaliser->next, normalise_moments(features), "next observation moments [1 + 2 features]");
  CORE_ARENA(arena, normaliser->factor, (size_t)features, "observation factors [features]");
}

static void make_factors(Normaliser *normaliser) {
  const double *m2 = normaliser->moments + 1 + normaliser->features;
  for (int k = 0; k < normaliser->features; k++)
    normaliser->factor[k] = normalise_factor(normaliser->rule, normaliser->moments[0], m2[k]);
}

void normalise_restored(Normaliser *normaliser) {
  memcpy(normaliser->next, normaliser->moments, normalise_moments(normaliser->features) * sizeof *normaliser->next);
  make_factors(normaliser);
}

void normalise_start(Normaliser *normaliser) {
  const double count = prior(normaliser->rule);
  double *mean = normaliser->moments + 1, *m2 = mean + normaliser->features;
  normaliser->moments[0] = count;
  for (int k = 0; k < normaliser->features; k++) {
    mean[k] = 0;
    m2[k] = count; /* variance 1 */
  }
  normalise_restored(normaliser);
}

void normalise_add(Normaliser *normaliser, const float *x, int rows) {
  double *mean = normaliser->next + 1, *m2 = mean + normaliser->features;
  normaliser->next[0] = normalise_merge(normaliser->next[0], mean, m2, normaliser->features, x, rows);
  if (normaliser->rule == NORMALISE_CLEANRL) normalise_advance(normaliser);
}

void normalise_advance(Normaliser *normaliser) {
  memcpy(normaliser->moments, normaliser->next, normalise_moments(normaliser->features) * sizeof *normaliser->next);
  make_factors(normaliser);
}

void normalise_apply(const Normaliser *normaliser, const float *x, int rows, float *y, int y_stride) {
  const double *mean = normaliser->moments + 1, *factor = normaliser->factor, limit = bound(normaliser->rule);
  const int features = normaliser->features;
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
  return strcmp(name, "cleanrl") == 0 ? REWARD_CLEANRL : strcmp(name, "ppo_ewma") == 0 ? REWARD_PPO_EWMA : REWARD_NONE;
}

void reward_register(RewardScale *scale, RewardRule rule, double gamma, int worlds, int all_worlds, CoreArena *arena) {
  *scale = (RewardScale){.rule = rule, .gamma = gamma, .worlds = worlds, .all_worlds = all_worlds};
  if (rule == REWARD_NONE) return;
  CORE_ARENA(arena, scale->returns, (size_t)worlds, "discounted rewards [worlds]");
  if (all_worlds > worlds) CORE_ARENA(arena, scale->all, (size_t)all_worlds, "discounted rewards of all ranks");
  CORE_ARENA(arena, scale->moments, 3, "moments of discounted rewards");
}

/* Both implementations begin with 1e-4 returns of mean 0 and variance 1. */
void reward_restart(RewardScale *scale) {
  if (scale->rule != REWARD_NONE) memset(scale->returns, 0, (size_t)scale->worlds * sizeof *scale->returns);
}

void reward_start(RewardScale *scale) {
  if (scale->rule == REWARD_NONE) return;
  reward_restart(scale);
  scale->moments[0] = 1e-4;
  scale->moments[1] = 0;
  scale->moments[2] = 1e-4;
}

static void scale_rewards(const RewardScale *scale, float *rewards, size_t n) {
  const double factor = 1 / sqrt(scale->moments[2] / scale->moments[0] + 1e-8);
  for (size_t i = 0; i < n; i++) rewards[i] = (float)fmin(fmax((double)rewards[i] * factor, -10), 10);
}

/* Adds the running returns of all worlds. */
static void count_returns(const RewardScale *scale) {
  double *moments = scale->moments, shift = 0, squares = 0;
  const double *returns = scale->all ? scale->all : scale->returns;
  if (scale->all) ranks_gather_all(scale->returns, (size_t)scale->worlds * sizeof *scale->returns, scale->all);
  for (int w = 0; w < scale->all_worlds; w++) shift += returns[w] - moments[1];
  shift /= moments[0] + scale->all_worlds;
  for (int w = 0; w < scale->all_worlds; w++) {
    const double d = returns[w] - moments[1];
    squares += d * (d - shift);
  }
  moments[0] += scale->all_worlds;
  moments[1] += shift;
  moments[2] += squares;
}

void reward_step(RewardScale *scale, float *rewards, const uint8_t *dones) {
  if (scale->rule == REWARD_NONE) return;
  for (int w = 0; w < scale->worlds; w++) scale->returns[w] = scale->returns[w] * scale->gamma + (double)rewards[w];
  count_returns(scale);
  for (int w = 0; w < scale->worlds; w++)
    if (dones[w]) scale->returns[w] = 0;
  if (scale->rule == REWARD_CLEANRL) scale_rewards(scale, rewards, (size_t)scale->worlds);
}

void reward_finish(const RewardScale *scale, float *rewards, size_t n) {
  if (scale->rule == REWARD_PPO_EWMA) scale_rewards(scale, rewards, n);
}
