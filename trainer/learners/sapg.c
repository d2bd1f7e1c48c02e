/* The update of SAPG (sapg.h): epochs of minibatches over the samples of sapg_data.c, each one loss for all blocks, and
 * the learning rate that follows the KL (spec ppo.md 7.3). Arithmetic is ops'; nothing here allocates in an update. */
#include "trainer/learners/sapg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/estimators.h"
#include "trainer/learners/descent.h"
#include "trainer/ranks.h"
#include "trainer/reduce.h"

static const double BOUND = 1.1;                      /* means beyond it are drawn back */
static const double RATE_STEP = 1.5, RATE_LEAST = 1e-6, RATE_MOST = 1e-2;

double sapg_rate(double rate, double kl, double threshold) {
  if (threshold == 0) return rate;
  if (kl > 2 * threshold) rate = fmax(rate / RATE_STEP, RATE_LEAST);
  if (kl < 0.5 * threshold) rate = fmin(rate * RATE_STEP, RATE_MOST);
  return rate;
}

double sapg_kl(const OpsHead *head, const float *p, const float *q) {
  double kl = 0;
  for (int k = 0; k < head->factors; k++) {
    const double deviation_p = ops_head_deviation(head, p, k), deviation_q = ops_head_deviation(head, q, k);
    const double move = (double)q[k] - (double)p[k];
    kl += log(deviation_q / deviation_p + 1e-5) - 0.5 +
          (deviation_p * deviation_p + move * move) / (2 * (deviation_q * deviation_q + 1e-5));
  }
  return kl;
}

double sapg_entropy_coef(int block, int blocks, double scale) {
  return 0.5 * scale * (1 - (double)block / (blocks - 1));
}

/* ---- making one ------------------------------------------------------------------------------------------------- */

static Optimizer optimizer_of(const CoreConfig *config) {
  return (Optimizer){.beta1 = config->ppo.adam_beta1, .beta2 = config->ppo.adam_beta2,
                     .epsilon = config->ppo.adam_epsilon, .max_norm = config->ppo.max_grad_norm,
                     .norm_epsilon = config->ppo.norm_epsilon};
}

/* Minibatches are as large as if there were on-policy samples only; what is left over joins the last. */
static LearnerSize size_of(const CoreConfig *config) {
  const int64_t on_policy = core_config_transitions_per_iteration(config);
  const int64_t samples = on_policy + on_policy / config->sapg.blocks * config->sapg.off_policy_ratio;
  const int64_t minibatch = on_policy / config->ppo.num_minibatches, updates = samples / minibatch;
  return (LearnerSize){.rows = samples - (updates - 1) * minibatch, .updates = config->ppo.epochs * updates};
}

static int create(const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena, void **state) {
  Sapg *sapg = *state = core_memory_zero_allocate(1, sizeof *sapg);
  const LearnerSize size = size_of(config);
  const int64_t on_policy = core_config_transitions_per_iteration(config);
  if (2 * on_policy > INT32_MAX)
    return core_error(CORE_USAGE, "env.num * ppo.num_steps = %" PRId64 " passes 2^30 - 1; lower one of them",
                      on_policy);
  *sapg = (Sapg){.config = config, .agent = agent, .rows = (int)size.rows,
                 .minibatch = (int)(on_policy / config->ppo.num_minibatches),
                 .updates = (int)(size.updates / config->ppo.epochs), .actor_optimizer = optimizer_of(config),
                 .critic_optimizer = optimizer_of(config)};
  sapg_data_register(&sapg->data, config, agent, rollout, sapg->rows, arena);
  const size_t room = (size_t)sapg->data.room;
  CORE_ARENA(arena, sapg->actor_optimizer.m, agent->actor.n, "actor first moments");
  CORE_ARENA(arena, sapg->actor_optimizer.v, agent->actor.n, "actor second moments");
  CORE_ARENA(arena, sapg->critic_optimizer.m, agent->critic.n, "critic first moments");
  CORE_ARENA(arena, sapg->critic_optimizer.v, agent->critic.n, "critic second moments");
  CORE_ARENA(arena, sapg->doutput, room * (size_t)agent->head.logits,
             "gradient at the output [rows][logits]");
  CORE_ARENA(arena, sapg->logp, room, "log-probabilities [rows]");
  CORE_ARENA(arena, sapg->kl, (size_t)rollout->shards.shards, "KL of an epoch [shards]");
  CORE_ARENA(arena, sapg->entropy_coef, (size_t)config->sapg.blocks, "weights of entropies [blocks]");
  CORE_ARENA(arena, sapg->rate, 1, "learning rate");
  CORE_ARENA(arena, sapg->value_moments, 3, "moments of values");
  gradient_register(&sapg->gradient, agent, &rollout->shards, sapg->data.room, arena);
  return CORE_OK;
}

static void destroy(void *state) { free(state); }

static void start(void *state) {
  Sapg *sapg = state;
  descent_restart(sapg->agent->device, &sapg->actor_optimizer, sapg->agent->actor.n);
  descent_restart(sapg->agent->device, &sapg->critic_optimizer, sapg->agent->critic.n);
  *sapg->rate = sapg->config->ppo.learning_rate;
  sapg->value_moments[0] = sapg->value_moments[2] = 1; /* one value of 0, and variance 1 */
  sapg->value_moments[1] = 0;
}

/* ---- one minibatch ---------------------------------------------------------------------------------------------- */

/* KL(new || last) summed over a piece's rows; the new policy becomes the last. */
static double move_reference(SapgData *data, const OpsHead *head, const float *logits) {
  const size_t columns = (size_t)head->logits;
  double sum = 0;
  for (size_t r = 0; r < (size_t)data->rows; r++) {
    float *last = data->logits + (size_t)data->sample[r] * columns;
    sum += sapg_kl(head, logits + r * columns, last);
    memcpy(last, logits + r * columns, columns * sizeof *last);
  }
  return sum;
}

/* Samples of a piece whose ratio, to the policy that the clip is around, stands where the clip is flat. */
static double count_silent(Sapg *sapg, Ops *ops, const float *logits) {
  const SapgData *data = &sapg->data;
  const float *around = data->logp_own ? data->batch_own : data->batch_logp;
  int64_t silent = 0;
  ops->policy_logp(ops, &sapg->agent->head, logits, data->actions, sapg->logp, data->rows);
  for (int r = 0; r < data->rows; r++)
    silent += estimators_no_gradient((double)sapg->logp[r] - (double)around[r], (double)data->batch_advantages[r],
                                     sapg->config->ppo.epsilon);
  return (double)silent;
}

/* L = E[min(r A, clip(r, 1-eps, 1+eps) A)] + E[c_b H] - bounds, r = pi / pi of the block that acted. clip = paper:
 * around m = pi_old of the block that learns / pi of the one that acted; since r = (pi / pi_old) m, that is PPO-EWMA's
 * loss with pi_old in the proximal policy's place. On-policy m = 1. */
static int actor_gradient(Sapg *sapg, const LearnerStep *step, int all_rows, LearnerUpdate *update) {
  Ops *ops = step->ops;
  const CoreConfig *config = sapg->config;
  const Agent *agent = sapg->agent;
  SapgData *data = &sapg->data;
  const int rows = data->rows;
  OpsPolicySums sums;
  OpsGaussianSums regular;
  const float *logits = agent_pass(agent, ops, &agent->actor, data->observations, rows);
  ops->policy_loss(ops, &agent->head, logits, data->actions, data->batch_logp,
                   data->logp_own ? data->batch_own : NULL, data->batch_advantages, rows, config->ppo.epsilon, 0,
                   sapg->doutput, &sums);
  ops->gaussian_regularise(ops, &agent->head, logits, agent->blocks.of_row, sapg->entropy_coef, BOUND,
                           config->sapg.bounds_coef, rows, sapg->doutput, &regular);
  if (!isfinite(sums.loss) || !isfinite(sums.entropy) || !isfinite(regular.bounds))
    return descent_explain_loss(ops, &agent->actor, (size_t)rows, "policy", sums.loss);
  update->policy_loss += sums.loss / all_rows;
  update->entropy += sums.entropy / all_rows;
  update->clip_fraction += sums.clipped / all_rows;
  if (step->measure) update->silent_fraction += count_silent(sapg, ops, logits) / all_rows;
  sapg->kl[data->shard] += move_reference(data, &agent->head, logits) / all_rows;
  agent_backward(agent, ops, &agent->actor, data->observations, rows, sapg->doutput, &sapg->gradient.mean);
  return CORE_OK;
}

static int critic_gradient(Sapg *sapg, const LearnerStep *step, int all_rows, LearnerUpdate *update) {
  Ops *ops = step->ops;
  const CoreConfig *config = sapg->config;
  const Agent *agent = sapg->agent;
  SapgData *data = &sapg->data;
  const int rows = data->rows;
  OpsValueSums sums;
  const float *values = agent_pass(agent, ops, &agent->critic, data->observations, rows);
  ops->value_loss(ops, values, data->batch_values, data->batch_returns, rows, config->ppo.clip_value,
                  config->ppo.epsilon, config->ppo.value_coef, sapg->doutput, &sums);
  if (!isfinite(sums.loss)) return descent_explain_loss(ops, &agent->critic, (size_t)rows, "value", sums.loss);
  update->value_loss += sums.loss / all_rows;
  agent_backward(agent, ops, &agent->critic, data->observations, rows, sapg->doutput, &sapg->gradient.mean);
  return CORE_OK;
}

/* This rank's part of the gradients of a minibatch. */
static int add_gradients(Sapg *sapg, const LearnerStep *step, size_t first, int rows, LearnerUpdate *update) {
  SapgData *data = &sapg->data;
  sapg_data_select(data, first, rows);
  gradient_begin(&sapg->gradient);
  while (sapg_data_next(data, step->ops, step->rollout)) {
    TRY(actor_gradient(sapg, step, rows, update));
    TRY(critic_gradient(sapg, step, rows, update));
    gradient_add(&sapg->gradient, data->shard, data->rows);
  }
  return CORE_OK;
}

static int minibatch_step(Sapg *sapg, const LearnerStep *step, int m, LearnerUpdate *update) {
  const int rows = m == sapg->updates - 1 ? sapg->rows : sapg->minibatch;
  TRY(ranks_agree(add_gradients(sapg, step, (size_t)m * (size_t)sapg->minibatch, rows, update)));
  gradient_finish(&sapg->gradient, rows);
  return descent_step_both(step, sapg->agent, &sapg->gradient.mean, &sapg->actor_optimizer, &sapg->critic_optimizer,
                           *sapg->rate, update);
}

/* ---- the iteration ---------------------------------------------------------------------------------------------- */

static int check_rollout(const Sapg *sapg, Ops *ops, const Rollout *rollout) {
  const size_t k = (size_t)rollout->steps, n = (size_t)rollout->worlds;
  TRY(descent_check_matrix(ops, "rollout: reward[step,world]", rollout->rewards, k, n));
  TRY(descent_check_matrix(ops, "rollout: actor.logits[state,logit]", rollout->logits, k * n,
                           (size_t)sapg->agent->head.logits));
  return descent_check_matrix(ops, "rollout: critic.value[step,world]", rollout->values, k + 1, n);
}

/* Mean of the minibatches' KL, added up in the order of the shards, so that the learning rate is the same for any
 * number of ranks. */
static double mean_kl(const Sapg *sapg) {
  const Shards *shards = &sapg->data.shards;
  double *all = reduce_gather_records(sapg->kl, (size_t)shards->shards * sizeof *sapg->kl), sum = 0;
  for (int s = 0; s < shards->all_shards; s++) sum += all[s];
  free(all);
  return sum / sapg->updates;
}

static int epoch(Sapg *sapg, const LearnerStep *step, int number, LearnerUpdate *update) {
  memset(sapg->kl, 0, (size_t)sapg->data.shards.shards * sizeof *sapg->kl);
  for (int m = 0; m < sapg->updates; m++) {
    int code = minibatch_step(sapg, step, m, update);
    if (code != CORE_OK) return core_error_context(code, "epoch %d, minibatch %d", number, m + 1);
    if (step->profile) profile_take(step->profile, step->ops, sapg->agent);
  }
  update->controller_kl = mean_kl(sapg);
  *sapg->rate = sapg_rate(*sapg->rate, update->controller_kl, sapg->config->sapg.kl_threshold);
  return CORE_OK;
}

static int update_weights(void *state, const LearnerStep *step, LearnerUpdate *update) {
  Sapg *sapg = state;
  const CoreConfig *config = sapg->config;
  const int epochs = (int)config->ppo.epochs, blocks = (int)config->sapg.blocks;
  Ops *ops = step->ops;
  *update = (LearnerUpdate){.learning_rate = *sapg->rate};
  for (int b = 0; b < blocks; b++)
    sapg->entropy_coef[b] = (float)sapg_entropy_coef(b, blocks, config->sapg.entropy_scale);
  TRY(ranks_agree(check_rollout(sapg, ops, step->rollout)));
  sapg_data_collect(&sapg->data, ops, config, sapg->agent, step->rollout, step->iteration,
                    config->sapg.normalize_value ? sapg->value_moments : NULL, update);
  for (int e = 1; e <= epochs; e++) TRY(epoch(sapg, step, e, update));
  descent_reduce(update);
  descent_average(update, (double)epochs * sapg->updates, step->measure);
  TRY(descent_check_parameters(ops, &sapg->agent->actor, "weight", sapg->agent->actor.theta));
  return descent_check_parameters(ops, &sapg->agent->critic, "weight", sapg->agent->critic.theta);
}

/* ---- the entry of the table ------------------------------------------------------------------------------------- */

static void add_sections(void *state, Checkpoint *checkpoint) {
  Sapg *sapg = state;
  descent_add_sections(checkpoint, &sapg->agent->actor, &sapg->actor_optimizer);
  descent_add_sections(checkpoint, &sapg->agent->critic, &sapg->critic_optimizer);
  checkpoint_add(checkpoint, "learning rate", sapg->rate, sizeof *sapg->rate);
  checkpoint_add(checkpoint, "value moments", sapg->value_moments, 3 * sizeof *sapg->value_moments);
}

static void get_count(const void *state, LearnerCount *count) {
  const Sapg *sapg = state;
  *count = (LearnerCount){sapg->actor_optimizer.t, sapg->critic_optimizer.t, 1};
}

static void set_count(void *state, const LearnerCount *count) {
  Sapg *sapg = state;
  sapg->actor_optimizer.t = count->actor_updates;
  sapg->critic_optimizer.t = count->critic_updates;
}

const LearnerKind sapg_learner = {.name = "sapg", .create = create, .destroy = destroy, .start = start,
                                  .update = update_weights, .add_sections = add_sections, .get_count = get_count,
                                  .set_count = set_count, .size = size_of};
