/* The actor as a graph, in the order of trainer/tools/player.c: observation pipeline, encoder, LSTM, tower, head,
 * action. Follows trainer/wrappers/normalize.c, trainer/nets and trainer/ops/row_gaussian_internal.h. */
#include "trainer/export/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#define HALF_MAX 65504.0 /* largest finite half-precision value; larger finite values are clipped to it */

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* Adds the normalization (x - mean) factor, clipped to the rule's bound, in double as in the trainer. */
static OnnxValue add_normalization(Onnx *onnx, const Normalizer *normalizer, OnnxValue x) {
  const int64_t features = normalizer->features;
  const OnnxValue mean = onnx_constant(onnx, "observation.mean", ONNX_DOUBLE, &features, 1, normalizer->moments + 1);
  const OnnxValue factor = onnx_constant(onnx, "observation.factor", ONNX_DOUBLE, &features, 1, normalizer->factor);
  const double bound = normalize_bound(normalizer->rule);
  x = onnx_binary(onnx, "Mul", onnx_binary(onnx, "Sub", onnx_cast(onnx, x, ONNX_DOUBLE), mean), factor);
  if (isfinite(bound)) x = onnx_clip(onnx, x, ONNX_DOUBLE, -bound, bound);
  return onnx_cast(onnx, x, ONNX_FLOAT);
}

/* Adds the input and the observation pipeline. */
static OnnxValue add_observation(Onnx *onnx, const Player *player) {
  const ObsPipeline *pipeline = &player->pipeline;
  const EncoderShape *encoder = &player->agent.encoder.shape;
  if (encoder_reads_pixels(encoder->kind)) return onnx_encoder_pixels(onnx, &encoder->pixels, "observation");
  const int64_t dims[] = {ONNX_ROWS, player->env->observation_length};
  OnnxValue x = onnx_input(onnx, "observation", ONNX_FLOAT, dims, 2);
  if (pipeline->has_moments && pipeline->normalizer.rule != NORMALIZE_NONE)
    x = add_normalization(onnx, &pipeline->normalizer, x);
  if (!pipeline->is_half) return x;
  x = onnx_clip(onnx, x, ONNX_FLOAT, -HALF_MAX, HALF_MAX);
  return onnx_cast(onnx, onnx_cast(onnx, x, ONNX_FLOAT16), ONNX_FLOAT);
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

static OnnxValue add_layer_vector(Onnx *onnx, const char *kind, int layer, const float *values, int width) {
  char name[ONNX_NAME];
  const int64_t dims = width;
  snprintf(name, sizeof name, "actor.%s%d", kind, layer);
  return onnx_constant(onnx, name, ONNX_FLOAT, &dims, 1, values);
}

/* Names of a dense layer's tensors, and their offsets in the actor's parameters. */
typedef struct Dense {
  const char *kernel_name, *bias_name;
  size_t kernel, bias;
  int inputs, outputs;
  bool is_first;           /* whether its inputs include the embedding of the block, if there are blocks */
} Dense;

/* Folds the leader's embedding, the constant last inputs of the first layer, into its bias. */
static void fold_embedding(const Agent *agent, const Dense *dense, int inputs, float *bias) {
  const AgentNetwork *actor = &agent->actor;
  const size_t leader = (size_t)(agent->blocks.count - 1), outputs = (size_t)dense->outputs;
  const float *embedding = actor->theta + actor->embedding + leader * (size_t)agent->blocks.width;
  const float *kernel = actor->theta + dense->kernel + (size_t)inputs * outputs;
  for (size_t o = 0; o < outputs; o++) {
    double sum = bias[o];
    for (int k = 0; k < agent->blocks.width; k++)
      sum += (double)embedding[k] * (double)kernel[(size_t)k * outputs + o];
    bias[o] = (float)sum;
  }
}

/* Adds x W + b. */
static OnnxValue add_dense(Onnx *onnx, const Agent *agent, const Dense *dense, OnnxValue x) {
  const float *theta = agent->actor.theta;
  const int inputs = dense->inputs - (dense->is_first ? agent->blocks.width : 0);
  const int64_t dims[] = {inputs, dense->outputs};
  float *bias = core_memory_allocate((size_t)dense->outputs * sizeof *bias);
  memcpy(bias, theta + dense->bias, (size_t)dense->outputs * sizeof *bias);
  if (dense->is_first && agent->blocks.count > 0) fold_embedding(agent, dense, inputs, bias);
  const OnnxValue w = onnx_constant(onnx, dense->kernel_name, ONNX_FLOAT, dims, 2, theta + dense->kernel);
  const OnnxValue b = onnx_constant(onnx, dense->bias_name, ONNX_FLOAT, dims + 1, 1, bias);
  free(bias);
  return onnx_node(onnx, "Gemm", (OnnxValue[]){x, w, b}, 3, NULL);
}

static OnnxValue add_activation(Onnx *onnx, OnnxValue x, OpsActivation activation) {
  switch (activation) {
    case OPS_TANH: return onnx_unary(onnx, "Tanh", x);
    case OPS_RELU: return onnx_unary(onnx, "Relu", x);
    case OPS_SILU: return onnx_binary(onnx, "Mul", x, onnx_unary(onnx, "Sigmoid", x));
    case OPS_ELU: return onnx_unary(onnx, "Elu", x);
    case OPS_LINEAR: break;
  }
  return x;
}

static OnnxValue add_layer(Onnx *onnx, const Agent *agent, int l, OnnxValue x) {
  const NetworkShape *shape = &agent->actor.shape;
  const float *theta = agent->actor.theta;
  char kernel[ONNX_NAME], bias[ONNX_NAME];
  snprintf(kernel, sizeof kernel, "actor.W%d", l);
  snprintf(bias, sizeof bias, "actor.b%d", l);
  const int width = shape->width[l + 1];
  x = add_dense(onnx, agent, &(Dense){kernel, bias, network_kernel(shape, l), network_bias(shape, l),
                                        shape->width[l], width, l == 0 && !agent_is_recurrent(agent)}, x);
  if (network_has_norm(shape, l))
    x = onnx_layer_norm(onnx, x, add_layer_vector(onnx, "gain", l, theta + network_norm_gain(shape, l), width),
                        add_layer_vector(onnx, "offset", l, theta + network_norm_offset(shape, l), width));
  return add_activation(onnx, x, shape->activation[l]);
}

/* ---- recurrent layer --------------------------------------------------------------------------------------------- */

static OnnxValue add_vector(Onnx *onnx, const char *name, const float *values, int width) {
  const int64_t dims = width;
  return onnx_constant(onnx, name, ONNX_FLOAT, &dims, 1, values);
}

/* Adds one step of the LSTM (trainer/nets/recurrent.h) and its layer norm. The actor's state, h followed by c, is an
 * input and an output of the model. */
static OnnxValue add_lstm(Onnx *onnx, const Agent *agent, OnnxValue x) {
  const RecurrentShape *shape = &agent->recurrent.shape;
  const size_t first = agent->actor.recurrent;
  const float *theta = agent->actor.theta + first;
  const int w = shape->width;
  const int64_t dims[] = {ONNX_ROWS, 2 * w};
  const OnnxValue state = onnx_input(onnx, "state", ONNX_FLOAT, dims, 2);

  /* z = Wx x + bx + Wh h */
  const OnnxValue zx = add_dense(onnx, agent, &(Dense){"actor.lstm Wx", "actor.lstm bx", first + shape->wx,
                                     first + shape->bx, shape->in, 4 * w, true}, x);
  const OnnxValue zh = add_dense(onnx, agent, &(Dense){"actor.lstm Wh", "actor.lstm bh", first + shape->wh,
                                     first + shape->bh, w, 4 * w, false}, onnx_columns(onnx, state, 0, w));
  const OnnxValue z = onnx_binary(onnx, "Add", zx, zh);

  OnnxValue gate[4]; /* i, f, g, o */
  for (int k = 0; k < 4; k++)
    gate[k] = onnx_unary(onnx, k == 2 ? "Tanh" : "Sigmoid", onnx_columns(onnx, z, k * w, (k + 1) * w));
  const OnnxValue retained = onnx_binary(onnx, "Mul", gate[1], onnx_columns(onnx, state, w, 2 * w));
  const OnnxValue c = onnx_binary(onnx, "Add", retained, onnx_binary(onnx, "Mul", gate[0], gate[2]));
  const OnnxValue h = onnx_binary(onnx, "Mul", gate[3], onnx_unary(onnx, "Tanh", c));

  onnx_output(onnx, onnx_concat(onnx, (OnnxValue[]){h, c}, 2, 1), "next_state", ONNX_FLOAT, dims, 2);
  return onnx_layer_norm(onnx, h, add_vector(onnx, "actor.lstm gain", theta + shape->gain, w),
                         add_vector(onnx, "actor.lstm offset", theta + shape->offset, w));
}

static OnnxValue add_network(Onnx *onnx, const Agent *agent, OnnxValue x) {
  const AgentNetwork *actor = &agent->actor;
  if (agent->encoder.shape.kind != ENCODER_NONE)
    x = onnx_encoder(onnx, &agent->encoder.shape, actor->name, actor->theta + actor->encoder, x);
  if (agent_is_recurrent(agent)) x = add_lstm(onnx, agent, x);
  for (int l = 0; l < actor->shape.layers; l++) x = add_layer(onnx, agent, l, x);
  return x;
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

/* Appends the log standard deviations, those of the last block if there are several, to each row of means. */
static OnnxValue append_log_sigma(Onnx *onnx, const Agent *agent, OnnxValue mean) {
  const int factors = agent->head.factors, block = agent->blocks.count > 0 ? agent->blocks.count - 1 : 0;
  const int64_t dims[] = {1, factors};
  const float *values = agent->actor.theta + agent->actor.log_sigma + (size_t)block * (size_t)factors;
  const OnnxValue row = onnx_constant(onnx, "actor.log_sigma", ONNX_FLOAT, dims, 2, values);
  const OnnxValue parts[] = {mean, onnx_binary(onnx, "Expand", row, onnx_unary(onnx, "Shape", mean))};
  return onnx_concat(onnx, parts, 2, 1);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void add_property(void *onnx, const char *key, const char *value) { onnx_property(onnx, key, value); }

int onnx_policy(const Player *player, CoreText *file) {
  Onnx onnx = {0};
  const OpsHead *head = &player->agent.head;
  TRY(onnx_encoder_check(&player->agent.encoder.shape));
  OnnxValue y = add_network(&onnx, &player->agent, add_observation(&onnx, player));
  if (head->kind == OPS_GAUSSIAN) y = append_log_sigma(&onnx, &player->agent, y);
  onnx_output(&onnx, y, "logits", ONNX_FLOAT, (int64_t[]){ONNX_ROWS, head->logits}, 2);
  const int code = onnx_action(&onnx, head, player->env->action_space, y);
  if (code != CORE_OK) {
    onnx_free(&onnx);
    return code;
  }
  policy_metadata(player, add_property, &onnx);
  return onnx_finish(&onnx, "policy", file);
}
