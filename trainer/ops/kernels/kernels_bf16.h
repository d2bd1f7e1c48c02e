/* Kernels around products with bf16 matrices in memory (device_chain.c, device_entity_dense.c): rounding, activations,
 * layer norms and their gradients. They are memory-bound, so a thread loads eight neighboring elements in 16 bytes
 * where a row's length and the addresses allow it. Sums are over parts of KERNEL_PART_ROWS or KERNEL_EIGHTS_ROWS rows,
 * in float32. */
#ifndef TRAINER_OPS_KERNELS_BF16_H
#define TRAINER_OPS_KERNELS_BF16_H
#include "trainer/ops/kernels/kernels_dense.h"

enum { KERNEL_EIGHT = 8, KERNEL_FOUR = 4 };

typedef struct __attribute__((aligned(16))) OpsEight { uint32_t pair[KERNEL_EIGHT / 2]; } OpsEight;

/* Stores eight elements to device memory in one instruction. nvcc splits a struct's store in an unrolled loop into four
 * instructions, each of which writes a quarter of every sector. */
CORE_KERNEL_FN void ops_store_eight(OpsEight eight, uint16_t *to) {
#if defined(__CUDACC__)
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
      :: "l"(__cvta_generic_to_global(to)), "r"(eight.pair[0]), "r"(eight.pair[1]), "r"(eight.pair[2]),
         "r"(eight.pair[3]) : "memory");
#else
  *(OpsEight *)(void *)to = eight;
#endif
}

/* Load and store `step` elements, 8 or 1, at an address aligned for it; and as floats. */
CORE_DEVICE_FN OpsEight ops_load_bf16(const uint16_t *from, int step) {
  if (step == KERNEL_EIGHT) return *(const OpsEight *)(const void *)from;
  return (OpsEight){{from[0], 0, 0, 0}};
}

CORE_DEVICE_FN void ops_widen_bf16(OpsEight eight, int step, float *x) {
  x[0] = row_from_bf16((uint16_t)eight.pair[0]);
  if (step == 1) return;
  for (int i = 0; i < KERNEL_EIGHT / 2; i++) {
    x[2 * i] = fast_from_bits((int32_t)(eight.pair[i] << 16));
    x[2 * i + 1] = fast_from_bits((int32_t)(eight.pair[i] & 0xffff0000));
  }
}

/* Rounds eight floats. */
CORE_DEVICE_FN OpsEight ops_round_eight(const float *x) {
  return (OpsEight){{row_bf16_pair(x[0], x[1]), row_bf16_pair(x[2], x[3]), row_bf16_pair(x[4], x[5]),
                     row_bf16_pair(x[6], x[7])}};
}

CORE_KERNEL_FN void ops_store_bf16(const float *x, int step, uint16_t *to) {
  if (step == 1) to[0] = row_to_bf16(x[0]);
  else ops_store_eight(ops_round_eight(x), to);
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

/* Rounds rows of floats -> bf16, rows `stride` apart, padded with zeros; index NULL: in order, else the named rows. A
 * thread converts four elements of a row. */
typedef struct OpsRound {
  const float *source;
  const uint32_t *index;
  uint16_t *target;            /* [rows][stride] */
  size_t rows, columns, stride;
  CoreDivisor fours;           /* fours per row: ops_fours(stride) */
} OpsRound;
static inline CoreDivisor ops_fours(size_t columns) { return core_divisor((columns + KERNEL_FOUR - 1) / KERNEL_FOUR); }

/* Pairs of 32-bit words that are loaded or stored at once: single elements, with threads four elements apart, would
 * access each sector several times. */
typedef struct __attribute__((aligned(8))) OpsTwoFloats { float x[2]; } OpsTwoFloats;
typedef struct __attribute__((aligned(8))) OpsTwoPairs { uint32_t pair[2]; } OpsTwoPairs;

/* Load four elements of a row of which `count` exist (the others are 0), and store as many as there is room for. */
CORE_KERNEL_FN void ops_load_four(const float *from, size_t count, float *x) {
  if (count >= KERNEL_FOUR && (uintptr_t)from % sizeof(OpsTwoFloats) == 0) {
    const OpsTwoFloats low = *(const OpsTwoFloats *)(const void *)from;
    const OpsTwoFloats high = *(const OpsTwoFloats *)(const void *)(from + 2);
    x[0] = low.x[0];
    x[1] = low.x[1];
    x[2] = high.x[0];
    x[3] = high.x[1];
    return;
  }
  for (size_t k = 0; k < KERNEL_FOUR; k++) x[k] = k < count ? from[k] : 0;
}
CORE_KERNEL_FN void ops_round_four(const float *x, size_t room, uint16_t *to) {
  if (room >= KERNEL_FOUR && (uintptr_t)to % sizeof(OpsTwoPairs) == 0) {
    *(OpsTwoPairs *)(void *)to = (OpsTwoPairs){{row_bf16_pair(x[0], x[1]), row_bf16_pair(x[2], x[3])}};
    return;
  }
  for (size_t k = 0; k < KERNEL_FOUR && k < room; k++) to[k] = row_to_bf16(x[k]);
}

CORE_KERNEL_FN void ops_round(const CoreDeviceThread *at, const OpsRound *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->fours.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->fours);
    const size_t row = place.whole, first = place.rest * KERNEL_FOUR;
    const float *from = a->source + (a->index ? a->index[row] : row) * a->columns + first;
    float x[KERNEL_FOUR];
    ops_load_four(from, first < a->columns ? a->columns - first : 0, x);
    ops_round_four(x, a->stride - first, a->target + row * a->stride + first);
  }
}

/* ---- hidden layers ----------------------------------------------------------------------------------------------- */

/* Activations and derivatives of values that are rounded to bf16. A GPU uses its special function units, whose relative
 * errors are below a quarter of bf16's rounding: 2^-11 (tanh), 2^-21 (e^x and 1/x). The formulas of ops_activate_one
 * would take longer than loads and stores. */
#if defined(__CUDA_ARCH__)
CORE_KERNEL_FN float ops_approx_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
CORE_KERNEL_FN float ops_approx_exp(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f));
  return y;
}
CORE_KERNEL_FN float ops_approx_inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
CORE_KERNEL_FN float ops_approx_sigmoid(float x) { return ops_approx_inverse(1.0f + ops_approx_exp(-x)); }
/* e^x - 1 for x <= 0. Near 0, where the subtraction cancels, two terms of the Taylor series, whose next one is below
 * 2^-14 of the result. */
CORE_KERNEL_FN float ops_approx_expm1(float x) {
  return x > -0.015625f ? x + 0.5f * x * x : ops_approx_exp(x) - 1.0f;
}
CORE_KERNEL_FN float ops_activate_rounded(const OpsActivation activation, float z) {
  switch (activation) {
    case OPS_TANH: return ops_approx_tanh(z);
    case OPS_SILU: return z * ops_approx_sigmoid(z);
    case OPS_ELU: return z > 0 ? z : ops_approx_expm1(z);
    default: return ops_activate_one(activation, z);
  }
}
CORE_KERNEL_FN float ops_derivative_rounded(const OpsActivation activation, float y) {
  if (activation != OPS_SILU) return ops_derivative_one(activation, y);
  const float s = ops_approx_sigmoid(y);
  return s * (1.0f + y * (1.0f - s));
}
CORE_KERNEL_FN float ops_exp_rounded(float x) { return ops_approx_exp(x); }
CORE_KERNEL_FN float ops_sigmoid_rounded(float x) { return ops_approx_sigmoid(x); }
CORE_KERNEL_FN float ops_inverse_rounded(float x) { return ops_approx_inverse(x); }
#else
CORE_KERNEL_FN float ops_exp_rounded(float x) { return fast_exp(x); }
CORE_KERNEL_FN float ops_sigmoid_rounded(float x) { return fast_sigmoid(x); }
CORE_KERNEL_FN float ops_inverse_rounded(float x) { return 1.0f / x; }
CORE_KERNEL_FN float ops_activate_rounded(OpsActivation activation, float z) { return ops_activate_one(activation, z); }
CORE_KERNEL_FN float ops_derivative_rounded(OpsActivation a, float y) { return ops_derivative_one(a, y); }
#endif

typedef struct OpsHiddenActivate {
  uint16_t *y;                 /* [rows][columns]: the product becomes the output */
  const float *bias;
  size_t rows;
  CoreDivisor steps;           /* steps per row: columns / step */
  OpsActivation activation;
  int step;                    /* 8 or 1: elements per thread */
} OpsHiddenActivate;

typedef struct __attribute__((aligned(16))) OpsFourFloats { float x[KERNEL_FOUR]; } OpsFourFloats;

/* Loads `step` floats, 8 of them by two loads of 16 bytes where the address allows it: one by one, threads 32 bytes
 * apart would touch eight times as many cache lines as the layer's values themselves (6% of ops_hidden_activate on an
 * H200). */
CORE_DEVICE_FN void ops_load_floats(const float *from, int step, float *x) {
  if (step == KERNEL_EIGHT && (uintptr_t)from % sizeof(OpsFourFloats) == 0) {
    const OpsFourFloats low = *(const OpsFourFloats *)(const void *)from;
    const OpsFourFloats high = *(const OpsFourFloats *)(const void *)(from + KERNEL_FOUR);
    CORE_DEVICE_UNROLL for (int i = 0; i < KERNEL_FOUR; i++) x[i] = low.x[i], x[i + KERNEL_FOUR] = high.x[i];
    return;
  }
  for (int i = 0; i < step; i++) x[i] = from[i];
}

/* activation: known to the compiler, so that a thread does not branch at each value. */
CORE_KERNEL_FN void ops_hidden_activate_by(const CoreDeviceThread *at, const OpsHiddenActivate *a,
                                           const OpsActivation activation, const int step) {
  for (size_t i = core_device_first(at); i < a->rows * a->steps.number; i += core_device_stride(at)) {
    float z[KERNEL_EIGHT], bias[KERNEL_EIGHT];
    ops_load_floats(a->bias + core_divide(i, a->steps).rest * (size_t)step, step, bias);
    ops_widen_bf16(ops_load_bf16(a->y + i * (size_t)step, step), step, z);
    for (int k = 0; k < step; k++) z[k] = ops_activate_rounded(activation, z[k] + bias[k]);
    ops_store_bf16(z, step, a->y + i * (size_t)step);
  }
}

CORE_KERNEL_FN void ops_hidden_activate(const CoreDeviceThread *at, const OpsHiddenActivate *a) {
  if (a->step != KERNEL_EIGHT) {
    ops_hidden_activate_by(at, a, a->activation, 1);
    return;
  }
  switch (a->activation) {
    case OPS_TANH: ops_hidden_activate_by(at, a, OPS_TANH, KERNEL_EIGHT); break;
    case OPS_RELU: ops_hidden_activate_by(at, a, OPS_RELU, KERNEL_EIGHT); break;
    case OPS_SILU: ops_hidden_activate_by(at, a, OPS_SILU, KERNEL_EIGHT); break;
    case OPS_ELU: ops_hidden_activate_by(at, a, OPS_ELU, KERNEL_EIGHT); break;
    default: ops_hidden_activate_by(at, a, OPS_LINEAR, KERNEL_EIGHT);
  }
}

/* dy *= the derivative at y (SILU: at y + bias), and column sums of it, as rounded, over each part of rows. A thread
 * processes `step` columns of a part and issues the loads of several rows at once: there are too few threads to hide
 * their latency. */
typedef struct OpsHiddenGradient {
  const uint16_t *y;
  const float *bias;
  uint16_t *dy;
  float *parts;                /* [parts][columns] */
  size_t rows, columns;
  OpsActivation activation;
  int step;
  CoreDivisor steps;           /* steps per row: columns / step */
} OpsHiddenGradient;

/* Processes `rows` rows from `element` on, in `column` of a row. */
CORE_KERNEL_FN void ops_hidden_gradient_of(const OpsHiddenGradient *a, const int rows, size_t element, size_t column,
                                           const int step, float *sum) {
  const float *bias = a->bias + column;
  OpsEight y[KERNEL_FOUR], dy[KERNEL_FOUR];

  CORE_DEVICE_UNROLL for (int r = 0; r < rows; r++) {
    y[r] = ops_load_bf16(a->y + element + (size_t)r * a->columns, step);
    dy[r] = ops_load_bf16(a->dy + element + (size_t)r * a->columns, step);
  }

  CORE_DEVICE_UNROLL for (int r = 0; r < rows; r++) {
    float at_y[KERNEL_EIGHT], dz[KERNEL_EIGHT];
    ops_widen_bf16(y[r], step, at_y);
    ops_widen_bf16(dy[r], step, dz);
    for (int k = 0; k < step; k++) {
      if (a->activation == OPS_SILU) at_y[k] += bias[k];
      dz[k] *= ops_derivative_rounded(a->activation, at_y[k]);
      sum[k] += row_rounded(dz[k], OPS_BF16);
    }
    if (a->activation != OPS_LINEAR) ops_store_bf16(dz, step, a->dy + element + (size_t)r * a->columns);
  }
}

CORE_KERNEL_FN void ops_hidden_gradient_by(const CoreDeviceThread *at, const OpsHiddenGradient *a, const int step) {
  const size_t parts = (a->rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;
  for (size_t i = core_device_first(at); i < parts * a->steps.number; i += core_device_stride(at)) {
    const CoreDivided part = core_divide(i, a->steps);
    const size_t column = part.rest * (size_t)step, first = part.whole * KERNEL_PART_ROWS;
    const size_t end = first + KERNEL_PART_ROWS < a->rows ? first + KERNEL_PART_ROWS : a->rows;
    float sum[KERNEL_EIGHT] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t r = first;
    for (; r + KERNEL_FOUR <= end; r += KERNEL_FOUR)
      ops_hidden_gradient_of(a, KERNEL_FOUR, r * a->columns + column, column, step, sum);
    for (; r < end; r++) ops_hidden_gradient_of(a, 1, r * a->columns + column, column, step, sum);
    for (int k = 0; k < step; k++) a->parts[i * (size_t)step + (size_t)k] = sum[k];
  }
}

CORE_KERNEL_FN void ops_hidden_gradient(const CoreDeviceThread *at, const OpsHiddenGradient *a) {
  if (a->step == KERNEL_EIGHT) ops_hidden_gradient_by(at, a, KERNEL_EIGHT);
  else ops_hidden_gradient_by(at, a, 1);
}

/* Computes the gradient at a chain's output, which is float32 like its gradient; dz is the bf16 factor of the products
 * below. A thread processes a column of a part. */
typedef struct OpsOutputGradient {
  const float *y, *bias, *dy;
  uint16_t *dz;
  float *parts;
  size_t rows;
  CoreDivisor columns;
  OpsActivation activation;
} OpsOutputGradient;

CORE_KERNEL_FN float ops_output_gradient_of(const OpsOutputGradient *a, const int rows, size_t row, size_t column,
                                            float sum) {
  const size_t columns = a->columns.number, element = row * columns + column;
  float dz[KERNEL_EIGHT], y[KERNEL_EIGHT];
  CORE_DEVICE_UNROLL for (int r = 0; r < rows; r++) {
    dz[r] = a->dy[element + (size_t)r * columns];
    y[r] = a->activation == OPS_LINEAR ? 0 : a->y[element + (size_t)r * columns];
  }
  CORE_DEVICE_UNROLL for (int r = 0; r < rows; r++) {
    if (a->activation == OPS_SILU) y[r] += a->bias[column];
    if (a->activation != OPS_LINEAR) dz[r] *= ops_derivative_one(a->activation, y[r]);
    a->dz[element + (size_t)r * columns] = row_to_bf16(dz[r]);
    sum += dz[r];
  }
  return sum;
}

CORE_KERNEL_FN void ops_output_gradient(const CoreDeviceThread *at, const OpsOutputGradient *a) {
  const size_t parts = (a->rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;
  for (size_t i = core_device_first(at); i < parts * a->columns.number; i += core_device_stride(at)) {
    const CoreDivided part = core_divide(i, a->columns);
    const size_t column = part.rest, first = part.whole * KERNEL_PART_ROWS;
    const size_t end = first + KERNEL_PART_ROWS < a->rows ? first + KERNEL_PART_ROWS : a->rows;
    float sum = 0;
    size_t r = first;
    for (; r + KERNEL_EIGHT <= end; r += KERNEL_EIGHT)
      sum = ops_output_gradient_of(a, KERNEL_EIGHT, r, column, sum);
    for (; r < end; r++) sum = ops_output_gradient_of(a, 1, r, column, sum);
    a->parts[i] = sum;
  }
}

/* ---- rows of 128 values: 16 threads with eight neighboring values each ------------------------------------------- */

/* Sums have another order than the CPU's, which those of float matrices have (kernels_dense.h): a row's adds the
 * threads' own sums in their order; a column's first the rows of a thread, then the threads of a block. */
enum { KERNEL_EIGHTS_COLUMNS = KERNEL_LANES * KERNEL_EIGHT, KERNEL_EIGHTS_THREADS = 256, KERNEL_EIGHTS_ROWS = 64 };
/* Rows that a block processes at once, of KERNEL_EIGHTS_ROWS. */
enum { KERNEL_EIGHTS_AT_ONCE = KERNEL_EIGHTS_THREADS / KERNEL_LANES };

/* Returns the sum over a row's threads. All threads of the block must call it. shared: a float per thread. */
CORE_KERNEL_FN float ops_add_eights_in(const CoreDeviceThread *at, float *shared, float own) {
  float *lane = shared + at->thread / KERNEL_LANES * KERNEL_LANES, sum = 0;
  core_device_group_barrier(at, 32);
  lane[at->thread % KERNEL_LANES] = own;
  core_device_group_barrier(at, 32);
  CORE_DEVICE_UNROLL for (int first = 0; first < KERNEL_LANES; first += KERNEL_FOUR) {
    const OpsFourFloats four = *(const OpsFourFloats *)(const void *)(lane + first);
    CORE_DEVICE_UNROLL for (int k = 0; k < KERNEL_FOUR; k++) sum += four.x[k];
  }
  return sum;
}
CORE_KERNEL_FN float ops_add_eights(const CoreDeviceThread *at, float own) {
  return ops_add_eights_in(at, (float *)at->shared, own);
}

/* A thread's row, of those that its block processes at once, and its first column. */
typedef struct OpsEightsPlace { size_t row, column; } OpsEightsPlace;
CORE_KERNEL_FN OpsEightsPlace ops_eights_place(const CoreDeviceThread *at) {
  const OpsEightsPlace place = {at->thread / KERNEL_LANES, (size_t)at->thread % KERNEL_LANES * KERNEL_EIGHT};
  return place;
}

/* Writes the sums of the first `columns` columns over the rows that the block's threads have processed: own[] of each
 * thread. shared: as many floats as the block has values at once. */
CORE_KERNEL_FN void ops_sum_eights_in(const CoreDeviceThread *at, float *shared, const float *own, unsigned columns,
                                      float *sums) {
  const unsigned lane = at->thread % KERNEL_LANES, eighth = at->thread / KERNEL_LANES;
  float sum = 0;
  core_device_barrier(at);
  for (unsigned k = 0; k < KERNEL_EIGHT; k++) /* neighboring threads write neighboring words */
    shared[(k * KERNEL_EIGHTS_AT_ONCE + at->thread / KERNEL_LANES) * KERNEL_LANES + lane] = own[k];
  core_device_barrier(at);
  if (eighth >= KERNEL_EIGHT || lane * KERNEL_EIGHT + eighth >= columns) return;
  for (unsigned row = 0; row < KERNEL_EIGHTS_AT_ONCE; row++)
    sum += shared[(eighth * KERNEL_EIGHTS_AT_ONCE + row) * KERNEL_LANES + lane];
  sums[lane * KERNEL_EIGHT + eighth] = sum;
}
CORE_KERNEL_FN void ops_sum_eights(const CoreDeviceThread *at, const float *own, float *sums) {
  ops_sum_eights_in(at, (float *)at->shared, own, KERNEL_EIGHTS_COLUMNS, sums);
}

/* Turns dy into the gradient before ReLU, or leaves it, with column sums. A block has KERNEL_EIGHTS_ROWS rows. */
typedef struct OpsEightsGradient {
  const uint16_t *y;
  uint16_t *dy;
  float *sums;                 /* [blocks][columns] */
  size_t rows;
  int is_relu;
} OpsEightsGradient;

CORE_KERNEL_FN void ops_eights_gradient(const CoreDeviceThread *at, const OpsEightsGradient *a) {
  const OpsEightsPlace place = ops_eights_place(at);
  const size_t begin = (size_t)at->block * KERNEL_EIGHTS_ROWS;
  const size_t end = begin + KERNEL_EIGHTS_ROWS < a->rows ? begin + KERNEL_EIGHTS_ROWS : a->rows;
  float sum[KERNEL_EIGHT] = {0};

  for (size_t row = begin + place.row; row < end; row += KERNEL_EIGHTS_AT_ONCE) {
    const size_t element = row * KERNEL_EIGHTS_COLUMNS + place.column;
    float y[KERNEL_EIGHT] = {0}, dy[KERNEL_EIGHT];
    if (a->is_relu) ops_widen_bf16(ops_load_bf16(a->y + element, KERNEL_EIGHT), KERNEL_EIGHT, y);
    ops_widen_bf16(ops_load_bf16(a->dy + element, KERNEL_EIGHT), KERNEL_EIGHT, dy);
    for (int k = 0; k < KERNEL_EIGHT; k++) {
      if (a->is_relu) dy[k] *= ops_derivative_one(OPS_RELU, y[k]);
      sum[k] += dy[k];
    }
    if (a->is_relu) ops_store_bf16(dy, KERNEL_EIGHT, a->dy + element);
  }

  ops_sum_eights(at, sum, a->sums + (size_t)at->block * KERNEL_EIGHTS_COLUMNS);
}

typedef struct OpsNormEights {
  const uint16_t *x;
  uint16_t *n, *y;             /* y: gain n + offset */
  float *inverse;
  const float *gain, *offset;
  size_t rows;
  float epsilon;
} OpsNormEights;

CORE_KERNEL_FN void ops_norm_eights(const CoreDeviceThread *at, const OpsNormEights *a) {
  const OpsEightsPlace place = ops_eights_place(at);
  const size_t step = (size_t)at->blocks * KERNEL_EIGHTS_AT_ONCE;
  float gain[KERNEL_EIGHT], offset[KERNEL_EIGHT];
  ops_load_floats(a->gain + place.column, KERNEL_EIGHT, gain);
  ops_load_floats(a->offset + place.column, KERNEL_EIGHT, offset);

  for (size_t first = (size_t)at->block * KERNEL_EIGHTS_AT_ONCE; first < a->rows; first += step) {
    const bool is_within = first + place.row < a->rows;
    const size_t row = is_within ? first + place.row : first, element = row * KERNEL_EIGHTS_COLUMNS + place.column;
    float x[KERNEL_EIGHT], y[KERNEL_EIGHT], sum = 0;

    ops_widen_bf16(ops_load_bf16(a->x + element, KERNEL_EIGHT), KERNEL_EIGHT, x);
    for (int k = 0; k < KERNEL_EIGHT; k++) sum += x[k];
    const float mean = ops_add_eights(at, sum) * (1.0f / KERNEL_EIGHTS_COLUMNS);

    sum = 0;
    for (int k = 0; k < KERNEL_EIGHT; k++) {
      x[k] -= mean;
      sum += x[k] * x[k];
    }

    const float inverse = 1.0f / sqrtf(ops_add_eights(at, sum) * (1.0f / KERNEL_EIGHTS_COLUMNS) + a->epsilon);
    for (int k = 0; k < KERNEL_EIGHT; k++) {
      x[k] *= inverse;
      y[k] = gain[k] * x[k] + offset[k];
    }

    if (!is_within) continue;
    if (place.column == 0) a->inverse[row] = inverse;
    ops_store_bf16(x, KERNEL_EIGHT, a->n + element);
    ops_store_bf16(y, KERNEL_EIGHT, a->y + element);
  }
}

/* dx += more + the gradient at x, of dy, that at y. A block has KERNEL_EIGHTS_ROWS rows, whose sums are a part of the
 * gradients of gain and offset. */
typedef struct OpsNormEightsGradient {
  const uint16_t *n, *dy, *more;
  uint16_t *dx;
  const float *inverse, *gain;
  float *dgain, *doffset;      /* [blocks][columns] */
  size_t rows;
} OpsNormEightsGradient;

/* Processes a row, or with !is_within nothing of it, and adds to the sums. */
CORE_KERNEL_FN void ops_norm_eights_row(const CoreDeviceThread *at, const OpsNormEightsGradient *a, size_t row,
                                        size_t column, const bool is_within, float *dgain, float *doffset) {
  const size_t element = row * KERNEL_EIGHTS_COLUMNS + column;
  float n[KERNEL_EIGHT], dy[KERNEL_EIGHT], dx[KERNEL_EIGHT] = {0}, more[KERNEL_EIGHT] = {0};
  float gain[KERNEL_EIGHT], mean = 0, along = 0;

  ops_widen_bf16(ops_load_bf16(a->n + element, KERNEL_EIGHT), KERNEL_EIGHT, n);
  ops_widen_bf16(ops_load_bf16(a->dy + element, KERNEL_EIGHT), KERNEL_EIGHT, dy);
  if (is_within) ops_widen_bf16(ops_load_bf16(a->dx + element, KERNEL_EIGHT), KERNEL_EIGHT, dx);
  ops_widen_bf16(ops_load_bf16(a->more + element, KERNEL_EIGHT), KERNEL_EIGHT, more);
  ops_load_floats(a->gain + column, KERNEL_EIGHT, gain);

  for (int k = 0; k < KERNEL_EIGHT; k++) {
    if (is_within) dgain[k] += dy[k] * n[k];
    if (is_within) doffset[k] += dy[k];
    dy[k] *= gain[k];
    mean += dy[k];
    along += dy[k] * n[k];
  }

  mean = ops_add_eights(at, mean) * (1.0f / KERNEL_EIGHTS_COLUMNS);
  along = ops_add_eights(at, along) * (1.0f / KERNEL_EIGHTS_COLUMNS);
  if (!is_within) return;
  for (int k = 0; k < KERNEL_EIGHT; k++) dx[k] += more[k] + a->inverse[row] * (dy[k] - mean - n[k] * along);
  ops_store_bf16(dx, KERNEL_EIGHT, a->dx + element);
}

CORE_KERNEL_FN void ops_norm_eights_gradient(const CoreDeviceThread *at, const OpsNormEightsGradient *a) {
  const OpsEightsPlace place = ops_eights_place(at);
  const size_t begin = (size_t)at->block * KERNEL_EIGHTS_ROWS;
  const size_t end = begin + KERNEL_EIGHTS_ROWS < a->rows ? begin + KERNEL_EIGHTS_ROWS : a->rows;
  float dgain[KERNEL_EIGHT] = {0}, doffset[KERNEL_EIGHT] = {0};
  for (size_t first = begin; first < end; first += KERNEL_EIGHTS_AT_ONCE) {
    const bool is_within = first + place.row < end;
    ops_norm_eights_row(at, a, is_within ? first + place.row : first, place.column, is_within, dgain, doffset);
  }
  ops_sum_eights(at, dgain, a->dgain + (size_t)at->block * KERNEL_EIGHTS_COLUMNS);
  ops_sum_eights(at, doffset, a->doffset + (size_t)at->block * KERNEL_EIGHTS_COLUMNS);
}

/* ---- products with one column, and outer products ---------------------------------------------------------------- */

/* Kernels where the library has no algorithm: a value's layer, its kernel's gradient, and the gradient below it.
 * ops_product would compute the first with one thread per row, the second's 65 536 terms in one thread each, and write
 * the third element by element, each in a separate sector. */

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
