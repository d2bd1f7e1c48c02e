/* Statistics that are ratios of sums (spec metrics.md), in closed form from merged float64 records. Ratios are formed
 * from merged sums, never averaged from local ratios. */
#ifndef TRAINER_ESTIMATORS_H
#define TRAINER_ESTIMATORS_H
#include <stdbool.h>

#include "trainer/math/moments.h"

/* Returns the explained variance 1 - Var(T - V)/Var(T) from the moments of the targets and of targets minus values; NaN
 * if Var(T) = 0 (3). */
double estimators_explained_variance(const Moments *target, const Moments *residual);

/* Returns the KL for the data-to-divergence ratio: at least 1e-12 nats (2.5). Apply before summing. */
double estimators_guard_kl(double kl);
/* Returns transitions per nat: of one iteration, or of a run from its summed transitions and summed guarded KL. */
double estimators_ddr(double transitions, double kl);

/* Returns the effective sample size of ratios r = e^l from the log-sums of l and of 2l: (sum r)^2 / sum r^2, in 1..n
 * (4.3). */
double estimators_ess(const LogSum *l, const LogSum *twice_l);

/* Whether a sample has zero policy gradient because of the clip. l: log of the clipped ratio (2.6). */
CORE_DEVICE_FN bool estimators_no_gradient(double l, double advantage, double epsilon) {
  double ratio = exp(l);
  return (advantage > 0 && ratio > 1 + epsilon) || (advantage < 0 && ratio < 1 - epsilon);
}

#endif
