/* Names, records and their JSON form (record.h). */
#include "sweep/program/record.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/unicode.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return hash ^ hash >> 31;
}

static size_t find_slot(const ProgramNames *names, const char *name) {
  size_t slot = hash_name(name) & (names->slot_count - 1);
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

/* Copies a name as one line of valid UTF-8, truncated between characters. */
static void sanitize(const char *name, size_t length, char text[PROGRAM_NAME_MAX]) {
  if (length >= PROGRAM_NAME_MAX) length = PROGRAM_NAME_MAX - 1;
  while (length > 0 && length == PROGRAM_NAME_MAX - 1 && ((unsigned char)name[length] & 0xc0) == 0x80) length--;
  memcpy(text, name, length);
  text[length] = '\0';
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) text[i] = '?';
  core_unicode_mask(text);
}

size_t program_names_add(ProgramNames *names, const char *name, size_t length) {
  char text[PROGRAM_NAME_MAX];
  sanitize(name, length, text);
  if (names->count == names->capacity) grow(names);
  const size_t slot = find_slot(names, text);
  if (names->slots[slot]) return names->slots[slot] - 1;
  names->is_full = names->count >= PROGRAM_NAMES_MAX;
  if (names->is_full) return SIZE_MAX;
  names->items[names->count] = core_memory_allocate(strlen(text) + 1);
  memcpy(names->items[names->count], text, strlen(text) + 1);
  names->slots[slot] = ++names->count;
  return names->count - 1;
}

void program_names_free(ProgramNames *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i]);
  free(names->items);
  free(names->slots);
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

double program_record_find(const ProgramRecord *record, const char *name) {
  double value = NAN;
  for (size_t i = 0; i < record->count; i++)
    if (strcmp(record->names->items[record->values[i].name], name) == 0) value = record->values[i].value;
  return value;
}

void program_record_free(ProgramRecord *record) {
  free(record->values);
  record->values = NULL;
  record->count = 0;
  record->capacity = 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* A parser of its own instead of jansson's: programs write NaN and Infinity, as Python's json does, and invalid UTF-8;
 * and nested brackets must cost neither stack nor memory. */
enum { DEPTH_MAX = 32, JSON_PATH_MAX = 512 };

typedef struct Parser {
  const char *next, *end;
  ProgramRecord *record;
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

/* Reads a string; \u escapes become '?'. Writes at most `capacity` bytes including the NUL. */
static bool read_string(Parser *p, char *text, size_t capacity) {
  size_t length = 0;
  if (!accept(p, '"')) return false;
  while (p->next < p->end && *p->next != '"') {
    char c = *p->next++;
    if (c == '\\') {
      if (p->next == p->end) return false;
      c = *p->next++;
      if (c == 'u') {
        if (p->end - p->next < 4) return false;
        p->next += 4;
        c = '?';
      }
    }
    if (length + 1 < capacity) text[length++] = c;
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

/* Reads a number as strtod does in the C locale; the line need not end with a NUL. */
static bool read_number(Parser *p, double *value) {
  char text[64];
  size_t length = 0;
  while (p->next + length < p->end && length + 1 < sizeof text && strchr("+-.0123456789eE", p->next[length]) &&
         p->next[length]) {
    text[length] = p->next[length];
    length++;
  }
  text[length] = '\0';
  char *end;
  *value = strtod(text, &end);
  if (length == 0 || *end) return false;
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

static bool read_text_value(Parser *p) {
  char text[64];
  if (!read_string(p, text, sizeof text)) return false;
  if (strcmp(p->path, "eval") == 0) memcpy(p->record->evaluation, text, strlen(text) + 1);
  return true;
}

/* Reads the value of the key at the end of `path`, whose length is `length`. */
static bool read_value(Parser *p, size_t length, int depth) {
  static const struct { const char *text; double value; } literals[] = {
    {"true", 1}, {"false", 0}, {"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
  double value;
  skip_blanks(p);
  if (p->next == p->end) return false;
  if (*p->next == '{' && depth < DEPTH_MAX) return read_object(p, length, depth + 1);
  if (*p->next == '{' || *p->next == '[') return skip_nested(p);
  if (*p->next == '"') return read_text_value(p);
  if (accept_literal(p, "null")) return true;
  for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
    if (!accept_literal(p, literals[i].text)) continue;
    program_record_add(p->record, p->path, length, literals[i].value);
    return true;
  }
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

bool program_record_read_json(const char *line, size_t length, ProgramRecord *record) {
  Parser parser = {.next = line, .end = line + length, .record = record};
  program_record_clear(record);
  const bool ok = read_object(&parser, 0, 0);
  skip_blanks(&parser);
  if (ok && parser.next == parser.end) return true;
  program_record_clear(record);
  return false;
}
