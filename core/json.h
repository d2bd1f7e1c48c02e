/* JSON output for `--json` and files, and safe construction of jansson values. */
#ifndef CORE_JSON_H
#define CORE_JSON_H
#include <jansson.h>

#include "core/text.h"

/* Appends `value` with `indent` spaces per level (0: on one line). Numbers are the shortest text that parses to the
 * same double (0.0003, never 0.00029999999999999997), strings are UTF-8. Objects keep their insertion order. */
void core_json_append(const json_t *value, int indent, CoreText *text);
/* Appends a value that is `depth` levels inside a document, for documents that are written in pieces. */
void core_json_append_nested(const json_t *value, int indent, int depth, CoreText *text);

/* Make values, never NULL: null for NaN, infinities and NULL; U+FFFD for each invalid byte of UTF-8, as in file names
 * of other encodings or truncated text. */
json_t *core_json_real(double value);
json_t *core_json_text(const char *text);

/* Replaces jansson's json_pack, which returns NULL for invalid UTF-8 and NaN. This one never fails: strings and numbers
 * are converted as above. Format: { } [ ] s (const char *, also keys) s% (with its length, size_t) f (double) i (int) I
 * (json_int_t) b (int) n o (json_t *, reference stolen) O (json_t *, reference kept). A NULL json_t * becomes null. */
json_t *core_json_pack(const char *format, ...);
#define json_pack core_json_pack
#define json_string core_json_text

/* Prints `value` and a newline to stdout, indented by 2, and releases it (json_decref). */
void core_json_print(json_t *value);

#endif
