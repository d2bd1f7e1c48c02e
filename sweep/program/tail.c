/* Splits bytes into lines (tail.h). */
#include "sweep/program/tail.h"

#include <string.h>

#include "sweep/program/record.h"

void program_tail_end(ProgramTail *tail, ProgramOnLine on_line, void *context) {
  if (tail->is_skipping) tail->skipped++;
  else if (tail->line.length > 0) on_line(context, tail->line.data, tail->line.length);
  program_tail_reset(tail);
}

/* Returns the length of the line at `bytes`; `count`: it does not end there. */
static size_t line_length(const char *bytes, size_t count) {
  const char *newline = memchr(bytes, '\n', count);
  const size_t length = newline ? (size_t)(newline - bytes) : count;
  const char *carriage_return = memchr(bytes, '\r', length);
  return carriage_return ? (size_t)(carriage_return - bytes) : length;
}

void program_tail_bytes(ProgramTail *tail, const char *bytes, size_t count, ProgramOnLine on_line, void *context) {
  while (count > 0) {
    const size_t length = line_length(bytes, count);
    if (tail->line.length + length > PROGRAM_LINE_MAX) {
      tail->is_skipping = true;
      core_text_clear(&tail->line);
    }
    if (!tail->is_skipping) core_text_append_bytes(&tail->line, bytes, length);
    if (length == count) return;
    program_tail_end(tail, on_line, context);
    bytes += length + 1;
    count -= length + 1;
  }
}

size_t program_escape_length(const char *text) {
  const char *c = text + 1;
  if (*text != '\033') return 0;

  if (*c == '[') {
    for (c++; *c && (unsigned char)*c < 0x40; c++) {}
    return (size_t)(c - text) + (*c != '\0');
  }
  if (*c && strchr("]PX^_", *c)) {
    c += strcspn(c, "\a\033"); /* another sequence ends the string, too */
    return (size_t)(c - text) + (*c == '\a' ? 1 : *c == '\033' && c[1] == '\\' ? 2 : 0);
  }
  while (*c >= 0x20 && *c <= 0x2f) c++;
  return (size_t)(c - text) + (*c != '\0');
}

void program_tail_reset(ProgramTail *tail) {
  tail->is_skipping = false;
  core_text_clear(&tail->line);
}

void program_tail_free(ProgramTail *tail) { core_text_free(&tail->line); }
