/* Products of narrow matrices with AVX-512, for small networks: C[m][n] of n <= 64 columns. A library's call packs both
 * matrices first, which takes a fifth of the time there; these rows of B are in the first cache as they stand.
 *
 * An element of C is one chain of fused multiply-adds in the order of k, from zero, and what it accumulates to is added
 * at the end. oneDNN's AVX-512 kernels compute the same up to k = 384, so results have the same bits either way
 * (tests/unit/test_small.c). */
#include "trainer/ops/cpu/cpu_internal.h"

enum { COLUMNS = 64, DEPTH = 384 };

/* The library computes a single row or column by another product, which sums in another order. */
bool cpu_small_takes(int m, int n, int k) { return m >= 2 && n >= 2 && n <= COLUMNS && k <= DEPTH; }

#if defined(__x86_64__) && CORE_HAS_DNNL
#include <immintrin.h>

enum { VECTOR = 16 };

/* A's rows are row_step floats apart, its columns column_step. last: mask of the columns in the last vector. */
typedef struct Steps {
  size_t row_step, column_step, ldb, ldc;
  int k, accumulate;
  __mmask16 last;
} Steps;
/* Computes a tile of the product, from the first elements of its rows of A, of B and of C. */
typedef void Multiply(const Steps *steps, const float *a, const float *b, float *c);

/* Unrolls tiles of as many rows and vectors of columns as the registers hold. */
#define UNROLL _Pragma("GCC unroll 24")
#define TILE(ROWS, VECTORS)                                                                                       \
  __attribute__((target("avx512f"))) static void multiply_##ROWS##_##VECTORS(const Steps *s, const float *a,      \
                                                                             const float *b, float *c) {          \
    const size_t row_step = s->row_step, column_step = s->column_step, ldb = s->ldb;                              \
    const __mmask16 last = s->last;                                                                               \
    __m512 sum[ROWS][VECTORS], row[VECTORS];                                                                      \
    UNROLL for (int r = 0; r < ROWS; r++)                                                                         \
      UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] = _mm512_setzero_ps();                                   \
    for (int l = 0; l < s->k; l++, a += column_step, b += ldb) {                                                  \
      UNROLL for (int v = 0; v < VECTORS - 1; v++) row[v] = _mm512_loadu_ps(b + v * VECTOR);                      \
      row[VECTORS - 1] = _mm512_maskz_loadu_ps(last, b + (VECTORS - 1) * VECTOR);                                 \
      UNROLL for (int r = 0; r < ROWS; r++) {                                                                     \
        const __m512 factor = _mm512_set1_ps(a[(size_t)r * row_step]);                                            \
        UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] = _mm512_fmadd_ps(factor, row[v], sum[r][v]);          \
      }                                                                                                           \
    }                                                                                                             \
    UNROLL for (int r = 0; r < ROWS; r++)                                                                         \
      UNROLL for (int v = 0; v < VECTORS; v++) {                                                                  \
        const __mmask16 there = v == VECTORS - 1 ? last : (__mmask16)0xffff;                                      \
        float *at = c + (size_t)r * s->ldc + v * VECTOR;                                                          \
        if (s->accumulate) sum[r][v] = _mm512_add_ps(_mm512_maskz_loadu_ps(there, at), sum[r][v]);                \
        _mm512_mask_storeu_ps(at, there, sum[r][v]);                                                              \
      }                                                                                                           \
  }
TILE(24, 1) TILE(8, 1) TILE(4, 1) TILE(2, 1) TILE(1, 1)
TILE(12, 2) TILE(4, 2) TILE(2, 2) TILE(1, 2)
TILE(8, 3) TILE(4, 3) TILE(2, 3) TILE(1, 3)
TILE(6, 4) TILE(4, 4) TILE(2, 4) TILE(1, 4)

/* Tiles by vectors of columns; the tallest first, down to one row. */
typedef struct Tall { int rows; Multiply *multiply; } Tall;
static const Tall tiles[][5] = {
  {{24, multiply_24_1}, {8, multiply_8_1}, {4, multiply_4_1}, {2, multiply_2_1}, {1, multiply_1_1}},
  {{12, multiply_12_2}, {4, multiply_4_2}, {2, multiply_2_2}, {1, multiply_1_2}},
  {{8, multiply_8_3}, {4, multiply_4_3}, {2, multiply_2_3}, {1, multiply_1_3}},
  {{6, multiply_6_4}, {4, multiply_4_4}, {2, multiply_2_4}, {1, multiply_1_4}}};

bool cpu_small_product(int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda, const float *b,
                       int ldb, int accumulate, float *c, int ldc) {
  if (transpose_b || !cpu_small_takes(m, n, k)) return false;
  const Steps steps = {.row_step = transpose_a ? 1 : (size_t)lda, .column_step = transpose_a ? (size_t)lda : 1,
                       .ldb = (size_t)ldb, .ldc = (size_t)ldc, .k = k, .accumulate = accumulate,
                       .last = (__mmask16)(n % VECTOR ? (1 << n % VECTOR) - 1 : 0xffff)};
  const Tall *tall = tiles[(n - 1) / VECTOR];
  for (int row = 0; row < m; row += tall->rows) {
    while (tall->rows > m - row) tall++;
    tall->multiply(&steps, a + (size_t)row * steps.row_step, b, c + (size_t)row * steps.ldc);
  }
  return true;
}
#else
bool cpu_small_product(int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda, const float *b,
                       int ldb, int accumulate, float *c, int ldc) {
  return false;
}
#endif
