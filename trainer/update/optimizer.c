/* Clipping, Adam, RAdam and the proximal weights (optimizer.h): the scalars of each rule; the loops are the ops'. */
#include "trainer/update/optimizer.h"

#include <math.h>

double optimizer_clip(const Optimizer *optimizer, double norm, int *clipped) {
  return ops_clip_factor(norm, optimizer->max_norm, optimizer->norm_epsilon, clipped);
}

/* Returns what decoupled weight decay leaves of a parameter in a step: PyTorch's AdamW multiplies before it steps. */
static double kept(const Optimizer *optimizer, double rate) { return 1 - rate * optimizer->weight_decay; }

OpsAdamScalars optimizer_scalars(const Optimizer *optimizer, double rate, int64_t t) {
  const double beta1 = optimizer->beta1, beta2 = optimizer->beta2, epsilon = optimizer->epsilon;
  if (optimizer->rule == OPTIMIZER_RADAM) return ops_radam_scalars(1, rate, beta1, beta2, epsilon, t);
  OpsAdamScalars scalars = ops_adam_scalars(1, rate, beta1, beta2, epsilon, t);
  scalars.keep = (float)kept(optimizer, rate);
  return scalars;
}

void optimizer_apply(Ops *ops, Optimizer *optimizer, float *theta, const float *gradient, size_t n, double rate,
                     double factor) {
  const double beta1 = optimizer->beta1, beta2 = optimizer->beta2, epsilon = optimizer->epsilon;
  const int64_t t = ++optimizer->t;
  if (optimizer->rule == OPTIMIZER_RADAM)
    ops->radam(ops, theta, gradient, optimizer->m, optimizer->v, n, factor, rate, beta1, beta2, epsilon, t);
  else
    ops->adam(ops, theta, gradient, optimizer->m, optimizer->v, n, factor, kept(optimizer, rate), rate, beta1, beta2,
              epsilon, t);
}

double proximal_keep(Proximal *proximal) {
  const double beta = proximal->com / (1 + proximal->com);
  if (proximal->rule != PROXIMAL_BIAS_CORRECTED) return beta;
  const double weight = beta * proximal->weight + 1, keep = beta * proximal->weight / weight;
  proximal->weight = weight;
  return keep;
}

void proximal_update(Ops *ops, Proximal *proximal, const float *theta, size_t n) {
  const double keep = proximal_keep(proximal);
  ops->ewma(ops, proximal->theta, theta, n, keep);
}
