/* Packed columns (pack_internal.h). A decimal of up to 15 digits that was read as the nearest double d is found again
 * as the whole number nearest to d * 10^e, for the least e where dividing it by 10^e gives d back: numerator and power
 * are exact doubles, so the one division rounds as reading the decimal did (Clinger 1990). */
#include "store/database/pack_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/runlog/number_internal.h"

enum { HEADER = 6, HEADER_FIXED = 22, WIDTH_MAX = 12, DECIMALS_MAX = 22, EXPONENT_MAX = 6 };
static const int64_t mantissa_end = 1000000000, offset = 5000000000000000;
static const double numerator_end = 1e15; /* below it numerators are found again, whatever multiplying rounds */
static const int64_t tens[EXPONENT_MAX + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000};

/* The values of a column, from place `first` on, each `distance` places. */
typedef struct Series {
  int first, distance, count;             /* those not measured among them counted */
  int decimals;
  int64_t numerators[STORE_PACK_PLACES];  /* [count] */
  bool known[STORE_PACK_PLACES];          /* [count] */
} Series;

/* ---- packing ---------------------------------------------------------------------------------------------------- */

/* Where values are: false when there is none. */
static bool find_places(const double *values, Series *s) {
  int last = -1, previous = -1;
  s->first = -1;
  s->distance = 0;
  bool even = true;
  for (int place = 0; place < STORE_PACK_PLACES; place++) {
    if (isnan(values[place])) continue;
    if (s->first < 0) s->first = place;
    else if (s->distance == 0) s->distance = place - previous;
    else even = even && s->distance == place - previous;
    previous = last = place;
  }
  if (s->first < 0) return false;
  if (!even || s->distance == 0 || s->distance > 99) s->distance = 1;
  s->count = (last - s->first) / s->distance + 1;
  return true;
}

/* The nearest whole number, of |x| < 1e15, without a branch or a call: above 2^52 doubles have no fraction. What halves
 * become does not matter: they are no numerators. */
static inline double nearest(double x) {
  const double beyond = 6755399441055744.0; /* 1.5 * 2^52 */
  return (x + beyond) - beyond;
}

/* Are they all numerators over this power of ten? */
static inline bool are_numerators(const double *values, int count, double power) {
  int64_t others = 0;
  for (int k = 0; k < count; k++) {
    const double scaled = values[k] * power;
    others |= !(fabs(scaled) < numerator_end) | !(nearest(scaled) / power == values[k]);
  }
  return !others;
}

/* The values as whole numbers over one power of ten. */
static bool find_numerators(const double *values, Series *s) {
  enum { TOGETHER = 32 }; /* mostly the decimals of the first values do for all */
  double dense[STORE_PACK_PLACES];
  int decimals = 0;
  for (int k = 0; k < s->count; k++) {
    double value = values[s->first + k * s->distance];
    s->known[k] = !isnan(value);
    dense[k] = s->known[k] ? value : 0;
  }
  for (int begin = 0; begin < s->count; begin += TOGETHER) {
    const int end = begin + TOGETHER < s->count ? begin + TOGETHER : s->count;
    if (are_numerators(dense + begin, end - begin, store_powers_of_ten[decimals])) continue;
    for (int k = begin; k < end; k++)
      while (!are_numerators(dense + k, 1, store_powers_of_ten[decimals])) {
        const bool too_large = !(fabs(dense[k] * store_powers_of_ten[decimals]) < numerator_end);
        if (too_large || ++decimals > DECIMALS_MAX) return false;
      }
  }
  for (int k = 0; k < s->count; k++) {
    double scaled = dense[k] * store_powers_of_ten[decimals];
    if (!(fabs(scaled) < numerator_end)) return false;
    s->numerators[k] = (int64_t)nearest(scaled);
  }
  s->decimals = decimals;
  return true;
}

/* Hexadecimal digits of numbers up to `greatest`. */
static int width_of(uint64_t greatest) { return (67 - __builtin_clzll(greatest | 1)) / 4; }

/* Codes of form 0: the width they need, base being the least of what `step` leaves over. */
static int measure_fixed(const Series *s, int64_t step, int64_t *base) {
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (int k = 0; k < s->count; k++) {
    if (!s->known[k]) continue;
    int64_t rest = s->numerators[k] - step * k;
    least = rest < least ? rest : least;
    most = rest > most ? rest : most;
  }
  *base = least;
  return width_of((uint64_t)(most - least) + 1);
}

/* Codes of forms 1 and 2; their width, or more than can be when a numerator has too many digits. */
static int measure_floating(const Series *s, int64_t *codes, int *form) {
  int64_t most = 0;
  *form = 1;
  for (int k = 0; k < s->count; k++)
    if (s->known[k] && s->numerators[k] < 0) *form = 2;
  for (int k = 0; k < s->count; k++) {
    int64_t magnitude = s->known[k] ? llabs(s->numerators[k]) : 0;
    int exponent = 0;
    while (exponent < EXPONENT_MAX && magnitude / tens[exponent] >= mantissa_end) exponent++;
    int64_t mantissa = magnitude / tens[exponent];
    if (mantissa >= mantissa_end || mantissa * tens[exponent] != magnitude) return WIDTH_MAX + 1;
    int64_t high = *form == 1 ? exponent : 2 * exponent + (s->numerators[k] < 0);
    codes[k] = s->known[k] ? high * mantissa_end + mantissa + 1 : 0;
    most = codes[k] > most ? codes[k] : most;
  }
  return width_of((uint64_t)most);
}

/* Decimal digits, two a byte. */
static uint8_t *put_decimal(uint8_t *target, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; i--, value /= 100) target[i] = (uint8_t)(value % 100 / 10 << 4 | value % 10);
  return target + bytes;
}

static void put_codes(const int64_t *codes, int count, int width, uint8_t *target, int *length) {
  uint64_t waiting = 0;
  int bits = 0, at = 0;
  for (int k = 0; k < count; k++) {
    waiting = waiting << 4 * width | (uint64_t)codes[k];
    for (bits += 4 * width; bits >= 8; bits -= 8) target[at++] = (uint8_t)(waiting >> (bits - 8));
  }
  if (bits) target[at++] = (uint8_t)(waiting << (8 - bits));
  *length += at;
}

static bool pack_series(const Series *s, StorePack *pack) {
  int64_t codes[STORE_PACK_PLACES], base, base_flat;
  int form = 0;
  int64_t step = s->count > 1 ? (s->numerators[s->count - 1] - s->numerators[0]) / (s->count - 1) : 0;
  int width = measure_fixed(s, step, &base), width_flat = measure_fixed(s, 0, &base_flat);
  if (width_flat <= width) {
    width = width_flat;
    base = base_flat;
    step = 0;
  }
  for (int k = 0; k < s->count; k++) codes[k] = s->known[k] ? s->numerators[k] - step * k - base + 1 : 0;
  if (width > 8) { /* nine digits alone take eight */
    int64_t floating[STORE_PACK_PLACES];
    int floating_form, floating_width = measure_floating(s, floating, &floating_form);
    if (floating_width < width) {
      width = floating_width;
      form = floating_form;
      memcpy(codes, floating, (size_t)s->count * sizeof *codes);
    }
  }
  if (width > WIDTH_MAX) return false;
  uint8_t *c = pack->data;
  c = put_decimal(c, (uint64_t)s->decimals, 1);
  c = put_decimal(c, (uint64_t)width, 1);
  c = put_decimal(c, (uint64_t)form, 1);
  c = put_decimal(c, (uint64_t)s->first, 2);
  c = put_decimal(c, (uint64_t)s->distance, 1);
  if (form == 0) {
    c = put_decimal(c, (uint64_t)(base + offset), 8);
    c = put_decimal(c, (uint64_t)(step + offset), 8);
  }
  pack->kind = STORE_PACK_BLOB;
  pack->length = (int)(c - pack->data);
  put_codes(codes, s->count, width, c, &pack->length);
  return true;
}

/* 17 digits: any double. SQLite reads 9e999 as infinite. */
static void pack_text(const double *values, const Series *s, StorePack *pack) {
  char *begin = (char *)pack->data;
  size_t at = 0;
  int places = s->first + (s->count - 1) * s->distance + 1;
  for (int place = 0; place < places; place++) {
    begin[at++] = place ? ',' : '[';
    size_t room = sizeof pack->data - at;
    if (isnan(values[place])) at += (size_t)snprintf(begin + at, room, "null");
    else if (isinf(values[place])) at += (size_t)snprintf(begin + at, room, values[place] < 0 ? "-9e999" : "9e999");
    else {
      char *number = begin + at;
      at += (size_t)snprintf(number, room, "%.17g", values[place]);
      char *comma = strchr(number, ','); /* some locales' decimal point */
      if (comma) *comma = '.';
    }
  }
  begin[at++] = ']';
  pack->kind = STORE_PACK_TEXT;
  pack->length = (int)at;
}

static bool is_constant(const double *values, const bool *present, double value) {
  for (int place = 0; place < STORE_PACK_PLACES; place++)
    if (present[place] && !(values[place] == value)) return false;
  return true;
}

void store_pack(const double values[STORE_PACK_PLACES], const bool *present, StorePack *pack) {
  Series series;
  pack->length = 0;
  pack->kind = STORE_PACK_NONE;
  if (!find_places(values, &series)) return;
  double first = values[series.first];
  if (present && is_constant(values, present, first)) {
    pack->kind = STORE_PACK_NUMBER;
    pack->number = first;
  } else if (!find_numerators(values, &series) || !pack_series(&series, pack)) {
    pack_text(values, &series, pack);
  }
}

void store_pack_bind(sqlite3_stmt *statement, int index, const StorePack *pack) {
  switch (pack->kind) {
    case STORE_PACK_NONE: sqlite3_bind_null(statement, index); break;
    case STORE_PACK_NUMBER: /* whole numbers take fewer bytes, 0 and 1 none */
      if (fabs(pack->number) < numerator_end && pack->number == nearbyint(pack->number))
        sqlite3_bind_int64(statement, index, (int64_t)pack->number);
      else sqlite3_bind_double(statement, index, pack->number);
      break;
    case STORE_PACK_BLOB: sqlite3_bind_blob(statement, index, pack->data, pack->length, SQLITE_STATIC); break;
    case STORE_PACK_TEXT:
      sqlite3_bind_text(statement, index, (const char *)pack->data, pack->length, SQLITE_STATIC);
      break;
  }
}

/* ---- unpacking -------------------------------------------------------------------------------------------------- */

static bool take_decimal(const uint8_t **c, int bytes, int64_t *value) {
  *value = 0;
  for (int i = 0; i < bytes; i++) {
    int high = **c >> 4, low = *(*c)++ & 15;
    if (high > 9 || low > 9) return false;
    *value = 100 * *value + 10 * high + low;
  }
  return true;
}

typedef struct Header { int64_t decimals, width, form, first, distance, base, step; } Header;

static bool take_header(const uint8_t **data, const uint8_t *end, Header *h) {
  const uint8_t *c = *data;
  bool good = end - c >= HEADER && take_decimal(&c, 1, &h->decimals) && take_decimal(&c, 1, &h->width) &&
              take_decimal(&c, 1, &h->form) && take_decimal(&c, 2, &h->first) && take_decimal(&c, 1, &h->distance);
  good = good && h->decimals <= DECIMALS_MAX && h->width >= 1 && h->width <= WIDTH_MAX && h->form <= 2 &&
         h->first < STORE_PACK_PLACES && h->distance >= 1;
  h->base = h->step = offset;
  if (good && h->form == 0)
    good = *data + HEADER_FIXED <= end && take_decimal(&c, 8, &h->base) && take_decimal(&c, 8, &h->step);
  h->base -= offset;
  h->step -= offset;
  *data = c;
  return good;
}

/* The numerator that a code stands for. */
static inline int64_t numerator_of(const Header *h, int64_t k, int64_t u) {
  if (h->form == 0) return h->base + h->step * k + u;
  int64_t high = u / mantissa_end, mantissa = u % mantissa_end;
  int64_t exponent = h->form == 1 ? high : high >> 1;
  int64_t magnitude = mantissa * tens[exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent];
  return h->form == 2 && (high & 1) ? -magnitude : magnitude;
}

/* Eight bytes, the first the highest. */
static inline uint64_t take_word(const uint8_t *c) {
  uint64_t word;
  memcpy(&word, c, sizeof word);
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(word) : word;
}

/* codes[k] = the k-th one: at most 48 bits, which begin in the upper or the lower half of a byte. c has 8 bytes of any
 * content behind the last. */
static void take_codes(const uint8_t *c, int64_t count, int64_t width, uint64_t *codes) {
  const int drop = (int)(64 - 4 * width);
  for (int64_t k = 0; k < count; k++) {
    const int64_t digit = k * width;
    codes[k] = take_word(c + (digit >> 1)) << (digit & 1) * 4 >> drop;
  }
}

static bool unpack_blob(const uint8_t *data, int length, double *values) {
  const uint8_t *c = data, *end = data + length;
  uint8_t bytes[STORE_PACK_BYTES_MAX + 8];
  uint64_t codes[STORE_PACK_PLACES];
  Header h;
  if (!take_header(&c, end, &h)) return false;
  int64_t count = (end - c) * 2 / h.width, most = (STORE_PACK_PLACES - 1 - h.first) / h.distance + 1;
  if (count > most) count = most;
  const size_t used = (size_t)(count * h.width + 1) / 2;
  memcpy(bytes, c, used);
  memset(bytes + used, 0, 8);
  take_codes(bytes, count, h.width, codes);
  const double scale = store_powers_of_ten[h.decimals];
  double *value = values + h.first;
  if (h.form == 0) {
    for (int64_t k = 0; k < count; k++, value += h.distance)
      if (codes[k]) *value = (double)(h.base + h.step * k + (int64_t)codes[k] - 1) / scale;
    return true;
  }
  for (int64_t k = 0; k < count; k++, value += h.distance)
    if (codes[k]) *value = (double)numerator_of(&h, k, (int64_t)codes[k] - 1) / scale;
  return true;
}

static bool unpack_text(const char *c, double *values) {
  char field[40];
  if (*c++ != '[') return false;
  for (int place = 0; place < STORE_PACK_PLACES; place++) {
    size_t length = strcspn(c, ",]");
    if (length >= sizeof field || c[length] == '\0') return false;
    memcpy(field, c, length);
    field[length] = '\0';
    if (strcmp(field, "9e999") == 0 || strcmp(field, "-9e999") == 0)
      values[place] = *field == '-' ? -INFINITY : INFINITY;
    else if (strcmp(field, "null") != 0 && !core_text_to_real(field, &values[place])) return false;
    c += length + 1;
    if (c[-1] == ']') return *c == '\0';
  }
  return false;
}

bool store_unpack(sqlite3_value *value, double values[STORE_PACK_PLACES]) {
  int type = sqlite3_value_type(value);
  double fill = type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_value_double(value) : NAN;
  for (int place = 0; place < STORE_PACK_PLACES; place++) values[place] = fill;
  if (type == SQLITE_BLOB)
    return unpack_blob(sqlite3_value_blob(value), sqlite3_value_bytes(value), values);
  return type != SQLITE_TEXT || unpack_text((const char *)sqlite3_value_text(value), values);
}

/* ---- the same in SQL -------------------------------------------------------------------------------------------- */

/* Three steps, each a subquery: where the code stands (k, width ...), the code's digits t, its number u. LIMIT 1 below
 * a WHERE keeps SQLite from writing the steps into each other, which would repeat their work many times. */
void store_pack_sql(CoreText *sql, const char *c) {
  core_text_appendf(
    sql,
    "CASE typeof(%s) WHEN 'blob' THEN (SELECT iif(f = 0, b + s * k + u, (1 - 2 * (u / 1000000000 & (f - 1)))"
    " * (u %% 1000000000) * substr('1000000', 1, 1 + (u / 1000000000 >> (f - 1)))) / e FROM (SELECT e, f, b, s, k, "
    "(SELECT"
    " sum(instr('123456789ABCDEF', substr(t, place, 1)) << 4 * (w - place)) FROM iteration_place WHERE place BETWEEN 1 "
    "AND"
    " length(t)) - 1 AS u FROM (SELECT e, w, f, b, s, k, substr(hex(substr(%s, iif(f = 0, 23, 7) + k * w / 2, w / 2 + "
    "1)),"
    " 1 + (k * w & 1), w) AS t FROM (SELECT e, w, f, b, s, iif(d < 0 OR d %% n, -1, d / n) AS k FROM",
    c, c);
  core_text_appendf(
    sql,
    " (SELECT CAST('1e' || hex(substr(%s, 1, 1)) AS REAL) AS e, CAST(hex(substr(%s, 2, 1)) AS INTEGER) AS w,"
    " CAST(hex(substr(%s, 3, 1)) AS INTEGER) AS f, p.place - CAST(hex(substr(%s, 4, 2)) AS INTEGER) AS d,"
    " CAST(hex(substr(%s, 6, 1)) AS INTEGER) AS n, CAST(hex(substr(%s, 7, 8)) AS INTEGER) - 5000000000000000 AS b,"
    " CAST(hex(substr(%s, 15, 8)) AS INTEGER) - 5000000000000000 AS s LIMIT 1) LIMIT 1) WHERE k >= 0 LIMIT 1)"
    " WHERE length(t) = w LIMIT 1) WHERE u >= 0) WHEN 'text' THEN json_extract(%s, '$[' || p.place || ']') ELSE %s END "
    "* 1.0",
    c, c, c, c, c, c, c, c, c);
}
