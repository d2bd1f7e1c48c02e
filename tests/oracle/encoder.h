/* Slow reference versions in double of the entity encoders, one observation row at a time, written from the sources
 * that trainer/nets/encoder.h names: every entity is processed, and masks select. For comparison and for finite
 * differences. Parameters are found by their names only. */
#ifndef TESTS_ORACLE_ENCODER_H
#define TESTS_ORACLE_ENCODER_H
#include <math.h>
#include <string.h>

#include "trainer/nets/encoder.h"

enum { ORACLE_SHAPES = 1 + SIM_SHAPES_MAX, ORACLE_WIDTH = 128, ORACLE_HEADS = 8 };
typedef double OracleShapes[ORACLE_SHAPES][ORACLE_WIDTH];

static inline const double *oracle_tensor(const EncoderShape *shape, const double *theta, const char *name) {
  for (int i = 0; i < shape->tensors; i++)
    if (strcmp(shape->tensor[i].name, name) == 0) return theta + shape->tensor[i].offset;
  CORE_CHECK(!"a tensor that the encoder does not have");
  return NULL;
}

static inline const double *oracle_layer_tensor(const EncoderShape *shape, const double *theta, int layer,
                                                const char *name) {
  char whole[2 * ENCODER_NAME];
  snprintf(whole, sizeof whole, "layer %d %s", layer, name);
  return oracle_tensor(shape, theta, whole);
}

/* y[out] = x[in] W + b (NULL: none), columns `first`.. of a kernel `stride` wide. */
static inline void oracle_affine(const double *x, const double *w, int stride, int first, const double *b, double *y,
                                 int in, int out) {
  for (int o = 0; o < out; o++) y[o] = b ? b[first + o] : 0;
  for (int i = 0; i < in; i++) /* row by row, as they lie in memory: tests spend most of their time here */
    for (int o = 0; o < out; o++) y[o] += x[i] * w[i * stride + first + o];
}

/* tanh of a kind's layer over entity i's features. */
static inline void oracle_embed(const EncoderShape *shape, const double *theta, const float *row, const char *kind,
                                int offset, int features, int i, double *y, int width) {
  char name[2 * ENCODER_NAME];
  double x[SIM_ENTITY_POLYGON];
  for (int k = 0; k < features; k++) x[k] = (double)row[offset + i * features + k];
  snprintf(name, sizeof name, "%s W", kind);
  const double *w = oracle_tensor(shape, theta, name);
  snprintf(name, sizeof name, "%s b", kind);
  oracle_affine(x, w, width, 0, oracle_tensor(shape, theta, name), y, features, width);
  for (int k = 0; k < width; k++) y[k] = tanh(y[k]);
}

/* ---- the set encoders -------------------------------------------------------------------------------------------- */

static inline void oracle_set(const EncoderShape *shape, const double *theta, const float *row, double *embedding) {
  const SimEntityLayout *l = &shape->layout;
  const SimSize s = l->size;
  const struct { const char *name; int offset, features, count, mask, tag; } kind[] = {
      {"circle", l->circles, SIM_ENTITY_CIRCLE, s.circles, l->circle_mask, 0},
      {"polygon", l->polygons, SIM_ENTITY_POLYGON, s.polygons, l->polygon_mask, 1},
      {"joint", l->joints, SIM_ENTITY_JOINT, 2 * s.joints, l->joint_mask, 2},
      {"thruster", l->thrusters, SIM_ENTITY_THRUSTER, s.thrusters, l->thruster_mask, 3},
  };
  memset(embedding, 0, 256 * sizeof *embedding);
  for (int k = 0; k < 4; k++) {
    for (int i = 0; i < kind[k].count; i++) {
      double entity[64] = {0}, out[256];
      oracle_embed(shape, theta, row, kind[k].name, kind[k].offset, kind[k].features, i, entity, 60);
      entity[60 + kind[k].tag] = 1;
      if (row[kind[k].mask + i] == 0) memset(entity, 0, sizeof entity);
      oracle_affine(entity, oracle_tensor(shape, theta, "heads W"), 256, 0, oracle_tensor(shape, theta, "heads b"), out,
                    64, 256);
      for (int o = 0; o < 256; o++) embedding[o] += fmax(out[o], 0);
    }
  }
  for (int o = 0; o < 256 && shape->kind == ENCODER_SET; o++) embedding[o] = tanh(embedding[o]);
}

/* ---- the transformer --------------------------------------------------------------------------------------------- */

static inline void oracle_shape_norm(const EncoderShape *shape, const double *theta, int layer, int number,
                                     const double *x, double *y) {
  const double *gain = oracle_layer_tensor(shape, theta, layer, number == 1 ? "norm 1 gain" : "norm 2 gain");
  const double *offset = oracle_layer_tensor(shape, theta, layer, number == 1 ? "norm 1 offset" : "norm 2 offset");
  double mean = 0, variance = 0;
  for (int c = 0; c < ORACLE_WIDTH; c++) mean += x[c] / ORACLE_WIDTH;
  for (int c = 0; c < ORACLE_WIDTH; c++) variance += (x[c] - mean) * (x[c] - mean) / ORACLE_WIDTH;
  for (int c = 0; c < ORACLE_WIDTH; c++) y[c] = (x[c] - mean) / sqrt(variance + 1e-6) * gain[c] + offset[c];
}

static inline double oracle_sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* x becomes Gate(x, y). */
static inline void oracle_gate(const EncoderShape *shape, const double *theta, int layer, int number, double *x,
                               const double *y) {
  const double *w = oracle_layer_tensor(shape, theta, layer, number == 1 ? "gate 1 W" : "gate 2 W");
  const double *u = oracle_layer_tensor(shape, theta, layer, number == 1 ? "gate 1 U" : "gate 2 U");
  const double *ug = oracle_layer_tensor(shape, theta, layer, number == 1 ? "gate 1 Ug" : "gate 2 Ug");
  const double *bias = oracle_layer_tensor(shape, theta, layer, number == 1 ? "gate 1 b" : "gate 2 b");
  enum { D = ORACLE_WIDTH };
  double wr[D], wz[D], wg[D], ur[D], uz[D], rx[D], g[D];
  oracle_affine(y, w, 3 * D, 0, NULL, wr, D, D);
  oracle_affine(y, w, 3 * D, D, NULL, wz, D, D);
  oracle_affine(y, w, 3 * D, 2 * D, NULL, wg, D, D);
  oracle_affine(x, u, 2 * D, 0, NULL, ur, D, D);
  oracle_affine(x, u, 2 * D, D, NULL, uz, D, D);
  for (int c = 0; c < D; c++) rx[c] = oracle_sigmoid(wr[c] + ur[c]) * x[c];
  oracle_affine(rx, ug, D, 0, NULL, g, D, D);
  for (int c = 0; c < D; c++) {
    const double z = oracle_sigmoid(wz[c] + uz[c] - bias[c]);
    x[c] = (1 - z) * x[c] + z * tanh(wg[c] + g[c]);
  }
}

/* Whether entity i may look at k in `head`; rows and columns of the dummy (0) are open, inactive ones closed. */
static inline bool oracle_allowed(const SimEntityLayout *l, const float *row, const bool *active, int head, int i,
                                  int k) {
  if (!active[i] || !active[k]) return false;
  if (i == 0 || k == 0) return true;
  return (int)row[l->attention + (i - 1) * l->shapes + k - 1] >> head / 2 & 1;
}

static inline void oracle_attention(const EncoderShape *shape, const double *theta, const float *row, int layer,
                                    const bool *active, OracleShapes x, OracleShapes y) {
  const SimEntityLayout *l = &shape->layout;
  const int n = 1 + l->shapes;
  double qkv[ORACLE_SHAPES][48], out[ORACLE_SHAPES][16] = {{0}};
  for (int i = 0; i < n; i++)
    oracle_affine(x[i], oracle_layer_tensor(shape, theta, layer, "qkv W"), 48, 0,
                  oracle_layer_tensor(shape, theta, layer, "qkv b"), qkv[i], ORACLE_WIDTH, 48);
  for (int h = 0; h < ORACLE_HEADS; h++) {
    for (int i = 0; i < n; i++) {
      double p[ORACLE_SHAPES], sum = 0;
      for (int k = 0; k < n; k++) {
        const double score = (qkv[i][2 * h] * qkv[k][16 + 2 * h] + qkv[i][2 * h + 1] * qkv[k][17 + 2 * h]) / sqrt(2);
        p[k] = oracle_allowed(l, row, active, h, i, k) ? exp(score) : active[i] ? 0 : 1;
        sum += p[k];
      }
      for (int k = 0; k < n; k++)
        for (int d = 0; d < 2; d++) out[i][2 * h + d] += p[k] / sum * qkv[k][32 + 2 * h + d];
    }
  }
  for (int i = 0; i < n; i++)
    oracle_affine(out[i], oracle_layer_tensor(shape, theta, layer, "out W"), ORACLE_WIDTH, 0,
                  oracle_layer_tensor(shape, theta, layer, "out b"), y[i], 16, ORACLE_WIDTH);
}

/* Adds to `to` the message of entity `sender` of a kind with `ends` ends to its first shape; shapes as before any
 * message. */
static inline void oracle_message(const EncoderShape *shape, const double *theta, int layer, const char *kind, int ends,
                                  const float *indices, const double *embedding, OracleShapes shapes, OracleShapes to) {
  enum { D = ORACLE_WIDTH };
  char w[ENCODER_NAME], b[ENCODER_NAME];
  double x[3 * D], message[D];
  snprintf(w, sizeof w, "%s W", kind);
  snprintf(b, sizeof b, "%s b", kind);
  for (int end = 0; end < ends; end++) memcpy(x + end * D, shapes[1 + (int)indices[end]], D * sizeof *x);
  memcpy(x + ends * D, embedding, D * sizeof *x);
  oracle_affine(x, oracle_layer_tensor(shape, theta, layer, w), D, 0, oracle_layer_tensor(shape, theta, layer, b),
                message, (ends + 1) * D, D);
  for (int c = 0; c < D; c++) to[1 + (int)indices[0]][c] += message[c];
}

static inline void oracle_messages(const EncoderShape *shape, const double *theta, const float *row, int layer,
                                   OracleShapes x) {
  const SimEntityLayout *l = &shape->layout;
  OracleShapes before;
  double embedding[ORACLE_WIDTH];
  memcpy(before, x, sizeof before);
  for (int i = 0; i < 2 * l->size.joints; i++) {
    if (row[l->joint_mask + i] == 0) continue;
    oracle_embed(shape, theta, row, "joint", l->joints, SIM_ENTITY_JOINT, i, embedding, ORACLE_WIDTH);
    oracle_message(shape, theta, layer, "joint", 2, row + l->joint_shapes + 2 * i, embedding, before, x);
  }
  for (int i = 0; i < l->size.thrusters; i++) {
    if (row[l->thruster_mask + i] == 0) continue;
    oracle_embed(shape, theta, row, "thruster", l->thrusters, SIM_ENTITY_THRUSTER, i, embedding, ORACLE_WIDTH);
    oracle_message(shape, theta, layer, "thruster", 1, row + l->thruster_shapes + i, embedding, before, x);
  }
}

static inline void oracle_transformer_layer(const EncoderShape *shape, const double *theta, const float *row, int layer,
                                            const bool *active, OracleShapes x) {
  const int n = 1 + shape->layout.shapes;
  OracleShapes normed, y;
  for (int i = 0; i < n; i++) oracle_shape_norm(shape, theta, layer, 1, x[i], normed[i]);
  oracle_attention(shape, theta, row, layer, active, normed, y);
  for (int i = 0; i < n; i++) {
    double e[ORACLE_WIDTH];
    for (int c = 0; c < ORACLE_WIDTH; c++) y[i][c] = fmax(y[i][c], 0);
    oracle_gate(shape, theta, layer, 1, x[i], y[i]);
    oracle_shape_norm(shape, theta, layer, 2, x[i], normed[i]);
    oracle_affine(normed[i], oracle_layer_tensor(shape, theta, layer, "dense W"), ORACLE_WIDTH, 0,
                  oracle_layer_tensor(shape, theta, layer, "dense b"), e, ORACLE_WIDTH, ORACLE_WIDTH);
    for (int c = 0; c < ORACLE_WIDTH; c++) e[c] = fmax(e[c], 0);
    oracle_gate(shape, theta, layer, 2, x[i], e);
  }
  oracle_messages(shape, theta, row, layer, x);
}

static inline void oracle_transformer(const EncoderShape *shape, const double *theta, const float *row,
                                      double *embedding) {
  const SimEntityLayout *l = &shape->layout;
  OracleShapes x = {{0}};
  bool active[ORACLE_SHAPES] = {true};
  int members = 1;
  for (int c = 0; c < ORACLE_WIDTH; c++) x[0][c] = 1;
  for (int i = 0; i < l->shapes; i++) {
    const bool circle = i >= l->size.polygons;
    const int number = circle ? i - l->size.polygons : i;
    oracle_embed(shape, theta, row, circle ? "circle" : "polygon", circle ? l->circles : l->polygons,
                 circle ? SIM_ENTITY_CIRCLE : SIM_ENTITY_POLYGON, number, x[1 + i], ORACLE_WIDTH - 1);
    x[1 + i][ORACLE_WIDTH - 1] = !circle;
    active[1 + i] = row[(circle ? l->circle_mask : l->polygon_mask) + number] != 0;
    members += active[1 + i];
  }
  for (int layer = 0; layer < 2; layer++) oracle_transformer_layer(shape, theta, row, layer, active, x);
  memset(embedding, 0, ORACLE_WIDTH * sizeof *embedding);
  for (int i = 0; i < 1 + l->shapes; i++)
    for (int c = 0; active[i] && c < ORACLE_WIDTH; c++) embedding[c] += x[i][c] / members;
}

static inline void oracle_encoder(const EncoderShape *shape, const double *theta, const float *row, double *embedding) {
  if (shape->kind == ENCODER_TRANSFORMER) oracle_transformer(shape, theta, row, embedding);
  else oracle_set(shape, theta, row, embedding);
}

#endif
