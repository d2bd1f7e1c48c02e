/* JSON as text. jansson prints a double with a fixed number of digits: either too few to read it back, or more than a
 * person wants to see. Here a number is as short as it can be; the rest is jansson's. */
#include "core/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static void append_line(int indent, int depth, CoreText *text) {
  if (indent == 0) return;
  core_text_append(text, "\n");
  for (int i = 0; i < indent * depth; i++) core_text_append(text, " ");
}

static void append_string(const json_t *value, CoreText *text) {
  char *encoded = json_dumps(value, JSON_ENCODE_ANY);
  CORE_CHECK(encoded);
  core_text_append(text, encoded);
  free(encoded);
}

/* A real keeps a point or an exponent, so that whoever reads it back gets a real. */
static void append_real(double value, CoreText *text) {
  char number[32];
  core_text_from_real(value, number);
  core_text_append(text, number);
  if (!strpbrk(number, ".e")) core_text_append(text, ".0");
}

static void append_value(const json_t *value, int indent, int depth, CoreText *text);

static void append_object(const json_t *object, int indent, int depth, CoreText *text) {
  json_t *mutable = (json_t *)object; /* jansson's iterators want it so; nothing is changed */
  bool first = true;
  core_text_append(text, "{");
  for (void *at = json_object_iter(mutable); at; at = json_object_iter_next(mutable, at), first = false) {
    json_t *name = json_string(json_object_iter_key(at));
    if (!first) core_text_append(text, indent ? "," : ", ");
    append_line(indent, depth + 1, text);
    append_string(name, text);
    core_text_append(text, ": ");
    append_value(json_object_iter_value(at), indent, depth + 1, text);
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

json_t *core_json_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *core_json_text(const char *text) {
  json_t *value = json_string(text);
  if (value) return value;
  char *plain = core_text_duplicate(text);
  for (char *c = plain; *c; c++)
    if ((unsigned char)*c >= 0x80) *c = '?';
  value = json_string(plain);
  free(plain);
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
