/* JSON as text: what every `--json` prints and every file of JSON holds. Values are jansson's. */
#ifndef CORE_JSON_H
#define CORE_JSON_H
#include <jansson.h>

#include "core/text.h"

/* Appends `value`; `indent` spaces a level, 0: all on one line. Numbers are the shortest text that reads back to the
 * same double (0.0003, never 0.00029999999999999997), strings UTF-8. Objects keep the order of their insertion. */
void core_json_append(const json_t *value, int indent, CoreText *text);

/* Values: null for what is no number, or NULL; U+FFFD for each byte that belongs to no character of UTF-8, as in file
 * names of other encodings, and text that was cut to a length. Never NULL. */
json_t *core_json_real(double value);
json_t *core_json_text(const char *text);

/* What json_pack is in this tree: jansson's gives NULL for text that is no UTF-8 and for NaN, which prints as a crash.
 * This one never fails: strings and numbers are as above. format: { } [ ] s (const char *, also of keys) s% (and its
 * length, size_t) f (double) i (int) I (json_int_t) b (int) n o (json_t *, taken over) O (json_t *, kept). A json_t *
 * that is NULL becomes null. */
json_t *core_json_pack(const char *format, ...);
#define json_pack core_json_pack
#define json_string core_json_text

/* Prints `value` and a newline to stdout, indented by 2, and gives it back (json_decref). */
void core_json_print(json_t *value);

#endif
