/* Golden cases "ppo_nature", "ppo_impala", "pqn_nature": complete minibatch updates on images, by an agent as in a run:
 * outputs, losses, all gradients, one norm over them, Adam or RAdam. The files have channels first; GoldTensor maps
 * their entries to ours. Values inside the network are not compared; all gradients are. */
#ifndef TESTS_GOLDEN_PICTURE_H
#define TESTS_GOLDEN_PICTURE_H
#include "core/device/arena.h"
#include "tests/golden/golden_check.h"
#include "tests/trainer_steps.h"
#include "trainer/nets/agent.h"
#include "trainer/update/advantage.h"
#include "trainer/update/optimizer.h"

enum { GOLD_TENSORS = 64, GOLD_WHOLE = 4096 }; /* larger tensors are in the file in part only */

/* One tensor of the file: where it is in actor's ++ critic's vector, as [outer][channels][area][inner], of which ours
 * has [area][channels][outer or inner]. */
typedef struct GoldTensor {
  char name[40];
  size_t offset, n;
  size_t out, channels, area; /* a convolution's kernel, [out][channels][area]; area 0: in our order */
  size_t columns;             /* out == 0: [channels][area][columns] instead */
  double terms;               /* magnitude of the summands of the next values, if larger (check_tolerance) */
} GoldTensor;

typedef struct GoldPictures {
  Env env;
  EnvPixels pixels;
  CoreConfig config;
  CoreArena *arena;
  Agent agent;
  AgentGradient gradient;
  Optimizer actor, critic;
  GoldTensor tensor[GOLD_TENSORS];
  int tensors, rows, steps;
  bool is_q;
  float *doutput, *dvalue, *logp, *m, *v; /* m, v: of actor's, then of critic's */
} GoldPictures;

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Entry i of the file's tensor in our vector. */
static size_t gold_place(const GoldTensor *t, size_t i) {
  if (t->area == 0) return t->offset + i;
  if (t->out > 0) {
    const size_t a = i % t->area, c = i / t->area % t->channels, o = i / t->area / t->channels;
    return t->offset + (a * t->channels + c) * t->out + o;
  }
  const size_t k = i % t->columns, a = i / t->columns % t->area, c = i / t->columns / t->area;
  return t->offset + (a * t->channels + c) * t->columns + k;
}

/* Compares two consecutive vectors. */
static float *gold_number(const GoldPictures *g, float *actor, float *critic, size_t at) {
  return at < g->agent.actor.n ? actor + at : critic + (at - g->agent.actor.n);
}

/* The file's dimensions of in/theta/<name>. */
static void gold_shape(Check *check, const char *name, size_t d[4]) {
  const char *full = check_name(check, "in/theta/", name), *shape = check_name(check, full, "/shape");
  for (int i = 0; i < 4; i++) d[i] = 1;
  if (!check_has(check, shape)) {
    const GoldEntry *entry = check_entry(check, full);
    for (int i = 0; i < 4; i++) d[i] = (size_t)entry->dimension[i];
    return;
  }
  size_t n = 0;
  double *values = check_input(check, shape, &n);
  for (size_t i = 0; i < n && i < 4; i++) d[i] = (size_t)values[i];
}

static GoldTensor *gold_add(Check *check, GoldPictures *g, size_t offset, size_t n, const char *format, int a, int b,
                            int c) {
  GoldTensor *t = &g->tensor[g->tensors++];
  size_t d[4];
  *t = (GoldTensor){.offset = offset, .n = n};
  CORE_CHECK(g->tensors <= GOLD_TENSORS);
  snprintf(t->name, sizeof t->name, "%s", format);
  for (int k = 0; k < 3; k++) { /* each %d of the format is the next number */
    char *at = strstr(t->name, "%d"), rest[40];
    if (at == NULL) break;
    snprintf(rest, sizeof rest, "%s", at + 2);
    snprintf(at, sizeof t->name - (size_t)(at - t->name), "%d%s", k == 0 ? a : k == 1 ? b : c, rest);
  }
  gold_shape(check, t->name, d);
  if (d[0] * d[1] * d[2] * d[3] != n) check_give_up(check, "in/theta/%s has %zu entries, ours %zu", t->name,
                                                    d[0] * d[1] * d[2] * d[3], n);
  return t;
}

/* A convolution's kernel and bias, tensor number `first` of the encoder, and its layer norm's. */
static void gold_add_conv(Check *check, GoldPictures *g, int first, const char *format, int a, int b, int c) {
  const EncoderShape *shape = &g->agent.encoder.shape;
  const EncoderTensor *t = &shape->tensor[first];
  const size_t base = g->agent.actor.encoder;
  char name[40];
  size_t d[4];
  snprintf(name, sizeof name, "%s_w", format);
  GoldTensor *w = gold_add(check, g, base + t->offset, (size_t)t->rows * (size_t)t->columns, name, a, b, c);
  gold_shape(check, w->name, d);
  w->out = d[0], w->channels = d[1], w->area = d[2] * d[3];
  snprintf(name, sizeof name, "%s_b", format);
  gold_add(check, g, base + t[1].offset, (size_t)t[1].columns, name, a, b, c);
  if (!shape->layer_norm) return;
  for (int i = 0; i < 2; i++) {
    GoldTensor *norm = gold_add(check, g, base + t[2 + i].offset, (size_t)t[2 + i].columns, i ? "ln%d_b" : "ln%d_g", a,
                                0, 0);
    norm->channels = w->out, norm->area = norm->n / w->out, norm->columns = 1;
  }
}

/* The layer that sees the flattened convolutions, and the heads. */
static void gold_add_dense(Check *check, GoldPictures *g) {
  const NetworkShape *actor = &g->agent.actor.shape, *critic = &g->agent.critic.shape;
  const size_t channels = g->tensor[g->tensors - 1].n; /* a bias's, or a layer norm's */
  const size_t flat = (size_t)actor->width[0], hidden = (size_t)actor->width[1], outputs = (size_t)actor->width[2];
  GoldTensor *w = gold_add(check, g, network_kernel(actor, 0), flat * hidden, "dense_w", 0, 0, 0);
  w->channels = g->agent.encoder.shape.layer_norm ? g->tensor[g->tensors - 4].n : channels;
  w->area = flat / w->channels, w->columns = hidden;
  gold_add(check, g, network_bias(actor, 0), hidden, "dense_b", 0, 0, 0);
  if (g->is_q) {
    gold_add(check, g, network_norm_gain(actor, 0), hidden, "ln4_g", 0, 0, 0);
    gold_add(check, g, network_norm_offset(actor, 0), hidden, "ln4_b", 0, 0, 0);
  }
  gold_add(check, g, network_kernel(actor, 1), hidden * outputs, g->is_q ? "q_w" : "actor_w", 0, 0, 0);
  gold_add(check, g, network_bias(actor, 1), outputs, g->is_q ? "q_b" : "actor_b", 0, 0, 0);
  if (g->is_q) return;
  gold_add(check, g, g->agent.actor.n + network_kernel(critic, 0), hidden, "critic_w", 0, 0, 0);
  gold_add(check, g, g->agent.actor.n + network_bias(critic, 0), 1, "critic_b", 0, 0, 0);
}

static void gold_list(Check *check, GoldPictures *g) {
  const bool is_impala = g->agent.encoder.shape.kind == ENCODER_IMPALA;
  const int tensors = g->agent.encoder.shape.layer_norm ? 4 : 2;
  for (int l = 0; l < 3 && !is_impala; l++) gold_add_conv(check, g, l * tensors, "conv%d", l + 1, 0, 0);
  for (int s = 0; s < 3 && is_impala; s++) {
    gold_add_conv(check, g, 10 * s, "seq%d_conv", s, 0, 0);
    for (int i = 0; i < 4; i++) gold_add_conv(check, g, 10 * s + 2 + 2 * i, "seq%d_res%d_conv%d", s, i / 2, i % 2);
  }
  gold_add_dense(check, g);
  size_t n = 0;
  for (int i = 0; i < g->tensors; i++) n += g->tensor[i].n;
  if (n != g->agent.actor.n + g->agent.critic.n)
    check_give_up(check, "the file names %zu parameters, ours are %zu", n, g->agent.actor.n + g->agent.critic.n);
}

static void gold_read_tensor(Check *check, const GoldPictures *g, const GoldTensor *t) {
  const char *full = check_name(check, "in/theta/", t->name);
  size_t n = t->n;
  const bool is_whole = check_has(check, full);
  const float *values = is_whole ? check_input_float(check, full, &n) : NULL;
  const uint32_t seed = is_whole ? 0 : (uint32_t)(int32_t)check_real(check, check_name(check, full, "/seed"));
  const float scale = is_whole ? 0 : (float)check_real(check, check_name(check, full, "/scale"));
  for (size_t i = 0; i < t->n; i++)
    *gold_number(g, g->agent.actor.theta, g->agent.critic.theta, gold_place(t, i)) =
      is_whole ? values[i] : scale * gold_uniform(seed, i);
}

/* The file's sum, sum of magnitudes and norm of a large tensor, and some of its entries, by ours in its order. */
static void gold_check_large(Check *check, const GoldTensor *t, const char *name, const double *values) {
  size_t selected = 0;
  double sum = 0, magnitudes = 0, squares = 0;
  const double *select = check_input(check, check_name(check, "in/select/", t->name), &selected);
  const char *kept = check_name(check, name, "/select");
  const size_t count = gold_elements(check_entry(check, check_name(check, "out/", kept)));
  double *some = check_memory(check, count * sizeof *some);
  for (size_t i = 0; i < count; i++) {
    if (count > selected || !(select[i] >= 0 && select[i] < (double)t->n)) check_give_up(check, "%s: no entry", kept);
    some[i] = values[(size_t)select[i]];
  }
  for (size_t i = 0; i < t->n; i++) {
    sum += values[i];
    magnitudes += fabs(values[i]);
    squares += values[i] * values[i];
  }
  const double norm = sqrt(squares);
  check_doubles(check, "", kept, CHECK_SINGLE, some, count);
  check_values(check, "", check_name(check, name, "/sum"), CHECK_SINGLE, &sum, 1, magnitudes);
  check_doubles(check, "", check_name(check, name, "/abs_sum"), CHECK_SINGLE, &magnitudes, 1);
  check_doubles(check, "", check_name(check, name, "/norm"), CHECK_SINGLE, &norm, 1);
}

/* All tensors of step<s>/<what>/, with two of our vectors. */
static void gold_check_tensors(Check *check, const GoldPictures *g, int step, const char *what, float *actor,
                               float *critic) {
  for (int i = 0; i < g->tensors; i++) {
    const GoldTensor *t = &g->tensor[i];
    char prefix[CHECK_NAME / 2];
    double *values = check_memory(check, t->n * sizeof *values);
    snprintf(prefix, sizeof prefix, "step%d/%s/%s", step, what, t->name);
    for (size_t k = 0; k < t->n; k++) values[k] = (double)*gold_number(g, actor, critic, gold_place(t, k));
    if (check_has(check, check_name(check, "out/", prefix)))
      check_values(check, "", check_name(check, prefix, ""), CHECK_SINGLE, values, t->n, t->terms);
    else if (t->n > GOLD_WHOLE || check_has(check, check_name(check, "out/", check_name(check, prefix, "/sum"))))
      gold_check_large(check, t, check_name(check, prefix, ""), values);
  }
}

/* ---- the agent --------------------------------------------------------------------------------------------------- */

static void gold_configure(Check *check, GoldPictures *g) {
  const int network = check_int(check, "hp/network", 0, 2);
  const GoldEntry *obs = check_entry(check, "in/step0/obs");
  CoreConfig *config = &g->config;
  *config = core_config_default();
  g->is_q = network == 2;
  if (obs->type != GOLD_U8 || obs->dimensions != 4) check_give_up(check, "in/step0/obs is no picture");
  const int d[] = {(int)obs->dimension[1], (int)obs->dimension[2], (int)obs->dimension[3]};
  g->pixels = network == 1 ? (EnvPixels){d[0], d[1], d[2], 1, true} : (EnvPixels){d[1], d[2], 1, d[0], false};
  snprintf(config->algo.name, sizeof config->algo.name, "%s", g->is_q ? "pqn" : "ppo");
  snprintf(config->net.encoder, sizeof config->net.encoder, "%s", network == 1 ? "impala" : "nature");
  snprintf(config->net.sharing, sizeof config->net.sharing, "%s", g->is_q ? "separate" : "shared");
  snprintf(config->net.activation, sizeof config->net.activation, "relu");
  config->net.width = config->net.trunk_width = network == 1 ? 256 : 512;
  config->net.depth = g->is_q;
  g->env = (Env){.name = "golden", .worlds = 1, .observation_length = env_pixels_length(&g->pixels),
                 .pixels = &g->pixels, .level_count = 1, .max_steps = 1};
  g->env.whole_length = g->env.observation_length;
  g->env.head.factors = 1;
  g->env.head.logits = g->env.head.size[0] = check_int(check, "hp/actions", 1, OPS_LOGITS_MAX);
}

static Optimizer gold_optimizer(Check *check, const GoldPictures *g, float *m, float *v) {
  return (Optimizer){.rule = g->is_q ? OPTIMIZER_RADAM : OPTIMIZER_ADAM, .m = m, .v = v,
                     .beta1 = check_real(check, "hp/beta1"), .beta2 = check_real(check, "hp/beta2"),
                     .epsilon = g->is_q ? 1e-8 : check_real(check, "hp/adam_eps"),
                     .max_norm = check_real(check, "hp/max_norm"), .norm_epsilon = check_real(check, "hp/norm_eps")};
}

/* Memory of a registered agent, its gradient and its optimizers. */
static void gold_allocate(Check *check, GoldPictures *g) {
  agent_register_gradient(&g->agent, &g->gradient, g->rows, g->arena);
  if (core_arena_commit(g->arena) != CORE_OK) check_give_up(check, "%s", core_error_message());
  agent_bind_activations(&g->agent);
  const size_t n = g->agent.actor.n + g->agent.critic.n, rows = (size_t)g->rows;
  g->m = check_floats(check, n);
  g->v = check_floats(check, n);
  g->doutput = check_floats(check, rows * (size_t)g->agent.head.logits);
  g->dvalue = check_floats(check, rows);
  g->logp = check_floats(check, rows);
  g->actor = gold_optimizer(check, g, g->m, g->v);
  g->critic = gold_optimizer(check, g, g->m + g->agent.actor.n, g->v + g->agent.actor.n);
}

static void gold_make(Check *check, GoldPictures *g) {
  g->rows = check_int(check, "hp/B", 1, 1 << 10);
  g->steps = check_int(check, "hp/steps", 1, 1000);
  gold_configure(check, g);
  if (agent_check(&g->config) != CORE_OK || agent_check_env(&g->config, &g->env) != CORE_OK)
    check_give_up(check, "%s", core_error_message());
  g->arena = core_arena_create("golden pictures");
  agent_register(&g->agent, &g->config, &g->env, g->rows, g->arena);
  gold_allocate(check, g);
  gold_list(check, g);
  for (int i = 0; i < g->tensors; i++) gold_read_tensor(check, g, &g->tensor[i]);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static const float *gold_pixels(Check *check, const GoldPictures *g, const char *name) {
  const GoldEntry *entry = check_entry(check, name);
  const size_t row = (size_t)g->env.observation_length * sizeof(float), n = gold_elements(entry);
  if (entry->type != GOLD_U8 || n > (size_t)g->rows * row) check_give_up(check, "%s has another shape", name);
  unsigned char *bytes = check_memory(check, (size_t)g->rows * row);
  const size_t each = n / (size_t)g->rows;
  for (size_t r = 0; r < (size_t)g->rows; r++)
    memcpy(bytes + r * row, check->gold.bytes + entry->offset + r * each, each);
  return (const float *)(const void *)bytes;
}

static float *gold_input(Check *check, const GoldPictures *g, int step, const char *name) {
  char full[CHECK_NAME];
  size_t n = (size_t)g->rows;
  snprintf(full, sizeof full, "in/step%d/%s", step, name);
  return check_input_float(check, full, &n);
}

static void gold_compare(Check *check, int step, const char *name, const float *ours, size_t n) {
  char full[CHECK_NAME];
  snprintf(full, sizeof full, "step%d/%s", step, name);
  check_singles(check, "", check_name(check, full, ""), CHECK_SINGLE, ours, n);
}
static void gold_compare_one(Check *check, int step, const char *name, double ours, double terms) {
  char full[CHECK_NAME];
  snprintf(full, sizeof full, "step%d/%s", step, name);
  check_values(check, "", check_name(check, full, ""), CHECK_SINGLE, &ours, 1, terms);
}

static void gold_learn_q(Check *check, GoldPictures *g, int step, const float *x, const uint8_t *action) {
  Ops *ops = check->ops;
  const Agent *agent = &g->agent;
  const size_t outputs = (size_t)g->rows * (size_t)agent->head.logits;
  OpsValueSums sums;
  const float *q = agent_pass(agent, ops, &agent->actor, x, g->rows);
  gold_compare(check, step, "q", q, outputs);
  ops->q_loss(ops, q, action, gold_input(check, g, step, "target"), g->rows, agent->head.logits, g->doutput, &sums);
  gold_compare_one(check, step, "loss", sums.loss / g->rows, 0);
  gold_compare(check, step, "dhead", g->doutput, outputs);
  agent_backward(agent, ops, &agent->actor, x, g->rows, g->doutput, &g->gradient);
}

static void gold_learn_ppo(Check *check, GoldPictures *g, int step, const float *x, const uint8_t *action) {
  Ops *ops = check->ops;
  const Agent *agent = &g->agent;
  const size_t rows = (size_t)g->rows, outputs = rows * (size_t)agent->head.logits;
  const double epsilon = check_real(check, "hp/eps"), value_coef = check_real(check, "hp/vf_coef");
  const double entropy_coef = check_real(check, "hp/ent_coef");
  float *advantage = gold_input(check, g, step, "advantage"), terms = 0;
  const float *behavior = gold_input(check, g, step, "logp_behaviour");
  OpsPolicySums policy;
  OpsValueSums value;
  advantage_normalize(ops, ADVANTAGE_CLEANRL_MINIBATCH, advantage, rows, NULL);
  gold_compare(check, step, "advantage_used", advantage, rows);
  const float *head = agent_pass(agent, ops, &agent->actor, x, g->rows);
  gold_compare(check, step, "head", head, outputs);
  ops->policy_logp(ops, &agent->head, head, action, g->logp, g->rows);
  gold_compare(check, step, "logp", g->logp, rows);
  ops->policy_loss(ops, &agent->head, head, action, behavior, NULL, advantage, g->rows, epsilon, entropy_coef,
                   g->doutput, &policy);
  gold_compare(check, step, "dhead", g->doutput, outputs);
  agent_backward(agent, ops, &agent->actor, x, g->rows, g->doutput, &g->gradient);
  const float *values = agent_pass(agent, ops, &agent->critic, x, g->rows);
  gold_compare(check, step, "value", values, rows);
  ops->value_loss(ops, values, gold_input(check, g, step, "value_behaviour"), gold_input(check, g, step, "target"),
                  g->rows, check_int(check, "hp/value_clip", 0, 1), epsilon, value_coef, g->dvalue, &value);
  gold_compare(check, step, "dvalue", g->dvalue, rows);
  agent_backward(agent, ops, &agent->critic, x, g->rows, g->dvalue, &g->gradient);
  for (size_t r = 0; r < rows; r++) terms += expf(g->logp[r] - behavior[r]) * fabsf(advantage[r]) / (float)rows;
  const double losses[] = {policy.loss / g->rows, policy.entropy / g->rows, value.loss / g->rows};
  gold_compare_one(check, step, "loss_policy", losses[0], (double)terms);
  gold_compare_one(check, step, "entropy", losses[1], 0);
  gold_compare_one(check, step, "loss_value", losses[2], 0);
  gold_compare_one(check, step, "loss_total", losses[0] - entropy_coef * losses[1] + value_coef * losses[2],
                   (double)terms);
}

/* One norm over all, and one step of each vector. */
static void gold_descend(Check *check, GoldPictures *g, int step) {
  Ops *ops = check->ops;
  const AgentNetwork *actor = &g->agent.actor, *critic = &g->agent.critic;
  const int anneal = g->is_q ? 0 : check_int(check, "hp/anneal", 0, 1);
  const int iteration = anneal ? step / check_int(check, "hp/updates_per_iteration", 1, 1 << 20) : 0;
  const double share = anneal ? 1 - iteration / check_real(check, "hp/total_iterations") : 1;
  char given[CHECK_NAME];
  snprintf(given, sizeof given, "out/step%d/lr", step);
  const double rate = g->is_q ? check_real(check, given) : check_real(check, "hp/lr") * share;
  int clipped;
  double squares = ops->norm_squared(ops, g->gradient.actor, actor->n);
  if (critic->n > 0) squares += ops->norm_squared(ops, g->gradient.critic, critic->n);
  gold_compare_one(check, step, "grad_norm_all", sqrt(squares), 0);
  gold_compare_one(check, step, "lr", rate, 0);
  gold_check_tensors(check, g, step, "grad", g->gradient.actor, g->gradient.critic);
  const double factor = optimizer_clip(&g->actor, sqrt(squares), &clipped);
  optimizer_apply(ops, &g->actor, actor->theta, g->gradient.actor, actor->n, rate, factor);
  if (critic->n > 0) optimizer_apply(ops, &g->critic, critic->theta, g->gradient.critic, critic->n, rate, factor);
  gold_check_tensors(check, g, step, "theta", actor->theta, critic->theta);
  if (step != g->steps - 1) return;
  gold_check_tensors(check, g, step, "adam_m", g->m, g->m + actor->n);
  gold_check_tensors(check, g, step, "adam_v", g->v, g->v + actor->n);
}

static void case_pictures(Check *check) {
  GoldPictures *g = check_memory(check, sizeof *g);
  Ops *shared = check->ops;
  gold_make(check, g);
  if (ops_cpu_create(0, agent_ops_rows(&g->agent), agent_ops_width(&g->agent), &check->ops) != CORE_OK)
    check_give_up(check, "%s", core_error_message());
  for (int step = 0; step < g->steps; step++) {
    char name[CHECK_NAME];
    size_t rows = (size_t)g->rows;
    snprintf(name, sizeof name, "in/step%d/action", step);
    const uint8_t *action = check_input_bytes(check, name, &rows, g->agent.head.logits);
    snprintf(name, sizeof name, "in/step%d/obs", step);
    const float *x = gold_pixels(check, g, name);
    if (g->is_q) gold_learn_q(check, g, step, x, action);
    else gold_learn_ppo(check, g, step, x, action);
    gold_descend(check, g, step);
  }
  check->left_out = "values of nodes inside of the network";
  ops_destroy(&check->ops);
  check->ops = shared;
  core_arena_destroy(&g->arena);
}

#endif
