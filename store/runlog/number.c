/* Reads rare forms of numbers in run logs (number_internal.h), and writes numbers. */
#include "store/runlog/number_internal.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

const double store_powers_of_ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

const char *store_number_read_slow(const char *begin, double *value) {
  char field[64];
  size_t length = strcspn(begin, "\t\n");
  if (length >= sizeof field) return NULL;
  memcpy(field, begin, length);
  field[length] = '\0';
  return core_text_to_real(field, value) ? begin + length : NULL;
}

size_t store_number_write(double value, char text[STORE_NUMBER_MAX]) {
  if (isnan(value)) return 0;
  int length = fabs(value) < 9007199254740992.0 && value == trunc(value)
                 ? snprintf(text, STORE_NUMBER_MAX, "%lld", (long long)value)
                 : snprintf(text, STORE_NUMBER_MAX, "%.9g", value);
  char *comma = strchr(text, ','); /* the decimal point of some locales */
  if (comma) *comma = '.';
  return (size_t)length;
}
