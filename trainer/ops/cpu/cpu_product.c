/* Matrix products in the run's precision. In bf16 both factors are rounded to the nearest bf16 number, ties to even (8
 * bits of significand, float32's exponents), while products are exact and summed in float32: what a processor's bf16
 * instructions do. Where these are slower than float32's, rounded numbers may stay float32 and go to the same sgemm,
 * which differs in nothing but the order of sums, as one library differs from the next. cpu_bf16.c chooses. */
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_round_internal.h"

CPU_VECTOR void cpu_round_bf16(const float *x, int n, float *rounded) {
  for (int i = 0; i < n; i++) rounded[i] = fast_from_bits((int32_t)row_bf16_bits(x[i]));
}

CPU_VECTOR static void pack_bf16(const float *x, int n, uint16_t *packed) {
  for (int i = 0; i < n; i++) packed[i] = (uint16_t)(row_bf16_bits(x[i]) >> 16);
}

CpuOperand cpu_operand(OpsBf16Method method, const float *x, int rows, int columns, int stride, float *scratch) {
  if (method == OPS_BF16_FLOAT32) return (CpuOperand){x, stride};
  uint16_t *packed = (uint16_t *)scratch;
  for (int r = 0; r < rows; r++) {
    const float *row = x + (size_t)r * stride;
    if (method == OPS_BF16_ROUNDED) cpu_round_bf16(row, columns, scratch + (size_t)r * columns);
    else pack_bf16(row, columns, packed + (size_t)r * columns);
  }
  return (CpuOperand){scratch, columns};
}

void cpu_product(const CpuState *state, OpsBf16Method method, int transpose_a, int transpose_b, int m, int n, int k,
                 CpuOperand a, CpuOperand b, int accumulate, float *c, int ldc) {
  if (method == OPS_BF16_LIBRARY)
    state->library->product_bf16(transpose_a, transpose_b, m, n, k, a.data, a.stride, b.data, b.stride, accumulate, c,
                                 ldc);
  else if (!state->library->has_small ||
           !cpu_small_product(transpose_a, transpose_b, m, n, k, a.data, a.stride, b.data, b.stride, accumulate, c,
                              ldc))
    state->library->product(transpose_a, transpose_b, m, n, k, a.data, a.stride, b.data, b.stride, accumulate, c, ldc);
}
