/* The update of PPO and PPO-EWMA, in the order of the papers: advantages (ppo_advantages.c), then epochs of
 * minibatches, each the gradients of actor and critic, a step of both and (PPO-EWMA) one of the proximal weights.
 * Arithmetic is ops'; nothing here allocates.
 *
 * epochs.c drives the minibatches in one of two ways. Either the host runs each (minibatch_step), or a device runs all
 * of them and the host only enqueues them (enqueue_minibatch). Both call actor_loss and critic_loss, with sums on the
 * host or, where the sums are NULL, in the statistics of the device.
 *
 * The buffer of an optional part of the loss is NULL where the settings leave that part out. */
#include "trainer/learners/ppo.h"

#include <inttypes.h>
#include <math.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/learners/optim.h"
#include "trainer/learners/epochs.h"
#include "trainer/learners/ppo_internal.h"
#include "trainer/ranks/ranks.h"

/* Checkpoint section names. Pinned: they are part of the file format. */
static const char PROXIMAL_SECTION[] = "proximal actor", ADVANTAGE_MOMENTS_SECTION[] = "advantage moments";

/* Registers the buffers of rl_games' optional features (rl_games.h): KL-adaptive learning rate, bounds on action means,
 * value normalization. */
static int register_rl_games(Ppo *ppo, const Rollout *rollout, CoreArena *arena) {
  const CoreConfig *config = ppo->config;
  const bool is_adaptive = strcmp(config->ppo.lr_schedule, "kl") == 0, bounds = config->ppo.bounds_coef > 0;
  const size_t total = (size_t)rollout->steps * (size_t)rollout->worlds;

  if ((is_adaptive || bounds) && ppo->agent->head.kind != OPS_GAUSSIAN)
    return core_error(CORE_USAGE, "%s: requires Gaussian actions; set env.actions to continuous and "
                      "net.action_head to gaussian", is_adaptive ? "ppo.lr_schedule = kl" : "ppo.bounds_coef");

  if (is_adaptive) {
    adaptive_lr_register(&ppo->adaptive_lr, config->ppo.kl_threshold, &rollout->shards, arena);
    CORE_ARENA_DEVICE(arena, ppo->old_logits, total * (size_t)ppo->agent->head.logits,
                      "last policy [steps][worlds][logits]");
  }
  if (bounds) {
    CORE_ARENA_DEVICE(arena, ppo->zero_block_ids, (size_t)ppo->minibatch.capacity, "zeros [rows]");
    CORE_ARENA_DEVICE(arena, ppo->zero_entropy_coef, 1, "zero");
  }

  if (!config->ppo.normalize_value) return CORE_OK;
  CORE_ARENA(arena, ppo->value_moments, VALUE_MOMENTS, "moments of values");
  CORE_ARENA_DEVICE(arena, ppo->values, total + (size_t)rollout->worlds, "values [steps + 1][worlds]");
  return CORE_OK;
}

static int create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state) {
  Ppo *ppo = *state = core_memory_zero_allocate(1, sizeof *ppo);
  *ppo = (Ppo){.config = config, .agent = agent, .rollout = rollout, .penalty = kl_penalty_create(config),
               .ewma = strcmp(config->algo.name, "ppo_ewma") == 0,
               .actor_optimizer = optim_create(config), .critic_optimizer = optim_create(config)};

  TRY(ddr_control_create(config, &ppo->ddr));
  TRY(minibatch_register(&ppo->minibatch, config, rollout, arena));
  ppo->minibatch.is_input = agent_chains_inputs(agent);
  size_t total = (size_t)rollout->steps * (size_t)rollout->worlds;
  size_t rows = (size_t)ppo->minibatch.capacity, logits = (size_t)agent->head.logits;

  CORE_ARENA_DEVICE(arena, ppo->advantages, total, "advantages [steps][worlds]");
  CORE_ARENA_DEVICE(arena, ppo->targets, total, "value targets [steps][worlds]");
  CORE_ARENA_DEVICE(arena, ppo->actor_optimizer.m, agent->actor.n, "actor first moments");
  CORE_ARENA_DEVICE(arena, ppo->actor_optimizer.v, agent->actor.n, "actor second moments");
  CORE_ARENA_DEVICE(arena, ppo->critic_optimizer.m, agent->critic.n, "critic first moments");
  CORE_ARENA_DEVICE(arena, ppo->critic_optimizer.v, agent->critic.n, "critic second moments");
  CORE_ARENA_DEVICE(arena, ppo->logp, rows, "log-probabilities [rows]");
  CORE_ARENA_DEVICE(arena, ppo->doutput, rows * logits, "gradient at the output [rows][logits]");
  CORE_ARENA_DEVICE(arena, ppo->dvalue, rows, "gradient at the values [rows]");

  TRY(register_rl_games(ppo, rollout, arena));
  gradient_register(&ppo->gradient, agent, &rollout->shards, (int)rows, ppo->minibatch.pieces, arena);
  if (rollout->shards.shards > 1)
    CORE_ARENA_DEVICE(arena, ppo->moments_scratch, 2 * (size_t)rollout->steps * (size_t)shards_worlds(&rollout->shards),
                      "columns of a shard [2][steps][worlds]");
  if (agent->head.kind == OPS_TANH_AFFINE)
    CORE_ARENA_DEVICE(arena, ppo->noise, rows * (size_t)agent->head.factors, "noise of entropies [rows][factors]");
  if (config->ppo.ratio_cap > 0)
    CORE_ARENA_DEVICE(arena, ppo->capped_logp, rows, "behavior log-probabilities, capped [rows]");

  TRY(ppo_penalty_register(ppo, arena));
  early_stop_register(&ppo->early_stop, config, &rollout->shards, arena);
  captured_register(&ppo->captured, &ppo->actor_optimizer, agent->sharing != AGENT_SEPARATE,
                    ppo->minibatch.global_rows, captured_is_divided(&ppo->minibatch, &rollout->shards),
                    epochs_steps(config), arena);
  ppo->captured.plan.k3_limit = early_stop_k3_limit(&ppo->early_stop);
  if (strcmp(config->ppo.normalize_advantage, "ewma") == 0)
    CORE_ARENA(arena, ppo->advantage_moments, 1, "running moments of advantages");

  if (!ppo->ewma) return CORE_OK;
  ppo->proximal.rule = strcmp(config->ppo.ewma_rule, "plain") == 0 ? PROXIMAL_PLAIN : PROXIMAL_BIAS_CORRECTED;
  CORE_ARENA_DEVICE(arena, ppo->proximal.theta, agent->actor.n, "proximal actor weights");
  CORE_ARENA_DEVICE(arena, ppo->proximal_logits, rows * logits, "proximal logits [rows][logits]");
  CORE_ARENA_DEVICE(arena, ppo->proximal_logp, rows, "proximal log-probabilities [rows]");
  return CORE_OK;
}

static void reset_proximal(Ppo *ppo) {
  const AgentNetwork *actor = &ppo->agent->actor;
  ppo->proximal.weight = 1;
  if (ppo->ewma)
    core_device_copy(ppo->agent->device, ppo->proximal.theta, actor->theta, actor->n * sizeof *actor->theta);
}

static void reset_lr(Ppo *ppo) {
  if (adaptive_lr_is_on(&ppo->adaptive_lr)) *ppo->adaptive_lr.lr = ppo->config->ppo.learning_rate;
}

static void start(void *state) {
  Ppo *ppo = state;
  ddr_control_start(&ppo->ddr);
  optim_reset(ppo->agent->device, &ppo->actor_optimizer, ppo->agent->actor.n);
  optim_reset(ppo->agent->device, &ppo->critic_optimizer, ppo->agent->critic.n);
  if (ppo->advantage_moments) *ppo->advantage_moments = (Moments){0};
  reset_lr(ppo);
  kl_penalty_start(&ppo->penalty);
  value_moments_start(ppo->value_moments);
  reset_proximal(ppo);
}

double ppo_learning_rate(const CoreConfig *config, int64_t iteration) {
  return optim_lr(config, config->ppo.lr_schedule, config->ppo.learning_rate, config->ppo.lr_warmup, iteration);
}

/* ---- one minibatch ----------------------------------------------------------------------------------------------- */

/* Counts the samples of the micro-batch whose policy gradient is zero because the ratio is clipped. */
static double count_zero_grad(Ppo *ppo, Ops *ops, const float *logits) {
  const Minibatch *batch = &ppo->minibatch;
  ops->policy_logp(ops, &ppo->agent->head, logits, batch->actions, ppo->logp, batch->rows);
  return optim_count_zero_grad(ops, ppo->logp, ppo_ref_logp(ppo), batch->advantages, batch->rows,
                               ddr_control_epsilon(&ppo->ddr));
}

/* Draws the noise of sample_entropy, keyed by the number of the update. */
static void draw_noise(Ppo *ppo, Ops *ops) {
  const Minibatch *batch = &ppo->minibatch;
  const uint64_t seed = (uint64_t)ppo->config->train.seed, update = (uint64_t)ppo->actor_optimizer.t;
  if (ppo->noise)
    ops->normal_rows(ops, seed ^ (update & 0xffffffff00000000u), CORE_RANDOM_ENTROPY, batch->index, (uint32_t)update,
                     batch->rows, ppo->agent->head.factors, ppo->noise);
}

/* Enqueues the same for a captured step, which reads the number of the update on the device. */
static void enqueue_noise(Ppo *ppo, Ops *ops) {
  const Minibatch *batch = &ppo->minibatch;
  const uint64_t seed = (uint64_t)ppo->config->train.seed;
  if (ppo->noise)
    ops->update->normal_rows(ops, seed, CORE_RANDOM_ENTROPY, batch->index, batch->rows, ppo->agent->head.factors,
                             ppo->noise);
}

/* Estimates the entropy of a tanh-Gaussian from one fresh sample per state and minibatch, and adds its gradient to the
 * loss's. */
static void sample_entropy(Ppo *ppo, Ops *ops, const float *logits, double *sum) {
  if (ppo->noise)
    ops->policy_sampled_entropy(ops, &ppo->agent->head, logits, ppo->noise, ppo->minibatch.rows,
                                ppo->config->ppo.entropy_coef, ppo->doutput, sum);
}

/* Applies openai/ppo-ewma's cap on the importance ratio (its ppo.py, imp_samp_max): raises the behavior log-prob, as a
 * constant, until the ratio is at most ppo.ratio_cap. ppo->logp must hold the current policy's log-probs. */
static const float *cap_behavior(Ppo *ppo, Ops *ops) {
  const Minibatch *batch = &ppo->minibatch;
  if (ppo->capped_logp == NULL) return batch->logp;
  ops->cap(ops, batch->logp, ppo->logp, log(ppo->config->ppo.ratio_cap), (size_t)batch->rows, ppo->capped_logp);
  return ppo->capped_logp;
}

/* Sums of the actor's loss over the rows of a micro-batch. */
typedef struct ActorSums {
  OpsPolicySums policy;
  OpsGaussianSums regular;
  double sampled_entropy, kl_penalty, kl; /* kl_penalty: 0.5 (logp - logp_ref)^2, or the exact KL */
} ActorSums;

/* Destinations of those sums on the host; all NULL: the sums stay in the statistics of the device. */
typedef struct ActorSumsOut {
  OpsPolicySums *policy;
  OpsGaussianSums *regular;
  double *sampled_entropy, *kl_penalty, *kl;
} ActorSumsOut;

/* Computes the log-probs of the proximal policy (PPO-EWMA); NULL: there is none. Must precede the actor's own pass,
 * whose activations the backward pass needs. */
static const float *proximal_pass(Ppo *ppo, Ops *ops) {
  const Minibatch *batch = &ppo->minibatch;
  if (!ppo->ewma) return NULL;
  agent_policy(ppo->agent, ops, ppo->proximal.theta, batch->observations, batch->rows, ppo->proximal_logits);
  ops->policy_logp(ops, &ppo->agent->head, ppo->proximal_logits, batch->actions, ppo->proximal_logp, batch->rows);
  return ppo->proximal_logp;
}

/* Computes the gradient of the actor's loss into ppo->doutput and returns the logits. PPO: L = E[min(r A,
 * clip(r, 1-eps, 1+eps) A)] + c H with r = pi/pi_b; PPO-EWMA: E[w min(r_p A, clip(r_p) A)] with r_p = pi/pi_p and
 * w = pi_p/pi_b. The caller has drawn the noise. is_to_loss: the caller computes nothing between this and
 * actor_backward, and nothing but the clipped loss uses the logits (agent_pass_to_loss). */
static const float *actor_loss(Ppo *ppo, Ops *ops, const ActorSumsOut *sums, bool is_to_loss) {
  const CoreConfig *config = ppo->config;
  const Minibatch *batch = &ppo->minibatch;
  const OpsHead *head = &ppo->agent->head;

  minibatch_bind_sequences(batch, ppo->agent);
  const float *proximal_logp = proximal_pass(ppo, ops);
  const float *logits = (is_to_loss ? agent_pass_to_loss : agent_pass)(ppo->agent, ops, &ppo->agent->actor,
                                                                       batch->observations, batch->rows);
  if (ppo->capped_logp || ppo->kl_penalty_weights)
    ops->policy_logp(ops, head, logits, batch->actions, ppo->logp, batch->rows);
  ppo_penalty_before_loss(ppo, ops, logits, sums->policy, sums->kl_penalty);

  ops->policy_loss(ops, head, logits, batch->actions, cap_behavior(ppo, ops), proximal_logp, batch->advantages,
                   batch->rows, ddr_control_epsilon(&ppo->ddr), config->ppo.entropy_coef, ppo->doutput, sums->policy);
  ppo_penalty_after_loss(ppo, ops, logits, sums->kl_penalty);
  sample_entropy(ppo, ops, logits, sums->sampled_entropy);

  if (ppo->zero_block_ids)
    ops->gaussian_regularize(ops, head, logits, ppo->zero_block_ids, ppo->zero_entropy_coef, RL_GAMES_BOUND,
                             config->ppo.bounds_coef, batch->rows, ppo->doutput, sums->regular);
  if (ppo->old_logits)
    ops->controller_kl(ops, head, logits, batch->own_index, batch->rows, ppo->old_logits, sums->kl);
  return logits;
}

static void actor_backward(Ppo *ppo, Ops *ops) {
  const Minibatch *batch = &ppo->minibatch;
  agent_backward(ppo->agent, ops, &ppo->agent->actor, batch->observations, batch->rows, ppo->doutput,
                 &ppo->gradient.mean);
}

/* Adds the actor's part of a micro-batch to gradient and statistics. */
static int actor_gradient(Ppo *ppo, const UpdateContext *context, UpdateStats *stats) {
  const Minibatch *batch = &ppo->minibatch;
  ActorSums sums = {0};
  const ActorSumsOut out = {&sums.policy, &sums.regular, &sums.sampled_entropy, &sums.kl_penalty, &sums.kl};

  draw_noise(ppo, context->ops);
  const float *logits = actor_loss(ppo, context->ops, &out, false);
  const double loss = sums.policy.loss + ppo->penalty.coefficient * sums.kl_penalty;
  const double entropy = sums.policy.entropy + sums.sampled_entropy;
  if (!isfinite(loss) || !isfinite(entropy) || !isfinite(sums.regular.bounds))
    return optim_diagnose_loss(context->ops, &ppo->agent->actor, (size_t)batch->rows, "policy", loss);

  stats->policy_loss += loss / batch->global_rows;
  stats->entropy += entropy / batch->global_rows;
  stats->clip_fraction += sums.policy.clipped / batch->global_rows;
  early_stop_add(&ppo->early_stop, batch->shard, sums.policy.k3);
  if (context->measure) stats->zero_grad_fraction += count_zero_grad(ppo, context->ops, logits) / batch->global_rows;
  if (adaptive_lr_is_on(&ppo->adaptive_lr)) ppo->adaptive_lr.kl[batch->shard] += sums.kl / batch->global_rows;

  actor_backward(ppo, context->ops);
  return CORE_OK;
}

/* Computes the gradient of the critic's loss into ppo->dvalue: L = c_v 0.5 E[max((V - T)^2, (V_b + clip(V - V_b, -eps,
 * eps) - T)^2)]. sums NULL and is_to_loss as in actor_loss. */
static void critic_loss(Ppo *ppo, Ops *ops, OpsValueSums *sums, bool is_to_loss) {
  const CoreConfig *config = ppo->config;
  const Minibatch *batch = &ppo->minibatch;
  const float *values = (is_to_loss ? agent_pass_to_loss : agent_pass)(ppo->agent, ops, &ppo->agent->critic,
                                                                       batch->observations, batch->rows);
  ops->value_loss(ops, values, batch->values, batch->targets, batch->rows, config->ppo.clip_value,
                  ddr_control_epsilon(&ppo->ddr), config->ppo.value_coef, ppo->dvalue, sums);
}

static void critic_backward(Ppo *ppo, Ops *ops) {
  const Minibatch *batch = &ppo->minibatch;
  agent_backward(ppo->agent, ops, &ppo->agent->critic, batch->observations, batch->rows, ppo->dvalue,
                 &ppo->gradient.mean);
}

static int critic_gradient(Ppo *ppo, const UpdateContext *context, UpdateStats *stats) {
  const Minibatch *batch = &ppo->minibatch;
  OpsValueSums sums;
  critic_loss(ppo, context->ops, &sums, false);
  if (!isfinite(sums.loss))
    return optim_diagnose_loss(context->ops, &ppo->agent->critic, (size_t)batch->rows, "value", sums.loss);
  stats->value_loss += sums.loss / batch->global_rows;
  critic_backward(ppo, context->ops);
  return CORE_OK;
}

/* Returns how each minibatch's advantages are normalized. */
static AdvantageNorm minibatch_norm(const CoreConfig *config) {
  const char *by = config->ppo.normalize_advantage;
  if (strcmp(by, "minibatch") == 0) return ADVANTAGE_KINETIX_MINIBATCH;
  return strcmp(by, "minibatch_unbiased") == 0 ? ADVANTAGE_CLEANRL_MINIBATCH : ADVANTAGE_RAW;
}

/* Computes this rank's part of the gradients of minibatch m. */
static int add_gradients(void *learner, const UpdateContext *context, int m, UpdateStats *stats) {
  Ppo *ppo = learner;
  const AdvantageNorm norm = minibatch_norm(ppo->config);
  Ops *ops = context->ops;
  Minibatch *batch = &ppo->minibatch;
  Moments moments = {0};

  minibatch_select(batch, context->ops, context->rollout, m);
  if (norm != ADVANTAGE_RAW) minibatch_advantage_moments(batch, ops, context->rollout, ppo->advantages, &moments);
  gradient_begin(&ppo->gradient);

  while (minibatch_next(batch, ops, context->rollout, ppo->advantages, ppo->targets)) {
    advantage_normalize_by(ops, norm, &moments, batch->advantages, (size_t)batch->rows);
    if (minibatch_is_last(batch, context->rollout))
      gradient_expect_last(&ppo->gradient, batch->rows, batch->global_rows);
    TRY(actor_gradient(ppo, context, stats));
    TRY(critic_gradient(ppo, context, stats));
    gradient_add(&ppo->gradient, batch->shard, batch->rows);
  }
  return CORE_OK;
}

/* Takes the step of minibatch m, unless early stopping leaves it out, then with its statistics. */
static int minibatch_step(void *learner, const UpdateContext *context, int m, UpdateStats *stats) {
  Ppo *ppo = learner;
  const UpdateStats before = *stats;
  const double lr = adaptive_lr_is_on(&ppo->adaptive_lr) ? *ppo->adaptive_lr.lr : stats->learning_rate;

  early_stop_begin_minibatch(&ppo->early_stop);
  TRY(ranks_agree(add_gradients(ppo, context, m, stats)));
  if (!early_stop_allows(&ppo->early_stop, ppo->minibatch.global_rows)) {
    *stats = before;
    return CORE_OK;
  }

  gradient_finish(&ppo->gradient, ppo->minibatch.global_rows);
  TRY(optim_step_both(context, ppo->agent, &ppo->gradient.mean, &ppo->actor_optimizer, &ppo->critic_optimizer, lr,
                      stats));
  if (ppo->ewma) proximal_update(context->ops, &ppo->proximal, ppo->agent->actor.theta, ppo->agent->actor.n);
  return CORE_OK;
}

/* ---- captured steps ---------------------------------------------------------------------------------------------- */

/* Whether actor and critic may run on separate streams. Not with several GPUs: there the critic's backward pass
 * overlaps the all-reduce of the actor's gradient. */
static bool can_overlap(const Ppo *ppo, const Ops *ops) {
  return ops->stream_push && agent_is_apart(ppo->agent) && ppo->agent->communicator == NULL;
}

/* Whether nothing but the clipped loss uses the logits: no penalty, cap, bound, noise or measurement. */
static bool is_plain_loss(const Ppo *ppo, const UpdateContext *context) {
  return !context->measure && !ppo->capped_logp && ppo->config->ppo.kl_penalty == 0 && !ppo->noise &&
         !ppo->zero_block_ids && !ppo->old_logits;
}

static void enqueue_actor(Ppo *ppo, const UpdateContext *context) {
  Ops *ops = context->ops;
  const Minibatch *batch = &ppo->minibatch;
  enqueue_noise(ppo, ops);
  const float *logits = actor_loss(ppo, ops, &(ActorSumsOut){0}, is_plain_loss(ppo, context));
  if (context->measure)
    ops->update->count_zero_grad(ops, &ppo->agent->head, logits, batch->actions, ppo_ref_logp(ppo), batch->advantages,
                                 batch->rows, ddr_control_epsilon(&ppo->ddr));
  actor_backward(ppo, ops);
}

/* Enqueues a minibatch step on the device. Never synchronizes with the host. */
static void enqueue_full(Ppo *ppo, const UpdateContext *context) {
  Ops *ops = context->ops;
  Minibatch *batch = &ppo->minibatch;
  const bool overlaps = can_overlap(ppo, ops);

  minibatch_select_current(batch, ops, context->rollout, (int)ppo->config->ppo.num_minibatches);
  minibatch_next(batch, ops, context->rollout, ppo->advantages, ppo->targets);

  if (overlaps) ops->stream_push(ops);
  advantage_normalize_minibatch(ops, minibatch_norm(ppo->config), batch->advantages, (size_t)batch->rows);
  enqueue_actor(ppo, context);
  if (overlaps) ops->stream_pop(ops);

  critic_loss(ppo, ops, NULL, true);
  critic_backward(ppo, ops);
  if (overlaps) ops->stream_wait(ops);

  captured_step(&ppo->captured, ops);
}

/* Enqueues a minibatch step in micro-batches: one per shard, or pieces of a large minibatch. */
static void enqueue_divided(Ppo *ppo, const UpdateContext *context) {
  const AdvantageNorm norm = minibatch_norm(ppo->config);
  Ops *ops = context->ops;
  Minibatch *batch = &ppo->minibatch;
  const bool overlaps = can_overlap(ppo, ops);
  size_t records = 0;

  captured_begin_gradient(&ppo->captured, ops, &ppo->gradient, batch, context->rollout);
  if (norm != ADVANTAGE_RAW)
    records = minibatch_gather_moments(batch, ops, context->rollout, ppo->advantages, ppo->agent->communicator);

  for (int i = 0; i < batch->pieces; i++) {
    const bool is_last = i + 1 == batch->pieces;
    minibatch_gather_piece(batch, ops, context->rollout, i, ppo->advantages, ppo->targets);
    if (overlaps) ops->stream_push(ops);
    if (norm != ADVANTAGE_RAW)
      ops->update->normalize_by(ops, batch->advantages, (size_t)batch->rows, batch->global_records, records,
                                norm == ADVANTAGE_CLEANRL_MINIBATCH);
    if (is_last) gradient_expect_last(&ppo->gradient, batch->rows, batch->global_rows);
    enqueue_actor(ppo, context);
    if (overlaps) ops->stream_pop(ops);
    critic_loss(ppo, ops, NULL, overlaps); /* else its sums are added before critic_backward */
    if (!overlaps) captured_add_sums(&ppo->captured, ops, i == 0, is_last); /* overlaps the all-reduce */
    critic_backward(ppo, ops);

    if (overlaps) {
      ops->stream_wait(ops);
      captured_add_sums(&ppo->captured, ops, i == 0, is_last);
    }
    gradient_add(&ppo->gradient, batch->shard, batch->rows);
  }

  gradient_finish(&ppo->gradient, batch->global_rows);
  captured_step(&ppo->captured, ops);
}

static void enqueue_minibatch(void *learner, const UpdateContext *context) {
  Ppo *ppo = learner;
  if (ppo->captured.plan.divided) enqueue_divided(ppo, context);
  else enqueue_full(ppo, context);
}

static void add_losses(void *learner, const OpsUpdateStats *sums, UpdateStats *stats) {
  const Ppo *ppo = learner;
  stats->policy_loss +=
    sums->mean[OPS_STATS_POLICY] + ppo->penalty.coefficient * sums->mean[OPS_STATS_KL_PENALTY];
  stats->entropy += sums->mean[OPS_STATS_ENTROPY] + sums->mean[OPS_STATS_SAMPLED_ENTROPY];
  stats->clip_fraction += sums->mean[OPS_STATS_CLIPPED];
  stats->value_loss += sums->mean[OPS_STATS_VALUE];
  stats->zero_grad_fraction += sums->mean[OPS_STATS_ZERO_GRAD];
  if (adaptive_lr_is_on(&ppo->adaptive_lr))
    stats->controller_kl = sums->mean[OPS_STATS_CONTROLLER] / (double)ppo->config->ppo.num_minibatches;
}

/* ---- the iteration ----------------------------------------------------------------------------------------------- */

static Epochs make_epochs(Ppo *ppo) {
  return (Epochs){.config = ppo->config,
                  .agent = ppo->agent,
                  .minibatch = &ppo->minibatch,
                  .gradient = &ppo->gradient,
                  .actor = &ppo->actor_optimizer,
                  .critic = &ppo->critic_optimizer,
                  .proximal = ppo->ewma ? &ppo->proximal : NULL,
                  .captured = &ppo->captured,
                  .adaptive_lr = adaptive_lr_is_on(&ppo->adaptive_lr) ? &ppo->adaptive_lr : NULL,
                  .early_stop = &ppo->early_stop,
                  .learner = ppo,
                  .step_sync = minibatch_step,
                  .add_gradients = add_gradients,
                  .enqueue = enqueue_minibatch,
                  .add_losses = add_losses};
}

static int update_weights(void *state, const UpdateContext *context, UpdateStats *stats) {
  Ppo *ppo = state;
  const CoreConfig *config = ppo->config;
  const Epochs epochs = make_epochs(ppo);
  Ops *ops = context->ops;
  const int64_t earlier_steps = ppo->actor_optimizer.t;
  const bool is_adaptive = adaptive_lr_is_on(&ppo->adaptive_lr);

  ppo->proximal.com = ddr_control_com(&ppo->ddr);
  *stats = (UpdateStats){.controller_kl = NAN, .com = ppo->ewma ? ppo->proximal.com : NAN,
                         .epsilon = ddr_control_epsilon(&ppo->ddr),
                         .kl_penalty = config->ppo.kl_penalty > 0 ? ppo->penalty.coefficient : NAN,
                         .learning_rate = is_adaptive ? *ppo->adaptive_lr.lr
                                                      : ppo_learning_rate(config, context->iteration)};

  ppo_compute_advantages(ppo, ops, context->rollout, stats);
  TRY(ranks_agree(ppo_check_rollout(ppo, ops, context->rollout)));

  epochs_measure_noise(&epochs, context);
  if (is_adaptive) /* the first epoch's KL compares with the policies that acted */
    core_device_copy(ops->device, ppo->old_logits, context->rollout->logits,
                     (size_t)context->rollout->steps * (size_t)context->rollout->worlds *
                     (size_t)context->rollout->head.logits * sizeof *ppo->old_logits);

  early_stop_begin(&ppo->early_stop);
  TRY(epochs_run(&epochs, context, stats));

  optim_reduce_stats(stats);
  optim_average_stats(stats, (double)(ppo->actor_optimizer.t - earlier_steps), context->measure);
  TRY(optim_check_parameters(ops, &ppo->agent->actor, "weight", ppo->agent->actor.theta));
  return optim_check_parameters(ops, &ppo->agent->critic, "weight", ppo->agent->critic.theta);
}

/* ---- the entries of the table ------------------------------------------------------------------------------------ */

static void destroy(void *state) {
  if (state) captured_destroy(&((Ppo *)state)->captured);
  free(state);
}

static void add_sections(void *state, Checkpoint *checkpoint) {
  Ppo *ppo = state;
  AgentNetwork *actor = &ppo->agent->actor;
  optim_add_sections(checkpoint, actor, &ppo->actor_optimizer);
  optim_add_sections(checkpoint, &ppo->agent->critic, &ppo->critic_optimizer);
  if (adaptive_lr_is_on(&ppo->adaptive_lr))
    checkpoint_add(checkpoint, RL_GAMES_LR_SECTION, ppo->adaptive_lr.lr, sizeof *ppo->adaptive_lr.lr);
  if (ppo->value_moments)
    checkpoint_add(checkpoint, RL_GAMES_VALUES_SECTION, ppo->value_moments, VALUE_MOMENTS * sizeof *ppo->value_moments);
  if (ddr_control_is_on(&ppo->ddr))
    checkpoint_add(checkpoint, DDR_CONTROL_SECTION, &ppo->ddr.value, sizeof ppo->ddr.value);
  if (kl_penalty_is_adaptive(&ppo->penalty))
    checkpoint_add(checkpoint, KL_PENALTY_SECTION, &ppo->penalty.coefficient, sizeof ppo->penalty.coefficient);
  if (ppo->advantage_moments)
    checkpoint_add(checkpoint, ADVANTAGE_MOMENTS_SECTION, ppo->advantage_moments, sizeof *ppo->advantage_moments);
  if (ppo->ewma) checkpoint_add(checkpoint, PROXIMAL_SECTION, ppo->proximal.theta, actor->n * sizeof *actor->theta);
}

static void get_count(const void *state, LearnerCounters *count) {
  const Ppo *ppo = state;
  *count = (LearnerCounters){ppo->actor_optimizer.t, ppo->critic_optimizer.t, ppo->proximal.weight};
}

static void set_count(void *state, const LearnerCounters *count) {
  Ppo *ppo = state;
  ppo->actor_optimizer.t = count->actor_updates;
  ppo->critic_optimizer.t = count->critic_updates;
  ppo->proximal.weight = count->proximal_weight;
}

/* Initializes sections that PPO's checkpoints lack: the proximal weights start at the current weights; all others, as
 * an adaptive learning rate or a controlled COM, at their initial values. */
static bool init_missing_section(void *state, const char *section) {
  Ppo *ppo = state;
  if (strcmp(section, ADVANTAGE_MOMENTS_SECTION) == 0) *ppo->advantage_moments = (Moments){0};
  else if (strcmp(section, PROXIMAL_SECTION) == 0) reset_proximal(ppo);
  else if (strcmp(section, RL_GAMES_LR_SECTION) == 0) reset_lr(ppo);
  else if (strcmp(section, DDR_CONTROL_SECTION) == 0) ddr_control_start(&ppo->ddr);
  else if (strcmp(section, KL_PENALTY_SECTION) == 0) kl_penalty_start(&ppo->penalty);
  else if (strcmp(section, RL_GAMES_VALUES_SECTION) == 0) value_moments_start(ppo->value_moments);
  else return false;
  return true;
}

/* Clamps the controlled value. The learning rate follows the iteration by itself (ppo_learning_rate). */
static void apply_schedule(void *state, int64_t iteration) {
  Ppo *ppo = state;
  (void)iteration;
  ddr_control_bound(&ppo->ddr);
}

/* Captured graphs hold epsilon and the penalty's coefficient by value, so a change invalidates them. */
static void on_iteration_end(void *state, double transitions, double kl, double ddr) {
  Ppo *ppo = state;
  const double epsilon = ddr_control_epsilon(&ppo->ddr), coefficient = ppo->penalty.coefficient;
  ddr_control_update(&ppo->ddr, transitions, ddr);
  kl_penalty_update(&ppo->penalty, kl);
  if (ddr_control_epsilon(&ppo->ddr) != epsilon || ppo->penalty.coefficient != coefficient)
    captured_invalidate(&ppo->captured);
}

#define ENTRY(learner) \
  {.name = learner, .create = create, .destroy = destroy, .start = start, .update = update_weights, \
   .on_iteration_end = on_iteration_end, .add_sections = add_sections, .get_count = get_count, \
   .set_count = set_count, .init_missing_section = init_missing_section, .apply_schedule = apply_schedule}
const LearnerVTable ppo_learner = ENTRY("ppo"), ppo_ewma_learner = ENTRY("ppo_ewma");
#undef ENTRY

Ppo *learner_as_ppo(const Learner *learner) {
  CORE_CHECK(learner->kind == &ppo_learner || learner->kind == &ppo_ewma_learner);
  return learner->state;
}
