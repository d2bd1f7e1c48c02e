/* The actor as a graph, in the order of trainer/tools/player.c: observer, encoder, trunk and tower, head, action. The
 * numbers follow trainer/wrappers/normalise.c, trainer/nets and trainer/ops/row_gaussian_internal.h. */
#include "trainer/export/onnx_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/export/onnx_encoder.h"
#include "trainer/export/onnx_layer.h"
#include "trainer/export/policy_facts.h"

#define HALF_LARGEST 65504.0 /* of numbers of half precision: what is larger and finite becomes it */

/* ---- observations ------------------------------------------------------------------------------------------------ */

/* (x - mean) factor within the rule's bound, in double as the trainer does. */
static OnnxValue normalise(Onnx *onnx, const Normaliser *normaliser, OnnxValue x) {
  const int64_t features = normaliser->features;
  const OnnxValue mean = onnx_constant(onnx, "observation.mean", ONNX_DOUBLE, &features, 1, normaliser->moments + 1);
  const OnnxValue factor = onnx_constant(onnx, "observation.factor", ONNX_DOUBLE, &features, 1, normaliser->factor);
  const double bound = normalise_bound(normaliser->rule);
  x = onnx_2(onnx, "Mul", onnx_2(onnx, "Sub", onnx_cast(onnx, x, ONNX_DOUBLE), mean), factor);
  if (isfinite(bound)) x = onnx_clip(onnx, x, ONNX_DOUBLE, -bound, bound);
  return onnx_cast(onnx, x, ONNX_FLOAT);
}

static OnnxValue observe(Onnx *onnx, const Player *player) {
  const Observer *observer = &player->observer;
  const EncoderShape *encoder = &player->agent.encoder.shape;
  if (encoder_reads_pixels(encoder->kind)) return onnx_encoder_pixels(onnx, &encoder->pixels, "observation");
  const int64_t dims[] = {ONNX_ROWS, player->env->observation_length};
  OnnxValue x = onnx_input(onnx, "observation", ONNX_FLOAT, dims, 2);
  if (observer->has_moments && observer->normaliser.rule != NORMALISE_NONE)
    x = normalise(onnx, &observer->normaliser, x);
  if (!observer->is_half) return x;
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

/* Layer 0's bias where the leader's embedding, the last inputs, is always the same: its part is added. */
static void add_embedding(const Agent *agent, int inputs, int width, float *bias) {
  const AgentNetwork *actor = &agent->actor;
  const size_t leader = (size_t)(agent->blocks.count - 1);
  const float *embedding = actor->theta + actor->embedding + leader * (size_t)agent->blocks.width;
  for (int o = 0; o < width; o++) {
    double sum = bias[o];
    for (int k = 0; k < agent->blocks.width; k++)
      sum += (double)embedding[k] * (double)actor->theta[(size_t)(inputs + k) * (size_t)width + (size_t)o];
    bias[o] = (float)sum;
  }
}

static OnnxValue layer(Onnx *onnx, const Agent *agent, int l, OnnxValue x) {
  const NetworkShape *shape = &agent->actor.shape;
  const float *theta = agent->actor.theta;
  const int width = shape->width[l + 1], inputs = shape->width[l] - (l == 0 ? agent->blocks.width : 0);
  const int64_t dims[] = {inputs, width};
  char name[ONNX_NAME];
  float *bias = core_memory_allocate((size_t)width * sizeof *bias);
  memcpy(bias, theta + network_bias(shape, l), (size_t)width * sizeof *bias);
  if (l == 0 && agent->blocks.count > 0) add_embedding(agent, inputs, width, bias);
  snprintf(name, sizeof name, "actor.W%d", l);
  const OnnxValue w = onnx_constant(onnx, name, ONNX_FLOAT, dims, 2, theta + network_kernel(shape, l));
  x = onnx_node(onnx, "Gemm", (OnnxValue[]){x, w, vector(onnx, "b", l, bias, width)}, 3, NULL);
  free(bias);
  if (network_has_norm(shape, l))
    x = onnx_layer_norm(onnx, x, vector(onnx, "gain", l, theta + network_norm_gain(shape, l), width),
                        vector(onnx, "offset", l, theta + network_norm_offset(shape, l), width));
  return onnx_activation(onnx, x, shape->activation[l]);
}

static OnnxValue network(Onnx *onnx, const Agent *agent, OnnxValue x) {
  const AgentNetwork *actor = &agent->actor;
  if (agent->encoder.shape.kind != ENCODER_NONE)
    x = onnx_encoder(onnx, &agent->encoder.shape, actor->name, actor->theta + actor->encoder, x);
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

static OnnxValue likeliest_classes(Onnx *onnx, const OpsHead *head, OnnxValue logits) {
  OnnxValue parts[OPS_FACTORS_MAX];
  for (int f = 0, first = 0; f < head->factors; first += head->size[f++]) {
    const OnnxValue own = onnx_columns(onnx, logits, first, first + head->size[f]);
    parts[f] = onnx_node(onnx, "ArgMax", &own, 1, (OnnxAttribute[]){{.name = "axis", .number = 1}, {0}});
  }
  return onnx_concat(onnx, parts, (size_t)head->factors, 1);
}

static OnnxValue likeliest(Onnx *onnx, const OpsHead *head, OnnxValue logits) {
  if (head->kind == OPS_MULTI_DISCRETE) return likeliest_classes(onnx, head, logits);
  const OnnxValue at = onnx_columns(onnx, logits, 0, head->factors);
  const double low = (double)head->low, high = (double)head->high;
  if (head->kind == OPS_GAUSSIAN)
    return isfinite(low) || isfinite(high) ? onnx_clip(onnx, at, ONNX_FLOAT, low, high) : at;
  const OnnxValue half = onnx_real(onnx, ONNX_FLOAT, (high - low) / 2);
  return onnx_2(onnx, "Add", onnx_2(onnx, "Mul", onnx_1(onnx, "Tanh", at), half),
                onnx_real(onnx, ONNX_FLOAT, (high + low) / 2));
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void add_property(void *onnx, const char *key, const char *value) { onnx_property(onnx, key, value); }

int onnx_policy(const Player *player, CoreText *file) {
  Onnx onnx = {0};
  const OpsHead *head = &player->agent.head;
  TRY(onnx_encoder_check(&player->agent.encoder.shape));
  OnnxValue y = network(&onnx, &player->agent, observe(&onnx, player));
  if (head->kind == OPS_GAUSSIAN) y = join_deviations(&onnx, &player->agent, y);
  const int64_t logits[] = {ONNX_ROWS, head->logits}, action[] = {ONNX_ROWS, head->factors};
  onnx_output(&onnx, y, "logits", ONNX_FLOAT, logits, 2);
  onnx_output(&onnx, likeliest(&onnx, head, y), "action",
              ops_head_is_continuous(head) ? ONNX_FLOAT : ONNX_INT64, action, 2);
  policy_facts(player, add_property, &onnx);
  return onnx_finish(&onnx, "policy", file);
}
