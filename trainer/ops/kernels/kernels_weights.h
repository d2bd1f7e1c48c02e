/* Gradients of the kernels and biases of several dense layers in two launches, for tensor cores: products of a layer's
 * inputs and gradients over rows (OpsWeightProduct), bf16 with float32 sums; floats are rounded on their way.
 *
 * ops_weights. A block has 128 x 128 elements of one layer's gradient and the rows of one slab, 64 at a time:
 *
 *   shared memory                                       64 outputs    64 outputs
 *   +---------------------+ 0                         +-------------+-------------+
 *   | inputs     64 x 128 | stage 0: is multiplied    |   warp 0    |   warp 1    | 32 inputs
 *   | gradients  64 x 128 |                           |   warp 2    |   warp 3    |
 *   | moments    64 x 2   | floats                    |   warp 4    |   warp 5    |
 *   +---------------------+ 32.5 KB                   |   warp 6    |   warp 7    |
 *   |                     | stage 1: is copied        +-------------+-------------+
 *   +---------------------+ 65 KB
 *
 * Inputs that are derived from others (a layer norm, or products of two matrices) are computed in the stage before it
 * is multiplied. Those of two matrices are 32 rows at a time: the factors take the inputs' other 32.
 * The gradient of a bias is the product of a row of ones, shared by the four warps with the same outputs. Adjacent
 * blocks have the same rows, of all layers, which the L2 keeps. Each slab leaves its sums, which ops_weights_fold adds
 * in their order, so the number of blocks does not change a bit. */
#ifndef TRAINER_OPS_KERNELS_WEIGHTS_H
#define TRAINER_OPS_KERNELS_WEIGHTS_H
#include "trainer/ops/entity.h"
#include "trainer/ops/kernels/kernels_bf16.h"

enum {
  OPS_WEIGHTS_THREADS = 256, OPS_WEIGHTS_PRODUCTS = 32,
  OPS_WEIGHTS_SIDE = 128,      /* inputs and outputs of a block */
  OPS_WEIGHTS_STAGE = 64,      /* rows of a stage */
  OPS_WEIGHTS_WARP = 64,       /* outputs of a warp */
  OPS_WEIGHTS_HIGH = 2, OPS_WEIGHTS_ACROSS = OPS_WEIGHTS_WARP / 8, /* tiles of a warp, of 16 inputs and 8 outputs */
  OPS_WEIGHTS_STEP = 16,       /* terms per tensor-core instruction */
  OPS_WEIGHTS_HALF = OPS_WEIGHTS_STAGE * OPS_WEIGHTS_SIDE, /* elements of a stage's inputs, and of its gradients */
  OPS_WEIGHTS_WHOLE = 2 * OPS_WEIGHTS_HALF + 4 * OPS_WEIGHTS_STAGE, /* elements of a stage, moments included */
  OPS_WEIGHTS_BYTES = 2 * OPS_WEIGHTS_WHOLE * 2,
  OPS_WEIGHTS_ONES = 0x3f803f80 /* two ones in bf16 */
};

typedef struct OpsWeights {
  OpsWeightProduct product[OPS_WEIGHTS_PRODUCTS];
  uint32_t products, tiles;    /* tiles: blocks per slab */
  uint32_t slab_rows;          /* a multiple of OPS_WEIGHTS_STAGE */
  uint32_t elements;           /* sums of a slab, of all products */
  float *parts;                /* [slabs][elements] */
} OpsWeights;

/* Returns the blocks of a product across its inputs or its outputs, and all of a slab. */
CORE_DEVICE_FN uint32_t ops_weights_sides(uint32_t n) { return (n + OPS_WEIGHTS_SIDE - 1) / OPS_WEIGHTS_SIDE; }
CORE_DEVICE_FN uint32_t ops_weights_tiles(const OpsWeightProduct *p) {
  return ops_weights_sides(p->in) * ops_weights_sides(p->out);
}
/* Returns the sums of a slab. */
CORE_DEVICE_FN uint32_t ops_weights_elements(const OpsWeightProduct *p) { return (p->in + (p->db != NULL)) * p->out; }

/* A block's part of a gradient. */
typedef struct OpsWeightsPart {
  const OpsWeightProduct *p;
  uint32_t m, n;               /* first input and output */
  uint32_t slab, first, end;   /* rows; 32 bits, for two blocks per multiprocessor */
  uint32_t deep;               /* rows of a stage */
} OpsWeightsPart;

CORE_KERNEL_FN OpsWeightsPart ops_weights_part(const CoreDeviceThread *at, const OpsWeights *a) {
  const uint32_t slab = at->block / a->tiles, first = slab * a->slab_rows, end = first + a->slab_rows;
  uint32_t tile = at->block % a->tiles;
  const OpsWeightProduct *p = a->product;
  for (; tile >= ops_weights_tiles(p); p++) tile -= ops_weights_tiles(p);
  const uint32_t across = ops_weights_sides(p->out);
  const OpsWeightsPart part = {p, tile / across * OPS_WEIGHTS_SIDE, tile % across * OPS_WEIGHTS_SIDE, slab, first,
                               end < p->rows ? end : p->rows,
                               p->times ? OPS_WEIGHTS_STAGE / 2 : OPS_WEIGHTS_STAGE};
  return part;
}

/* Copies 128 columns from `column` on of `rows` rows of [.. part->end)[columns], which are `stride` apart. */
CORE_KERNEL_FN void ops_weights_copy(const CoreDeviceThread *at, const OpsWeightsPart *part, const uint16_t *source,
                                     uint32_t stride, uint32_t columns, uint32_t row, uint32_t column, uint16_t *to) {
  const uint32_t pieces = OPS_WEIGHTS_SIDE / KERNEL_EIGHT;
  CORE_DEVICE_UNROLL for (uint32_t i = 0; i < OPS_WEIGHTS_STAGE * pieces / OPS_WEIGHTS_THREADS; i++) {
    const uint32_t piece = at->thread + i * OPS_WEIGHTS_THREADS;
    const uint32_t down = piece / pieces, right = piece % pieces * KERNEL_EIGHT;
    const int is_present = row + down < part->end && column + right < columns;
    if (down >= part->deep) break;
    core_device_copy_async(at, to + core_device_swizzled(down, right, OPS_WEIGHTS_SIDE),
                           source + (is_present ? (size_t)(row + down) * stride + column + right : 0), is_present);
  }
}

/* Rounds gradients that are floats, of neighboring columns by neighboring threads, several rows of each thread at a
 * time. Columns after the last one stay as they are. */
CORE_KERNEL_FN void ops_weights_round(const CoreDeviceThread *at, const OpsWeightsPart *part, uint32_t row,
                                      uint16_t *to) {
  enum { AT_ONCE = 4 };
  const OpsWeightProduct *p = part->p;
  uint32_t bits = 0; /* bits of columns */
  while (OPS_WEIGHTS_SIDE >> bits > 1 && part->n + (1u << bits) < p->out) bits++;
  const uint32_t right = at->thread & ((1u << bits) - 1), column = part->n + right, on = OPS_WEIGHTS_THREADS >> bits;
  const float *from = (const float *)p->dz + column;
  if (column >= p->out) return;

  CORE_DEVICE_ROLLED for (uint32_t down = at->thread >> bits; down < OPS_WEIGHTS_STAGE; down += AT_ONCE * on) {
    float x[AT_ONCE];
    CORE_DEVICE_UNROLL for (uint32_t e = 0; e < AT_ONCE; e++) {
      const uint32_t of_all = row + down + e * on;
      x[e] = of_all < part->end ? from[of_all * p->row_dz] : 0;
    }
    CORE_DEVICE_UNROLL for (uint32_t e = 0; e < AT_ONCE; e++) {
      const uint32_t of_stage = down + e * on;
      if (of_stage < OPS_WEIGHTS_STAGE) to[core_device_swizzled(of_stage, right, OPS_WEIGHTS_SIDE)] = row_to_bf16(x[e]);
    }
  }
}

/* Copies what the inputs are derived from, and the gradients, of the rows of a stage from `row` on. */
CORE_KERNEL_FN void ops_weights_fetch(const CoreDeviceThread *at, const OpsWeightsPart *part, uint32_t row,
                                      uint16_t *stage) {
  const OpsWeightProduct *p = part->p;
  uint16_t *gradients = stage + OPS_WEIGHTS_HALF;
  ops_weights_copy(at, part, (const uint16_t *)p->x, p->row_x, p->in, row, part->m, stage);
  if (p->times)
    ops_weights_copy(at, part, p->times, p->row_x, p->in, row, part->m, stage + part->deep * OPS_WEIGHTS_SIDE);
  if (p->moments && at->thread < OPS_WEIGHTS_STAGE / 2)
    core_device_copy_async(at, gradients + OPS_WEIGHTS_HALF + at->thread * KERNEL_EIGHT,
                           p->moments + (row + 2 * at->thread < part->end ? 2 * (row + 2 * at->thread) : 0),
                           row + 2 * at->thread < part->end);
  if (p->dz_is_float) ops_weights_round(at, part, row, gradients);
  else ops_weights_copy(at, part, (const uint16_t *)p->dz, p->row_dz, p->out, row, part->n, gradients);
  core_device_copy_commit(at);
}

/* Computes the inputs of the stage from `row` on in their place: the layer norm of x, or its products with `times`. A
 * thread has two columns; those after the last one do not count. */
CORE_KERNEL_FN void ops_weights_derive(const CoreDeviceThread *at, const OpsWeightsPart *part, uint32_t row,
                                       uint16_t *stage) {
  const OpsWeightProduct *p = part->p;
  const uint32_t pairs = OPS_WEIGHTS_SIDE / 2, right = at->thread % pairs * 2;
  const OpsTwoFloats *moments = (const OpsTwoFloats *)(const void *)(stage + 2 * OPS_WEIGHTS_HALF);
  const uint32_t column = part->m + right < p->in ? part->m + right : 0;

  CORE_DEVICE_ROLLED for (uint32_t down = at->thread / pairs; down < part->deep; down += OPS_WEIGHTS_THREADS / pairs) {
    uint32_t *pair = (uint32_t *)(void *)(stage + core_device_swizzled(down, right, OPS_WEIGHTS_SIDE));
    float low = row_low_of_pair(*pair), high = row_high_of_pair(*pair);
    if (p->times) {
      const uint32_t by = *(pair + part->deep * pairs);
      low *= fabsf(row_low_of_pair(by));
      high *= fabsf(row_high_of_pair(by));
    } else if (row + down < part->end) {
      const OpsTwoFloats gain = *(const OpsTwoFloats *)(const void *)(p->gain + column), of_row = moments[down];
      const OpsTwoFloats offset = *(const OpsTwoFloats *)(const void *)(p->gain + p->in + column);
      low = gain.x[0] * ((low - of_row.x[0]) * of_row.x[1]) + offset.x[0];
      high = gain.x[1] * ((high - of_row.x[0]) * of_row.x[1]) + offset.x[1];
    }
    *pair = row_bf16_pair(low, high);
  }

  core_device_barrier(at); /* all inputs are there */
}

/* Sums of a warp. Registers as in mma.m16n8k16: thread 4 g + t of the warp has inputs g and g + 8, outputs 2 t and
 * 2 t + 1. */
typedef struct OpsWeightsSum {
  float c[OPS_WEIGHTS_HIGH][OPS_WEIGHTS_ACROSS][4];
  float bias[2][4];            /* a row of ones times the warp's share of the outputs; its first row counts */
} OpsWeightsSum;

CORE_KERNEL_FN void ops_weights_multiply(const CoreDeviceThread *at, const uint16_t *stage, uint32_t deep,
                                         uint32_t row, uint32_t column, int has_bias, uint32_t share,
                                         OpsWeightsSum *sum) {
  const uint16_t *gradients = stage + OPS_WEIGHTS_HALF;
  uint32_t ones[1][4] = {{OPS_WEIGHTS_ONES, OPS_WEIGHTS_ONES, OPS_WEIGHTS_ONES, OPS_WEIGHTS_ONES}};
  for (uint32_t k = 0; k < deep; k += OPS_WEIGHTS_STEP) {
    uint32_t left[OPS_WEIGHTS_HIGH][4];
    CORE_DEVICE_UNROLL for (uint32_t m = 0; m < OPS_WEIGHTS_HIGH; m++)
      core_device_load_swizzled(at, stage, OPS_WEIGHTS_SIDE, k, row + 16 * m, CORE_TILE_A_TRANSPOSED, left[m]);
    CORE_DEVICE_UNROLL for (uint32_t n = 0; n < OPS_WEIGHTS_ACROSS; n += 2) {
      uint32_t right[4];
      core_device_load_swizzled(at, gradients, OPS_WEIGHTS_SIDE, k, column + 8 * n, CORE_TILE_B_TRANSPOSED, right);
      CORE_DEVICE_UNROLL for (uint32_t i = 0; i < 2; i++) {
        core_device_multiply_tiles(at, OPS_WEIGHTS_HIGH, &sum->c[0][n + i], OPS_WEIGHTS_ACROSS, left, right + 2 * i);
        if (has_bias && n / 2 == share) core_device_multiply_tiles(at, 1, &sum->bias[i], 1, ones, right + 2 * i);
      }
    }
  }
}

/* Stores a slab's sums of the warp's elements, and of its share of the biases. */
CORE_KERNEL_FN void ops_weights_store(const CoreDeviceThread *at, const OpsWeights *a, const OpsWeightsPart *part,
                                      uint32_t row, uint32_t column, int has_bias, uint32_t share,
                                      const OpsWeightsSum *sum) {
  const uint32_t in = part->p->in, out = part->p->out, g = at->thread % 32 / 4, two = at->thread % 4 * 2;
  float *to = a->parts + (size_t)part->slab * a->elements + part->p->place;
  CORE_DEVICE_UNROLL for (uint32_t n = 0; n < OPS_WEIGHTS_ACROSS; n++)
    CORE_DEVICE_UNROLL for (uint32_t i = 0; i < 4 * OPS_WEIGHTS_HIGH; i++) {
      const uint32_t input = part->m + row + 8 * (i / 2) + g, output = part->n + column + 8 * n + two + i % 2;
      if (input < in && output < out) to[(size_t)input * out + output] = sum->c[i / 4][n][i % 4];
    }
  if (!has_bias || g > 0) return;
  CORE_DEVICE_UNROLL for (uint32_t i = 0; i < 4; i++) {
    const uint32_t output = part->n + column + 16 * share + 8 * (i / 2) + two + i % 2;
    if (output < out) to[(size_t)in * out + output] = sum->bias[i / 2][i % 2];
  }
}

CORE_KERNEL_FN void ops_weights(const CoreDeviceThread *at, const OpsWeights *a) {
  const OpsWeightsPart part = ops_weights_part(at, a);
  const uint32_t warp = at->thread / 32, share = warp / 2, row = share * 32, column = warp % 2 * OPS_WEIGHTS_WARP;
  const int has_bias = part.m == 0 && part.p->db; /* the share of columns of the four warps that have the same ones */
  uint16_t *stage = (uint16_t *)at->shared;
  OpsWeightsSum sum = {0};
  if (part.first >= part.end) return; /* the product has fewer rows than others */

  ops_weights_fetch(at, &part, part.first, stage);
  for (uint32_t first = part.first, s = 0; first < part.end; first += part.deep, s ^= 1) {
    uint16_t *now = stage + s * OPS_WEIGHTS_WHOLE;
    core_device_copy_wait(at, 0);
    core_device_barrier(at); /* the rows are there, and those before them multiplied */
    if (first + part.deep < part.end)
      ops_weights_fetch(at, &part, first + part.deep, stage + (s ^ 1) * OPS_WEIGHTS_WHOLE);
    if (part.p->times || part.p->moments) ops_weights_derive(at, &part, first, now);
    ops_weights_multiply(at, now, part.deep, row, column, has_bias, share, &sum);
  }

  ops_weights_store(at, a, &part, row, column, has_bias, share, &sum);
}

/* Sets the gradients to the sums of their slabs, in float64 and in their order. */
CORE_KERNEL_FN void ops_weights_fold(const CoreDeviceThread *at, const OpsWeights *a) {
  const OpsWeightProduct *p = a->product;
  for (size_t i = core_device_first(at); i < a->elements; i += core_device_stride(at)) {
    while (i >= (size_t)p->place + ops_weights_elements(p)) p++;
    const uint32_t own = (uint32_t)i - p->place, kernel = p->in * p->out;
    const uint32_t slabs = (p->rows + a->slab_rows - 1) / a->slab_rows;
    double sum = 0;
    for (uint32_t slab = 0; slab < slabs; slab++) sum += (double)a->parts[(size_t)slab * a->elements + i];
    *(own < kernel ? p->dw + own : p->db + (own - kernel)) = (float)sum;
  }
}

#endif
