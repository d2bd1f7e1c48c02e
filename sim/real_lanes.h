/* The vector types of real.h: SIM_LANES worlds (or bodies, pairs, contacts), one per lane, in the compiler's vector
 * types, with intrinsics only for what those lack. Included by real.h where SIM_LANES is defined, never directly.
 *
 * Also moves between memory and lanes. Memory holds arrays of structs, as the scalar code has them: a struct of n reals
 * is n floats there and n vectors here. lanes_load transposes one way, lanes_to_rows and lanes_write_row the other. */
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
SIM_FN real real_min(real a, real b) { return _mm256_min_ps(a, b); }
SIM_FN real real_max(real a, real b) { return _mm256_max_ps(a, b); }
SIM_FN real real_sqrt(real x) { return _mm256_sqrt_ps(x); }
SIM_FN unsigned lanes_bits(mask m) { return (unsigned)_mm256_movemask_ps((__m256)m); }
#elif SIM_LANES == 16 && defined(__AVX512DQ__)
SIM_FN real real_select(mask m, real yes, real no) {
  return _mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)m), no, yes);
}
SIM_FN int real_any(mask m) { return _mm512_movepi32_mask((__m512i)m) != 0; }
SIM_FN real real_min(real a, real b) { return _mm512_min_ps(a, b); }
SIM_FN real real_max(real a, real b) { return _mm512_max_ps(a, b); }
SIM_FN real real_sqrt(real x) { return _mm512_sqrt_ps(x); }
SIM_FN unsigned lanes_bits(mask m) { return _mm512_movepi32_mask((__m512i)m); }
#else
SIM_FN real real_select(mask m, real yes, real no) { return (real)(((mask)yes & m) | ((mask)no & ~m)); }
SIM_FN real real_min(real a, real b) { return real_select(a < b, a, b); }
SIM_FN real real_max(real a, real b) { return real_select(a > b, a, b); }
SIM_FN int real_any(mask m) {
  int any = 0;
  for (int i = 0; i < SIM_LANES; i++) any |= m[i];
  return any;
}
SIM_FN real real_sqrt(real x) {
  for (int i = 0; i < SIM_LANES; i++) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
SIM_FN unsigned lanes_bits(mask m) {
  unsigned bits = 0;
  for (int i = 0; i < SIM_LANES; i++) bits |= (unsigned)(m[i] & 1) << i;
  return bits;
}
#endif
SIM_FN integer integer_select(mask m, integer yes, integer no) { return (integer)real_select(m, (real)yes, (real)no); }

/* Lane masks in memory; lanes_bits has a bit for each lane of a mask. */
#if SIM_LANES == 16 && defined(__AVX512DQ__)
typedef uint16_t lanes_set;
SIM_FN lanes_set lanes_set_of(unsigned bits) { return (lanes_set)bits; }
SIM_FN real lanes_choose(lanes_set set, real yes, real no) { return _mm512_mask_blend_ps(set, no, yes); }
#else
typedef mask lanes_set;
SIM_FN lanes_set lanes_set_of(unsigned bits) {
  mask m;
  for (int i = 0; i < SIM_LANES; i++) m[i] = 1 << i;
  return (m & integer_of((int)bits)) != 0;
}
SIM_FN real lanes_choose(lanes_set set, real yes, real no) { return real_select(set, yes, no); }
#endif

/* ---- loads and stores of eight floats per lane ------------------------------------------------------------------- */

typedef float lanes_row __attribute__((vector_size(32))); /* eight floats of one lane */
typedef float lanes_row_anywhere __attribute__((vector_size(32), aligned(4), may_alias));

SIM_FN lanes_row lanes_read_row(const float *from) { return *(const lanes_row_anywhere *)from; }
SIM_FN void lanes_write_row(float *to, lanes_row row) { *(lanes_row_anywhere *)to = row; }

/* Transposes eight rows of eight; its own inverse. Written out, so that all of it stays in registers. */
SIM_FN void lanes_transpose(lanes_row r[8]) {
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW_HALF(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_HALF(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

  lanes_row a0 = LOW_HALF(r[0], r[4]), a1 = LOW_HALF(r[1], r[5]), a2 = LOW_HALF(r[2], r[6]), a3 = LOW_HALF(r[3], r[7]);
  lanes_row a4 = HIGH_HALF(r[0], r[4]), a5 = HIGH_HALF(r[1], r[5]), a6 = HIGH_HALF(r[2], r[6]),
            a7 = HIGH_HALF(r[3], r[7]);
  lanes_row b0 = LOW(a0, a1), b1 = HIGH(a0, a1), b2 = LOW(a2, a3), b3 = HIGH(a2, a3);
  lanes_row b4 = LOW(a4, a5), b5 = HIGH(a4, a5), b6 = LOW(a6, a7), b7 = HIGH(a6, a7);

  r[0] = LOW_PAIRS(b0, b2);
  r[1] = HIGH_PAIRS(b0, b2);
  r[2] = LOW_PAIRS(b1, b3);
  r[3] = HIGH_PAIRS(b1, b3);
  r[4] = LOW_PAIRS(b4, b6);
  r[5] = HIGH_PAIRS(b4, b6);
  r[6] = LOW_PAIRS(b5, b7);
  r[7] = HIGH_PAIRS(b5, b7);
#undef LOW
#undef HIGH
#undef LOW_PAIRS
#undef HIGH_PAIRS
#undef LOW_HALF
#undef HIGH_HALF
}

SIM_FN void lanes_read_columns(const float *const from[8], lanes_row column[8]) {
  column[0] = lanes_read_row(from[0]);
  column[1] = lanes_read_row(from[1]);
  column[2] = lanes_read_row(from[2]);
  column[3] = lanes_read_row(from[3]);
  column[4] = lanes_read_row(from[4]);
  column[5] = lanes_read_row(from[5]);
  column[6] = lanes_read_row(from[6]);
  column[7] = lanes_read_row(from[7]);
  lanes_transpose(column);
}

/* Loads four floats of each of eight lanes: lanes i and i + 4 share row i. */
typedef float lanes_quad __attribute__((vector_size(16)));
typedef float lanes_quad_anywhere __attribute__((vector_size(16), aligned(4), may_alias));

SIM_FN lanes_quad lanes_read_quad(const float *from) { return *(const lanes_quad_anywhere *)from; }
SIM_FN void lanes_write_quad(float *to, lanes_quad quad) { *(lanes_quad_anywhere *)to = quad; }

/* Returns which quads contain -1 only, as bits 0 to 3: a's first, b's first, a's second, b's second. */
typedef int32_t lanes_row_mask __attribute__((vector_size(32)));
#if defined(__AVX2__)
SIM_FN unsigned lanes_full_quads(lanes_row_mask a, lanes_row_mask b) {
  const __m256i halves = _mm256_packs_epi32((__m256i)a, (__m256i)b); /* each quad is now one of four 64-bit parts */
  return (unsigned)_mm256_movemask_pd((__m256d)_mm256_cmpeq_epi64(halves, _mm256_set1_epi64x(-1)));
}
#else
SIM_FN unsigned lanes_full_quads(lanes_row_mask a, lanes_row_mask b) {
  return (unsigned)((a[0] & a[1] & a[2] & a[3] & 1) | (b[0] & b[1] & b[2] & b[3] & 2) |
                    (a[4] & a[5] & a[6] & a[7] & 4) | (b[4] & b[5] & b[6] & b[7] & 8));
}
#endif

/* Transposes rows of quads to columns; its own inverse. */
SIM_FN void lanes_transpose_quads(lanes_row r[4]) {
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
  lanes_row a0 = LOW(r[0], r[1]), a1 = HIGH(r[0], r[1]), a2 = LOW(r[2], r[3]), a3 = HIGH(r[2], r[3]);
  r[0] = LOW_PAIRS(a0, a2);
  r[1] = HIGH_PAIRS(a0, a2);
  r[2] = LOW_PAIRS(a1, a3);
  r[3] = HIGH_PAIRS(a1, a3);
#undef LOW
#undef HIGH
#undef LOW_PAIRS
#undef HIGH_PAIRS
}

SIM_FN void lanes_read_quads(const float *const from[8], int offset, lanes_row row[4]) {
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    lanes_quad low = lanes_read_quad(from[i] + offset), high = lanes_read_quad(from[i + 4] + offset);
    row[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
}
SIM_FN lanes_quad lanes_low_quad(lanes_row row) { return __builtin_shufflevector(row, row, 0, 1, 2, 3); }
SIM_FN lanes_quad lanes_high_quad(lanes_row row) { return __builtin_shufflevector(row, row, 4, 5, 6, 7); }

SIM_FN void lanes_write_quads(float *const to[8], int offset, const lanes_row row[4]) {
  _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
    lanes_write_quad(to[i] + offset, lanes_low_quad(row[i]));
    lanes_write_quad(to[i + 4] + offset, lanes_high_quad(row[i]));
  }
}

#if SIM_LANES == 8
#define LANES_UNROLL _Pragma("GCC unroll 8")
/* Loads to[k] = float k of every lane's eight at from[lane]. */
SIM_FN void lanes_load(const float *const from[SIM_LANES], real to[8]) { lanes_read_columns(from, to); }

/* Converts back: row[lane] gets lane's eight floats. */
SIM_FN void lanes_to_rows(const real from[8], lanes_row row[SIM_LANES]) {
  LANES_UNROLL for (int i = 0; i < 8; i++) row[i] = from[i];
  lanes_transpose(row);
}

enum { LANES_QUAD_ROWS = 4 };
/* Loads to[k] = float offset + k of every lane's record. */
SIM_FN void lanes_load_four(const float *const record[SIM_LANES], int offset, real to[4]) {
  lanes_read_quads(record, offset, to);
  lanes_transpose_quads(to);
}
SIM_FN void lanes_four_to_rows(const real from[4], lanes_row row[LANES_QUAD_ROWS]) {
  for (int i = 0; i < 4; i++) row[i] = from[i];
  lanes_transpose_quads(row);
}
SIM_FN void lanes_write_rows(float *const record[SIM_LANES], int offset, const lanes_row row[LANES_QUAD_ROWS]) {
  lanes_write_quads(record, offset, row);
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

enum { LANES_QUAD_ROWS = 8 };
SIM_FN void lanes_load_four(const float *const record[SIM_LANES], int offset, real to[4]) {
  lanes_row low[4], high[4];
  lanes_read_quads(record, offset, low);
  lanes_read_quads(record + 8, offset, high);
  lanes_transpose_quads(low);
  lanes_transpose_quads(high);
  LANES_UNROLL for (int i = 0; i < 4; i++)
    to[i] = __builtin_shufflevector(low[i], high[i], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
SIM_FN void lanes_four_to_rows(const real from[4], lanes_row row[LANES_QUAD_ROWS]) {
  LANES_UNROLL for (int i = 0; i < 4; i++) {
    row[i] = __builtin_shufflevector(from[i], from[i], 0, 1, 2, 3, 4, 5, 6, 7);
    row[i + 4] = __builtin_shufflevector(from[i], from[i], 8, 9, 10, 11, 12, 13, 14, 15);
  }
  lanes_transpose_quads(row);
  lanes_transpose_quads(row + 4);
}
SIM_FN void lanes_write_rows(float *const record[SIM_LANES], int offset, const lanes_row row[LANES_QUAD_ROWS]) {
  lanes_write_quads(record, offset, row);
  lanes_write_quads(record + 8, offset, row + 4);
}
#endif

#endif
#endif
