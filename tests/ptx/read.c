/* Splits PTX text into statements. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "ptx.h"

/* Position of the reader. */
typedef struct Reader {
  PtxSource *source;
  const char *at;
  int line;
} Reader;

static void add(PtxSource *source, int kind, const char *text, int line) {
  if (source->count == source->capacity) {
    source->capacity = source->capacity ? 2 * source->capacity : 1024;
    source->statement = core_memory_resize(source->statement, source->capacity * sizeof *source->statement);
  }
  char *copy = core_text_duplicate(text);
  size_t length = strlen(copy);
  while (length > 0 && copy[length - 1] == ' ') copy[--length] = '\0';
  source->statement[source->count++] = (PtxStatement){kind, copy, line};
}

/* Skips white space and comments, and counts their lines. */
static void skip(Reader *reader) {
  for (;; reader->at++) {
    if (strncmp(reader->at, "//", 2) == 0) reader->at += strcspn(reader->at, "\n");
    if (*reader->at == '\n') reader->line++;
    if (!isspace((unsigned char)*reader->at)) return;
  }
}

/* Whether a brace after this text opens a body or a block; otherwise it belongs to an operand. */
static bool opens(const CoreText *text) {
  const char *string = core_text_string(text);
  if (string[0] == '\0') return true;
  return strstr(string, ".entry") != NULL || strncmp(string, ".func", 5) == 0 || strstr(string, " .func ") != NULL;
}

/* Returns the kind of the statement that `c` after this text ends. */
enum { NOTHING = -1 };
static int ends(char c, const CoreText *text) {
  return c == '{' && opens(text) ? PTX_OPEN : c == '}' && text->length == 0 ? PTX_CLOSE : c == ';' ? PTX_PLAIN
         : c == ':' ? PTX_LABEL : NOTHING;
}

/* Reads one statement. */
static int read_statement(Reader *reader, CoreText *text) {
  int braces = 0;
  core_text_clear(text);
  const int start_line = reader->line;
  for (; *reader->at != '\0'; reader->at++) {
    const char c = *reader->at;
    if (isspace((unsigned char)c) || strncmp(reader->at, "//", 2) == 0) {
      skip(reader);
      reader->at--;
      core_text_append(text, " ");
      continue;
    }
    const int kind = braces > 0 ? NOTHING : ends(c, text);
    if (kind != NOTHING) {
      reader->at++;
      add(reader->source, kind, core_text_string(text), start_line);
      return CORE_OK;
    }
    if (c == '{') braces++;
    if (c == '}') braces--;
    core_text_append_bytes(text, &c, 1);
  }
  return core_error(CORE_USAGE, "%s:%d: the file ends within a statement", reader->source->path, start_line);
}

/* Reads a line of a module's head, which has no semicolon. */
static bool read_head(Reader *reader, char *target, size_t capacity) {
  if (strncmp(reader->at, ".version", 8) != 0 && strncmp(reader->at, ".target", 7) != 0 &&
      strncmp(reader->at, ".address_size", 13) != 0) return false;
  if (strncmp(reader->at, ".target", 7) == 0) {
    const char *word = reader->at + 7 + strspn(reader->at + 7, " \t");
    const size_t length = strcspn(word, ", \t\r\n");
    if (length < capacity) memcpy(target, word, length), target[length] = '\0';
  }
  reader->at += strcspn(reader->at, "\n");
  return true;
}

static void free_statements(PtxSource *source) {
  for (size_t i = 0; i < source->count; i++) free(source->statement[i].text);
  source->count = 0;
}

static int read_text(const char *data, const char *target, PtxSource *source) {
  Reader reader = {source, data, 1};
  CoreText text = {0};
  char present[64] = "";
  bool is_wanted = true, is_found = false;
  int code = CORE_OK;
  for (skip(&reader); *reader.at != '\0' && code == CORE_OK; skip(&reader)) {
    const bool is_new = strncmp(reader.at, ".version", 8) == 0;
    if (is_new && is_found) break;
    if (is_new) free_statements(source); /* statements of another target */
    if (read_head(&reader, present, sizeof present)) {
      is_wanted = target == NULL || strcmp(present, target) == 0;
      continue;
    }
    is_found = target != NULL && is_wanted;
    code = read_statement(&reader, &text);
  }
  core_text_free(&text);
  TRY(code);
  if (target && !is_found) return core_error(CORE_USAGE, "%s: no code for %s", source->path, target);
  if (source->count == 0) return core_error(CORE_USAGE, "%s: no PTX", source->path);
  return CORE_OK;
}

int ptx_read(const char *path, const char *target, PtxSource *source) {
  char *data;
  size_t size;
  *source = (PtxSource){.path = path};
  TRY(core_files_read(path, 0, &data, &size));
  const int code = read_text(data, target, source);
  free(data);
  if (code != CORE_OK) ptx_source_free(source);
  return code;
}

void ptx_source_free(PtxSource *source) {
  free_statements(source);
  free(source->statement);
  *source = (PtxSource){0};
}
