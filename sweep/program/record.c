/* Names, records and their JSON form (record.h). */
#include "sweep/program/record.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/memory.h"
#include "core/unicode.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Computes FNV-1a. */
static uint64_t hash_bytes(const char *bytes, size_t count) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < count; i++) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
  return hash ^ hash >> 31;
}

static size_t find_slot(const ProgramNames *names, const char *name) {
  size_t slot = hash_bytes(name, strlen(name)) & (names->slot_count - 1);
  while (names->slots[slot] && strcmp(names->items[names->slots[slot] - 1], name) != 0)
    slot = (slot + 1) & (names->slot_count - 1);
  return slot;
}

static void grow(ProgramNames *names) {
  names->capacity = names->capacity ? 2 * names->capacity : 64;
  names->items = core_memory_resize(names->items, names->capacity * sizeof *names->items);
  free(names->slots);
  names->slot_count = 4 * names->capacity;
  names->slots = core_memory_zero_allocate(names->slot_count, sizeof *names->slots);
  for (size_t i = 0; i < names->count; i++) names->slots[find_slot(names, names->items[i])] = i + 1;
}

/* Copies a name as one line of valid UTF-8. One that is too long ends with a hash, so that it stays different from
 * others of equal beginning. */
static void sanitize(const char *name, size_t length, char text[PROGRAM_NAME_MAX]) {
  enum { HASH_LENGTH = 9 };
  char hash[HASH_LENGTH + 1] = "";
  size_t kept = length;

  if (length >= PROGRAM_NAME_MAX) {
    kept = PROGRAM_NAME_MAX - 1 - HASH_LENGTH;
    while (kept > 0 && ((unsigned char)name[kept] & 0xc0) == 0x80) kept--;
    snprintf(hash, sizeof hash, "~%08x", (unsigned)hash_bytes(name, length));
  }
  memcpy(text, name, kept);
  text[kept] = '\0';
  for (size_t i = 0; i < kept; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) text[i] = '?';
  core_unicode_mask(text);
  memcpy(text + strlen(text), hash, strlen(hash) + 1);
}

static void trim(const char **text, size_t *length) {
  while (*length > 0 && strchr(" \t\r\n", **text)) {
    ++*text;
    --*length;
  }
  while (*length > 0 && strchr(" \t\r\n", (*text)[*length - 1])) --*length;
}

size_t program_names_add_exact(ProgramNames *names, const char *text) {
  if (names->count == names->capacity) grow(names);
  const size_t slot = find_slot(names, text);
  if (names->slots[slot]) return names->slots[slot] - 1;
  names->items[names->count] = core_text_duplicate(text);
  names->slots[slot] = ++names->count;
  return names->count - 1;
}

void program_names_reserve(ProgramNames *names, const char *name) {
  names->reserved = core_memory_resize(names->reserved, (names->reserved_count + 1) * sizeof *names->reserved);
  names->reserved[names->reserved_count++] = name;
}

static bool is_reserved(const ProgramNames *names, const char *name) {
  for (size_t i = 0; i < names->reserved_count; i++)
    if (strcmp(names->reserved[i], name) == 0) return true;
  return false;
}

size_t program_names_add(ProgramNames *names, const char *name, size_t length) {
  char text[PROGRAM_NAME_MAX];
  trim(&name, &length);
  if (length == 0) return SIZE_MAX;
  sanitize(name, length, text);
  const bool has_room = names->count < PROGRAM_NAMES_MAX || program_names_find(names, text) != SIZE_MAX;
  if (has_room || is_reserved(names, text)) return program_names_add_exact(names, text);
  names->dropped++;
  return SIZE_MAX;
}

size_t program_names_find(const ProgramNames *names, const char *name) {
  const size_t slot = names->count > 0 ? names->slots[find_slot(names, name)] : 0;
  return slot > 0 ? slot - 1 : SIZE_MAX;
}

void program_names_free(ProgramNames *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i]);
  free(names->items);
  free(names->slots);
  free(names->reserved);
  *names = (ProgramNames){0};
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

void program_record_clear(ProgramRecord *record) {
  record->count = 0;
  record->evaluation[0] = '\0';
}

void program_record_add(ProgramRecord *record, const char *name, size_t length, double value) {
  const size_t index = program_names_add(record->names, name, length);
  if (index == SIZE_MAX) return;

  if (record->count == record->capacity) {
    record->capacity = record->capacity ? 2 * record->capacity : 32;
    record->values = core_memory_resize(record->values, record->capacity * sizeof *record->values);
  }
  record->values[record->count++] = (ProgramValue){index, value};
}

void program_record_free(ProgramRecord *record) {
  free(record->values);
  record->values = NULL;
  record->count = 0;
  record->capacity = 0;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t length, const char *word) {
  return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

bool program_number_parse(const char *text, size_t length, double *value) {
  static const struct { const char *word; double value; } words[] = {
    {"true", 1}, {"false", 0}, {"nan", NAN}, {"inf", INFINITY}, {"infinity", INFINITY}};
  char small[64], *end;

  trim(&text, &length);
  const bool is_signed = length > 1 && strchr("+-", *text);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const bool has_sign = is_signed && i >= 2;
    if (!is_word(text + has_sign, length - has_sign, words[i].word)) continue;
    *value = *text == '-' ? -words[i].value : words[i].value;
    return true;
  }

  for (size_t i = 0; i < length; i++)
    if (!text[i] || !strchr("+-.0123456789eE", text[i])) return false;
  char *copy = length < sizeof small ? small : core_memory_allocate(length + 1);
  memcpy(copy, text, length);
  copy[length] = '\0';
  *value = strtod(copy, &end);
  const bool is_number = length > 0 && *end == '\0';
  if (copy != small) free(copy);
  return is_number;
}

void program_ignored_add(ProgramIgnored *ignored, const char *name, size_t name_length, const char *value,
                         size_t length) {
  enum { NAMES_MAX = 64 };
  char text[PROGRAM_NAME_MAX];
  trim(&name, &name_length);
  trim(&value, &length);
  if (!ignored || length == 0 || name_length == 0) return;
  sanitize(name, name_length, text);

  size_t i = 0;
  while (i < ignored->count && strcmp(ignored->items[i].name, text) != 0) i++;
  if (i == NAMES_MAX) return;
  if (i == ignored->count) {
    ignored->items = core_memory_resize(ignored->items, (i + 1) * sizeof *ignored->items);
    ignored->items[i] = (struct ProgramIgnoredName){0};
    memcpy(ignored->items[i].name, text, sizeof text);
    snprintf(ignored->items[i].example, sizeof ignored->items[i].example, "%.*s", length < 24 ? (int)length : 24,
             value);
    core_unicode_mask(ignored->items[i].example);
    ignored->count++;
  }
  ignored->items[i].count++;
}

void program_ignored_free(ProgramIgnored *ignored) {
  free(ignored->items);
  *ignored = (ProgramIgnored){0};
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* A parser of its own instead of jansson's: programs write NaN and Infinity, as Python's json does, and invalid UTF-8;
 * and nested brackets must cost neither stack nor memory. */
enum { DEPTH_MAX = 32, JSON_PATH_MAX = 512 };

typedef struct Parser {
  const char *next, *end;
  ProgramRecord *record;
  ProgramIgnored *ignored;     /* NULL: values that are not numbers are not counted */
  char path[JSON_PATH_MAX];    /* "train/loss": names of the enclosing objects, and the key */
} Parser;

static void skip_blanks(Parser *p) {
  while (p->next < p->end && strchr(" \t\r\n", *p->next) && *p->next) p->next++;
}

static bool accept(Parser *p, char c) {
  skip_blanks(p);
  if (p->next == p->end || *p->next != c) return false;
  p->next++;
  return true;
}

/* Reads four hexadecimal digits. */
static bool read_hex(Parser *p, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++) {
    if (p->next == p->end || !isxdigit((unsigned char)*p->next)) return false;
    const char c = *p->next++;
    *code = *code << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return true;
}

/* Reads what follows \u, with the second half of a surrogate pair, as UTF-8. Half a pair is U+FFFD. */
static bool read_escaped_code(Parser *p, char utf8[5]) {
  uint32_t code, low;
  if (!read_hex(p, &code)) return false;
  const bool is_high = code >= 0xd800 && code < 0xdc00;
  if (is_high && p->end - p->next >= 6 && p->next[0] == '\\' && p->next[1] == 'u') {
    Parser rest = {.next = p->next + 2, .end = p->end};
    if (!read_hex(&rest, &low)) return false;
    if (low >= 0xdc00 && low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      p->next = rest.next;
    }
  }
  if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
  core_unicode_encode(code, utf8);
  return true;
}

/* Reads the character after a backslash. NUL becomes '?'. */
static bool read_escape(Parser *p, char utf8[5]) {
  static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
  if (p->next == p->end) return false;
  const char c = *p->next++, *letter = strchr(letters, c);
  if (c == 'u') {
    if (!read_escaped_code(p, utf8)) return false;
    if (!*utf8) memcpy(utf8, "?", 2);
    return true;
  }
  if (c) utf8[0] = letter ? meanings[letter - letters] : c;
  else utf8[0] = '?';
  utf8[1] = '\0';
  return true;
}

/* Reads a string. Writes at most `capacity` bytes including the NUL. */
static bool read_string(Parser *p, char *text, size_t capacity) {
  size_t length = 0;
  char character[5] = "";
  if (!accept(p, '"')) return false;
  while (p->next < p->end && *p->next != '"') {
    character[0] = *p->next++;
    character[1] = '\0';
    if (character[0] == '\\' && !read_escape(p, character)) return false;
    const size_t size = strlen(character);
    if (size == 0) character[0] = '?';
    for (size_t i = 0; i < (size ? size : 1) && length + 1 < capacity; i++) text[length++] = character[i];
  }
  text[length] = '\0';
  return p->next < p->end && *p->next++ == '"';
}

static bool accept_literal(Parser *p, const char *literal) {
  const size_t length = strlen(literal);
  if ((size_t)(p->end - p->next) < length || memcmp(p->next, literal, length) != 0) return false;
  p->next += length;
  return true;
}

/* Reads a number or a word: true, NaN, -Infinity, ... */
static bool read_number(Parser *p, double *value) {
  size_t length = 0;
  while (p->next + length < p->end && (isalnum((unsigned char)p->next[length]) || strchr("+-.", p->next[length])) &&
         p->next[length])
    length++;
  if (!program_number_parse(p->next, length, value)) return false;
  p->next += length;
  return true;
}

/* Skips an array or object that contains no metrics. Brackets in strings are ignored. */
static bool skip_nested(Parser *p) {
  size_t depth = 0;
  char text[2];
  do {
    if (p->next == p->end) return false;
    if (*p->next == '"') {
      if (!read_string(p, text, sizeof text)) return false;
      continue;
    }
    depth += *p->next == '[' || *p->next == '{';
    depth -= *p->next == ']' || *p->next == '}';
    p->next++;
  } while (depth > 0);
  return true;
}

static bool read_object(Parser *p, size_t length, int depth);

/* Reads a string: the level set of an evaluation, or a number in quotes. */
static bool read_text_value(Parser *p, size_t length) {
  char text[64];
  double value;
  if (!read_string(p, text, sizeof text)) return false;
  if (strcmp(p->path, "eval") == 0) memcpy(p->record->evaluation, text, strlen(text) + 1);
  else if (program_number_parse(text, strlen(text), &value)) program_record_add(p->record, p->path, length, value);
  else program_ignored_add(p->ignored, p->path, length, text, strlen(text));
  return true;
}

/* Reads the value of the key at the end of `path`, whose length is `length`. */
static bool read_value(Parser *p, size_t length, int depth) {
  double value;
  skip_blanks(p);
  if (p->next == p->end) return false;
  if (*p->next == '{' && depth < DEPTH_MAX) return read_object(p, length, depth + 1);
  if (*p->next == '{' || *p->next == '[') return skip_nested(p);
  if (*p->next == '"') return read_text_value(p, length);
  if (accept_literal(p, "null")) return true;
  if (!read_number(p, &value)) return false;
  program_record_add(p->record, p->path, length, value);
  return true;
}

/* Reads an object. length: of the path before its keys. */
static bool read_object(Parser *p, size_t length, int depth) {
  if (!accept(p, '{')) return false;
  if (accept(p, '}')) return true;
  do {
    size_t start = length;
    if (start > 0 && start + 1 < sizeof p->path) p->path[start++] = '/';
    if (!read_string(p, p->path + start, sizeof p->path - start) || !accept(p, ':')) return false;
    if (!read_value(p, start + strlen(p->path + start), depth)) return false;
  } while (accept(p, ','));
  return accept(p, '}');
}

bool program_record_read_json(const char **line, const char *end, ProgramRecord *record, ProgramIgnored *ignored) {
  Parser parser = {.next = *line, .end = end, .record = record, .ignored = ignored};
  program_record_clear(record);
  while (parser.next < end && *parser.next && strchr(" \t\r\n,[]", *parser.next)) parser.next++;
  *line = parser.next;
  if (parser.next == end) return false;

  if (read_object(&parser, 0, 0)) {
    *line = parser.next;
    return true;
  }
  program_record_clear(record);
  return false;
}
