/* Text: a growing buffer, locale-independent parsing and formatting of numbers, human units, nearest names. Aborts if
 * memory is exhausted. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Growing buffer. Zero-initialize; `data` is NUL-terminated after the first append. Owner calls core_text_free. */
typedef struct CoreText {
  char *data;
  size_t length, capacity;
} CoreText;

void core_text_append(CoreText *text, const char *string);
void core_text_append_bytes(CoreText *text, const void *bytes, size_t count);
void core_text_appendf(CoreText *text, const char *format, ...) CORE_PRINTF(2, 3);
void core_text_clear(CoreText *text); /* sets length 0, keeps the memory */
void core_text_free(CoreText *text);
const char *core_text_string(const CoreText *text); /* never NULL */

/* Appends a word in quotes for a POSIX shell: 'it'\''s'. */
void core_text_append_shell(CoreText *text, const char *word);
/* Computes FNV-1a (Fowler, Noll and Vo), for hash tables and as an index of random numbers. */
uint32_t core_text_hash(const char *string);
/* Copies a string. Caller frees it. */
char *core_text_duplicate(const char *string);
/* Copies into a fixed buffer. CORE_USAGE: it does not fit; the message names `what`. */
int core_text_copy(char *target, size_t capacity, const char *source, const char *what);

/* Parse a complete string. false: invalid or out of range. Integers may be written 1e8 if exact; reals may be "inf" but
 * not "nan". */
bool core_text_to_int(const char *string, int64_t *value);
bool core_text_to_real(const char *string, double *value);
bool core_text_to_bool(const char *string, bool *value); /* yes no true false on off 1 0 */

/* Parse numbers that users write, in experiments and on the command line, with an optional suffix for a power of 1000:
 * 50k, 1.5M, 2G and 1T are exactly 50000, 1500000, ... Not for files written by programs (run logs, state, JSON), where
 * a suffix is corruption. */
bool core_text_to_int_scaled(const char *string, int64_t *value);
bool core_text_to_real_scaled(const char *string, double *value);
/* Returns the reason why these failed, to append to "... is not a number": ": suffixes are k, M, G and T ..."; "": no
 * hint. */
const char *core_text_number_hint(const char *string);

/* Parses a duration that users write: seconds, or a number with a unit: 90, 90s, 10m (or min), 1.5h, 2d. */
bool core_text_to_duration(const char *string, double *seconds);

/* Formats the shortest text that parses to the same double ("0.1", "1e8", "inf"). buffer: at least 32 bytes. */
const char *core_text_from_real(double value, char *buffer);

/* Format with units: 1234567 as "1.23 M", 93.4 s as "1 min 33 s". buffer: at least 32 bytes. */
const char *core_text_count(double value, char *buffer);
const char *core_text_duration(double seconds, char *buffer);

/* Checks a name that becomes part of a path: 1 to 64 characters of [A-Za-z0-9._-], the first not '.' or '-'.
 * CORE_USAGE: it is invalid; the message names `what`. */
int core_text_check_name(const char *name, const char *what);

/* Whether the string is well-formed UTF-8 (no overlong forms, no surrogates). */
bool core_text_is_utf8(const char *string);
/* Copies "key = value" as "key=value" without blanks around either; copies text without '=' unchanged. Caller frees
 * it. */
char *core_text_normalize_pair(const char *pair);
/* Appends the string with U+FFFD for each byte that is not part of a valid character. */
void core_text_append_utf8(CoreText *text, const char *string);

/* Appends text as XML: markup is escaped, tabs become blanks, and characters that are unsafe (core/unicode.h) or not
 * allowed in XML become '?'. */
void core_text_append_xml(CoreText *xml, const char *text);
/* Appends a cell of CSV (RFC 4180), quoted if necessary. Text that a spreadsheet would evaluate as a formula, because
 * it begins with = + - @, a tab or a line break and is not a number, gets an apostrophe in front, as in spreadsheets.
 * So does a run's id that reads as a number, and such text that already begins with apostrophes, so that it can be
 * restored. */
void core_text_append_cell(CoreText *csv, const char *cell);
/* Reads a cell written by core_text_append_cell. *last: whether it ends its row. Returns the position after it. */
const char *core_text_read_cell(const char *csv, CoreText *cell, bool *last);
/* Appends the line "# comment" to a CSV, escaped so that no spreadsheet evaluates a part of it as a formula. `length`:
 * bytes of the comment. */
void core_text_append_csv_comment(CoreText *csv, const char *comment, size_t length);

/* Returns the candidate nearest to `word` by edit distance, if the distance is at most a third of the word's length,
 * plus 1; NULL: none. */
const char *core_text_nearest(const char *word, const char *const *candidates, size_t count);

#endif
