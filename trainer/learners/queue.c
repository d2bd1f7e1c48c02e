/* Plans, scalars and graphs of queued updates (queue.h). */
#include "trainer/learners/queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "trainer/ranks/ranks.h"

static bool is_off(void) {
  const char *mode = getenv("TRAINER_QUEUE");
  return mode && strcmp(mode, "none") == 0;
}

void queue_register(Queue *queue, const Agent *agent, const Optimizer *optimizer, bool joint, int rows,
                    bool divided, int steps, CoreArena *arena) {
  *queue = (Queue){.device = is_off() ? NULL : core_arena_device(arena),
                   .plan = {.max_norm = optimizer->max_norm, .norm_epsilon = optimizer->norm_epsilon, .joint = joint,
                            .rows = rows, .divided = divided, .steps = steps}};
  if (queue->device == NULL) return;
  CORE_ARENA(arena, queue->scalars, (size_t)steps, "scalars of steps [steps]");
  CORE_ARENA_DEVICE(arena, queue->plan.scalars, (size_t)steps, "scalars of steps [steps]");
  CORE_ARENA_DEVICE(arena, queue->plan.stats, 1, "statistics of an update");
  CORE_ARENA_DEVICE(arena, queue->plan.parts, ops_update_parts(), "gradient norms of parts");
  CORE_ARENA_DEVICE(arena, queue->before[0], agent->actor.n, "actor weights before a step");
  if (agent->critic.n > 0) CORE_ARENA_DEVICE(arena, queue->before[1], agent->critic.n, "critic weights before a step");
}

void queue_destroy(Queue *queue) {
  for (int i = 0; i < 2 && queue->device; i++) queue->device->destroy_graph(queue->device, queue->graph[i]);
}

static OpsUpdateNetwork network_of(const AgentNetwork *network, const float *gradient, const Optimizer *optimizer,
                                   float *before) {
  return (OpsUpdateNetwork){network->theta, gradient, optimizer->m, optimizer->v, before, network->n};
}

void queue_begin(Queue *queue, const LearnerStep *step, const Agent *agent, const AgentGradient *gradient,
                 const Optimizer *actor, const Optimizer *critic, const Proximal *proximal, double rate) {
  OpsUpdatePlan *plan = &queue->plan;
  queue->measures = step->measure;
  Proximal moving = proximal ? *proximal : (Proximal){0};
  queue->communicator = agent->communicator;
  plan->networks = critic ? 2 : 1;
  plan->network[0] = network_of(&agent->actor, gradient->actor, actor, step->measure ? queue->before[0] : NULL);
  if (critic)
    plan->network[1] = network_of(&agent->critic, gradient->critic, critic, step->measure ? queue->before[1] : NULL);
  plan->proximal = moving.theta;
  for (int i = 0; i < plan->steps; i++) {
    OpsUpdateScalars *scalars = &queue->scalars[i];
    *scalars = (OpsUpdateScalars){.adam[0] = optimizer_scalars(actor, rate, actor->t + i + 1)};
    if (critic) scalars->adam[1] = optimizer_scalars(critic, rate, critic->t + i + 1);
    if (proximal == NULL) continue;
    const double keep = proximal_keep(&moving);
    scalars->share = (float)(1 - keep);
    scalars->copies = keep == 0;
  }
  step->ops->update->begin(step->ops, plan, queue->scalars, plan->steps, (uint64_t)actor->t);
}

void queue_minibatch(Queue *queue, void (*minibatch)(void *context), void *context) {
  CoreDevice *device = queue->device;
  CoreGraph **graph = &queue->graph[queue->measures];
  bool *is_warm = &queue->is_warm[queue->measures];
  if (!*is_warm) {
    minibatch(context);
    *is_warm = true;
    return;
  }
  if (*graph == NULL) {
    device->begin_graph(device);
    minibatch(context);
    *graph = device->end_graph(device);
  }
  device->launch_graph(device, *graph);
}

void queue_begin_gradient(const Queue *queue, Gradient *gradient, const Minibatch *minibatch) {
  const GradientQueued queued = {.rows = minibatch->counts, .shares = minibatch->shares,
                                 .turn = &queue->plan.stats->step, .parts = minibatch->parts};
  gradient_begin_queued(gradient, &queued);
}

void queue_add_sums(Queue *queue, Ops *ops, bool is_first, bool is_last) {
  Communicator *communicator = queue->communicator;
  ops->update->add_sums(ops, is_first);
  if (is_last && communicator)
    communicator->sum(communicator, queue->plan.stats->all, OPS_STATS_SUMS, COMMUNICATOR_DOUBLE);
}

void queue_step(Queue *queue, Ops *ops) {
  if (queue->communicator) queue->communicator->finish(queue->communicator);
  ops->update->step(ops, &queue->plan);
}

static void add_gradients(const OpsUpdateStats *stats, int network, LearnerGradients *gradients) {
  gradients->norm_mean += stats->norm[network];
  gradients->norm_max = fmax(gradients->norm_max, stats->norm_max[network]);
  gradients->clipped_fraction += stats->clipped[network];
  gradients->kurtosis.all += stats->kurtosis[network].all;
  gradients->kurtosis.nonzero += stats->kurtosis[network].nonzero;
  gradients->kurtosis.zero_fraction += stats->kurtosis[network].zero_fraction;
  gradients->step_norm += stats->step_norm[network];
}

int queue_finish(Queue *queue, Ops *ops, Optimizer *actor, Optimizer *critic, Proximal *proximal, OpsUpdateStats *stats,
                 LearnerUpdate *update) {
  ops->update->finish(ops, &queue->plan, stats);
  actor->t += (int64_t)stats->step;
  if (critic) critic->t += (int64_t)stats->step;
  for (uint64_t i = 0; proximal && i < stats->step; i++) proximal_keep(proximal);
  add_gradients(stats, 0, &update->actor);
  if (critic) {
    add_gradients(stats, 1, &update->critic);
    update->joint_norm += stats->joint;
  }
  if (queue->communicator && !ranks_is_first()) memset(stats->mean, 0, sizeof stats->mean);
  return (int)stats->failed - 1;
}

int queue_explain(int code) {
  if (code != CORE_OK) return code;
  return core_error(CORE_FAIL, "a loss or a gradient was not finite, but is when computed again");
}
