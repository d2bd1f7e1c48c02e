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

/* Means of actions beyond +- this are drawn back (ops->gaussian_regularise). */
#define RL_GAMES_BOUND 1.1

/* Of a checkpoint. */
#define RL_GAMES_RATE_SECTION "learning rate"
#define RL_GAMES_VALUES_SECTION "value moments"

/* The learning rate after an epoch with this mean KL. threshold 0: as it was. */
double rl_games_rate(double rate, double kl, double threshold);

/* A learning rate that changes after each epoch. */
typedef struct RateController {
  double threshold;    /* nats */
  Shards shards;
  double *rate;        /* as it stands; NULL: there is no controller */
  double *kl;          /* [shards] of an epoch's minibatches, this rank's rows: sums of means over a minibatch */
} RateController;
void rate_controller_register(RateController *controller, double threshold, const Shards *shards, CoreArena *arena);
static inline bool rate_controller_is_on(const RateController *controller) { return controller->rate != NULL; }
/* Before an epoch on whose steps the host decides: no KL yet. */
void rate_controller_begin(RateController *controller);
/* After it, all ranks together: mean of the minibatches' KL, added up in the order of the shards, so that the rate is
 * the same for any number of ranks. */
double rate_controller_kl(const RateController *controller, int minibatches);
/* The rate that follows from an epoch's mean KL. */
void rate_controller_follow(RateController *controller, double kl);

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
