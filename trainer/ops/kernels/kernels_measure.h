/* Kernels of measurements on hidden layers, in float64: moments of each unit, and products of all pairs of units. Terms
 * of a sum have a fixed order, which is not the CPU's (measure/representation.c). */
#ifndef TRAINER_OPS_KERNELS_MEASURE_H
#define TRAINER_OPS_KERNELS_MEASURE_H
#include "trainer/ops/kernels/kernels_dense.h"

/* ---- moments of units: a block has KERNEL_UNITS columns, a thread a part of one ---------------------------------- */

enum { KERNEL_UNITS = 8, KERNEL_UNIT_PARTS = 128, KERNEL_UNIT_THREADS = KERNEL_UNITS * KERNEL_UNIT_PARTS };

typedef struct OpsUnitSums {
  const void *h;              /* [rows][columns] */
  OpsNumbers numbers;
  size_t rows, columns;
  Moments *moments;           /* [columns] those of h are merged; m3 and m4 are not set */
  double *magnitude;          /* [columns] the sum of |h| is added */
} OpsUnitSums;

/* Returns the sum of the values of all threads of this one's column. Shared memory: one double per thread. */
CORE_KERNEL_FN double ops_add_unit_parts(const CoreDeviceThread *at, double own) {
  double *part = (double *)at->shared, sum = 0;
  core_device_barrier(at); /* the last sum's parts are not read any more */
  part[at->thread] = own;
  core_device_barrier(at);
  for (unsigned p = 0; p < KERNEL_UNIT_PARTS; p++) sum += part[p * KERNEL_UNITS + at->thread % KERNEL_UNITS];
  return sum;
}

/* Sums units in two passes, so that no digits are lost where a saturated unit hardly moves. Threads beyond the last
 * column repeat it. */
CORE_KERNEL_FN void ops_unit_sums(const CoreDeviceThread *at, const OpsUnitSums *a) {
  const size_t own = (size_t)at->block * KERNEL_UNITS + at->thread % KERNEL_UNITS;
  const size_t column = own < a->columns ? own : a->columns - 1, first = at->thread / KERNEL_UNITS;
  double sum = 0, absolute = 0, m2 = 0;

  for (size_t r = first; r < a->rows; r += KERNEL_UNIT_PARTS) {
    const double x = (double)ops_number(a->h, a->numbers, r * a->columns + column);
    sum += x;
    absolute += x < 0 ? -x : x;
  }

  const double mean = ops_add_unit_parts(at, sum) / (double)a->rows;
  absolute = ops_add_unit_parts(at, absolute);
  for (size_t r = first; r < a->rows; r += KERNEL_UNIT_PARTS) {
    const double d = (double)ops_number(a->h, a->numbers, r * a->columns + column) - mean;
    m2 += d * d;
  }
  m2 = ops_add_unit_parts(at, m2);

  if (own >= a->columns || first > 0) return;
  const Moments added = {(double)a->rows, mean, m2, 0, 0};
  moments_merge(&a->moments[column], &added);
  a->magnitude[column] += absolute;
}

/* ---- products of pairs of units: a block has a tile of the lower triangle, a thread one pair --------------------- */

enum { KERNEL_GRAM_TILE = 16, KERNEL_GRAM_ROWS = 32, KERNEL_GRAM_THREADS = KERNEL_GRAM_TILE * KERNEL_GRAM_TILE };

typedef struct OpsGram {
  const void *h;              /* [rows][columns] */
  OpsNumbers numbers;
  size_t rows, columns;
  double *gram;               /* [columns][columns] h'h is added to the tiles of the lower triangle */
} OpsGram;

CORE_DEVICE_FN unsigned ops_gram_blocks(size_t columns) {
  const size_t tiles = (columns + KERNEL_GRAM_TILE - 1) / KERNEL_GRAM_TILE;
  return (unsigned)(tiles * (tiles + 1) / 2);
}

/* Loads rows from `first` on of the tile's columns; those beyond the last are 0. Converts them to float64 once
 * instead of for each pair: conversions are slower than products. tile: [KERNEL_GRAM_ROWS][KERNEL_GRAM_TILE] */
CORE_KERNEL_FN void ops_gram_load(const CoreDeviceThread *at, const OpsGram *a, size_t first, size_t column,
                                  double *tile) {
  for (unsigned i = at->thread; i < KERNEL_GRAM_ROWS * KERNEL_GRAM_TILE; i += KERNEL_GRAM_THREADS) {
    const size_t r = first + i / KERNEL_GRAM_TILE, c = column + i % KERNEL_GRAM_TILE;
    tile[i] = r < a->rows && c < a->columns ? (double)ops_number(a->h, a->numbers, r * a->columns + c) : 0;
  }
}

/* Adds the products of pairs of units. Shared memory: two tiles. */
CORE_KERNEL_FN void ops_gram(const CoreDeviceThread *at, const OpsGram *a) {
  double *left = (double *)at->shared, *right = left + KERNEL_GRAM_ROWS * KERNEL_GRAM_TILE;
  unsigned i = 0, j = at->block;
  while (j > i) j -= ++i; /* tiles (0, 0), (1, 0), (1, 1), (2, 0) ... */

  const unsigned row = at->thread / KERNEL_GRAM_TILE, column = at->thread % KERNEL_GRAM_TILE;
  double sum = 0;

  for (size_t first = 0; first < a->rows; first += KERNEL_GRAM_ROWS) {
    core_device_barrier(at); /* the previous rows are multiplied */
    ops_gram_load(at, a, first, (size_t)i * KERNEL_GRAM_TILE, left);
    ops_gram_load(at, a, first, (size_t)j * KERNEL_GRAM_TILE, right);
    core_device_barrier(at);
    for (unsigned r = 0; r < KERNEL_GRAM_ROWS; r++)
      sum += left[r * KERNEL_GRAM_TILE + row] * right[r * KERNEL_GRAM_TILE + column];
  }

  const size_t u = (size_t)i * KERNEL_GRAM_TILE + row, v = (size_t)j * KERNEL_GRAM_TILE + column;
  if (u < a->columns && v < a->columns) a->gram[u * a->columns + v] += sum;
}

#endif
