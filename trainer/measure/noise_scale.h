/* Gradient noise scale of an iteration (McCandlish et al. 2018): batches much smaller than it have gradients that are
 * mostly noise, much larger ones save few steps. It compares the gradients of the minibatches with their mean, the
 * gradient of the whole rollout, all at the weights before the iteration's first minibatch. */
#ifndef TRAINER_NOISE_SCALE_H
#define TRAINER_NOISE_SCALE_H
#include "trainer/math/estimators.h"
#include "trainer/update/gradient.h"

typedef struct NoiseScaleNetwork {
  float *mean;                 /* [parameters] mean gradient of the minibatches so far, on the weights' device */
  double squares;              /* sum of their squared norms */
  GradientNoise result;        /* NaN: not measured */
} NoiseScaleNetwork;

typedef struct NoiseScale {
  NoiseScaleNetwork actor, critic;
  int minibatches;             /* minibatches so far */
  double seconds;              /* time of the measurement */
} NoiseScale;

void noise_scale_register(NoiseScale *noise, const Agent *agent, CoreArena *arena);
void noise_scale_begin(NoiseScale *noise);
/* Adds a minibatch's gradient, after gradient_finish. All minibatches have equally many rows. */
void noise_scale_add(NoiseScale *noise, Ops *ops, const Agent *agent, const AgentGradient *gradient);
/* Computes the results. rows: of a minibatch. Leaves NaN for one minibatch, and where a gradient is not finite. */
void noise_scale_finish(NoiseScale *noise, Ops *ops, const Agent *agent, int64_t rows);

#endif
