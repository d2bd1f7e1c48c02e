/* INI text to a list of entries that remember where they stood. Knows no key; duplicates and meaning are the callers'.
 *
 * Grammar: "[section]" or "[kind name]"; "key = value", keys of letters, digits, '.', '_' and '-'; ';' or '#' begin a
 * comment at the line's start or after white space. A value that is one "..." loses its quotes (inside, \" and \\ stand
 * for " and \); elsewhere in a value, quotes stay and only make ; and # plain. A line that ends in '\' (comment aside)
 * goes on in the next; the two are joined by one space. Bytes below 0x20 other than tab and the line's end, lines over
 * 64 KiB, and files over 16 MiB are errors. */
#ifndef CORE_INI_H
#define CORE_INI_H
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/text.h"

typedef struct CoreIniEntry {
  const char *section; /* "grid com"; "" before the first section */
  const char *key;     /* NULL for the section line itself, so that empty sections are seen */
  const char *value;
  int line, column;    /* 1-based, in characters; column of the value (of the '[' for a section line) */
  int key_column;      /* column of the key; 0 for a section line */
} CoreIniEntry;

typedef struct CoreIni {
  char *file;          /* as given, for messages */
  CoreIniEntry *entries;
  size_t count;
  void *memory;        /* owns all strings */
} CoreIni;

/* CORE_USAGE with "file:line:column: what" on a syntax error, CORE_FAIL when the file can not be read. */
int core_ini_read(const char *path, CoreIni *ini);
int core_ini_parse(const char *name, const char *text, CoreIni *ini);
void core_ini_free(CoreIni *ini);

/* An error that points at an entry's value, or its key: "file:line:column: message". Returns CORE_USAGE. The arguments
 * may hold core_error_message(). */
int core_ini_error(const CoreIni *ini, const CoreIniEntry *entry, const char *format, ...) CORE_PRINTF(3, 4);
int core_ini_error_key(const CoreIni *ini, const CoreIniEntry *entry, const char *format, ...) CORE_PRINTF(3, 4);

/* Of a value that is a list: cuts the next comma-separated item off *rest (at first: the whole text): trimmed, quotes
 * and their backslashes resolved, into `item`. *start: where it begins in the text. false at the end. An empty item is
 * the caller's error. */
bool core_ini_next_item(const char **rest, CoreText *item, const char **start);

#endif
