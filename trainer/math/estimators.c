/* Closed forms over merged records (estimators.h). */
#include "trainer/math/estimators.h"

double estimators_explained_variance(const Moments *target, const Moments *residual) {
  double variance = moments_variance(target);
  return variance > 0 ? 1 - moments_variance(residual) / variance : NAN;
}

double estimators_guard_kl(double kl) { return kl < 1e-12 ? 1e-12 : kl; } /* NaN stays */

double estimators_ddr(double transitions, double kl) { return transitions / estimators_guard_kl(kl); }

double estimators_ess(const LogSum *l, const LogSum *twice_l) {
  return exp(2 * log_sum_value(l) - log_sum_value(twice_l));
}

GradientNoise estimators_gradient_noise(double small_norm_squared, double small, double big_norm_squared, double big) {
  if (small == big) return (GradientNoise){NAN, NAN};
  return (GradientNoise){.variance = (small_norm_squared - big_norm_squared) / (1 / small - 1 / big),
                         .square = (big * big_norm_squared - small * small_norm_squared) / (big - small)};
}
