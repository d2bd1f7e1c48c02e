/* Rounding of matrix-product factors to a precision, for the CPU (cpu_product.c) and for the kernel that replaces the
 * GPU's library in tests (kernels_dense.h). */
#ifndef TRAINER_OPS_ROW_ROUND_INTERNAL_H
#define TRAINER_OPS_ROW_ROUND_INTERNAL_H
#include "trainer/ops/fast_math_internal.h"
#include "trainer/ops/ops.h"

/* Rounds two values to the nearest bf16, ties to even: low's bits in the lower half, high's in the upper one. A GPU has
 * an instruction for it. NaN stays NaN: its payload could round to infinity. */
#if defined(__CUDA_ARCH__)
CORE_DEVICE_FN uint32_t row_bf16_pair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
CORE_DEVICE_FN uint32_t row_bf16_bits(float x) { return row_bf16_pair(0, x); }
#else
/* Returns the bits of one rounded value in their upper half. */
CORE_DEVICE_FN uint32_t row_bf16_bits(float x) {
  const uint32_t bits = (uint32_t)fast_to_bits(x);
  const uint32_t nearest = bits + 0x7fff + (bits >> 16 & 1), quiet = bits | 0x00400000;
  return ((bits & 0x7fffffff) > 0x7f800000 ? quiet : nearest) & 0xffff0000;
}
CORE_DEVICE_FN uint32_t row_bf16_pair(float low, float high) { return row_bf16_bits(low) >> 16 | row_bf16_bits(high); }
#endif
CORE_DEVICE_FN float row_low_of_pair(uint32_t pair) { return fast_from_bits((int32_t)(pair << 16)); }
CORE_DEVICE_FN float row_high_of_pair(uint32_t pair) { return fast_from_bits((int32_t)(pair & 0xffff0000)); }

/* Converts to the memory format: the upper half. */
CORE_DEVICE_FN uint16_t row_to_bf16(float x) { return (uint16_t)(row_bf16_bits(x) >> 16); }
CORE_DEVICE_FN float row_from_bf16(uint16_t x) { return fast_from_bits((int32_t)((uint32_t)x << 16)); }

/* Rounds to the nearest TF32 value, 10 bits of fraction, ties away from zero (PTX: cvt.rna.tf32.f32). */
CORE_DEVICE_FN float row_tf32(float x) {
  const uint32_t bits = (uint32_t)fast_to_bits(x);
  if ((bits & 0x7f800000) == 0x7f800000) return x;
  return fast_from_bits((int32_t)((bits + 0x1000) & 0xffffe000));
}

CORE_DEVICE_FN float row_rounded(float x, OpsPrecision precision) {
  if (precision == OPS_BF16) return fast_from_bits((int32_t)row_bf16_bits(x));
  return precision == OPS_TF32 ? row_tf32(x) : x;
}

#endif
