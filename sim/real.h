/* The number type of the physics, and the mathematical functions whose bits differ between libraries.
 *
 * collide.h, contact.h, joint.h, actuate.h and step.h are written over `real`, `mask` and `integer`: a float, a truth
 * value and an int, or vectors of 8 or 16 of them in the SIMD kernels. So decisions are selects, and a branch may only
 * skip work that no lane needs (real_any). Only + - * / and square roots are used, which IEEE 754 rounds the same
 * everywhere. With contraction off the same source gives the same bits on every processor. No libm here.
 *
 * Polynomials: Cephes single precision (S. Moshier). Measured: at most 2.2 units in the last place for sine and cosine,
 * 1.3 for tanh, 2.5 for atan2 (tests/unit/test_physics.c). */
#ifndef SIM_REAL_H
#define SIM_REAL_H
#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#define SIM_FN static inline __host__ __device__
#define SIM_CALLED_FN static __host__ __device__ __noinline__
#else
#define SIM_FN static inline
#define SIM_CALLED_FN static inline
#endif
/* SIM_CALLED_FN: a large function called from several places; inlining it everywhere would take nvcc minutes. */

/* Returns the index of the lowest set bit of bits != 0. */
SIM_FN int real_lowest_bit(uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffsll((long long)bits) - 1;
#else
  return __builtin_ctzll(bits);
#endif
}

/* Definitions that differ between one world and several. A `mask` is the result of comparing two reals: combine masks
 * with & and |, negate with mask_not. An `integer` is a small index that may differ between lanes. A `real_word` holds
 * a real's bits. */
#if !defined(SIM_LANES)
typedef float real;
typedef int mask;
typedef int32_t integer;
typedef uint32_t real_word;

/* Aligns structs that the vector kernels read from memory, eight floats at a time (lanes.h); placed before the first
 * member. */
#if defined(__cplusplus)
#define SIM_ALIGN_RECORD alignas(32)
#else
#define SIM_ALIGN_RECORD _Alignas(32)
#endif

SIM_FN real real_of(float x) { return x; }
SIM_FN mask mask_of(int truth) { return truth; }
SIM_FN integer integer_of(int i) { return i; }
SIM_FN real real_sqrt(real x) { return __builtin_sqrtf(x); }
SIM_FN real real_select(mask m, real yes, real no) { return m ? yes : no; }
/* If an argument is NaN these return the second one, and of two zeros too. */
SIM_FN real real_min(real a, real b) { return a < b ? a : b; }
SIM_FN real real_max(real a, real b) { return a > b ? a : b; }
SIM_FN integer integer_select(mask m, integer yes, integer no) { return m ? yes : no; }
SIM_FN int real_any(mask m) { return m; }
SIM_FN mask mask_not(mask m) { return !m; }
#else
#include "sim/real_lanes.h"
#endif

#define REAL_PI 3.14159274f
#define REAL_HALF_PI 1.57079637f
#define REAL_HUGE 1e30f

/* Returns element `i` of four. */
SIM_FN real real_pick(const real *four, integer i) {
  return real_select(i < 2, real_select(i == 0, four[0], four[1]), real_select(i == 2, four[2], four[3]));
}

/* Propagates NaN, as the reference's clip does. With low > high the result is high. */
SIM_FN real real_clip(real x, real low, real high) { return real_min(high, real_max(low, x)); }

/* Returns 1 where x is exactly 0: the reference's guard of every division. */
SIM_FN real real_zero_to_one(real x) { return real_select(x == 0.0f, real_of(1.0f), x); }

/* Returns -1, 0 or 1. */
SIM_FN real real_sign(real x) {
  return real_select(x > 0.0f, real_of(1.0f), real_select(x < 0.0f, real_of(-1.0f), real_of(0.0f)));
}

SIM_FN real_word real_bits(real x) {
  real_word w;
  memcpy(&w, &x, sizeof w);
  return w;
}
SIM_FN real real_from_bits(real_word w) {
  real x;
  memcpy(&x, &w, sizeof x);
  return x;
}
SIM_FN real real_abs(real x) { return real_from_bits(real_bits(x) & 0x7fffffffu); }
/* Returns |magnitude| with the sign bit of `sign`. */
SIM_FN real real_copy_sign(real magnitude, real sign) {
  return real_from_bits((real_bits(magnitude) & 0x7fffffffu) | (real_bits(sign) & 0x80000000u));
}
SIM_FN mask real_is_nan(real x) { return x != x; }

/* Returns x / y for y != 0, where x is often 0 (resting bodies). A GPU divides 0 in a subroutine of 30 instructions,
 * which stalls the whole warp, so there another value is divided instead; the bits are those of x / y. */
#if !defined(SIM_LANES)
SIM_FN real real_quotient_guarded(real x, real y) {
  const mask zero = (x == 0.0f) & (y == y);
  const real quotient = real_select(zero, 1.0f, x) / y;
  return real_select(zero, real_from_bits((real_bits(x) ^ real_bits(y)) & 0x80000000u), quotient);
}
#endif
SIM_FN real real_quotient(real x, real y) {
#if defined(__CUDA_ARCH__)
  return real_quotient_guarded(x, y);
#else
  return x / y;
#endif
}

/* Adding this to |x| < 2^22 leaves the nearest integer in the low bits of the sum. */
#define REAL_ROUND 12582912.0f

typedef struct RealSinCos { real sine, cosine; } RealSinCos;

/* Computes sine and cosine together. The reduction subtracts n pi/2 in four parts; the products of the first three are
 * exact up to 12 000 radians, so that values next to a multiple of pi/2 keep their relative accuracy (the sign of
 * cos(pi/2 rounded to float) decides contact order on the floor). Beyond that an angle's own rounding is the larger
 * error; beyond 4e6 it is meaningless and counts as 0. */
SIM_FN RealSinCos real_sin_cos(real x) {
  x = real_select(real_abs(x) > 4e6f, real_of(0.0f), x);

  real shifted = x * 0.636619772f + REAL_ROUND;
  real_word quadrant = real_bits(shifted);
  real n = shifted - REAL_ROUND;
  real r = x - n * 1.5703125f;
  r = r - n * 4.83751296997070312e-4f;
  r = r - n * 7.54953362047672271e-8f;
  r = r - n * 2.56334415159451890e-12f;

  real z = r * r;
  real s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
  real c = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;

  mask swapped = (quadrant & 1u) != 0;
  RealSinCos out = {real_select(swapped, c, s), real_select(swapped, s, c)};
  out.sine = real_from_bits(real_bits(out.sine) ^ ((quadrant & 2u) << 30));
  out.cosine = real_from_bits(real_bits(out.cosine) ^ (((quadrant + 1u) & 2u) << 30));
  return out;
}

/* Returns the angle of (x, y), -pi..pi; 0 where both are 0. */
SIM_FN real real_atan2(real y, real x) {
  real ax = real_abs(x), ay = real_abs(y);
  mask steep = ay > ax;
  real low = real_select(steep, ax, ay), high = real_select(steep, ay, ax);
  mask outer = low > 0.414213562f * high; /* above tan(pi/8): measure from pi/4 */
  real q = real_select(outer, low - high, low) / real_zero_to_one(real_select(outer, low + high, high));
  real z = q * q;
  real a = (((8.05374449538e-2f * z - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f) * z * q + q;
  a = real_select(outer, 0.785398185f + a, a);
  a = real_select(steep, REAL_HALF_PI - a, a);
  a = real_select(x < 0.0f, REAL_PI - a, a);
  return real_copy_sign(a, y);
}

/* Hyperbolic tangent: a polynomial near 0, 1 - 2 / (e^2x + 1) elsewhere. */
SIM_FN real real_tanh(real x) {
  real z = x * x;
  real inner = ((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z -
                3.33332819422e-1f) * z * x + x;
  real twice = 2.0f * real_clip(real_abs(x), real_of(0.0f), real_of(9.1f)); /* tanh(9.1) rounds to 1 */
  real shifted = twice * 1.44269504f + REAL_ROUND;
  real n = shifted - REAL_ROUND;
  real r = (twice - n * 0.693359375f) - n * -2.12194440e-4f;
  real e = (((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r +
             1.6666665459e-1f) * r + 5.0000001201e-1f) * (r * r) + r + 1.0f;
  e = e * real_from_bits((real_bits(shifted) + 127u) << 23); /* times 2^n */
  real outer = real_copy_sign(1.0f - 2.0f / (e + 1.0f), x);
  return real_select(real_abs(x) < 0.625f, inner, outer);
}

#endif
