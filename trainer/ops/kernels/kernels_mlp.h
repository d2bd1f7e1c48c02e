/* Fused passes over a chain of dense layers in bf16 (device_mlp.c): all layers in one launch each, for hidden layers of
 * 64, 128 or 256 units and tanh. Sums of products are float32.
 *
 * ops_mlp_forward, ops_mlp_backward. A block has OPS_MLP_ROWS rows at a time, whose values stay in shared memory from
 * layer to layer; kernels come from device memory (a GPU keeps them in its L2) in stages of 16 KB, of which the next is
 * copied while one is multiplied. A warp has 64 columns of the result, and as many rows as remain:
 *
 *   shared memory                                   warps of a result of 256, 128 and 64 columns
 *   +--------------------------+ 0                  +---+---+---+---+   +---+---+   +---+
 *   | values 128 x 256         |                    | 0 | 1 | 2 | 3 |   | 0 | 1 |   | 0 | 16 rows
 *   +--------------------------+ 64 KB              |   |   |   |   |   +---+---+   +---+
 *   | stage 0    | stage 1     |                    +---+---+---+---+   | 2 | 3 |   ...   each
 *   +--------------------------+ 96 KB              | 4 | 5 | 6 | 7 |   +---+---+   +---+
 *   | outputs 128 x 256        | backward only      |   |   |   |   |    32 rows    | 7 |
 *   +--------------------------+ 160 KB             +---+---+---+---+    each       +---+  64 columns each
 *
 * A stage holds 8192 elements of a kernel: rows of W[in][out] in the forward pass, columns in the backward pass.
 * Results replace the values when all warps have multiplied. A last layer of fewer than 64 outputs is loaded whole, in
 * both stages.
 *
 * ops_mlp_learn. A block takes its rows through the forward pass, PPO's loss and the backward pass, with the functions
 * that these use alone (kernels_policy.h), so with the same bits. It reads outputs of hidden layers from the L2 again.
 * The loss has a row per thread of the first half, and its sums and logits where the backward pass has outputs. */
#ifndef TRAINER_OPS_KERNELS_MLP_H
#define TRAINER_OPS_KERNELS_MLP_H
#include "trainer/ops/kernels/kernels_bf16.h"
#include "trainer/ops/kernels/kernels_policy.h"

enum {
  OPS_MLP_LAYERS = 6,          /* five hidden layers and the last one, at most */
  OPS_MLP_ROWS = 128, OPS_MLP_THREADS = 256, OPS_MLP_WIDEST = 256, OPS_MLP_WARP = 64, /* columns of a warp */
  OPS_MLP_HIGH = 4, OPS_MLP_ACROSS = OPS_MLP_WARP / 8, /* tiles of a warp, of 16 rows (at most) and 8 columns */
  OPS_MLP_DEEP = 16,           /* terms per tensor-core instruction */
  OPS_MLP_VALUES = OPS_MLP_ROWS * OPS_MLP_WIDEST, OPS_MLP_STAGE = 8192, /* elements */
  OPS_MLP_FORWARD_BYTES = (OPS_MLP_VALUES + 2 * OPS_MLP_STAGE) * 2,
  OPS_MLP_BACKWARD_BYTES = (2 * OPS_MLP_VALUES + 2 * OPS_MLP_STAGE) * 2,
  OPS_MLP_DEEPEST = OPS_MLP_STAGE / OPS_MLP_WARP /* rows of a stage, at most */
};

typedef struct OpsMlpLayer {
  const uint16_t *w;           /* [in][out] */
  const float *b;              /* [out] */
  uint16_t *y;                 /* [rows][out] outputs; not of the last layer */
  uint16_t *dz;                /* [rows][out] gradients before the activation; NULL: dy, of a narrow last layer */
  uint32_t in, out;
} OpsMlpLayer;

typedef struct OpsMlp {
  OpsMlpLayer layer[OPS_MLP_LAYERS];
  uint32_t layers;
  size_t rows;
  const uint16_t *x;           /* [rows][row_x] inputs, padded with zeros */
  uint32_t row_x;              /* a multiple of 8 */
  float *output;               /* [rows][out] of the last layer, */
  OpsActivation activation;    /* linear or tanh; narrow: linear */
  const float *dy;             /* [rows][out] gradient at the output; backward only, as are dz */
} OpsMlp;

/* Whether the layer's outputs fill whole warps. */
CORE_DEVICE_FN int ops_mlp_is_wide(uint32_t out) { return out >= OPS_MLP_WARP; }

/* Sums of a warp. Registers as in mma.m16n8k16: thread 4 g + t of the warp has rows g and g + 8, columns 2 t and
 * 2 t + 1. */
typedef struct OpsMlpSum { float c[OPS_MLP_HIGH][OPS_MLP_ACROSS][4]; } OpsMlpSum;

/* A thread's place in a result of 64 `high` columns: first row and column of its warp's part, and its own in a tile. */
typedef struct OpsMlpPlace { uint32_t row, column, g, two; } OpsMlpPlace;
CORE_KERNEL_FN OpsMlpPlace ops_mlp_place(const CoreDeviceThread *at, const uint32_t high) {
  const uint32_t warp = at->thread / 32, lane = at->thread % 32;
  const OpsMlpPlace place = {warp / high * 16 * high, warp % high * OPS_MLP_WARP, lane / 4, lane % 4 * 2};
  return place;
}

CORE_DEVICE_FN uint32_t ops_mlp_value(uint32_t row, uint32_t column) {
  return core_device_swizzled(row, column, OPS_MLP_WIDEST);
}
CORE_DEVICE_FN size_t ops_mlp_left(const OpsMlp *a, size_t first) {
  return a->rows - first < OPS_MLP_ROWS ? a->rows - first : OPS_MLP_ROWS;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Copies rows `from` to `end` of source [left][stride] to the values, `columns` of each; 0 where there are none. */
CORE_KERNEL_FN void ops_mlp_copy_rows(const CoreDeviceThread *at, const uint16_t *source, uint32_t stride,
                                      uint32_t left, uint32_t columns, uint32_t from, uint32_t end, uint16_t *values) {
  const uint32_t pieces = columns / KERNEL_EIGHT;
  for (uint32_t i = from * pieces + at->thread; i < end * pieces; i += OPS_MLP_THREADS) {
    const uint32_t row = i / pieces, column = i % pieces * KERNEL_EIGHT;
    const int is_present = row < left && column < stride;
    core_device_copy_async(at, values + ops_mlp_value(row, column),
                           source + (is_present ? (size_t)row * stride + column : 0), is_present);
  }
}

/* Copies a stage of a kernel, from term k on: rows of W in the forward pass, columns in the backward pass, in which
 * they have 64 `high` outputs or inputs. */
CORE_KERNEL_FN void ops_mlp_fetch_of(const CoreDeviceThread *at, const OpsMlpLayer *layer, const int is_backward,
                                     uint32_t k, const uint32_t high, uint16_t *stage) {
  const uint32_t across = is_backward ? OPS_MLP_STAGE / OPS_MLP_WARP / high : OPS_MLP_WARP * high;
  const uint32_t pieces = across / KERNEL_EIGHT;
  CORE_DEVICE_UNROLL for (uint32_t i = 0; i < OPS_MLP_STAGE / KERNEL_EIGHT / OPS_MLP_THREADS; i++) {
    const uint32_t piece = at->thread + i * OPS_MLP_THREADS, row = piece / pieces;
    const uint32_t column = piece % pieces * KERNEL_EIGHT;
    const int is_present = is_backward ? k + column < layer->out : k + row < layer->in;
    const size_t from = is_backward ? (size_t)row * layer->out + k + column : (size_t)(k + row) * layer->out + column;
    core_device_copy_async(at, stage + core_device_swizzled(row, column, across), layer->w + (is_present ? from : 0),
                           is_present);
  }
}
CORE_KERNEL_FN void ops_mlp_fetch(const CoreDeviceThread *at, const OpsMlpLayer *layer, const int is_backward,
                                  uint32_t k, uint16_t *stage) {
  switch ((is_backward ? layer->in : layer->out) / OPS_MLP_WARP) {
    case 4: ops_mlp_fetch_of(at, layer, is_backward, k, 4, stage); break;
    case 2: ops_mlp_fetch_of(at, layer, is_backward, k, 2, stage); break;
    default: ops_mlp_fetch_of(at, layer, is_backward, k, 1, stage);
  }
}

/* Loads the whole kernel of a narrow last layer to both stages: [in][64] with zeros after its outputs. */
CORE_KERNEL_FN void ops_mlp_load_narrow(const CoreDeviceThread *at, const OpsMlpLayer *layer, uint16_t *stage) {
  const uint32_t rows = (layer->in + OPS_MLP_DEEP - 1) / OPS_MLP_DEEP * OPS_MLP_DEEP;
  for (uint32_t i = at->thread; i < rows * OPS_MLP_WARP; i += OPS_MLP_THREADS) {
    const uint32_t row = i / OPS_MLP_WARP, column = i % OPS_MLP_WARP;
    const int is_present = row < layer->in && column < layer->out;
    stage[core_device_swizzled(row, column, OPS_MLP_WARP)] = is_present ? layer->w[row * layer->out + column] : 0;
  }
}

/* Stores the values [left][columns] to device memory. */
CORE_KERNEL_FN void ops_mlp_store(const CoreDeviceThread *at, const uint16_t *values, size_t left,
                                  const uint32_t columns, uint16_t *to) {
  const uint32_t pieces = columns / KERNEL_EIGHT;
  for (uint32_t i = at->thread; i < left * pieces; i += OPS_MLP_THREADS) {
    const uint32_t row = i / pieces, column = i % pieces * KERNEL_EIGHT;
    ops_store_eight(*(const OpsEight *)(const void *)(values + ops_mlp_value(row, column)),
                    to + (size_t)row * columns + column);
  }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Adds the product of `depth` columns of the values, from k on, and a stage with rows of `across` elements. columns: of
 * the result, of which a warp skips the rest. */
CORE_KERNEL_FN void ops_mlp_multiply(const CoreDeviceThread *at, const uint16_t *values, uint32_t k,
                                     const uint16_t *stage, const uint32_t across, uint32_t depth,
                                     const int is_backward, const uint32_t high, uint32_t columns, OpsMlpSum *sum) {
  const OpsMlpPlace place = ops_mlp_place(at, high);
  for (uint32_t deep = 0; deep < depth; deep += OPS_MLP_DEEP) {
    uint32_t left[OPS_MLP_HIGH][4];
    CORE_DEVICE_UNROLL for (uint32_t m = 0; m < high; m++)
      core_device_load_swizzled(at, values, OPS_MLP_WIDEST, place.row + 16 * m, k + deep, CORE_TILE_A, left[m]);
    CORE_DEVICE_UNROLL for (uint32_t n = 0; n < OPS_MLP_ACROSS; n += 2) {
      uint32_t right[4];
      if (8 * n >= columns) continue;
      if (is_backward) core_device_load_swizzled(at, stage, across, place.column + 8 * n, deep, CORE_TILE_B, right);
      else
        core_device_load_swizzled(at, stage, across, deep, place.column + 8 * n, CORE_TILE_B_TRANSPOSED, right);
      CORE_DEVICE_UNROLL for (uint32_t i = 0; i < 2; i++)
        core_device_multiply_tiles(at, (int)high, &sum->c[0][n + i], OPS_MLP_ACROSS, left, right + 2 * i);
    }
  }
}

/* Multiplies the values by a kernel, whose first stage has been fetched, and waits until no warp reads values and
 * stages any more. outputs: rows [left][columns] that are copied meanwhile, a part with each stage; NULL: none. */
CORE_KERNEL_FN void ops_mlp_product(const CoreDeviceThread *at, const OpsMlpLayer *layer, const int is_backward,
                                    uint16_t *values, const uint16_t *outputs, uint32_t left, const uint32_t high,
                                    OpsMlpSum *sum) {
  const uint32_t terms = is_backward ? layer->out : layer->in, slice = OPS_MLP_STAGE / OPS_MLP_WARP / high;
  const uint32_t across = is_backward ? slice : OPS_MLP_WARP * high, stages = (terms + slice - 1) / slice;
  uint16_t *stage = values + OPS_MLP_VALUES, *to = stage + 2 * OPS_MLP_STAGE;

  for (uint32_t s = 0; s < stages; s++) {
    const uint32_t k = s * slice, rest = (terms - k + OPS_MLP_DEEP - 1) / OPS_MLP_DEEP * OPS_MLP_DEEP;
    core_device_copy_wait(at, 0);
    core_device_barrier(at); /* the stage is there, and the one before it multiplied */
    if (outputs)
      ops_mlp_copy_rows(at, outputs, OPS_MLP_WARP * high, left, OPS_MLP_WARP * high, OPS_MLP_ROWS * s / stages,
                        OPS_MLP_ROWS * (s + 1) / stages, to);
    if (s + 1 < stages) ops_mlp_fetch_of(at, layer, is_backward, k + slice, high, stage + (s + 1) % 2 * OPS_MLP_STAGE);
    core_device_copy_commit(at);
    ops_mlp_multiply(at, values, k, stage + s % 2 * OPS_MLP_STAGE, across, rest < slice ? rest : slice, is_backward,
                     high, OPS_MLP_WARP, sum);
  }

  core_device_copy_wait(at, 0);
  core_device_barrier(at); /* values and stages are multiplied, outputs are there */
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

CORE_KERNEL_FN void ops_mlp_hidden(const CoreDeviceThread *at, const OpsMlpLayer *layer, const OpsMlpSum *sum,
                                   const uint32_t high, uint16_t *values) {
  const OpsMlpPlace place = ops_mlp_place(at, high);
  CORE_DEVICE_UNROLL for (uint32_t n = 0; n < OPS_MLP_ACROSS; n++) {
    const uint32_t column = place.column + 8 * n + place.two;
    const float low = layer->b[column], next = layer->b[column + 1];
    CORE_DEVICE_UNROLL for (uint32_t i = 0; i < 2 * high; i++) {
      const float *two = &sum->c[i / 2][n][i % 2 * 2];
      *(uint32_t *)(void *)(values + ops_mlp_value(place.row + 8 * i + place.g, column)) = row_bf16_pair(
        ops_activate_rounded(OPS_TANH, two[0] + low), ops_activate_rounded(OPS_TANH, two[1] + next));
    }
  }
}

/* Stores the last layer's outputs as floats. */
CORE_KERNEL_FN void ops_mlp_output(const CoreDeviceThread *at, const OpsMlp *a, const OpsMlpSum *sum, size_t first,
                                   const uint32_t high) {
  const OpsMlpLayer *last = &a->layer[a->layers - 1];
  const OpsMlpPlace place = ops_mlp_place(at, high);
  CORE_DEVICE_UNROLL for (uint32_t n = 0; n < OPS_MLP_ACROSS; n++)
    CORE_DEVICE_UNROLL for (uint32_t i = 0; i < 4 * high; i++) {
      const uint32_t column = place.column + 8 * n + place.two + i % 2;
      const size_t row = first + place.row + 8 * (i / 2) + place.g;
      if (row >= a->rows || column >= last->out) continue;
      const float z = sum->c[i / 4][n][i % 4] + last->b[column];
      a->output[row * last->out + column] = a->activation == OPS_TANH ? ops_activate_rounded(OPS_TANH, z) : z;
    }
}

CORE_KERNEL_FN void ops_mlp_forward_of(const CoreDeviceThread *at, const OpsMlp *a, uint32_t l, size_t first,
                                       const uint32_t high) {
  const OpsMlpLayer *layer = &a->layer[l];
  const int is_last = l + 1 == a->layers;
  uint16_t *values = (uint16_t *)at->shared;
  OpsMlpSum sum = {{{{0}}}};

  ops_mlp_product(at, layer, 0, values, NULL, 0, high, &sum);
  if (!is_last && ops_mlp_is_wide(layer[1].out)) ops_mlp_fetch(at, layer + 1, 0, 0, values + OPS_MLP_VALUES);
  if (is_last) {
    ops_mlp_output(at, a, &sum, first, high);
    return;
  }

  ops_mlp_hidden(at, layer, &sum, high, values);
  core_device_barrier(at); /* the values are the layer's outputs */
  ops_mlp_store(at, values, ops_mlp_left(a, first), OPS_MLP_WARP * high, layer->y + first * layer->out);
}

CORE_KERNEL_FN void ops_mlp_forward_narrow(const CoreDeviceThread *at, const OpsMlp *a, size_t first) {
  const OpsMlpLayer *last = &a->layer[a->layers - 1];
  uint16_t *values = (uint16_t *)at->shared, *stage = values + OPS_MLP_VALUES;
  OpsMlpSum sum = {{{{0}}}};

  ops_mlp_load_narrow(at, last, stage);
  core_device_copy_wait(at, 0); /* for the inputs, if this is the only layer */
  core_device_barrier(at); /* the kernel is there */
  ops_mlp_multiply(at, values, 0, stage, OPS_MLP_WARP, last->in, 0, 1, last->out, &sum);
  ops_mlp_output(at, a, &sum, first, 1);
}

/* Runs the forward pass of the rows from `first` on. */
CORE_KERNEL_FN void ops_mlp_forward_tile(const CoreDeviceThread *at, const OpsMlp *a, size_t first) {
  const uint32_t columns = (a->layer[0].in + OPS_MLP_DEEPEST - 1) / OPS_MLP_DEEPEST * OPS_MLP_DEEPEST;
  uint16_t *values = (uint16_t *)at->shared;
  core_device_barrier(at); /* the last rows' values are multiplied */
  ops_mlp_copy_rows(at, a->x + first * a->row_x, a->row_x, (uint32_t)ops_mlp_left(a, first), columns, 0, OPS_MLP_ROWS,
                    values);
  if (ops_mlp_is_wide(a->layer[0].out)) ops_mlp_fetch(at, &a->layer[0], 0, 0, values + OPS_MLP_VALUES);

  for (uint32_t l = 0; l < a->layers; l++) {
    core_device_copy_commit(at);
    switch (a->layer[l].out / OPS_MLP_WARP) {
      case 4: ops_mlp_forward_of(at, a, l, first, 4); break;
      case 2: ops_mlp_forward_of(at, a, l, first, 2); break;
      case 1: ops_mlp_forward_of(at, a, l, first, 1); break;
      default: ops_mlp_forward_narrow(at, a, first);
    }
  }
}

CORE_KERNEL_FN void ops_mlp_forward(const CoreDeviceThread *at, const OpsMlp *a) {
  for (size_t first = (size_t)at->block * OPS_MLP_ROWS; first < a->rows; first += (size_t)at->blocks * OPS_MLP_ROWS)
    ops_mlp_forward_tile(at, a, first);
}

/* ---- gradients of rows ------------------------------------------------------------------------------------------- */

/* Fills the values with the gradient before the last layer's activation, rounded; 0 after its outputs. */
CORE_KERNEL_FN void ops_mlp_output_gradient(const CoreDeviceThread *at, const OpsMlp *a, size_t first,
                                            uint16_t *values) {
  const OpsMlpLayer *last = &a->layer[a->layers - 1];
  const uint32_t pairs = ops_mlp_is_wide(last->out) ? last->out / 2 : OPS_MLP_WARP / 2;
  for (uint32_t i = at->thread; i < OPS_MLP_ROWS * pairs; i += OPS_MLP_THREADS) {
    const uint32_t row = i / pairs, column = i % pairs * 2;
    const size_t from = (first + row) * last->out + column;
    float two[2] = {0, 0};
    CORE_DEVICE_UNROLL for (uint32_t k = 0; k < 2; k++)
      if (first + row < a->rows && column + k < last->out)
        two[k] = a->dy[from + k] *
                 (a->activation == OPS_LINEAR ? 1.0f : ops_derivative_one(a->activation, a->output[from + k]));
    *(uint32_t *)(void *)(values + ops_mlp_value(row, column)) = row_bf16_pair(two[0], two[1]);
  }
}

/* Multiplies the gradient by the derivative of the layer below at its outputs. */
CORE_KERNEL_FN void ops_mlp_derive(const CoreDeviceThread *at, const OpsMlpSum *sum, const uint32_t high,
                                   uint16_t *values) {
  const OpsMlpPlace place = ops_mlp_place(at, high);
  const uint16_t *outputs = values + OPS_MLP_VALUES + 2 * OPS_MLP_STAGE;
  CORE_DEVICE_UNROLL for (uint32_t n = 0; n < OPS_MLP_ACROSS; n++)
    CORE_DEVICE_UNROLL for (uint32_t i = 0; i < 2 * high; i++) {
      const uint32_t own = ops_mlp_value(place.row + 8 * i + place.g, place.column + 8 * n + place.two);
      const float *two = &sum->c[i / 2][n][i % 2 * 2];
      const uint32_t y = *(const uint32_t *)(const void *)(outputs + own);
      *(uint32_t *)(void *)(values + own) = row_bf16_pair(two[0] * ops_derivative_one(OPS_TANH, row_low_of_pair(y)),
                                                          two[1] * ops_derivative_one(OPS_TANH, row_high_of_pair(y)));
    }
}

/* Computes the gradient of the layer below layer l from that of layer l. */
CORE_KERNEL_FN void ops_mlp_backward_of(const CoreDeviceThread *at, const OpsMlp *a, uint32_t l, size_t first,
                                        const uint32_t high) {
  const OpsMlpLayer *layer = &a->layer[l], *below = layer - 1;
  const uint32_t left = (uint32_t)ops_mlp_left(a, first);
  const uint16_t *outputs = below->y + first * below->out;
  uint16_t *values = (uint16_t *)at->shared, *stage = values + OPS_MLP_VALUES;
  OpsMlpSum sum = {{{{0}}}};

  if (ops_mlp_is_wide(layer->out)) {
    ops_mlp_product(at, layer, 1, values, outputs, left, high, &sum);
  } else {
    ops_mlp_copy_rows(at, outputs, OPS_MLP_WARP * high, left, OPS_MLP_WARP * high, 0, OPS_MLP_ROWS,
                      stage + 2 * OPS_MLP_STAGE);
    core_device_copy_commit(at);
    ops_mlp_load_narrow(at, layer, stage);
    core_device_barrier(at); /* values and kernel are there */
    ops_mlp_multiply(at, values, 0, stage, OPS_MLP_WARP, (layer->out + OPS_MLP_DEEP - 1) / OPS_MLP_DEEP * OPS_MLP_DEEP,
                     1, high, OPS_MLP_WARP, &sum);
    core_device_copy_wait(at, 0);
    core_device_barrier(at); /* values and kernel are multiplied, outputs are there */
  }

  if (l > 1) ops_mlp_fetch(at, below, 1, 0, stage);
  ops_mlp_derive(at, &sum, high, values);
  core_device_barrier(at); /* the values are the gradient below */
  ops_mlp_store(at, values, left, OPS_MLP_WARP * high, below->dz + first * below->out);
}

/* Computes the gradients of the rows from `first` on. */
CORE_KERNEL_FN void ops_mlp_backward_tile(const CoreDeviceThread *at, const OpsMlp *a, size_t first) {
  const OpsMlpLayer *last = &a->layer[a->layers - 1];
  uint16_t *values = (uint16_t *)at->shared;
  core_device_barrier(at); /* the last rows' values are stored */
  if (a->layers > 1 && ops_mlp_is_wide(last->out)) ops_mlp_fetch(at, last, 1, 0, values + OPS_MLP_VALUES);
  ops_mlp_output_gradient(at, a, first, values);
  if (last->dz) {
    core_device_barrier(at); /* the values are the gradient */
    ops_mlp_store(at, values, ops_mlp_left(a, first), last->out, last->dz + first * last->out);
  }

  for (uint32_t l = a->layers - 1; l > 0; l--) {
    core_device_copy_commit(at);
    switch (a->layer[l].in / OPS_MLP_WARP) {
      case 4: ops_mlp_backward_of(at, a, l, first, 4); break;
      case 2: ops_mlp_backward_of(at, a, l, first, 2); break;
      default: ops_mlp_backward_of(at, a, l, first, 1);
    }
  }
}

CORE_KERNEL_FN void ops_mlp_backward(const CoreDeviceThread *at, const OpsMlp *a) {
  for (size_t first = (size_t)at->block * OPS_MLP_ROWS; first < a->rows; first += (size_t)at->blocks * OPS_MLP_ROWS)
    ops_mlp_backward_tile(at, a, first);
}

/* ---- a pass, its loss and its gradients of rows ------------------------------------------------------------------ */

typedef struct OpsMlpLearn {
  OpsMlp mlp;                  /* dy: the loss's gradient */
  OpsPolicyLoss policy;        /* an actor's loss, or */
  OpsValueLoss value;          /* a critic's */
  int is_policy;
} OpsMlpLearn;

CORE_KERNEL_FN void ops_mlp_learn(const CoreDeviceThread *at, const OpsMlpLearn *a) {
  uint16_t *outputs = (uint16_t *)at->shared + OPS_MLP_VALUES + 2 * OPS_MLP_STAGE;
  const size_t step = (size_t)at->blocks * OPS_MLP_ROWS;
  for (size_t first = (size_t)at->block * OPS_MLP_ROWS; first < a->mlp.rows; first += step) {
    const OpsRowTile tile = {first / KERNEL_ROWS, outputs};
    ops_mlp_forward_tile(at, &a->mlp, first);
    core_device_barrier(at); /* the logits or values are stored */
    if (a->is_policy) ops_policy_loss_tile(at, tile, &a->policy);
    else ops_value_loss_tile(at, tile, &a->value);
    ops_mlp_backward_tile(at, &a->mlp, first); /* after a barrier */
  }
}

#endif
