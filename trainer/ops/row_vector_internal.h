/* Elementwise formulas of long vectors: Adam, RAdam, and generalized advantage estimation, for the CPU's loops
 * (cpu_vector.c) and the GPU's kernels (kernels_vector.h). */
#ifndef TRAINER_OPS_ROW_VECTOR_INTERNAL_H
#define TRAINER_OPS_ROW_VECTOR_INTERNAL_H
#include <math.h>

#include "core/device/device_kernel.h"
#include "trainer/ops/fast_math_internal.h"
#include "trainer/ops/update.h"

typedef OpsAdamScalars RowAdam;

static inline RowAdam row_adam_factors(double scale, double rate, double beta1, double beta2, double epsilon,
                                       int64_t t) {
  const RowAdam factors = {
    (float)scale, (float)beta1, (float)beta2, (float)(1 - beta1), (float)(1 - beta2),
    (float)(rate / (1 - pow(beta1, (double)t))), (float)(1 / sqrt(1 - pow(beta2, (double)t))), (float)epsilon, 1};
  return factors;
}

/* Returns RAdam's rectification factor for the length rho > 5 of the second moment's average. */
static inline double row_rectification(double rho, double rho_last) {
  return sqrt((rho - 4) * (rho - 2) * rho_last / ((rho_last - 4) * (rho_last - 2) * rho));
}

static inline RowAdam row_radam_factors(double scale, double rate, double beta1, double beta2, double epsilon,
                                        int64_t t) {
  const double rest = 1 - pow(beta2, (double)t), rho_last = 2 / (1 - beta2) - 1;
  const double rho = rho_last - 2 * (double)t * (1 - rest) / rest;
  const int rectified = rho > 5;
  RowAdam factors = {(float)scale, (float)beta1, (float)beta2, (float)(1 - beta1), (float)(1 - beta2), 0, 0, 0, 1};
  rate /= 1 - pow(beta1, (double)t);
  factors.rate = (float)(rectified ? rate * row_rectification(rho, rho_last) * sqrt(rest) : rate);
  factors.root = rectified ? 1 : 0; /* with epsilon 1 the step is that of the first moment alone */
  factors.epsilon = rectified ? (float)epsilon : 1;
  return factors;
}

CORE_DEVICE_FN void row_adam(float *theta, float gradient, float *m, float *v, RowAdam f) {
  const float g = gradient * f.scale;
  *m = f.beta1 * *m + f.rest1 * g;
  *v = f.beta2 * *v + f.rest2 * (g * g);
  *theta = f.keep * *theta - f.rate * *m / (sqrtf(*v) * f.root + f.epsilon);
}

/* Normalizes x and clamps it to +-bound; and the inverse. */
CORE_DEVICE_FN float row_normalize_within(float x, double shift, double factor, double bound) {
  return (float)fmin(fmax(((double)x - shift) * factor, -bound), bound);
}
CORE_DEVICE_FN float row_denormalize_within(float x, double shift, double factor, double bound) {
  return (float)(fmin(fmax((double)x, -bound), bound) * factor + shift);
}

/* One step of one world. Where an episode was truncated, `after` is V of the true next observation and the trace
 * stops. */
typedef struct RowGae { float reward, value, after; int done, cut; } RowGae;

/* Returns the advantage; `next` is that of the following step, if there is one. */
CORE_DEVICE_FN float row_gae(RowGae now, float gamma, float lambda, float next, int has_next) {
  const float discount = now.done && !now.cut ? 0.0f : gamma;
  const float delta = now.reward + discount * now.after - now.value;
  const float trace = now.cut ? 0.0f : discount * lambda;
  return delta + (has_next ? trace * next : 0.0f);
}

#endif
