/* Classification of UTF-8 characters: invalid bytes, characters unsafe for a terminal, and lookalikes. */
#ifndef CORE_UNICODE_H
#define CORE_UNICODE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/text.h"

enum { CORE_UNICODE_INVALID = 0x110000 }; /* invalid byte, not a code point */

/* Decodes the character at *cursor and advances past it; CORE_UNICODE_INVALID advances by one byte. Returns 0 at the
 * end without advancing. Overlong forms and surrogates are invalid. */
uint32_t core_unicode_next(const char **cursor);

/* Encodes a code point as UTF-8, terminated by NUL. */
void core_unicode_encode(uint32_t code, char utf8[5]);

/* Whether a terminal could interpret the character or reorder text by it: C0 and C1 controls including newline and tab,
 * DEL, line separators, bidirectional controls. */
bool core_unicode_is_control(uint32_t code);

/* Returns the name of an invisible character or lookalike ("no-break space"); NULL for all others. */
const char *core_unicode_name(uint32_t code);

/* Finds the first character that is not allowed in a value: a control, an invalid byte or a lookalike. Appends
 * "character U+00A0 (no-break space)" or "byte 0xe9, which is not UTF-8" and returns its position; NULL: none. */
const char *core_unicode_find_odd(const char *text, CoreText *description);

/* Finds the first letter that is written in two characters (decomposed, NFD, as on macOS), or in one that always stands
 * for another (U+212B for U+00C5): text that looks like another one. Appends "character U+0301, part of ..." and
 * returns its position; NULL: none. */
const char *core_unicode_find_decomposed(const char *text, CoreText *description);

/* Whether the character must not be shown in text of other people: a control, an invalid byte, or a character that
 * hides or disguises text without being part of a word (byte order mark, zero-width space, tags). Letters of all
 * alphabets, combining marks, emoji and their joiners are safe. The pages have the same list (UNSAFE in tools.js,
 * report_page.html). */
bool core_unicode_is_unsafe(uint32_t code);

/* Replaces each unsafe character except newline and tab by '?' in place. The text does not grow. All text of other
 * people (files, results.db, answers of programs) passes here before a terminal shows it. */
void core_unicode_mask(char *text);
void core_unicode_mask_line(char *text); /* also newlines and tabs, by blanks */

/* Prints like fprintf, masked: for names of files and directories, which others may have chosen. Colors are masked,
 * too. */
void core_unicode_print(FILE *out, const char *format, ...) CORE_PRINTF(2, 3);

#endif
