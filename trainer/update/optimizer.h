/* Global-norm clipping, Adam and RAdam for one network, and the proximal EWMA weights
 * (docs/algorithms.md#optimizers, docs/algorithms.md#proximal-policy). */
#ifndef TRAINER_OPTIMIZER_H
#define TRAINER_OPTIMIZER_H
#include "trainer/ops/update.h"

typedef enum OptimizerRule { OPTIMIZER_ADAM, OPTIMIZER_RADAM } OptimizerRule;
/* Owns nothing: the vectors belong to the run's arena. */
typedef struct Optimizer {
  OptimizerRule rule;
  float *m, *v;             /* [n] first and second moments */
  int64_t t;                /* number of updates so far */
  double beta1, beta2, epsilon, max_norm; /* max_norm inf: no clipping */
  double weight_decay;      /* decoupled, as in AdamW: Adam first multiplies theta by 1 - rate * weight_decay */
  /* Term that PyTorch's clipping rule adds to the norm; 0: Optax's rule (ops_clip_factor). */
  double norm_epsilon;
} Optimizer;

/* Returns the clipping factor of a gradient of this norm (ops_clip_factor). *clipped: whether clipping acts. */
double optimizer_clip(const Optimizer *optimizer, double norm, int *clipped);
/* Returns the scalars of the t-th update (t >= 1), without the clipping factor. */
OpsAdamScalars optimizer_scalars(const Optimizer *optimizer, double rate, int64_t t);
/* Updates theta[n] once with the gradient times `factor` (optimizer_clip). */
void optimizer_apply(Ops *ops, Optimizer *optimizer, float *theta, const float *gradient, size_t n, double rate,
                     double factor);

typedef enum ProximalRule { PROXIMAL_PLAIN, PROXIMAL_BIAS_CORRECTED } ProximalRule;
typedef struct Proximal {
  float *theta;             /* [n] */
  double com, weight;       /* center of mass in updates; W of the bias-corrected rule, initially 1 */
  ProximalRule rule;
} Proximal;
/* Advances the EWMA by one update and returns its decay: the weight of the old proximal weights in the new ones. */
double proximal_keep(Proximal *proximal);
/* Moves the proximal weights toward theta after a minibatch update. */
void proximal_update(Ops *ops, Proximal *proximal, const float *theta, size_t n);

#endif
