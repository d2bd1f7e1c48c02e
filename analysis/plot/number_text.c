/* Formats numbers (number_text.h). */
#include "analysis/plot/number_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static const double LARGE = 1e6, SMALL = 1e-4; /* limits of plain notation */

void analysis_format_number(double value, char *buffer, size_t size) {
  const double magnitude = fabs(value);
  if (isnan(value)) snprintf(buffer, size, "-");
  else if (isfinite(value) && (magnitude >= LARGE || (magnitude < SMALL && magnitude > 0)))
    snprintf(buffer, size, "%.2e", value);
  else snprintf(buffer, size, magnitude >= 999.5 ? "%.0f" : "%.3g", value);
}

/* Formats two significant digits without an exponent. */
static void format_two_digits(double value, char *buffer, size_t size) {
  const int digits = value > 0 ? 1 - (int)floor(log10(value)) : 0;
  snprintf(buffer, size, "%.*f", digits < 0 ? 0 : digits, value);
}

/* Returns the decimals that show three digits of the largest number; from 0.01 on at most three, so that scores have
 * equal numbers of digits. */
static int common_decimals(double largest) {
  const int decimals = 2 - (int)floor(log10(largest));
  if (largest >= 0.01 && decimals > 3) return 3;
  return decimals < 0 ? 0 : decimals;
}

void analysis_format_interval(AnalysisInterval interval, char *buffer, size_t size) {
  static const double FAR_APART = 20;
  const double value[3] = {interval.center, interval.low, interval.high};
  const double largest = fmax(fabs(value[0]), fmax(fabs(value[1]), fabs(value[2]))), width = value[2] - value[1];
  const bool apart = width > 0 && isfinite(width);
  char text[3][40];

  for (int i = 0; i < 3; i++) {
    char *to = text[i];
    if (!apart) analysis_format_number(value[i], to, sizeof text[i]);
    else if (largest >= LARGE || largest < 10 * SMALL) snprintf(to, sizeof text[i], "%.2e", value[i]);
    else if (value[1] > SMALL && value[2] / value[1] > FAR_APART) format_two_digits(value[i], to, sizeof text[i]);
    else snprintf(to, sizeof text[i], "%.*f", common_decimals(largest), value[i]);
  }

  if (isnan(interval.center)) snprintf(buffer, size, "-");
  else if (isnan(interval.low)) snprintf(buffer, size, "%s [n = %zu]", text[0], interval.n);
  else snprintf(buffer, size, "%s [%s, %s]", text[0], text[1], text[2]);
}
