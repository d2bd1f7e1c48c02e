/* SAPG update (sapg.h): epochs of minibatches over the samples of sapg_data.c, each one loss for all blocks, and a
 * KL-adaptive learning rate (docs/algorithms.md#sapg). Arithmetic is in ops; nothing here allocates in an update. */
#include "trainer/learners/sapg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/learners/optim.h"
#include "trainer/ranks/ranks.h"

double sapg_entropy_coef(int block, int blocks, double scale) {
  return 0.5 * scale * (1 - (double)block / (blocks - 1));
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static LearnerSize update_size(const CoreConfig *config) {
  const SapgMinibatches minibatches = sapg_minibatches(config);
  return (LearnerSize){.rows = minibatches.last_rows, .updates = config->ppo.epochs * minibatches.count};
}

static int create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state) {
  if (!ops_head_is_continuous(&agent->head))
    return core_error(CORE_USAGE,
                      "algo.name = sapg: requires continuous actions, but env.task = %s expects classes; set "
                      "algo.name to ppo or ppo_ewma", config->env.task);
  Sapg *sapg = *state = core_memory_zero_allocate(1, sizeof *sapg);

  const int64_t on_policy = core_config_transitions_per_iteration(config);
  if (2 * on_policy > INT32_MAX)
    return core_error(CORE_USAGE, "env.num * ppo.num_steps = %" PRId64 " exceeds 2^30 - 1; lower one of them",
                      on_policy);

  *sapg = (Sapg){.config = config, .agent = agent, .actor_optimizer = optim_create(config),
                 .critic_optimizer = optim_create(config)};
  sapg_data_register(&sapg->data, config, agent, rollout, arena);
  const SapgMinibatches *minibatches = &sapg->data.minibatches;
  const size_t capacity = (size_t)sapg->data.capacity;

  CORE_ARENA_DEVICE(arena, sapg->actor_optimizer.m, agent->actor.n, "actor first moments");
  CORE_ARENA_DEVICE(arena, sapg->actor_optimizer.v, agent->actor.n, "actor second moments");
  CORE_ARENA_DEVICE(arena, sapg->critic_optimizer.m, agent->critic.n, "critic first moments");
  CORE_ARENA_DEVICE(arena, sapg->critic_optimizer.v, agent->critic.n, "critic second moments");
  CORE_ARENA_DEVICE(arena, sapg->doutput, capacity * (size_t)agent->head.logits,
                    "gradient at the output [rows][logits]");
  CORE_ARENA_DEVICE(arena, sapg->logp, capacity, "minibatch log-probabilities of now [rows]");

  adaptive_lr_register(&sapg->adaptive_lr, config->sapg.kl_threshold, &rollout->shards, arena);
  CORE_ARENA_DEVICE(arena, sapg->entropy_coef, (size_t)config->sapg.blocks, "weights of entropies [blocks]");
  CORE_ARENA(arena, sapg->value_moments, VALUE_MOMENTS, "moments of values");
  gradient_register(&sapg->gradient, agent, &rollout->shards, sapg->data.capacity, 1, arena);
  captured_register(&sapg->captured, &sapg->actor_optimizer, agent->sharing != AGENT_SEPARATE, minibatches->rows, false,
                    minibatches->count, arena);
  return CORE_OK;
}

static void destroy(void *state) {
  if (state) captured_destroy(&((Sapg *)state)->captured);
  free(state);
}

static void start(void *state) {
  Sapg *sapg = state;
  optim_reset(sapg->agent->device, &sapg->actor_optimizer, sapg->agent->actor.n);
  optim_reset(sapg->agent->device, &sapg->critic_optimizer, sapg->agent->critic.n);
  *sapg->adaptive_lr.lr = sapg->config->ppo.learning_rate;
  value_moments_start(sapg->value_moments);
}

/* ---- one minibatch ----------------------------------------------------------------------------------------------- */

/* Sums of the actor's loss over the rows of a micro-batch. */
typedef struct ActorSums { OpsPolicySums policy; OpsGaussianSums regular; double kl; } ActorSums;

/* Destinations of those sums on the host; all NULL: the sums stay in the statistics of the device. */
typedef struct ActorSumsOut { OpsPolicySums *policy; OpsGaussianSums *regular; double *kl; } ActorSumsOut;

/* Computes the gradient of the actor's loss into sapg->doutput and returns the logits: L = E[min(r A, clip(r, 1-eps,
 * 1+eps) A)] + E[c_b H] - bounds, r = pi / pi of the block that acted. sapg.clip = paper: clip around m = pi_old of the
 * block that learns / pi of the block that acted; since r = (pi / pi_old) m, that is PPO-EWMA's loss with pi_old as the
 * proximal policy. On-policy m = 1. The new policy replaces the one that the KL compares with. */
static const float *actor_loss(Sapg *sapg, Ops *ops, const ActorSumsOut *sums) {
  const CoreConfig *config = sapg->config;
  const Agent *agent = sapg->agent;
  SapgData *data = &sapg->data;
  const int rows = data->rows;
  sequences_bind(&data->memory, agent);
  const float *logits = agent_pass(agent, ops, &agent->actor, data->observations, rows);
  ops->policy_loss(ops, &agent->head, logits, data->actions, data->batch_logp,
                   data->logp_own ? data->batch_own : NULL, data->batch_advantages, rows, config->ppo.epsilon, 0,
                   sapg->doutput, sums->policy);
  ops->gaussian_regularize(ops, &agent->head, logits, agent->blocks.of_row, sapg->entropy_coef, RL_GAMES_BOUND,
                           config->sapg.bounds_coef, rows, sapg->doutput, sums->regular);
  ops->controller_kl(ops, &agent->head, logits, data->sample, rows, data->logits, sums->kl);
  return logits;
}

static void actor_backward(Sapg *sapg, Ops *ops) {
  const SapgData *data = &sapg->data;
  agent_backward(sapg->agent, ops, &sapg->agent->actor, data->observations, data->rows, sapg->doutput,
                 &sapg->gradient.mean);
}

/* Returns the log-probs of the reference policy of the clip. */
static const float *ref_logp(const SapgData *data) { return data->logp_own ? data->batch_own : data->batch_logp; }

/* Counts the samples of a micro-batch whose policy gradient is zero because the ratio is clipped. */
static double count_zero_grad(Sapg *sapg, Ops *ops, const float *logits) {
  const SapgData *data = &sapg->data;
  ops->policy_logp(ops, &sapg->agent->head, logits, data->actions, sapg->logp, data->rows);
  return optim_count_zero_grad(ops, sapg->logp, ref_logp(data), data->batch_advantages, data->rows,
                               sapg->config->ppo.epsilon);
}

static int actor_gradient(Sapg *sapg, const UpdateContext *context, int global_rows, UpdateStats *stats) {
  const SapgData *data = &sapg->data;
  ActorSums sums;
  const ActorSumsOut out = {&sums.policy, &sums.regular, &sums.kl};
  const float *logits = actor_loss(sapg, context->ops, &out);
  if (!isfinite(sums.policy.loss) || !isfinite(sums.policy.entropy) || !isfinite(sums.regular.bounds))
    return optim_diagnose_loss(context->ops, &sapg->agent->actor, (size_t)data->rows, "policy", sums.policy.loss);
  stats->policy_loss += sums.policy.loss / global_rows;
  stats->entropy += sums.policy.entropy / global_rows;
  stats->clip_fraction += sums.policy.clipped / global_rows;
  if (context->measure) stats->zero_grad_fraction += count_zero_grad(sapg, context->ops, logits) / global_rows;
  sapg->adaptive_lr.kl[data->shard] += sums.kl / global_rows;
  actor_backward(sapg, context->ops);
  return CORE_OK;
}

static void critic_loss(Sapg *sapg, Ops *ops, OpsValueSums *sums) {
  const CoreConfig *config = sapg->config;
  const Agent *agent = sapg->agent;
  const SapgData *data = &sapg->data;
  const float *values = agent_pass(agent, ops, &agent->critic, data->observations, data->rows);
  ops->value_loss(ops, values, data->batch_values, data->batch_returns, data->rows, config->ppo.clip_value,
                  config->ppo.epsilon, config->ppo.value_coef, sapg->doutput, sums);
}

static void critic_backward(Sapg *sapg, Ops *ops) {
  const SapgData *data = &sapg->data;
  agent_backward(sapg->agent, ops, &sapg->agent->critic, data->observations, data->rows, sapg->doutput,
                 &sapg->gradient.mean);
}

static int critic_gradient(Sapg *sapg, const UpdateContext *context, int global_rows, UpdateStats *stats) {
  const AgentNetwork *critic = &sapg->agent->critic;
  OpsValueSums sums;
  critic_loss(sapg, context->ops, &sums);
  if (!isfinite(sums.loss))
    return optim_diagnose_loss(context->ops, critic, (size_t)sapg->data.rows, "value", sums.loss);
  stats->value_loss += sums.loss / global_rows;
  critic_backward(sapg, context->ops);
  return CORE_OK;
}

/* Computes this rank's part of the gradients of minibatch m. */
static int add_gradients(Sapg *sapg, const UpdateContext *context, int m, UpdateStats *stats) {
  SapgData *data = &sapg->data;
  const int rows = sapg_data_rows(data, m);
  sapg_data_select(data, m);
  gradient_begin(&sapg->gradient);
  while (sapg_data_next(data, context->ops, context->rollout)) {
    TRY(actor_gradient(sapg, context, rows, stats));
    TRY(critic_gradient(sapg, context, rows, stats));
    gradient_add(&sapg->gradient, data->shard, data->rows);
  }
  return CORE_OK;
}

static int minibatch_step(Sapg *sapg, const UpdateContext *context, int m, UpdateStats *stats) {
  TRY(ranks_agree(add_gradients(sapg, context, m, stats)));
  gradient_finish(&sapg->gradient, sapg_data_rows(&sapg->data, m));
  return optim_step_both(context, sapg->agent, &sapg->gradient.mean, &sapg->actor_optimizer, &sapg->critic_optimizer,
                           *sapg->adaptive_lr.lr, stats);
}

/* ---- an epoch ---------------------------------------------------------------------------------------------------- */

static int name_minibatch(int code, int epoch, int m) {
  return core_error_context(code, "epoch %d, minibatch %d", epoch, m + 1);
}

/* Runs an epoch in which the host drives each step. */
static int step_epoch_sync(Sapg *sapg, const UpdateContext *context, int number, UpdateStats *stats) {
  adaptive_lr_begin_epoch(&sapg->adaptive_lr);
  for (int m = 0; m < sapg->data.minibatches.count; m++) {
    const int code = minibatch_step(sapg, context, m, stats);
    if (code != CORE_OK) return name_minibatch(code, number, m);
    if (context->profile) profile_snapshot(context->profile, context->ops, sapg->agent);
  }
  stats->controller_kl = adaptive_lr_mean_kl(&sapg->adaptive_lr, sapg->data.minibatches.count);
  return CORE_OK;
}

/* Enqueues a step with the gathered minibatch, without synchronizing. */
static void enqueue_step(Sapg *sapg, const UpdateContext *context) {
  Ops *ops = context->ops;
  OpsUpdatePlan plan = sapg->captured.plan;
  plan.rows = sapg->data.rows;
  const float *logits = actor_loss(sapg, ops, &(ActorSumsOut){0});
  if (context->measure) {
    const SapgData *data = &sapg->data;
    ops->update->count_zero_grad(ops, &sapg->agent->head, logits, data->actions, ref_logp(data), data->batch_advantages,
                                 data->rows, sapg->config->ppo.epsilon);
  }
  actor_backward(sapg, ops);
  critic_loss(sapg, ops, NULL);
  critic_backward(sapg, ops);
  ops->update->step(ops, &plan);
}

/* Captures a step with the minibatch that the device selects. */
typedef struct Enqueued { Sapg *sapg; const UpdateContext *context; } Enqueued;
static void enqueue_current(void *argument) {
  const Enqueued *enqueued = argument;
  sapg_data_gather_current(&enqueued->sapg->data, enqueued->context->ops, enqueued->context->rollout);
  enqueue_step(enqueued->sapg, enqueued->context);
}

/* Repeats the failed step on the host, which names the value that is not finite. */
static int repeat_failed_step(Sapg *sapg, const UpdateContext *context, int number, int m) {
  UpdateStats unused = {0};
  return name_minibatch(captured_diagnose(minibatch_step(sapg, context, m, &unused)), number, m);
}

/* Enqueues all steps of an epoch. The host synchronizes once, since the next epoch's learning rate depends on the KL. A
 * larger last minibatch is not part of the graph. */
static int enqueue_epoch(Sapg *sapg, const UpdateContext *context, int number, UpdateStats *stats) {
  const SapgMinibatches *minibatches = &sapg->data.minibatches;
  Enqueued enqueued = {sapg, context};
  OpsUpdateStats sums;
  captured_begin(&sapg->captured, context, sapg->agent, &sapg->gradient.mean, &sapg->actor_optimizer,
                 &sapg->critic_optimizer, NULL, *sapg->adaptive_lr.lr);

  for (int m = 0; m < minibatches->count; m++) {
    if (sapg_data_rows(&sapg->data, m) == minibatches->rows) {
      captured_minibatch(&sapg->captured, enqueue_current, &enqueued);
    } else {
      sapg_data_gather_minibatch(&sapg->data, context->ops, context->rollout, m);
      enqueue_step(sapg, context);
    }
    if (context->profile) profile_snapshot(context->profile, context->ops, sapg->agent);
  }

  const int failed =
    captured_finish(&sapg->captured, context->ops, &sapg->actor_optimizer, &sapg->critic_optimizer, NULL, &sums, stats);
  if (failed >= 0) return repeat_failed_step(sapg, context, number, failed);

  stats->policy_loss += sums.mean[OPS_STATS_POLICY];
  stats->entropy += sums.mean[OPS_STATS_ENTROPY];
  stats->clip_fraction += sums.mean[OPS_STATS_CLIPPED];
  stats->value_loss += sums.mean[OPS_STATS_VALUE];
  stats->zero_grad_fraction += sums.mean[OPS_STATS_ZERO_GRAD];
  stats->controller_kl = sums.mean[OPS_STATS_CONTROLLER] / minibatches->count;
  return CORE_OK;
}

static int epoch(Sapg *sapg, const UpdateContext *context, int number, UpdateStats *stats) {
  /* micro-batches of shards differ in size, which a graph cannot express */
  const bool divided = context->rollout->shards.global_shards > 1;
  if (!divided && captured_is_available(&sapg->captured, sapg->agent)) TRY(enqueue_epoch(sapg, context, number, stats));
  else TRY(step_epoch_sync(sapg, context, number, stats));
  adaptive_lr_update(&sapg->adaptive_lr, stats->controller_kl);
  return CORE_OK;
}

/* ---- the iteration ----------------------------------------------------------------------------------------------- */

static int check_rollout(const Sapg *sapg, Ops *ops, const Rollout *rollout) {
  const size_t k = (size_t)rollout->steps, n = (size_t)rollout->worlds;
  TRY(optim_check_matrix(ops, "rollout: reward[step,world]", rollout->rewards, k, n));
  const int code = optim_check_matrix(ops, "rollout: actor.logits[state,logit]", rollout->logits, k * n,
                                      (size_t)sapg->agent->head.logits);
  TRY(optim_blame_observations(ops, rollout, code));
  return optim_check_matrix(ops, "rollout: critic.value[step,world]", rollout->values, k + 1, n);
}

static void set_entropy_coefficients(Sapg *sapg) {
  enum { BLOCKS_MAX = 64 };
  const int blocks = (int)sapg->config->sapg.blocks;
  float coefficient[BLOCKS_MAX];
  CORE_CHECK(blocks <= BLOCKS_MAX);
  for (int b = 0; b < blocks; b++)
    coefficient[b] = (float)sapg_entropy_coef(b, blocks, sapg->config->sapg.entropy_scale);
  core_device_to_device(sapg->agent->device, sapg->entropy_coef, coefficient, (size_t)blocks * sizeof *coefficient);
}

static int update_weights(void *state, const UpdateContext *context, UpdateStats *stats) {
  Sapg *sapg = state;
  const CoreConfig *config = sapg->config;
  const int epochs = (int)config->ppo.epochs;
  Ops *ops = context->ops;

  *stats = (UpdateStats){
    .learning_rate = *sapg->adaptive_lr.lr, .com = NAN, .epsilon = sapg->config->ppo.epsilon,
    .kl_penalty = NAN};
  set_entropy_coefficients(sapg);

  TRY(ranks_agree(check_rollout(sapg, ops, context->rollout)));
  sapg_data_collect(&sapg->data, ops, config, sapg->agent, context->rollout, context->iteration,
                    config->sapg.normalize_value ? sapg->value_moments : NULL, stats);
  core_device_begin_phase(ops->device, CORE_PHASE_MINIBATCHES);
  for (int e = 1; e <= epochs; e++) TRY(epoch(sapg, context, e, stats));
  core_device_begin_phase(ops->device, CORE_PHASE_UPDATE);

  optim_reduce_stats(stats);
  optim_average_stats(stats, (double)epochs * sapg->data.minibatches.count, context->measure);
  TRY(optim_check_parameters(ops, &sapg->agent->actor, "weight", sapg->agent->actor.theta));
  return optim_check_parameters(ops, &sapg->agent->critic, "weight", sapg->agent->critic.theta);
}

/* ---- the entry of the table -------------------------------------------------------------------------------------- */

static void add_sections(void *state, Checkpoint *checkpoint) {
  Sapg *sapg = state;
  optim_add_sections(checkpoint, &sapg->agent->actor, &sapg->actor_optimizer);
  optim_add_sections(checkpoint, &sapg->agent->critic, &sapg->critic_optimizer);
  checkpoint_add(checkpoint, RL_GAMES_LR_SECTION, sapg->adaptive_lr.lr, sizeof *sapg->adaptive_lr.lr);
  checkpoint_add(checkpoint, RL_GAMES_VALUES_SECTION, sapg->value_moments,
                 VALUE_MOMENTS * sizeof *sapg->value_moments);
}

static void get_count(const void *state, LearnerCounters *count) {
  const Sapg *sapg = state;
  *count = (LearnerCounters){sapg->actor_optimizer.t, sapg->critic_optimizer.t, 1};
}

static void set_count(void *state, const LearnerCounters *count) {
  Sapg *sapg = state;
  sapg->actor_optimizer.t = count->actor_updates;
  sapg->critic_optimizer.t = count->critic_updates;
}

const LearnerVTable sapg_learner = {.name = "sapg", .create = create, .destroy = destroy, .start = start,
                                  .update = update_weights, .add_sections = add_sections, .get_count = get_count,
                                  .set_count = set_count, .size = update_size};
