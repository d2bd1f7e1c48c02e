/* Tile of whole worlds that the transformer's fused passes process (kernels_fused_encoder.h, kernels_fused_backward.h):
 * its matrices in shared memory, and products of them with kernels. */
#ifndef TRAINER_OPS_KERNELS_ENCODER_TILE_H
#define TRAINER_OPS_KERNELS_ENCODER_TILE_H
#include "trainer/ops/kernels/kernels_attention.h"
#include "trainer/ops/row_entity_internal.h"

/* nvcc would call functions as large as these, and pass sums through local memory. */
#if defined(__CUDACC__)
#define OPS_ENCODER_FN static __device__ __forceinline__
#else
#define OPS_ENCODER_FN CORE_KERNEL_FN
#endif

enum {
  OPS_ENCODER_THREADS = 256, OPS_ENCODER_WIDTH = OPS_TRANSFORMER_WIDTH,
  OPS_ENCODER_SQUARE = OPS_ENCODER_WIDTH * OPS_ENCODER_WIDTH,
  OPS_ENCODER_DOWN = 4,        /* warps one below the other; two are side by side */
  OPS_ENCODER_HIGH = 2, OPS_ENCODER_ACROSS = 8, /* maximum tiles of a warp, of 16 rows and 8 columns */
  OPS_ENCODER_STEP = 16,       /* terms per tensor-core instruction */
  OPS_ENCODER_ROWS = OPS_ENCODER_DOWN * OPS_ENCODER_HIGH * OPS_ENCODER_STEP, /* a tile's */
  OPS_ENCODER_DEEP = 64, OPS_ENCODER_STAGE = OPS_ENCODER_DEEP * OPS_ENCODER_WIDTH, /* rows of a stage; elements */
  OPS_ENCODER_EIGHTS = OPS_ENCODER_WIDTH / KERNEL_EIGHT, /* per row */
  OPS_ENCODER_ATTENDED = KERNEL_HEAD_SIZE * OPS_TRANSFORMER_HEADS, OPS_ENCODER_QKV = 3 * OPS_ENCODER_ATTENDED,
};

typedef struct OpsEncode {
  OpsTransformer t;
  OpsAttend attend;            /* x, attention and divisors; qkv is in shared memory */
  CoreDivisor32 count[OPS_TRANSFORMER_KINDS]; /* things of each kind in a world */
  float *embedding;            /* [worlds][OPS_ENCODER_WIDTH] */
  uint32_t worlds;             /* maximum worlds of a tile */
  const float *dembedding;     /* backward: gradient at the embedding, ... */
  float *sums;                 /* ... sums of a tile's rows (kernels_fused_backward.h), ... */
  uint32_t tiles;              /* ... and number of tiles */
} OpsEncode;

/* Bytes of shared memory of a block. */
enum { OPS_ENCODER_SHARED = 6 * OPS_ENCODER_ROWS * OPS_ENCODER_WIDTH + 4 * OPS_ENCODER_STAGE + 8 * OPS_ENCODER_ROWS };

/* A tile in shared memory. */
typedef struct OpsEncoderTile {
  const CoreDeviceThread *at;
  const OpsEncode *a;
  uint16_t *x, *y, *other, *stage;
  float *number;
  size_t first;                /* first world */
  uint32_t worlds, rows;       /* worlds, and their entities */
  uint32_t next;               /* stage of the next step: 0 or 1 */
  bool is_backward;            /* constant in a kernel; if so: */
  uint16_t *kept;              /* another matrix */
  uint32_t tile;               /* index of the tile */
  int layer;
} OpsEncoderTile;

OPS_ENCODER_FN OpsEight *ops_encoder_eight(uint16_t *matrix, uint32_t row, uint32_t eighth) {
  return (OpsEight *)(void *)(matrix + core_device_swizzled(row, eighth * KERNEL_EIGHT, OPS_ENCODER_WIDTH));
}
OPS_ENCODER_FN void ops_encoder_read(uint16_t *matrix, uint32_t row, uint32_t eighth, float *values) {
  ops_widen_bf16(*ops_encoder_eight(matrix, row, eighth), KERNEL_EIGHT, values);
}

/* Returns the address of eight neighbors of the tile's rows in a matrix [N][OPS_ENCODER_WIDTH] in device memory. */
OPS_ENCODER_FN uint16_t *ops_encoder_place(const OpsEncoderTile *t, float *matrix, uint32_t row, uint32_t eighth) {
  const size_t of_all = t->first * t->a->attend.entities.number + row;
  return (uint16_t *)(void *)matrix + of_all * OPS_ENCODER_WIDTH + eighth * KERNEL_EIGHT;
}

/* Store eight neighbors of a row, or all of the tile's rows, for the backward pass, if there is one. */
OPS_ENCODER_FN bool ops_encoder_is_kept(const OpsEncoderTile *t, uint32_t row) {
  return t->a->t.is_learning && row < t->rows;
}
OPS_ENCODER_FN void ops_encoder_keep(const OpsEncoderTile *t, OpsEight eight, float *to, uint32_t row,
                                     uint32_t eighth) {
  if (ops_encoder_is_kept(t, row)) ops_store_eight(eight, ops_encoder_place(t, to, row, eighth));
}
OPS_ENCODER_FN void ops_encoder_keep_rows(const OpsEncoderTile *t, uint16_t *matrix, float *to) {
  if (!t->a->t.is_learning) return;
  for (uint32_t i = t->at->thread; i < t->rows * OPS_ENCODER_EIGHTS; i += OPS_ENCODER_THREADS) {
    const uint32_t row = i / OPS_ENCODER_EIGHTS, e = i % OPS_ENCODER_EIGHTS;
    ops_store_eight(*ops_encoder_eight(matrix, row, e), ops_encoder_place(t, to, row, e));
  }
}

OPS_ENCODER_FN const float *ops_encoder_observation(const OpsEncoderTile *t, uint32_t world) {
  return t->a->attend.x.x + (t->first + world) * (size_t)t->a->attend.x.stride;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Term of a product: a matrix in shared memory times a kernel in device memory, [in][out], with rows `row` apart; in
 * the backward pass, times the transposed kernel. */
typedef struct OpsEncoderTerm {
  const uint16_t *a, *w;       /* w NULL: no term */
  uint32_t row, in, out;
} OpsEncoderTerm;

/* A thread's sums: registers as in mma.m16n8k16. */
typedef struct OpsEncoderSum { float c[OPS_ENCODER_HIGH][OPS_ENCODER_ACROSS][4]; } OpsEncoderSum;

/* Returns the first row and column of a warp, and of the thread in each of its tiles. */
typedef struct OpsEncoderOwn { uint32_t row, column, g, two; } OpsEncoderOwn;
OPS_ENCODER_FN OpsEncoderOwn ops_encoder_own(const OpsEncoderTile *t, const uint32_t high, const uint32_t across) {
  const uint32_t warp = t->at->thread / 32, lane = t->at->thread % 32;
  return (OpsEncoderOwn){warp / 2 * high * OPS_ENCODER_STEP, warp % 2 * across * 8, lane / 4, lane % 4 * 2};
}

/* Returns the columns of a stage: those of a kernel, or in the backward pass as many as it has terms. */
OPS_ENCODER_FN uint32_t ops_encoder_across(const OpsEncoderTile *t) {
  return t->is_backward ? OPS_ENCODER_DEEP : OPS_ENCODER_WIDTH;
}

/* Starts to copy rows (backward: columns) `from` to from + OPS_ENCODER_DEEP - 1 of a term's kernel into the next stage;
 * 0 past its end. */
OPS_ENCODER_FN void ops_encoder_fetch(const OpsEncoderTile *t, OpsEncoderTerm term, uint32_t from) {
  uint16_t *stage = t->stage + t->next * OPS_ENCODER_STAGE;
  const uint32_t across = ops_encoder_across(t), eights = across / KERNEL_EIGHT;
  CORE_DEVICE_UNROLL for (uint32_t e = 0; e < OPS_ENCODER_STAGE / KERNEL_EIGHT / OPS_ENCODER_THREADS; e++) {
    const uint32_t i = t->at->thread + e * OPS_ENCODER_THREADS, row = i / eights, column = i % eights * KERNEL_EIGHT;
    const uint32_t of_in = t->is_backward ? row : from + row, of_out = t->is_backward ? from + column : column;
    const bool is_within = of_in < term.in && of_out < term.out;
    core_device_copy_async(t->at, stage + core_device_swizzled(row, column, across),
                           is_within ? term.w + (size_t)of_in * term.row + of_out : term.w, is_within);
  }
  core_device_copy_commit(t->at);
}

/* Adds a stage's part of a product: columns `first` to first + deep - 1 of a. */
OPS_ENCODER_FN void ops_encoder_add(const OpsEncoderTile *t, const uint16_t *a, uint32_t first, uint32_t deep,
                                    const uint16_t *stage, const uint32_t high, const uint32_t across,
                                    OpsEncoderSum *sum) {
  const OpsEncoderOwn own = ops_encoder_own(t, high, across);
  CORE_DEVICE_UNROLL for (uint32_t k = 0; k < OPS_ENCODER_DEEP; k += OPS_ENCODER_STEP) {
    uint32_t rows[OPS_ENCODER_HIGH][4];
    if (k >= deep) break;
    CORE_DEVICE_UNROLL for (uint32_t i = 0; i < high; i++)
      core_device_load_swizzled(t->at, a, OPS_ENCODER_WIDTH, own.row + i * OPS_ENCODER_STEP, first + k, CORE_TILE_A,
                                rows[i]);
    CORE_DEVICE_UNROLL for (uint32_t j = 0; j < across; j += 2) {
      uint32_t columns[4];
      if (t->is_backward)
        core_device_load_swizzled(t->at, stage, OPS_ENCODER_DEEP, own.column + j * 8, k, CORE_TILE_B, columns);
      else
        core_device_load_swizzled(t->at, stage, OPS_ENCODER_WIDTH, k, own.column + j * 8, CORE_TILE_B_TRANSPOSED,
                                  columns);
      CORE_DEVICE_UNROLL for (uint32_t n = 0; n < 2; n++)
        core_device_multiply_tiles(t->at, (int)high, &sum->c[0][j + n], OPS_ENCODER_ACROSS, rows, columns + 2 * n);
    }
  }
}

/* Adds both terms. The first stage of the first is on its way, and on return that of `next`. */
OPS_ENCODER_FN void ops_encoder_multiply(OpsEncoderTile *t, OpsEncoderTerm first, OpsEncoderTerm second,
                                         OpsEncoderTerm next, const uint32_t high, const uint32_t across,
                                         OpsEncoderSum *sum) {
  OpsEncoderTerm term = first;
  for (uint32_t from = 0; term.w;) {
    const uint16_t *a = term.a, *stage = t->stage + t->next * OPS_ENCODER_STAGE;
    const uint32_t begin = from, terms = t->is_backward ? term.out : term.in;
    core_device_copy_wait(t->at, 0);
    core_device_barrier(t->at); /* the stage is there, and the other one multiplied */
    t->next ^= 1;

    from += OPS_ENCODER_DEEP;
    if (from >= terms) {
      from = 0;
      term = second;
      second.w = NULL;
    }
    if (term.w) ops_encoder_fetch(t, term, from);
    else if (next.w) ops_encoder_fetch(t, next, 0);
    ops_encoder_add(t, a, begin, terms - begin, stage, high, across, sum);
  }
  core_device_barrier(t->at); /* the product may replace its terms */
}

/* Stores the sums, after bias and activation, to a matrix in shared memory. */
typedef enum OpsEncoderResult { OPS_ENCODER_RELU, OPS_ENCODER_TANH, OPS_ENCODER_SIGMOID } OpsEncoderResult;
OPS_ENCODER_FN float ops_encoder_result(const OpsEncoderResult result, float x) {
  if (result == OPS_ENCODER_RELU) return x > 0 ? x : 0;
  return result == OPS_ENCODER_TANH ? ops_activate_rounded(OPS_TANH, x) : ops_sigmoid_rounded(x);
}

/* bias NULL: none; sign: of the bias. */
OPS_ENCODER_FN void ops_encoder_put(const OpsEncoderTile *t, const OpsEncoderSum *sum, const float *bias,
                                    const float sign, const OpsEncoderResult result, uint16_t *to) {
  const OpsEncoderOwn own = ops_encoder_own(t, OPS_ENCODER_HIGH, OPS_ENCODER_ACROSS);
  CORE_DEVICE_UNROLL for (uint32_t j = 0; j < OPS_ENCODER_ACROSS; j++) {
    const uint32_t column = own.column + j * 8 + own.two;
    const OpsTwoFloats add = bias ? *(const OpsTwoFloats *)(const void *)(bias + column) : (OpsTwoFloats){{0, 0}};
    CORE_DEVICE_UNROLL for (uint32_t half = 0; half < 2 * OPS_ENCODER_HIGH; half++) {
      const float *c = &sum->c[half / 2][j][half % 2 * 2];
      const uint32_t place = core_device_swizzled(own.row + half * 8 + own.g, column, OPS_ENCODER_WIDTH);
      *(uint32_t *)(void *)(to + place) = row_bf16_pair(ops_encoder_result(result, c[0] + sign * add.x[0]),
                                                        ops_encoder_result(result, c[1] + sign * add.x[1]));
    }
  }
  core_device_barrier(t->at);
}

#endif
