/* Text: a growing buffer, numbers in and out (locale-free), human units, nearest names. Allocation failure aborts. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Zero-initialise; `data` is always NUL-terminated once something was appended. Owner calls core_text_free. */
typedef struct CoreText {
  char *data;
  size_t length, capacity;
} CoreText;

void core_text_append(CoreText *text, const char *string);
void core_text_append_bytes(CoreText *text, const void *bytes, size_t count);
void core_text_appendf(CoreText *text, const char *format, ...) CORE_PRINTF(2, 3);
void core_text_clear(CoreText *text);               /* length 0, memory kept */
void core_text_free(CoreText *text);
const char *core_text_string(const CoreText *text); /* never NULL */

/* Copies, aborting when memory is out; free() the result. */
char *core_text_duplicate(const char *string);
/* Copies into a fixed buffer; CORE_USAGE when it does not fit (the message names `what`). */
int core_text_copy(char *target, size_t capacity, const char *source, const char *what);

/* Whole-string parses; false when anything is left over or out of range. 1e8 is a valid integer (exact only);
 * inf and nan: a real accepts "inf", never "nan". */
bool core_text_to_int(const char *string, int64_t *value);
bool core_text_to_real(const char *string, double *value);
bool core_text_to_bool(const char *string, bool *value); /* yes no true false on off 1 0 */

/* Numbers as people write them, in experiments and on the command line: the same, and with a suffix that multiplies by
 * a power of 1000: 50k, 1.5M, 2G, 1T are 50000, 1500000 ... to the bit. Not for what programs write (run logs, state,
 * JSON): there a suffix is damage. */
bool core_text_to_int_scaled(const char *string, int64_t *value);
bool core_text_to_real_scaled(const char *string, double *value);
/* Why one of the two above refused: ": suffixes are k, M, G and T ...", to stand behind "is not a number"; or "". */
const char *core_text_number_hint(const char *string);

/* The shortest text that reads back to the same double ("0.1", "1e+08" is written "1e8", "inf"). buffer >= 32 bytes. */
const char *core_text_from_real(double value, char *buffer);

/* For people: 1234567 -> "1.23 M"; 93.4 s -> "1 min 33 s". buffer >= 32 bytes. */
const char *core_text_count(double value, char *buffer);
const char *core_text_duration(double seconds, char *buffer);

/* A name that may become part of a path: [A-Za-z0-9._-], first character no '.' or '-', 1..64 characters.
 * CORE_USAGE with a message that names `what` otherwise. */
int core_text_check_name(const char *name, const char *what);

/* Well-formed UTF-8 (no overlong forms, no surrogates)? */
bool core_text_is_utf8(const char *string);
/* Copies "key = value" as "key=value", without blanks around either; text without '=' as it is. Free it. */
char *core_text_pair(const char *pair);
/* Appends the text with U+FFFD for each byte that belongs to no character of UTF-8. */
void core_text_append_utf8(CoreText *text, const char *string);

/* Appends one cell of CSV (RFC 4180), quoted where it must be. Text that a spreadsheet would run as a formula, because
 * it begins with = + - @, a tab or a line's end and is not a number, is preceded by an apostrophe, as people type it
 * there; so is text of apostrophes before such a character, so that reading gives back what was written. */
void core_text_append_cell(CoreText *csv, const char *cell);
/* Reads a cell of such CSV back into `cell`. *last: it ends its row. Returns what follows. */
const char *core_text_read_cell(const char *csv, CoreText *cell, bool *last);
/* Appends "# comment" as a line of CSV, in which no spreadsheet finds a formula either. `length` bytes, one line. */
void core_text_append_csv_comment(CoreText *csv, const char *comment, size_t length);

/* The candidate nearest to `word` (edit distance, at most a third of its length + 1), or NULL. */
const char *core_text_nearest(const char *word, const char *const *candidates, size_t count);

#endif
