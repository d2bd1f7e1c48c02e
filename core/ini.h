/* Parses INI text into a list of entries with their positions. Keys, duplicates and values are the caller's business.
 * Grammar: "[section]" or "[kind name]"; "key = value", keys of letters, digits, '.', '_' and '-'; ';' or '#' begin a
 * comment at the start of a line or after white space. A value that is one "..." loses its quotes (inside, \" and \\
 * mean " and \), and so does one that is one '...'; elsewhere in a value, quotes are kept. Both protect ; and #.
 * A line that ends in '\' (before a comment) continues on the next; the two are joined by one space. Bytes below 0x20
 * other than tab and the line's end, lines over 64 KiB, and files over 16 MiB are errors. */
#ifndef CORE_INI_H
#define CORE_INI_H
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/text.h"

typedef struct CoreIniEntry {
  const char *section; /* "grid com"; "" before the first section */
  const char *key;     /* NULL: entry of the section line itself, so that empty sections are visible */
  const char *value;
  int line, column;    /* 1-based, in characters; column of the value (of the '[' for a section line) */
  int key_column;      /* column of the key; 0 for a section line */
  const char *comment; /* "; text" or "# text" that follows the value on its (last) line; "": none */
  bool is_quoted;      /* whether the value was one quoted text */
} CoreIniEntry;

typedef struct CoreIni {
  char *file;          /* path as given, for messages */
  CoreIniEntry *entries;
  size_t count;
  void *memory;        /* block that holds all strings */
} CoreIni;

/* Reads a file. CORE_USAGE with "file:line:column: ...": syntax error; CORE_FAIL: the file cannot be read. */
int core_ini_read(const char *path, CoreIni *ini);
int core_ini_parse(const char *name, const char *text, CoreIni *ini);
void core_ini_free(CoreIni *ini);

/* Appends a value in quotes, which protect ';', '#' and surrounding blanks; the reader removes them. */
void core_ini_append_quoted(CoreText *text, const char *value);

/* Set the error "file:line:column: message" at an entry's value or at its key, and return CORE_USAGE. Arguments may be
 * core_error_message(). */
int core_ini_error(const CoreIni *ini, const CoreIniEntry *entry, const char *format, ...) CORE_PRINTF(3, 4);
int core_ini_error_key(const CoreIni *ini, const CoreIniEntry *entry, const char *format, ...) CORE_PRINTF(3, 4);

/* Splits the next comma-separated item off *tail (initially the whole value) into `item`, trimmed and without "..." or
 * '...', and sets *start to its beginning in the text. Returns false at the end. Empty items are returned, too. */
bool core_ini_next_item(const char **tail, CoreText *item, const char **start);

#endif
