/* Plans, scalars and graphs of captured updates (captured.h). */
#include "trainer/learners/captured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "trainer/ranks/ranks.h"

static bool is_disabled(void) {
  const char *mode = getenv("TRAINER_QUEUE");
  return mode && strcmp(mode, "none") == 0;
}

void captured_register(CapturedUpdate *captured, const Optimizer *optimizer, bool joint, int rows, bool divided,
                       int steps, CoreArena *arena) {
  *captured = (CapturedUpdate){
    .device = is_disabled() ? NULL : core_arena_device(arena),
    .plan = {.max_norm = optimizer->max_norm, .norm_epsilon = optimizer->norm_epsilon, .joint = joint, .rows = rows,
             .divided = divided, .steps = steps}};
  if (captured->device == NULL) return;
  CORE_ARENA(arena, captured->scalars, (size_t)steps, "scalars of steps [steps]");
  CORE_ARENA_DEVICE(arena, captured->plan.scalars, (size_t)steps, "scalars of steps [steps]");
  CORE_ARENA_DEVICE(arena, captured->plan.stats, 1, "statistics of an update");
  CORE_ARENA_DEVICE(arena, captured->plan.parts, ops_update_parts(), "gradient norms of parts");
}

void captured_invalidate(CapturedUpdate *captured) {
  if (captured->device == NULL) return;
  for (int i = 0; i < 2; i++) {
    captured->device->destroy_graph(captured->device, captured->graph[i]);
    captured->graph[i] = NULL;
  }
}

void captured_destroy(CapturedUpdate *captured) { captured_invalidate(captured); }

static OpsUpdateNetwork make_network(const AgentNetwork *network, const float *gradient, const Optimizer *optimizer) {
  return (OpsUpdateNetwork){network->theta, gradient, optimizer->m, optimizer->v, network->n};
}

void captured_begin(CapturedUpdate *captured, const UpdateContext *context, const Agent *agent,
                    const AgentGradient *gradient, const Optimizer *actor, const Optimizer *critic,
                    const Proximal *proximal, double lr) {
  OpsUpdatePlan *plan = &captured->plan;
  captured->is_measured = context->measure;
  Proximal moving = proximal ? *proximal : (Proximal){0};
  captured->communicator = agent->communicator;

  plan->networks = critic ? 2 : 1;
  plan->measures = context->measure;
  plan->network[0] = make_network(&agent->actor, gradient->actor, actor);
  if (critic) plan->network[1] = make_network(&agent->critic, gradient->critic, critic);
  plan->proximal = moving.theta;

  for (int i = 0; i < plan->steps; i++) {
    OpsUpdateScalars *scalars = &captured->scalars[i];
    *scalars = (OpsUpdateScalars){.adam[0] = optimizer_scalars(actor, lr, actor->t + i + 1)};
    if (critic) scalars->adam[1] = optimizer_scalars(critic, lr, critic->t + i + 1);
    if (proximal == NULL) continue;
    const double keep = proximal_keep(&moving);
    scalars->share = (float)(1 - keep);
    scalars->copies = keep == 0;
  }
  context->ops->update->begin(context->ops, plan, captured->scalars, plan->steps, (uint64_t)actor->t);
}

void captured_minibatch(CapturedUpdate *captured, void (*minibatch)(void *argument), void *argument) {
  CoreDevice *device = captured->device;
  CoreGraph **graph = &captured->graph[captured->is_measured];
  bool *is_warm = &captured->is_warm[captured->is_measured];
  uint64_t *launches = &captured->launches[captured->is_measured];

  /* The first launch is not captured, so that libraries choose their algorithms. */
  if (!*is_warm || device->times || *launches > CAPTURED_NODES_MAX) {
    const uint64_t before = device->launches;
    minibatch(argument);
    *launches = device->launches - before;
    *is_warm = true;
    return;
  }

  if (*graph == NULL) {
    device->begin_capture(device);
    minibatch(argument);
    *graph = device->end_capture(device);
  }
  device->launch_graph(device, *graph);
}

void captured_begin_gradient(const CapturedUpdate *captured, Ops *ops, Gradient *gradient, Minibatch *minibatch,
                             const Rollout *rollout) {
  if (rollout->shards.global_shards == 1) {
    minibatch_select_current(minibatch, ops, rollout, minibatch->parts);
    gradient_begin(gradient);
    return;
  }
  const GradientCaptured setup = {.rows = minibatch->counts, .shares = minibatch->shares,
                                   .step = &captured->plan.stats->step, .parts = minibatch->parts};
  gradient_begin_captured(gradient, &setup);
}

void captured_add_sums(CapturedUpdate *captured, Ops *ops, bool is_first, bool is_last) {
  Communicator *communicator = captured->communicator;
  ops->update->add_sums(ops, is_first);
  if (is_last && communicator)
    communicator->sum(communicator, captured->plan.stats->all, OPS_STATS_SUMS, COMMUNICATOR_DOUBLE);
}

void captured_step(CapturedUpdate *captured, Ops *ops) {
  if (captured->communicator) captured->communicator->finish(captured->communicator);
  ops->update->step(ops, &captured->plan);
}

static void add_gradients(const OpsUpdateStats *sums, int network, GradientStats *gradients) {
  gradients->norm_mean += sums->norm[network];
  gradients->norm_max = fmax(gradients->norm_max, sums->norm_max[network]);
  gradients->clipped_fraction += sums->clipped[network];
  gradients->kurtosis.all += sums->kurtosis[network].all;
  gradients->kurtosis.nonzero += sums->kurtosis[network].nonzero;
  gradients->kurtosis.zero_fraction += sums->kurtosis[network].zero_fraction;
  gradients->step_norm += sums->step_norm[network];
}

int captured_finish(CapturedUpdate *captured, Ops *ops, Optimizer *actor, Optimizer *critic, Proximal *proximal,
                    OpsUpdateStats *sums, UpdateStats *stats) {
  ops->update->finish(ops, &captured->plan, sums);
  actor->t += (int64_t)sums->step;
  if (critic) critic->t += (int64_t)sums->step;
  if (proximal)
    for (uint64_t i = 0; i < sums->step; i++) proximal_keep(proximal);
  add_gradients(sums, 0, &stats->actor);
  if (critic) {
    add_gradients(sums, 1, &stats->critic);
    stats->joint_norm += sums->joint;
  }
  if (captured->communicator && !ranks_is_first()) memset(sums->mean, 0, sizeof sums->mean);
  return (int)sums->failed - 1;
}

int captured_diagnose(int code) {
  if (code != CORE_OK) return code;
  return core_error(CORE_FAIL, "a loss or a gradient was not finite, but is when computed again");
}
