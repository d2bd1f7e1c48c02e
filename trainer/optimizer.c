/* Clipping, Adam, RAdam and the proximal weights (optimizer.h): the scalars of each rule; the loops are the ops'. */
#include "trainer/optimizer.h"

#include <math.h>

double optimizer_clip(const Optimizer *optimizer, double norm, int *clipped) {
  *clipped = norm > optimizer->max_norm;
  if (optimizer->norm_epsilon > 0) return fmin(1, optimizer->max_norm / (norm + optimizer->norm_epsilon));
  return norm < optimizer->max_norm || isinf(optimizer->max_norm) ? 1 : optimizer->max_norm / norm;
}

void optimizer_apply(Ops *ops, Optimizer *optimizer, float *theta, const float *gradient, size_t n, double rate,
                     double factor) {
  optimizer->t++;
  (optimizer->rule == OPTIMIZER_RADAM ? ops->radam : ops->adam)(ops, theta, gradient, optimizer->m, optimizer->v, n,
                                                                factor, rate, optimizer->beta1, optimizer->beta2,
                                                                optimizer->epsilon, optimizer->t);
}

void optimizer_step(Ops *ops, Optimizer *optimizer, float *theta, const float *gradient, size_t n, double rate,
                    double *norm, int *clipped) {
  *norm = sqrt(ops->norm_squared(ops, gradient, n));
  optimizer_apply(ops, optimizer, theta, gradient, n, rate, optimizer_clip(optimizer, *norm, clipped));
}

void proximal_update(Ops *ops, Proximal *proximal, const float *theta, size_t n) {
  double beta = proximal->com / (1 + proximal->com), keep = beta;
  if (proximal->rule == PROXIMAL_BIAS_CORRECTED) {
    double weight = beta * proximal->weight + 1;
    keep = beta * proximal->weight / weight;
    proximal->weight = weight;
  }
  ops->ewma(ops, proximal->theta, theta, n, keep);
}
