/* Products of rows with many zeros, in few patterns, with AVX-512: observations, where features that a level lacks are
 * zero in all rows of its worlds. Rows of a block with the same zeros go through a product together, which skips those
 * terms of k; for the gradient of a kernel columns are grouped, and rows are skipped.
 *
 * The elements are those of cpu_small.c, bit by bit: a fused multiply-add of a zero factor leaves a sum unchanged. So
 * it does not matter which rows are grouped, nor whether a product is computed here at all. The only difference: a
 * weight that is not finite no longer shows through a zero factor. */
#include <string.h>

#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/fast_math_internal.h"

/* Skipping zeros pays if at least this share of the factors is zero, and if lines share their pattern: tiles of one
 * line are no faster than the library's product. */
static const double ZEROS_SHARE_MIN = 0.2;
enum { LINES_PER_KIND_MIN = 3, SAMPLED_ROWS = 32 };

CPU_VECTOR static int zeros_in(const float *x, int n) {
  int zeros = 0;
  for (int i = 0; i < n; i++) zeros += x[i] == 0;
  return zeros;
}

bool cpu_zeros_are_many(const CpuState *state, const float *x, const uint32_t *index, int rows, int columns) {
  const int step = rows > SAMPLED_ROWS ? rows / SAMPLED_ROWS : 1;
  int64_t zeros = 0, seen = 0;
  if (!state->library->has_small || columns > CPU_ZEROS_COLUMNS) return false;
  for (int r = 0; r < rows; r += step, seen += columns)
    zeros += zeros_in(x + (index ? index[r] : (size_t)r) * (size_t)columns, columns);
  return (double)zeros >= ZEROS_SHARE_MIN * (double)seen;
}

bool cpu_zeros_are_shared(const CpuPatterns *patterns, int lines) {
  return patterns->kinds * LINES_PER_KIND_MIN <= lines;
}

#if defined(__x86_64__) && CORE_HAS_DNNL
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f")))
#define UNROLL _Pragma("GCC unroll 16")
enum {
  VECTOR = 16, VECTORS = 4, PANEL = VECTOR * VECTORS, /* columns of the product computed at once */
  TALLEST = 6,            /* maximum rows of the product at once, as many as the registers hold */
  WORDS_ALONG = CPU_ZEROS_COLUMNS / VECTOR, WORDS_ACROSS = CPU_ROWS / VECTOR, /* words of a line */
  KINDS = 1024,           /* hash values of kind_of */
  NONE = 0xffff,
};
_Static_assert(WORDS_ALONG % 4 == 0 && WORDS_ACROSS % 4 == 0 && WORDS_ALONG >= WORDS_ACROSS,
               "words of bits fill those of 64 bits, and those of rows are more");

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

AVX512 static inline __mmask16 nonzero(__m512 x) { return _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_UQ); }
static inline __mmask16 first_of(int n) { return (__mmask16)(n < VECTOR ? (1u << n) - 1 : 0xffff); }

/* Collects the patterns of rows. */
AVX512 static void look_along(const float *x, int rows, int columns, uint16_t *bits) {
  const int whole = columns / VECTOR;
  const __mmask16 last = first_of(columns % VECTOR);
  for (int r = 0; r < rows; r++, x += columns, bits += WORDS_ALONG) {
    for (int w = 0; w < whole; w++) bits[w] = nonzero(_mm512_loadu_ps(x + w * VECTOR));
    if (last) bits[whole] = nonzero(_mm512_maskz_loadu_ps(last, x + whole * VECTOR));
  }
}

/* Collects the patterns of columns: 16 of them at a time, whose bits are transposed. */
AVX512 static void look_across(const float *x, int rows, int columns, uint16_t *bits) {
  uint32_t seen[CPU_ROWS] = {0};
  for (int first = 0; first < columns; first += VECTOR, bits += VECTOR * WORDS_ACROSS) {
    const __mmask16 there = first_of(columns - first);
    for (int r = 0; r < rows; r++)
      seen[r] = nonzero(_mm512_maskz_loadu_ps(there, x + (size_t)r * (size_t)columns + first));
    for (int w = 0; w * VECTOR < rows; w++) {
      const __m512i words = _mm512_loadu_si512(seen + w * VECTOR);
      UNROLL for (int i = 0; i < VECTOR; i++)
        bits[i * WORDS_ACROSS + w] = _mm512_test_epi32_mask(words, _mm512_set1_epi32(1 << i));
    }
  }
}

static uint64_t four_words(const uint16_t *bits) {
  uint64_t words;
  memcpy(&words, bits, sizeof words);
  return words;
}

static unsigned kind_of(const uint16_t *bits, int words) {
  static const uint64_t odd[WORDS_ALONG / 4] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                               0x85ebca77c2b2ae63, 0x27d4eb2f165667c5, 0xff51afd7ed558ccd};
  uint64_t sum = 0;
  for (int w = 0; w < words; w += 4) sum += four_words(bits + w) * odd[w / 4];
  return (unsigned)((sum ^ sum >> 29) * odd[0] >> 54);
}

/* Chains lines of the same kind from first[kind] on; returns the number of kinds. */
static int chain_kinds(const uint16_t *bits, int words, int lines, uint16_t *first, uint16_t *next) {
  uint16_t last[KINDS];
  int kinds = 0;
  memset(last, NONE & 0xff, sizeof last);
  for (int i = 0; i < lines; i++) {
    const unsigned kind = kind_of(bits + i * words, words);
    if (last[kind] == NONE) first[kinds++] = (uint16_t)i;
    else next[last[kind]] = (uint16_t)i;
    next[i] = NONE;
    last[kind] = (uint16_t)i;
  }
  return kinds;
}

/* Collects the kinds. Lines with different bits may share a kind; its bits are then the union. */
static void collect_kinds(const uint16_t *bits, int lines, CpuPatterns *patterns) {
  uint16_t first[CPU_ZEROS_LINES], next[CPU_ZEROS_LINES], count = 0;
  const int words = patterns->words;
  patterns->kinds = chain_kinds(bits, words, lines, first, next);
  for (int kind = 0; kind < patterns->kinds; kind++) {
    uint64_t any[WORDS_ALONG / 4] = {0};
    for (uint16_t i = first[kind]; i != NONE; i = next[i]) {
      for (int w = 0; w < words; w += 4) any[w / 4] |= four_words(bits + i * words + w);
      patterns->line[count++] = i;
    }
    memcpy(patterns->bits + kind * words, any, (size_t)words * sizeof *bits);
    patterns->end[kind] = count;
  }
}

void cpu_zeros_find(const float *x, int rows, int columns, int transposed, CpuPatterns *patterns) {
  uint16_t bits[CPU_ZEROS_WORDS] = {0};
  patterns->words = transposed ? WORDS_ACROSS : WORDS_ALONG;
  if (transposed) look_across(x, rows, columns, bits);
  else look_along(x, rows, columns, bits);
  collect_kinds(bits, transposed ? columns : rows, patterns);
}

/* Lists the positions of set bits, ascending; returns their number. */
AVX512 static int list_places(const uint16_t *bits, int k, uint32_t *list) {
  __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  int count = 0;
  for (int w = 0; w * VECTOR < k; w++, places = _mm512_add_epi32(places, _mm512_set1_epi32(VECTOR))) {
    _mm512_storeu_si512(list + count, _mm512_maskz_compress_epi32(bits[w], places));
    count += __builtin_popcount(bits[w]);
  }
  return count;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Element (i, l) of the left factor is a[i * line_step + l * step]. */
typedef struct Factors {
  const float *a, *b;
  float *c;
  size_t line_step, step, ldb, ldc;
  int accumulate;
} Factors;
typedef void Multiply(const Factors *factors, const uint16_t *line, const uint32_t *list, int count);

#define TILE(LINES)                                                                                              \
  AVX512 static void multiply_##LINES(const Factors *f, const uint16_t *line, const uint32_t *list, int count) { \
    const size_t ldb = f->ldb, step = f->step;                                                                   \
    const float *const b = f->b, *a[LINES];                                                                      \
    __m512 sum[LINES][VECTORS], row[VECTORS];                                                                    \
    UNROLL for (int i = 0; i < LINES; i++) {                                                                     \
      a[i] = f->a + line[i] * f->line_step;                                                                      \
      UNROLL for (int v = 0; v < VECTORS; v++) sum[i][v] = _mm512_setzero_ps();                                  \
    }                                                                                                            \
    for (const uint32_t *l = list, *end = list + count; l < end; l++) {                                          \
      const float *const of_b = b + *l * ldb;                                                                    \
      UNROLL for (int v = 0; v < VECTORS; v++) row[v] = _mm512_loadu_ps(of_b + v * VECTOR);                      \
      UNROLL for (int i = 0; i < LINES; i++) {                                                                   \
        const __m512 value = _mm512_set1_ps(a[i][*l * step]);                                                    \
        UNROLL for (int v = 0; v < VECTORS; v++) sum[i][v] = _mm512_fmadd_ps(value, row[v], sum[i][v]);          \
      }                                                                                                          \
    }                                                                                                            \
    UNROLL for (int i = 0; i < LINES; i++)                                                                       \
      UNROLL for (int v = 0; v < VECTORS; v++) {                                                                 \
        float *at = f->c + line[i] * f->ldc + v * VECTOR;                                                        \
        if (f->accumulate) sum[i][v] = _mm512_add_ps(_mm512_loadu_ps(at), sum[i][v]);                            \
        _mm512_storeu_ps(at, sum[i][v]);                                                                         \
      }                                                                                                          \
  }
TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)
static Multiply *const multiply[TALLEST + 1] = {NULL,       multiply_1, multiply_2, multiply_3,
                                                multiply_4, multiply_5, multiply_6};

static void multiply_kind(Factors factors, const uint16_t *line, int lines, const uint16_t *bits, int n, int k) {
  uint32_t list[CPU_ZEROS_COLUMNS + VECTOR];
  const int count = list_places(bits, k, list);
  for (; n > 0; n -= PANEL, factors.b += PANEL, factors.c += PANEL)
    for (int first = 0, tiles = (lines + TALLEST - 1) / TALLEST, tall; first < lines; first += tall, tiles--) {
      tall = (lines - first + tiles - 1) / tiles; /* about equal for all tiles */
      multiply[tall](&factors, line + first, list, count);
    }
}

bool cpu_zeros_product(const CpuPatterns *patterns, int transposed, int m, int n, int k, const float *a, int lda,
                       const float *b, int ldb, int accumulate, float *c, int ldc) {
  if (m < 2 || n % PANEL != 0) return false; /* as cpu_small_product */
  const Factors factors = {.a = a, .b = b, .c = c, .line_step = transposed ? 1 : (size_t)lda,
                           .step = transposed ? (size_t)lda : 1, .ldb = (size_t)ldb, .ldc = (size_t)ldc,
                           .accumulate = accumulate};
  for (int kind = 0, first = 0; kind < patterns->kinds; kind++) {
    multiply_kind(factors, patterns->line + first, patterns->end[kind] - first, patterns->bits + kind * patterns->words,
                  n, k);
    first = patterns->end[kind];
  }
  return true;
}
#else
void cpu_zeros_find(const float *x, int rows, int columns, int transposed, CpuPatterns *patterns) {}

bool cpu_zeros_product(const CpuPatterns *patterns, int transposed, int m, int n, int k, const float *a, int lda,
                       const float *b, int ldb, int accumulate, float *c, int ldc) {
  return false;
}
#endif
