/* Kernels of dense layers and layer norm apart from the matrix product: bias and activation, their gradients, column
 * sums. Sums over rows are computed in parts of KERNEL_PART_ROWS as on the CPU (cpu_dense.c, cpu_norm.c). */
#ifndef TRAINER_OPS_KERNELS_DENSE_H
#define TRAINER_OPS_KERNELS_DENSE_H
#include "trainer/ops/kernels/kernels_vector.h"
#include "trainer/ops/ops.h"
#include "trainer/ops/row_round_internal.h"

enum { KERNEL_PART_ROWS = 32 };

/* ---- products that the library lacks: 32 elements of a row per thread, terms in order ---------------------------- */

/* Epilogue of a product, as in cuBLASLt. */
typedef enum OpsEpilogue {
  OPS_PRODUCT,
  OPS_PRODUCT_BIAS,            /* + bias[n] */
  OPS_PRODUCT_RELU,            /* max(0, . + bias[n]) */
  OPS_PRODUCT_RELU_MASK,       /* likewise, with a bit per element: whether it is above 0 */
  OPS_PRODUCT_MASKED,          /* 0 where the mask bit is 0; bias[n] is set to the column sums of the rest */
} OpsEpilogue;
typedef enum OpsNumbers { OPS_NUMBERS_FLOAT, OPS_NUMBERS_BF16 } OpsNumbers;

enum { KERNEL_MASK_BITS = 32, KERNEL_MASK_ROW = 128 };
/* Returns the 32-bit words per row of a mask: its length in bits is a multiple of 128
 * (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD). */
CORE_DEVICE_FN size_t ops_mask_words(size_t columns) {
  return (columns + KERNEL_MASK_ROW - 1) / KERNEL_MASK_ROW * (KERNEL_MASK_ROW / KERNEL_MASK_BITS);
}

typedef struct OpsProduct {
  const void *a, *b;
  void *c;                     /* [m][n] */
  int transpose_a, transpose_b; /* a: [m][k], or [k][m]; b: [k][n], or [n][k] */
  size_t m, n, k;
  size_t row_a;                /* elements from one row of a to the next */
  OpsNumbers factors, result;  /* types of a and b; of c and bias */
  OpsPrecision precision;      /* precision to which both factors are rounded */
  OpsEpilogue epilogue;
  const void *bias;            /* OPS_PRODUCT_MASKED: not read here, the sums are separate kernels */
  uint32_t *mask;              /* [m][ops_mask_words(n)], bit i of a word: element i */
} OpsProduct;

CORE_DEVICE_FN float ops_number(const void *x, OpsNumbers numbers, size_t i) {
  return numbers == OPS_NUMBERS_BF16 ? row_from_bf16(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

CORE_DEVICE_FN void ops_put_number(void *x, OpsNumbers numbers, size_t i, float value) {
  if (numbers == OPS_NUMBERS_BF16) ((uint16_t *)x)[i] = row_to_bf16(value);
  else ((float *)x)[i] = value;
}

enum { KERNEL_PRODUCT_AT_ONCE = 8 }; /* elements of a row, a divisor of KERNEL_MASK_BITS */

/* sum[]: elements first to first + KERNEL_PRODUCT_AT_ONCE - 1 of a row; beyond its end the last one repeated. */
CORE_DEVICE_FN void ops_product_sums(const OpsProduct *p, size_t row, size_t first, float *sum) {
  const size_t from_a = p->transpose_a ? row : row * p->row_a;
  const size_t step_a = p->transpose_a ? p->row_a : 1;
  const size_t step_b = p->transpose_b ? 1 : p->n;
  size_t from_b[KERNEL_PRODUCT_AT_ONCE];

  CORE_DEVICE_UNROLL for (size_t i = 0; i < KERNEL_PRODUCT_AT_ONCE; i++) {
    const size_t column = first + i < p->n ? first + i : p->n - 1;
    from_b[i] = p->transpose_b ? column * p->k : column;
    sum[i] = 0;
  }

  if (p->factors == OPS_NUMBERS_FLOAT && p->precision == OPS_FLOAT32) {
    for (size_t l = 0; l < p->k; l++) {
      const float a = ((const float *)p->a)[from_a + l * step_a];
      CORE_DEVICE_UNROLL for (size_t i = 0; i < KERNEL_PRODUCT_AT_ONCE; i++)
        sum[i] += a * ((const float *)p->b)[from_b[i] + l * step_b];
    }
    return;
  }

  for (size_t l = 0; l < p->k; l++) {
    const float a = row_rounded(ops_number(p->a, p->factors, from_a + l * step_a), p->precision);
    CORE_DEVICE_UNROLL for (size_t i = 0; i < KERNEL_PRODUCT_AT_ONCE; i++)
      sum[i] += a * row_rounded(ops_number(p->b, p->factors, from_b[i] + l * step_b), p->precision);
  }
}

CORE_KERNEL_FN void ops_product(const CoreDeviceThread *at, const OpsProduct *p) {
  const size_t words = (p->n + KERNEL_MASK_BITS - 1) / KERNEL_MASK_BITS;
  for (size_t i = core_device_first(at); i < p->m * words; i += core_device_stride(at)) {
    const size_t row = i / words, first = i % words * KERNEL_MASK_BITS;
    uint32_t *word = p->mask ? p->mask + row * ops_mask_words(p->n) + i % words : 0, bits = 0;

    for (size_t begin = first; begin < p->n && begin < first + KERNEL_MASK_BITS; begin += KERNEL_PRODUCT_AT_ONCE) {
      float sum[KERNEL_PRODUCT_AT_ONCE];
      ops_product_sums(p, row, begin, sum);
      CORE_DEVICE_UNROLL for (size_t j = 0; j < KERNEL_PRODUCT_AT_ONCE; j++) {
        const size_t column = begin + j;
        const uint32_t bit = 1u << (column - first);
        float c = sum[j];

        if (column >= p->n) continue;
        if (p->epilogue == OPS_PRODUCT_MASKED) c = *word & bit ? c : 0;
        else if (p->epilogue != OPS_PRODUCT) c += ops_number(p->bias, p->result, column);
        if (p->epilogue == OPS_PRODUCT_RELU || p->epilogue == OPS_PRODUCT_RELU_MASK) c = c > 0 ? c : c != c ? c : 0;
        if (c > 0) bits |= bit;
        if (p->result == OPS_NUMBERS_BF16) ((uint16_t *)p->c)[row * p->n + column] = row_to_bf16(c);
        else ((float *)p->c)[row * p->n + column] = c;
      }
    }

    if (p->epilogue == OPS_PRODUCT_RELU_MASK) *word = bits;
  }
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

CORE_DEVICE_FN float ops_activate_one(OpsActivation activation, float z) {
  switch (activation) {
    case OPS_TANH: return fast_tanh(z);
    case OPS_RELU: return z > 0 ? z : z != z ? z : 0;
    case OPS_SILU: return z * fast_sigmoid(z);
    case OPS_ELU: return z > 0 ? z : fast_expm1(z);
    default: return z;
  }
}

/* Returns the derivative at the output y; SILU: at z, passed as y. */
CORE_DEVICE_FN float ops_derivative_one(OpsActivation activation, float y) {
  switch (activation) {
    case OPS_TANH: return 1.0f - y * y;
    case OPS_RELU: return y > 0 ? 1.0f : 0.0f;
    case OPS_SILU: {
      const float s = fast_sigmoid(y);
      return s * (1.0f + y * (1.0f - s));
    }
    case OPS_ELU: return y > 0 ? 1.0f : y + 1.0f;
    default: return 1.0f;
  }
}

typedef struct OpsActivate {
  float *y;
  const float *bias;
  size_t rows;
  CoreDivisor columns;
  OpsActivation activation;
} OpsActivate;
CORE_KERNEL_FN void ops_activate(const CoreDeviceThread *at, const OpsActivate *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->columns.number; i += core_device_stride(at))
    a->y[i] = ops_activate_one(a->activation, a->y[i] + a->bias[core_divide(i, a->columns).rest]);
}

/* dy *= the derivative at y (SILU: at y + bias, y being the activation's input without its bias), and column sums of dy
 * over each part of rows: one thread per column of a part. */
typedef struct OpsActivationGradient {
  const float *y, *bias;
  float *dy, *parts;           /* [rows][columns], [parts][columns] */
  size_t rows;
  CoreDivisor columns;
  OpsActivation activation;
} OpsActivationGradient;

CORE_KERNEL_FN void ops_activation_gradient(const CoreDeviceThread *at, const OpsActivationGradient *a) {
  const size_t parts = (a->rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;

  for (size_t i = core_device_first(at); i < parts * a->columns.number; i += core_device_stride(at)) {
    const CoreDivided part = core_divide(i, a->columns);
    const size_t column = part.rest, first = part.whole * KERNEL_PART_ROWS;
    const size_t end = first + KERNEL_PART_ROWS < a->rows ? first + KERNEL_PART_ROWS : a->rows;
    float sum = 0;

    for (size_t r = first; r < end; r++) {
      const size_t k = r * a->columns.number + column;
      const float y = a->activation == OPS_SILU ? a->y[k] + a->bias[column] : a->activation == OPS_LINEAR ? 0 : a->y[k];
      const float dy = a->dy[k] * ops_derivative_one(a->activation, y);
      if (a->activation != OPS_LINEAR) a->dy[k] = dy;
      sum += dy;
    }
    a->parts[i] = sum;
  }
}

/* ---- layer norm: 16 threads per row ------------------------------------------------------------------------------ */

typedef struct OpsNormRows {
  const float *x;              /* may be n */
  float *n, *inverse;
  const float *gain, *offset;  /* offset NULL: none is added */
  float *y;                    /* gain n + offset */
  size_t rows, columns;
  float epsilon;
} OpsNormRows;

/* Returns the group's sum in lane order; a block holds several groups. */
CORE_KERNEL_FN float ops_add_row(const CoreDeviceThread *at, float own) {
  float *lane = (float *)at->shared + at->thread / KERNEL_LANES * KERNEL_LANES, sum = 0;
  core_device_group_barrier(at, KERNEL_LANES);
  lane[at->thread % KERNEL_LANES] = own;
  core_device_group_barrier(at, KERNEL_LANES);
  for (int l = 0; l < KERNEL_LANES; l++) sum += lane[l];
  return sum;
}

CORE_KERNEL_FN void ops_norm_rows(const CoreDeviceThread *at, const OpsNormRows *a) {
  const size_t lane = at->thread % KERNEL_LANES, columns = a->columns;

  for (size_t r = core_device_first(at) / KERNEL_LANES; r < a->rows; r += core_device_stride(at) / KERNEL_LANES) {
    const size_t first = r * columns;
    float sum = 0;
    for (size_t c = lane; c < columns; c += KERNEL_LANES) sum += a->x[first + c];
    const float mean = ops_add_row(at, sum) / (float)columns;

    sum = 0;
    for (size_t c = lane; c < columns; c += KERNEL_LANES) sum += a->x[first + c] - mean;
    const float rest = ops_add_row(at, sum) / (float)columns; /* rounding residual, as on the CPU */
    sum = 0;
    for (size_t c = lane; c < columns; c += KERNEL_LANES) {
      const float z = a->x[first + c] - mean - rest;
      sum += z * z;
    }
    const float inverse = 1.0f / sqrtf(ops_add_row(at, sum) / (float)columns + a->epsilon);
    if (lane == 0) a->inverse[r] = inverse;

    for (size_t c = lane; c < columns; c += KERNEL_LANES) {
      const float n = (a->x[first + c] - mean - rest) * inverse;
      const float y = a->gain[c] * n;
      a->n[first + c] = n;
      a->y[first + c] = a->offset ? y + a->offset[c] : y;
    }
  }
}

/* parts[part][column] = sum over the part's rows of dy n. */
typedef struct OpsGainParts {
  const float *dy, *n;
  float *parts, *more;         /* more: likewise the sums of dy; NULL: none */
  size_t rows;
  CoreDivisor columns;
} OpsGainParts;
CORE_KERNEL_FN void ops_gain_parts(const CoreDeviceThread *at, const OpsGainParts *a) {
  const size_t parts = (a->rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;
  const size_t columns = a->columns.number;

  for (size_t i = core_device_first(at); i < parts * columns; i += core_device_stride(at)) {
    const CoreDivided part = core_divide(i, a->columns);
    const size_t column = part.rest, first = part.whole * KERNEL_PART_ROWS;
    const size_t end = first + KERNEL_PART_ROWS < a->rows ? first + KERNEL_PART_ROWS : a->rows;
    float sum = 0, more = 0;
    for (size_t r = first; r < end; r++) {
      const float dy = a->dy[r * columns + column];
      sum += dy * a->n[r * columns + column];
      more += dy;
    }

    a->parts[i] = sum;
    if (a->more) a->more[i] = more;
  }
}

/* dy, the gradient at gain n + offset, becomes that at z, or is added as such to dx, after `more`. */
typedef struct OpsNormGradient {
  const float *n, *inverse, *gain, *more;
  float *dy, *dx;              /* dx NULL: dy is overwritten */
  size_t rows, columns;
} OpsNormGradient;
CORE_KERNEL_FN void ops_norm_gradient(const CoreDeviceThread *at, const OpsNormGradient *a) {
  const size_t lane = at->thread % KERNEL_LANES, columns = a->columns;

  for (size_t r = core_device_first(at) / KERNEL_LANES; r < a->rows; r += core_device_stride(at) / KERNEL_LANES) {
    const size_t first = r * columns;
    float mean = 0, along = 0;
    for (size_t c = lane; c < columns; c += KERNEL_LANES) {
      const float dy = a->dy[first + c] * a->gain[c];
      mean += dy;
      along += dy * a->n[first + c];
    }

    mean = ops_add_row(at, mean) / (float)columns;
    along = ops_add_row(at, along) / (float)columns;
    for (size_t c = lane; c < columns; c += KERNEL_LANES) {
      const float dy = a->dy[first + c] * a->gain[c];
      const float dz = a->inverse[r] * (dy - mean - a->n[first + c] * along);
      if (a->dx) a->dx[first + c] = a->dx[first + c] + a->more[first + c] + dz;
      else a->dy[first + c] = dz;
    }
  }
}

/* product[rows][columns] = gain n. */
typedef struct OpsScaleRows {
  const float *n, *gain;
  float *product;
  size_t rows;
  CoreDivisor columns;
} OpsScaleRows;
CORE_KERNEL_FN void ops_scale_rows(const CoreDeviceThread *at, const OpsScaleRows *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->columns.number; i += core_device_stride(at))
    a->product[i] = a->gain[core_divide(i, a->columns).rest] * a->n[i];
}

#endif
