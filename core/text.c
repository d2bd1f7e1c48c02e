/* Text and numbers. The numbers are written and read the same under every locale: runs are identified by the text of
 * their settings, so a decimal comma would change ids. */
#include "core/text.h"

#include <ctype.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/memory.h"
#include "core/unicode.h"

/* ---- the growing buffer ------------------------------------------------------------------------------------- */

static void reserve(CoreText *text, size_t more) {
  CORE_CHECK(more < SIZE_MAX / 2 - text->length);
  size_t needed = text->length + more + 1;
  if (needed <= text->capacity) return;
  size_t capacity = text->capacity ? text->capacity : 64;
  while (capacity < needed) capacity *= 2;
  text->data = core_memory_resize(text->data, capacity);
  text->capacity = capacity;
}

void core_text_append_bytes(CoreText *text, const void *bytes, size_t count) {
  reserve(text, count);
  if (count) memcpy(text->data + text->length, bytes, count);
  text->length += count;
  text->data[text->length] = '\0';
}

void core_text_append(CoreText *text, const char *string) { core_text_append_bytes(text, string, strlen(string)); }

void core_text_appendf(CoreText *text, const char *format, ...) {
  va_list arguments;
  reserve(text, 128);
  va_start(arguments, format);
  size_t room = text->capacity - text->length;
  int length = vsnprintf(text->data + text->length, room, format, arguments);
  va_end(arguments);
  CORE_CHECK(length >= 0);
  if ((size_t)length >= room) {
    reserve(text, (size_t)length);
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
  }
  text->length += (size_t)length;
}

void core_text_clear(CoreText *text) {
  text->length = 0;
  if (text->data) text->data[0] = '\0';
}

void core_text_free(CoreText *text) {
  free(text->data);
  *text = (CoreText){0};
}

const char *core_text_string(const CoreText *text) { return text->data ? text->data : ""; }

void core_text_append_shell(CoreText *text, const char *word) {
  core_text_append(text, "'");
  for (; *word; word++) {
    if (*word == '\'') core_text_append(text, "'\\''");
    else core_text_append_bytes(text, word, 1);
  }
  core_text_append(text, "'");
}

uint32_t core_text_hash(const char *string) {
  uint32_t hash = 2166136261u;
  for (; *string; string++) hash = (hash ^ (unsigned char)*string) * 16777619u;
  return hash;
}

char *core_text_duplicate(const char *string) {
  size_t size = strlen(string) + 1;
  return memcpy(core_memory_allocate(size), string, size);
}

int core_text_copy(char *target, size_t capacity, const char *source, const char *what) {
  size_t length = strlen(source);
  if (length >= capacity)
    return core_error(CORE_USAGE, "%s is too long: %zu bytes, at most %zu are possible", what, length, capacity - 1);
  memcpy(target, source, length + 1);
  return CORE_OK;
}

/* ---- parsing -------------------------------------------------------------------------------------------------- */

/* Decimal number [+-] digits [. digits] [e [+-] digits]; pointers into the string. */
typedef struct Decimal {
  bool negative;
  const char *integer, *fraction;
  size_t integer_length, fraction_length;
  int exponent; /* clamped to +-10000 */
} Decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool split_decimal(const char *s, Decimal *d) {
  *d = (Decimal){0};
  if (*s == '+' || *s == '-') d->negative = *s++ == '-';

  d->integer = s;
  while (is_digit(*s)) s++;
  d->integer_length = (size_t)(s - d->integer);
  if (*s == '.') s++;
  d->fraction = s;
  while (is_digit(*s)) s++;
  d->fraction_length = (size_t)(s - d->fraction);
  if (d->integer_length + d->fraction_length == 0) return false;

  if (*s == 'e' || *s == 'E') {
    bool negative = s[1] == '-';
    s += s[1] == '+' || s[1] == '-' ? 2 : 1;
    if (!is_digit(*s)) return false;
    for (; is_digit(*s); s++)
      if (d->exponent < 1000) d->exponent = 10 * d->exponent + (*s - '0');
    if (negative) d->exponent = -d->exponent;
  }
  return *s == '\0';
}

bool core_text_to_int(const char *string, int64_t *value) {
  Decimal d;
  if (!split_decimal(string, &d)) return false;

  uint64_t limit = (uint64_t)INT64_MAX + d.negative, magnitude = 0;
  /* Accumulates all digits, including those of the fraction, then zeros for a larger exponent. A nonzero digit after
   * the point means that the number is not an integer. */
  size_t digits = d.integer_length + d.fraction_length;
  long last = (long)d.integer_length + d.exponent; /* digits before the point */

  for (long i = 0; i < (long)digits || (i < last && magnitude); i++) {
    unsigned digit = 0;
    if (i < (long)digits)
      digit = (unsigned)((i < (long)d.integer_length ? d.integer[i] : d.fraction[i - (long)d.integer_length]) - '0');
    if (i >= last) {
      if (digit) return false;
      continue;
    }
    if (magnitude > (limit - digit) / 10) return false;
    magnitude = 10 * magnitude + digit;
  }

  *value = d.negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
  return true;
}

static locale_t c_locale;
static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static double read_double(const char *string) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_c_locale);
  return strtod_l(string, NULL, c_locale);
}

static bool has_nonzero_digit(const char *digits, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (digits[i] != '0') return true;
  return false;
}

bool core_text_to_real(const char *string, double *value) {
  const char *unsigned_part = string + (*string == '+' || *string == '-');
  if (strcasecmp(unsigned_part, "inf") == 0) {
    *value = *string == '-' ? -INFINITY : INFINITY;
    return true;
  }
  Decimal d;
  if (!split_decimal(string, &d)) return false;
  double x = read_double(string);
  bool zero = !has_nonzero_digit(d.integer, d.integer_length) && !has_nonzero_digit(d.fraction, d.fraction_length);
  if (!isfinite(x) || (x == 0) != zero) return false; /* 1e999 and 1e-999 */
  *value = x;
  return true;
}

/* ---- numbers with a suffix ------------------------------------------------------------------------------------- */

static const char suffixes[] = "kMGT"; /* 1000, 1000^2 ... */

/* Converts "1.5M" to "1.5e6", which parses to the same value as 1500000. false: no digits, an exponent, or no
 * suffix. */
static bool expand_suffix(const char *string, CoreText *plain) {
  const size_t length = strlen(string);
  const char *suffix = length > 1 ? strchr(suffixes, string[length - 1]) : NULL;
  if (!suffix || !*suffix || strspn(string, "+-.0123456789") != length - 1) return false;
  core_text_append_bytes(plain, string, length - 1);
  core_text_appendf(plain, "e%d", 3 * (int)(suffix - suffixes + 1));
  return true;
}

bool core_text_to_int_scaled(const char *string, int64_t *value) {
  CoreText plain = {0};
  const bool is_valid = core_text_to_int(expand_suffix(string, &plain) ? plain.data : string, value);
  core_text_free(&plain);
  return is_valid;
}

bool core_text_to_real_scaled(const char *string, double *value) {
  CoreText plain = {0};
  const bool is_valid = core_text_to_real(expand_suffix(string, &plain) ? plain.data : string, value);
  core_text_free(&plain);
  return is_valid;
}

const char *core_text_number_hint(const char *string) {
  const size_t digits = strspn(string, "+-.0123456789"), blanks = strspn(string + digits, " \t");
  const char *suffix = string + digits + blanks;
  const size_t letters = strlen(suffix);

  CoreText plain = {0};
  Decimal decimal;
  double real = 0;
  const bool is_decimal = split_decimal(expand_suffix(string, &plain) ? plain.data : string, &decimal);
  const bool is_real = core_text_to_real_scaled(string, &real);
  const bool ends_with_suffix = letters > 0 && strchr(suffixes, suffix[letters - 1]);
  core_text_free(&plain);

  if (is_decimal) return is_real && fabs(real) < 0x1p63 ? "" : ": it is beyond what such numbers can hold";
  if (ends_with_suffix && letters == 1 && blanks) return ": no blank may stand before the suffix, as in 50k";
  if (ends_with_suffix && letters == 1 && !digits) return ": there are no digits before the suffix, as in 50k";
  if (ends_with_suffix && (*suffix == 'e' || *suffix == 'E')) return ": it has an exponent and a suffix; one is enough";
  if (suffix[0] == ',' && digits) return ": decimals have a point, as in 0.25";
  if (digits && letters && letters <= 3) return ": suffixes are k, M, G and T, for 1e3, 1e6, 1e9 and 1e12";
  return "";
}

bool core_text_to_bool(const char *string, bool *value) {
  static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasecmp(string, words[i]) == 0) {
      *value = i % 2;
      return true;
    }
  return false;
}

/* ---- formatting ----------------------------------------------------------------------------------------------- */

/* Removes trailing zeros of `digits`. */
static void strip_zeros(char *digits) {
  for (size_t count = strlen(digits); count > 1 && digits[count - 1] == '0';) digits[--count] = '\0';
}

/* Formats values m / 10^n with few digits. Both integers are exact and division rounds correctly, so the quotient is
 * the value that the text parses to. Avoids the slow path below for most of the many numbers that a sweep writes. */
static bool format_few_digits(double magnitude, char digits[20], int *exponent) {
  double power = 1;
  for (int n = 0; n <= 12; n++, power *= 10) {
    double scaled = rint(magnitude * power);
    if (scaled >= 1e15) return false;
    if (scaled == 0 || scaled / power != magnitude) continue;
    int length = snprintf(digits, 20, "%lld", (long long)scaled);
    *exponent = length - 1 - n;
    strip_zeros(digits);
    return true;
  }
  return false;
}

/* Finds the fewest significant digits that parse to the same value; returns the decimal exponent of the first. Every
 * decimal of up to 15 digits survives the conversion to a normal double and back, so a shortest form of at most 15
 * digits is the form of 15 without trailing zeros. Subnormals have fewer digits, so each count is tried. */
static int shortest_digits(double magnitude, char digits[20]) {
  char text[40], plain[40];
  int exponent = 0;

  if (format_few_digits(magnitude, digits, &exponent)) return exponent;
  for (int precision = magnitude < DBL_MIN ? 0 : 14; precision <= 16; precision++) {
    snprintf(text, sizeof text, "%.*e", precision, magnitude);
    char *e = strchr(text, 'e');
    size_t count = 0;
    for (char *c = text; c < e; c++) /* skips the locale's decimal point */
      if (is_digit(*c)) digits[count++] = *c;
    digits[count] = '\0';
    exponent = atoi(e + 1);
    snprintf(plain, sizeof plain, "%c.%s%s", digits[0], digits + 1, e);
    if (read_double(plain) == magnitude) break;
  }

  strip_zeros(digits);
  return exponent;
}

const char *core_text_from_real(double value, char *buffer) {
  enum { SIZE = 32 };
  const char *sign = signbit(value) && !isnan(value) ? "-" : "";
  if (!isfinite(value) || value == 0) {
    snprintf(buffer, SIZE, "%s%s", sign, isnan(value) ? "nan" : value == 0 ? "0" : "inf");
    return buffer;
  }

  char digits[20];
  int exponent = shortest_digits(fabs(value), digits), count = (int)strlen(digits);
  bool plain = exponent >= -4 && exponent < 17 && (exponent < 6 || exponent + 1 <= count + 3);
  if (!plain)
    snprintf(buffer, SIZE, "%s%c%s%se%d", sign, digits[0], count > 1 ? "." : "", digits + 1, exponent);
  else if (exponent < 0)
    snprintf(buffer, SIZE, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
  else if (count <= exponent + 1)
    snprintf(buffer, SIZE, "%s%s%.*s", sign, digits, exponent + 1 - count, "00000");
  else
    snprintf(buffer, SIZE, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
  return buffer;
}

const char *core_text_count(double value, char *buffer) {
  enum { SIZE = 32 };
  static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
  double magnitude = fabs(value);
  size_t unit = 0;
  /* 999.5 and more would print as 1000, which belongs to the next unit. */
  while (unit + 1 < sizeof units / sizeof *units && magnitude >= 999.5 && isfinite(magnitude)) {
    magnitude /= 1000;
    unit++;
  }
  snprintf(buffer, SIZE, magnitude >= 999.5 ? "%s%.4g%s" : "%s%.3g%s", value < 0 ? "-" : "", magnitude, units[unit]);
  return buffer;
}

bool core_text_to_duration(const char *string, double *seconds) {
  static const struct { const char *name; double seconds; } units[] = {
    {"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
  char number[32];
  const size_t length = strspn(string, "0123456789.+-eE");
  const char *unit = string + length + strspn(string + length, " ");

  if (length == 0 || length >= sizeof number) return false;
  memcpy(number, string, length);
  number[length] = '\0';
  if (!core_text_to_real(number, seconds) || *seconds < 0) return false;

  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(unit, units[i].name) != 0) continue;
    *seconds *= units[i].seconds;
    return true;
  }
  return false;
}

const char *core_text_duration(double seconds, char *buffer) {
  enum { SIZE = 32 };
  if (!(seconds >= 0 && seconds < 1e11)) {
    snprintf(buffer, SIZE, "unknown");
  } else if (seconds < 9.95) {
    snprintf(buffer, SIZE, "%.*f s", seconds < 0.995 ? 2 : 1, seconds);
  } else {
    long long s = llround(seconds), minutes = (s + 30) / 60, hours = (s + 1800) / 3600;
    if (s < 60) snprintf(buffer, SIZE, "%lld s", s);
    else if (s < 3600) snprintf(buffer, SIZE, "%lld min %02lld s", s / 60, s % 60);
    else if (minutes < 24 * 60) snprintf(buffer, SIZE, "%lld h %02lld min", minutes / 60, minutes % 60);
    else snprintf(buffer, SIZE, "%lld d %02lld h", hours / 24, hours % 24);
  }
  return buffer;
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

int core_text_check_name(const char *name, const char *what) {
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  size_t length = strlen(name);
  if (length == 0) return core_error(CORE_USAGE, "%s is empty; give 1 to 64 letters, digits, '.', '_' or '-'", what);
  if (length > 64)
    return core_error(CORE_USAGE, "%s is too long: %zu characters, at most 64 are possible", what, length);
  if (*name == '.' || *name == '-')
    return core_error(CORE_USAGE, "%s '%s' begins with '%c'; begin it with a letter, a digit or '_'", what, name,
                      *name);
  if (strspn(name, allowed) != length)
    return core_error(CORE_USAGE, "%s '%s' may hold only letters, digits, '.', '_' and '-'", what, name);
  return CORE_OK;
}

bool core_text_is_utf8(const char *string) {
  while (*string)
    if (core_unicode_next(&string) == CORE_UNICODE_INVALID) return false;
  return true;
}

char *core_text_normalize_pair(const char *pair) {
  const char *equals = strchr(pair, '=');
  if (!equals) return core_text_duplicate(pair);
  pair += strspn(pair, " \t");
  const char *key_end = equals, *value = equals + 1 + strspn(equals + 1, " \t"), *end = value + strlen(value);
  while (key_end > pair && (key_end[-1] == ' ' || key_end[-1] == '\t')) key_end--;
  while (end > value && (end[-1] == ' ' || end[-1] == '\t')) end--;
  CoreText text = {0};
  core_text_append_bytes(&text, pair, (size_t)(key_end - pair));
  core_text_append(&text, "=");
  core_text_append_bytes(&text, value, (size_t)(end - value));
  return text.data;
}

void core_text_append_utf8(CoreText *text, const char *string) {
  while (*string) {
    const char *here = string;
    if (core_unicode_next(&string) == CORE_UNICODE_INVALID) core_text_append(text, "\xef\xbf\xbd");
    else core_text_append_bytes(text, here, (size_t)(string - here));
  }
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static bool begins_formula(char c) { return c && strchr("=+-@\t\r\n", c); }

/* Whether text after leading apostrophes begins a formula; a single character does not. */
static bool is_formula(const char *text) {
  text += strspn(text, "'");
  return begins_formula(*text) && text[1];
}

/* Whether text after leading apostrophes is a run's id that reads as a number: 0684670735522928, 13236110316e3573. */
static bool is_number_id(const char *text) {
  enum { ID = 16 };
  static const char digits[] = "0123456789";
  text += strspn(text, "'");
  const size_t first = strspn(text, digits);
  if (strlen(text) != ID || first == 0) return false;
  return first == ID || (text[first] == 'e' && text[first + 1] && strspn(text + first + 1, digits) == ID - first - 1);
}

void core_text_append_xml(CoreText *xml, const char *text) {
  while (*text) {
    const char *first = text;
    const uint32_t code = core_unicode_next(&text);
    switch (code) {
      case '&': core_text_append(xml, "&amp;"); break;
      case '<': core_text_append(xml, "&lt;"); break;
      case '>': core_text_append(xml, "&gt;"); break;
      case '"': core_text_append(xml, "&quot;"); break;
      case '\'': core_text_append(xml, "&apos;"); break;
      case '\t': core_text_append(xml, " "); break;
      case '\n': core_text_append(xml, "\n"); break;
      case 0xfffe: case 0xffff: core_text_append(xml, "?"); break;
      default:
        if (core_unicode_is_unsafe(code)) core_text_append(xml, "?");
        else core_text_append_bytes(xml, first, (size_t)(text - first));
    }
  }
}

void core_text_append_cell(CoreText *csv, const char *cell) {
  double number;
  const bool is_escaped = (is_formula(cell) && !core_text_to_real(cell, &number)) || is_number_id(cell);
  const char *prefix = is_escaped ? "'" : "";
  const char *quote = strpbrk(cell, ",\"\n\r\t") ? "\"" : "";
  core_text_appendf(csv, "%s%s", quote, prefix);
  for (const char *c = cell; *c;) {
    const char *here = c;
    const uint32_t code = core_unicode_next(&c);
    if (code == '"') core_text_append(csv, "\"\"");
    else if (core_unicode_is_unsafe(code) && code != '\n' && code != '\r' && code != '\t') core_text_append(csv, "?");
    else core_text_append_bytes(csv, here, (size_t)(c - here));
  }
  core_text_append(csv, quote);
}

const char *core_text_read_cell(const char *csv, CoreText *cell, bool *last) {
  core_text_clear(cell);
  const bool quoted = *csv == '"';
  if (quoted) csv++;
  while (*csv && (quoted || !strchr(",\n", *csv))) {
    if (quoted && *csv == '"' && *++csv != '"') break; /* a doubled quote is a quote */
    core_text_append_bytes(cell, csv++, 1);
  }
  const char *read = core_text_string(cell);
  if (*read == '\'' && (is_formula(read) || is_number_id(read))) {
    memmove(cell->data, cell->data + 1, cell->length);
    cell->length--;
  }
  *last = *csv != ',';
  return *csv ? csv + 1 : csv;
}

void core_text_append_csv_comment(CoreText *csv, const char *comment, size_t length) {
  bool begins_cell = false; /* for any separator that a spreadsheet may use */
  core_text_append(csv, "# ");
  for (size_t i = 0; i < length; i++) {
    const char c = comment[i] == '\r' || comment[i] == '\n' ? ' ' : comment[i];
    if (begins_cell && (begins_formula(c) || c == '"')) core_text_append(csv, "'");
    core_text_append_bytes(csv, &c, 1);
    begins_cell = c == ',' || c == ';' || c == '\t';
  }
  core_text_append(csv, "\n");
}

/* ---- nearest names ----------------------------------------------------------------------------------------------- */

enum { NEAREST_LENGTH_MAX = 128 };

/* Computes the optimal string alignment distance: insertions, deletions, substitutions and transpositions cost 1. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m) {
  size_t rows[3][NEAREST_LENGTH_MAX + 1];
  size_t *previous = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= m; j++) last[j] = j;

  for (size_t i = 1; i <= n; i++) {
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = last[j - 1] + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
      if (last[j] + 1 < best) best = last[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && previous[j - 2] + 1 < best)
        best = previous[j - 2] + 1;
      row[j] = best;
    }
    size_t *free_row = previous;
    previous = last;
    last = row;
    row = free_row;
  }
  return last[m];
}

const char *core_text_nearest(const char *word, const char *const *candidates, size_t count) {
  size_t length = strlen(word);
  if (length > NEAREST_LENGTH_MAX) return NULL;
  const char *nearest = NULL;
  size_t best = length / 3 + 2; /* exclusive limit of distances that count as near */
  for (size_t i = 0; i < count; i++) {
    size_t other = strlen(candidates[i]);
    if (other > NEAREST_LENGTH_MAX) continue;
    size_t distance = edit_distance(word, length, candidates[i], other);
    if (distance < best) {
      best = distance;
      nearest = candidates[i];
    }
  }
  return nearest;
}
