/* Parses CSV (csv.h): RFC 4180 without newlines in fields; separated by commas, semicolons, tabs, or blanks if there is
 * none of these. A comment of names ("# step,reward") names the columns if no other line does. */
#include "sweep/program/csv.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/program/tail.h"

struct ProgramCsv {
  ProgramFile file;
  ProgramTail tail;
  ProgramSeries *series;
  ProgramCsvFields names;                 /* names of the columns; count 0: not read yet */
  ProgramCsvFields comment;               /* last comment before them */
  char separator;
  bool is_earlier;              /* the rows belong to earlier attempts */
  ProgramSink *sink;            /* during a read */
};

ProgramCsv *program_csv_open(const char *path, const ProgramPrefix *start, ProgramSeries *series) {
  ProgramCsv *table = core_memory_zero_allocate(1, sizeof *table);
  table->series = series;
  program_file_init(&table->file, path, start);
  return table;
}

ProgramFile *program_csv_file(ProgramCsv *table) { return &table->file; }

/* ---- fields ------------------------------------------------------------------------------------------------------ */

void program_csv_fields_free(ProgramCsvFields *fields) {
  free(fields->items);
  free(fields->text);
  *fields = (ProgramCsvFields){0};
}

char program_csv_find_separator(const char *line, size_t length) {
  static const char separators[] = ",;\t";
  size_t counts[3] = {0}, best = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < length; i++) {
    const char *found = line[i] ? strchr(separators, line[i]) : NULL;
    is_quoted ^= line[i] == '"';
    if (found && !is_quoted) counts[found - separators]++;
  }
  for (size_t i = 1; i < 3; i++)
    if (counts[i] > counts[best]) best = i;
  return counts[best] > 0 ? separators[best] : ' ';
}

/* Unquotes the field at `c` in place. Returns the position of the separator or NUL after it. */
static char *end_field(char *c, char separator) {
  char *out = c;
  bool is_quoted = *c == '"';
  for (c += is_quoted; *c && (is_quoted || *c != separator); c++) {
    if (is_quoted && *c == '"' && c[1] != '"') {
      is_quoted = false;
      continue;
    }
    if (is_quoted && *c == '"') c++;
    *out++ = *c;
  }
  if (out != c) *out = '\0';
  return c;
}

ProgramCsvFields program_csv_split(const char *line, size_t length, char separator) {
  ProgramCsvFields fields = {.text = core_memory_allocate(length + 1)};
  size_t capacity = 0;
  memcpy(fields.text, line, length);
  fields.text[length] = '\0';

  for (char *c = fields.text;;) {
    if (separator == ' ' || c[strspn(c, " ")] == '"') c += strspn(c, " ");
    if (separator == ' ' && !*c) break;
    if (fields.count == capacity) {
      capacity = capacity ? 2 * capacity : 32;
      fields.items = core_memory_resize(fields.items, capacity * sizeof *fields.items);
    }
    fields.items[fields.count++] = c;
    char *end = end_field(c, separator);
    const bool is_last = *end == '\0';
    *end = '\0';
    if (is_last) break;
    c = end + 1;
  }

  return fields;
}

static bool is_number(const char *field) {
  double value;
  return program_number_parse(field, strlen(field), &value);
}

static bool is_blank(const char *field) { return field[strspn(field, " \t")] == '\0'; }

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Whether the line names columns: no field is a number, and one is the name of a column, or all are distinct texts. */
static bool is_later_header(const ProgramCsv *table, const ProgramCsvFields *fields) {
  bool is_known = false, are_distinct = fields->count > 1;
  for (size_t i = 0; i < fields->count; i++) {
    const char *field = fields->items[i];
    if (is_number(field)) return false;
    for (size_t c = 0; c < table->names.count && !is_known; c++)
      is_known = !is_blank(field) && strcmp(field, table->names.items[c]) == 0;
    are_distinct &= !is_blank(field);
    for (size_t other = 0; other < i && are_distinct; other++) are_distinct = strcmp(field, fields->items[other]) != 0;
  }
  return is_known || are_distinct;
}

static bool is_all_numbers(const ProgramCsvFields *fields) {
  for (size_t i = 0; i < fields->count; i++)
    if (!is_number(fields->items[i])) return false;
  return true;
}

/* Takes the names of the columns from a line, unless it is one of numbers, whose names are those of a comment. Returns
 * whether the line has been used up. */
static bool read_names(ProgramCsv *table, const char *line, size_t length) {
  table->separator = program_csv_find_separator(line, length);
  ProgramCsvFields fields = program_csv_split(line, length, table->separator);
  if (!is_all_numbers(&fields)) {
    table->names = fields;
    return true;
  }

  table->names = table->comment;
  table->comment = (ProgramCsvFields){0};
  if (table->names.count == 0) { /* a table without names */
    CoreText text = {0};
    for (size_t i = 0; i < fields.count; i++) core_text_appendf(&text, "%scolumn%zu", i ? "," : "", i + 1);
    table->names = program_csv_split(text.data, text.length, ',');
    core_text_free(&text);
  }
  program_csv_fields_free(&fields);
  return false;
}

static void read_comment(ProgramCsv *table, const char *line, size_t length) {
  const size_t skipped = strspn(line, "# \t");
  if (skipped >= length) return;
  program_csv_fields_free(&table->comment);
  const char separator = program_csv_find_separator(line + skipped, length - skipped);
  table->comment = program_csv_split(line + skipped, length - skipped, separator);
}

/* Passes a row on. One with more fields than names is damaged: it may have numbers like 10,000. */
static void emit_row(ProgramCsv *table, const ProgramCsvFields *fields) {
  ProgramSink *sink = table->sink;
  double value;
  for (size_t i = table->names.count; i < fields->count; i++) {
    if (is_blank(fields->items[i])) continue;
    sink->damaged++;
    return;
  }

  program_record_clear(&sink->record);
  for (size_t i = 0; i < fields->count && i < table->names.count; i++) {
    const char *name = table->names.items[i], *field = fields->items[i];
    if (program_number_parse(field, strlen(field), &value))
      program_record_add(&sink->record, name, strlen(name), value);
    else
      program_ignored_add(&sink->ignored, name, strlen(name), field, strlen(field));
  }
  program_sink_emit(sink, table->series);
}

static void read_table_line(void *context, const char *line, size_t length) {
  ProgramCsv *table = context;
  if (*line == '#') {
    CoreText copy = {0};
    core_text_append_bytes(&copy, line, length);
    if (table->names.count == 0) read_comment(table, core_text_string(&copy), length);
    core_text_free(&copy);
    return;
  }
  if (table->names.count == 0 && read_names(table, line, length)) return;

  ProgramCsvFields fields = program_csv_split(line, length, table->separator);
  if (is_later_header(table, &fields)) {
    program_csv_fields_free(&table->names);
    table->names = fields;
    return;
  }
  if (!table->is_earlier && fields.count > 0) emit_row(table, &fields);
  program_csv_fields_free(&fields);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void restart(void *context) {
  ProgramCsv *table = context;
  program_tail_reset(&table->tail);
  program_csv_fields_free(&table->names);
  program_csv_fields_free(&table->comment);
  program_series_restart(table->series);
}

/* Reads the names in what earlier attempts left; its last line may be torn. */
static void read_earlier(void *context, const char *bytes, size_t count) {
  ProgramCsv *table = context;
  table->is_earlier = bytes != NULL;
  if (bytes) program_tail_bytes(&table->tail, bytes, count, read_table_line, table);
  else program_tail_reset(&table->tail);
}

static void read_bytes(void *context, const char *bytes, size_t count) {
  ProgramCsv *table = context;
  program_tail_bytes(&table->tail, bytes, count, read_table_line, table);
}

int program_csv_read(ProgramCsv *table, ProgramReading reading, ProgramSink *sink) {
  const ProgramReader reader = {restart, read_earlier, read_bytes, table};
  table->sink = sink;
  return program_file_read_lines(&table->file, &reader, &table->tail, read_table_line, reading == PROGRAM_ENDED,
                                 &sink->damaged);
}

void program_csv_close(ProgramCsv **table) {
  if (!*table) return;
  program_file_close(&(*table)->file);
  program_tail_free(&(*table)->tail);
  program_csv_fields_free(&(*table)->names);
  program_csv_fields_free(&(*table)->comment);
  free(*table);
  *table = NULL;
}
