/* Squared norms of minibatches' gradients and of their mean (noise_scale.h). */
#include "trainer/measure/noise_scale.h"

#include <math.h>

#include "core/device/arena.h"

static const GradientNoise unmeasured = {NAN, NAN};

void noise_scale_register(NoiseScale *noise, const Agent *agent, CoreArena *arena) {
  *noise = (NoiseScale){0};
  CORE_ARENA_DEVICE(arena, noise->actor.mean, agent->actor.n, "noise scale: actor's mean gradient");
  CORE_ARENA_DEVICE(arena, noise->critic.mean, agent->critic.n, "noise scale: critic's mean gradient");
}

void noise_scale_begin(NoiseScale *noise) {
  noise->minibatches = 0;
  noise->seconds = 0;
  noise->actor.squares = noise->critic.squares = 0;
  noise->actor.result = noise->critic.result = unmeasured;
}

static void add(NoiseScaleNetwork *noise, Ops *ops, const AgentNetwork *network, const float *gradient, int before) {
  if (network->n == 0) return;
  noise->squares += ops->norm_squared(ops, gradient, network->n);
  gradient_merge_mean(ops->device, noise->mean, gradient, network->n, before, 1);
}

void noise_scale_add(NoiseScale *noise, Ops *ops, const Agent *agent, const AgentGradient *gradient) {
  add(&noise->actor, ops, &agent->actor, gradient->actor, noise->minibatches);
  add(&noise->critic, ops, &agent->critic, gradient->critic, noise->minibatches);
  noise->minibatches++;
}

static void finish(NoiseScaleNetwork *noise, Ops *ops, const AgentNetwork *network, double rows, double minibatches) {
  if (network->n == 0) return;
  const double mean_squared = ops->norm_squared(ops, noise->mean, network->n);
  const GradientNoise result =
    estimators_gradient_noise(noise->squares / minibatches, rows, mean_squared, rows * minibatches);
  if (isfinite(result.variance) && isfinite(result.square)) noise->result = result;
}

void noise_scale_finish(NoiseScale *noise, Ops *ops, const Agent *agent, int64_t rows) {
  if (noise->minibatches < 2) return;
  finish(&noise->actor, ops, &agent->actor, (double)rows, noise->minibatches);
  finish(&noise->critic, ops, &agent->critic, (double)rows, noise->minibatches);
}
