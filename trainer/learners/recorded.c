/* Plans, scalars and graphs of recorded updates (recorded.h). */
#include "trainer/learners/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "trainer/ranks/ranks.h"

static bool is_off(void) {
  const char *mode = getenv("TRAINER_QUEUE");
  return mode && strcmp(mode, "none") == 0;
}

void recorded_register(RecordedUpdate *recorded, const Agent *agent, const Optimizer *optimizer, bool joint, int rows,
                       bool divided, int steps, CoreArena *arena) {
  *recorded = (RecordedUpdate){
    .device = is_off() ? NULL : core_arena_device(arena),
    .plan = {.max_norm = optimizer->max_norm, .norm_epsilon = optimizer->norm_epsilon, .joint = joint, .rows = rows,
             .divided = divided, .steps = steps}};
  if (recorded->device == NULL) return;
  CORE_ARENA(arena, recorded->scalars, (size_t)steps, "scalars of steps [steps]");
  CORE_ARENA_DEVICE(arena, recorded->plan.scalars, (size_t)steps, "scalars of steps [steps]");
  CORE_ARENA_DEVICE(arena, recorded->plan.stats, 1, "statistics of an update");
  CORE_ARENA_DEVICE(arena, recorded->plan.parts, ops_update_parts(), "gradient norms of parts");
  CORE_ARENA_DEVICE(arena, recorded->before[0], agent->actor.n, "actor weights before a step");
  if (agent->critic.n > 0)
    CORE_ARENA_DEVICE(arena, recorded->before[1], agent->critic.n, "critic weights before a step");
}

void recorded_forget(RecordedUpdate *recorded) {
  for (int i = 0; i < 2 && recorded->device; i++) {
    recorded->device->destroy_graph(recorded->device, recorded->graph[i]);
    recorded->graph[i] = NULL;
  }
}

void recorded_destroy(RecordedUpdate *recorded) { recorded_forget(recorded); }

static OpsUpdateNetwork network_of(const AgentNetwork *network, const float *gradient, const Optimizer *optimizer,
                                   float *before) {
  return (OpsUpdateNetwork){network->theta, gradient, optimizer->m, optimizer->v, before, network->n};
}

void recorded_begin(RecordedUpdate *recorded, const LearnerStep *step, const Agent *agent,
                    const AgentGradient *gradient, const Optimizer *actor, const Optimizer *critic,
                    const Proximal *proximal, double rate) {
  OpsUpdatePlan *plan = &recorded->plan;
  recorded->measures = step->measure;
  Proximal moving = proximal ? *proximal : (Proximal){0};
  recorded->communicator = agent->communicator;
  plan->networks = critic ? 2 : 1;
  plan->network[0] = network_of(&agent->actor, gradient->actor, actor, step->measure ? recorded->before[0] : NULL);
  if (critic)
    plan->network[1] = network_of(&agent->critic, gradient->critic, critic, step->measure ? recorded->before[1] : NULL);
  plan->proximal = moving.theta;
  for (int i = 0; i < plan->steps; i++) {
    OpsUpdateScalars *scalars = &recorded->scalars[i];
    *scalars = (OpsUpdateScalars){.adam[0] = optimizer_scalars(actor, rate, actor->t + i + 1)};
    if (critic) scalars->adam[1] = optimizer_scalars(critic, rate, critic->t + i + 1);
    if (proximal == NULL) continue;
    const double keep = proximal_keep(&moving);
    scalars->share = (float)(1 - keep);
    scalars->copies = keep == 0;
  }
  step->ops->update->begin(step->ops, plan, recorded->scalars, plan->steps, (uint64_t)actor->t);
}

void recorded_minibatch(RecordedUpdate *recorded, void (*minibatch)(void *context), void *context) {
  CoreDevice *device = recorded->device;
  CoreGraph **graph = &recorded->graph[recorded->measures];
  bool *is_warm = &recorded->is_warm[recorded->measures];
  if (!*is_warm || device->times) {
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

void recorded_begin_gradient(const RecordedUpdate *recorded, Gradient *gradient, const Minibatch *minibatch) {
  const GradientRecorded pieces = {.rows = minibatch->counts, .shares = minibatch->shares,
                                   .step = &recorded->plan.stats->step, .parts = minibatch->parts};
  gradient_begin_recorded(gradient, &pieces);
}

void recorded_add_sums(RecordedUpdate *recorded, Ops *ops, bool is_first, bool is_last) {
  Communicator *communicator = recorded->communicator;
  ops->update->add_sums(ops, is_first);
  if (is_last && communicator)
    communicator->sum(communicator, recorded->plan.stats->all, OPS_STATS_SUMS, COMMUNICATOR_DOUBLE);
}

void recorded_step(RecordedUpdate *recorded, Ops *ops) {
  if (recorded->communicator) recorded->communicator->finish(recorded->communicator);
  ops->update->step(ops, &recorded->plan);
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

int recorded_finish(RecordedUpdate *recorded, Ops *ops, Optimizer *actor, Optimizer *critic, Proximal *proximal,
                    OpsUpdateStats *stats, LearnerUpdate *update) {
  ops->update->finish(ops, &recorded->plan, stats);
  actor->t += (int64_t)stats->step;
  if (critic) critic->t += (int64_t)stats->step;
  for (uint64_t i = 0; proximal && i < stats->step; i++) proximal_keep(proximal);
  add_gradients(stats, 0, &update->actor);
  if (critic) {
    add_gradients(stats, 1, &update->critic);
    update->joint_norm += stats->joint;
  }
  if (recorded->communicator && !ranks_is_first()) memset(stats->mean, 0, sizeof stats->mean);
  return (int)stats->failed - 1;
}

int recorded_explain(int code) {
  if (code != CORE_OK) return code;
  return core_error(CORE_FAIL, "a loss or a gradient was not finite, but is when computed again");
}
