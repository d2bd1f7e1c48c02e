/* Half precision (IEEE binary16: 11 bits of significand, 2^-24 to 65504), elementwise, for the CPU's loops (cpu_half.c)
 * and the GPU's kernels (kernels_rows.h). Integer operations only: the same bits everywhere, with or without
 * conversion instructions. */
#ifndef TRAINER_OPS_ROW_HALF_INTERNAL_H
#define TRAINER_OPS_ROW_HALF_INTERNAL_H
#include "trainer/ops/fast_math_internal.h"

#define ROW_HALF_INFINITY 0x7f800000u         /* bits of infinity as a float, */
#define ROW_HALF_LEAST_NORMAL (113u << 23)    /* bits of 2^-14, */
#define ROW_HALF_FIXED_POINT (126u << 23)     /* bits of 1/2, whose last bit is worth 2^-24 like a subnormal half's, */
#define ROW_HALF_LARGEST 0x477fe000u          /* bits of 65504 */
#define ROW_HALF_REBIAS ((127u - 15u) << 23)  /* offset from a float's exponent to a half's */

/* Returns the nearest half, ties to even. Finite values beyond the range become the largest half; infinities and NaN
 * stay. */
CORE_DEVICE_FN uint16_t row_to_half(float x) {
  const uint32_t bits = (uint32_t)fast_to_bits(x), sign = bits >> 16 & 0x8000, all = bits & 0x7fffffff;
  const uint32_t magnitude = ((all > ROW_HALF_LARGEST) & (all < ROW_HALF_INFINITY)) ? ROW_HALF_LARGEST : all;
  const uint32_t normal = (magnitude - ROW_HALF_REBIAS + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const uint32_t subnormal = (uint32_t)fast_to_bits(fast_from_bits((int32_t)magnitude) + 0.5f) - ROW_HALF_FIXED_POINT;
  const uint32_t unbounded = magnitude > ROW_HALF_INFINITY ? 0x7e00 : 0x7c00;
  const uint32_t finite = magnitude < ROW_HALF_LEAST_NORMAL ? subnormal : normal;
  return (uint16_t)(sign | (magnitude >= ROW_HALF_INFINITY ? unbounded : finite));
}

/* Converts exactly. */
CORE_DEVICE_FN float row_from_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fff, sign = (uint32_t)(half & 0x8000) << 16;
  const float scaled = fast_from_bits((int32_t)(magnitude << 13)) * 0x1p112f; /* subnormals become normal */
  const uint32_t finite = (uint32_t)fast_to_bits(scaled), unbounded = ROW_HALF_INFINITY | (magnitude & 0x3ff) << 13;
  return fast_from_bits((int32_t)(sign | (magnitude >= 0x7c00 ? unbounded : finite)));
}

#endif
