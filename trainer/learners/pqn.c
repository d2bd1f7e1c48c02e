/* PQN update: Q(lambda) targets from the rollout's greatest Q values (the maximum over actions), then epochs of
 * minibatch steps on the squared error. The run log's actor columns describe the Q network. Updates do not allocate. */
#include "trainer/learners/pqn.h"

#include <math.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/learners/optim.h"
#include "trainer/learners/epochs.h"
#include "trainer/math/estimators.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/advantage.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/reduce.h"

/* PyTorch's defaults of RAdam and of gradient clipping. */
static const double BETA1 = 0.9, BETA2 = 0.999, RADAM_EPSILON = 1e-8, NORM_EPSILON = 1e-6;

typedef struct Pqn {
  const CoreConfig *config;        /* the caller's; must outlive this */
  Agent *agent;                    /* agent whose actor is trained */
  Minibatch minibatch;
  Optimizer optimizer;
  Gradient gradient;
  float *scratch;                  /* scratch of reduce_rollout_moments; NULL with one shard */
  float *errors, *targets;         /* [steps][worlds] of this rank: lambda target - greatest Q; lambda target */
  float *doutput;                  /* [rows][actions]: gradient of the loss with respect to Q */
  double epsilon;                  /* the agent's epsilon, for checkpoints */
  CapturedUpdate captured;         /* captured updates on a device */
} Pqn;

double pqn_epsilon(const CoreConfig *config, int64_t iteration) {
  const double start = config->pqn.epsilon_start, end = config->pqn.epsilon_end;
  const double falling = config->pqn.exploration_fraction * (double)core_config_iterations(config);
  const double done = (double)(iteration - 1);
  return done < falling ? start + (end - start) * done / falling : end;
}

/* ---- one minibatch ----------------------------------------------------------------------------------------------- */

/* Adds this rank's part of the gradient of L = E[(Q(s, a) - R)^2] over minibatch m to pqn->gradient. */
static int add_gradients(void *learner, const UpdateContext *context, int m, UpdateStats *stats) {
  Pqn *pqn = learner;
  Ops *ops = context->ops;
  const Agent *agent = pqn->agent;
  const AgentNetwork *network = &agent->actor;
  Minibatch *batch = &pqn->minibatch;
  OpsValueSums sums;

  minibatch_select(batch, context->ops, context->rollout, m);
  gradient_begin(&pqn->gradient);

  while (minibatch_next(batch, ops, context->rollout, pqn->errors, pqn->targets)) {
    const float *q = agent_pass(agent, ops, network, batch->observations, batch->rows);
    ops->q_loss(ops, q, batch->actions, batch->targets, batch->rows, agent->head.logits, pqn->doutput, &sums);
    if (!isfinite(sums.loss)) return optim_diagnose_loss(ops, network, (size_t)batch->rows, "Q", sums.loss);
    agent_backward(agent, ops, network, batch->observations, batch->rows, pqn->doutput, &pqn->gradient.mean);
    gradient_add(&pqn->gradient, batch->shard, batch->rows);
    stats->value_loss += sums.loss / batch->global_rows;
  }
  return CORE_OK;
}

static int minibatch_step(void *learner, const UpdateContext *context, int m, UpdateStats *stats) {
  Pqn *pqn = learner;
  const AgentNetwork *network = &pqn->agent->actor;
  const float *gradient = pqn->gradient.mean.actor;
  double norm;
  TRY(ranks_agree(add_gradients(pqn, context, m, stats)));
  gradient_finish(&pqn->gradient, pqn->minibatch.global_rows);
  TRY(optim_gradient_norm(context->ops, network, gradient, &norm));
  optim_step(context, network, &pqn->optimizer, gradient, stats->learning_rate, norm, norm, &stats->actor);
  return CORE_OK;
}

/* ---- the iteration ----------------------------------------------------------------------------------------------- */

/* Computes R_t = r_t + gamma (1 - d_t) (lambda R_t+1 + (1 - lambda) max Q_t+1): the value target of generalized
 * advantage estimation over the values max Q. */
static int compute_targets(Pqn *pqn, Ops *ops, const Rollout *rollout, UpdateStats *stats) {
  const size_t k = (size_t)rollout->steps, n = (size_t)rollout->worlds;
  const AdvantageRule rule = {.gamma = pqn->config->pqn.gamma, .lambda = pqn->config->pqn.q_lambda,
                              .reward_scale = pqn->config->ppo.reward_scale};
  Moments error, target;
  advantage_estimate(ops, rule, rollout->rewards, rollout->values, rollout->dones, rollout_truncated(rollout),
                     rollout->limits.values, rollout->steps, rollout->worlds, pqn->errors, pqn->targets);
  reduce_rollout_moments(ops, &rollout->shards, pqn->errors, NULL, rollout->steps, pqn->scratch, &error);
  reduce_rollout_moments(ops, &rollout->shards, pqn->targets, NULL, rollout->steps, pqn->scratch, &target);
  stats->advantage_mean = error.mean;
  stats->advantage_sd = sqrt(moments_variance(&error));
  stats->explained_variance = estimators_explained_variance(&target, &error);
  TRY(optim_check_matrix(ops, "rollout: reward[step,world]", rollout->rewards, k, n));
  TRY(optim_check_matrix(ops, "rollout: greatest Q[step,world]", rollout->values, k + 1, n));
  return optim_check_matrix(ops, "rollout: target[step,world]", pqn->targets, k, n);
}

/* Returns the entropy of the epsilon-greedy policy, which is the same in every state. */
static double policy_entropy(double epsilon, int actions) {
  const double other = epsilon / actions, best = 1 - epsilon + other;
  return -best * log(best) - (other > 0 ? (actions - 1) * other * log(other) : 0);
}

static GradientStats unmeasured_gradients(void) {
  return (GradientStats){.norm_mean = NAN, .norm_max = NAN, .clipped_fraction = NAN, .step_norm = NAN};
}

/* Enqueues the loss of a minibatch; its sum stays on the device. */
static void enqueue_loss(Pqn *pqn, Ops *ops) {
  const Agent *agent = pqn->agent;
  const Minibatch *batch = &pqn->minibatch;
  const float *q = agent_pass(agent, ops, &agent->actor, batch->observations, batch->rows);
  ops->q_loss(ops, q, batch->actions, batch->targets, batch->rows, agent->head.logits, pqn->doutput, NULL);
}

static void enqueue_backward(Pqn *pqn, Ops *ops) {
  const Minibatch *batch = &pqn->minibatch;
  agent_backward(pqn->agent, ops, &pqn->agent->actor, batch->observations, batch->rows, pqn->doutput,
                 &pqn->gradient.mean);
}

static void enqueue_full(Pqn *pqn, const UpdateContext *context) {
  Ops *ops = context->ops;
  minibatch_select_current(&pqn->minibatch, ops, context->rollout, (int)pqn->config->ppo.num_minibatches);
  minibatch_next(&pqn->minibatch, ops, context->rollout, pqn->errors, pqn->targets);
  enqueue_loss(pqn, ops);
  enqueue_backward(pqn, ops);
  captured_step(&pqn->captured, ops);
}

/* Enqueues a minibatch step in micro-batches. */
static void enqueue_divided(Pqn *pqn, const UpdateContext *context) {
  Ops *ops = context->ops;
  Minibatch *batch = &pqn->minibatch;
  captured_begin_gradient(&pqn->captured, ops, &pqn->gradient, batch, context->rollout);
  for (int i = 0; i < batch->pieces; i++) {
    const bool is_last = i + 1 == batch->pieces;
    minibatch_gather_piece(batch, ops, context->rollout, i, pqn->errors, pqn->targets);
    if (is_last) gradient_expect_last(&pqn->gradient, batch->rows, batch->global_rows);
    enqueue_loss(pqn, ops);
    captured_add_sums(&pqn->captured, ops, i == 0, is_last);
    enqueue_backward(pqn, ops);
    gradient_add(&pqn->gradient, batch->shard, batch->rows);
  }
  gradient_finish(&pqn->gradient, batch->global_rows);
  captured_step(&pqn->captured, ops);
}

static void enqueue_minibatch(void *learner, const UpdateContext *context) {
  const Pqn *pqn = learner;
  (pqn->captured.plan.divided ? enqueue_divided : enqueue_full)(learner, context);
}

static void add_losses(void *learner, const OpsUpdateStats *sums, UpdateStats *stats) {
  (void)learner;
  stats->value_loss += sums->mean[OPS_STATS_VALUE];
}

/* Sets the exploration rate epsilon for the iteration after `iteration`. */
static void apply_schedule(void *state, int64_t iteration) {
  Pqn *pqn = state;
  pqn->agent->epsilon = pqn->epsilon = pqn_epsilon(pqn->config, iteration + 1);
}

static int update_weights(void *state, const UpdateContext *context, UpdateStats *stats) {
  Pqn *pqn = state;
  const CoreConfig *config = pqn->config;
  const Epochs epochs = {
    .config = config, .agent = pqn->agent, .minibatch = &pqn->minibatch, .gradient = &pqn->gradient,
    .actor = &pqn->optimizer, .captured = &pqn->captured, .learner = pqn, .step_sync = minibatch_step,
    .add_gradients = add_gradients, .enqueue = enqueue_minibatch, .add_losses = add_losses};

  const double lr = optim_lr(config, config->pqn.lr_schedule, config->pqn.learning_rate, 0, context->iteration);
  *stats = (UpdateStats){.learning_rate = lr, .critic = unmeasured_gradients(), .policy_loss = NAN,
                          .clip_fraction = NAN, .zero_grad_fraction = NAN, .joint_norm = NAN, .controller_kl = NAN,
                          .com = NAN, .epsilon = NAN, .kl_penalty = NAN};

  TRY(ranks_agree(compute_targets(pqn, context->ops, context->rollout, stats)));
  epochs_measure_noise(&epochs, context);
  TRY(epochs_run(&epochs, context, stats));

  ranks_sum(&stats->value_loss, 1);
  optim_average_stats(stats, epochs_steps(config), context->measure);
  stats->entropy = policy_entropy(pqn->agent->epsilon, pqn->agent->head.logits);
  apply_schedule(pqn, context->iteration); /* for the next rollout */
  return optim_check_parameters(context->ops, &pqn->agent->actor, "weight", pqn->agent->actor.theta);
}

/* ---- the learner's vtable ---------------------------------------------------------------------------------------- */

static int create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state) {
  if (agent->head.kind != OPS_MULTI_DISCRETE || agent->head.factors != 1)
    return core_error(CORE_USAGE, "algo.name = pqn: requires one categorical action, but env.task = %s expects "
                      "other actions; set algo.name to ppo or ppo_ewma", config->env.task);

  Pqn *pqn = *state = core_memory_zero_allocate(1, sizeof *pqn);
  *pqn = (Pqn){.config = config, .agent = agent,
               .optimizer = {.rule = OPTIMIZER_RADAM, .beta1 = BETA1, .beta2 = BETA2, .epsilon = RADAM_EPSILON,
                             .max_norm = config->pqn.max_grad_norm, .norm_epsilon = NORM_EPSILON}};
  TRY(minibatch_register(&pqn->minibatch, config, rollout, arena));
  pqn->minibatch.is_input = agent_chains_inputs(agent);
  const size_t total = (size_t)rollout->steps * (size_t)rollout->worlds, rows = (size_t)pqn->minibatch.capacity;

  gradient_register(&pqn->gradient, agent, &rollout->shards, pqn->minibatch.capacity, pqn->minibatch.pieces, arena);
  if (rollout->shards.shards > 1)
    CORE_ARENA_DEVICE(arena, pqn->scratch, 2 * (size_t)rollout->steps * (size_t)shards_worlds(&rollout->shards),
               "columns of a shard [2][steps][worlds]");
  CORE_ARENA_DEVICE(arena, pqn->optimizer.m, agent->actor.n, "Q network's first moments");
  CORE_ARENA_DEVICE(arena, pqn->optimizer.v, agent->actor.n, "Q network's second moments");
  CORE_ARENA_DEVICE(arena, pqn->errors, total, "target errors [steps][worlds]");
  CORE_ARENA_DEVICE(arena, pqn->targets, total, "Q targets [steps][worlds]");
  CORE_ARENA_DEVICE(arena, pqn->doutput, rows * (size_t)agent->head.logits, "gradient at the Q values [rows][actions]");

  captured_register(&pqn->captured, &pqn->optimizer, false, pqn->minibatch.global_rows,
                    captured_is_divided(&pqn->minibatch, &rollout->shards), epochs_steps(config), arena);
  return CORE_OK;
}

static void destroy(void *state) {
  if (state) captured_destroy(&((Pqn *)state)->captured);
  free(state);
}

static void start(void *state) {
  Pqn *pqn = state;
  optim_reset(pqn->agent->device, &pqn->optimizer, pqn->agent->actor.n);
  apply_schedule(pqn, 0);
}

static void add_sections(void *state, Checkpoint *checkpoint) {
  Pqn *pqn = state;
  optim_add_sections(checkpoint, &pqn->agent->actor, &pqn->optimizer);
  checkpoint_add(checkpoint, "epsilon", &pqn->epsilon, sizeof pqn->epsilon);
}

static void get_count(const void *state, LearnerCounters *count) {
  const Pqn *pqn = state;
  *count = (LearnerCounters){.actor_updates = pqn->optimizer.t, .proximal_weight = 1};
}

static void set_count(void *state, const LearnerCounters *count) {
  Pqn *pqn = state;
  pqn->optimizer.t = count->actor_updates;
  pqn->agent->epsilon = pqn->epsilon; /* restored from the checkpoint before this call */
}

const LearnerVTable pqn_learner = {.name = "pqn", .create = create, .destroy = destroy, .start = start,
                                 .update = update_weights, .add_sections = add_sections, .get_count = get_count,
                                 .set_count = set_count, .apply_schedule = apply_schedule};
