/* Golden case "update": a whole PPO or PPO-EWMA minibatch update with any head and actor and critic apart, in one
 * vector, or on a common trunk, several steps in a row: forward pass, every loss term, all gradients, clipping, Adam,
 * the proximal weights. */
#ifndef TESTS_GOLDEN_PPO_UPDATE_H
#define TESTS_GOLDEN_PPO_UPDATE_H
#include "tests/golden/golden_check.h"
#include "tests/trainer_steps.h"
#include "trainer/nets/agent.h"
#include "trainer/update/advantage.h"
#include "trainer/update/optimizer.h"

/* A vector of parameters as the file names it: "actor" and "critic", or "all" of both. */
typedef struct GoldVector {
  const char *name;
  size_t n;
  float *theta, *gradient, *m, *v, *before;
} GoldVector;

typedef struct Update {
  int rows, inputs, steps, ewma, value_clip, per_iteration, iterations, anneal;
  double epsilon, value_coef, entropy_coef, rate, ratio_cap;
  AdvantageNorm norm;
  Agent agent;
  AgentGradient gradient;
  Optimizer actor, critic;
  GoldVector vector[2];
  int vectors;
  Proximal proximal;                     /* theta NULL: plain PPO */
  float *dhead, *dvalue, *logp, *head_proximal, *logp_proximal;
} Update;

/* One minibatch of the file. */
typedef struct Batch {
  const char *prefix;                    /* "step0/" */
  const float *obs, *logp_behavior, *value_behavior, *target;
  float *advantage;
  const void *action;                    /* type as required by the head */
  const float *noise;                    /* noise of a sampled entropy, or NULL */
} Batch;

/* -------- the agent of the file ------------------------------------------------------------------------------- */

static NetworkShape tower_from_file(Check *check, int inputs, int outputs) {
  static const OpsActivation activation[] = {OPS_TANH, OPS_RELU, OPS_SILU};
  size_t depth = 0;
  double *hidden = check_input(check, "hp/hidden", &depth);
  int width[NETWORK_LAYERS_MAX] = {0};
  if (depth >= NETWORK_LAYERS_MAX) check_give_up(check, "hp/hidden: %zu layers", depth);
  for (size_t l = 0; l < depth; l++) {
    if (!(hidden[l] >= 1 && hidden[l] <= 4096)) check_give_up(check, "hp/hidden: width %g", hidden[l]);
    width[l] = (int)hidden[l];
  }
  return network_shape(inputs, width, (int)depth, outputs, activation[check_int(check, "hp/activation", 0, 2)], 1);
}

static void vector_from_file(Check *check, GoldVector *vector, const char *name, size_t n) {
  *vector = (GoldVector){.name = name, .n = n};
  vector->theta = check_input_float(check, check_name(check, "in/theta_", name), &n);
  vector->gradient = check_floats(check, n);
  vector->m = check_floats(check, n);
  vector->v = check_floats(check, n);
  vector->before = check_floats(check, n);
}

/* Puts a network's weights, gradient and moments at `offset` of a vector. */
static void place_network(Check *check, const GoldVector *vector, size_t offset, AgentNetwork *network,
                          float **gradient, Optimizer *optimizer) {
  network->theta = vector->theta + offset;
  *gradient = vector->gradient + offset;
  *optimizer = (Optimizer){
      .m = vector->m + offset, .v = vector->v + offset, .beta1 = check_real(check, "hp/beta1"),
      .beta2 = check_real(check, "hp/beta2"), .epsilon = check_real(check, "hp/adam_eps"),
      .max_norm = check_real(check, "hp/max_norm"), .norm_epsilon = check_real(check, "hp/norm_eps")};
}

static OpsHead head_from_file(Check *check) {
  const OpsHeadKind kind = (OpsHeadKind)check_int(check, "hp/head", 0, 2);
  if (kind == OPS_MULTI_DISCRETE) return check_head(check);
  OpsHead head = {.kind = kind, .factors = check_int(check, "hp/A", 1, OPS_FACTORS_MAX), .low = -1, .high = 1};
  head.logits = 2 * head.factors;
  if (kind == OPS_TANH_AFFINE) {
    head.low = (float)check_real(check, "hp/lo");
    head.high = (float)check_real(check, "hp/hi");
  }
  return head;
}

static void agent_from_file(Check *check, Update *u) {
  Agent *agent = &u->agent;
  AgentNetwork *actor = &agent->actor, *critic = &agent->critic;
  const AgentSharing layout = (AgentSharing)check_int(check, "hp/layout", 0, 2);
  *agent = (Agent){.head = head_from_file(check),
                   .inputs = u->inputs,
                   .max_rows = u->rows,
                   .sharing = layout,
                   .actor.name = "actor",
                   .critic.name = "critic",
                   .trunk = layout == AGENT_SHARED};
  const int below = layout == AGENT_SHARED ? check_int(check, "hp/trunk", 1, 4096) : u->inputs;
  const OpsHead *head = &agent->head;
  actor->shape = tower_from_file(check, u->inputs, head->kind == OPS_GAUSSIAN ? head->factors : head->logits);
  critic->shape = tower_from_file(check, below, 1);
  network_prepend(&actor->shape, &below, agent->trunk, OPS_RELU);
  agent_count_parameters(agent);
  u->vectors = layout == AGENT_SEPARATE ? 2 : 1;
  vector_from_file(check, &u->vector[0], u->vectors == 2 ? "actor" : "all",
                   actor->n + (u->vectors == 2 ? 0 : critic->n));
  if (u->vectors == 2) vector_from_file(check, &u->vector[1], "critic", critic->n);
  place_network(check, &u->vector[0], 0, actor, &u->gradient.actor, &u->actor);
  place_network(check, &u->vector[u->vectors - 1], u->vectors == 2 ? 0 : actor->n, critic, &u->gradient.critic,
                &u->critic);
  agent->activation_block = check_floats(check, network_activation_floats(&actor->shape, u->rows) +
                                                    network_activation_floats(&critic->shape, u->rows));
  agent_bind_activations(agent);
  size_t width = (size_t)agent_ops_width(agent), rows = (size_t)u->rows;
  u->gradient.scratch = check_floats(check, 2 * rows * width);
  u->gradient.below = check_floats(check, 2 * rows * width);
  u->gradient.mean = check_floats(check, rows * (size_t)head->factors);
  agent->joined = check_floats(check, rows * (size_t)head->logits);
}

static void proximal_from_file(Check *check, Update *u) {
  u->proximal =
      (Proximal){.theta = check_input_float(check, "in/theta_proximal_actor", &u->agent.actor.n),
                 .com = check_real(check, "hp/com"),
                 .weight = check_real(check, "in/ewma_weight"),
                 .rule = check_int(check, "hp/ewma_rule", 1, 2) == 1 ? PROXIMAL_PLAIN : PROXIMAL_BIAS_CORRECTED};
}

static void update_from_file(Check *check, Update *u) {
  static const AdvantageNorm norm[] = {ADVANTAGE_RAW, ADVANTAGE_KINETIX_MINIBATCH, ADVANTAGE_CLEANRL_MINIBATCH};
  *u = (Update){.rows = check_int(check, "hp/B", 1, 1 << 16),
                .inputs = check_int(check, "hp/obs", 1, 4096),
                .steps = check_int(check, "hp/steps", 1, 1000),
                .ewma = check_int(check, "hp/algo", 0, 1),
                .value_clip = check_int(check, "hp/value_clip", 0, 1),
                .anneal = check_int(check, "hp/anneal", 0, 1),
                .per_iteration = check_int(check, "hp/updates_per_iteration", 1, 1 << 20),
                .iterations = check_int(check, "hp/total_iterations", 1, 1 << 30),
                .epsilon = check_real(check, "hp/eps"),
                .value_coef = check_real(check, "hp/vf_coef"),
                .entropy_coef = check_real(check, "hp/ent_coef"),
                .rate = check_real(check, "hp/lr"),
                .ratio_cap = check_real(check, "hp/imp_samp_max"),
                .norm = norm[check_int(check, "hp/adv_norm", 0, 2)]};
  agent_from_file(check, u);
  if (u->ewma) proximal_from_file(check, u);
  size_t rows = (size_t)u->rows, outputs = rows * (size_t)u->agent.head.logits;
  u->dhead = check_floats(check, outputs);
  u->dvalue = check_floats(check, rows);
  u->logp = check_floats(check, rows);
  u->head_proximal = check_floats(check, outputs);
  u->logp_proximal = check_floats(check, rows);
}

static const void *actions_from_file(Check *check, const Update *u, const char *name) {
  const OpsHead *head = &u->agent.head;
  size_t n = (size_t)u->rows * (size_t)head->factors;
  if (ops_head_is_continuous(head)) return check_input_float(check, name, &n);
  const uint8_t *actions = check_input_bytes(check, name, &n, OPS_LOGITS_MAX);
  for (size_t i = 0; i < n; i++)
    if (actions[i] >= head->size[i % (size_t)head->factors]) check_give_up(check, "%s is not in its factor", name);
  return actions;
}

static Batch batch_from_file(Check *check, const Update *u, int step) {
  char prefix[32], input[40];
  snprintf(prefix, sizeof prefix, "step%d/", step);
  snprintf(input, sizeof input, "in/step%d/", step);
  const OpsHead *head = &u->agent.head;
  size_t rows = (size_t)u->rows, observations = rows * (size_t)u->inputs, noises = rows * (size_t)head->factors;
  Batch batch = {.prefix = check_name(check, prefix, ""),
                 .obs = check_input_float(check, check_name(check, input, "obs"), &observations),
                 .logp_behavior = check_input_float(check, check_name(check, input, "logp_behaviour"), &rows),
                 .value_behavior = check_input_float(check, check_name(check, input, "value_behaviour"), &rows),
                 .target = check_input_float(check, check_name(check, input, "target"), &rows),
                 .advantage = check_input_float(check, check_name(check, input, "advantage"), &rows),
                 .action = actions_from_file(check, u, check_name(check, input, "action"))};
  if (head->kind == OPS_TANH_AFFINE) batch.noise = check_input_float(check, check_name(check, input, "noise"), &noises);
  return batch;
}

/* Compares n values with step<s>/name, if the file holds it: of the largest networks it holds some steps only. */
static void check_step(Check *check, const Batch *batch, const char *name, const float *ours, size_t n) {
  const char *full = check_name(check, batch->prefix, name);
  if (check_has(check, check_name(check, "out/", full))) check_singles(check, "", full, CHECK_SINGLE, ours, n);
}
/* A mean over the minibatch; `terms` is the mean magnitude of its summands. */
static void check_step_mean(Check *check, const Batch *batch, const char *name, double ours, double terms) {
  check_values(check, "", check_name(check, batch->prefix, name), CHECK_SINGLE, &ours, 1, terms);
}
static void check_step_scalar(Check *check, const Batch *batch, const char *name, double ours) {
  check_step_mean(check, batch, name, ours, 0);
}

/* The hidden layers of the pass that was last; `number`: the file's of the first of them. Returns the next. */
static int compare_hidden(Check *check, const Update *u, const Batch *batch, const AgentNetwork *network, int number) {
  char name[32];
  for (int l = 0; l < network->shape.layers - 1; l++, number++) {
    snprintf(name, sizeof name, "hidden%d", number);
    check_step(check, batch, name, network->activations.hidden[l],
               (size_t)u->rows * (size_t)network->shape.width[l + 1]);
  }
  return number;
}

/* exp(a - b) for each row. */
static const float *exponential(Check *check, const float *a, const float *b, size_t n) {
  float *values = check_floats(check, n);
  for (size_t i = 0; i < n; i++) values[i] = expf(a[i] - b[i]);
  return values;
}

static void run_proximal(Check *check, Update *u, const Batch *batch) {
  const Agent *agent = &u->agent;
  agent_policy(agent, check->ops, u->proximal.theta, batch->obs, u->rows, u->head_proximal);
  check->ops->policy_logp(check->ops, &agent->head, u->head_proximal, batch->action, u->logp_proximal, u->rows);
  check_step(check, batch, "logp_proximal", u->logp_proximal, (size_t)u->rows);
}

static void compare_ratios(Check *check, const Update *u, const Batch *batch) {
  size_t rows = (size_t)u->rows;
  check_step(check, batch, "logp", u->logp, rows);
  check_step(check, batch, "ratio", exponential(check, u->logp, batch->logp_behavior, rows), rows);
  if (!u->ewma) return;
  check_step(check, batch, "ratio_proximal", exponential(check, u->logp, u->logp_proximal, rows), rows);
  check_step(check, batch, "weight", exponential(check, u->logp_proximal, batch->logp_behavior, rows), rows);
}

/* openai/ppo-ewma's cap on the ratio (its ppo.py, imp_samp_max): the behavior's log-probability is raised, as a
 * constant. */
static const float *capped_behavior(Check *check, const Update *u, const Batch *batch) {
  if (!(u->ratio_cap > 0)) return batch->logp_behavior;
  float *capped = check_floats(check, (size_t)u->rows);
  for (int r = 0; r < u->rows; r++) capped[r] = fmaxf(batch->logp_behavior[r], u->logp[r] - (float)log(u->ratio_cap));
  return capped;
}

/* Terms of the losses of both networks, before the coefficients of entropy and value. */
typedef struct Losses { double policy, entropy, value, terms; } Losses;

/* The actor's pass, loss and backward pass. Returns the number of its hidden layers in the file. */
static int run_actor(Check *check, Update *u, const Batch *batch, Losses *losses) {
  Ops *ops = check->ops;
  const Agent *agent = &u->agent;
  /* In the file, "head" is the network's output: for a Gaussian, the means. */
  const size_t outputs = (size_t)u->rows * (size_t)agent->actor.shape.width[agent->actor.shape.layers];
  const bool gaussian = agent->head.kind == OPS_GAUSSIAN;
  OpsPolicySums policy, uncapped;
  double rows = u->rows, terms_k1 = 0;
  const float *head = agent_pass(agent, ops, &agent->actor, batch->obs, u->rows);
  ops->policy_logp(ops, &agent->head, head, batch->action, u->logp, u->rows);
  check_step(check, batch, "head", agent->actor.activations.hidden[agent->actor.shape.layers - 1], outputs);
  int hidden = compare_hidden(check, u, batch, &agent->actor, 0);
  compare_ratios(check, u, batch);
  ops->policy_loss(ops, &agent->head, head, batch->action, batch->logp_behavior, NULL, batch->advantage, u->rows,
                   u->epsilon, u->entropy_coef, u->dhead, &uncapped);
  ops->policy_loss(ops, &agent->head, head, batch->action, capped_behavior(check, u, batch),
                   u->ewma ? u->logp_proximal : NULL, batch->advantage, u->rows, u->epsilon, u->entropy_coef, u->dhead,
                   &policy);
  double sampled = 0;
  if (batch->noise)
    ops->policy_sampled_entropy(ops, &agent->head, head, batch->noise, u->rows, u->entropy_coef, u->dhead, &sampled);
  policy.entropy += sampled;
  *losses = (Losses){.policy = policy.loss / rows, .entropy = policy.entropy / rows};
  for (int r = 0; r < u->rows; r++) {
    double l = (double)u->logp[r] - (double)batch->logp_behavior[r];
    losses->terms += fabs(exp(l) * (double)batch->advantage[r]) / rows;
    terms_k1 += fabs(l) / rows;
  }
  check_step_mean(check, batch, "k1", uncapped.k1 / rows, terms_k1);
  check_step_scalar(check, batch, "k3", uncapped.k3 / rows);
  check_step_scalar(check, batch, "clip_fraction", uncapped.clipped / rows);
  check_step_scalar(check, batch, "clip_fraction_proximal", policy.clipped / rows);
  if (!gaussian) check_step(check, batch, "dhead", u->dhead, outputs);
  agent_backward(agent, ops, &agent->actor, batch->obs, u->rows, u->dhead, &u->gradient);
  if (gaussian) check_step(check, batch, "dhead", u->gradient.mean, outputs);
  return hidden;
}

static void run_critic(Check *check, Update *u, const Batch *batch, int hidden, Losses *losses) {
  Ops *ops = check->ops;
  const Agent *agent = &u->agent;
  OpsValueSums value;
  const float *values = agent_pass(agent, ops, &agent->critic, batch->obs, u->rows);
  check_step(check, batch, "value", values, (size_t)u->rows);
  compare_hidden(check, u, batch, &agent->critic, hidden);
  ops->value_loss(ops, values, batch->value_behavior, batch->target, u->rows, u->value_clip, u->epsilon, u->value_coef,
                  u->dvalue, &value);
  losses->value = value.loss / u->rows;
  check_step(check, batch, "dvalue", u->dvalue, (size_t)u->rows);
  agent_backward(agent, ops, &agent->critic, batch->obs, u->rows, u->dvalue, &u->gradient);
}

static void compare_losses(Check *check, const Update *u, const Batch *batch, const Losses *losses) {
  double actor = losses->policy - u->entropy_coef * losses->entropy, critic = u->value_coef * losses->value;
  check_step_mean(check, batch, "loss_policy", losses->policy, losses->terms);
  check_step_scalar(check, batch, "loss_value", losses->value);
  check_step_scalar(check, batch, "entropy", losses->entropy);
  check_step_mean(check, batch, "loss_actor", actor, losses->terms);
  check_step_scalar(check, batch, "loss_critic", critic);
  check_step_mean(check, batch, "loss_total", actor + critic, losses->terms);
}

/* Clips by the norm of each vector and steps both networks. */
static void step_networks(Check *check, Update *u, const double norm[2], double rate) {
  Ops *ops = check->ops;
  const AgentNetwork *actor = &u->agent.actor, *critic = &u->agent.critic;
  int clipped;
  double factor = optimizer_clip(&u->actor, norm[0], &clipped);
  optimizer_apply(ops, &u->actor, actor->theta, u->gradient.actor, actor->n, rate, factor);
  factor = optimizer_clip(&u->critic, norm[u->vectors - 1], &clipped);
  optimizer_apply(ops, &u->critic, critic->theta, u->gradient.critic, critic->n, rate, factor);
}

/* Compares everything that the file kept of a step. */
static void run_step(Check *check, Update *u, const Batch *batch, double rate) {
  char name[64];
  Ops *ops = check->ops;
  double norm[2];
#define KEPT(what, values) \
  (snprintf(name, sizeof name, what "_%s", vector->name), check_step(check, batch, name, (values), vector->n))
#define SCALAR(what, value) \
  (snprintf(name, sizeof name, what "_%s", vector->name), check_step_scalar(check, batch, name, (value)))
  for (int i = 0; i < u->vectors; i++) {
    const GoldVector *vector = &u->vector[i];
    norm[i] = sqrt(ops->norm_squared(ops, vector->gradient, vector->n));
    KEPT("grad", vector->gradient);
    SCALAR("grad_norm", norm[i]);
    memcpy(vector->before, vector->theta, sizeof(float) * vector->n);
  }
  step_networks(check, u, norm, rate);
  for (int i = 0; i < u->vectors; i++) {
    const GoldVector *vector = &u->vector[i];
    SCALAR("update_norm", sqrt(ops->distance_squared(ops, vector->theta, vector->before, vector->n)));
    KEPT("theta", vector->theta);
    KEPT("adam_m", vector->m);
    KEPT("adam_v", vector->v);
  }
#undef KEPT
#undef SCALAR
}

static void case_update(Check *check) {
  Update u;
  update_from_file(check, &u);
  for (int step = 0; step < u.steps; step++) {
    Batch batch = batch_from_file(check, &u, step);
    int iteration = step / u.per_iteration;
    double rate = u.anneal ? u.rate * (1 - (double)iteration / u.iterations) : u.rate;
    Losses losses;
    advantage_normalize(check->ops, u.norm, batch.advantage, (size_t)u.rows, NULL);
    check_step(check, &batch, "advantage_used", batch.advantage, (size_t)u.rows);
    if (u.ewma) run_proximal(check, &u, &batch);
    run_critic(check, &u, &batch, run_actor(check, &u, &batch, &losses), &losses);
    compare_losses(check, &u, &batch, &losses);
    check_step_scalar(check, &batch, "lr", rate);
    run_step(check, &u, &batch, rate);
    if (!u.ewma) continue;
    proximal_update(check->ops, &u.proximal, u.agent.actor.theta, u.agent.actor.n);
    check_step(check, &batch, "theta_proximal_actor", u.proximal.theta, u.agent.actor.n);
    check_step_scalar(check, &batch, "ewma_weight", u.proximal.weight);
  }
}

#endif
