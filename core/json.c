/* Formats JSON with the shortest digits per number, since jansson prints doubles with a fixed precision: too few digits
 * to round-trip, or more than necessary. */
#include "core/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/unicode.h"

#undef json_string /* this file uses jansson's own */

static void append_line(int indent, int depth, CoreText *text) {
  if (indent == 0) return;
  core_text_append(text, "\n");
  for (int i = 0; i < indent * depth; i++) core_text_append(text, " ");
}

static void append_escape(uint32_t code, CoreText *text) {
  if (code < 0x10000) core_text_appendf(text, "\\u%04x", (unsigned)code);
  else core_text_appendf(text, "\\u%04x\\u%04x", 0xd800 + (unsigned)((code - 0x10000) >> 10),
                         0xdc00 + (unsigned)(code & 0x3ff));
}

static void append_string(const json_t *value, CoreText *text) {
  char *encoded = json_dumps(value, JSON_ENCODE_ANY);
  CORE_CHECK(encoded);
  /* jansson escapes only C0 controls, and JSON is also printed to terminals. */
  for (const char *cursor = encoded; *cursor;) {
    const char *here = cursor;
    const uint32_t code = core_unicode_next(&cursor);
    if (core_unicode_is_unsafe(code)) append_escape(code, text);
    else core_text_append_bytes(text, here, (size_t)(cursor - here));
  }
  free(encoded);
}

/* Keeps a point or an exponent, so that a real is parsed as a real. */
static void append_real(double value, CoreText *text) {
  char number[32];
  core_text_from_real(value, number);
  core_text_append(text, number);
  if (!strpbrk(number, ".e")) core_text_append(text, ".0");
}

static void append_value(const json_t *value, int indent, int depth, CoreText *text);

static void append_object(const json_t *object, int indent, int depth, CoreText *text) {
  json_t *mutable = (json_t *)object; /* jansson's iterators take a mutable object; nothing is changed */
  bool first = true;
  core_text_append(text, "{");
  for (void *iterator = json_object_iter(mutable); iterator; iterator = json_object_iter_next(mutable, iterator)) {
    json_t *name = core_json_text(json_object_iter_key(iterator));
    if (!first) core_text_append(text, indent ? "," : ", ");
    first = false;
    append_line(indent, depth + 1, text);
    append_string(name, text);
    core_text_append(text, ": ");
    append_value(json_object_iter_value(iterator), indent, depth + 1, text);
    json_decref(name);
  }
  if (!first) append_line(indent, depth, text);
  core_text_append(text, "}");
}

static void append_array(const json_t *array, int indent, int depth, CoreText *text) {
  const size_t count = json_array_size(array);
  core_text_append(text, "[");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) core_text_append(text, indent ? "," : ", ");
    append_line(indent, depth + 1, text);
    append_value(json_array_get(array, i), indent, depth + 1, text);
  }
  if (count > 0) append_line(indent, depth, text);
  core_text_append(text, "]");
}

static void append_value(const json_t *value, int indent, int depth, CoreText *text) {
  switch (json_typeof(value)) {
    case JSON_OBJECT: append_object(value, indent, depth, text); break;
    case JSON_ARRAY: append_array(value, indent, depth, text); break;
    case JSON_STRING: append_string(value, text); break;
    case JSON_INTEGER: core_text_appendf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: append_real(json_real_value(value), text); break;
    case JSON_TRUE: core_text_append(text, "true"); break;
    case JSON_FALSE: core_text_append(text, "false"); break;
    case JSON_NULL: core_text_append(text, "null"); break;
  }
}

void core_json_append(const json_t *value, int indent, CoreText *text) { append_value(value, indent, 0, text); }

void core_json_append_nested(const json_t *value, int indent, int depth, CoreText *text) {
  append_value(value, indent, depth, text);
}

json_t *core_json_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *core_json_text(const char *text) {
  if (!text) return json_null();
  json_t *value = json_string(text);
  if (value) return value;
  CoreText plain = {0};
  core_text_append_utf8(&plain, text);
  value = json_string(core_text_string(&plain));
  core_text_free(&plain);
  return value;
}

/* Rest of a format string with its arguments. */
typedef struct Packing { const char *format; va_list arguments; } Packing;

static char next(Packing *p) {
  p->format += strspn(p->format, " ,:");
  return *p->format ? *p->format++ : '\0';
}

static json_t *pack(Packing *p, char kind);

/* Reads a string argument; with "s%" its length follows as a size_t. */
static json_t *pack_text(Packing *p) {
  const char *text = va_arg(p->arguments, const char *);
  if (*p->format != '%') return core_json_text(text);
  p->format++;
  CoreText item = {0};
  core_text_append_bytes(&item, text, va_arg(p->arguments, size_t));
  json_t *value = core_json_text(core_text_string(&item));
  core_text_free(&item);
  return value;
}

static json_t *pack_object(Packing *p) {
  json_t *object = json_object();
  for (char kind = next(p); kind != '}'; kind = next(p)) {
    CORE_CHECK(kind == 's');
    const char *key = va_arg(p->arguments, const char *);
    json_object_set_new(object, key, pack(p, next(p)));
  }
  return object;
}

static json_t *pack_array(Packing *p) {
  json_t *array = json_array();
  for (char kind = next(p); kind != ']'; kind = next(p)) json_array_append_new(array, pack(p, kind));
  return array;
}

static json_t *pack(Packing *p, char kind) {
  json_t *given;
  switch (kind) {
    case '{': return pack_object(p);
    case '[': return pack_array(p);
    case 's': return pack_text(p);
    case 'f': return core_json_real(va_arg(p->arguments, double));
    case 'i': return json_integer(va_arg(p->arguments, int));
    case 'I': return json_integer(va_arg(p->arguments, json_int_t));
    case 'b': return json_boolean(va_arg(p->arguments, int));
    case 'n': return json_null();
    case 'o': return (given = va_arg(p->arguments, json_t *)) ? given : json_null();
    case 'O': return (given = va_arg(p->arguments, json_t *)) ? json_incref(given) : json_null();
    default: CORE_CHECK(!"a format of core_json_pack"); return NULL;
  }
}

json_t *core_json_pack(const char *format, ...) {
  Packing packing = {.format = format};
  va_start(packing.arguments, format);
  json_t *value = pack(&packing, next(&packing));
  va_end(packing.arguments);
  return value;
}

void core_json_print(json_t *value) {
  CoreText text = {0};
  core_json_append(value, 2, &text);
  core_text_append(&text, "\n");
  fwrite(text.data, 1, text.length, stdout);
  core_text_free(&text);
  json_decref(value);
}
