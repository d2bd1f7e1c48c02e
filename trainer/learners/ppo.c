/* The update of PPO and PPO-EWMA, in the order of the papers: advantages, then epochs of minibatches, each the gradients
 * of actor and critic, a step of both and (PPO-EWMA) one of the proximal weights. Arithmetic is ops'; nothing here allocates. */
#include "trainer/learners/ppo.h"

#include <inttypes.h>
#include <math.h>

#include "trainer/estimators.h"

static const char PROXIMAL_SECTION[] = "proximal actor"; /* of a checkpoint */

static Optimizer optimizer_of(const CoreConfig *config) {
  return (Optimizer){.beta1 = config->ppo.adam_beta1, .beta2 = config->ppo.adam_beta2,
                     .epsilon = config->ppo.adam_epsilon, .max_norm = config->ppo.max_grad_norm,
                     .norm_epsilon = config->ppo.norm_epsilon};
}

int ppo_register(Ppo *ppo, const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena) {
  *ppo = (Ppo){.config = config, .agent = agent, .ewma = strcmp(config->algo.name, "ppo_ewma") == 0,
               .actor_optimizer = optimizer_of(config), .critic_optimizer = optimizer_of(config)};
  TRY(minibatch_register(&ppo->minibatch, config, rollout, arena));
  size_t total = (size_t)rollout->steps * (size_t)rollout->worlds;
  size_t rows = (size_t)ppo->minibatch.rows, logits = (size_t)agent->head.logits;
  CORE_ARENA(arena, ppo->advantages, total, "advantages [steps][worlds]");
  CORE_ARENA(arena, ppo->targets, total, "value targets [steps][worlds]");
  CORE_ARENA(arena, ppo->actor_optimizer.m, agent->actor.n, "actor first moments");
  CORE_ARENA(arena, ppo->actor_optimizer.v, agent->actor.n, "actor second moments");
  CORE_ARENA(arena, ppo->critic_optimizer.m, agent->critic.n, "critic first moments");
  CORE_ARENA(arena, ppo->critic_optimizer.v, agent->critic.n, "critic second moments");
  CORE_ARENA(arena, ppo->logp, rows, "log-probabilities [rows]");
  CORE_ARENA(arena, ppo->doutput, rows * logits, "gradient at the output [rows][logits]");
  agent_register_gradient(agent, &ppo->gradient, ppo->minibatch.rows, arena);
  if (!ppo->ewma) return CORE_OK;
  ppo->proximal.com = config->ppo.com;
  ppo->proximal.rule = strcmp(config->ppo.ewma_rule, "plain") == 0 ? PROXIMAL_PLAIN : PROXIMAL_BIAS_CORRECTED;
  CORE_ARENA(arena, ppo->proximal.theta, agent->actor.n, "proximal actor weights");
  CORE_ARENA(arena, ppo->proximal_logits, rows * logits, "proximal logits [rows][logits]");
  CORE_ARENA(arena, ppo->proximal_logp, rows, "proximal log-probabilities [rows]");
  return CORE_OK;
}

static void restart_optimizer(Optimizer *optimizer, size_t n) {
  memset(optimizer->m, 0, n * sizeof *optimizer->m);
  memset(optimizer->v, 0, n * sizeof *optimizer->v);
  optimizer->t = 0;
}

void ppo_start(Ppo *ppo) {
  restart_optimizer(&ppo->actor_optimizer, ppo->agent->actor.n);
  restart_optimizer(&ppo->critic_optimizer, ppo->agent->critic.n);
  ppo_start_proximal(ppo);
}

void ppo_start_proximal(Ppo *ppo) {
  const AgentNetwork *actor = &ppo->agent->actor;
  ppo->proximal.weight = 1;
  if (ppo->ewma) memcpy(ppo->proximal.theta, actor->theta, actor->n * sizeof *actor->theta);
}

double ppo_learning_rate(const CoreConfig *config, int64_t iteration) {
  double rate = config->ppo.learning_rate;
  if (strcmp(config->ppo.lr_schedule, "linear") != 0) return rate;
  return rate * (1.0 - (double)(iteration - 1) / (double)core_config_iterations(config));
}

/* ---- what is not finite, and where ----------------------------------------------------------------------------- */

/* CORE_FAIL naming the first element of x [rows][columns] that is NaN or infinite, or CORE_OK. */
static int check_matrix(Ops *ops, const char *what, const float *x, size_t rows, size_t columns) {
  size_t k = ops->first_nonfinite(ops, x, rows * columns);
  if (k == rows * columns) return CORE_OK;
  return core_error(CORE_FAIL, "%s[%zu,%zu] is %f", what, k / columns, k % columns, (double)x[k]);
}

static int check_parameters(Ops *ops, const AgentNetwork *network, const char *what, const float *x) {
  char name[64];
  size_t k = ops->first_nonfinite(ops, x, network->n);
  if (k == network->n) return CORE_OK;
  return core_error(CORE_FAIL, "%s %s is %f", what, network_parameter_name(&network->shape, network->name, k, name),
                    (double)x[k]);
}

/* What the update is about to learn from. */
static int check_rollout(const Ppo *ppo, Ops *ops, const Rollout *rollout) {
  size_t k = (size_t)rollout->steps, n = (size_t)rollout->worlds;
  TRY(check_matrix(ops, "rollout: reward[step,world]", rollout->rewards, k, n));
  TRY(check_matrix(ops, "rollout: actor.logits[state,logit]", rollout->logits, k * n, (size_t)ppo->agent->head.logits));
  TRY(check_matrix(ops, "rollout: critic.value[step,world]", rollout->values, k + 1, n));
  return check_matrix(ops, "rollout: target[step,world]", ppo->targets, k, n);
}

static size_t largest_element(const float *x, size_t n) {
  size_t largest = 0;
  for (size_t k = 1; k < n; k++)
    if (fabsf(x[k]) > fabsf(x[largest])) largest = k;
  return largest;
}

/* A loss is not finite: its cause is a weight, else an output, else an output so large that the loss overflows. */
static int explain_loss(const Ppo *ppo, Ops *ops, const AgentNetwork *network, const char *loss_name, double loss) {
  const NetworkShape *shape = &network->shape;
  const float *output = network->activations.hidden[shape->layers - 1];
  size_t rows = (size_t)ppo->minibatch.rows, columns = (size_t)shape->width[shape->layers];
  char what[64];
  TRY(check_parameters(ops, network, "weight", network->theta));
  snprintf(what, sizeof what, "%s.output[row,unit]", network->name);
  TRY(check_matrix(ops, what, output, rows, columns));
  size_t k = largest_element(output, rows * columns);
  return core_error(CORE_FAIL, "the %s loss is %f, weights and outputs are finite, the largest is %s[%zu,%zu] = %g",
                    loss_name, loss, what, k / columns, k % columns, (double)output[k]);
}

/* ---- one minibatch --------------------------------------------------------------------------------------------- */

static void count_gradient(LearnerGradients *gradients, double norm, int clipped) {
  gradients->norm_mean += norm;
  if (norm > gradients->norm_max) gradients->norm_max = norm;
  gradients->clipped_fraction += clipped;
}

static void count_kurtosis(LearnerGradients *gradients, const float *gradient, size_t n) {
  const Kurtosis kurtosis = kurtosis_measure(gradient, n);
  gradients->kurtosis.all += kurtosis.all;
  gradients->kurtosis.nonzero += kurtosis.nonzero;
  gradients->kurtosis.zero_fraction += kurtosis.zero_fraction;
}

/* Samples of the minibatch whose ratio, to the policy that the clip is around, stands where the clip is flat. */
static double count_silent(Ppo *ppo, Ops *ops, const float *logits) {
  const Minibatch *batch = &ppo->minibatch;
  const float *around = ppo->ewma ? ppo->proximal_logp : batch->logp;
  int64_t silent = 0;
  ops->policy_logp(ops, &ppo->agent->head, logits, batch->actions, ppo->logp, batch->rows);
  for (int i = 0; i < batch->rows; i++)
    silent += estimators_no_gradient((double)ppo->logp[i] - (double)around[i], (double)batch->advantages[i],
                                     ppo->config->ppo.epsilon);
  return (double)silent;
}

/* The norm of a network's gradient, which must be finite. */
static int measure_gradient(Ops *ops, const AgentNetwork *network, const float *gradient, double *norm) {
  *norm = sqrt(ops->norm_squared(ops, gradient, network->n));
  if (isfinite(*norm)) return CORE_OK;
  TRY(check_parameters(ops, network, "gradient of", gradient));
  return core_error(CORE_FAIL, "the gradient norm of the %s is %f", network->name, *norm);
}

/* Adam on one network, its gradient clipped by `clip_norm`: its own norm, or that of all parameters of a common loss. */
static void descend(const LearnerStep *step, const AgentNetwork *network, Optimizer *optimizer, const float *gradient,
                    double rate, double norm, double clip_norm, LearnerGradients *gradients) {
  int clipped;
  double factor = optimizer_clip(optimizer, clip_norm, &clipped);
  optimizer_apply(step->ops, optimizer, network->theta, gradient, network->n, rate, factor);
  count_gradient(gradients, norm, clipped);
  if (step->measure) count_kurtosis(gradients, gradient, network->n);
}

/* A step of both networks from ppo->gradient. */
static int descend_both(Ppo *ppo, const LearnerStep *step, LearnerUpdate *update) {
  const Agent *agent = ppo->agent;
  const double rate = update->learning_rate;
  double actor, critic;
  TRY(measure_gradient(step->ops, &agent->actor, ppo->gradient.actor, &actor));
  TRY(measure_gradient(step->ops, &agent->critic, ppo->gradient.critic, &critic));
  bool separate = agent->sharing == AGENT_SEPARATE;
  descend(step, &agent->actor, &ppo->actor_optimizer, ppo->gradient.actor, rate, actor,
          separate ? actor : hypot(actor, critic), &update->actor);
  descend(step, &agent->critic, &ppo->critic_optimizer, ppo->gradient.critic, rate, critic,
          separate ? critic : hypot(actor, critic), &update->critic);
  return CORE_OK;
}

/* L = E[min(r A, clip(r, 1-eps, 1+eps) A)] + c H with r = pi/pi_b; PPO-EWMA: E[w min(r_p A, clip(r_p) A)] with
 * r_p = pi/pi_p and w = pi_p/pi_b. */
static int actor_gradient(Ppo *ppo, const LearnerStep *step, LearnerUpdate *update) {
  Ops *ops = step->ops;
  const CoreConfig *config = ppo->config;
  const Minibatch *batch = &ppo->minibatch;
  AgentNetwork *actor = &ppo->agent->actor;
  const OpsHead *head = &ppo->agent->head;
  const float *proximal_logp = NULL;
  OpsPolicySums sums;
  if (ppo->ewma) { /* before the actor's own pass, whose activations the backward pass needs */
    agent_policy(ppo->agent, ops, ppo->proximal.theta, batch->observations, batch->rows, ppo->proximal_logits);
    ops->policy_logp(ops, head, ppo->proximal_logits, batch->actions, ppo->proximal_logp, batch->rows);
    proximal_logp = ppo->proximal_logp;
  }
  const float *logits = agent_pass(ppo->agent, ops, actor, batch->observations, batch->rows);
  ops->policy_loss(ops, head, logits, batch->actions, batch->logp, proximal_logp, batch->advantages, batch->rows,
                   config->ppo.epsilon, config->ppo.entropy_coef, ppo->doutput, &sums);
  if (!isfinite(sums.loss) || !isfinite(sums.entropy)) return explain_loss(ppo, ops, actor, "policy", sums.loss);
  update->policy_loss += sums.loss / batch->rows;
  update->entropy += sums.entropy / batch->rows;
  update->clip_fraction += sums.clipped / batch->rows;
  if (step->measure) update->silent_fraction += count_silent(ppo, ops, logits) / batch->rows;
  agent_backward(ppo->agent, ops, actor, batch->observations, batch->rows, ppo->doutput, &ppo->gradient);
  return CORE_OK;
}

/* L = c_v 0.5 E[max((V - T)^2, (V_b + clip(V - V_b, -eps, eps) - T)^2)] */
static int critic_gradient(Ppo *ppo, const LearnerStep *step, LearnerUpdate *update) {
  Ops *ops = step->ops;
  const CoreConfig *config = ppo->config;
  const Minibatch *batch = &ppo->minibatch;
  AgentNetwork *critic = &ppo->agent->critic;
  OpsValueSums sums;
  const float *values = agent_pass(ppo->agent, ops, critic, batch->observations, batch->rows);
  ops->value_loss(ops, values, batch->values, batch->targets, batch->rows, config->ppo.clip_value, config->ppo.epsilon,
                  config->ppo.value_coef, ppo->doutput, &sums);
  if (!isfinite(sums.loss)) return explain_loss(ppo, ops, critic, "value", sums.loss);
  update->value_loss += sums.loss / batch->rows;
  agent_backward(ppo->agent, ops, critic, batch->observations, batch->rows, ppo->doutput, &ppo->gradient);
  return CORE_OK;
}

static int minibatch_step(Ppo *ppo, const LearnerStep *step, int m, LearnerUpdate *update) {
  Ops *ops = step->ops;
  Minibatch *batch = &ppo->minibatch;
  minibatch_gather(batch, ops, step->rollout, ppo->advantages, ppo->targets, m);
  if (strcmp(ppo->config->ppo.normalize_advantage, "minibatch") == 0)
    advantage_standardise(ops, ADVANTAGE_KINETIX_MINIBATCH, batch->advantages, (size_t)batch->rows, NULL);
  TRY(actor_gradient(ppo, step, update));
  TRY(critic_gradient(ppo, step, update));
  TRY(descend_both(ppo, step, update));
  if (ppo->ewma) proximal_update(ops, &ppo->proximal, ppo->agent->actor.theta, ppo->agent->actor.n);
  return CORE_OK;
}

/* ---- the iteration --------------------------------------------------------------------------------------------- */

/* Advantages (standardised over the rollout where the settings say so) and targets, with what is reported of them. */
static void estimate_advantages(Ppo *ppo, Ops *ops, const Rollout *rollout, LearnerUpdate *update) {
  const CoreConfig *config = ppo->config;
  size_t total = (size_t)rollout->steps * (size_t)rollout->worlds;
  const AdvantageRule rule = {.gamma = config->ppo.gamma, .lambda = config->ppo.gae_lambda, .reward_scale = 1};
  bool batch = strcmp(config->ppo.normalize_advantage, "batch") == 0;
  Moments advantage, target, residual;
  advantage_estimate(ops, rule, rollout->rewards, rollout->values, rollout->dones, NULL, NULL, rollout->steps,
                     rollout->worlds, ppo->advantages, ppo->targets);
  advantage_standardise(ops, batch ? ADVANTAGE_STOIX_BATCH : ADVANTAGE_RAW, ppo->advantages, total, &advantage);
  ops->moments(ops, ppo->targets, NULL, total, &target);
  ops->moments(ops, ppo->targets, rollout->values, total, &residual);
  update->advantage_mean = advantage.mean;
  update->advantage_sd = sqrt(moments_variance(&advantage));
  update->explained_variance = estimators_explained_variance(&target, &residual);
}

/* Sums over `steps` minibatches to means; what was not measured to NaN. */
static void average(LearnerUpdate *update, double steps, bool measured) {
  double *const sums[] = {&update->policy_loss, &update->value_loss, &update->entropy, &update->clip_fraction,
                          &update->actor.norm_mean, &update->actor.clipped_fraction, &update->critic.norm_mean,
                          &update->critic.clipped_fraction};
  double *const optional[] = {&update->silent_fraction, &update->actor.kurtosis.all, &update->actor.kurtosis.nonzero,
                              &update->actor.kurtosis.zero_fraction, &update->critic.kurtosis.all,
                              &update->critic.kurtosis.nonzero, &update->critic.kurtosis.zero_fraction};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) *sums[i] /= steps;
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) *optional[i] = measured ? *optional[i] / steps : NAN;
}

int ppo_update(Ppo *ppo, const LearnerStep *step, LearnerUpdate *update) {
  const CoreConfig *config = ppo->config;
  const int epochs = (int)config->ppo.epochs, parts = (int)config->ppo.num_minibatches;
  Ops *ops = step->ops;
  *update = (LearnerUpdate){.learning_rate = ppo_learning_rate(config, step->iteration)};
  estimate_advantages(ppo, ops, step->rollout, update);
  TRY(check_rollout(ppo, ops, step->rollout));
  for (int epoch = 0; epoch < epochs; epoch++) {
    minibatch_shuffle(&ppo->minibatch, step->rollout, (uint64_t)config->train.seed, step->iteration, epoch);
    for (int m = 0; m < parts; m++) {
      int code = minibatch_step(ppo, step, m, update);
      if (code != CORE_OK) return core_error_context(code, "epoch %d, minibatch %d", epoch + 1, m + 1);
      if (step->profile) profile_take(step->profile, ops, ppo->agent);
    }
  }
  average(update, (double)epochs * parts, step->measure);
  TRY(check_parameters(ops, &ppo->agent->actor, "weight", ppo->agent->actor.theta));
  return check_parameters(ops, &ppo->agent->critic, "weight", ppo->agent->critic.theta);
}

/* ---- the entries of the table ---------------------------------------------------------------------------------- */

static int create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state) {
  *state = core_memory_zero_allocate(1, sizeof(Ppo));
  return ppo_register(*state, config, agent, rollout, arena);
}

static void destroy(void *state) { free(state); }
static void start(void *state) { ppo_start(state); }
static int update_weights(void *state, const LearnerStep *step, LearnerUpdate *update) {
  return ppo_update(state, step, update);
}

static void add_network(Checkpoint *checkpoint, AgentNetwork *network, Optimizer *optimizer) {
  char name[CHECKPOINT_NAME];
  const size_t bytes = network->n * sizeof *network->theta;
  checkpoint_add(checkpoint, network->name, network->theta, bytes);
  snprintf(name, sizeof name, "%s m", network->name);
  checkpoint_add(checkpoint, name, optimizer->m, bytes);
  snprintf(name, sizeof name, "%s v", network->name);
  checkpoint_add(checkpoint, name, optimizer->v, bytes);
}

static void add_sections(void *state, Checkpoint *checkpoint) {
  Ppo *ppo = state;
  AgentNetwork *actor = &ppo->agent->actor;
  add_network(checkpoint, actor, &ppo->actor_optimizer);
  add_network(checkpoint, &ppo->agent->critic, &ppo->critic_optimizer);
  if (ppo->ewma) checkpoint_add(checkpoint, PROXIMAL_SECTION, ppo->proximal.theta, actor->n * sizeof *actor->theta);
}

static void get_count(const void *state, LearnerCount *count) {
  const Ppo *ppo = state;
  *count = (LearnerCount){ppo->actor_optimizer.t, ppo->critic_optimizer.t, ppo->proximal.weight};
}

static void set_count(void *state, const LearnerCount *count) {
  Ppo *ppo = state;
  ppo->actor_optimizer.t = count->actor_updates;
  ppo->critic_optimizer.t = count->critic_updates;
  ppo->proximal.weight = count->proximal_weight;
}

/* PPO has no proximal weights: PPO-EWMA then starts them at the weights. */
static bool derive(void *state, const char *section) {
  if (strcmp(section, PROXIMAL_SECTION) != 0) return false;
  ppo_start_proximal(state);
  return true;
}

const LearnerKind ppo_learner = {"ppo", create, destroy, start, update_weights, add_sections, get_count, set_count,
                                 derive};
const LearnerKind ppo_ewma_learner = {"ppo_ewma", create, destroy, start, update_weights, add_sections, get_count,
                                      set_count, derive};

Ppo *ppo_of(const Learner *learner) {
  CORE_CHECK(learner->kind == &ppo_learner || learner->kind == &ppo_ewma_learner);
  return learner->state;
}
