/* Adaptive learning rate and value normalization (rl_games.h). */
#include "trainer/learners/rl_games.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/math/normalize_rule.h"
#include "trainer/update/reduce.h"

/* ---- the learning rate ------------------------------------------------------------------------------------------- */

static const double LR_STEP = 1.5, LR_MIN = 1e-6, LR_MAX = 1e-2;

double rl_games_lr(double lr, double kl, double threshold) {
  if (threshold == 0) return lr;
  if (kl > 2 * threshold) lr = fmax(lr / LR_STEP, LR_MIN);
  if (kl < 0.5 * threshold) lr = fmin(lr * LR_STEP, LR_MAX);
  return lr;
}

void adaptive_lr_register(AdaptiveLr *adaptive_lr, double threshold, const Shards *shards, CoreArena *arena) {
  *adaptive_lr = (AdaptiveLr){.threshold = threshold, .shards = *shards};
  CORE_ARENA(arena, adaptive_lr->lr, 1, "learning rate");
  CORE_ARENA(arena, adaptive_lr->kl, (size_t)shards->shards, "KL of an epoch [shards]");
}

void adaptive_lr_begin_epoch(AdaptiveLr *adaptive_lr) {
  memset(adaptive_lr->kl, 0, (size_t)adaptive_lr->shards.shards * sizeof *adaptive_lr->kl);
}

double adaptive_lr_mean_kl(const AdaptiveLr *adaptive_lr, int minibatches) {
  const Shards *shards = &adaptive_lr->shards;
  double *records = reduce_gather_records(adaptive_lr->kl, (size_t)shards->shards * sizeof *adaptive_lr->kl), sum = 0;
  for (int s = 0; s < shards->global_shards; s++) sum += records[s];
  free(records);
  return sum / minibatches;
}

void adaptive_lr_update(AdaptiveLr *adaptive_lr, double kl) {
  *adaptive_lr->lr = rl_games_lr(*adaptive_lr->lr, kl, adaptive_lr->threshold);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

void value_moments_start(double *moments) {
  if (moments == NULL) return;
  moments[0] = moments[2] = 1;
  moments[1] = 0;
}

static double factor(const double *moments) { return normalize_factor(NORMALIZE_RL_GAMES, moments[0], moments[2]); }

void value_moments_restore(Ops *ops, const double *moments, float *values, size_t n) {
  if (moments == NULL) return;
  ops->denormalize_within(ops, values, n, moments[1], 1 / factor(moments), normalize_bound(NORMALIZE_RL_GAMES));
}

void value_moments_count(Ops *ops, double *moments, const Moments *now, float *x, size_t n) {
  if (moments == NULL) return;
  Moments running = {.n = moments[0], .mean = moments[1], .m2 = moments[2]};
  moments_merge(&running, now);
  moments[0] = running.n;
  moments[1] = running.mean;
  moments[2] = running.m2;
  ops->normalize_within(ops, x, n, moments[1], factor(moments), normalize_bound(NORMALIZE_RL_GAMES));
}
