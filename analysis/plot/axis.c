/* Ranges and ticks (axis.h). gnuplot labels only powers of ten on a log axis, so that a range inside one decade
 * would have no labels; therefore all ticks are computed here. */
#include "analysis/plot/axis.h"

#include <math.h>
#include <stdio.h>

void analysis_axis_include(AnalysisAxis *axis, double value) {
  if (!isfinite(value) || (axis->log && value <= 0)) return;
  if (!axis->seen || value < axis->low) axis->low = value;
  if (!axis->seen || value > axis->high) axis->high = value;
  axis->seen = true;
}

void analysis_axis_finish(AnalysisAxis *axis) {
  if (!axis->seen) {
    axis->low = axis->log ? 1 : 0;
    axis->high = axis->log ? 10 : 1;
  }

  if (axis->log) {
    double room = 0.06 * log10(axis->high / axis->low);
    double factor = pow(10, room < 0.06 ? 0.06 : room);
    axis->low /= factor;
    axis->high *= factor;
    return;
  }

  double span = axis->high - axis->low;
  if (span <= 0) span = fabs(axis->high) > 0 ? fabs(axis->high) : 1;
  bool from_zero = axis->low >= 0 && axis->low < 0.5 * axis->high + 1e-300;
  axis->low = from_zero || axis->low == 0 ? 0 : axis->low - 0.05 * span;
  axis->high += 0.05 * span;
}

/* Formats a label such as "0.25" or "1.5M", with the precision of the step. */
static void linear_label(double value, double step, double largest, char *label, size_t size) {
  static const struct { double unit; const char *suffix; } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  double unit = 1;
  const char *suffix = "";
  for (size_t i = 0; i < sizeof units / sizeof *units && unit == 1; i++) {
    if (largest < units[i].unit * (i == 3 ? 10 : 1)) continue;
    unit = units[i].unit;
    suffix = units[i].suffix;
  }
  int decimals = (int)ceil(-log10(step / unit) - 1e-9);
  if (fabs(value) < step / 2) snprintf(label, size, "0");
  else snprintf(label, size, "%.*f%s", decimals < 0 ? 0 : decimals > 12 ? 12 : decimals, value / unit, suffix);
}

static void linear_ticks(const AnalysisAxis *axis, int count, bool numbered, CoreText *text) {
  double span = axis->high - axis->low, raw = span / (count + 0.5), base = pow(10, floor(log10(raw)));
  double step = base * (raw / base > 5 ? 10 : raw / base > 2 ? 5 : raw / base > 1 ? 2 : 1);
  double largest = fmax(fabs(axis->low), fabs(axis->high));
  char label[64];
  for (double i = ceil(axis->low / step - 1e-9); i * step <= axis->high + 1e-9 * span; i++) {
    linear_label(i * step, step, largest, label, sizeof label);
    core_text_appendf(text, "%s'%s' %.12g", text->length ? ", " : "", numbered ? label : "", i * step);
  }
}

static void log_ticks(const AnalysisAxis *axis, int count, bool numbered, CoreText *text) {
  double decades = log10(axis->high / axis->low);
  int first = (int)floor(log10(axis->low)), last = (int)ceil(log10(axis->high));
  int every = (int)ceil(decades / count); /* decades between two labels of a long axis */
  int powers = (int)floor(log10(axis->high) + 1e-9) - (int)ceil(log10(axis->low) - 1e-9) + 1;
  bool few = decades < 1.7 || powers < 2; /* a single label does not show the scale */

  for (int decade = first; decade <= last; decade++) {
    for (int digit = 1; digit <= 9; digit++) {
      double value = digit * pow(10, decade);

      if (value < axis->low || value > axis->high) continue;
      bool labeled = digit == 1 ? decade % (every > 0 ? every : 1) == 0 : few && (digit == 2 || digit == 5);

      core_text_appendf(text, "%s'", text->length ? ", " : "");
      if (numbered && labeled && digit == 1) core_text_appendf(text, "10^{%d}", decade);
      else if (numbered && labeled) core_text_appendf(text, "%d·10^{%d}", digit, decade);
      core_text_appendf(text, "' %.12g %d", value, labeled ? 0 : 1);
    }
  }
}

void analysis_axis_ticks(const AnalysisAxis *axis, int count, bool numbered, CoreText *text) {
  bool narrow = axis->high < 5 * axis->low; /* too few powers and halves of ten inside: equal steps are better */
  if (axis->log && !narrow) log_ticks(axis, count, numbered, text);
  else linear_ticks(axis, count, numbered, text);
}
