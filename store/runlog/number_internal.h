/* Numbers of run logs: decimal text to the nearest double and back, independent of the locale.
 *
 * Reading is the importer's inner loop (31 numbers a row), so its common case is inline: a mantissa below 2^53 and a
 * power of ten up to 22 are both exact doubles, so that one multiplication or division rounds once, as strtod would
 * (Clinger 1990). All else goes to store_number_read_slowly. */
#ifndef STORE_NUMBER_INTERNAL_H
#define STORE_NUMBER_INTERNAL_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { STORE_NUMBER_MAX = 32 }; /* bytes that store_number_write needs at most, NUL included */

extern const double store_powers_of_ten[23];

/* Reads [begin, *) up to the next byte that no number has; returns where it stopped; NULL: no number. */
const char *store_number_read_slowly(const char *begin, double *value);

enum { STORE_NUMBER_SLACK = 8 }; /* bytes behind the text that must be readable */

/* The digits that `text` begins with, at most eight of them, as a number; returns how many there are. Without a branch
 * a digit: bytes are added up in pairs, the pairs in fours, the fours in one, each by one multiplication (Lemire
 * 2018). */
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

/* Digits at *c, moved past them: `mantissa` goes on with them. Returns how many; sixteen may not be all. */
static inline int store_number_run(const char **c, uint64_t *mantissa) {
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

/* One field that ends in a tab or newline, which must be there. Empty: NaN. Returns the place of that end; NULL when
 * the field is not a number. */
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
  int count = store_number_run(&c, &mantissa);
  if (*c == '.') {
    c++;
    exponent = -store_number_run(&c, &mantissa);
    count -= exponent;
  }
  if (*c == 'e') {
    int down = *++c == '-', power = 0;
    if (*c == '-' || *c == '+') c++;
    if ((unsigned char)(*c - '0') >= 10) return NULL;
    while ((unsigned char)(*c - '0') < 10 && power < 10000) power = 10 * power + (*c++ - '0');
    exponent += down ? -power : power;
  }
  /* 19 digits fit 64 bits, so that `mantissa` is what was written. */
  bool ended = *c == '\t' || *c == '\n';
  if (!ended || count == 0 || count > 19 || mantissa > (1ull << 53) || exponent < -22 || exponent > 22)
    return store_number_read_slowly(begin, value);
  double magnitude = (double)mantissa;
  magnitude = exponent < 0 ? magnitude / store_powers_of_ten[-exponent] : magnitude * store_powers_of_ten[exponent];
  *value = negative ? -magnitude : magnitude;
  return c;
}

/* The text of a value, without NUL: whole numbers below 2^53 exactly, others with 9 significant digits; "" for NaN.
 * Returns its length. */
size_t store_number_write(double value, char text[STORE_NUMBER_MAX]);

#endif
