/* Backward pass of the transformer over shapes in one launch: gradients of entities through all layers, which each
 * leave the gradients that the products for their kernels' gradients read, once each, and sums for those of layer norms
 * and gates' biases. Gradients of kernels and of the other biases follow in another launch (kernels_weights.h).
 *
 * A block processes the same tiles of whole worlds as in the forward pass (kernels_fused_encoder.h), with the same
 * products of 128 x 128 sums by eight warps, in 160 KB of shared memory: four matrices hold the rows, so that there are
 * no more than 128 of them. Values of the forward pass are read from device memory where they are needed.
 *
 *   shared memory                 bytes     during the backward pass of a layer, in this order
 *   x      [128][128] bf16       32 768     gradient at the entities: output, between the gates, input of the layer
 *   y      [128][128] bf16       32 768     dmessages | dh, ddense | scratch | dh, dout, qkv (floats), dqkv | scratch
 *   other  [128][128] bf16       32 768     second end | d(r x), dr | gradient at norm 2 | d(r x), dr | attention |
 *                                           gradient at norm 1
 *   kept   [128][128] bf16       32 768     first end, own | dz, then the part of x by U | dz, then the part of x by U
 *   stage  [2][128][64] bf16     32 768     columns of a kernel, by asynchronous copies
 *
 * A stage has 64 columns of a kernel [in][out], which are terms of a product with the transposed kernel. Gradients are
 * rounded to bf16 where the separate kernels round them. Each tile leaves its own sums, which are added in the order of
 * tiles, so the number of blocks does not change a bit. Rows after the last world are 0 in all matrices, and add
 * nothing. */
#ifndef TRAINER_OPS_KERNELS_FUSED_BACKWARD_H
#define TRAINER_OPS_KERNELS_FUSED_BACKWARD_H
#include "trainer/ops/kernels/kernels_fused_encoder.h"

/* Bytes of shared memory of a block. */
enum { OPS_ENCODER_BACKWARD_SHARED = 8 * OPS_ENCODER_ROWS * OPS_ENCODER_WIDTH + 4 * OPS_ENCODER_STAGE };

/* Sums of a layer: where those of a kind begin, per tile. They are [tiles][columns]. */
enum {
  OPS_ENCODER_SUM_NORM_1 = 0,  /* gain and offset */
  OPS_ENCODER_SUM_NORM_2 = OPS_ENCODER_SUM_NORM_1 + 2 * OPS_ENCODER_WIDTH,
  OPS_ENCODER_SUM_GATE_1 = OPS_ENCODER_SUM_NORM_2 + 2 * OPS_ENCODER_WIDTH, /* bias */
  OPS_ENCODER_SUM_GATE_2 = OPS_ENCODER_SUM_GATE_1 + OPS_ENCODER_WIDTH,
  OPS_ENCODER_SUMS = OPS_ENCODER_SUM_GATE_2 + OPS_ENCODER_WIDTH,
  OPS_ENCODER_SUM_KINDS = 4,
};

/* Elements of a thread, one after the other: its eighth of every sixteenth row. */
enum { OPS_ENCODER_AT_ONCE = OPS_ENCODER_THREADS / OPS_ENCODER_EIGHTS };
OPS_ENCODER_FN uint32_t ops_encoder_row(const OpsEncoderTile *t) { return t->at->thread / OPS_ENCODER_EIGHTS; }
OPS_ENCODER_FN uint32_t ops_encoder_eighth(const OpsEncoderTile *t) { return t->at->thread % OPS_ENCODER_EIGHTS; }

/* Loads eight neighbors of a row in a matrix in device memory; 0 after the tile's rows. */
OPS_ENCODER_FN void ops_encoder_load(const OpsEncoderTile *t, float *matrix, uint32_t row, uint32_t eighth,
                                     float *values) {
  OpsEight eight = {{0, 0, 0, 0}};
  if (row < t->rows) eight = *(const OpsEight *)(const void *)ops_encoder_place(t, matrix, row, eighth);
  ops_widen_bf16(eight, KERNEL_EIGHT, values);
}

/* Stores eight neighbors of a row to part `part` of a matrix [N][parts][OPS_ENCODER_WIDTH] in device memory. */
OPS_ENCODER_FN void ops_encoder_leave(const OpsEncoderTile *t, OpsEight eight, float *matrix, uint32_t parts,
                                      uint32_t part, uint32_t row, uint32_t eighth) {
  const size_t of_all = t->first * t->a->attend.entities.number + row;
  if (row >= t->rows) return;
  ops_store_eight(eight, (uint16_t *)(void *)matrix + (of_all * parts + part) * OPS_ENCODER_WIDTH +
                           eighth * KERNEL_EIGHT);
}

/* Rounds the sums to a matrix in shared memory. */
OPS_ENCODER_FN void ops_encoder_put_sums(const OpsEncoderTile *t, const OpsEncoderSum *sum, const uint32_t high,
                                         uint16_t *to) {
  const OpsEncoderOwn own = ops_encoder_own(t, high, OPS_ENCODER_ACROSS);
  CORE_DEVICE_UNROLL for (uint32_t j = 0; j < OPS_ENCODER_ACROSS; j++)
    CORE_DEVICE_UNROLL for (uint32_t half = 0; half < 2 * high; half++) {
      const float *c = &sum->c[half / 2][j][half % 2 * 2];
      const uint32_t row = own.row + half * 8 + own.g, column = own.column + j * 8 + own.two;
      *(uint32_t *)(void *)(to + core_device_swizzled(row, column, OPS_ENCODER_WIDTH)) = row_bf16_pair(c[0], c[1]);
    }
  core_device_barrier(t->at);
}

/* Writes the tile's sums of columns `from` to from + OPS_ENCODER_WIDTH - 1 of the `all` columns at `begin`: own[] of
 * each thread, over its rows. Overwrites 8 KB of a matrix after a barrier. */
OPS_ENCODER_FN void ops_encoder_add_rows(const OpsEncoderTile *t, uint16_t *scratch, const float *own, uint32_t begin,
                                         uint32_t all, uint32_t from) {
  const size_t place = (size_t)((uint32_t)t->layer * OPS_ENCODER_SUMS + begin) * t->a->tiles;
  float *to = t->a->sums + place + (size_t)t->tile * all + from;
  ops_sum_eights_in(t->at, (float *)(void *)scratch, own, OPS_ENCODER_WIDTH, to);
}

/* Products of a layer's gradient; each is described where the first stage of it is fetched, and again where it is
 * computed, since its addresses would take registers in between. */
OPS_ENCODER_FN OpsEncoderTerm ops_encoder_unreset(const OpsEncoderTile *t, const OpsTransformerGate *gate) {
  enum { W = OPS_ENCODER_WIDTH };
  return (OpsEncoderTerm){t->y, t->a->t.rounded + gate->w + 5 * W * W, W, W, W};
}
OPS_ENCODER_FN OpsEncoderTerm ops_encoder_undense(const OpsEncoderTile *t, const OpsTransformerLayer *layer,
                                                  const bool is_second) {
  enum { W = OPS_ENCODER_WIDTH };
  if (is_second) return (OpsEncoderTerm){t->y, t->a->t.rounded + layer->dense_w, W, W, W};
  return (OpsEncoderTerm){t->y, t->a->t.rounded + layer->out_w, W, OPS_ENCODER_ATTENDED, W};
}
OPS_ENCODER_FN OpsEncoderTerm ops_encoder_unproject(const OpsEncoderTile *t, const OpsTransformerLayer *layer) {
  return (OpsEncoderTerm){t->y, t->a->t.rounded + layer->qkv_w, OPS_ENCODER_QKV, OPS_ENCODER_WIDTH, OPS_ENCODER_QKV};
}

/* ---- the mean ---------------------------------------------------------------------------------------------------- */

/* Gradient of the mean -> x. */
OPS_ENCODER_FN void ops_encoder_spread(const OpsEncoderTile *t) {
  const uint32_t eighth = ops_encoder_eighth(t);
  for (uint32_t row = ops_encoder_row(t); row < OPS_ENCODER_ROWS; row += OPS_ENCODER_AT_ONCE) {
    float x[KERNEL_EIGHT] = {0};
    if (row < t->rows) {
      const CoreDivided32 of_world = core_divide_32(row, t->a->attend.entities);
      const float weight = t->a->t.weights[t->first * t->a->attend.entities.number + row];
      const float *dout = t->a->dembedding + (t->first + of_world.whole) * OPS_ENCODER_WIDTH;
      ops_load_floats(dout + eighth * KERNEL_EIGHT, KERNEL_EIGHT, x);
      for (int k = 0; k < KERNEL_EIGHT; k++) x[k] = row_pool_backward(weight, 0, x[k], OPS_LINEAR);
    }
    *ops_encoder_eight(t->x, row, eighth) = ops_round_eight(x);
  }
  core_device_barrier(t->at);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Gradients at the messages of a kind -> their rows of y, and device memory: those of active senders are those at their
 * first shapes. Rows before the kind's are unchanged, those after it up to `rows` become 0. */
OPS_ENCODER_FN void ops_encoder_unscatter(const OpsEncoderTile *t, const OpsTransformerLayer *layer, uint32_t s,
                                          uint32_t rows) {
  const OpsMessage *m = &t->a->t.message[s];
  const uint32_t begin = s == 0 ? 0 : ops_encoder_senders(t, 0), count = ops_encoder_senders(t, s);
  const uint32_t eighth = ops_encoder_eighth(t);
  for (uint32_t row = ops_encoder_row(t); row < rows; row += OPS_ENCODER_AT_ONCE) {
    OpsEight eight = {{0, 0, 0, 0}};
    if (row < begin) continue;
    if (row < begin + count) {
      const OpsEncoderSender sender = ops_encoder_sender(t, s, row - begin);
      uint16_t *to = (uint16_t *)(void *)layer->dmessages[s] + sender.of_all * OPS_ENCODER_WIDTH;
      if (sender.observation[(uint32_t)m->mask + sender.index] != 0) {
        const uint32_t entity = (uint32_t)row_message_entity(sender.observation, m, (int)sender.index, 0);
        eight = *ops_encoder_eight(t->x, sender.world * t->a->attend.entities.number + entity, eighth);
      }
      ops_store_eight(eight, to + eighth * KERNEL_EIGHT);
    }
    *ops_encoder_eight(t->y, row, eighth) = eight;
  }
  core_device_barrier(t->at);
}

/* Adds to x what a kind has gathered: gradients at first ends are in `kept`, at second ends in `other`. */
OPS_ENCODER_FN void ops_encoder_ungather(const OpsEncoderTile *t, uint32_t s) {
  const OpsMessage *m = &t->a->t.message[s];
  const uint32_t begin = s == 0 ? 0 : ops_encoder_senders(t, 0), eighth = ops_encoder_eighth(t);
  for (uint32_t row = ops_encoder_row(t); row < t->rows; row += OPS_ENCODER_AT_ONCE) {
    const CoreDivided32 of_world = core_divide_32(row, t->a->attend.entities);
    const float *observation = ops_encoder_observation(t, of_world.whole);
    float x[KERNEL_EIGHT], more[KERNEL_EIGHT];
    ops_encoder_read(t->x, row, eighth, x);

    for (int k = 0; k < m->count; k++) {
      const uint32_t sender = begin + of_world.whole * (uint32_t)m->count + (uint32_t)k;
      if (observation[m->mask + k] == 0) continue;
      for (int end = 0; end < m->ends; end++) {
        if (row_message_entity(observation, m, k, end) != (int)of_world.rest) continue;
        ops_encoder_read(end == 0 ? t->kept : t->other, sender, eighth, more);
        for (int n = 0; n < KERNEL_EIGHT; n++) x[n] += more[n];
      }
    }
    *ops_encoder_eight(t->x, row, eighth) = ops_round_eight(x);
  }
  core_device_barrier(t->at);
}

/* Adds the gradients at a kind's own embeddings, in `kept`, to device memory; those of the last layer, which is the
 * first to come, are set there, and after the first layer all are before tanh. */
OPS_ENCODER_FN void ops_encoder_unembed_senders(const OpsEncoderTile *t, uint32_t s) {
  const OpsMessage *m = &t->a->t.message[s];
  const OpsTransformerKind *kind = &t->a->t.kind[OPS_TRANSFORMER_SHAPES + s];
  const uint32_t begin = s == 0 ? 0 : ops_encoder_senders(t, 0), eighth = ops_encoder_eighth(t);
  for (uint32_t row = ops_encoder_row(t); row < ops_encoder_senders(t, s); row += OPS_ENCODER_AT_ONCE) {
    const OpsEncoderSender sender = ops_encoder_sender(t, s, row);
    const size_t place = sender.of_all * OPS_ENCODER_WIDTH + eighth * KERNEL_EIGHT;
    uint16_t *to = (uint16_t *)(void *)kind->dembedded + place;
    float x[KERNEL_EIGHT] = {0}, more[KERNEL_EIGHT];

    if (sender.observation[(uint32_t)m->mask + sender.index] != 0) ops_encoder_read(t->kept, begin + row, eighth, x);
    if (t->layer + 1 < t->a->t.layers) {
      ops_widen_bf16(ops_load_bf16(to, KERNEL_EIGHT), KERNEL_EIGHT, more);
      for (int k = 0; k < KERNEL_EIGHT; k++) x[k] += more[k];
    }
    if (t->layer == 0) {
      ops_load_floats(kind->embedded + place, KERNEL_EIGHT, more);
      for (int k = 0; k < KERNEL_EIGHT; k++) x[k] *= ops_derivative_one(OPS_TANH, more[k]);
    }
    ops_store_eight(ops_round_eight(x), to);
  }
  core_device_barrier(t->at); /* `kept` is overwritten */
}

/* Computes the gradient of messages: five products of half of the rows at a time, as few as there are. The first stage
 * of the first product is on its way. */
OPS_ENCODER_FN void ops_encoder_unsend(OpsEncoderTile *t, const OpsTransformerLayer *layer) {
  enum { HALF = OPS_ENCODER_ROWS / 2 };
  const OpsEncoderTerm none = {NULL, NULL, 0, 0, 0};
  const uint32_t rows = ops_encoder_senders(t, 0) + ops_encoder_senders(t, 1) <= HALF ? HALF : OPS_ENCODER_ROWS;
  for (uint32_t s = 0; s < 2; s++) ops_encoder_unscatter(t, layer, s, rows);

  for (uint32_t part = 0, first = 0; part < 5;) {
    uint16_t *to = (part == 1 ? t->other : t->kept) + first * OPS_ENCODER_WIDTH;
    const uint32_t own = part;
    OpsEncoderTerm term = ops_encoder_message(t, layer, part), next = ops_encoder_unreset(t, &layer->gate_2);
    OpsEncoderSum sum = {{{{0}}}};
    term.a += first * OPS_ENCODER_WIDTH;
    first = (first + HALF) % rows;
    part += first == 0;
    if (part < 5) next = ops_encoder_message(t, layer, part);

    ops_encoder_multiply(t, term, none, next, OPS_ENCODER_HIGH / 2, OPS_ENCODER_ACROSS, &sum);
    ops_encoder_put_sums(t, &sum, OPS_ENCODER_HIGH / 2, to);
    if (first > 0) continue;
    if (own == 1) ops_encoder_ungather(t, 0);
    if (own == 3) ops_encoder_ungather(t, 1);
    if (own == 2 || own == 4) ops_encoder_unembed_senders(t, own == 4);
  }
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

/* Gradient at a gate's output, in x -> dh in y, dz in `kept`, and x, that at the gate's x; with the bias's sums. */
OPS_ENCODER_FN void ops_encoder_unclose(const OpsEncoderTile *t, const OpsTransformerGate *gate, float *input,
                                        uint32_t begin) {
  const uint32_t eighth = ops_encoder_eighth(t);
  float dbias[KERNEL_EIGHT] = {0};
  for (uint32_t row = ops_encoder_row(t); row < OPS_ENCODER_ROWS; row += OPS_ENCODER_AT_ONCE) {
    float dout[KERNEL_EIGHT], z[KERNEL_EIGHT], h[KERNEL_EIGHT], x[KERNEL_EIGHT];
    ops_encoder_read(t->x, row, eighth, dout);
    ops_encoder_load(t, gate->z, row, eighth, z);
    ops_encoder_load(t, gate->h, row, eighth, h);
    ops_encoder_load(t, input, row, eighth, x);

    for (int k = 0; k < KERNEL_EIGHT; k++) {
      float dh, dz, dx;
      row_gate_close_backward(dout[k], z[k], h[k], x[k], &dh, &dz, &dx);
      h[k] = dh;
      z[k] = dz;
      x[k] = dx;
      dbias[k] -= dz;
    }

    const OpsEight of_h = *ops_encoder_eight(t->y, row, eighth) = ops_round_eight(h);
    const OpsEight of_z = *ops_encoder_eight(t->kept, row, eighth) = ops_round_eight(z);
    *ops_encoder_eight(t->x, row, eighth) = ops_round_eight(x);
    ops_encoder_leave(t, of_h, gate->da, 3, 2, row, eighth);
    ops_encoder_leave(t, of_z, gate->da, 3, 1, row, eighth);
  }
  ops_encoder_add_rows(t, t->other, dbias, begin, OPS_ENCODER_WIDTH, 0);
}

/* Gradient at r x, in `other`, -> dr there, and added to x. */
OPS_ENCODER_FN void ops_encoder_unopen(const OpsEncoderTile *t, const OpsTransformerGate *gate, float *input) {
  const uint32_t eighth = ops_encoder_eighth(t);
  for (uint32_t row = ops_encoder_row(t); row < OPS_ENCODER_ROWS; row += OPS_ENCODER_AT_ONCE) {
    float drx[KERNEL_EIGHT], r[KERNEL_EIGHT], x[KERNEL_EIGHT], dx[KERNEL_EIGHT];
    ops_encoder_read(t->other, row, eighth, drx);
    ops_encoder_read(t->x, row, eighth, dx);
    ops_encoder_load(t, gate->r, row, eighth, r);
    ops_encoder_load(t, input, row, eighth, x);

    for (int k = 0; k < KERNEL_EIGHT; k++) {
      r[k] = fabsf(r[k]);
      dx[k] += drx[k] * r[k];
      x[k] = row_gate_open_backward(drx[k], r[k], x[k]);
    }

    const OpsEight of_r = *ops_encoder_eight(t->other, row, eighth) = ops_round_eight(x);
    *ops_encoder_eight(t->x, row, eighth) = ops_round_eight(dx);
    ops_encoder_leave(t, of_r, gate->da, 3, 0, row, eighth);
  }
  core_device_barrier(t->at);
}

/* Gradient at a gate's y, in y, -> that before its layer's ReLU, there and in device memory: r has the sign bit where
 * the output is positive. */
OPS_ENCODER_FN void ops_encoder_unrectify(const OpsEncoderTile *t, const OpsTransformerGate *gate, float *to) {
  const uint32_t eighth = ops_encoder_eighth(t);
  for (uint32_t row = ops_encoder_row(t); row < OPS_ENCODER_ROWS; row += OPS_ENCODER_AT_ONCE) {
    float r[KERNEL_EIGHT], dy[KERNEL_EIGHT];
    ops_encoder_read(t->y, row, eighth, dy);
    ops_encoder_load(t, gate->r, row, eighth, r);
    for (int k = 0; k < KERNEL_EIGHT; k++) dy[k] *= fast_to_bits(r[k]) < 0 ? 1.0f : 0.0f;
    const OpsEight rounded = *ops_encoder_eight(t->y, row, eighth) = ops_round_eight(dy);
    ops_encoder_leave(t, rounded, to, 1, 0, row, eighth);
  }
  core_device_barrier(t->at);
}

/* Gradient at a gate's output, in x -> the gradient at its y, in y, and at its x: the part by U in `kept`, the rest in
 * x. input: the gate's x. The first stage of the first product is on its way, and on return that of the dense layer. */
OPS_ENCODER_FN void ops_encoder_ungate(OpsEncoderTile *t, const OpsTransformerLayer *layer, float *input,
                                       const bool is_second) {
  enum { W = OPS_ENCODER_WIDTH };
  const OpsTransformerGate *gate = is_second ? &layer->gate_2 : &layer->gate_1;
  const OpsEncoderTerm none = {NULL, NULL, 0, 0, 0};

  ops_encoder_unclose(t, gate, input, is_second ? OPS_ENCODER_SUM_GATE_2 : OPS_ENCODER_SUM_GATE_1);
  const uint16_t *w = t->a->t.rounded + gate->w, *u = w + 3 * W * W;
  const OpsEncoderTerm r = {t->other, w, 3 * W, W, W}, z = {t->kept, w + W, 3 * W, W, W};
  const OpsEncoderTerm h = {t->y, w + 2 * W, 3 * W, W, W};
  const OpsEncoderTerm r_of_x = {t->other, u, 2 * W, W, W}, z_of_x = {t->kept, u + W, 2 * W, W, W};
  OpsEncoderSum sum = {{{{0}}}};
  ops_encoder_multiply(t, ops_encoder_unreset(t, gate), none, r, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put_sums(t, &sum, OPS_ENCODER_HIGH, t->other);
  ops_encoder_unopen(t, gate, input);

  sum = (OpsEncoderSum){{{{0}}}};
  ops_encoder_multiply(t, r, z, h, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_multiply(t, h, none, r_of_x, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put_sums(t, &sum, OPS_ENCODER_HIGH, t->y);

  sum = (OpsEncoderSum){{{{0}}}};
  ops_encoder_multiply(t, r_of_x, z_of_x, ops_encoder_undense(t, layer, is_second), OPS_ENCODER_HIGH,
                       OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put_sums(t, &sum, OPS_ENCODER_HIGH, t->kept);
}

/* ---- layer norm -------------------------------------------------------------------------------------------------- */

/* Adds `kept` and the gradient of the layer norm of `input`, of that at its output in `other`, to x, with sums for gain
 * and offset. */
OPS_ENCODER_FN void ops_encoder_unnorm(const OpsEncoderTile *t, const OpsTransformerNorm *norm, float *input,
                                       uint32_t begin) {
  const uint32_t eighth = ops_encoder_eighth(t);
  const OpsTwoFloats *moments = (const OpsTwoFloats *)(const void *)norm->moments;
  float gain[KERNEL_EIGHT], dgain[KERNEL_EIGHT] = {0}, doffset[KERNEL_EIGHT] = {0};
  float *scratch = (float *)(void *)t->y;
  ops_load_floats(t->a->t.theta + norm->gain + eighth * KERNEL_EIGHT, KERNEL_EIGHT, gain);

  for (uint32_t row = ops_encoder_row(t); row < OPS_ENCODER_ROWS; row += OPS_ENCODER_AT_ONCE) {
    float n[KERNEL_EIGHT], dy[KERNEL_EIGHT], dx[KERNEL_EIGHT], more[KERNEL_EIGHT], mean = 0, along = 0;
    OpsTwoFloats of_row = {{0, 0}}; /* mean and inverse */
    if (row < t->rows) of_row = moments[t->first * t->a->attend.entities.number + row];
    ops_encoder_load(t, input, row, eighth, n);
    ops_encoder_read(t->other, row, eighth, dy);
    ops_encoder_read(t->x, row, eighth, dx);
    ops_encoder_read(t->kept, row, eighth, more);

    for (int k = 0; k < KERNEL_EIGHT; k++) n[k] = (n[k] - of_row.x[0]) * of_row.x[1];
    ops_widen_bf16(ops_round_eight(n), KERNEL_EIGHT, n);
    for (int k = 0; k < KERNEL_EIGHT; k++) {
      dgain[k] += dy[k] * n[k];
      doffset[k] += dy[k];
      dy[k] *= gain[k];
      mean += dy[k];
      along += dy[k] * n[k];
    }

    mean = ops_add_eights_in(t->at, scratch, mean) * (1.0f / OPS_ENCODER_WIDTH);
    along = ops_add_eights_in(t->at, scratch, along) * (1.0f / OPS_ENCODER_WIDTH);
    for (int k = 0; k < KERNEL_EIGHT; k++) dx[k] += more[k] + of_row.x[1] * (dy[k] - mean - n[k] * along);
    *ops_encoder_eight(t->x, row, eighth) = ops_round_eight(dx);
  }

  ops_encoder_add_rows(t, t->y, dgain, begin, 2 * OPS_ENCODER_WIDTH, 0);
  ops_encoder_add_rows(t, t->y, doffset, begin, 2 * OPS_ENCODER_WIDTH, OPS_ENCODER_WIDTH);
  core_device_barrier(t->at);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Layout of `other` in the gradient of attention. */
typedef struct OpsEncoderAttention {
  float dout[OPS_ENCODER_ROWS][OPS_ENCODER_ATTENDED];
  OpsSoftmax softmax[OPS_ENCODER_ROWS * OPS_TRANSFORMER_HEADS];
  OpsEight dqkv[OPS_ENCODER_ROWS][OPS_ENCODER_QKV / KERNEL_EIGHT];
} OpsEncoderAttention;

/* Stores the sums, gradients at attention's outputs, as floats. */
OPS_ENCODER_FN void ops_encoder_put_attended(const OpsEncoderTile *t, const OpsEncoderSum *sum) {
  const OpsEncoderOwn own = ops_encoder_own(t, OPS_ENCODER_HIGH, 2);
  OpsEncoderAttention *to = (OpsEncoderAttention *)(void *)t->other;
  CORE_DEVICE_UNROLL for (uint32_t j = 0; j < 2; j++) {
    const uint32_t column = own.column + j * 8 + own.two;
    if (column >= OPS_ENCODER_ATTENDED) continue;
    CORE_DEVICE_UNROLL for (uint32_t half = 0; half < 2 * OPS_ENCODER_HIGH; half++) {
      const float *c = &sum->c[half / 2][j][half % 2 * 2];
      *(OpsTwoFloats *)(void *)&to->dout[own.row + half * 8 + own.g][column] = (OpsTwoFloats){{c[0], c[1]}};
    }
  }
  core_device_barrier(t->at);
}

/* Returns the place of element i of [rows][heads]. */
OPS_ENCODER_FN OpsAttendPlace ops_encoder_head(const OpsEncoderTile *t, uint32_t i) {
  const OpsAttend *attend = &t->a->attend;
  const OpsEncoderAttention *of = (const OpsEncoderAttention *)(const void *)t->other;
  const uint32_t row = i / OPS_TRANSFORMER_HEADS;
  const CoreDivided32 of_world = core_divide_32(row, attend->entities);
  const RowWorld world = {&attend->attention, ops_encoder_observation(t, of_world.whole),
                          (const float *)(const void *)t->y + (row - of_world.rest) * OPS_ENCODER_QKV};
  return (OpsAttendPlace){attend, world, (int)of_world.rest, (int)(i % OPS_TRANSFORMER_HEADS), OPS_NUMBERS_BF16,
                          of->dout[0]};
}

/* Gradient at attention's outputs, in `other`, -> those of queries, keys and values there. */
OPS_ENCODER_FN void ops_encoder_unattend(const OpsEncoderTile *t, const OpsTransformerLayer *layer) {
  OpsEncoderAttention *of = (OpsEncoderAttention *)(void *)t->other;
  const uint32_t heads = t->rows * OPS_TRANSFORMER_HEADS, fours = t->rows * OPS_ENCODER_QKV / KERNEL_FOUR;
  const size_t first = t->first * t->a->attend.entities.number * OPS_ENCODER_QKV;
  for (uint32_t i = t->at->thread; i < fours; i += OPS_ENCODER_THREADS)
    ((OpsFourFloats *)(void *)t->y)[i] = ((const OpsFourFloats *)(const void *)(layer->qkv + first))[i];
  core_device_barrier(t->at);

  for (uint32_t i = t->at->thread; i < heads; i += OPS_ENCODER_THREADS) {
    const OpsAttendPlace place = ops_encoder_head(t, i);
    OpsHeadVector dq = {{0, 0}};
    if (row_is_active(&place.world, place.entity)) of->softmax[i] = ops_attend_query_gradient(&place, i, &dq);
    uint32_t *to = (uint32_t *)(void *)of->dqkv[i / OPS_TRANSFORMER_HEADS] + i % OPS_TRANSFORMER_HEADS;
    to[0] = row_bf16_pair(dq.x[0], dq.x[1]);
  }
  core_device_barrier(t->at);

  for (uint32_t i = t->at->thread; i < heads; i += OPS_ENCODER_THREADS) {
    const OpsAttendPlace place = ops_encoder_head(t, i);
    OpsHeadVector dk = {{0, 0}}, dv = {{0, 0}};
    if (row_is_active(&place.world, place.entity))
      ops_attend_key_gradient(&place, i, of->softmax + i - (uint32_t)place.entity * OPS_TRANSFORMER_HEADS, &dk, &dv);
    uint32_t *to = (uint32_t *)(void *)of->dqkv[i / OPS_TRANSFORMER_HEADS] + i % OPS_TRANSFORMER_HEADS;
    to[OPS_TRANSFORMER_HEADS] = row_bf16_pair(dk.x[0], dk.x[1]);
    to[2 * OPS_TRANSFORMER_HEADS] = row_bf16_pair(dv.x[0], dv.x[1]);
  }
  core_device_barrier(t->at);
}

/* Moves dqkv to the first columns of y and to device memory. */
OPS_ENCODER_FN void ops_encoder_put_dqkv(const OpsEncoderTile *t, const OpsTransformerLayer *layer) {
  const OpsEncoderAttention *of = (const OpsEncoderAttention *)(const void *)t->other;
  const uint32_t eighth = ops_encoder_eighth(t);
  const size_t first = t->first * t->a->attend.entities.number;
  for (uint32_t row = ops_encoder_row(t); row < OPS_ENCODER_ROWS; row += OPS_ENCODER_AT_ONCE) {
    OpsEight eight = {{0, 0, 0, 0}};
    if (eighth >= OPS_ENCODER_QKV / KERNEL_EIGHT) break;
    if (row < t->rows) {
      uint16_t *to = (uint16_t *)(void *)layer->dqkv + (first + row) * OPS_ENCODER_QKV;
      eight = of->dqkv[row][eighth];
      ops_store_eight(eight, to + eighth * KERNEL_EIGHT);
    }
    *ops_encoder_eight(t->y, row, eighth) = eight;
  }
  core_device_barrier(t->at);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* Gradient at the layer's output -> between the gates. */
OPS_ENCODER_FN void ops_encoder_second_half(OpsEncoderTile *t, const OpsTransformerLayer *layer) {
  const OpsEncoderTerm none = {NULL, NULL, 0, 0, 0};
  ops_encoder_ungate(t, layer, layer->gate_1.out, true);
  ops_encoder_unrectify(t, &layer->gate_2, layer->ddense);

  OpsEncoderSum sum = {{{{0}}}};
  ops_encoder_multiply(t, ops_encoder_undense(t, layer, true), none, ops_encoder_unreset(t, &layer->gate_1),
                       OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put_sums(t, &sum, OPS_ENCODER_HIGH, t->other);
  ops_encoder_unnorm(t, &layer->norm_2, layer->gate_1.out, OPS_ENCODER_SUM_NORM_2);
}

/* Gradient between the gates -> at the layer's input. */
OPS_ENCODER_FN void ops_encoder_first_half(OpsEncoderTile *t, const OpsTransformerLayer *layer) {
  const OpsEncoderTerm none = {NULL, NULL, 0, 0, 0};
  float *input = t->layer > 0 ? layer[-1].gate_2.out : t->a->t.shapes;
  ops_encoder_ungate(t, layer, input, false);
  ops_encoder_unrectify(t, &layer->gate_1, layer->dout);

  OpsEncoderSum sum = {{{{0}}}};
  ops_encoder_multiply(t, ops_encoder_undense(t, layer, false), none, ops_encoder_unproject(t, layer),
                       OPS_ENCODER_HIGH, 2, &sum);
  ops_encoder_put_attended(t, &sum);
  ops_encoder_unattend(t, layer);
  ops_encoder_put_dqkv(t, layer);

  sum = (OpsEncoderSum){{{{0}}}};
  ops_encoder_multiply(t, ops_encoder_unproject(t, layer), none,
                       t->layer > 0 ? ops_encoder_message(t, layer - 1, 0) : none, OPS_ENCODER_HIGH,
                       OPS_ENCODER_ACROSS, &sum);
  ops_encoder_put_sums(t, &sum, OPS_ENCODER_HIGH, t->other);
  ops_encoder_unnorm(t, &layer->norm_1, input, OPS_ENCODER_SUM_NORM_1);
}

/* Stores the gradients at the embeddings of shapes, before tanh. */
OPS_ENCODER_FN void ops_encoder_unpack(const OpsEncoderTile *t) {
  for (int k = 0; k < t->a->t.kinds; k++) {
    const OpsTransformerKind *kind = &t->a->t.kind[k];
    const CoreDivisor32 count = t->a->count[k];
    const uint32_t things = t->worlds * (uint32_t)kind->pack.count, width = (uint32_t)kind->pack.width;
    if (!kind->is_shape) continue;
    for (uint32_t i = t->at->thread; i < things * OPS_ENCODER_WIDTH / 2; i += OPS_ENCODER_THREADS) {
      const uint32_t thing = i / (OPS_ENCODER_WIDTH / 2), column = i % (OPS_ENCODER_WIDTH / 2) * 2;
      const CoreDivided32 of_world = core_divide_32(thing, count);
      const uint32_t row = of_world.whole * t->a->attend.entities.number + (uint32_t)kind->pack.first + of_world.rest;
      const float active = ops_encoder_observation(t, of_world.whole)[(uint32_t)kind->pack.mask + of_world.rest];
      const float *y = kind->embedded + (t->first * count.number + thing) * width + column;
      float dz[2] = {0, 0};

      for (uint32_t n = 0; n < 2; n++)
        if (active != 0 && column + n < width)
          dz[n] = row_from_bf16(t->x[core_device_swizzled(row, column + n, OPS_ENCODER_WIDTH)]) *
                  ops_derivative_one(OPS_TANH, y[n]);
      ((uint32_t *)(void *)kind->dembedded)[t->first * count.number * (OPS_ENCODER_WIDTH / 2) + i] =
        row_bf16_pair(dz[0], dz[1]);
    }
  }
  core_device_barrier(t->at);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

OPS_ENCODER_FN void ops_encoder_tile_backward(OpsEncoderTile *t) {
  const OpsTransformer *a = &t->a->t;
  ops_encoder_fetch(t, ops_encoder_message(t, &a->layer[a->layers - 1], 0), 0);
  ops_encoder_spread(t);

  for (t->layer = a->layers - 1; t->layer >= 0; t->layer--) {
    const OpsTransformerLayer *layer = &a->layer[t->layer];
    ops_encoder_unsend(t, layer);
    ops_encoder_second_half(t, layer);
    ops_encoder_first_half(t, layer);
  }
  ops_encoder_unpack(t);
}

OPS_ENCODER_FN void ops_encoder_backward(const CoreDeviceThread *at, const OpsEncode *a) {
  enum { MATRIX = OPS_ENCODER_ROWS * OPS_ENCODER_WIDTH };
  uint16_t *shared = (uint16_t *)at->shared;
  const size_t all = (size_t)a->attend.x.rows;
  OpsEncoderTile t = {.at = at, .a = a, .x = shared, .y = shared + MATRIX, .other = shared + 2 * MATRIX,
                      .stage = shared + 4 * MATRIX, .is_backward = true, .kept = shared + 3 * MATRIX};
  for (t.tile = at->block; t.tile < a->tiles; t.tile += at->blocks) {
    t.first = (size_t)t.tile * a->worlds;
    t.worlds = all - t.first < a->worlds ? (uint32_t)(all - t.first) : a->worlds;
    t.rows = t.worlds * a->attend.entities.number;
    ops_encoder_tile_backward(&t);
  }
}

#endif
