/* The rate controller and the units of values (rl_games.h). */
#include "trainer/learners/rl_games.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/math/normalise_rule.h"
#include "trainer/update/reduce.h"

/* ---- the learning rate ------------------------------------------------------------------------------------------- */

static const double RATE_STEP = 1.5, RATE_LEAST = 1e-6, RATE_MOST = 1e-2;

double rl_games_rate(double rate, double kl, double threshold) {
  if (threshold == 0) return rate;
  if (kl > 2 * threshold) rate = fmax(rate / RATE_STEP, RATE_LEAST);
  if (kl < 0.5 * threshold) rate = fmin(rate * RATE_STEP, RATE_MOST);
  return rate;
}

void rate_controller_register(RateController *controller, double threshold, const Shards *shards, CoreArena *arena) {
  *controller = (RateController){.threshold = threshold, .shards = *shards};
  CORE_ARENA(arena, controller->rate, 1, "learning rate");
  CORE_ARENA(arena, controller->kl, (size_t)shards->shards, "KL of an epoch [shards]");
}

void rate_controller_begin(RateController *controller) {
  memset(controller->kl, 0, (size_t)controller->shards.shards * sizeof *controller->kl);
}

double rate_controller_kl(const RateController *controller, int minibatches) {
  const Shards *shards = &controller->shards;
  double *all = reduce_gather_records(controller->kl, (size_t)shards->shards * sizeof *controller->kl), sum = 0;
  for (int s = 0; s < shards->all_shards; s++) sum += all[s];
  free(all);
  return sum / minibatches;
}

void rate_controller_follow(RateController *controller, double kl) {
  *controller->rate = rl_games_rate(*controller->rate, kl, controller->threshold);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

void value_moments_start(double *moments) {
  if (moments == NULL) return;
  moments[0] = moments[2] = 1;
  moments[1] = 0;
}

static double factor(const double *moments) { return normalise_factor(NORMALISE_RL_GAMES, moments[0], moments[2]); }

void value_moments_restore(Ops *ops, const double *moments, float *values, size_t n) {
  if (moments == NULL) return;
  ops->restore_within(ops, values, n, moments[1], 1 / factor(moments), normalise_bound(NORMALISE_RL_GAMES));
}

void value_moments_count(Ops *ops, double *moments, const Moments *now, float *x, size_t n) {
  if (moments == NULL) return;
  Moments running = {.n = moments[0], .mean = moments[1], .m2 = moments[2]};
  moments_merge(&running, now);
  moments[0] = running.n, moments[1] = running.mean, moments[2] = running.m2;
  ops->standardise_within(ops, x, n, moments[1], factor(moments), normalise_bound(NORMALISE_RL_GAMES));
}
