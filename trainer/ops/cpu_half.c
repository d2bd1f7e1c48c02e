/* Half precision (IEEE binary16: 11 bits of significand, 2^-24 to 65504) for what is stored, never for arithmetic. Loops of
 * integer operations that the compiler vectorises: the same bits on every processor, with or without conversion
 * instructions. */
#include "trainer/ops/cpu_internal.h"
#include "trainer/ops/fast_math_internal.h"

enum {
  FLOAT_INFINITY = 0x7f800000,
  LEAST_NORMAL = 113 << 23,       /* bits of 2^-14 */
  FIXED_POINT = 126 << 23,        /* bits of 1/2, whose last bit counts 2^-24 as a half's subnormals do */
  LARGEST = 0x477fe000,           /* bits of 65504 */
  REBIAS = (127 - 15) << 23,      /* a float's exponent to a half's */
};

/* The nearest half, ties to even. What is finite but too large becomes the largest; infinities and NaN stay. */
static inline uint16_t to_half(float x) {
  const uint32_t bits = (uint32_t)fast_to_bits(x), sign = bits >> 16 & 0x8000, all = bits & 0x7fffffff;
  const uint32_t magnitude = (all > LARGEST) & (all < FLOAT_INFINITY) ? LARGEST : all;
  const uint32_t normal = (magnitude - REBIAS + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const uint32_t subnormal = (uint32_t)fast_to_bits(fast_from_bits((int32_t)magnitude) + 0.5f) - FIXED_POINT;
  const uint32_t unbounded = magnitude > FLOAT_INFINITY ? 0x7e00 : 0x7c00;
  const uint32_t finite = magnitude < LEAST_NORMAL ? subnormal : normal;
  return (uint16_t)(sign | (magnitude >= FLOAT_INFINITY ? unbounded : finite));
}

/* Exact. */
static inline float from_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7fff, sign = (uint32_t)(half & 0x8000) << 16;
  const float scaled = fast_from_bits((int32_t)(magnitude << 13)) * 0x1p112f; /* subnormals come out normal */
  const uint32_t finite = (uint32_t)fast_to_bits(scaled), unbounded = FLOAT_INFINITY | (magnitude & 0x3ff) << 13;
  return fast_from_bits((int32_t)(sign | (magnitude >= 0x7c00 ? unbounded : finite)));
}

CPU_VECTOR void cpu_floats_to_halves(const float *x, size_t n, uint16_t *halves) {
  for (size_t i = 0; i < n; i++) halves[i] = to_half(x[i]);
}

CPU_VECTOR void cpu_halves_to_floats(const uint16_t *halves, size_t n, float *x) {
  for (size_t i = 0; i < n; i++) x[i] = from_half(halves[i]);
}

CPU_VECTOR static void round_some(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = from_half(to_half(x[i]));
}

void ops_round_to_halves(float *x, size_t n) {
  const size_t part = 1 << 16;
#pragma omp parallel for schedule(static) if (n > part)
  for (size_t first = 0; first < n; first += part) round_some(x + first, n - first < part ? n - first : part);
}

void cpu_store_halves(Ops *ops, const float *x, size_t n, uint16_t *halves) {
  const size_t part = 1 << 14;
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (n > part)
  for (size_t first = 0; first < n; first += part)
    cpu_floats_to_halves(x + first, n - first < part ? n - first : part, halves + first);
}

void cpu_gather_halves(Ops *ops, const uint16_t *source, const uint32_t *index, float *target, int rows, int columns) {
  const size_t n = (size_t)columns;
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < rows; row++) cpu_halves_to_floats(source + index[row] * n, n, target + (size_t)row * n);
}
