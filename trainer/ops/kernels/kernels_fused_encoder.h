/* Forward pass of the transformer over shapes (trainer/nets/encoder_transformer.c) in one launch: embedding, layers,
 * messages and mean. Entities stay in shared memory from their features to the mean. If a backward pass follows
 * (OpsTransformer.is_learning), each matrix that it reads is written once; otherwise only what joints and thrusters
 * send.
 *
 * A block processes tiles of whole worlds, up to 128 entities (16 worlds of size S, 12 of M, 7 of L), one after the
 * other, in 129 KB of shared memory, as devices of compute capability 8.0, 9.0 and 10.0 have:
 *
 *   shared memory                      bytes    during a layer, in this order
 *   x      [128][128] bf16            32 768    input of the layer, output of gate 1, output of the layer
 *   y      [128][128] bf16            32 768    norm, attended, out, z | norm, dense, z | gathered
 *   other  [128][128] bf16            32 768    qkv (floats), r x, h   | r x, h         | messages
 *   stage  [2][64][128] bf16          32 768    rows of a kernel, by asynchronous copies
 *   number [128][2] floats             1 024    mean and inverse of a row's norm; weight of the mean
 *
 *         64 columns    64 columns     Each of the eight warps has a quarter of the rows and half of the columns of a
 *       +-------------+-------------+  product: 32 x 64 sums, 64 registers of a thread. A product's terms come
 *   1/4 |   warp 0    |   warp 1    |  from matrices of the tile; rows of its kernel pass through two stages, so that
 *   1/4 |   warp 2    |   warp 3    |  one is copied while the other is multiplied. The last step of a product already
 *   1/4 |   warp 4    |   warp 5    |  copies the first stage of the next.
 *   1/4 |   warp 6    |   warp 7    |
 *       +-------------+-------------+  Results return to shared memory in bf16; from there threads store 16 bytes.
 *
 * Each function that writes shared memory ends with a barrier. Sums have a fixed order that does not depend on a row's
 * place in a tile, so the bits of a world do not depend on the others. */
#ifndef TRAINER_OPS_KERNELS_FUSED_ENCODER_H
#define TRAINER_OPS_KERNELS_FUSED_ENCODER_H
#include "trainer/ops/kernels/kernels_encoder_tile.h"

/* ---- embedding --------------------------------------------------------------------------------------------------- */

/* Sets all rows of x to 0 but those of dummies, which are 1. */
OPS_ENCODER_FN void ops_encoder_clear(const OpsEncoderTile *t) {
  for (uint32_t i = t->at->thread; i < OPS_ENCODER_ROWS * OPS_ENCODER_EIGHTS; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_ENCODER_EIGHTS, entity = core_divide_32(row, t->a->attend.entities).rest;
    const uint32_t pair = entity == 0 && row < t->rows ? row_bf16_pair(1, 1) : 0;
    *ops_encoder_eight(t->x, row, i % OPS_ENCODER_EIGHTS) = (OpsEight){{pair, pair, pair, pair}};
  }
}

/* Loads the features of a kind into y, and copies them, and its kernel into the stage; both are padded with zeros. */
OPS_ENCODER_FN void ops_encoder_features(const OpsEncoderTile *t, int k) {
  const OpsTransformerKind *kind = &t->a->t.kind[k];
  const uint32_t things = t->worlds * t->a->count[k].number, pairs = OPS_TRANSFORMER_FEATURES / 2;
  const uint32_t features = (uint32_t)kind->features, width = (uint32_t)kind->pack.width;

  for (uint32_t i = t->at->thread; i < OPS_ENCODER_ROWS * pairs; i += OPS_ENCODER_THREADS) {
    const uint32_t thing = i / pairs, first = i % pairs * 2;
    const CoreDivided32 of_world = core_divide_32(thing, t->a->count[k]);
    const uint32_t place = (uint32_t)kind->offset + of_world.rest * features + first;
    float x[2] = {0, 0};
    for (uint32_t n = 0; n < 2; n++)
      if (thing < things && first + n < features) x[n] = ops_encoder_observation(t, of_world.whole)[place + n];
    const uint32_t pair = row_bf16_pair(x[0], x[1]);
    *(uint32_t *)(void *)(t->y + core_device_swizzled(thing, first, OPS_ENCODER_WIDTH)) = pair;
    if (t->a->t.is_learning && thing < things)
      ((uint32_t *)(void *)kind->copied)[t->first * t->a->count[k].number * pairs + i] = pair;
  }

  for (uint32_t i = t->at->thread; i < OPS_TRANSFORMER_FEATURES * OPS_ENCODER_WIDTH; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_ENCODER_WIDTH, column = i % OPS_ENCODER_WIDTH;
    t->stage[core_device_swizzled(row, column, OPS_ENCODER_WIDTH)] =
      row < features && column < width ? t->a->t.rounded[kind->w + row * width + column] : 0;
  }
  core_device_barrier(t->at);
}

/* Stores two neighbors of an embedding: as floats where they are read again, and those of active shapes in x. */
OPS_ENCODER_FN void ops_encoder_embedded(const OpsEncoderTile *t, int k, uint32_t thing, uint32_t column,
                                         const float *two) {
  const OpsTransformerKind *kind = &t->a->t.kind[k];
  const OpsPack *pack = &kind->pack;
  const uint32_t width = (uint32_t)pack->width;
  const CoreDivided32 of_world = core_divide_32(thing, t->a->count[k]);
  float *to = kind->embedded + (t->first * t->a->count[k].number + thing) * width + column, last = two[1];

  if (column + 1 == width) last = (int)column + 1 == pack->tag ? 1.0f : 0.0f;
  if (t->a->t.is_learning || !kind->is_shape) {
    to[0] = two[0];
    if (column + 1 < width) to[1] = two[1];
  }
  if (!kind->is_shape) return;
  if (ops_encoder_observation(t, of_world.whole)[(uint32_t)pack->mask + of_world.rest] == 0) return;

  const uint32_t row = of_world.whole * t->a->attend.entities.number + (uint32_t)pack->first + of_world.rest;
  *(uint32_t *)(void *)(t->x + core_device_swizzled(row, column, OPS_ENCODER_WIDTH)) = row_bf16_pair(two[0], last);
}

OPS_ENCODER_FN void ops_encoder_embed(OpsEncoderTile *t) {
  const OpsEncoderOwn own = ops_encoder_own(t, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS);
  ops_encoder_clear(t);

  for (int k = 0; k < t->a->t.kinds; k++) {
    const OpsTransformerKind *kind = &t->a->t.kind[k];
    const uint32_t things = t->worlds * (uint32_t)kind->pack.count;
    const float *bias = t->a->t.theta + kind->w + (size_t)kind->features * (size_t)kind->pack.width;
    OpsEncoderSum sum = {{{{0}}}};
    if (things == 0) continue;
    ops_encoder_features(t, k);
    ops_encoder_add(t, t->y, 0, OPS_TRANSFORMER_FEATURES, t->stage, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);

    CORE_DEVICE_UNROLL for (uint32_t j = 0; j < OPS_ENCODER_ACROSS; j++) {
      const uint32_t column = own.column + j * 8 + own.two;
      const float low = bias[column], up = column + 1 < (uint32_t)kind->pack.width ? bias[column + 1] : 0;
      CORE_DEVICE_UNROLL for (uint32_t half = 0; half < 2 * OPS_ENCODER_HIGH; half++) {
        const float *c = &sum.c[half / 2][j][half % 2 * 2];
        const float two[2] = {fast_tanh(c[0] + low), fast_tanh(c[1] + up)};
        const uint32_t thing = own.row + half * 8 + own.g;
        if (thing < things) ops_encoder_embedded(t, k, thing, column, two);
      }
    }
    core_device_barrier(t->at);
  }
  ops_encoder_keep_rows(t, t->x, t->a->t.shapes);
}

/* ---- layer norm -------------------------------------------------------------------------------------------------- */

/* Norm of x -> y. A thread computes mean and inverse of a row. */
OPS_ENCODER_FN void ops_encoder_norm(const OpsEncoderTile *t, const OpsTransformerNorm *norm) {
  const uint32_t own = t->at->thread, eighth = own % OPS_ENCODER_EIGHTS, on = OPS_ENCODER_THREADS / OPS_ENCODER_EIGHTS;
  float gain[KERNEL_EIGHT], offset[KERNEL_EIGHT], x[KERNEL_EIGHT], y[KERNEL_EIGHT];

  if (own < OPS_ENCODER_ROWS) {
    float sum = 0, squares = 0;
    for (uint32_t e = 0; e < OPS_ENCODER_EIGHTS; e++) {
      ops_encoder_read(t->x, own, e, x);
      for (int k = 0; k < KERNEL_EIGHT; k++) sum += x[k];
    }
    const float mean = sum * (1.0f / OPS_ENCODER_WIDTH);
    for (uint32_t e = 0; e < OPS_ENCODER_EIGHTS; e++) {
      ops_encoder_read(t->x, own, e, x);
      for (int k = 0; k < KERNEL_EIGHT; k++) squares += (x[k] - mean) * (x[k] - mean);
    }
    const float inverse = 1.0f / sqrtf(squares * (1.0f / OPS_ENCODER_WIDTH) + t->a->t.epsilon);
    t->number[2 * own] = mean;
    t->number[2 * own + 1] = inverse;
    if (ops_encoder_is_kept(t, own))
      ((OpsTwoFloats *)(void *)norm->moments)[t->first * t->a->attend.entities.number + own] =
        (OpsTwoFloats){{mean, inverse}};
  }
  core_device_barrier(t->at);

  ops_load_floats(t->a->t.theta + norm->gain + eighth * KERNEL_EIGHT, KERNEL_EIGHT, gain);
  ops_load_floats(t->a->t.theta + norm->gain + OPS_ENCODER_WIDTH + eighth * KERNEL_EIGHT, KERNEL_EIGHT, offset);
  for (uint32_t row = own / OPS_ENCODER_EIGHTS; row < OPS_ENCODER_ROWS; row += on) {
    ops_encoder_read(t->x, row, eighth, x);
    for (int k = 0; k < KERNEL_EIGHT; k++) {
      x[k] = (x[k] - t->number[2 * row]) * t->number[2 * row + 1];
      y[k] = gain[k] * x[k] + offset[k];
    }
    *ops_encoder_eight(t->y, row, eighth) = ops_round_eight(y);
  }
  core_device_barrier(t->at);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Stores the sums and their bias as floats [rows][OPS_ENCODER_QKV] in `other`, and for the backward pass. */
OPS_ENCODER_FN void ops_encoder_put_qkv(const OpsEncoderTile *t, const OpsEncoderSum *sum, const float *bias,
                                        float *qkv) {
  const OpsEncoderOwn own = ops_encoder_own(t, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS / 2);
  float *staged = (float *)(void *)t->other;
  CORE_DEVICE_UNROLL for (uint32_t j = 0; j < OPS_ENCODER_ACROSS / 2; j++) {
    const uint32_t column = own.column + j * 8 + own.two;
    if (column >= OPS_ENCODER_QKV) continue;
    CORE_DEVICE_UNROLL for (uint32_t half = 0; half < 2 * OPS_ENCODER_HIGH; half++) {
      const float *c = &sum->c[half / 2][j][half % 2 * 2];
      *(OpsTwoFloats *)(void *)(staged + (own.row + half * 8 + own.g) * OPS_ENCODER_QKV + column) =
        (OpsTwoFloats){{c[0] + bias[column], c[1] + bias[column + 1]}};
    }
  }
  core_device_barrier(t->at);
  if (!t->a->t.is_learning) return;

  OpsFourFloats *to = (OpsFourFloats *)(void *)(qkv + t->first * t->a->attend.entities.number * OPS_ENCODER_QKV);
  for (uint32_t i = t->at->thread; i < t->rows * OPS_ENCODER_QKV / KERNEL_FOUR; i += OPS_ENCODER_THREADS)
    to[i] = ((const OpsFourFloats *)(const void *)staged)[i];
}

/* Computes attention from `other` into the first columns of y. */
OPS_ENCODER_FN void ops_encoder_attend(const OpsEncoderTile *t, float *attended) {
  const OpsAttend *attend = &t->a->attend;
  for (uint32_t i = t->at->thread; i < t->rows * OPS_TRANSFORMER_HEADS; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_TRANSFORMER_HEADS, head = i % OPS_TRANSFORMER_HEADS;
    const CoreDivided32 of_world = core_divide_32(row, attend->entities);
    const RowWorld world = {&attend->attention, ops_encoder_observation(t, of_world.whole),
                            (const float *)(const void *)t->other + (row - of_world.rest) * OPS_ENCODER_QKV};
    const OpsAttendPlace place = {attend, world, (int)of_world.rest, (int)head, OPS_NUMBERS_BF16, NULL};
    const OpsHeadVector out = ops_attend_query(&place);
    const uint32_t pair = row_bf16_pair(out.x[0], out.x[1]);
    *(uint32_t *)(void *)(t->y + core_device_swizzled(row, 2 * head, OPS_ENCODER_WIDTH)) = pair;
    if (t->a->t.is_learning)
      ((uint32_t *)(void *)attended)[t->first * attend->entities.number * OPS_TRANSFORMER_HEADS + i] = pair;
  }
  core_device_barrier(t->at);
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

/* Gate of x and y -> x: r, then h, and z last, since it needs neither. The kernels of y are columns of one matrix, W,
 * as are those of x, U. first: the first stage of r is on its way. */
OPS_ENCODER_FN OpsEncoderTerm ops_encoder_reset(const OpsEncoderTile *t, const OpsTransformerGate *gate) {
  return (OpsEncoderTerm){t->y, t->a->t.rounded + gate->w, 3 * OPS_ENCODER_WIDTH, OPS_ENCODER_WIDTH, OPS_ENCODER_WIDTH};
}

/* Keeps r, which is in `other`, and replaces it by r x. r has the sign bit where y, the output of a layer with ReLU, is
 * positive, so that the gradient need not read y. */
OPS_ENCODER_FN void ops_encoder_open(const OpsEncoderTile *t, const OpsTransformerGate *gate) {
  for (uint32_t i = t->at->thread; i < OPS_ENCODER_ROWS * OPS_ENCODER_EIGHTS; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_ENCODER_EIGHTS, eighth = i % OPS_ENCODER_EIGHTS;
    float r[KERNEL_EIGHT], x[KERNEL_EIGHT], y[KERNEL_EIGHT];
    ops_encoder_read(t->other, row, eighth, r);
    ops_encoder_read(t->x, row, eighth, x);
    ops_encoder_read(t->y, row, eighth, y);
    for (int k = 0; k < KERNEL_EIGHT; k++) {
      x[k] *= r[k];
      if (y[k] > 0) r[k] = -r[k];
    }
    *ops_encoder_eight(t->other, row, eighth) = ops_round_eight(x);
    ops_encoder_keep(t, ops_round_eight(r), gate->r, row, eighth);
  }
  core_device_barrier(t->at);
}

/* Keeps z, which is in y, and h, in `other`, and replaces x by the output, which is kept unless `out` is NULL. */
OPS_ENCODER_FN void ops_encoder_close(const OpsEncoderTile *t, const OpsTransformerGate *gate, float *out) {
  for (uint32_t i = t->at->thread; i < OPS_ENCODER_ROWS * OPS_ENCODER_EIGHTS; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_ENCODER_EIGHTS, eighth = i % OPS_ENCODER_EIGHTS;
    const OpsEight gated = *ops_encoder_eight(t->y, row, eighth), candidate = *ops_encoder_eight(t->other, row, eighth);
    float z[KERNEL_EIGHT], h[KERNEL_EIGHT], x[KERNEL_EIGHT];
    ops_widen_bf16(gated, KERNEL_EIGHT, z);
    ops_widen_bf16(candidate, KERNEL_EIGHT, h);
    ops_encoder_read(t->x, row, eighth, x);
    for (int k = 0; k < KERNEL_EIGHT; k++) x[k] = row_gate_out(z[k], x[k], h[k]);
    const OpsEight closed = ops_round_eight(x);
    *ops_encoder_eight(t->x, row, eighth) = closed;
    ops_encoder_keep(t, gated, gate->z, row, eighth);
    ops_encoder_keep(t, candidate, gate->h, row, eighth);
    if (out) ops_encoder_keep(t, closed, out, row, eighth);
  }
  core_device_barrier(t->at);
}

OPS_ENCODER_FN void ops_encoder_gate(OpsEncoderTile *t, const OpsTransformerGate *gate, float *out,
                                     OpsEncoderTerm next) {
  enum { W = OPS_ENCODER_WIDTH };
  const uint16_t *u = t->a->t.rounded + gate->w + 3 * W * W;
  const OpsEncoderTerm of_y = ops_encoder_reset(t, gate), of_x = {t->x, u, 2 * W, W, W};
  const OpsEncoderTerm h = {t->y, of_y.w + 2 * W, of_y.row, W, W}, h_of_rx = {t->other, u + 2 * W * W, W, W, W};
  const OpsEncoderTerm z = {t->y, of_y.w + W, of_y.row, W, W}, z_of_x = {t->x, u + W, of_x.row, W, W};
  const float *bias = t->a->t.theta + gate->w + 6 * W * W;

  OpsEncoderSum sum = {{{{0}}}};
  ops_encoder_multiply(t, of_y, of_x, h, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put(t, &sum, NULL, 0, OPS_ENCODER_SIGMOID, t->other);
  ops_encoder_open(t, gate);

  sum = (OpsEncoderSum){{{{0}}}};
  ops_encoder_multiply(t, h, h_of_rx, z, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put(t, &sum, NULL, 0, OPS_ENCODER_TANH, t->other);

  sum = (OpsEncoderSum){{{{0}}}};
  ops_encoder_multiply(t, z, z_of_x, next, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put(t, &sum, bias, -1, OPS_ENCODER_SIGMOID, t->y);
  ops_encoder_close(t, gate, out);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* A sender of the tile: its world, its index among those of its kind there, and in the batch. */
typedef struct OpsEncoderSender { const float *observation; uint32_t world, index; size_t of_all; } OpsEncoderSender;
OPS_ENCODER_FN OpsEncoderSender ops_encoder_sender(const OpsEncoderTile *t, uint32_t s, uint32_t sender) {
  const CoreDivisor32 count = t->a->count[OPS_TRANSFORMER_SHAPES + s];
  const CoreDivided32 by = core_divide_32(sender, count);
  return (OpsEncoderSender){ops_encoder_observation(t, by.whole), by.whole, by.rest, t->first * count.number + sender};
}

/* Returns the senders of a kind, joints (0) or thrusters (1); the rows of joints precede those of thrusters. */
OPS_ENCODER_FN uint32_t ops_encoder_senders(const OpsEncoderTile *t, uint32_t s) {
  return t->worlds * (uint32_t)t->a->t.message[s].count;
}

/* Collects part `part` of what a kind sends (a shape, or the sender's own embedding) in its rows of y, and keeps it;
 * the other rows become 0. */
OPS_ENCODER_FN void ops_encoder_gather(const OpsEncoderTile *t, const OpsTransformerLayer *layer, uint32_t s,
                                       uint32_t part, uint32_t rows) {
  const OpsMessage *m = &t->a->t.message[s];
  const uint32_t begin = s == 0 ? 0 : ops_encoder_senders(t, 0), count = ops_encoder_senders(t, s);
  for (uint32_t i = t->at->thread; i < rows * OPS_ENCODER_EIGHTS; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_ENCODER_EIGHTS, eighth = i % OPS_ENCODER_EIGHTS;
    OpsEight eight = {{0, 0, 0, 0}};

    if (row >= begin && row < begin + count) {
      const OpsEncoderSender sender = ops_encoder_sender(t, s, row - begin);
      const bool is_active = sender.observation[(uint32_t)m->mask + sender.index] != 0;
      if (is_active && part < (uint32_t)m->ends) {
        const uint32_t entity = (uint32_t)row_message_entity(sender.observation, m, (int)sender.index, (int)part);
        eight = *ops_encoder_eight(t->x, sender.world * t->a->attend.entities.number + entity, eighth);
      } else if (is_active) {
        const float *embedded = t->a->t.kind[OPS_TRANSFORMER_SHAPES + s].embedded + sender.of_all * OPS_ENCODER_WIDTH;
        float own[KERNEL_EIGHT];
        ops_load_floats(embedded + eighth * KERNEL_EIGHT, KERNEL_EIGHT, own);
        eight = ops_round_eight(own);
      }
      uint16_t *to = (uint16_t *)(void *)layer->gathered[s];
      to += (sender.of_all * ((size_t)m->ends + 1) + part) * OPS_ENCODER_WIDTH;
      if (t->a->t.is_learning) ops_store_eight(eight, to + eighth * KERNEL_EIGHT);
    }
    *ops_encoder_eight(t->y, row, eighth) = eight;
  }
  core_device_barrier(t->at);
}

/* Stores the messages and their kind's bias in `other`. */
OPS_ENCODER_FN void ops_encoder_put_messages(const OpsEncoderTile *t, const OpsTransformerLayer *layer,
                                             const OpsEncoderSum *sum, const uint32_t high) {
  const OpsEncoderOwn own = ops_encoder_own(t, high, OPS_ENCODER_ACROSS);
  const float *joint = t->a->t.theta + layer->message[0] + 3 * OPS_ENCODER_SQUARE;
  const float *thruster = t->a->t.theta + layer->message[1] + 2 * OPS_ENCODER_SQUARE;
  CORE_DEVICE_UNROLL for (uint32_t half = 0; half < 2 * high; half++) {
    const uint32_t row = own.row + half * 8 + own.g;
    const float *bias = row < ops_encoder_senders(t, 0) ? joint : thruster;
    CORE_DEVICE_UNROLL for (uint32_t j = 0; j < OPS_ENCODER_ACROSS; j++) {
      const uint32_t column = own.column + j * 8 + own.two;
      const float *c = &sum->c[half / 2][j][half % 2 * 2];
      const OpsTwoFloats add = *(const OpsTwoFloats *)(const void *)(bias + column);
      *(uint32_t *)(void *)(t->other + core_device_swizzled(row, column, OPS_ENCODER_WIDTH)) =
        row_bf16_pair(c[0] + add.x[0], c[1] + add.x[1]);
    }
  }
  core_device_barrier(t->at);
}

/* Adds the messages of active senders to their shapes, joints' first. */
OPS_ENCODER_FN void ops_encoder_scatter(const OpsEncoderTile *t) {
  for (uint32_t i = t->at->thread; i < t->rows * OPS_ENCODER_EIGHTS; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_ENCODER_EIGHTS, eighth = i % OPS_ENCODER_EIGHTS;
    const CoreDivided32 of_world = core_divide_32(row, t->a->attend.entities);
    const float *observation = ops_encoder_observation(t, of_world.whole);
    float x[KERNEL_EIGHT], more[KERNEL_EIGHT];
    ops_encoder_read(t->x, row, eighth, x);

    for (uint32_t s = 0, begin = 0; s < 2; begin += ops_encoder_senders(t, s), s++) {
      const OpsMessage *m = &t->a->t.message[s];
      for (int k = 0; k < m->count; k++) {
        if (observation[m->mask + k] == 0 || row_message_entity(observation, m, k, 0) != (int)of_world.rest) continue;
        ops_encoder_read(t->other, begin + of_world.whole * (uint32_t)m->count + (uint32_t)k, eighth, more);
        for (int n = 0; n < KERNEL_EIGHT; n++) x[n] += more[n];
      }
    }
    *ops_encoder_eight(t->x, row, eighth) = ops_round_eight(x);
  }
  core_device_barrier(t->at);
}

/* Returns part `part` of the kernel of a kind's messages: 0 to 2 of joints, then 0 and 1 of thrusters. */
OPS_ENCODER_FN OpsEncoderTerm ops_encoder_message(const OpsEncoderTile *t, const OpsTransformerLayer *layer,
                                                  uint32_t part) {
  const size_t w = layer->message[part >= 3] + (part < 3 ? part : part - 3) * OPS_ENCODER_SQUARE;
  return (OpsEncoderTerm){t->y, t->a->t.rounded + w, OPS_ENCODER_WIDTH, OPS_ENCODER_WIDTH, OPS_ENCODER_WIDTH};
}

/* Sends messages: one product over the five parts, whose first stage is on its way. */
OPS_ENCODER_FN void ops_encoder_send(OpsEncoderTile *t, const OpsTransformerLayer *layer, const uint32_t high) {
  const OpsEncoderTerm none = {NULL, NULL, 0, 0, 0};
  OpsEncoderSum sum = {{{{0}}}};
  for (uint32_t part = 0; part < 5; part++) {
    ops_encoder_gather(t, layer, part < 3 ? 0 : 1, part < 3 ? part : part - 3,
                       high * OPS_ENCODER_DOWN * OPS_ENCODER_STEP);
    ops_encoder_multiply(t, ops_encoder_message(t, layer, part), none,
                         part < 4 ? ops_encoder_message(t, layer, part + 1) : none, high, OPS_ENCODER_ACROSS, &sum);
  }
  ops_encoder_put_messages(t, layer, &sum, high);
  ops_encoder_scatter(t);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Computes attention, or with is_second the dense layer, of the norm of x, which the gate combines with x. */
OPS_ENCODER_FN void ops_encoder_half(OpsEncoderTile *t, const OpsTransformerLayer *layer, const bool is_second) {
  enum { W = OPS_ENCODER_WIDTH };
  const OpsTransformer *a = &t->a->t;
  const OpsTransformerGate *gate = is_second ? &layer->gate_2 : &layer->gate_1;
  const OpsEncoderTerm none = {NULL, NULL, 0, 0, 0}, reset = ops_encoder_reset(t, gate);
  OpsEncoderTerm dense = {t->y, a->rounded + layer->dense_w, W, W, W};

  if (!is_second) {
    const OpsEncoderTerm qkv = {t->y, a->rounded + layer->qkv_w, OPS_ENCODER_QKV, W, OPS_ENCODER_QKV};
    dense = (OpsEncoderTerm){t->y, a->rounded + layer->out_w, W, OPS_ENCODER_ATTENDED, W};
    OpsEncoderSum sum = {{{{0}}}};
    ops_encoder_fetch(t, qkv, 0);
    ops_encoder_norm(t, &layer->norm_1);
    ops_encoder_multiply(t, qkv, none, dense, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS / 2, &sum);
    ops_encoder_put_qkv(t, &sum, a->theta + layer->qkv_w + W * OPS_ENCODER_QKV, layer->qkv);
    ops_encoder_attend(t, layer->attended);
  } else {
    ops_encoder_fetch(t, dense, 0);
    ops_encoder_norm(t, &layer->norm_2);
  }

  OpsEncoderSum sum = {{{{0}}}};
  ops_encoder_multiply(t, dense, none, reset, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put(t, &sum, a->theta + (dense.w - a->rounded) + dense.in * W, 1, OPS_ENCODER_RELU, t->y);
  ops_encoder_keep_rows(t, t->y, is_second ? layer->dense : layer->out);
  ops_encoder_gate(t, gate, is_second ? NULL : gate->out, is_second ? ops_encoder_message(t, layer, 0) : none);
}

/* Computes the mean over the dummy and the active shapes, and keeps its weights. */
OPS_ENCODER_FN void ops_encoder_mean(const OpsEncoderTile *t) {
  const uint32_t entities = t->a->attend.entities.number, own = t->at->thread;
  if (own < t->rows) {
    const CoreDivided32 of_world = core_divide_32(own, t->a->attend.entities);
    const float *active = ops_encoder_observation(t, of_world.whole) + t->a->attend.attention.mask;
    t->number[own] = row_mean_weight(active, (int)entities - 1, (int)of_world.rest);
    if (t->a->t.is_learning) t->a->t.weights[t->first * entities + own] = t->number[own];
  }
  core_device_barrier(t->at);

  for (uint32_t i = own; i < t->worlds * OPS_ENCODER_EIGHTS; i += OPS_ENCODER_THREADS) {
    const uint32_t world = i / OPS_ENCODER_EIGHTS, eighth = i % OPS_ENCODER_EIGHTS;
    float sum[KERNEL_EIGHT] = {0}, x[KERNEL_EIGHT], *to = t->a->embedding + (t->first + world) * OPS_ENCODER_WIDTH;
    for (uint32_t entity = world * entities; entity < (world + 1) * entities; entity++) {
      ops_encoder_read(t->x, entity, eighth, x);
      for (int k = 0; k < KERNEL_EIGHT; k++) sum[k] += t->number[entity] * x[k];
    }
    for (int k = 0; k < KERNEL_EIGHT; k += KERNEL_FOUR)
      *(OpsFourFloats *)(void *)(to + eighth * KERNEL_EIGHT + k) =
        (OpsFourFloats){{sum[k], sum[k + 1], sum[k + 2], sum[k + 3]}};
  }
  core_device_barrier(t->at);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

OPS_ENCODER_FN void ops_encoder_tile(OpsEncoderTile *t) {
  const uint32_t senders = ops_encoder_senders(t, 0) + ops_encoder_senders(t, 1);
  ops_encoder_embed(t);
  for (int l = 0; l < t->a->t.layers; l++) {
    const OpsTransformerLayer *layer = &t->a->t.layer[l];
    ops_encoder_half(t, layer, false);
    ops_encoder_half(t, layer, true);
    if (senders <= OPS_ENCODER_ROWS / 2) ops_encoder_send(t, layer, OPS_ENCODER_HIGH / 2);
    else ops_encoder_send(t, layer, OPS_ENCODER_HIGH);
    if (l + 1 < t->a->t.layers) ops_encoder_keep_rows(t, t->x, layer->gate_2.out);
  }
  ops_encoder_mean(t);
}

OPS_ENCODER_FN void ops_encoder(const CoreDeviceThread *at, const OpsEncode *a) {
  enum { MATRIX = OPS_ENCODER_ROWS * OPS_ENCODER_WIDTH };
  uint16_t *shared = (uint16_t *)at->shared, *stage = shared + 3 * MATRIX;
  const size_t all = (size_t)a->attend.x.rows;
  OpsEncoderTile t = {.at = at, .a = a, .x = shared, .y = shared + MATRIX, .other = shared + 2 * MATRIX,
                      .stage = stage, .number = (float *)(void *)(stage + 2 * OPS_ENCODER_STAGE)};
  for (t.first = (size_t)at->block * a->worlds; t.first < all; t.first += (size_t)at->blocks * a->worlds) {
    t.worlds = all - t.first < a->worlds ? (uint32_t)(all - t.first) : a->worlds;
    t.rows = t.worlds * a->attend.entities.number;
    ops_encoder_tile(&t);
  }
}

#endif
