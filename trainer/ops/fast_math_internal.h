/* Elementary functions in float32 that the compiler can vectorize: straight-line, no tables, no library calls. Built
 * from additions, multiplications, divisions and selects that are each rounded once (contraction is off), so a result
 * has the same bits on every processor and vector width. Errors are a few ulp; tests/unit/test_ops.c verifies that. The
 * GPU's kernels compile them too. Used inside loops marked CPU_VECTOR, which the compiler builds once for each
 * instruction set. */
#ifndef TRAINER_OPS_FAST_MATH_INTERNAL_H
#define TRAINER_OPS_FAST_MATH_INTERNAL_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/device/device_kernel.h"

/* Lets the compiler vectorize a select between two computed values. It must be allowed to compute both, which gcc
 * refuses while it has to keep exception flags as the scalar code would set them. Values are the same either way; clang
 * assumes it. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC optimize("no-trapping-math")
#endif

#if defined(__x86_64__)
#define CPU_VECTOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CPU_VECTOR
#endif

CORE_DEVICE_FN float fast_from_bits(int32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

CORE_DEVICE_FN int32_t fast_to_bits(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Clamps; NaN stays NaN. */
CORE_DEVICE_FN float fast_clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/* 2^exponent for -126..127; unspecified for the exponents that result from a NaN. */
CORE_DEVICE_FN float fast_power_of_two(int32_t exponent) {
  return fast_from_bits((int32_t)((uint32_t)(exponent + 127) << 23));
}

/* e^r - 1 - r for |r| < 0.35: the Taylor polynomial, whose next term is below 2^-24 of the result there. */
CORE_DEVICE_FN float fast_exp_tail(float r) {
  float p = 1.0f / 362880;
  p = p * r + 1.0f / 40320;
  p = p * r + 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  return r * r * p;
}

/* e^x: 0 below -104, inf above 89, denormals kept; NaN stays NaN. */
CORE_DEVICE_FN float fast_exp(float x) {
  const float round_to_integer = 12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
  float bounded = fast_clamp(x, -104.0f, 89.0f);
  float shifted = bounded * 1.44269504f + round_to_integer;
  float n = shifted - round_to_integer;
  float r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f; /* ln 2 in two parts: the first product is exact */
  int32_t exponent = fast_to_bits(shifted) - fast_to_bits(round_to_integer);
  int32_t half = exponent >> 1; /* 2^exponent as two factors, since it may be denormal or 2^128 */
  float low = fast_power_of_two(half), high = fast_power_of_two(exponent - half);
  return (1.0f + (r + fast_exp_tail(r))) * low * high;
}

/* e^x - 1 and e^x - 1 - x, without cancellation near 0. */
CORE_DEVICE_FN float fast_expm1(float x) {
  float small = x + fast_exp_tail(x), large = fast_exp(x) - 1.0f;
  return fabsf(x) < 0.34f ? small : large;
}
CORE_DEVICE_FN float fast_expm1_minus(float x) {
  float small = fast_exp_tail(x), large = fast_exp(x) - 1.0f - x;
  return fabsf(x) < 0.34f ? small : large;
}

/* log x for normal x > 0 (Cephes logf). */
CORE_DEVICE_FN float fast_log(float x) {
  int32_t bits = fast_to_bits(x), exponent = (bits >> 23) - 126;
  float m = fast_from_bits((bits & 0x007fffff) | 0x3f000000); /* [0.5, 1) */
  int below = m < 0.707106781f;
  float n = (float)(exponent - below);
  float r = (below ? m + m : m) - 1.0f, z = r * r;

  float p = 7.0376836292e-2f;
  p = p * r - 1.1514610310e-1f;
  p = p * r + 1.1676998740e-1f;
  p = p * r - 1.2420140846e-1f;
  p = p * r + 1.4249322787e-1f;
  p = p * r - 1.6668057665e-1f;
  p = p * r + 2.0000714765e-1f;
  p = p * r - 2.4999993993e-1f;
  p = p * r + 3.3333331174e-1f;

  float y = p * r * z + n * -2.12194440e-4f - 0.5f * z;
  float result = r + y + n * 0.693359375f;
  return x == x ? result : x;
}

/* tanh x: x P(x^2)/Q(x^2), the rational minimax approximation on |x| <= 7.9 of Eigen (generic_fast_tanh_float), beyond
 * which tanh rounds to 1. */
CORE_DEVICE_FN float fast_tanh(float x) {
  float bounded = fast_clamp(x, -7.90531110763549805f, 7.90531110763549805f);
  float z = bounded * bounded;
  float p = -2.76076847742355e-16f;
  p = p * z + 2.00018790482477e-13f;
  p = p * z - 8.60467152213735e-11f;
  p = p * z + 5.12229709037114e-08f;
  p = p * z + 1.48572235717979e-05f;
  p = p * z + 6.37261928875436e-04f;
  p = p * z + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * z + 1.18534705686654e-04f;
  q = q * z + 2.26843463243900e-03f;
  q = q * z + 4.89352518554385e-03f;
  return bounded * p / q;
}

CORE_DEVICE_FN float fast_sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }

#endif
