/* The vector side of real.h: SIM_LANES worlds (or bodies, pairs, contacts) side by side, in the compiler's own vector
 * types; intrinsics only for what those lack. Included by real.h where SIM_LANES is defined, never directly.
 *
 * And the way between memory and lanes. In memory things lie one after the other, as the scalar code has them; a struct
 * of n reals there is n floats, here n vectors. lanes_load turns the one into the other, lanes_store back. */
#ifndef SIM_REAL_LANES_H
#define SIM_REAL_LANES_H
#if defined(SIM_LANES)
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define SIM_ALIGN_RECORD
typedef float real __attribute__((vector_size(4 * SIM_LANES)));
typedef int32_t mask __attribute__((vector_size(4 * SIM_LANES)));
typedef mask integer;
typedef uint32_t real_word __attribute__((vector_size(4 * SIM_LANES)));

SIM_FN real real_of(float x) { return x - (real){0}; } /* not +: -0 stays */
SIM_FN mask mask_of(int truth) { return -(truth != 0) - (mask){0}; }
SIM_FN integer integer_of(int i) { return i - (integer){0}; }
SIM_FN mask mask_not(mask m) { return ~m; }

#if SIM_LANES == 8 && defined(__AVX2__)
SIM_FN real real_select(mask m, real yes, real no) { return _mm256_blendv_ps(no, yes, (__m256)m); }
SIM_FN int real_any(mask m) { return !_mm256_testz_si256((__m256i)m, (__m256i)m); }
SIM_FN real real_sqrt(real x) { return _mm256_sqrt_ps(x); }
#elif SIM_LANES == 16 && defined(__AVX512DQ__)
SIM_FN real real_select(mask m, real yes, real no) {
  return _mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)m), no, yes);
}
SIM_FN int real_any(mask m) { return _mm512_movepi32_mask((__m512i)m) != 0; }
SIM_FN real real_sqrt(real x) { return _mm512_sqrt_ps(x); }
#else
SIM_FN real real_select(mask m, real yes, real no) { return (real)(((mask)yes & m) | ((mask)no & ~m)); }
SIM_FN int real_any(mask m) {
  int any = 0;
  for (int i = 0; i < SIM_LANES; i++) any |= m[i];
  return any;
}
SIM_FN real real_sqrt(real x) {
  for (int i = 0; i < SIM_LANES; i++) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
#endif
SIM_FN integer integer_select(mask m, integer yes, integer no) { return (integer)real_select(m, (real)yes, (real)no); }

/* ---- between memory and lanes: eight floats of every lane at once ------------------------------------------------ */

typedef float lanes_row __attribute__((vector_size(32))); /* eight floats of one lane */
typedef float lanes_row_anywhere __attribute__((vector_size(32), aligned(4), may_alias));

SIM_FN lanes_row lanes_read_row(const float *from) { return *(const lanes_row_anywhere *)from; }
SIM_FN void lanes_write_row(float *to, lanes_row row) { *(lanes_row_anywhere *)to = row; }

/* Rows to columns, eight by eight; its own inverse. Written out, so that all of it stays in registers. */
SIM_FN void lanes_transpose(lanes_row r[8]) {
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW_HALF(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_HALF(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
  lanes_row a0 = LOW_HALF(r[0], r[4]), a1 = LOW_HALF(r[1], r[5]), a2 = LOW_HALF(r[2], r[6]), a3 = LOW_HALF(r[3], r[7]);
  lanes_row a4 = HIGH_HALF(r[0], r[4]), a5 = HIGH_HALF(r[1], r[5]), a6 = HIGH_HALF(r[2], r[6]), a7 = HIGH_HALF(r[3], r[7]);
  lanes_row b0 = LOW(a0, a1), b1 = HIGH(a0, a1), b2 = LOW(a2, a3), b3 = HIGH(a2, a3);
  lanes_row b4 = LOW(a4, a5), b5 = HIGH(a4, a5), b6 = LOW(a6, a7), b7 = HIGH(a6, a7);
  r[0] = LOW_PAIRS(b0, b2), r[1] = HIGH_PAIRS(b0, b2), r[2] = LOW_PAIRS(b1, b3), r[3] = HIGH_PAIRS(b1, b3);
  r[4] = LOW_PAIRS(b4, b6), r[5] = HIGH_PAIRS(b4, b6), r[6] = LOW_PAIRS(b5, b7), r[7] = HIGH_PAIRS(b5, b7);
#undef LOW
#undef HIGH
#undef LOW_PAIRS
#undef HIGH_PAIRS
#undef LOW_HALF
#undef HIGH_HALF
}

SIM_FN void lanes_read_columns(const float *const from[8], lanes_row column[8]) {
  column[0] = lanes_read_row(from[0]), column[1] = lanes_read_row(from[1]);
  column[2] = lanes_read_row(from[2]), column[3] = lanes_read_row(from[3]);
  column[4] = lanes_read_row(from[4]), column[5] = lanes_read_row(from[5]);
  column[6] = lanes_read_row(from[6]), column[7] = lanes_read_row(from[7]);
  lanes_transpose(column);
}

#if SIM_LANES == 8
#define LANES_UNROLL _Pragma("GCC unroll 8")
/* to[k] gets float k of every lane's eight at from[lane]. */
SIM_FN void lanes_load(const float *const from[SIM_LANES], real to[8]) { lanes_read_columns(from, to); }

/* The way back: row[lane] gets lane's eight floats. */
SIM_FN void lanes_to_rows(const real from[8], lanes_row row[SIM_LANES]) {
  LANES_UNROLL for (int i = 0; i < 8; i++) row[i] = from[i];
  lanes_transpose(row);
}
#else
#define LANES_UNROLL _Pragma("GCC unroll 16")
SIM_FN void lanes_load(const float *const from[SIM_LANES], real to[8]) {
  lanes_row low[8], high[8];
  lanes_read_columns(from, low);
  lanes_read_columns(from + 8, high);
  LANES_UNROLL for (int i = 0; i < 8; i++)
    to[i] = __builtin_shufflevector(low[i], high[i], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
SIM_FN void lanes_to_rows(const real from[8], lanes_row row[SIM_LANES]) {
  LANES_UNROLL for (int i = 0; i < 8; i++) {
    row[i] = __builtin_shufflevector(from[i], from[i], 0, 1, 2, 3, 4, 5, 6, 7);
    row[i + 8] = __builtin_shufflevector(from[i], from[i], 8, 9, 10, 11, 12, 13, 14, 15);
  }
  lanes_transpose(row);
  lanes_transpose(row + 8);
}
#endif

#endif
#endif
