/* Products with one column, and outer products, where the library has no algorithm for them: a value's layer, its
 * kernel's gradient, and the gradient below it. ops_product would compute the first with one thread per row, the
 * second's 65 536 terms in one thread each, and write the third element by element, each in a separate sector. */
#ifndef TRAINER_OPS_KERNELS_COLUMN_H
#define TRAINER_OPS_KERNELS_COLUMN_H
#include "trainer/ops/kernels/kernels_bf16.h"

/* Loads eight elements from `from` on, of which `count` exist; the others are 0. */
CORE_DEVICE_FN void ops_column_load(const OpsProduct *p, const void *x, size_t from, size_t count, float *eight) {
  const uint16_t *half = (const uint16_t *)x + from;
  if (p->factors == OPS_NUMBERS_BF16 && count >= KERNEL_EIGHT && (uintptr_t)half % sizeof(OpsEight) == 0) {
    ops_widen_bf16(ops_load_bf16(half, KERNEL_EIGHT), KERNEL_EIGHT, eight);
    return;
  }
  CORE_DEVICE_UNROLL for (size_t i = 0; i < KERNEL_EIGHT; i++)
    eight[i] = i < count ? row_rounded(ops_number(x, p->factors, from + i), p->precision) : 0;
}

/* c[m][1] = a b: KERNEL_LANES threads per row, each every KERNEL_LANES-th eight of its terms; their sums are added in
 * the order of the threads. a is not transposed; the epilogue is none, a bias or ReLU. */
CORE_KERNEL_FN void ops_product_column(const CoreDeviceThread *at, const OpsProduct *p) {
  const size_t lane = at->thread % KERNEL_LANES;
  for (size_t r = core_device_first(at) / KERNEL_LANES; r < p->m; r += core_device_stride(at) / KERNEL_LANES) {
    float sum = 0;

    for (size_t l = lane * KERNEL_EIGHT; l < p->k; l += KERNEL_LANES * KERNEL_EIGHT) {
      float a[KERNEL_EIGHT], b[KERNEL_EIGHT];
      ops_column_load(p, p->a, r * p->row_a + l, p->k - l, a);
      ops_column_load(p, p->b, l, p->k - l, b);
      CORE_DEVICE_UNROLL for (size_t i = 0; i < KERNEL_EIGHT; i++) sum += a[i] * b[i];
    }

    float c = ops_add_row(at, sum);
    if (lane > 0) continue;
    if (p->epilogue != OPS_PRODUCT) c += ops_number(p->bias, p->result, 0);
    if (p->epilogue == OPS_PRODUCT_RELU) c = c > 0 ? c : c != c ? c : 0;
    if (p->result == OPS_NUMBERS_BF16) ((uint16_t *)p->c)[r] = row_to_bf16(c);
    else ((float *)p->c)[r] = c;
  }
}

/* parts[part][m]: a'[m][k] b[k][1] for parts of KERNEL_PART_ROWS of the k rows. A thread processes a column of a part
 * and issues the loads of several rows at once. */
typedef struct OpsColumnParts {
  OpsProduct product;          /* a: transposed */
  CoreDivisor columns;         /* m */
  float *parts;
} OpsColumnParts;

CORE_KERNEL_FN float ops_column_rows(const OpsProduct *p, const int rows, size_t first, size_t column, float sum) {
  float a[KERNEL_EIGHT], b[KERNEL_EIGHT];
  CORE_DEVICE_UNROLL for (int r = 0; r < rows; r++) {
    a[r] = ops_number(p->a, p->factors, (first + (size_t)r) * p->row_a + column);
    b[r] = ops_number(p->b, p->factors, first + (size_t)r);
  }
  CORE_DEVICE_UNROLL for (int r = 0; r < rows; r++)
    sum += row_rounded(a[r], p->precision) * row_rounded(b[r], p->precision);
  return sum;
}

CORE_KERNEL_FN void ops_column_parts(const CoreDeviceThread *at, const OpsColumnParts *a) {
  const OpsProduct *p = &a->product;
  const size_t parts = (p->k + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;
  for (size_t i = core_device_first(at); i < parts * p->m; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->columns);
    const size_t first = place.whole * KERNEL_PART_ROWS;
    const size_t end = first + KERNEL_PART_ROWS < p->k ? first + KERNEL_PART_ROWS : p->k;
    float sum = 0;
    size_t r = first;
    for (; r + KERNEL_EIGHT <= end; r += KERNEL_EIGHT) sum = ops_column_rows(p, KERNEL_EIGHT, r, place.rest, sum);
    for (; r < end; r++) sum = ops_column_rows(p, 1, r, place.rest, sum);
    a->parts[i] = sum;
  }
}

/* c[m][n] = a[m][1] b[1][n], without an epilogue: a thread writes 16 bytes of a row. */
typedef struct OpsProductOuter {
  OpsProduct product;          /* k: 1 */
  CoreDivisor steps;           /* steps per row: n / step, rounded up */
  int step;                    /* 8 bf16 elements, or 4 floats */
} OpsProductOuter;

CORE_KERNEL_FN void ops_product_outer_by(const CoreDeviceThread *at, const OpsProductOuter *a, const int step) {
  const OpsProduct *p = &a->product;
  const int is_whole = p->n % (size_t)step == 0 && (uintptr_t)p->c % sizeof(OpsEight) == 0;

  for (size_t i = core_device_first(at); i < p->m * a->steps.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->steps);
    const size_t first = place.rest * (size_t)step, to = place.whole * p->n + first;
    const float left = row_rounded(ops_number(p->a, p->factors, p->transpose_a ? place.whole : place.whole * p->row_a),
                                   p->precision);
    float b[KERNEL_EIGHT];
    OpsEight sixteen;
    ops_column_load(p, p->b, first, p->n - first, b);
    CORE_DEVICE_UNROLL for (int k = 0; k < step; k++) b[k] = 0 + left * b[k]; /* avoids -0, like the sum of one term */

    if (!is_whole) {
      for (int k = 0; k < step && first + (size_t)k < p->n; k++) {
        if (p->result == OPS_NUMBERS_BF16) ((uint16_t *)p->c)[to + (size_t)k] = row_to_bf16(b[k]);
        else ((float *)p->c)[to + (size_t)k] = b[k];
      }
    } else if (step == KERNEL_EIGHT) {
      ops_store_bf16(b, step, (uint16_t *)p->c + to);
    } else {
      CORE_DEVICE_UNROLL for (int k = 0; k < KERNEL_FOUR; k++) sixteen.pair[k] = (uint32_t)fast_to_bits(b[k]);
      *(OpsEight *)(void *)((float *)p->c + to) = sixteen;
    }
  }
}

CORE_KERNEL_FN void ops_product_outer(const CoreDeviceThread *at, const OpsProductOuter *a) {
  if (a->step == KERNEL_EIGHT) ops_product_outer_by(at, a, KERNEL_EIGHT);
  else ops_product_outer_by(at, a, KERNEL_FOUR);
}

#endif
