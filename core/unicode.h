/* Characters of UTF-8 text: which bytes are some, which may reach a terminal, and which cannot be told from others by
 * looking. Knows no files and no settings. */
#ifndef CORE_UNICODE_H
#define CORE_UNICODE_H
#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

enum { CORE_UNICODE_INVALID = 0x110000 }; /* no code point: a byte that belongs to no character */

/* Decodes the character at *at and steps over it; CORE_UNICODE_INVALID steps over one byte. 0 at the end, without a
 * step. Overlong forms and surrogates are invalid. */
uint32_t core_unicode_next(const char **at);

/* Whether a terminal might act on the character, or a reader see lines in another order: C0 and C1 controls, DEL, line
 * separators and the controls of bidirectional text. Newline and tab are among them. */
bool core_unicode_is_control(uint32_t code);

/* Returns what a character is called that looks like another one, or like nothing ("no-break space"); NULL for all
 * others. */
const char *core_unicode_name(uint32_t code);

/* Finds the first character that a value may not hold: a control, an invalid byte, or one of those with names. Appends
 * "character U+00A0 (no-break space)" or "byte 0xe9, which is not UTF-8"; returns where it stands, NULL without one. */
const char *core_unicode_find_odd(const char *text, CoreText *description);

/* Puts '?' for each control but newline and tab, and for each invalid byte, in place; the text gets no longer. */
void core_unicode_mask(char *text);

#endif
