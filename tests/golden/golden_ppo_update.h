/* Golden case "update": a whole PPO or PPO-EWMA minibatch update with separate networks and a multi-discrete head,
 * several steps in a row: forward pass, every loss term, all gradients, clipping, Adam, the proximal weights. */
#ifndef TESTS_GOLDEN_PPO_UPDATE_H
#define TESTS_GOLDEN_PPO_UPDATE_H
#include "tests/golden/golden_check.h"
#include "trainer/advantage.h"
#include "trainer/network.h"
#include "trainer/optimizer.h"

typedef struct GoldNetwork {
  const char *name;                      /* "actor" */
  NetworkShape shape;
  size_t n;
  float *theta, *gradient, *before;
  NetworkActivations activations;
  Optimizer optimizer;
} GoldNetwork;

typedef struct Update {
  OpsHead head;
  int rows, inputs, steps, ewma, value_clip, per_iteration, iterations, anneal;
  double epsilon, value_coef, entropy_coef, rate, ratio_cap;
  AdvantageNorm norm;
  GoldNetwork actor, critic;
  Proximal proximal;                     /* theta NULL: plain PPO */
  NetworkActivations proximal_activations;
  float *scratch, *dhead, *dvalue, *logp, *logp_proximal;
} Update;

/* One minibatch of the file. */
typedef struct Batch {
  const char *prefix;                    /* "step0/" */
  const float *obs, *logp_behaviour, *value_behaviour, *target;
  float *advantage;
  const uint8_t *action;
} Batch;

static void network_from_file(Check *check, Update *u, GoldNetwork *network, const char *name, int outputs) {
  static const OpsActivation activation[] = {OPS_TANH, OPS_RELU, OPS_SILU};
  size_t depth = 0;
  double *hidden = check_input(check, "hp/hidden", &depth);
  if (depth >= NETWORK_LAYERS_MAX) check_give_up(check, "hp/hidden: %zu layers", depth);
  network->name = name;
  network->shape =
      network_shape(u->inputs, 1, (int)depth, outputs, activation[check_int(check, "hp/activation", 0, 2)], 1);
  for (size_t l = 0; l < depth; l++) {
    if (!(hidden[l] >= 1 && hidden[l] <= 4096)) check_give_up(check, "hp/hidden: width %g", hidden[l]);
    network->shape.width[l + 1] = (int)hidden[l];
  }
  size_t n = network->n = network_parameters(&network->shape);
  network->theta = check_input_float(check, check_name(check, "in/theta_", name), &n);
  network->gradient = check_floats(check, n);
  network->before = check_floats(check, n);
  network_place_activations(&network->shape, u->rows,
                            check_floats(check, network_activation_floats(&network->shape, u->rows)),
                            &network->activations);
  network->optimizer = (Optimizer){
      .m = check_floats(check, n), .v = check_floats(check, n), .beta1 = check_real(check, "hp/beta1"),
      .beta2 = check_real(check, "hp/beta2"), .epsilon = check_real(check, "hp/adam_eps"),
      .max_norm = check_real(check, "hp/max_norm"), .norm_epsilon = check_real(check, "hp/norm_eps")};
}

static void proximal_from_file(Check *check, Update *u) {
  u->proximal =
      (Proximal){.theta = check_input_float(check, "in/theta_proximal_actor", &u->actor.n),
                 .com = check_real(check, "hp/com"),
                 .weight = check_real(check, "in/ewma_weight"),
                 .rule = check_int(check, "hp/ewma_rule", 1, 2) == 1 ? PROXIMAL_PLAIN : PROXIMAL_BIAS_CORRECTED};
  network_place_activations(&u->actor.shape, u->rows,
                            check_floats(check, network_activation_floats(&u->actor.shape, u->rows)),
                            &u->proximal_activations);
}

static int widest(const NetworkShape *shape) {
  int width = 0;
  for (int l = 1; l <= shape->layers; l++) width = shape->width[l] > width ? shape->width[l] : width;
  return width;
}

static void update_from_file(Check *check, Update *u) {
  static const AdvantageNorm norm[] = {ADVANTAGE_RAW, ADVANTAGE_KINETIX_MINIBATCH, ADVANTAGE_CLEANRL_MINIBATCH};
  *u = (Update){.head = check_head(check),
                .rows = check_int(check, "hp/B", 1, 1 << 16),
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
  network_from_file(check, u, &u->actor, "actor", u->head.logits);
  network_from_file(check, u, &u->critic, "critic", 1);
  if (u->ewma) proximal_from_file(check, u);
  size_t rows = (size_t)u->rows;
  int width = widest(&u->actor.shape) > widest(&u->critic.shape) ? widest(&u->actor.shape) : widest(&u->critic.shape);
  u->scratch = check_floats(check, 2 * rows * (size_t)width);
  u->dhead = check_floats(check, rows * (size_t)u->head.logits);
  u->dvalue = check_floats(check, rows);
  u->logp = check_floats(check, rows);
  u->logp_proximal = check_floats(check, rows);
}

static Batch batch_from_file(Check *check, const Update *u, int step) {
  char prefix[32], input[40];
  snprintf(prefix, sizeof prefix, "step%d/", step);
  snprintf(input, sizeof input, "in/step%d/", step);
  size_t rows = (size_t)u->rows, observations = rows * (size_t)u->inputs, actions = rows * (size_t)u->head.factors;
  Batch batch = {.prefix = check_name(check, prefix, ""),
                 .obs = check_input_float(check, check_name(check, input, "obs"), &observations),
                 .logp_behaviour = check_input_float(check, check_name(check, input, "logp_behaviour"), &rows),
                 .value_behaviour = check_input_float(check, check_name(check, input, "value_behaviour"), &rows),
                 .target = check_input_float(check, check_name(check, input, "target"), &rows),
                 .advantage = check_input_float(check, check_name(check, input, "advantage"), &rows),
                 .action = check_input_bytes(check, check_name(check, input, "action"), &actions, OPS_LOGITS_MAX)};
  for (size_t i = 0; i < actions; i++)
    if (batch.action[i] >= u->head.size[i % (size_t)u->head.factors])
      check_give_up(check, "%saction is not in its factor", input);
  return batch;
}

/* Compares n values with step<s>/name, if the file holds it: of the largest networks it holds some steps only. */
static void check_step(Check *check, const Batch *batch, const char *name, const float *ours, size_t n) {
  const char *full = check_name(check, batch->prefix, name);
  if (check_has(check, check_name(check, "out/", full))) check_singles(check, "", full, CHECK_SINGLE, ours, n);
}
/* A mean over the minibatch; `terms` is the mean magnitude of what it adds up. */
static void check_step_mean(Check *check, const Batch *batch, const char *name, double ours, double terms) {
  check_values(check, "", check_name(check, batch->prefix, name), CHECK_SINGLE, &ours, 1, terms);
}
static void check_step_scalar(Check *check, const Batch *batch, const char *name, double ours) {
  check_step_mean(check, batch, name, ours, 0);
}

static void compare_hidden(Check *check, const Update *u, const Batch *batch) {
  const GoldNetwork *networks[] = {&u->actor, &u->critic};
  char name[32];
  for (int i = 0, number = 0; i < 2; i++)
    for (int l = 0; l < networks[i]->shape.layers - 1; l++, number++) {
      snprintf(name, sizeof name, "hidden%d", number);
      check_step(check, batch, name, networks[i]->activations.hidden[l],
                 (size_t)u->rows * (size_t)networks[i]->shape.width[l + 1]);
    }
}

/* exp(a - b) for each row. */
static const float *exponential(Check *check, const float *a, const float *b, size_t n) {
  float *values = check_floats(check, n);
  for (size_t i = 0; i < n; i++) values[i] = expf(a[i] - b[i]);
  return values;
}

static const float *run_forward(Check *check, Update *u, const Batch *batch) {
  Ops *ops = check->ops;
  size_t rows = (size_t)u->rows;
  network_forward(ops, &u->actor.shape, u->actor.theta, batch->obs, u->rows, &u->actor.activations);
  network_forward(ops, &u->critic.shape, u->critic.theta, batch->obs, u->rows, &u->critic.activations);
  const float *head = u->actor.activations.hidden[u->actor.shape.layers - 1];
  ops->policy_logp(ops, &u->head, head, batch->action, u->logp, u->rows);
  advantage_standardise(ops, u->norm, batch->advantage, rows, NULL);
  check_step(check, batch, "head", head, rows * (size_t)u->head.logits);
  check_step(check, batch, "value", u->critic.activations.hidden[u->critic.shape.layers - 1], rows);
  check_step(check, batch, "logp", u->logp, rows);
  check_step(check, batch, "ratio", exponential(check, u->logp, batch->logp_behaviour, rows), rows);
  check_step(check, batch, "advantage_used", batch->advantage, rows);
  compare_hidden(check, u, batch);
  if (u->ewma) {
    network_forward(ops, &u->actor.shape, u->proximal.theta, batch->obs, u->rows, &u->proximal_activations);
    ops->policy_logp(ops, &u->head, u->proximal_activations.hidden[u->actor.shape.layers - 1], batch->action,
                     u->logp_proximal, u->rows);
    check_step(check, batch, "logp_proximal", u->logp_proximal, rows);
    check_step(check, batch, "ratio_proximal", exponential(check, u->logp, u->logp_proximal, rows), rows);
    check_step(check, batch, "weight", exponential(check, u->logp_proximal, batch->logp_behaviour, rows), rows);
  }
  return head;
}

/* openai/ppo-ewma's cap on the ratio (spec 2.3): the behaviour's log-probability is raised, as a constant. */
static const float *capped_behaviour(Check *check, const Update *u, const Batch *batch) {
  if (!(u->ratio_cap > 0)) return batch->logp_behaviour;
  float *capped = check_floats(check, (size_t)u->rows);
  for (int r = 0; r < u->rows; r++) capped[r] = fmaxf(batch->logp_behaviour[r], u->logp[r] - (float)log(u->ratio_cap));
  return capped;
}

static void run_losses(Check *check, Update *u, const Batch *batch, const float *head) {
  Ops *ops = check->ops;
  OpsPolicySums policy, uncapped;
  OpsValueSums value;
  const float *proximal = u->ewma ? u->logp_proximal : NULL,
              *values = u->critic.activations.hidden[u->critic.shape.layers - 1];
  double rows = u->rows;
  ops->policy_loss(ops, &u->head, head, batch->action, batch->logp_behaviour, NULL, batch->advantage, u->rows,
                   u->epsilon, u->entropy_coef, u->dhead, &uncapped);
  ops->policy_loss(ops, &u->head, head, batch->action, capped_behaviour(check, u, batch), proximal, batch->advantage,
                   u->rows, u->epsilon, u->entropy_coef, u->dhead, &policy);
  ops->value_loss(ops, values, batch->value_behaviour, batch->target, u->rows, u->value_clip, u->epsilon, u->value_coef,
                  u->dvalue, &value);
  double loss_policy = policy.loss / rows, entropy = policy.entropy / rows, loss_value = value.loss / rows;
  double loss_actor = loss_policy - u->entropy_coef * entropy, loss_critic = u->value_coef * loss_value;
  double terms = 0, terms_k1 = 0;
  for (int r = 0; r < u->rows; r++) {
    double l = (double)u->logp[r] - (double)batch->logp_behaviour[r];
    terms += fabs(exp(l) * (double)batch->advantage[r]) / rows;
    terms_k1 += fabs(l) / rows;
  }
  check_step_mean(check, batch, "loss_policy", loss_policy, terms);
  check_step_scalar(check, batch, "loss_value", loss_value);
  check_step_scalar(check, batch, "entropy", entropy);
  check_step_mean(check, batch, "loss_actor", loss_actor, terms);
  check_step_scalar(check, batch, "loss_critic", loss_critic);
  check_step_mean(check, batch, "loss_total", loss_actor + loss_critic, terms);
  check_step_mean(check, batch, "k1", uncapped.k1 / rows, terms_k1);
  check_step_scalar(check, batch, "k3", uncapped.k3 / rows);
  check_step_scalar(check, batch, "clip_fraction", uncapped.clipped / rows);
  check_step_scalar(check, batch, "clip_fraction_proximal", policy.clipped / rows);
  check_step(check, batch, "dhead", u->dhead, (size_t)u->rows * (size_t)u->head.logits);
  check_step(check, batch, "dvalue", u->dvalue, (size_t)u->rows);
}

/* Backward, clip and step of one network. Compares everything that the file kept of it. */
static void run_step(Check *check, Update *u, const Batch *batch, GoldNetwork *network, float *doutput, double rate) {
  char name[64];
  Ops *ops = check->ops;
  double norm;
  int clipped;
#define KEPT(what, values) \
  (snprintf(name, sizeof name, what "_%s", network->name), check_step(check, batch, name, (values), network->n))
#define SCALAR(what, value) \
  (snprintf(name, sizeof name, what "_%s", network->name), check_step_scalar(check, batch, name, (value)))
  network_backward(ops, &network->shape, network->theta, batch->obs, u->rows, &network->activations, doutput,
                   u->scratch, network->gradient);
  KEPT("grad", network->gradient);
  memcpy(network->before, network->theta, sizeof(float) * network->n);
  optimizer_step(ops, &network->optimizer, network->theta, network->gradient, network->n, rate, &norm, &clipped);
  SCALAR("grad_norm", norm);
  SCALAR("update_norm", sqrt(ops->distance_squared(ops, network->theta, network->before, network->n)));
  KEPT("theta", network->theta);
  KEPT("adam_m", network->optimizer.m);
  KEPT("adam_v", network->optimizer.v);
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
    run_losses(check, &u, &batch, run_forward(check, &u, &batch));
    check_step_scalar(check, &batch, "lr", rate);
    run_step(check, &u, &batch, &u.actor, u.dhead, rate);
    run_step(check, &u, &batch, &u.critic, u.dvalue, rate);
    if (!u.ewma) continue;
    proximal_update(check->ops, &u.proximal, u.actor.theta, u.actor.n);
    check_step(check, &batch, "theta_proximal_actor", u.proximal.theta, u.actor.n);
    check_step_scalar(check, &batch, "ewma_weight", u.proximal.weight);
  }
}

#endif
