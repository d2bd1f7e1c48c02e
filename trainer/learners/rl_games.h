/* What PPO and SAPG have of rl_games' PPO (spec ppo.md 7.3): a learning rate that follows the KL, a bound for the
 * policy's means, and a critic that learns in units of the running mean and deviation of values and returns. The state
 * is the host's, in the run's arena, and a checkpoint's. */
#ifndef TRAINER_LEARNERS_RL_GAMES_H
#define TRAINER_LEARNERS_RL_GAMES_H
#include "core/device/arena.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/math/moments.h"
#include "trainer/ops/ops.h"
#include "trainer/ranks/shards.h"

/* Means of actions beyond +- this are drawn back (ops->gaussian_regularize). */
#define RL_GAMES_BOUND 1.1

/* Of a checkpoint. */
#define RL_GAMES_LR_SECTION "learning rate"
#define RL_GAMES_VALUES_SECTION "value moments"

/* The learning rate after an epoch with this mean KL. threshold 0: as it was. */
double rl_games_lr(double lr, double kl, double threshold);

/* A learning rate that changes after each epoch. */
typedef struct AdaptiveLr {
  double threshold;    /* nats */
  Shards shards;
  double *lr;        /* as it stands; NULL: there is no controller */
  double *kl;          /* [shards] of an epoch's minibatches, this rank's rows: sums of means over a minibatch */
} AdaptiveLr;
void adaptive_lr_register(AdaptiveLr *adaptive_lr, double threshold, const Shards *shards, CoreArena *arena);
static inline bool adaptive_lr_is_on(const AdaptiveLr *adaptive_lr) { return adaptive_lr->lr != NULL; }
/* Before an epoch on whose steps the host decides: no KL yet. */
void adaptive_lr_begin_epoch(AdaptiveLr *adaptive_lr);
/* After it, all ranks together: mean of the minibatches' KL, added up in the order of the shards, so that the rate is
 * the same for any number of ranks. */
double adaptive_lr_mean_kl(const AdaptiveLr *adaptive_lr, int minibatches);
/* The rate that follows from an epoch's mean KL. */
void adaptive_lr_update(AdaptiveLr *adaptive_lr, double kl);

/* Of values and returns, counted one after the other: number, mean, sum of squared differences. NULL instead of an
 * array: values are as they are, and the functions below do nothing. */
enum { VALUE_MOMENTS = 3 };
/* One value of 0, and variance 1. */
void value_moments_start(double *moments);
/* values[n] of the critic -> values of rewards; the critic's are taken within +-5. */
void value_moments_restore(Ops *ops, const double *moments, float *values, size_t n);
/* Counts `now`, the moments of x over all ranks, then x[n] of this rank -> the critic's units. */
void value_moments_count(Ops *ops, double *moments, const Moments *now, float *x, size_t n);

#endif
