/* JSON as text: what every `--json` prints and every file of JSON holds. Values are jansson's. */
#ifndef CORE_JSON_H
#define CORE_JSON_H
#include <jansson.h>

#include "core/text.h"

/* Appends `value`; `indent` spaces a level, 0: all on one line. Numbers are the shortest text that reads back to the
 * same double (0.0003, never 0.00029999999999999997), strings UTF-8. Objects keep the order of their insertion. */
void core_json_append(const json_t *value, int indent, CoreText *text);

/* Values: null for what is no number; '?' for each byte that is no ASCII in text that is no UTF-8, such as what was cut
 * to a length. */
json_t *core_json_real(double value);
json_t *core_json_text(const char *text);

/* Prints `value` and a newline to stdout, indented by 2, and gives it back (json_decref). */
void core_json_print(json_t *value);

#endif
