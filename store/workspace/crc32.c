/* CRC-32 with tables, sixteen bytes per step ("slicing", Kounavis and Berry 2008), or, if the processor has carry-less
 * multiplication, by folding 64 bytes per step (Gopal et al., "Fast CRC Computation for Generic Polynomials
 * Using PCLMULQDQ Instruction", Intel 2009; constants as there for the bit-reversed polynomial). An import checks
 * about 300 bytes per row, so a bytewise loop would double its cost. */
#include "store/workspace/crc32_internal.h"

#include <pthread.h>

enum { SLICES = 16 };
static const uint32_t polynomial = 0xedb88320u; /* bit-reversed */
static uint32_t tables[SLICES][256];
static int can_fold;

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static uint32_t update_by_tables(uint32_t crc, const unsigned char *b, size_t count) {
  for (; count >= SLICES; b += SLICES, count -= SLICES) {
    unsigned char first[4] = {(unsigned char)(b[0] ^ crc), (unsigned char)(b[1] ^ crc >> 8),
                              (unsigned char)(b[2] ^ crc >> 16), (unsigned char)(b[3] ^ crc >> 24)};
    crc = tables[15][first[0]] ^ tables[14][first[1]] ^ tables[13][first[2]] ^ tables[12][first[3]] ^
          tables[11][b[4]] ^ tables[10][b[5]] ^ tables[9][b[6]] ^ tables[8][b[7]] ^
          tables[7][b[8]] ^ tables[6][b[9]] ^ tables[5][b[10]] ^ tables[4][b[11]] ^
          tables[3][b[12]] ^ tables[2][b[13]] ^ tables[1][b[14]] ^ tables[0][b[15]];
  }
  for (; count; count--) crc = crc >> 8 ^ tables[0][(crc ^ *b++) & 0xff];
  return crc;
}

/* ---- folding ---------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>

#define FOLDING __attribute__((target("pclmul,sse4.1")))

static inline FOLDING __m128i load(const unsigned char *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }

/* Folds by the distance whose powers of x are in `powers`, and adds the bytes there. */
static inline FOLDING __m128i fold(__m128i folded, __m128i powers, __m128i bytes) {
  __m128i low = _mm_clmulepi64_si128(folded, powers, 0x00), high = _mm_clmulepi64_si128(folded, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), bytes);
}

/* Reduces 128 bits to the 32-bit remainder (the paper's figures 6 and 9). */
static inline FOLDING uint32_t reduce(__m128i folded) {
  const __m128i mask = _mm_set_epi32(0, 0, 0, -1);
  const __m128i x64 = _mm_set_epi64x(0x00ccaa009e, 0x0163cd6124), barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  __m128i high = _mm_clmulepi64_si128(folded, x64, 0x10);
  folded = _mm_xor_si128(_mm_srli_si128(folded, 8), high);
  high = _mm_srli_si128(folded, 4);
  folded = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(folded, mask), x64, 0x00), high);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(folded, mask), barrett, 0x10);
  __m128i product = _mm_clmulepi64_si128(_mm_and_si128(quotient, mask), barrett, 0x00);
  return (uint32_t)_mm_extract_epi32(_mm_xor_si128(folded, product), 1);
}

/* Folds `count` bytes, at least 64 and a multiple of 16. */
static FOLDING uint32_t update_by_folding(uint32_t crc, const unsigned char *b, size_t count) {
  const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i a0 = _mm_xor_si128(load(b), _mm_cvtsi32_si128((int)crc));
  __m128i a1 = load(b + 16), a2 = load(b + 32), a3 = load(b + 48);
  for (b += 64, count -= 64; count >= 64; b += 64, count -= 64) {
    a0 = fold(a0, by_64, load(b));
    a1 = fold(a1, by_64, load(b + 16));
    a2 = fold(a2, by_64, load(b + 32));
    a3 = fold(a3, by_64, load(b + 48));
  }
  a0 = fold(fold(fold(a0, by_16, a1), by_16, a2), by_16, a3);
  for (; count; b += 16, count -= 16) a0 = fold(a0, by_16, load(b));
  return reduce(a0);
}

static int processor_can_fold(void) { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }
#else
static uint32_t update_by_folding(uint32_t crc, const unsigned char *b, size_t count) {
  return update_by_tables(crc, b, count);
}
static int processor_can_fold(void) { return 0; }
#endif

/* ---- interface-------------------------------------------------------------------------------------------------- */

static void prepare(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  /* tables[k]: the byte followed by k zero bytes. */
  for (int k = 1; k < SLICES; k++)
    for (int byte = 0; byte < 256; byte++)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
  can_fold = processor_can_fold();
}

uint32_t store_crc32(const void *bytes, size_t count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  const unsigned char *b = bytes;
  uint32_t crc = 0xffffffffu;
  if (can_fold && count >= 64) {
    size_t folded = count & ~(size_t)15;
    crc = update_by_folding(crc, b, folded);
    b += folded;
    count -= folded;
  }
  return ~update_by_tables(crc, b, count);
}
