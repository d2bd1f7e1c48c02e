/* Parses CSV (csv.h): RFC 4180 without newlines in fields; separated by comma, semicolon or tab, whichever comes
 * first. */
#include "sweep/program/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/memory.h"
#include "sweep/program/tail.h"

enum { COLUMNS_MAX = 4096 };

struct ProgramCsv {
  ProgramTail tail;
  CoreText header;              /* first line; empty: not read yet */
  char separator;
  int64_t emitted;              /* number of rows emitted */
  int64_t row;                  /* number of rows read since the file was (re)written */
  ino_t inode;
  ProgramSink *sink;            /* during a read */
};

ProgramCsv *program_csv_open(const char *path) {
  ProgramCsv *table = core_memory_zero_allocate(1, sizeof *table);
  snprintf(table->tail.path, sizeof table->tail.path, "%s", path);
  return table;
}

/* Returns the next field of *rest, unquoted in place; NULL: none left. */
static char *next_field(char **rest, char separator) {
  char *field = *rest, *out = field, *c = field;
  if (!field) return NULL;
  bool is_quoted = *c == '"';
  c += is_quoted;
  for (; *c && (is_quoted || *c != separator); c++) {
    if (is_quoted && *c == '"' && c[1] != '"') {
      is_quoted = false;
      continue;
    }
    if (is_quoted && *c == '"') c++;
    *out++ = *c;
  }
  *rest = *c ? c + 1 : NULL;
  *out = '\0';
  return field;
}

static char find_separator(const char *line) {
  const char *found = strpbrk(line, ",;\t");
  return found ? *found : ',';
}

/* Parses a number as strtod does (also nan and inf), true or false. */
static bool parse_number(const char *field, double *value) {
  char *end;
  while (*field == ' ') field++;
  if (strcasecmp(field, "true") == 0 || strcasecmp(field, "false") == 0) {
    *value = strcasecmp(field, "true") == 0;
    return true;
  }
  *value = strtod(field, &end);
  while (*end == ' ' || *end == '\r') end++;
  return *field && end != field && !*end;
}

static void emit_row(ProgramCsv *table, char *line) {
  ProgramSink *sink = table->sink;
  char *names = core_text_duplicate(core_text_string(&table->header)), *name_rest = names, *rest = line;
  double value;
  program_record_clear(&sink->record);
  for (size_t i = 0; i < COLUMNS_MAX; i++) {
    const char *name = next_field(&name_rest, table->separator), *field = next_field(&rest, table->separator);
    if (!name || !field) break;
    if (*name && parse_number(field, &value)) program_record_add(&sink->record, name, strlen(name), value);
  }
  if (sink->record.count > 0) sink->on_record(sink->context, &sink->record);
  else sink->damaged++;
  free(names);
}

static void read_table_line(void *context, const char *line, size_t length) {
  ProgramCsv *table = context;
  while (length > 0 && line[length - 1] == '\r') length--;
  if (length == 0 || (*line == '#' && table->header.length == 0)) return;
  char *copy = core_memory_allocate(length + 1);
  memcpy(copy, line, length);
  copy[length] = '\0';
  if (table->header.length == 0) {
    core_text_append_bytes(&table->header, line, length);
    table->separator = find_separator(copy);
  } else if (++table->row > table->emitted) {
    emit_row(table, copy);
    table->emitted = table->row;
  }
  free(copy);
}

/* Whether the file was replaced or truncated, or its header has changed. */
static bool is_rewritten(ProgramCsv *table) {
  struct stat status;
  if (table->header.length == 0 || stat(table->tail.path, &status) != 0) return false;
  const bool is_replaced = status.st_ino != table->inode || status.st_size < table->tail.offset;
  FILE *file = is_replaced ? NULL : fopen(table->tail.path, "re");
  char *start = core_memory_zero_allocate(1, table->header.length + 1);
  const size_t bytes_read = file ? fread(start, 1, table->header.length + 1, file) : 0;
  const size_t length = table->header.length;
  const bool has_new_header = file && (bytes_read <= length || !strchr("\r\n", start[length]) ||
                                       memcmp(start, table->header.data, length) != 0);
  free(start);
  if (file) fclose(file);
  return is_replaced || has_new_header;
}

int program_csv_read(ProgramCsv *table, bool last, ProgramSink *sink) {
  struct stat status;
  if (is_rewritten(table)) {
    program_tail_reset(&table->tail);
    core_text_clear(&table->header);
    table->row = 0;
  }
  table->sink = sink;
  if (stat(table->tail.path, &status) == 0) table->inode = status.st_ino;
  return program_tail_read(&table->tail, last, read_table_line, table);
}

void program_csv_close(ProgramCsv **table) {
  if (!*table) return;
  program_tail_free(&(*table)->tail);
  core_text_free(&(*table)->header);
  free(*table);
  *table = NULL;
}
