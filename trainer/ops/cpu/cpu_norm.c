/* Layer norm on the CPU: every row by its own mean and variance, then gain, offset and activation. A row's sums use
 * fixed lanes, so that every instruction set adds in one order; gradients of gain and offset are summed over rows like
 * a bias's (cpu_dense.c). */
#include <omp.h>

#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/fast_math_internal.h"

enum { LANES = 16 };

/* Sum of term(c) over the columns. */
#define ROW_SUM(result, columns, term)                                                  \
  do {                                                                                  \
    float lane_[LANES] = {0};                                                           \
    int whole_ = (columns) / LANES * LANES, base_ = 0;                                  \
    for (; base_ < whole_; base_ += LANES)                                              \
      for (int l_ = 0; l_ < LANES; l_++) { int c = base_ + l_; lane_[l_] += (term); }   \
    for (int l_ = 0; base_ + l_ < (columns); l_++) { int c = base_ + l_; lane_[l_] += (term); } \
    (result) = 0;                                                                       \
    for (int l_ = 0; l_ < LANES; l_++) (result) += lane_[l_];                           \
  } while (0)

/* z becomes n, y = gain n. */
CPU_VECTOR static void normalize(float *z, float *inverse, const float *gain, float *y, int rows, int columns,
                                 float epsilon) {
  for (int r = 0; r < rows; r++, z += columns, y += columns) {
    float mean, variance;
    ROW_SUM(mean, columns, z[c]);
    mean /= (float)columns;
    for (int c = 0; c < columns; c++) z[c] -= mean;
    ROW_SUM(mean, columns, z[c]); /* corrects the rounding of a mean that is large compared to the standard deviation */
    mean /= (float)columns;
    for (int c = 0; c < columns; c++) z[c] -= mean;

    ROW_SUM(variance, columns, z[c] * z[c]);
    inverse[r] = 1.0f / sqrtf(variance / (float)columns + epsilon);

    for (int c = 0; c < columns; c++) {
      z[c] *= inverse[r];
      y[c] = gain[c] * z[c];
    }
  }
}

void cpu_norm_forward(Ops *ops, float *z, float *inverse, const float *gain, const float *offset, float *y, int rows,
                      int columns, double epsilon, OpsActivation activation) {
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    size_t first = (size_t)block * CPU_ROWS;
    int count = cpu_block_rows(rows, block);
    float *target = y + first * columns;
    normalize(z + first * columns, inverse + first, gain, target, count, columns, (float)epsilon);
    cpu_activate(activation, target, offset, count, columns);
  }
}

/* dgain = column sums of dy n; then dy, until now the gradient at gain n + offset, becomes that at z. */
CPU_VECTOR static void denormalize(const float *n, const float *inverse, const float *gain, float *dy, float *dgain,
                                   int rows, int columns) {
  for (int c = 0; c < columns; c++) dgain[c] = 0;
  for (int r = 0; r < rows; r++, n += columns, dy += columns) {
    float mean, along;
    for (int c = 0; c < columns; c++) dgain[c] += dy[c] * n[c];
    for (int c = 0; c < columns; c++) dy[c] *= gain[c];
    ROW_SUM(mean, columns, dy[c]);
    ROW_SUM(along, columns, dy[c] * n[c]);
    mean /= (float)columns;
    along /= (float)columns;
    for (int c = 0; c < columns; c++) dy[c] = inverse[r] * (dy[c] - mean - n[c] * along);
  }
}

CPU_VECTOR static void multiply_rows(const float *n, const float *gain, float *product, int rows, int columns) {
  for (int r = 0; r < rows; r++, n += columns, product += columns)
    for (int c = 0; c < columns; c++) product[c] = gain[c] * n[c];
}

typedef struct Norm {
  CpuState *state;
  const float *n, *inverse, *gain, *offset, *y;
  float *dy;
  int rows, columns;
  OpsActivation activation;
} Norm;

static void backward_part(const Norm *norm, int part) {
  CpuState *state = norm->state;
  const int first = part * CPU_BIAS_ROWS, left = norm->rows - first, columns = norm->columns;
  const int rows = left < CPU_BIAS_ROWS ? left : CPU_BIAS_ROWS;
  const size_t at = (size_t)first * columns;
  const float *y = norm->y + at;
  if (norm->activation == OPS_SILU) {
    float *product = cpu_thread_rows(state, CPU_PRODUCT_SCRATCH);
    multiply_rows(norm->n + at, norm->gain, product, rows, columns);
    y = product;
  }
  cpu_activation_gradient(norm->activation, y, norm->offset, norm->dy + at,
                          state->bias_parts + (size_t)part * columns, rows, columns);
  denormalize(norm->n + at, norm->inverse + first, norm->gain, norm->dy + at,
              state->gain_parts + (size_t)part * columns, rows, columns);
}

void cpu_norm_backward(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                       const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                       OpsActivation activation) {
  CpuState *state = cpu_state(ops);
  const Norm norm = {state, n, inverse, gain, offset, y, dy, rows, columns, activation};
  const int parts = cpu_bias_parts(rows);
  CORE_CHECK(rows <= state->max_rows && columns <= state->max_width);
#pragma omp parallel num_threads(state->threads)
  {
#pragma omp for schedule(static)
    for (int part = 0; part < parts; part++) backward_part(&norm, part);
    cpu_fold_columns(state->bias_parts, parts, columns, doffset);
    cpu_fold_columns(state->gain_parts, parts, columns, dgain);
  }
}

void cpu_norm_backward_rows(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                            const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                            OpsActivation activation) {
  (void)ops;
  CORE_CHECK(rows <= CPU_BIAS_ROWS && activation != OPS_SILU);
  cpu_activation_gradient(activation, y, offset, dy, doffset, rows, columns);
  denormalize(n, inverse, gain, dy, dgain, rows, columns);
}
