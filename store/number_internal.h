/* Numbers of run logs: decimal text to the nearest double and back, independent of the locale.
 *
 * Reading is the importer's inner loop (31 numbers a row), so its common case is inline: a mantissa below 2^53 and a power
 * of ten up to 22 are both exact doubles, so that one multiplication or division rounds once, as strtod would (Clinger
 * 1990). All else goes to store_number_read_slowly. */
#ifndef STORE_NUMBER_INTERNAL_H
#define STORE_NUMBER_INTERNAL_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { STORE_NUMBER_MAX = 32 }; /* bytes that store_number_write needs at most, NUL included */

extern const double store_powers_of_ten[23];

/* Reads [begin, *) up to the next byte that no number has; returns where it stopped, NULL when there is no number. */
const char *store_number_read_slowly(const char *begin, double *value);

/* Eight digits at once: true when the next eight bytes are digits, and then their number. Bytes are added up in pairs, the
 * pairs in fours, the fours in one, each by one multiplication (Lemire 2018). */
static inline bool store_number_eight_digits(const char *text, uint32_t *value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t v;
  memcpy(&v, text, sizeof v);
  if (((v & 0xf0f0f0f0f0f0f0f0u) | ((v + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4) != 0x3333333333333333u)
    return false;
  v = (v & 0x0f0f0f0f0f0f0f0fu) * (10 * 256 + 1) >> 8;
  v = (v & 0x00ff00ff00ff00ffu) * (100 * 65536 + 1) >> 16;
  v = (v & 0x0000ffff0000ffffu) * (10000 * 4294967296u + 1) >> 32;
  *value = (uint32_t)v;
  return true;
#else
  (void)text, (void)value;
  return false;
#endif
}

enum { STORE_NUMBER_SLACK = 8 }; /* bytes behind the text that must be readable */

/* One field that ends in a tab or newline, which must be there. Empty: NaN. Returns the place of that end; NULL when the
 * field is no number. */
static inline const char *store_number_read(const char *begin, double *value) {
  const char *c = begin;
  uint64_t mantissa = 0;
  int exponent = 0;
  if (*c == '\t' || *c == '\n') {
    *value = NAN;
    return c;
  }
  int negative = *c == '-';
  const char *digits = c += negative;
  while ((unsigned char)(*c - '0') < 10) mantissa = 10 * mantissa + (unsigned char)(*c++ - '0');
  ptrdiff_t count = c - digits;
  if (*c == '.') {
    const char *fraction = ++c;
    uint32_t eight;
    if (store_number_eight_digits(c, &eight)) {
      mantissa = 100000000 * mantissa + eight;
      c += 8;
    }
    while ((unsigned char)(*c - '0') < 10) mantissa = 10 * mantissa + (unsigned char)(*c++ - '0');
    exponent = -(int)(c - fraction);
    count += c - fraction;
  }
  if (*c == 'e') {
    int down = *++c == '-', power = 0;
    if (*c == '-' || *c == '+') c++;
    if ((unsigned char)(*c - '0') >= 10) return NULL;
    while ((unsigned char)(*c - '0') < 10 && power < 10000) power = 10 * power + (*c++ - '0');
    exponent += down ? -power : power;
  }
  /* 19 digits fit 64 bits, so that `mantissa` is what was written. */
  if (count == 0 || count > 19 || mantissa > (1ull << 53) || exponent < -22 || exponent > 22)
    return store_number_read_slowly(begin, value);
  if (*c != '\t' && *c != '\n') return NULL;
  double magnitude = (double)mantissa;
  magnitude = exponent < 0 ? magnitude / store_powers_of_ten[-exponent] : magnitude * store_powers_of_ten[exponent];
  *value = negative ? -magnitude : magnitude;
  return c;
}

/* The text of a value, without NUL: whole numbers below 2^53 exactly, others with 9 significant digits; "" for NaN.
 * Returns its length. */
size_t store_number_write(double value, char text[STORE_NUMBER_MAX]);

#endif
