/* Maps numbers in [0, 1) to values of settings and back, and draws random and Sobol' trials. search.c parses the space,
 * tpe.c draws from earlier trials. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/random.h"
#include "core/search/search.h"

/* ---- values ----------------------------------------------------------------------------------------------------- */

static bool is_integer(const CoreSearchAxis *axis) { return axis->row->kind == CORE_CONFIG_INT; }

static double to_coordinate(const CoreSearchAxis *axis, double value) {
  switch (axis->scale) {
    case CORE_SEARCH_LOG: return log(value);
    case CORE_SEARCH_LOGIT: return log(value) - log1p(-value);
    case CORE_SEARCH_POW2: return log2(value);
    case CORE_SEARCH_LINEAR: break;
  }
  return value;
}

static double from_coordinate(const CoreSearchAxis *axis, double coordinate) {
  switch (axis->scale) {
    case CORE_SEARCH_LOG: return exp(coordinate);
    case CORE_SEARCH_LOGIT: return 1 / (1 + exp(-coordinate));
    case CORE_SEARCH_POW2: return ldexp(1, (int)floor(fmax(-1074, fmin(1023, coordinate)) + 0.5));
    case CORE_SEARCH_LINEAR: break;
  }
  return coordinate;
}

/* Returns the significant digits of a value's text: six, on a logit scale six of the distance to the nearer end. */
static int digits_of(const CoreSearchAxis *axis, double value) {
  enum { DIGITS = 6, DIGITS_MAX = 15 };
  if (axis->scale != CORE_SEARCH_LOGIT || value < 0.5) return DIGITS;
  return (int)fmin(DIGITS_MAX, DIGITS + floor(-log10(1 - value)));
}

/* Formats a number on the axis as canonical text. */
static const char *print_number(const CoreSearchAxis *axis, double value, CoreText *text) {
  char number[64], exact[32];
  core_text_clear(text);
  if (is_integer(axis)) {
    core_text_appendf(text, "%.0f", value);
    return core_text_string(text);
  }
  CoreConfig scratch = core_config_default();
  if (axis->scale == CORE_SEARCH_POW2) core_text_from_real(value, number);
  else snprintf(number, sizeof number, "%.*g", digits_of(axis, value), value);
  if (core_config_set(&scratch, axis->row->name, number) != CORE_OK) /* rounded beyond the setting's range */
    CORE_CHECK(core_config_set(&scratch, axis->row->name, core_text_from_real(value, exact)) == CORE_OK);
  return core_config_get(&scratch, axis->row, text);
}

const char *core_search_value_at(const CoreSearchAxis *axis, double coordinate, CoreText *text) {
  if (axis->choices) {
    const double last = (double)axis->choice_count - 1;
    const size_t choice = (size_t)fmax(0, fmin(last, floor(coordinate)));
    core_text_clear(text);
    core_text_append(text, axis->choices[choice]);
    return core_text_string(text);
  }
  double value = from_coordinate(axis, coordinate);
  if (is_integer(axis)) value = floor(value + 0.5);
  return print_number(axis, fmax(axis->low, fmin(axis->high, value)), text);
}

void core_search_bounds(const CoreSearchAxis *axis, double *low, double *high) {
  const bool is_pow2 = axis->scale == CORE_SEARCH_POW2;
  const double half = is_integer(axis) && !is_pow2 ? 0.5 : 0, cell = is_pow2 ? 0.5 : 0;
  *low = to_coordinate(axis, axis->low - half) - cell;
  *high = to_coordinate(axis, axis->high + half) + cell;
}

bool core_search_cell(const CoreSearchAxis *axis, double coordinate, double *low, double *high) {
  if (axis->scale == CORE_SEARCH_POW2) {
    *low = floor(coordinate + 0.5) - 0.5;
    *high = *low + 1;
    return true;
  }
  if (!is_integer(axis)) return false;
  const double value = floor(from_coordinate(axis, coordinate) + 0.5);
  *low = to_coordinate(axis, value - 0.5);
  *high = to_coordinate(axis, value + 0.5);
  return true;
}

const char *core_search_value(const CoreSearchAxis *axis, double unit, CoreText *text) {
  double low, high;
  if (axis->choices) return core_search_value_at(axis, unit * (double)axis->choice_count, text);
  core_search_bounds(axis, &low, &high);
  return core_search_value_at(axis, low + unit * (high - low), text);
}

double core_search_coordinate(const CoreSearchAxis *axis, const char *value) {
  static const double rounding = 1e-5; /* a bound may itself be rounded to six digits */
  double number;
  int exponent;
  for (size_t c = 0; c < axis->choice_count; c++)
    if (strcmp(axis->choices[c], value) == 0) return (double)c;
  if (axis->choices || !core_text_to_real(value, &number)) return NAN;
  const double end = axis->scale == CORE_SEARCH_LOGIT ? 1 - axis->high : fabs(axis->high);
  if (number < axis->low - rounding * fabs(axis->low) || number > axis->high + rounding * end) return NAN;
  if (axis->scale == CORE_SEARCH_POW2 && frexp(number, &exponent) != 0.5) return NAN;
  return to_coordinate(axis, number);
}

double core_search_unit(const CoreSearchAxis *axis, double coordinate) {
  double low, high;
  if (axis->choices) return (coordinate + 0.5) / (double)axis->choice_count;
  core_search_bounds(axis, &low, &high);
  return fmax(0, fmin(1, (coordinate - low) / (high - low)));
}

bool core_search_is_active(const CoreSearch *search, size_t axis, const double *coordinate) {
  const CoreSearchAxis *of = &search->axes[axis];
  if (of->parent == CORE_SEARCH_NO_PARENT) return true;
  const double parent = coordinate[of->parent];
  return !isnan(parent) && (of->when >> (unsigned)parent & 1);
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

uint64_t core_search_seed(const char *sweep, const char *name, const char *setting) {
  unsigned char hash[crypto_generichash_BYTES_MIN];
  CoreText key = {0};
  uint64_t seed = 0;
  CORE_CHECK(sodium_init() >= 0);
  core_text_appendf(&key, "%s\n%s\n%s\n", sweep, name, setting);
  crypto_generichash(hash, sizeof hash, (const unsigned char *)core_text_string(&key), key.length, NULL, 0);
  for (size_t i = 0; i < sizeof seed; i++) seed = seed << 8 | hash[i];
  core_text_free(&key);
  return seed;
}

/* Returns the center of one of 2^32 cells of (0, 1). */
static double unit_of(const CoreSearch *search, uint64_t seed, int64_t trial, size_t axis) {
  enum { SHIFT = 1 }; /* second index of the stream; draws of trials use 0 */
  uint32_t word;
  if (search->method == CORE_SEARCH_SOBOL)
    word = core_sobol((uint32_t)trial, axis) ^ core_random_4(seed, CORE_RANDOM_TRIAL, 0, SHIFT, 0).v[0];
  else word = core_random_4(seed, CORE_RANDOM_TRIAL, (uint32_t)trial, 0, 0).v[0];
  return ((double)word + 0.5) / 4294967296.0;
}

void core_search_draw(const CoreSearch *search, const char *sweep, const char *name, int64_t trial,
                      double *coordinate) {
  CoreText text = {0};
  for (size_t i = 0; i < search->count; i++) {
    const size_t axis = search->order[i];
    const CoreSearchAxis *of = &search->axes[axis];
    const uint64_t seed = core_search_seed(sweep, name, of->row->name);
    const double unit = unit_of(search, seed, trial, axis);
    coordinate[axis] = NAN;
    if (core_search_is_active(search, axis, coordinate))
      coordinate[axis] = core_search_coordinate(of, core_search_value(of, unit, &text));
  }
  core_text_free(&text);
}
