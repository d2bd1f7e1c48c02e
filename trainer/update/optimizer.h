/* Global-norm clipping, Adam and RAdam for one network, and the proximal EWMA weights (spec ppo.md 1.6, 2.2, 8.2). */
#ifndef TRAINER_OPTIMIZER_H
#define TRAINER_OPTIMIZER_H
#include "trainer/ops/update.h"

typedef enum OptimizerRule { OPTIMIZER_ADAM, OPTIMIZER_RADAM } OptimizerRule;
/* Owns nothing: the vectors belong to the run's arena. */
typedef struct Optimizer {
  OptimizerRule rule;
  float *m, *v;             /* Adam's moments [n] */
  int64_t t;                /* updates done */
  double beta1, beta2, epsilon, max_norm;   /* max_norm inf = no clipping */
  double norm_epsilon;      /* 0: the rule below (optax); > 0: gradient times min(1, max_norm/(norm + it)) (PyTorch) */
} Optimizer;

/* What the gradient of this norm is multiplied by: 1 if norm < max_norm, else max_norm/norm. *clipped: whether that is
 * less than 1 on purpose. */
double optimizer_clip(const Optimizer *optimizer, double norm, int *clipped);
/* Of the t-th update (from 1), but for the clip. */
OpsAdamScalars optimizer_scalars(const Optimizer *optimizer, double rate, int64_t t);
/* One update of theta[n] with the gradient times `factor` (optimizer_clip). */
void optimizer_apply(Ops *ops, Optimizer *optimizer, float *theta, const float *gradient, size_t n, double rate,
                     double factor);

typedef enum ProximalRule { PROXIMAL_PLAIN, PROXIMAL_BIAS_CORRECTED } ProximalRule;
typedef struct Proximal {
  float *theta;             /* [n] */
  double com, weight;       /* weight: W of the bias-corrected rule, 1 at the start */
  ProximalRule rule;
} Proximal;
/* What the proximal weights keep of themselves in the next update, which is thereby counted. */
double proximal_keep(Proximal *proximal);
/* After a minibatch update: moves the proximal weights towards theta. */
void proximal_update(Ops *ops, Proximal *proximal, const float *theta, size_t n);

#endif
