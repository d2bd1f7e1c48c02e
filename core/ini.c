/* INI parser of experiment and run files (ini.h).  Debian's libinih is not used because it silently truncates lines at
 * 200 bytes (lists of values are longer), does not pass line numbers to its handler, and does not report empty
 * sections. */
#include "core/ini.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/unicode.h"

enum { LINE_BYTES_MAX = 64 << 10, FILE_BYTES_MAX = 16 << 20 };

typedef struct Reader {
  CoreIni *ini;
  size_t capacity;                 /* capacity of ini->entries */
  const char *next, *end;          /* unread text */
  const char *line, *line_end;     /* current line, without its end and comment */
  const char *comment, *comment_end;
  int number;                      /* number of the current line */
  const char *section;
  char *strings;                   /* position of the next string; begin() explains the capacity */
} Reader;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static const char *skip_blanks(const char *s, const char *end) {
  while (s < end && is_blank(*s)) s++;
  return s;
}

static const char *trim_end(const char *start, const char *end) {
  while (end > start && is_blank(end[-1])) end--;
  return end;
}

/* Returns the 1-based column in characters, as editors count them. */
static int column_of(const Reader *r, const char *position) {
  int column = 1;
  for (const char *c = r->line; c < position; c++) column += ((unsigned char)*c & 0xc0) != 0x80;
  return column;
}

static int fault(const Reader *r, const char *position, const char *format, ...) CORE_PRINTF(3, 4);
static int fault(const Reader *r, const char *position, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return core_error(CORE_USAGE, "%s:%d:%d: %s", r->ini->file, r->number, column_of(r, position), message);
}

static CoreIniEntry *add_entry(Reader *r) {
  CoreIni *ini = r->ini;
  if (ini->count == r->capacity) {
    r->capacity = r->capacity ? 2 * r->capacity : 64;
    ini->entries = core_memory_resize(ini->entries, r->capacity * sizeof *ini->entries);
  }
  ini->entries[ini->count] = (CoreIniEntry){.section = r->section, .line = r->number};
  return &ini->entries[ini->count++];
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* Finds the quote that closes the one at `open`; NULL: none on the line. */
static const char *closing_quote(const char *open, const char *end) {
  for (const char *c = open + 1; c < end; c++) {
    if (*c == '\\' && c + 1 < end) c++;
    else if (*c == '"') return c;
  }
  return NULL;
}

/* Finds the end of a text '...' that begins a word and ends one; NULL: the quote at `open` is an apostrophe. */
static const char *closing_single_quote(const Reader *r, const char *open, const char *end) {
  if (open == r->line || !(is_blank(open[-1]) || open[-1] == '=' || open[-1] == ',')) return NULL;
  const char *close = memchr(open + 1, '\'', (size_t)(end - open - 1));
  return close && (close + 1 == end || is_blank(close[1]) || close[1] == ',') ? close : NULL;
}

/* Sets line_end to the start of the comment; quotes protect ';' and '#'. */
static int cut_comment(Reader *r, const char *end) {
  const char *c = r->line;
  for (; c < end; c++) {
    if ((*c == ';' || *c == '#') && (c == r->line || is_blank(c[-1]))) break;
    const char *single = *c == '\'' ? closing_single_quote(r, c, end) : NULL;
    if (single) c = single;
    if (*c != '"') continue;
    const char *close = closing_quote(c, end);
    if (!close) return fault(r, c, "the closing quote is missing");
    c = close;
  }
  r->line_end = trim_end(r->line, c);
  r->comment = c;
  r->comment_end = trim_end(c, end);
  return CORE_OK;
}

/* Checks the whole line including comments, since results.db records the text. */
static int check_bytes(const Reader *r, const char *end) {
  for (const char *c = r->line; c < end;) {
    const char *here = c;
    if (*c == '\0') return fault(r, c, "byte 0x00 cannot stand in a text file; is this the right file?");
    const uint32_t code = core_unicode_next(&c);
    if (code == CORE_UNICODE_INVALID || c > end)
      return fault(r, here, "byte 0x%02x is not UTF-8 text; save the file as UTF-8, or see whether it is the right one",
                   (unsigned char)*here);
    if (code != '\t' && core_unicode_is_control(code))
      return fault(r, here, "control character U+%04X cannot stand in a text file; is this the right file?",
                   (unsigned)code);
  }
  return CORE_OK;
}

/* Rejects characters outside comments that look like a blank, a minus or nothing, which would be invisible in a key or
 * value. */
static int check_characters(const Reader *r) {
  for (const char *c = r->line; c < r->line_end;) {
    const char *here = c;
    const uint32_t code = core_unicode_next(&c);
    if (core_unicode_name(code))
      return fault(r, here, "character U+%04X (%s) is only accepted in comments; type the plain character",
                   (unsigned)code, core_unicode_name(code));
  }
  return CORE_OK;
}

static int next_line(Reader *r) {
  const char *newline = memchr(r->next, '\n', (size_t)(r->end - r->next));
  const char *end = newline ? newline : r->end;
  r->line = r->next;
  r->number++;
  r->next = newline ? newline + 1 : r->end;
  if (end - r->line > LINE_BYTES_MAX) return fault(r, r->line, "this line is longer than %d bytes", LINE_BYTES_MAX);
  if (end > r->line && end[-1] == '\r') end--;
  TRY(check_bytes(r, end));
  TRY(cut_comment(r, end));
  return check_characters(r);
}

/* ---- one line's content --------------------------------------------------------------------------------------- */

/* Normalizes "[grid   com]" to "grid com". */
static int read_section(Reader *r, const char *open) {
  const char *close = memchr(open, ']', (size_t)(r->line_end - open));
  if (!close) return fault(r, r->line_end, "the section's ']' is missing");
  if (close + 1 != r->line_end) return fault(r, close + 1, "nothing may follow the section's ']'");

  char *name = r->strings, *out = name;
  for (const char *c = open + 1; c < close; c++) {
    if (*c == '[' || *c == '"') return fault(r, c, "a section's name may not hold %c", *c);
    if (!is_blank(*c)) *out++ = *c;
    else if (out > name && out[-1] != ' ') *out++ = ' ';
  }

  if (out > name && out[-1] == ' ') out--;
  if (out == name) return fault(r, open, "the section has no name");
  *out++ = '\0';
  r->strings = out;
  r->section = name;
  add_entry(r)->column = column_of(r, open);
  return CORE_OK;
}

/* Reads a value up to the end of the line, and following lines while one ends in '\'. */
static int read_plain_value(Reader *r, const char *start) {
  const char *value = r->strings;
  for (;;) {
    const char *end = r->line_end;
    bool goes_on = end > start && end[-1] == '\\';
    if (goes_on) end = trim_end(start, end - 1);
    memcpy(r->strings, start, (size_t)(end - start));
    r->strings += end - start;
    if (!goes_on) break;
    if (r->next == r->end) return fault(r, r->line_end - 1, "the file ends after '\\', which announces another line");
    TRY(next_line(r));
    start = skip_blanks(r->line, r->line_end);
    *r->strings++ = ' '; /* replaces the '\' */
  }

  while (r->strings > value && r->strings[-1] == ' ') r->strings--; /* the last line may be blank */
  return CORE_OK;
}

static void read_quoted_value(Reader *r, const char *start, const char *close) {
  for (const char *c = start + 1; c < close; c++) {
    if (*c == '\\' && (c[1] == '"' || c[1] == '\\')) c++;
    *r->strings++ = *c;
  }
}

/* Whether the value is one '...', which has no escapes. */
static bool is_single_quoted(const char *value, const char *end) {
  return end - value >= 2 && *value == '\'' && memchr(value + 1, '\'', (size_t)(end - value - 1)) == end - 1;
}

static void append_string(Reader *r, const char *start, const char *end) {
  memcpy(r->strings, start, (size_t)(end - start));
  r->strings += end - start;
}

static int read_key(Reader *r, const char *start) {
  static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

  const char *equals = memchr(start, '=', (size_t)(r->line_end - start));
  if (!equals) return fault(r, start, "neither [section] nor key = value");
  const char *key_end = trim_end(start, equals);
  if (key_end == start) return fault(r, start, "a key is missing before '='");

  for (const char *c = start; c < key_end; c++)
    if (!strchr(allowed, *c)) return fault(r, c, "a key may hold only letters, digits, '.', '_' and '-'");
  const char *value = skip_blanks(equals + 1, r->line_end);
  CoreIniEntry *entry = add_entry(r);
  entry->key_column = column_of(r, start);
  entry->column = column_of(r, value);
  entry->key = r->strings;
  append_string(r, start, key_end);
  *r->strings++ = '\0';

  const size_t index = r->ini->count - 1;
  const bool is_double = value < r->line_end && *value == '"' && closing_quote(value, r->line_end) == r->line_end - 1;
  const bool is_single = is_single_quoted(value, r->line_end);
  entry->is_quoted = is_double || is_single;
  entry->value = r->strings;
  if (is_double) read_quoted_value(r, value, r->line_end - 1);
  else if (is_single) append_string(r, value + 1, r->line_end - 1);
  else TRY(read_plain_value(r, value));
  *r->strings++ = '\0';

  r->ini->entries[index].comment = r->strings;
  append_string(r, r->comment, r->comment_end);
  *r->strings++ = '\0';
  return CORE_OK;
}

/* ---- interface ------------------------------------------------------------------------------------------------ */

static void begin(Reader *r, const char *name, const char *text, size_t size, CoreIni *ini) {
  *ini = (CoreIni){.file = core_text_duplicate(name)};
  /* No string is longer than its source: the NULs of "key=value #comment\n" replace '=', ' ' and '\n', that of a
   * section replaces ']'. Without a comment, its NUL needs one more byte per key. So does a last line without '\n'. */
  ini->memory = core_memory_allocate(2 * size + 2);
  *r = (Reader){.ini = ini, .next = text, .end = text + size, .section = "", .strings = ini->memory};
  if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) r->next += 3; /* a byte order mark */
}

static int parse(const char *name, const char *text, size_t size, CoreIni *ini) {
  Reader r;
  int code = CORE_OK;
  begin(&r, name, text, size, ini);
  while (r.next < r.end) {
    if (code != CORE_OK) break;
    TRY_GOTO(code, out, next_line(&r));
    const char *start = skip_blanks(r.line, r.line_end);
    if (start == r.line_end) continue;
    code = *start == '[' ? read_section(&r, start) : read_key(&r, start);
  }
out:
  CORE_CHECK(r.strings <= (char *)ini->memory + 2 * size + 2);
  if (code != CORE_OK) core_ini_free(ini);
  return code;
}

int core_ini_parse(const char *name, const char *text, CoreIni *ini) { return parse(name, text, strlen(text), ini); }

int core_ini_read(const char *path, CoreIni *ini) {
  char *text;
  size_t size;
  *ini = (CoreIni){0};
  TRY(core_files_read(path, FILE_BYTES_MAX, &text, &size));
  int code = parse(path, text, size, ini);
  free(text);
  return code;
}

/* Returns the length of an item that is one '...'; 0: it is another one, such as a word with an apostrophe. */
static size_t single_quoted_length(const char *item) {
  const char *close = *item == '\'' ? strchr(item + 1, '\'') : NULL;
  if (!close) return 0;
  const char *after = close + 1;
  while (is_blank(*after)) after++;
  return *after == ',' || !*after ? (size_t)(after - item) : 0;
}

bool core_ini_next_item(const char **tail, CoreText *item, const char **start) {
  const char *c = *tail;
  core_text_clear(item);
  if (!c) return false;

  while (is_blank(*c)) c++;
  *start = c;
  const size_t single = single_quoted_length(c);
  if (single > 0) {
    core_text_append_bytes(item, c + 1, (size_t)(strchr(c + 1, '\'') - c - 1));
    *tail = c[single] ? c + single + 1 : NULL;
    return true;
  }

  size_t kept = 0; /* length without trailing blanks */
  bool quoted = false;
  for (; *c && (quoted || *c != ','); c++) {
    if (*c == '"') {
      quoted = !quoted;
      kept = item->length;
      continue;
    }
    if (quoted && *c == '\\' && (c[1] == '"' || c[1] == '\\')) c++;
    core_text_append_bytes(item, c, 1);
    if (quoted || !is_blank(*c)) kept = item->length;
  }

  core_text_append_bytes(item, "", 0);
  item->length = kept;
  if (item->data) item->data[kept] = '\0';
  *tail = *c ? c + 1 : NULL;
  return true;
}

void core_ini_free(CoreIni *ini) {
  free(ini->file);
  free(ini->entries);
  free(ini->memory);
  *ini = (CoreIni){0};
}

static int point_at(const CoreIni *ini, int line, int column, const char *format, va_list arguments) {
  char message[2048]; /* separate buffer, since an argument may be the current message */
  vsnprintf(message, sizeof message, format, arguments);
  return core_error(CORE_USAGE, "%s:%d:%d: %s", ini->file, line, column, message);
}

void core_ini_append_quoted(CoreText *text, const char *value) {
  core_text_append(text, "\"");
  for (; *value; value++) {
    if (*value == '"' || *value == '\\') core_text_append(text, "\\");
    core_text_append_bytes(text, value, 1);
  }
  core_text_append(text, "\"");
}

int core_ini_error(const CoreIni *ini, const CoreIniEntry *entry, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int code = point_at(ini, entry->line, entry->column, format, arguments);
  va_end(arguments);
  return code;
}

int core_ini_error_key(const CoreIni *ini, const CoreIniEntry *entry, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int code = point_at(ini, entry->line, entry->key_column, format, arguments);
  va_end(arguments);
  return code;
}
