/* The update of PQN: targets from the rollout's greatest Q values, then epochs of minibatches of squared errors. What
 * the run log has for an actor is here the Q network's; nothing here allocates. */
#include "trainer/learners/pqn.h"

#include <math.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/learners/descent.h"
#include "trainer/learners/epochs.h"
#include "trainer/math/estimators.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/advantage.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/reduce.h"

/* Of RAdam and of the clip, PyTorch's defaults. */
static const double BETA1 = 0.9, BETA2 = 0.999, RADAM_EPSILON = 1e-8, NORM_EPSILON = 1e-6;

typedef struct Pqn {
  const CoreConfig *config;        /* the caller's; must outlive this */
  Agent *agent;                    /* whose actor is learnt */
  Minibatch minibatch;
  Optimizer optimizer;
  Gradient gradient;
  float *scratch;                  /* of reduce_rollout_moments; NULL where it needs none */
  float *errors, *targets;         /* [steps][worlds] of this rank: lambda target - greatest Q; lambda target */
  float *doutput;                  /* [rows][actions]: gradient at the Q values */
  double epsilon;                  /* of the agent, for checkpoints */
  RecordedUpdate recorded;                     /* of updates on a device */
} Pqn;

double pqn_epsilon(const CoreConfig *config, int64_t iteration) {
  const double start = config->pqn.epsilon_start, end = config->pqn.epsilon_end;
  const double falling = config->pqn.exploration_fraction * (double)core_config_iterations(config);
  const double done = (double)(iteration - 1);
  return done < falling ? start + (end - start) * done / falling : end;
}

/* ---- one minibatch ----------------------------------------------------------------------------------------------- */

/* L = E[(Q(s, a) - R)^2]: this rank's part of its gradient over minibatch m. */
static int add_gradients(Pqn *pqn, const LearnerStep *step, int m, LearnerUpdate *update) {
  Ops *ops = step->ops;
  const Agent *agent = pqn->agent;
  const AgentNetwork *network = &agent->actor;
  Minibatch *batch = &pqn->minibatch;
  OpsValueSums sums;
  minibatch_select(batch, step->ops, step->rollout, m);
  gradient_begin(&pqn->gradient);
  while (minibatch_next(batch, ops, step->rollout, pqn->errors, pqn->targets)) {
    const float *q = agent_pass(agent, ops, network, batch->observations, batch->rows);
    ops->q_loss(ops, q, batch->actions, batch->targets, batch->rows, agent->head.logits, pqn->doutput, &sums);
    if (!isfinite(sums.loss)) return descent_explain_loss(ops, network, (size_t)batch->rows, "Q", sums.loss);
    agent_backward(agent, ops, network, batch->observations, batch->rows, pqn->doutput, &pqn->gradient.mean);
    gradient_add(&pqn->gradient, batch->shard, batch->rows);
    update->value_loss += sums.loss / batch->all_rows;
  }
  return CORE_OK;
}

static int minibatch_step(void *learner, const LearnerStep *step, int m, LearnerUpdate *update) {
  Pqn *pqn = learner;
  const AgentNetwork *network = &pqn->agent->actor;
  const float *gradient = pqn->gradient.mean.actor;
  double norm;
  TRY(ranks_agree(add_gradients(pqn, step, m, update)));
  gradient_finish(&pqn->gradient, pqn->minibatch.all_rows);
  TRY(descent_norm(step->ops, network, gradient, &norm));
  descent_step(step, network, &pqn->optimizer, gradient, update->learning_rate, norm, norm, &update->actor);
  return CORE_OK;
}

/* ---- the iteration ----------------------------------------------------------------------------------------------- */

/* R_t = r_t + gamma (1 - d_t) (lambda R_t+1 + (1 - lambda) max Q_t+1) is the value target of generalised advantage
 * estimation over the values max Q. */
static int estimate_targets(Pqn *pqn, Ops *ops, const Rollout *rollout, LearnerUpdate *update) {
  const size_t k = (size_t)rollout->steps, n = (size_t)rollout->worlds;
  const AdvantageRule rule = {.gamma = pqn->config->pqn.gamma, .lambda = pqn->config->pqn.q_lambda,
                              .reward_scale = pqn->config->ppo.reward_scale};
  Moments error, target;
  advantage_estimate(ops, rule, rollout->rewards, rollout->values, rollout->dones, rollout_truncated(rollout),
                     rollout->limits.values, rollout->steps, rollout->worlds, pqn->errors, pqn->targets);
  reduce_rollout_moments(ops, &rollout->shards, pqn->errors, NULL, rollout->steps, pqn->scratch, &error);
  reduce_rollout_moments(ops, &rollout->shards, pqn->targets, NULL, rollout->steps, pqn->scratch, &target);
  update->advantage_mean = error.mean;
  update->advantage_sd = sqrt(moments_variance(&error));
  update->explained_variance = estimators_explained_variance(&target, &error);
  TRY(descent_check_matrix(ops, "rollout: reward[step,world]", rollout->rewards, k, n));
  TRY(descent_check_matrix(ops, "rollout: greatest Q[step,world]", rollout->values, k + 1, n));
  return descent_check_matrix(ops, "rollout: target[step,world]", pqn->targets, k, n);
}

/* Of the policy, the same in every state. */
static double entropy_of(double epsilon, int actions) {
  const double other = epsilon / actions, best = 1 - epsilon + other;
  return -best * log(best) - (other > 0 ? (actions - 1) * other * log(other) : 0);
}

static LearnerGradients unmeasured(void) {
  return (LearnerGradients){.norm_mean = NAN, .norm_max = NAN, .clipped_fraction = NAN, .step_norm = NAN};
}

/* As minibatch_step, but that nothing comes to the host. */
static void record_loss(Pqn *pqn, Ops *ops) {
  const Agent *agent = pqn->agent;
  const Minibatch *batch = &pqn->minibatch;
  const float *q = agent_pass(agent, ops, &agent->actor, batch->observations, batch->rows);
  ops->q_loss(ops, q, batch->actions, batch->targets, batch->rows, agent->head.logits, pqn->doutput, NULL);
}

static void record_backward(Pqn *pqn, Ops *ops) {
  const Minibatch *batch = &pqn->minibatch;
  agent_backward(pqn->agent, ops, &pqn->agent->actor, batch->observations, batch->rows, pqn->doutput,
                 &pqn->gradient.mean);
}

static void record_whole(Pqn *pqn, const LearnerStep *step) {
  Ops *ops = step->ops;
  minibatch_take(&pqn->minibatch, ops, step->rollout, (int)pqn->config->ppo.num_minibatches);
  minibatch_next(&pqn->minibatch, ops, step->rollout, pqn->errors, pqn->targets);
  record_loss(pqn, ops);
  record_backward(pqn, ops);
  recorded_step(&pqn->recorded, ops);
}

/* The same where ranks or shards divide the minibatch: a piece a shard. */
static void record_divided(Pqn *pqn, const LearnerStep *step) {
  const int shards = step->rollout->shards.shards;
  Ops *ops = step->ops;
  Minibatch *batch = &pqn->minibatch;
  recorded_begin_gradient(&pqn->recorded, &pqn->gradient, batch);
  for (int s = 0; s < shards; s++) {
    minibatch_take_shard(batch, ops, step->rollout, s, pqn->errors, pqn->targets);
    if (s + 1 == shards) gradient_expect_last(&pqn->gradient, batch->rows, batch->all_rows);
    record_loss(pqn, ops);
    recorded_add_sums(&pqn->recorded, ops, s == 0, s + 1 == shards);
    record_backward(pqn, ops);
    gradient_add(&pqn->gradient, s, batch->rows);
  }
  gradient_finish(&pqn->gradient, batch->all_rows);
  recorded_step(&pqn->recorded, ops);
}

static void record_operations(void *learner, const LearnerStep *step) {
  if (step->rollout->shards.all_shards > 1) record_divided(learner, step);
  else record_whole(learner, step);
}

static void add_losses(void *learner, const OpsUpdateStats *stats, LearnerUpdate *update) {
  (void)learner;
  update->value_loss += stats->mean[OPS_STATS_VALUE];
}

/* Epsilon of the iteration after this one. */
static void schedule(void *state, int64_t iteration) {
  Pqn *pqn = state;
  pqn->agent->epsilon = pqn->epsilon = pqn_epsilon(pqn->config, iteration + 1);
}

static int update_weights(void *state, const LearnerStep *step, LearnerUpdate *update) {
  Pqn *pqn = state;
  const CoreConfig *config = pqn->config;
  const Epochs epochs = {
    .config = config, .agent = pqn->agent, .minibatch = &pqn->minibatch, .gradient = &pqn->gradient,
    .actor = &pqn->optimizer, .recorded = &pqn->recorded, .learner = pqn, .decide = minibatch_step,
    .record = record_operations, .add_losses = add_losses};
  const double rate = descent_rate(config, config->pqn.lr_schedule, config->pqn.learning_rate, step->iteration);
  *update = (LearnerUpdate){.learning_rate = rate, .critic = unmeasured(), .policy_loss = NAN, .clip_fraction = NAN,
                            .silent_fraction = NAN, .joint_norm = NAN, .controller_kl = NAN,
                            .com = NAN, .epsilon = NAN};
  TRY(ranks_agree(estimate_targets(pqn, step->ops, step->rollout, update)));
  TRY(epochs_run(&epochs, step, update));
  ranks_sum(&update->value_loss, 1);
  descent_average(update, epochs_steps(config), step->measure);
  update->entropy = entropy_of(pqn->agent->epsilon, pqn->agent->head.logits);
  schedule(pqn, step->iteration); /* the policy that acts next */
  return descent_check_parameters(step->ops, &pqn->agent->actor, "weight", pqn->agent->actor.theta);
}

/* ---- the entry of the table -------------------------------------------------------------------------------------- */

static int create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state) {
  if (agent->head.kind != OPS_MULTI_DISCRETE || agent->head.factors != 1)
    return core_error(CORE_USAGE, "algo.name = pqn takes the best of a few single actions, and env.task = %s takes "
                      "others; set algo.name to ppo or ppo_ewma, which take all", config->env.task);
  Pqn *pqn = *state = core_memory_zero_allocate(1, sizeof *pqn);
  *pqn = (Pqn){.config = config, .agent = agent,
               .optimizer = {.rule = OPTIMIZER_RADAM, .beta1 = BETA1, .beta2 = BETA2, .epsilon = RADAM_EPSILON,
                             .max_norm = config->pqn.max_grad_norm, .norm_epsilon = NORM_EPSILON}};
  TRY(minibatch_register(&pqn->minibatch, config, rollout, arena));
  pqn->minibatch.is_input = agent_chains_inputs(agent);
  const size_t total = (size_t)rollout->steps * (size_t)rollout->worlds, rows = (size_t)pqn->minibatch.room;
  gradient_register(&pqn->gradient, agent, &rollout->shards, pqn->minibatch.room, arena);
  if (rollout->shards.shards > 1)
    CORE_ARENA_DEVICE(arena, pqn->scratch, 2 * (size_t)rollout->steps * (size_t)shards_worlds(&rollout->shards),
               "columns of a shard [2][steps][worlds]");
  CORE_ARENA_DEVICE(arena, pqn->optimizer.m, agent->actor.n, "Q network's first moments");
  CORE_ARENA_DEVICE(arena, pqn->optimizer.v, agent->actor.n, "Q network's second moments");
  CORE_ARENA_DEVICE(arena, pqn->errors, total, "target errors [steps][worlds]");
  CORE_ARENA_DEVICE(arena, pqn->targets, total, "Q targets [steps][worlds]");
  CORE_ARENA_DEVICE(arena, pqn->doutput, rows * (size_t)agent->head.logits, "gradient at the Q values [rows][actions]");
  recorded_register(&pqn->recorded, agent, &pqn->optimizer, false, pqn->minibatch.all_rows,
                 rollout->shards.all_shards > 1, epochs_steps(config), arena);
  return CORE_OK;
}

static void destroy(void *state) {
  if (state) recorded_destroy(&((Pqn *)state)->recorded);
  free(state);
}

static void start(void *state) {
  Pqn *pqn = state;
  descent_restart(pqn->agent->device, &pqn->optimizer, pqn->agent->actor.n);
  schedule(pqn, 0);
}

static void add_sections(void *state, Checkpoint *checkpoint) {
  Pqn *pqn = state;
  descent_add_sections(checkpoint, &pqn->agent->actor, &pqn->optimizer);
  checkpoint_add(checkpoint, "epsilon", &pqn->epsilon, sizeof pqn->epsilon);
}

static void get_count(const void *state, LearnerCount *count) {
  const Pqn *pqn = state;
  *count = (LearnerCount){.actor_updates = pqn->optimizer.t, .proximal_weight = 1};
}

static void set_count(void *state, const LearnerCount *count) {
  Pqn *pqn = state;
  pqn->optimizer.t = count->actor_updates;
  pqn->agent->epsilon = pqn->epsilon; /* read by now */
}

const LearnerKind pqn_learner = {.name = "pqn", .create = create, .destroy = destroy, .start = start,
                                 .update = update_weights, .add_sections = add_sections, .get_count = get_count,
                                 .set_count = set_count, .schedule = schedule};
