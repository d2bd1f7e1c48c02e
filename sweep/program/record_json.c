/* One line of JSON to a record (record.h). Not jansson's parser: programs write NaN and Infinity, as Python's json
 * does, and bytes that are no UTF-8; nested brackets must cost neither stack nor memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/program/record.h"

enum { DEPTH_MAX = 32, PATH_MAX_BYTES = 512 };

typedef struct Parser {
  const char *at, *end;
  ProgramRecord *record;
  char path[PATH_MAX_BYTES];    /* "train/loss": names of the objects around, and the key */
} Parser;

static void skip_blanks(Parser *p) {
  while (p->at < p->end && strchr(" \t\r\n", *p->at) && *p->at) p->at++;
}

static bool take(Parser *p, char c) {
  skip_blanks(p);
  if (p->at == p->end || *p->at != c) return false;
  p->at++;
  return true;
}

/* Appends a character beyond ASCII of a \u escape as '?', which no metric's name needs. Writes at most `capacity` bytes
 * with the NUL. */
static bool read_string(Parser *p, char *text, size_t capacity) {
  size_t length = 0;
  if (!take(p, '"')) return false;
  while (p->at < p->end && *p->at != '"') {
    char c = *p->at++;
    if (c == '\\') {
      if (p->at == p->end) return false;
      c = *p->at++;
      if (c == 'u') {
        if (p->end - p->at < 4) return false;
        p->at += 4;
        c = '?';
      }
    }
    if (length + 1 < capacity) text[length++] = c;
  }
  text[length] = '\0';
  return p->at < p->end && *p->at++ == '"';
}

static bool take_word(Parser *p, const char *word) {
  const size_t length = strlen(word);
  if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) return false;
  p->at += length;
  return true;
}

/* A number, as strtod of the C locale reads it; the line need not end in NUL. */
static bool read_number(Parser *p, double *value) {
  char text[64];
  size_t length = 0;
  while (p->at + length < p->end && length + 1 < sizeof text && strchr("+-.0123456789eE", p->at[length]) &&
         p->at[length]) {
    text[length] = p->at[length];
    length++;
  }
  text[length] = '\0';
  char *end;
  *value = strtod(text, &end);
  if (length == 0 || *end) return false;
  p->at += length;
  return true;
}

/* Steps over an array or object whose contents are no metrics; brackets in strings do not count. */
static bool skip_nested(Parser *p) {
  size_t depth = 0;
  char text[2];
  do {
    if (p->at == p->end) return false;
    if (*p->at == '"') {
      if (!read_string(p, text, sizeof text)) return false;
      continue;
    }
    depth += *p->at == '[' || *p->at == '{';
    depth -= *p->at == ']' || *p->at == '}';
    p->at++;
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

/* The value of the key that `path` ends in; length: of the path. */
static bool read_value(Parser *p, size_t length, int depth) {
  static const struct { const char *word; double value; } words[] = {
    {"true", 1}, {"false", 0}, {"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
  double value;
  skip_blanks(p);
  if (p->at == p->end) return false;
  if (*p->at == '{' && depth < DEPTH_MAX) return read_object(p, length, depth + 1);
  if (*p->at == '{' || *p->at == '[') return skip_nested(p);
  if (*p->at == '"') return read_text_value(p);
  if (take_word(p, "null")) return true;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!take_word(p, words[i].word)) continue;
    program_record_add(p->record, p->path, length, words[i].value);
    return true;
  }
  if (!read_number(p, &value)) return false;
  program_record_add(p->record, p->path, length, value);
  return true;
}

/* length: of the path before this object's keys. */
static bool read_object(Parser *p, size_t length, int depth) {
  if (!take(p, '{')) return false;
  if (take(p, '}')) return true;
  do {
    size_t start = length;
    if (start > 0 && start + 1 < sizeof p->path) p->path[start++] = '/';
    if (!read_string(p, p->path + start, sizeof p->path - start) || !take(p, ':')) return false;
    if (!read_value(p, start + strlen(p->path + start), depth)) return false;
  } while (take(p, ','));
  return take(p, '}');
}

bool program_record_read_json(const char *line, size_t length, ProgramRecord *record) {
  Parser parser = {.at = line, .end = line + length, .record = record};
  program_record_clear(record);
  const bool good = read_object(&parser, 0, 0);
  skip_blanks(&parser);
  if (good && parser.at == parser.end) return true;
  program_record_clear(record);
  return false;
}
