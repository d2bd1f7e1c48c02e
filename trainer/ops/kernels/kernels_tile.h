/* Product on tensor cores fused with its epilogue, where the library has no such epilogue: a layer's gradient times the
 * transposed kernel, times the derivative of the layer below at its output, and the column sums of the result
 * (device_chain.c). So the gradient goes through memory once, not three times.
 *
 * A block has 64 or 128 columns of the result, keeps their part of the kernel in shared memory, and processes tiles of
 * OPS_TILE_ROWS rows, one after the other: the next tile is loaded into registers while it multiplies. Two blocks fit a
 * multiprocessor, so that one multiplies while the other computes derivatives. A warp has all rows of a quarter of the
 * columns; outputs are loaded into its registers and results stored from them without shared memory. Rows of the tiles
 * are padded by eight elements, so that the eight rows loaded at once are in 32 banks. */
#ifndef TRAINER_OPS_KERNELS_TILE_H
#define TRAINER_OPS_KERNELS_TILE_H
#include "trainer/ops/kernels/kernels_bf16.h"

enum {
  OPS_TILE_ROWS = 64, OPS_TILE_THREADS = 128, OPS_TILE_WARPS = OPS_TILE_THREADS / 32,
  OPS_TILE_MAX = 256,         /* maximum columns of either side */
  OPS_TILE_COLUMNS = 64,       /* columns of the result are a multiple of it */
  OPS_TILE_BLOCKS = 2,         /* per multiprocessor: as shared memory and registers allow */
  OPS_TILE_DEEP = 16,          /* terms per tensor-core instruction */
  OPS_TILE_HIGH = OPS_TILE_ROWS / 16, OPS_TILE_ACROSS = 4, /* maximum tiles of a warp, of 16 rows and 8 columns */
  OPS_TILE_EIGHTS = OPS_TILE_ROWS * OPS_TILE_MAX / KERNEL_EIGHT / OPS_TILE_THREADS, /* loads of a thread per tile */
  OPS_TILE_FEW = 4,            /* loads issued at once */
  OPS_TILE_OWN = OPS_TILE_ROWS / 8, /* rows in which a thread has results: every eighth */
};

typedef struct OpsTileGradient {
  const uint16_t *dz, *w, *y;  /* [rows][k], [n][k], [rows][n] */
  uint16_t *below;             /* [rows][n] dz w', times the derivative at y */
  float *parts;                /* [parts of KERNEL_PART_ROWS][n]: column sums of it */
  size_t rows, n, k;           /* n: a multiple of OPS_TILE_COLUMNS; both OPS_TILE_MAX at most */
  OpsActivation activation;    /* one whose derivative follows from its output */
} OpsTileGradient;

/* Return k with its padding; elements from one row of a tile to the next; columns of a block. */
CORE_DEVICE_FN size_t ops_tile_deep(size_t k) { return (k + OPS_TILE_DEEP - 1) / OPS_TILE_DEEP * OPS_TILE_DEEP; }
CORE_DEVICE_FN size_t ops_tile_row(size_t columns) { return columns + KERNEL_EIGHT; }
CORE_DEVICE_FN size_t ops_tile_columns(size_t n) {
  return n % (2 * OPS_TILE_COLUMNS) == 0 ? 2 * OPS_TILE_COLUMNS : OPS_TILE_COLUMNS;
}
/* Returns the shared memory of a block: its part of the kernel, a tile of dz, and results whose columns are summed. */
CORE_DEVICE_FN size_t ops_tile_bytes(size_t n, size_t k) {
  const size_t columns = ops_tile_columns(n);
  return ((columns + OPS_TILE_ROWS) * ops_tile_row(ops_tile_deep(k)) + KERNEL_PART_ROWS * columns) * sizeof(uint16_t);
}

/* Loads eight elements of a row from column `first` on; 0 past its end. */
CORE_DEVICE_FN OpsEight ops_tile_load(const uint16_t *row, size_t first, size_t columns) {
  OpsEight eight = {{0, 0, 0, 0}};
  if (columns % KERNEL_EIGHT == 0) return ops_load_bf16(row + first, KERNEL_EIGHT);
  CORE_DEVICE_UNROLL for (size_t i = 0; i < KERNEL_EIGHT; i++)
    if (first + i < columns) eight.pair[i / 2] |= (uint32_t)row[first + i] << (i % 2 ? 16 : 0);
  return eight;
}

/* Iteration of a thread over the eights of a tile's rows, OPS_TILE_THREADS at a time: computed once, since dividing by
 * a row's length takes longer than loading an eight. */
typedef struct OpsTileWalk {
  uint32_t row, step;          /* current position; step: of a row's eights */
  uint32_t rows, on;           /* distance to the next: rows and steps */
  uint32_t steps;              /* steps per row */
} OpsTileWalk;
CORE_KERNEL_FN OpsTileWalk ops_tile_walk(const CoreDeviceThread *at, size_t columns) {
  const uint32_t steps = (uint32_t)columns / KERNEL_EIGHT;
  const OpsTileWalk walk = {at->thread / steps, at->thread % steps, OPS_TILE_THREADS / steps, OPS_TILE_THREADS % steps,
                            steps};
  return walk;
}
CORE_KERNEL_FN void ops_tile_advance(OpsTileWalk *walk) {
  walk->row += walk->rows;
  if (walk->on == 0) return;   /* known to the compiler where the rows' length is */
  walk->step += walk->on;
  if (walk->step < walk->steps) return;
  walk->step -= walk->steps;
  walk->row++;
}

/* Loads a thread's next `count` eights of rows [left][columns]; 0 past their end. */
CORE_KERNEL_FN void ops_tile_fetch(OpsTileWalk *walk, const uint16_t *source, size_t left, size_t columns,
                                   const uint32_t count, OpsEight *eight) {
  const uint32_t rows = left < OPS_TILE_ROWS ? (uint32_t)left : OPS_TILE_ROWS;
  CORE_DEVICE_UNROLL for (uint32_t e = 0; e < count; e++, ops_tile_advance(walk)) {
    const uint32_t first = walk->step * KERNEL_EIGHT;
    eight[e] = (OpsEight){{0, 0, 0, 0}};
    if (walk->row < rows && first < columns)
      eight[e] = ops_tile_load(source + walk->row * (uint32_t)columns, first, columns);
  }
}

/* Returns the position of column `column` of a block among the rows of the kernel: thread t of a warp has columns 2 t,
 * 2 t + 1 of each of its tiles, which are adjacent in device memory. */
CORE_DEVICE_FN uint32_t ops_tile_place(uint32_t column, const uint32_t across) {
  const uint32_t of_warp = column % (8 * across), of_thread = of_warp % (2 * across);
  return column - of_warp + of_thread / 2 * 8 + of_warp / (2 * across) * 2 + of_thread % 2;
}

/* Stores them to a tile; where `across` is not 0, to rows ops_tile_place(first + row) of the kernel. */
CORE_KERNEL_FN void ops_tile_put(OpsTileWalk *walk, const OpsEight *eight, const uint32_t count, size_t deep,
                                 uint32_t first, const uint32_t across, uint16_t *tile) {
  CORE_DEVICE_UNROLL for (uint32_t e = 0; e < count; e++, ops_tile_advance(walk)) {
    const uint32_t row = across ? ops_tile_place(first + walk->row, across) : walk->row;
    if (count == OPS_TILE_EIGHTS || walk->row < OPS_TILE_ROWS)
      *(OpsEight *)(void *)(tile + row * (uint32_t)ops_tile_row(deep) + walk->step * KERNEL_EIGHT) = eight[e];
  }
}

/* Copies rows [left][columns] from device memory, `count` eights per thread at a time. */
CORE_KERNEL_FN void ops_tile_copy(OpsTileWalk walk, const uint16_t *source, size_t left, size_t columns,
                                  const uint32_t count, uint32_t first, const uint32_t across, uint16_t *tile) {
  const size_t deep = ops_tile_deep(columns);
  OpsTileWalk to = walk;
  while (to.row < OPS_TILE_ROWS) {
    OpsEight eight[OPS_TILE_EIGHTS];
    ops_tile_fetch(&walk, source, left, columns, count, eight);
    ops_tile_put(&to, eight, count, deep, first, across, tile);
  }
}

/* A warp's columns of the product of two tiles. Registers as in mma.m16n8k16: thread 4 g + t of the warp has rows g and
 * g + 8, columns 2 t and 2 t + 1. */
typedef struct OpsTileSum { float c[OPS_TILE_HIGH][OPS_TILE_ACROSS][4]; } OpsTileSum;
CORE_KERNEL_FN void ops_tile_multiply(const CoreDeviceThread *at, const uint16_t *dz, const uint16_t *w, size_t deep,
                                      const uint32_t across, OpsTileSum *sum) {
  const size_t row = ops_tile_row(deep);
  CORE_DEVICE_UNROLL for (size_t k = 0; k < deep; k += OPS_TILE_DEEP) {
    uint32_t a[OPS_TILE_HIGH][4];
    CORE_DEVICE_UNROLL for (size_t m = 0; m < OPS_TILE_HIGH; m++)
      core_device_load_tile(at, dz + m * 16 * row + k, row, CORE_TILE_A, a[m]);
    CORE_DEVICE_UNROLL for (size_t n = 0; n < across; n += 2) {
      uint32_t b[4];
      core_device_load_tile(at, w + n * 8 * row + k, row, CORE_TILE_B, b);
      CORE_DEVICE_UNROLL for (size_t i = 0; i < 2; i++)
        core_device_multiply_tiles(at, OPS_TILE_HIGH, &sum->c[0][n + i], OPS_TILE_ACROSS, a, b + 2 * i);
    }
  }
}

/* A thread's part of a tile's outputs, and then of its results: 2 across neighbors of row 8 i + g. */
typedef struct OpsTileOwn { uint32_t pair[OPS_TILE_OWN][OPS_TILE_ACROSS]; } OpsTileOwn;

/* Load one row; store it to shared memory, and to device memory. */
CORE_KERNEL_FN void ops_tile_get_row(const uint16_t *from, const uint32_t across, uint32_t *pair) {
  if (across == OPS_TILE_ACROSS) {
    const OpsEight eight = *(const OpsEight *)(const void *)from;
    CORE_DEVICE_UNROLL for (uint32_t c = 0; c < across; c++) pair[c] = eight.pair[c];
  } else {
    CORE_DEVICE_UNROLL for (uint32_t c = 0; c < across; c++) pair[c] = ((const uint32_t *)(const void *)from)[c];
  }
}
CORE_KERNEL_FN void ops_tile_put_row(const uint32_t *pair, const uint32_t across, uint16_t *to) {
  if (across == OPS_TILE_ACROSS) {
    *(OpsEight *)(void *)to = (OpsEight){{pair[0], pair[1], pair[2], pair[3]}};
  } else {
    CORE_DEVICE_UNROLL for (uint32_t c = 0; c < across; c++) ((uint32_t *)(void *)to)[c] = pair[c];
  }
}

CORE_KERNEL_FN void ops_tile_store_row(const uint32_t *pair, const uint32_t across, uint16_t *to) {
  if (across == OPS_TILE_ACROSS) ops_store_eight((OpsEight){{pair[0], pair[1], pair[2], pair[3]}}, to);
  else ops_tile_put_row(pair, across, to);
}

/* Multiplies the product by the derivative at y, which becomes the result. activation: known to the compiler, since
 * each thread has 64 elements. */
CORE_KERNEL_FN void ops_tile_derive_of(const OpsActivation activation, const OpsTileSum *sum, const uint32_t across,
                                       OpsTileOwn *y) {
  CORE_DEVICE_UNROLL for (uint32_t i = 0; i < OPS_TILE_OWN; i++)
    CORE_DEVICE_UNROLL for (uint32_t c = 0; c < across; c++) {
      const float *two = &sum->c[i / 2][c][i % 2 * 2];
      const uint32_t outputs = y->pair[i][c], rounded = row_bf16_pair(two[0], two[1]);
      y->pair[i][c] = row_bf16_pair(
        row_low_of_pair(rounded) * ops_derivative_one(activation, row_low_of_pair(outputs)),
        row_high_of_pair(rounded) * ops_derivative_one(activation, row_high_of_pair(outputs)));
    }
}

CORE_KERNEL_FN void ops_tile_derive(OpsActivation activation, const OpsTileSum *sum, const uint32_t across,
                                    OpsTileOwn *y) {
  switch (activation) { /* SILU's derivative does not follow from its output */
    case OPS_TANH: ops_tile_derive_of(OPS_TANH, sum, across, y); break;
    case OPS_RELU: ops_tile_derive_of(OPS_RELU, sum, across, y); break;
    case OPS_ELU: ops_tile_derive_of(OPS_ELU, sum, across, y); break;
    default: ops_tile_derive_of(OPS_LINEAR, sum, across, y);
  }
}

/* Memory layout of a thread's rows: offset of its first row in [rows][n], and distance to its next. */
typedef struct OpsTilePlace { size_t at, step; uint32_t g; } OpsTilePlace;

CORE_KERNEL_FN void ops_tile_outputs(const OpsTileGradient *a, OpsTilePlace place, size_t first,
                                     const uint32_t across, OpsTileOwn *y) {
  const uint16_t *from = a->y + first * a->n + place.at;
  CORE_DEVICE_UNROLL for (uint32_t i = 0; i < OPS_TILE_OWN; i++, from += place.step) {
    CORE_DEVICE_UNROLL for (uint32_t c = 0; c < across; c++) y->pair[i][c] = 0;
    if (first + 8 * i + place.g < a->rows) ops_tile_get_row(from, across, y->pair[i]);
  }
}

/* Stores the results, and their column sums, row after row: one thread per column, via the warp's `staged`
 * [KERNEL_PART_ROWS][8 across]. */
CORE_KERNEL_FN void ops_tile_finish(const CoreDeviceThread *at, const OpsTileGradient *a, OpsTilePlace place,
                                    size_t first, size_t column, const uint32_t across, const OpsTileOwn *results,
                                    uint16_t *staged) {
  const uint32_t columns = 8 * across, lane = at->thread % 32, t = lane % 4, own = OPS_TILE_OWN / 2;
  uint16_t *to = a->below + first * a->n + place.at;

  CORE_DEVICE_UNROLL for (uint32_t i = 0; i < OPS_TILE_OWN; i++, to += place.step)
    if (first + 8 * i + place.g < a->rows) ops_tile_store_row(results->pair[i], across, to);

  CORE_DEVICE_UNROLL for (uint32_t part = 0; part < OPS_TILE_ROWS / KERNEL_PART_ROWS; part++) {
    const size_t begin = first + part * KERNEL_PART_ROWS;
    const size_t left = begin < a->rows ? a->rows - begin : 0;
    core_device_group_barrier(at, 32); /* the previous part is summed */
    CORE_DEVICE_UNROLL for (uint32_t i = 0; i < own; i++)
      ops_tile_put_row(results->pair[part * own + i], across, staged + (8 * i + place.g) * columns + 2 * across * t);
    core_device_group_barrier(at, 32);

    if (left == 0 || lane >= columns) continue;
    float sum = 0;
    if (left >= KERNEL_PART_ROWS) {
      CORE_DEVICE_UNROLL for (uint32_t r = 0; r < KERNEL_PART_ROWS; r++)
        sum += row_from_bf16(staged[r * columns + lane]);
    } else {
      for (uint32_t r = 0; r < left; r++) sum += row_from_bf16(staged[r * columns + lane]);
    }

    a->parts[begin / KERNEL_PART_ROWS * a->n + column + lane] = sum;
  }
}

/* k: known to the compiler where it matters. across: tiles of a warp, 2 or OPS_TILE_ACROSS. count: eights of a thread
 * loaded at once; where that is all of a tile's, they are loaded while the previous tile is multiplied. */
CORE_KERNEL_FN void ops_tile_gradient_of(const CoreDeviceThread *at, const OpsTileGradient *a, const size_t k,
                                         const uint32_t across, const uint32_t count) {
  const uint32_t columns = OPS_TILE_WARPS * 8 * across, sides = (uint32_t)a->n / columns;
  const uint32_t warp = at->thread / 32, lane = at->thread % 32;
  const size_t deep = ops_tile_deep(k), row = ops_tile_row(deep), side = at->block % sides * columns;
  const size_t column = side + warp * 8 * across, on = (size_t)(at->blocks / sides) * OPS_TILE_ROWS;
  const OpsTilePlace place = {lane / 4 * a->n + column + lane % 4 * 2 * across, 8 * a->n, lane / 4};
  const OpsTileWalk start = ops_tile_walk(at, deep);

  uint16_t *w = (uint16_t *)at->shared, *dz = w + columns * row;
  uint16_t *staged = dz + OPS_TILE_ROWS * row + warp * KERNEL_PART_ROWS * 8 * across;
  size_t first = (size_t)(at->block / sides) * OPS_TILE_ROWS;
  OpsEight next[OPS_TILE_EIGHTS];
  OpsTileWalk walk = start;

  for (uint32_t half = 0; half < columns; half += OPS_TILE_ROWS)
    ops_tile_copy(start, a->w + (side + half) * k, columns - half, k, count, half, across, w);
  if (count == OPS_TILE_EIGHTS && first < a->rows)
    ops_tile_fetch(&walk, a->dz + first * k, a->rows - first, k, count, next);

  for (; first < a->rows; first += on) {
    OpsTileSum sum = {{{{0}}}};
    OpsTileOwn own;
    ops_tile_outputs(a, place, first, across, &own); /* first: ptxas delays loads, but not across a barrier */
    core_device_barrier(at); /* the previous tile is multiplied */
    walk = start;
    if (count == OPS_TILE_EIGHTS) ops_tile_put(&walk, next, count, deep, 0, 0, dz);
    else ops_tile_copy(start, a->dz + first * k, a->rows - first, k, count, 0, 0, dz);
    core_device_barrier(at);
    walk = start;
    if (count == OPS_TILE_EIGHTS && first + on < a->rows)
      ops_tile_fetch(&walk, a->dz + (first + on) * k, a->rows - first - on, k, count, next);

    ops_tile_multiply(at, dz, w + warp * 8 * across * row, deep, across, &sum);
    ops_tile_derive(a->activation, &sum, across, &own);
    ops_tile_finish(at, a, place, first, column, across, &own, staged);
  }
}

CORE_KERNEL_FN void ops_tile_gradient(const CoreDeviceThread *at, const OpsTileGradient *a) {
  if (ops_tile_columns(a->n) == OPS_TILE_COLUMNS) ops_tile_gradient_of(at, a, a->k, 2, OPS_TILE_FEW);
  else if (a->k != OPS_TILE_MAX) ops_tile_gradient_of(at, a, a->k, OPS_TILE_ACROSS, OPS_TILE_FEW);
  else ops_tile_gradient_of(at, a, OPS_TILE_MAX, OPS_TILE_ACROSS, OPS_TILE_EIGHTS);
}

#endif
