/* Numbers of run logs: conversion between decimal text and the nearest double, independent of the locale.
 *
 * Reading is the importer's inner loop (31 numbers per row), so its common case is inline: a mantissa below 2^53 and a
 * power of ten up to 22 are exact doubles, so that one multiplication or division rounds once, as strtod would
 * (Clinger 1990). store_number_read_slow handles all other numbers. */
#ifndef STORE_NUMBER_INTERNAL_H
#define STORE_NUMBER_INTERNAL_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { STORE_NUMBER_MAX = 32 }; /* buffer size for store_number_write, NUL included */

extern const double store_powers_of_ten[23];

/* Parses one field, up to its tab or newline. Returns the end; NULL: not a number. */
const char *store_number_read_slow(const char *begin, double *value);

enum { STORE_NUMBER_SLACK = 8 }; /* number of bytes after the text that must be readable */

/* Parses up to eight leading digits of `text` and returns their number. Branch-free: bytes are added in pairs, pairs in
 * fours, and fours in one, by one multiplication each (Lemire 2018). */
static inline int store_number_digits(const char *text, uint64_t *value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t word;
  memcpy(&word, text, sizeof word);

  word ^= 0x3030303030303030u;                                             /* digits become 0 to 9 */
  uint64_t others = ((word + 0x7676767676767676u) | word) & 0x8080808080808080u; /* high bits of bytes above 9 */
  int count = others ? __builtin_ctzll(others) >> 3 : 8;

  word = count ? word << (64 - 8 * count) : 0;                             /* zeros go before the digits */
  word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
  word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;

  *value = (word * 10000 + (word >> 32)) & 0xffffffffu;
  return count;
#else
  int count = 0;
  for (*value = 0; count < 8 && (unsigned char)(text[count] - '0') < 10; count++)
    *value = 10 * *value + (unsigned char)(text[count] - '0');
  return count;
#endif
}

/* Parses up to sixteen digits at *c, appends them to `mantissa`, and advances *c. Returns the number of digits. */
static inline int store_number_append_digits(const char **c, uint64_t *mantissa) {
  static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  uint64_t first, second;
  int count = store_number_digits(*c, &first);
  *mantissa = *mantissa * powers[count] + first;
  *c += count;
  if (count < 8) return count;
  int more = store_number_digits(*c, &second);
  *mantissa = *mantissa * powers[more] + second;
  *c += more;
  return 8 + more;
}

/* Parses one field, which must end in a tab or newline; an empty one is NaN. Returns its end; NULL: not a number. */
static inline const char *store_number_read(const char *begin, double *value) {
  const char *c = begin;
  uint64_t mantissa = 0;
  int exponent = 0;

  if (*c == '\t' || *c == '\n') {
    *value = NAN;
    return c;
  }

  int negative = *c == '-';
  c += negative;
  int count = store_number_append_digits(&c, &mantissa);
  if (*c == '.') {
    c++;
    exponent = -store_number_append_digits(&c, &mantissa);
    count -= exponent;
  }

  if (*c == 'e') {
    int is_negative = *++c == '-', power = 0;
    if (*c == '-' || *c == '+') c++;
    if ((unsigned char)(*c - '0') >= 10) return NULL;
    while ((unsigned char)(*c - '0') < 10 && power < 10000) power = 10 * power + (*c++ - '0');
    exponent += is_negative ? -power : power;
  }
  /* 19 digits fit 64 bits, so that `mantissa` is exact. */
  const bool at_end = *c == '\t' || *c == '\n';
  if (!at_end || count == 0 || count > 19 || mantissa > (1ull << 53) || exponent < -22 || exponent > 22)
    return store_number_read_slow(begin, value);

  double magnitude = (double)mantissa;
  magnitude = exponent < 0 ? magnitude / store_powers_of_ten[-exponent] : magnitude * store_powers_of_ten[exponent];
  *value = negative ? -magnitude : magnitude;
  return c;
}

/* Formats a value: integers below 2^53 exactly, others with 9 significant digits, NaN as "". Returns the length. */
size_t store_number_write(double value, char text[STORE_NUMBER_MAX]);

#endif
