/* A product on tensor cores with what comes after it in one kernel, where the library has no such epilogue: a layer's
 * gradient times the transposed kernel, times the derivative of the layer below at its output, and the column sums of
 * the result (device_chain.c). So the gradient goes through memory once, not three times.
 *
 * A block keeps the whole kernel in shared memory and takes tiles of OPS_TILE_ROWS rows, one after the other: the next
 * one's numbers are loaded into registers while it multiplies. Each of its warps has all rows of an eighth of the
 * columns. Rows of the tiles are eight numbers longer than they need be, so that the 32 words that a warp loads at once
 * are in 32 banks. */
#ifndef TRAINER_OPS_KERNELS_TILE_H
#define TRAINER_OPS_KERNELS_TILE_H
#include "trainer/ops/kernels/kernels_bf16.h"

enum {
  OPS_TILE_ROWS = 64, OPS_TILE_THREADS = 256,
  OPS_TILE_MOST = 256,         /* columns of either side */
  OPS_TILE_COLUMNS = 64,       /* columns of the result are a multiple of it: 8 warps, 8 columns of a tile of theirs */
  OPS_TILE_DEEP = 16,          /* terms that a tensor core takes at once */
  OPS_TILE_HIGH = OPS_TILE_ROWS / 16, OPS_TILE_WIDE = OPS_TILE_MOST / OPS_TILE_COLUMNS, /* such tiles of a warp */
  OPS_TILE_EIGHTS = OPS_TILE_ROWS * OPS_TILE_MOST / KERNEL_EIGHT / OPS_TILE_THREADS, /* loads of a thread for a tile */
};

typedef struct OpsTileGradient {
  const uint16_t *dz, *w, *y;  /* [rows][k], [n][k], [rows][n] */
  uint16_t *below;             /* [rows][n] dz w', times the derivative at y */
  float *parts;                /* [parts of KERNEL_PART_ROWS][n]: column sums of it */
  size_t rows, n, k;           /* n: a multiple of OPS_TILE_COLUMNS; both OPS_TILE_MOST at most */
  OpsActivation activation;    /* whose derivative follows from its output */
} OpsTileGradient;

/* k with what fills it up, and numbers from one row of a tile to the next. */
CORE_DEVICE_FN size_t ops_tile_deep(size_t k) { return (k + OPS_TILE_DEEP - 1) / OPS_TILE_DEEP * OPS_TILE_DEEP; }
CORE_DEVICE_FN size_t ops_tile_row(size_t columns) { return columns + KERNEL_EIGHT; }
CORE_DEVICE_FN size_t ops_tile_bytes(size_t n, size_t k) {
  return ((n + OPS_TILE_ROWS) * ops_tile_row(ops_tile_deep(k)) + OPS_TILE_ROWS * ops_tile_row(n)) * sizeof(uint16_t);
}

/* Eight numbers of a row from column `first` on; 0 past its end. */
CORE_DEVICE_FN OpsEight ops_tile_load(const uint16_t *row, size_t first, size_t columns) {
  OpsEight eight = {{0, 0, 0, 0}};
  if (columns % KERNEL_EIGHT == 0) return ops_load_bf16(row + first, KERNEL_EIGHT);
  CORE_DEVICE_UNROLL for (size_t i = 0; i < KERNEL_EIGHT; i++)
    if (first + i < columns) eight.pair[i / 2] |= (uint32_t)row[first + i] << (i % 2 ? 16 : 0);
  return eight;
}

/* How a thread goes through the eights of a tile's rows, OPS_TILE_THREADS at a time: found once, since dividing by a
 * row's length takes longer than loading an eight. */
typedef struct OpsTileWalk {
  uint32_t row, step;          /* where the thread begins; step: of a row's eights */
  uint32_t rows, on;           /* to its next: so many rows and steps */
  uint32_t steps;              /* of a row */
} OpsTileWalk;
CORE_KERNEL_FN OpsTileWalk ops_tile_walk(const CoreDeviceThread *at, size_t columns) {
  const uint32_t steps = (uint32_t)columns / KERNEL_EIGHT;
  const OpsTileWalk walk = {at->thread / steps, at->thread % steps, OPS_TILE_THREADS / steps, OPS_TILE_THREADS % steps,
                            steps};
  return walk;
}
CORE_KERNEL_FN void ops_tile_go_on(OpsTileWalk *walk) {
  walk->row += walk->rows;
  walk->step += walk->on;
  if (walk->step < walk->steps) return;
  walk->step -= walk->steps;
  walk->row++;
}

/* A thread's share of a tile [OPS_TILE_ROWS][columns], of which `rows` are left of the source; the walk's rows are
 * filled up. */
typedef struct OpsTileShare { OpsEight eight[OPS_TILE_EIGHTS]; } OpsTileShare;
CORE_KERNEL_FN void ops_tile_fetch(OpsTileWalk walk, const uint16_t *source, size_t rows, size_t columns,
                                   OpsTileShare *share) {
  CORE_DEVICE_UNROLL for (int e = 0; e < OPS_TILE_EIGHTS; e++, ops_tile_go_on(&walk)) {
    const size_t first = walk.step * KERNEL_EIGHT;
    share->eight[e] = (OpsEight){{0, 0, 0, 0}};
    if (walk.row < OPS_TILE_ROWS && walk.row < rows && first < columns)
      share->eight[e] = ops_tile_load(source + walk.row * columns, first, columns);
  }
}
CORE_KERNEL_FN void ops_tile_put(OpsTileWalk walk, const OpsTileShare *share, size_t deep, uint16_t *tile) {
  CORE_DEVICE_UNROLL for (int e = 0; e < OPS_TILE_EIGHTS; e++, ops_tile_go_on(&walk))
    if (walk.row < OPS_TILE_ROWS)
      *(OpsEight *)(void *)(tile + walk.row * ops_tile_row(deep) + walk.step * KERNEL_EIGHT) = share->eight[e];
}

/* A warp's columns of the product of two tiles. Registers as mma.m16n8k16 has them: thread 4 g + t of the warp has rows
 * g and g + 8, columns 2 t and 2 t + 1. */
typedef struct OpsTileSum { float c[OPS_TILE_HIGH][OPS_TILE_WIDE][4]; } OpsTileSum;
CORE_KERNEL_FN void ops_tile_multiply(const CoreDeviceThread *at, const uint16_t *dz, const uint16_t *w, size_t deep,
                                      size_t column, int wide, OpsTileSum *sum) {
  const size_t words = ops_tile_row(deep) / 2, g = at->thread % 32 / 4, t = at->thread % 4;
  const uint32_t *left = (const uint32_t *)(const void *)dz + g * words + t;
  const uint32_t *right = (const uint32_t *)(const void *)w + (column + g) * words + t;
  for (size_t k = 0; k < deep / 2; k += OPS_TILE_DEEP / 2) {
    uint32_t a[OPS_TILE_HIGH][4], b[OPS_TILE_WIDE][2];
    CORE_DEVICE_UNROLL for (int m = 0; m < OPS_TILE_HIGH; m++)
      CORE_DEVICE_UNROLL for (int i = 0; i < 4; i++)
        a[m][i] = left[((size_t)m * 16 + (i % 2 ? 8 : 0)) * words + k + (i / 2 ? 4 : 0)];
    CORE_DEVICE_UNROLL for (int n = 0; n < OPS_TILE_WIDE; n++)
      CORE_DEVICE_UNROLL for (int i = 0; i < 2; i++)
        b[n][i] = n < wide ? right[(size_t)n * 8 * words + k + (i ? 4 : 0)] : 0;
    CORE_DEVICE_UNROLL for (int n = 0; n < OPS_TILE_WIDE; n++)
      if (n < wide) core_device_multiply_tiles(at, OPS_TILE_HIGH, &sum->c[0][n], OPS_TILE_WIDE, a, b[n]);
  }
}

/* Times the derivative: y [OPS_TILE_ROWS][n] becomes the result, each number by the thread that has its product.
 * activation: known to the compiler, since each thread has 64 numbers. */
CORE_KERNEL_FN void ops_tile_derive_of(const CoreDeviceThread *at, const OpsActivation activation,
                                       const OpsTileSum *sum, size_t n, size_t column, int wide, uint16_t *y) {
  const size_t words = ops_tile_row(n) / 2, g = at->thread % 32 / 4, t = at->thread % 4;
  uint32_t *own = (uint32_t *)(void *)y + g * words + column / 2 + t;
  CORE_DEVICE_UNROLL for (int m = 0; m < OPS_TILE_HIGH; m++)
    CORE_DEVICE_UNROLL for (int c = 0; c < OPS_TILE_WIDE; c++)
      CORE_DEVICE_UNROLL for (int h = 0; h < 2; h++) {
        if (c >= wide) continue;
        uint32_t *pair = own + ((size_t)m * 16 + (size_t)h * 8) * words + (size_t)c * 4;
        const float low = ops_derivative_one(activation, fast_from_bits((int32_t)(*pair << 16)));
        const float high = ops_derivative_one(activation, fast_from_bits((int32_t)(*pair & 0xffff0000)));
        *pair = row_bf16_bits(row_rounded(sum->c[m][c][2 * h], OPS_BF16) * low) >> 16 |
                row_bf16_bits(row_rounded(sum->c[m][c][2 * h + 1], OPS_BF16) * high);
      }
}

CORE_KERNEL_FN void ops_tile_derive(const CoreDeviceThread *at, OpsActivation activation, const OpsTileSum *sum,
                                    size_t n, size_t column, int wide, uint16_t *y) {
  switch (activation) { /* SILU's derivative does not follow from its output */
    case OPS_TANH: ops_tile_derive_of(at, OPS_TANH, sum, n, column, wide, y); break;
    case OPS_RELU: ops_tile_derive_of(at, OPS_RELU, sum, n, column, wide, y); break;
    case OPS_ELU: ops_tile_derive_of(at, OPS_ELU, sum, n, column, wide, y); break;
    default: ops_tile_derive_of(at, OPS_LINEAR, sum, n, column, wide, y);
  }
}

/* Column sums of the tile's parts, row after row, and the tile to memory. `rows` of it are there. */
CORE_KERNEL_FN void ops_tile_finish(const CoreDeviceThread *at, const OpsTileGradient *a, OpsTileWalk walk,
                                    size_t first, size_t rows, const uint16_t *tile) {
  const size_t row = ops_tile_row(a->n);
  for (size_t c = at->thread; c < a->n; c += OPS_TILE_THREADS)
    for (size_t part = 0; part < rows; part += KERNEL_PART_ROWS) {
      const size_t end = part + KERNEL_PART_ROWS < rows ? part + KERNEL_PART_ROWS : rows;
      float sum = 0;
      for (size_t r = part; r < end; r++) sum += row_from_bf16(tile[r * row + c]);
      a->parts[(first + part) / KERNEL_PART_ROWS * a->n + c] = sum;
    }
  for (; walk.row < rows; ops_tile_go_on(&walk))
    *(OpsEight *)(void *)(a->below + (first + walk.row) * a->n + walk.step * KERNEL_EIGHT) =
      *(const OpsEight *)(const void *)(tile + walk.row * row + walk.step * KERNEL_EIGHT);
}

CORE_KERNEL_FN void ops_tile_gradient(const CoreDeviceThread *at, const OpsTileGradient *a) {
  const size_t deep = ops_tile_deep(a->k), row = ops_tile_row(deep),
               tiles = (a->rows + OPS_TILE_ROWS - 1) / OPS_TILE_ROWS;
  const size_t column = at->thread / 32 * (a->n / 8);
  const int wide = (int)(a->n / OPS_TILE_COLUMNS);
  const OpsTileWalk of_k = ops_tile_walk(at, deep), of_n = ops_tile_walk(at, a->n);
  uint16_t *w = (uint16_t *)at->shared, *dz = w + a->n * row, *y = dz + OPS_TILE_ROWS * row;
  OpsTileShare next_dz, next_y;
  for (size_t first = 0; first < a->n; first += OPS_TILE_ROWS) { /* the kernel, as so many tiles */
    ops_tile_fetch(of_k, a->w + first * a->k, a->n - first, a->k, &next_dz);
    ops_tile_put(of_k, &next_dz, deep, w + first * row);
  }
  size_t first = (size_t)at->block * OPS_TILE_ROWS;
  ops_tile_fetch(of_k, a->dz + first * a->k, a->rows - first, a->k, &next_dz);
  ops_tile_fetch(of_n, a->y + first * a->n, a->rows - first, a->n, &next_y);
  for (size_t tile = at->block; tile < tiles; tile += at->blocks) {
    const size_t left = a->rows - first, next = first + (size_t)at->blocks * OPS_TILE_ROWS;
    OpsTileSum sum = {{{{0}}}};
    core_device_barrier(at); /* the tile before has left */
    ops_tile_put(of_k, &next_dz, deep, dz);
    ops_tile_put(of_n, &next_y, a->n, y);
    core_device_barrier(at);
    if (next < a->rows) {
      ops_tile_fetch(of_k, a->dz + next * a->k, a->rows - next, a->k, &next_dz);
      ops_tile_fetch(of_n, a->y + next * a->n, a->rows - next, a->n, &next_y);
    }
    ops_tile_multiply(at, dz, w, deep, column, wide, &sum);
    ops_tile_derive(at, a->activation, &sum, a->n, column, wide, y);
    core_device_barrier(at);
    ops_tile_finish(at, a, of_n, first, left < OPS_TILE_ROWS ? left : OPS_TILE_ROWS, y);
    first = next;
  }
}

#endif
