/* Golden cases "ppo_lstm", "ppo_lstm_sapg": a whole minibatch update of a policy with memory, by the agent as a run
 * makes it: states, gates and layers at each step, losses, all gradients through time and those at the stored states,
 * one norm over them, Adam. The file has one sequence after the other, ours one step after the other. */
#ifndef TESTS_GOLDEN_LSTM_H
#define TESTS_GOLDEN_LSTM_H
#include "tests/golden/golden_picture.h"

typedef struct GoldLstm {
  GoldPictures g;             /* agent, gradient, tensors, optimizers; its pixels are not used */
  int sequences, length, inputs, width, actions, blocks;
  float *x, *start, *entropy_coef, *dh;
  uint8_t *begins;
  int32_t *no_block;
  uint32_t *index;
} GoldLstm;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* [sequences][length][columns] -> [length][sequences][columns]. */
static float *lstm_by_step(Check *check, const GoldLstm *l, const float *x, size_t columns) {
  float *rows = check_floats(check, (size_t)l->g.rows * columns);
  for (int s = 0; s < l->sequences; s++)
    for (int t = 0; t < l->length; t++)
      memcpy(rows + (size_t)(t * l->sequences + s) * columns, x + (size_t)(s * l->length + t) * columns,
             columns * sizeof *rows);
  return rows;
}
static float *lstm_input(Check *check, const GoldLstm *l, int step, const char *name, size_t columns) {
  char full[CHECK_NAME];
  size_t n = (size_t)l->g.rows * columns;
  snprintf(full, sizeof full, "in/step%d/%s", step, name);
  return lstm_by_step(check, l, check_input_float(check, full, &n), columns);
}

/* ours [length][sequences][columns] against the file's. */
static void lstm_compare(Check *check, const GoldLstm *l, int step, const char *name, const float *ours,
                         size_t columns) {
  float *rows = check_floats(check, (size_t)l->g.rows * columns);
  for (int s = 0; s < l->sequences; s++)
    for (int t = 0; t < l->length; t++)
      memcpy(rows + (size_t)(s * l->length + t) * columns, ours + (size_t)(t * l->sequences + s) * columns,
             columns * sizeof *rows);
  gold_compare(check, step, name, rows, (size_t)l->g.rows * columns);
}

/* ---- the agent --------------------------------------------------------------------------------------------------- */

static void lstm_configure(Check *check, GoldLstm *l) {
  CoreConfig *config = &l->g.config;
  size_t layers = 0;
  const double *mlp = check_input(check, "hp/mlp", &layers);
  double widest = 0;
  for (size_t i = 0; i < layers; i++) widest = fmax(widest, mlp[i]);
  *config = core_config_default();
  snprintf(config->algo.name, sizeof config->algo.name, "%s", l->blocks > 1 ? "sapg" : "ppo");
  snprintf(config->net.sharing, sizeof config->net.sharing, "shared");
  snprintf(config->net.trunk_activation, sizeof config->net.trunk_activation, "elu");
  snprintf(config->net.memory, sizeof config->net.memory, "lstm");
  snprintf(config->env.actions, sizeof config->env.actions, "continuous");
  config->net.memory_width = l->width;
  config->net.trunk_depth = (int64_t)layers;
  config->net.trunk_width = (int64_t)widest;
  config->net.depth = 0;
  config->sapg.blocks = l->blocks;
  config->sapg.embedding = l->blocks > 1 ? check_int(check, "hp/embed", 1, 512) : 1;
  l->g.env = (Env){.name = "golden", .worlds = 1, .observation_length = l->inputs, .whole_length = l->inputs,
                   .level_count = 1, .max_steps = 1};
  l->g.env.head = (OpsHead){.kind = OPS_GAUSSIAN, .factors = l->actions, .logits = 2 * l->actions};
}

/* A run's layers are of one width, the file's are not. */
static void lstm_narrow(Check *check, Agent *agent) {
  size_t layers = 0;
  const double *mlp = check_input(check, "hp/mlp", &layers);
  for (size_t i = 0; i < layers; i++) agent->actor.shape.width[i + 1] = (int)mlp[i];
  agent->critic.shape.width[0] = (int)mlp[layers - 1];
  agent_count_parameters(agent);
}

static void lstm_list(Check *check, GoldLstm *l) {
  GoldPictures *g = &l->g;
  const AgentNetwork *actor = &g->agent.actor, *critic = &g->agent.critic;
  const RecurrentShape *memory = &g->agent.recurrent.shape;
  const size_t at = actor->recurrent, w = (size_t)l->width, behind = actor->n;
  gold_add(check, g, actor->log_sigma, (size_t)(l->blocks * l->actions), "log_sigma", 0, 0, 0);
  if (l->blocks > 1) gold_add(check, g, actor->embedding, actor->encoder - actor->embedding, "embed", 0, 0, 0);
  gold_add(check, g, at + memory->wx, (size_t)memory->in * 4 * w, "lstm_wx", 0, 0, 0);
  gold_add(check, g, at + memory->bx, 4 * w, "lstm_bx", 0, 0, 0);
  gold_add(check, g, at + memory->wh, 4 * w * w, "lstm_wh", 0, 0, 0);
  gold_add(check, g, at + memory->bh, 4 * w, "lstm_bh", 0, 0, 0);
  gold_add(check, g, at + memory->gain, w, "ln_g", 0, 0, 0);
  gold_add(check, g, at + memory->offset, w, "ln_b", 0, 0, 0);
  for (int i = 0; i < actor->shape.layers; i++) {
    const bool is_head = i + 1 == actor->shape.layers;
    const size_t in = (size_t)actor->shape.width[i], out = (size_t)actor->shape.width[i + 1];
    gold_add(check, g, network_kernel(&actor->shape, i), in * out, is_head ? "mu_w" : "mlp%d_w", i, 0, 0);
    gold_add(check, g, network_bias(&actor->shape, i), out, is_head ? "mu_b" : "mlp%d_b", i, 0, 0);
  }
  gold_add(check, g, behind + network_kernel(&critic->shape, 0), (size_t)critic->shape.width[0], "value_w", 0, 0, 0);
  gold_add(check, g, behind + network_bias(&critic->shape, 0), 1, "value_b", 0, 0, 0);
  size_t n = 0;
  for (int i = 0; i < g->tensors; i++) n += g->tensor[i].n;
  if (n != actor->n + critic->n) check_give_up(check, "the file names %zu parameters, ours are %zu", n,
                                               actor->n + critic->n);
}

static void lstm_make(Check *check, GoldLstm *l) {
  GoldPictures *g = &l->g;
  l->sequences = check_int(check, "hp/S", 1, 1 << 10);
  l->length = check_int(check, "hp/T", 1, 1 << 10);
  l->inputs = check_int(check, "hp/obs", 1, 1 << 10);
  l->width = check_int(check, "hp/H", 1, 1 << 10);
  l->actions = check_int(check, "hp/A", 1, OPS_FACTORS_MAX);
  l->blocks = check_int(check, "hp/blocks", 0, 64);
  if (l->blocks == 0) l->blocks = 1;
  g->rows = l->sequences * l->length;
  g->steps = check_int(check, "hp/steps", 1, 1000);
  if (check_real(check, "hp/layernorm_eps") != NETWORK_NORM_EPSILON) check_give_up(check, "another layer norm");
  lstm_configure(check, l);
  if (agent_check(&g->config) != CORE_OK) check_give_up(check, "%s", core_error_message());
  g->arena = core_arena_create("golden lstm");
  agent_register(&g->agent, &g->config, &g->env, g->rows, g->arena);
  lstm_narrow(check, &g->agent);
  gold_allocate(check, g);
  lstm_list(check, l);
  for (int i = 0; i < g->tensors; i++) gold_read_tensor(check, g, &g->tensor[i]);
  l->entropy_coef = check_floats(check, (size_t)l->blocks);
  const size_t rows = (size_t)g->rows;
  l->no_block = check_memory(check, rows * sizeof *l->no_block);
  l->index = check_memory(check, rows * sizeof *l->index);
  for (int b = 0; b < l->blocks; b++)
    l->entropy_coef[b] = (float)(l->blocks > 1 ? sapg_entropy_coef(b, l->blocks, check_real(check, "hp/entropy_scale"))
                                               : check_real(check, "hp/entropy_coef"));
  for (int r = 0; r < g->rows; r++) l->index[r] = (uint32_t)r;
}

/* Inputs of a step: observations with their blocks, stored states, and starts of episodes. */
static void lstm_read(Check *check, GoldLstm *l, int step) {
  const size_t rows = (size_t)l->g.rows, in = (size_t)l->inputs, seen = (size_t)l->g.agent.inputs;
  const size_t states = (size_t)l->sequences * (size_t)l->width;
  char name[CHECK_NAME];
  const float *obs = lstm_input(check, l, step, "obs", in), *done = lstm_input(check, l, step, "done", 1);
  l->x = check_floats(check, rows * seen);
  l->begins = check_memory(check, rows);
  l->start = check_floats(check, 2 * states);
  size_t n = states, sequences = (size_t)l->sequences;
  snprintf(name, sizeof name, "in/step%d/h0", step);
  const float *h = check_input_float(check, name, &n);
  snprintf(name, sizeof name, "in/step%d/c0", step);
  const float *c = check_input_float(check, name, &n);
  snprintf(name, sizeof name, "in/step%d/block", step);
  const uint8_t *block = l->blocks > 1 ? check_input_bytes(check, name, &sequences, l->blocks) : NULL;
  for (size_t r = 0; r < rows; r++) {
    memcpy(l->x + r * seen, obs + r * in, in * sizeof *obs);
    if (block) l->x[r * seen + in] = (float)block[r % (size_t)l->sequences];
    l->begins[r] = done[r] != 0;
  }
  for (size_t i = 0; i < states; i++) {
    const size_t s = i / (size_t)l->width, u = i % (size_t)l->width, w = (size_t)l->width;
    l->start[s * 2 * w + u] = h[i];
    l->start[s * 2 * w + w + u] = c[i];
  }
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* Before the backward pass, which uses the gates up. */
static void lstm_check_forward(Check *check, const GoldLstm *l, int step) {
  const Agent *agent = &l->g.agent;
  const Recurrent *memory = &agent->recurrent;
  const size_t w = (size_t)l->width, n = (size_t)l->g.rows * w;
  float *h = check_floats(check, n), *c = check_floats(check, n);
  for (size_t i = 0; i < n; i++) {
    const float *gates = memory->gates + i / w * 4 * w + i % w;
    c[i] = gates[w] * memory->c_in[i] + gates[0] * gates[2 * w];
    h[i] = gates[3 * w] * tanhf(c[i]);
  }
  lstm_compare(check, l, step, "gates", memory->gates, 4 * w);
  lstm_compare(check, l, step, "c", c, w);
  lstm_compare(check, l, step, "h", h, w);
  lstm_compare(check, l, step, "layer_norm", memory->output, w);
  for (int i = 0; i + 1 < agent->actor.shape.layers; i++) {
    char name[CHECK_NAME];
    snprintf(name, sizeof name, "mlp%d", i);
    lstm_compare(check, l, step, name, agent->actor.activations.hidden[i], (size_t)agent->actor.shape.width[i + 1]);
  }
}

/* Compares the gradients of the stored initial states of the sequences. */
static void lstm_check_starts(Check *check, const GoldLstm *l, int step) {
  const size_t w = (size_t)l->width, n = (size_t)l->sequences * w;
  float *d = check_floats(check, 2 * n);
  for (size_t i = 0; i < 2 * n; i++) d[i] = l->begins[i % n / w] ? 0 : l->g.agent.recurrent.dstate[i];
  gold_compare(check, step, "dh0", d, n);
  gold_compare(check, step, "dc0", d + n, n);
}

/* Means and log standard deviations of the policy that acted. */
static float *lstm_old_policy(Check *check, const GoldLstm *l, int step) {
  const size_t a = (size_t)l->actions, rows = (size_t)l->g.rows;
  const float *mu = lstm_input(check, l, step, "mu_old", a), *sigma = lstm_input(check, l, step, "sigma_old", a);
  float *logits = check_floats(check, rows * 2 * a);
  for (size_t i = 0; i < rows * a; i++) {
    logits[i / a * 2 * a + i % a] = mu[i];
    logits[i / a * 2 * a + a + i % a] = logf(sigma[i]);
  }
  return logits;
}

/* One half of the columns of logits, or of their gradient. */
static void lstm_check_half(Check *check, const GoldLstm *l, int step, const char *name, const float *logits) {
  const size_t a = (size_t)l->actions, rows = (size_t)l->g.rows;
  float *half = check_floats(check, rows * a);
  for (size_t i = 0; i < rows * a; i++) half[i] = logits[i / a * 2 * a + i % a];
  lstm_compare(check, l, step, name, half, a);
}

typedef struct LstmLosses {
  OpsPolicySums policy;
  OpsGaussianSums regular;
  OpsValueSums value;
  double kl, terms;           /* terms: of the policy's loss */
  double sigma_terms;         /* largest term of a log standard deviation's gradient */
} LstmLosses;

static void lstm_actor(Check *check, GoldLstm *l, int step, LstmLosses *sums) {
  Ops *ops = check->ops;
  GoldPictures *g = &l->g;
  const Agent *agent = &g->agent;
  const size_t rows = (size_t)g->rows, a = (size_t)l->actions;
  const float *action = lstm_input(check, l, step, "action", a), *behavior = lstm_input(check, l, step, "logp_old", 1);
  float *advantage = lstm_input(check, l, step, "advantage_raw", 1), *ratio = check_floats(check, rows);
  float *entropy = check_floats(check, rows);
  advantage_normalize(ops, ADVANTAGE_CLEANRL_MINIBATCH, advantage, rows, NULL);
  lstm_compare(check, l, step, "advantage", advantage, 1);
  const float *logits = agent_pass(agent, ops, &agent->actor, l->x, g->rows);
  lstm_check_forward(check, l, step);
  lstm_check_half(check, l, step, "mu", logits);
  ops->policy_logp(ops, &agent->head, logits, action, g->logp, g->rows);
  lstm_compare(check, l, step, "logp", g->logp, 1);
  for (size_t r = 0; r < rows; r++) {
    ratio[r] = expf(g->logp[r] - behavior[r]);
    sums->terms += (double)(ratio[r] * fabsf(advantage[r])) / (double)rows;
    for (size_t k = 0; k < a; k++) entropy[r] += 1.418938533204672742f + logits[r * 2 * a + a + k];
  }
  lstm_compare(check, l, step, "ratio", ratio, 1);
  lstm_compare(check, l, step, "entropy_each", entropy, 1);
  ops->policy_loss(ops, &agent->head, logits, action, behavior, NULL, advantage, g->rows, check_real(check, "hp/eps"),
                   0, g->doutput, &sums->policy);
  ops->gaussian_regularize(ops, &agent->head, logits, l->blocks > 1 ? agent->blocks.of_row : l->no_block,
                           l->entropy_coef, RL_GAMES_BOUND, check_real(check, "hp/bounds_coef"), g->rows, g->doutput,
                           &sums->regular);
  lstm_check_half(check, l, step, "dmu", g->doutput);
  for (size_t k = 0; k < a; k++) {
    double terms = 0;
    for (size_t r = 0; r < rows; r++) terms += fabs((double)g->doutput[r * 2 * a + a + k]);
    sums->sigma_terms = fmax(sums->sigma_terms, terms);
  }
  ops->controller_kl(ops, &agent->head, logits, l->index, g->rows, lstm_old_policy(check, l, step), &sums->kl);
  agent_backward(agent, ops, &agent->actor, l->x, g->rows, g->doutput, &g->gradient);
}

static void lstm_critic(Check *check, GoldLstm *l, int step, LstmLosses *sums) {
  Ops *ops = check->ops;
  GoldPictures *g = &l->g;
  const Agent *agent = &g->agent;
  const float *values = agent_pass(agent, ops, &agent->critic, l->x, g->rows);
  lstm_compare(check, l, step, "value", values, 1);
  ops->value_loss(ops, values, lstm_input(check, l, step, "value_old", 1), lstm_input(check, l, step, "return", 1),
                  g->rows, 1, check_real(check, "hp/eps"), check_real(check, "hp/critic_coef"), g->dvalue,
                  &sums->value);
  lstm_compare(check, l, step, "dvalue", g->dvalue, 1);
  agent_backward(agent, ops, &agent->critic, l->x, g->rows, g->dvalue, &g->gradient);
  lstm_compare(check, l, step, "dh", g->gradient.recurrent, (size_t)l->width);
  lstm_check_starts(check, l, step);
}

static void lstm_check_losses(Check *check, const GoldLstm *l, int step, const LstmLosses *sums) {
  const double n = l->g.rows, actor = sums->policy.loss / n, critic = 2 * sums->value.loss / n;
  const double entropy = sums->regular.entropy / n, bounds = sums->regular.bounds / n;
  gold_compare_one(check, step, "loss_actor", actor, sums->terms);
  gold_compare_one(check, step, "loss_critic", critic, 0);
  gold_compare_one(check, step, "entropy_term", entropy, 0);
  gold_compare_one(check, step, "loss_bounds", bounds, 0);
  gold_compare_one(check, step, "kl_sapg", sums->kl / n, 0);
  gold_compare_one(check, step, "loss_total", actor + 0.5 * check_real(check, "hp/critic_coef") * critic - entropy +
                   check_real(check, "hp/bounds_coef") * bounds, sums->terms);
}

/* The gradient of log standard deviations is a small difference of large terms, and so are values derived from it. */
static void lstm_check_moments(Check *check, GoldLstm *l, int step, double factor, double terms) {
  GoldPictures *g = &l->g;
  const AgentNetwork *actor = &g->agent.actor;
  double largest = 0;
  for (int k = 0; k < l->blocks * l->actions; k++)
    largest = fmax(largest, fabs((double)g->gradient.actor[actor->log_sigma + (size_t)k]));
  g->tensor[0].terms = (1 - g->actor.beta1) * factor * terms;
  gold_check_tensors(check, g, step, "adam_m", g->m, g->m + actor->n);
  g->tensor[0].terms = (1 - g->actor.beta2) * factor * factor * 2 * largest * terms;
  gold_check_tensors(check, g, step, "adam_v", g->v, g->v + actor->n);
}

/* One norm over all, and one step of each vector. */
static void lstm_descend(Check *check, GoldLstm *l, int step, double terms) {
  GoldPictures *g = &l->g;
  Ops *ops = check->ops;
  const AgentNetwork *actor = &g->agent.actor, *critic = &g->agent.critic;
  const double norm = sqrt(ops->norm_squared(ops, g->gradient.actor, actor->n) +
                           ops->norm_squared(ops, g->gradient.critic, critic->n));
  int clipped;
  gold_compare_one(check, step, "grad_norm_all", norm, 0);
  g->tensor[0].terms = terms;
  gold_check_tensors(check, g, step, "grad", g->gradient.actor, g->gradient.critic);
  g->tensor[0].terms = 0;
  const double factor = optimizer_clip(&g->actor, norm, &clipped), rate = check_real(check, "hp/lr");
  optimizer_apply(ops, &g->actor, actor->theta, g->gradient.actor, actor->n, rate, factor);
  optimizer_apply(ops, &g->critic, critic->theta, g->gradient.critic, critic->n, rate, factor);
  gold_check_tensors(check, g, step, "theta", actor->theta, critic->theta);
  lstm_check_moments(check, l, step, factor, terms);
}

static void case_lstm(Check *check) {
  GoldLstm *l = check_memory(check, sizeof *l);
  Ops *shared = check->ops;
  lstm_make(check, l);
  if (ops_cpu_create(0, agent_ops_rows(&l->g.agent), agent_ops_width(&l->g.agent), &check->ops) != CORE_OK)
    check_give_up(check, "%s", core_error_message());
  for (int step = 0; step < l->g.steps; step++) {
    LstmLosses sums = {.terms = 0};
    lstm_read(check, l, step);
    agent_bind_sequences(&l->g.agent, &(RecurrentSequences){.length = l->length, .start = l->start,
                                                            .begins = l->begins});
    lstm_actor(check, l, step, &sums);
    lstm_critic(check, l, step, &sums);
    lstm_check_losses(check, l, step, &sums);
    lstm_descend(check, l, step, sums.sigma_terms);
  }
  ops_destroy(&check->ops);
  check->ops = shared;
  core_arena_destroy(&l->g.arena);
}

#endif
