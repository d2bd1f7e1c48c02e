/* Optimizer steps and their statistics (optim.h). */
#include "trainer/learners/optim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/math/estimators.h"
#include "trainer/ranks/ranks.h"

double optim_lr(const CoreConfig *config, const char *schedule, double lr, double warmup, int64_t iteration) {
  const double iterations = (double)core_config_iterations(config), warm = floor(warmup * iterations);
  const double step = (double)(iteration - 1) - warm, done = step / fmax(1, iterations - warm);
  if (step < 0) return lr * (double)iteration / (warm + 1);
  if (strcmp(schedule, "linear") == 0) return lr * (1.0 - done);
  if (strcmp(schedule, "cosine") == 0) return lr * (1.0 + cos(M_PI * done)) / 2;
  return lr;
}

Optimizer optim_create(const CoreConfig *config) {
  return (Optimizer){.beta1 = config->ppo.adam_beta1, .beta2 = config->ppo.adam_beta2,
                     .epsilon = config->ppo.adam_epsilon, .max_norm = config->ppo.max_grad_norm,
                     .norm_epsilon = config->ppo.norm_epsilon, .weight_decay = config->ppo.weight_decay};
}

void optim_reset(CoreDevice *device, Optimizer *optimizer, size_t n) {
  core_device_zero(device, optimizer->m, n * sizeof *optimizer->m);
  core_device_zero(device, optimizer->v, n * sizeof *optimizer->v);
  optimizer->t = 0;
}

/* ---- diagnosis of values that are not finite --------------------------------------------------------------------- */

int optim_check_matrix(Ops *ops, const char *what, const float *x, size_t rows, size_t columns) {
  size_t k = ops->first_nonfinite(ops, x, rows * columns);
  if (k == rows * columns) return CORE_OK;
  return core_error(CORE_FAIL, "%s[%zu,%zu] is %f", what, k / columns, k % columns,
                    (double)core_device_float(ops->device, x, k));
}

int optim_blame_observations(Ops *ops, const Rollout *rollout, int code) {
  const bool is_latest = rollout_last_observations(rollout) == rollout->observations; /* other storage forms */
  const size_t rows = (size_t)rollout->worlds * (is_latest ? 1 : (size_t)rollout->steps + 1);
  const size_t columns = (size_t)rollout->features, count = rows * columns;
  if (code == CORE_OK || !rollout->observations) return code;
  const size_t k = ops->first_nonfinite(ops, rollout->observations, count);
  if (k == count) return code;
  return core_error(CORE_FAIL, "rollout: observation[state,feature][%zu,%zu] is %f: the environment returned it, from "
                    "a step or a reset", k / columns, k % columns,
                    (double)core_device_float(ops->device, rollout->observations, k));
}

int optim_check_parameters(Ops *ops, const AgentNetwork *network, const char *what, const float *x) {
  char name[64];
  size_t k = ops->first_nonfinite(ops, x, network->n);
  if (k == network->n) return CORE_OK;
  return core_error(CORE_FAIL, "%s %s is %f", what, agent_parameter_name(network, k, name),
                    (double)core_device_float(ops->device, x, k));
}

static size_t largest_element(const float *x, size_t n) {
  size_t largest = 0;
  for (size_t k = 1; k < n; k++)
    if (fabsf(x[k]) > fabsf(x[largest])) largest = k;
  return largest;
}

int optim_diagnose_loss(Ops *ops, const AgentNetwork *network, size_t rows, const char *loss_name, double loss) {
  const NetworkShape *shape = &network->shape;
  const float *output = network->activations.hidden[shape->layers - 1];
  size_t columns = (size_t)shape->width[shape->layers];
  char what[64];

  TRY(optim_check_parameters(ops, network, "weight", network->theta));
  snprintf(what, sizeof what, "%s.output[row,unit]", network->name);
  TRY(optim_check_matrix(ops, what, output, rows, columns));

  void *copy;
  const float *seen = core_device_view(ops->device, output, rows * columns * sizeof *output, &copy);
  const size_t k = largest_element(seen, rows * columns);
  const double largest = (double)seen[k];
  free(copy);
  return core_error(CORE_FAIL,
                    "the %s loss is %f: weights and outputs are finite; the largest output is %s[%zu,%zu] = %g",
                    loss_name, loss, what, k / columns, k % columns, largest);
}

double optim_count_zero_grad(Ops *ops, const float *logp, const float *ref_logp, const float *advantages, int rows,
                             double epsilon) {
  const size_t bytes = (size_t)rows * sizeof *logp;
  int64_t zero_grad = 0;
  void *copy[3];
  logp = core_device_view(ops->device, logp, bytes, &copy[0]);
  ref_logp = core_device_view(ops->device, ref_logp, bytes, &copy[1]);
  advantages = core_device_view(ops->device, advantages, bytes, &copy[2]);
  for (int r = 0; r < rows; r++)
    zero_grad += estimators_no_gradient((double)logp[r] - (double)ref_logp[r], (double)advantages[r], epsilon);
  for (int i = 0; i < 3; i++) free(copy[i]);
  return (double)zero_grad;
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

static void add_kurtosis(Ops *ops, GradientStats *gradients, const float *gradient, size_t n) {
  void *copy;
  const Kurtosis kurtosis = kurtosis_measure(core_device_view(ops->device, gradient, n * sizeof *gradient, &copy), n);
  free(copy);
  gradients->kurtosis.all += kurtosis.all;
  gradients->kurtosis.nonzero += kurtosis.nonzero;
  gradients->kurtosis.zero_fraction += kurtosis.zero_fraction;
}

int optim_gradient_norm(Ops *ops, const AgentNetwork *network, const float *gradient, double *norm) {
  *norm = sqrt(ops->norm_squared(ops, gradient, network->n));
  if (isfinite(*norm)) return CORE_OK;
  TRY(optim_check_parameters(ops, network, "gradient of", gradient));
  return core_error(CORE_FAIL, "the gradient norm of the %s is %f", network->name, *norm);
}

void optim_step(const UpdateContext *context, const AgentNetwork *network, Optimizer *optimizer, const float *gradient,
                double lr, double norm, double clip_norm, GradientStats *gradients) {
  int clipped;
  double factor = optimizer_clip(optimizer, clip_norm, &clipped);
  if (context->measure)
    core_device_copy(context->ops->device, context->before, network->theta, network->n * sizeof *network->theta);
  optimizer_apply(context->ops, optimizer, network->theta, gradient, network->n, lr, factor);
  gradients->norm_mean += norm;
  if (norm > gradients->norm_max) gradients->norm_max = norm;
  gradients->clipped_fraction += clipped;
  if (!context->measure) return;
  add_kurtosis(context->ops, gradients, gradient, network->n);
  gradients->step_norm +=
    sqrt(context->ops->distance_squared(context->ops, network->theta, context->before, network->n));
}

int optim_step_both(const UpdateContext *context, const Agent *agent, const AgentGradient *gradient, Optimizer *actor,
                    Optimizer *critic, double lr, UpdateStats *stats) {
  const bool separate = agent->sharing == AGENT_SEPARATE;
  double actor_norm, critic_norm;
  TRY(optim_gradient_norm(context->ops, &agent->actor, gradient->actor, &actor_norm));
  TRY(optim_gradient_norm(context->ops, &agent->critic, gradient->critic, &critic_norm));
  const double both = hypot(actor_norm, critic_norm);
  stats->joint_norm += both;
  optim_step(context, &agent->actor, actor, gradient->actor, lr, actor_norm, separate ? actor_norm : both,
             &stats->actor);
  optim_step(context, &agent->critic, critic, gradient->critic, lr, critic_norm, separate ? critic_norm : both,
             &stats->critic);
  return CORE_OK;
}

void optim_reduce_stats(UpdateStats *stats) {
  double sums[] = {stats->policy_loss, stats->value_loss, stats->entropy, stats->clip_fraction,
                   stats->zero_grad_fraction};
  ranks_sum(sums, sizeof sums / sizeof *sums);
  stats->policy_loss = sums[0];
  stats->value_loss = sums[1];
  stats->entropy = sums[2];
  stats->clip_fraction = sums[3];
  stats->zero_grad_fraction = sums[4];
}

void optim_average_stats(UpdateStats *stats, double steps, bool measured) {
  double *const sums[] = {&stats->policy_loss, &stats->value_loss, &stats->entropy, &stats->clip_fraction,
                          &stats->actor.norm_mean, &stats->actor.clipped_fraction, &stats->critic.norm_mean,
                          &stats->critic.clipped_fraction, &stats->joint_norm};
  double *const optional[] = {&stats->zero_grad_fraction, &stats->actor.kurtosis.all, &stats->actor.kurtosis.nonzero,
                              &stats->actor.kurtosis.zero_fraction, &stats->actor.step_norm,
                              &stats->critic.kurtosis.all, &stats->critic.kurtosis.nonzero,
                              &stats->critic.kurtosis.zero_fraction, &stats->critic.step_norm};
  stats->updates = steps;
  steps = fmax(steps, 1);
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) *sums[i] /= steps;
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) *optional[i] = measured ? *optional[i] / steps : NAN;
}

void optim_add_sections(Checkpoint *checkpoint, const AgentNetwork *network, Optimizer *optimizer) {
  char name[CHECKPOINT_NAME];
  const size_t bytes = network->n * sizeof *network->theta;
  checkpoint_add(checkpoint, network->name, network->theta, bytes);
  snprintf(name, sizeof name, "%s m", network->name);
  checkpoint_add(checkpoint, name, optimizer->m, bytes);
  snprintf(name, sizeof name, "%s v", network->name);
  checkpoint_add(checkpoint, name, optimizer->v, bytes);
}
