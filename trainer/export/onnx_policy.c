/* The actor as a graph, in the order of trainer/tools/player.c: observer, encoder, memory, tower, head, action. The
 * numbers follow trainer/wrappers/normalise.c, trainer/nets and trainer/ops/row_gaussian_internal.h. */
#include "trainer/export/onnx_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/export/onnx_action.h"
#include "trainer/export/onnx_encoder.h"
#include "trainer/export/onnx_layer.h"
#include "trainer/export/policy_facts.h"

#define HALF_LARGEST 65504.0 /* of numbers of half precision: what is larger and finite becomes it */

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* (x - mean) factor within the rule's bound, in double as the trainer does. */
static OnnxValue normalize(Onnx *onnx, const Normalizer *normalizer, OnnxValue x) {
  const int64_t features = normalizer->features;
  const OnnxValue mean = onnx_constant(onnx, "observation.mean", ONNX_DOUBLE, &features, 1, normalizer->moments + 1);
  const OnnxValue factor = onnx_constant(onnx, "observation.factor", ONNX_DOUBLE, &features, 1, normalizer->factor);
  const double bound = normalize_bound(normalizer->rule);
  x = onnx_2(onnx, "Mul", onnx_2(onnx, "Sub", onnx_cast(onnx, x, ONNX_DOUBLE), mean), factor);
  if (isfinite(bound)) x = onnx_clip(onnx, x, ONNX_DOUBLE, -bound, bound);
  return onnx_cast(onnx, x, ONNX_FLOAT);
}

static OnnxValue observe(Onnx *onnx, const Player *player) {
  const ObsPipeline *pipeline = &player->pipeline;
  const EncoderShape *encoder = &player->agent.encoder.shape;
  if (encoder_reads_pixels(encoder->kind)) return onnx_encoder_pixels(onnx, &encoder->pixels, "observation");
  const int64_t dims[] = {ONNX_ROWS, player->env->observation_length};
  OnnxValue x = onnx_input(onnx, "observation", ONNX_FLOAT, dims, 2);
  if (pipeline->has_moments && pipeline->normalizer.rule != NORMALIZE_NONE)
    x = normalize(onnx, &pipeline->normalizer, x);
  if (!pipeline->is_half) return x;
  x = onnx_clip(onnx, x, ONNX_FLOAT, -HALF_LARGEST, HALF_LARGEST);
  return onnx_cast(onnx, onnx_cast(onnx, x, ONNX_FLOAT16), ONNX_FLOAT);
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

static OnnxValue vector(Onnx *onnx, const char *what, int layer, const float *values, int width) {
  char name[ONNX_NAME];
  const int64_t dims = width;
  snprintf(name, sizeof name, "actor.%s%d", what, layer);
  return onnx_constant(onnx, name, ONNX_FLOAT, &dims, 1, values);
}

/* A dense layer's tensors by their names, and where they are in the actor's vector. */
typedef struct Dense {
  const char *kernel_name, *bias_name;
  size_t kernel, bias;
  int inputs, outputs;
  bool is_first;           /* it sees the observation, and with blocks the embedding behind it */
} Dense;

/* The leader's embedding, the last inputs of a first layer, is always the same: its part goes into the bias. */
static void add_embedding(const Agent *agent, const Dense *dense, int inputs, float *bias) {
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

/* x W + b */
static OnnxValue dense_layer(Onnx *onnx, const Agent *agent, const Dense *dense, OnnxValue x) {
  const float *theta = agent->actor.theta;
  const int inputs = dense->inputs - (dense->is_first ? agent->blocks.width : 0);
  const int64_t dims[] = {inputs, dense->outputs};
  float *bias = core_memory_allocate((size_t)dense->outputs * sizeof *bias);
  memcpy(bias, theta + dense->bias, (size_t)dense->outputs * sizeof *bias);
  if (dense->is_first && agent->blocks.count > 0) add_embedding(agent, dense, inputs, bias);
  const OnnxValue w = onnx_constant(onnx, dense->kernel_name, ONNX_FLOAT, dims, 2, theta + dense->kernel);
  const OnnxValue b = onnx_constant(onnx, dense->bias_name, ONNX_FLOAT, dims + 1, 1, bias);
  free(bias);
  return onnx_node(onnx, "Gemm", (OnnxValue[]){x, w, b}, 3, NULL);
}

static OnnxValue layer(Onnx *onnx, const Agent *agent, int l, OnnxValue x) {
  const NetworkShape *shape = &agent->actor.shape;
  const float *theta = agent->actor.theta;
  char kernel[ONNX_NAME], bias[ONNX_NAME];
  snprintf(kernel, sizeof kernel, "actor.W%d", l);
  snprintf(bias, sizeof bias, "actor.b%d", l);
  const int width = shape->width[l + 1];
  x = dense_layer(onnx, agent, &(Dense){kernel, bias, network_kernel(shape, l), network_bias(shape, l),
                                        shape->width[l], width, l == 0 && !agent_is_recurrent(agent)}, x);
  if (network_has_norm(shape, l))
    x = onnx_layer_norm(onnx, x, vector(onnx, "gain", l, theta + network_norm_gain(shape, l), width),
                        vector(onnx, "offset", l, theta + network_norm_offset(shape, l), width));
  return onnx_activation(onnx, x, shape->activation[l]);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static OnnxValue of_memory(Onnx *onnx, const char *name, const float *values, int width) {
  const int64_t dims = width;
  return onnx_constant(onnx, name, ONNX_FLOAT, &dims, 1, values);
}

/* One step of the LSTM (trainer/nets/recurrent.h), and its layer norm. The state, h and then c of the actor, is an
 * input and an output of the model. */
static OnnxValue remember(Onnx *onnx, const Agent *agent, OnnxValue x) {
  const RecurrentShape *shape = &agent->recurrent.shape;
  const size_t first = agent->actor.recurrent;
  const float *theta = agent->actor.theta + first;
  const int w = shape->width;
  const int64_t dims[] = {ONNX_ROWS, 2 * w};
  const OnnxValue state = onnx_input(onnx, "state", ONNX_FLOAT, dims, 2);
  const OnnxValue of_x = dense_layer(onnx, agent, &(Dense){"actor.lstm Wx", "actor.lstm bx", first + shape->wx,
                                     first + shape->bx, shape->in, 4 * w, true}, x);
  const OnnxValue of_h = dense_layer(onnx, agent, &(Dense){"actor.lstm Wh", "actor.lstm bh", first + shape->wh,
                                     first + shape->bh, w, 4 * w, false}, onnx_columns(onnx, state, 0, w));
  const OnnxValue z = onnx_2(onnx, "Add", of_x, of_h);
  OnnxValue gate[4]; /* i, f, g, o */
  for (int k = 0; k < 4; k++)
    gate[k] = onnx_1(onnx, k == 2 ? "Tanh" : "Sigmoid", onnx_columns(onnx, z, k * w, (k + 1) * w));
  const OnnxValue kept = onnx_2(onnx, "Mul", gate[1], onnx_columns(onnx, state, w, 2 * w));
  const OnnxValue c = onnx_2(onnx, "Add", kept, onnx_2(onnx, "Mul", gate[0], gate[2]));
  const OnnxValue h = onnx_2(onnx, "Mul", gate[3], onnx_1(onnx, "Tanh", c));
  onnx_output(onnx, onnx_concat(onnx, (OnnxValue[]){h, c}, 2, 1), "next_state", ONNX_FLOAT, dims, 2);
  return onnx_layer_norm(onnx, h, of_memory(onnx, "actor.lstm gain", theta + shape->gain, w),
                         of_memory(onnx, "actor.lstm offset", theta + shape->offset, w));
}

static OnnxValue network(Onnx *onnx, const Agent *agent, OnnxValue x) {
  const AgentNetwork *actor = &agent->actor;
  if (agent->encoder.shape.kind != ENCODER_NONE)
    x = onnx_encoder(onnx, &agent->encoder.shape, actor->name, actor->theta + actor->encoder, x);
  if (agent_is_recurrent(agent)) x = remember(onnx, agent, x);
  for (int l = 0; l < actor->shape.layers; l++) x = layer(onnx, agent, l, x);
  return x;
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

/* Means, and beside each row of them the same log standard deviations, of the last block where there are several. */
static OnnxValue join_deviations(Onnx *onnx, const Agent *agent, OnnxValue mean) {
  const int factors = agent->head.factors, set = agent->blocks.count > 0 ? agent->blocks.count - 1 : 0;
  const int64_t dims[] = {1, factors};
  const float *values = agent->actor.theta + agent->actor.log_sigma + (size_t)set * (size_t)factors;
  const OnnxValue row = onnx_constant(onnx, "actor.log_sigma", ONNX_FLOAT, dims, 2, values);
  const OnnxValue parts[] = {mean, onnx_2(onnx, "Expand", row, onnx_1(onnx, "Shape", mean))};
  return onnx_concat(onnx, parts, 2, 1);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void add_property(void *onnx, const char *key, const char *value) { onnx_property(onnx, key, value); }

int onnx_policy(const Player *player, CoreText *file) {
  Onnx onnx = {0};
  const OpsHead *head = &player->agent.head;
  TRY(onnx_encoder_check(&player->agent.encoder.shape));
  OnnxValue y = network(&onnx, &player->agent, observe(&onnx, player));
  if (head->kind == OPS_GAUSSIAN) y = join_deviations(&onnx, &player->agent, y);
  onnx_output(&onnx, y, "logits", ONNX_FLOAT, (int64_t[]){ONNX_ROWS, head->logits}, 2);
  const int code = onnx_action(&onnx, head, player->env->action_space, y);
  if (code != CORE_OK) {
    onnx_free(&onnx);
    return code;
  }
  policy_facts(player, add_property, &onnx);
  return onnx_finish(&onnx, "policy", file);
}
