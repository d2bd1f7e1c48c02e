/* Noisy convex example (Beukman et al. 2026, appendix A.1; docs/algorithms.md#noisy-parabola): plain SGD on f(x) = x^T
 * x with a gradient 2x + noise, the smallest problem that stagnates as PPO does, with closed forms. No environment, no
 * network; one step is one iteration of the run log.
 *
 * Stationary, with E||noise||^2 = s^2 and a constant rate eta in (0, 1): E||x||^2 = s^2 eta / (4 (1 - eta)), E||g||^2 =
 * s^2 / (1 - eta); the mean shrinks by 1 - 2 eta per step. */
#ifndef TRAINER_LEARNERS_NOISY_SGD_H
#define TRAINER_LEARNERS_NOISY_SGD_H
#include "core/config/config.h"
#include "core/device/arena.h"
#include "core/schedule.h"
#include "store/runlog/runlog.h"

typedef struct NoisySgd {
  int dimensions;
  double noise;            /* sqrt(E||noise||^2) */
  double start;            /* ||x|| before the first step */
  uint64_t seed;
  CoreSchedule lr;
  CoreDevice *device;      /* device of x; NULL: the host */
  double *x, *noise_now;   /* [dimensions]; noise_now: host only */
  double *sums;            /* [2] sums of a step, on a device */
} NoisySgd;

/* CORE_USAGE: sgd.learning_rate is not a valid schedule. */
int noisy_sgd_register(NoisySgd *sgd, const CoreConfig *config, CoreArena *arena);
/* Puts x on the sphere of radius `start`, in a direction that is the same for all seeds. */
void noisy_sgd_start(NoisySgd *sgd);
/* Runs step `iteration` (from 1) and fills its row: transitions, learning_rate, grad_norm_actor (of 2x + noise),
 * update_norm_actor, distance and policy_loss (f) after the step. CORE_FAIL when x is no longer finite. */
int noisy_sgd_step(NoisySgd *sgd, int64_t iteration, StoreIteration *row);

/* Computes x -= lr (2x + noise) and returns the squared norm of 2x + noise. */
double noisy_sgd_descend(double *x, const double *noise, int dimensions, double lr);

#endif
