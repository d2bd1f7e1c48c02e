/* Statistics that are ratios of sums (docs/algorithms.md#measurements), in closed form from merged float64 records.
 * Ratios are formed from merged sums, never averaged from local ratios. */
#ifndef TRAINER_ESTIMATORS_H
#define TRAINER_ESTIMATORS_H
#include <stdbool.h>

#include "trainer/math/moments.h"

/* Returns the explained variance 1 - Var(T - V)/Var(T) from the moments of the targets and of targets minus values; NaN
 * if Var(T) = 0. */
double estimators_explained_variance(const Moments *target, const Moments *residual);

/* Returns the KL for the data-to-divergence ratio: at least 1e-12 nats. Apply before summing. */
double estimators_guard_kl(double kl);
/* Returns transitions per nat: of one iteration, or of a run from its summed transitions and summed guarded KL. */
double estimators_ddr(double transitions, double kl);

/* Returns the effective sample size of ratios r = e^l from the log-sums of l and of 2l: (sum r)^2 / sum r^2, in 1..n
 * (Mayor et al. 2025, B.5). */
double estimators_ess(const LogSum *l, const LogSum *twice_l);

/* Computes the parts of the gradient noise scale tr(Sigma) / |G|^2 (McCandlish et al. 2018, "An Empirical Model of
 * Large-Batch Training", A.1), without bias, from mean squared norms of gradients at the same weights over batches of
 * two sizes: tr(Sigma), the summed variance of one sample's gradient, and |G|^2, the squared norm of the expected
 * gradient, which may come out negative. NaN if the sizes are equal. */
typedef struct GradientNoise { double variance, square; } GradientNoise;
GradientNoise estimators_gradient_noise(double small_norm_squared, double small, double big_norm_squared, double big);

/* Whether a sample has zero policy gradient because of the clip. l: log of the clipped ratio. */
CORE_DEVICE_FN bool estimators_no_gradient(double l, double advantage, double epsilon) {
  double ratio = exp(l);
  return (advantage > 0 && ratio > 1 + epsilon) || (advantage < 0 && ratio < 1 - epsilon);
}

#endif
