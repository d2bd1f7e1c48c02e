/* Features that PPO and SAPG share with rl_games' PPO (docs/algorithms.md#sapg): a KL-adaptive learning rate
 * (schedulers.py), a bound on the policy's means (a2c_continuous.py), and a critic that learns normalized values
 * (running mean and standard deviation of values and returns). The state is host memory in the run's arena and part of
 * checkpoints. */
#ifndef TRAINER_LEARNERS_RL_GAMES_H
#define TRAINER_LEARNERS_RL_GAMES_H
#include "core/device/arena.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/math/moments.h"
#include "trainer/ops/ops.h"
#include "trainer/ranks/shards.h"

/* Action means beyond +- this are penalized (ops->gaussian_regularize). */
#define RL_GAMES_BOUND 1.1

/* Checkpoint section names. */
#define RL_GAMES_LR_SECTION "learning rate"
#define RL_GAMES_VALUES_SECTION "value moments"

/* Returns the learning rate after an epoch with this mean KL. threshold 0: unchanged. */
double rl_games_lr(double lr, double kl, double threshold);

/* Learning rate that changes after each epoch. */
typedef struct AdaptiveLr {
  double threshold;    /* nats */
  Shards shards;
  double *lr;          /* current value; NULL: the learning rate is not adaptive */
  double *kl;          /* [shards] KL of an epoch's minibatches over this rank's rows: sums of per-minibatch means */
} AdaptiveLr;
void adaptive_lr_register(AdaptiveLr *adaptive_lr, double threshold, const Shards *shards, CoreArena *arena);
static inline bool adaptive_lr_is_on(const AdaptiveLr *adaptive_lr) { return adaptive_lr->lr != NULL; }
/* Clears the KL before an epoch whose steps the host drives. */
void adaptive_lr_begin_epoch(AdaptiveLr *adaptive_lr);
/* Returns the mean KL of the epoch's minibatches, added in the order of the shards, so that the rate is the same for
 * any number of ranks. Called by all ranks. */
double adaptive_lr_mean_kl(const AdaptiveLr *adaptive_lr, int minibatches);
/* Updates the learning rate from an epoch's mean KL. */
void adaptive_lr_update(AdaptiveLr *adaptive_lr, double kl);

/* Running moments of values and returns, counted one after the other: count, mean, sum of squared differences. NULL
 * instead of the array: values are not normalized, and the functions below do nothing. */
enum { VALUE_MOMENTS = 3 };
/* Resets to one value of 0 and variance 1. */
void value_moments_start(double *moments);
/* Converts values[n] of the critic, clamped to +-5, to units of rewards. */
void value_moments_restore(Ops *ops, const double *moments, float *values, size_t n);
/* Merges `now`, the moments of x over all ranks, and converts x[n] of this rank to the critic's units. */
void value_moments_count(Ops *ops, double *moments, const Moments *now, float *x, size_t n);

#endif
