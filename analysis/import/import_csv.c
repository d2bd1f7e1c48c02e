/* Reads tables (import.h): RFC 4180, separated by commas, semicolons, tabs or blanks, with a line of names. */
#include <stdlib.h>
#include <string.h>

#include "analysis/import/import.h"
#include "core/files.h"
#include "core/memory.h"
#include "sweep/program/csv.h"

enum { BY_MAX = 16 };

/* A table while it is read. */
typedef struct Table {
  FILE *file;
  char *line;                /* the current line */
  size_t room;
  char separator;
  ProgramCsvFields names;
  size_t by[BY_MAX], by_count; /* columns of --by */
} Table;

static void close_table(Table *table) {
  if (table->file) fclose(table->file);
  program_csv_fields_free(&table->names);
  free(table->line);
}

/* Reads the next line that is neither empty nor a comment. Returns its length, -1 at the end. */
static ssize_t next_line(Table *table) {
  ssize_t length;
  while ((length = getline(&table->line, &table->room, table->file)) >= 0) {
    while (length > 0 && strchr("\r\n", table->line[length - 1])) length--;
    table->line[length] = '\0';
    if (length > 0 && *table->line != '#') break;
  }
  return length;
}

static int find_column(const Table *table, const char *path, const char *name, size_t *column) {
  for (*column = 0; *column < table->names.count; ++*column)
    if (strcmp(table->names.items[*column], name) == 0) return CORE_OK;
  const char *near = core_text_nearest(name, (const char *const *)table->names.items, table->names.count);
  return core_error(CORE_USAGE, "--by %s: %s has no such column%s%s%s", name, path, near ? "; did you mean " : "",
                    near ? near : "", near ? "?" : "");
}

/* Opens a table and reads its names. */
static int open_table(const ImportOptions *options, const char *path, Table *table) {
  CoreText name = {0};
  const char *rest = options->by, *start;
  int code = CORE_OK;
  TRY(core_files_open_plain(path, &table->file));
  const ssize_t length = next_line(table);
  if (length < 0) return core_error(CORE_FAIL, "%s: is empty", path);

  table->separator = program_csv_find_separator(table->line, (size_t)length);
  table->names = program_csv_split(table->line, (size_t)length, table->separator);
  for (size_t i = 0; i < table->names.count; i++) {
    double number;
    const char *field = table->names.items[i];
    if (program_number_parse(field, strlen(field), &number))
      return core_error(CORE_USAGE, "%s: column %zu of the first line is '%s'; expected a line of names", path, i + 1,
                        field);
  }

  while (options->by && code == CORE_OK && core_ini_next_item(&rest, &name, &start)) {
    if (table->by_count == BY_MAX) code = core_error(CORE_USAGE, "--by: at most %d columns", BY_MAX);
    else code = find_column(table, path, core_text_string(&name), &table->by[table->by_count++]);
  }
  core_text_free(&name);
  return code;
}

static bool is_by(const Table *table, size_t column) {
  for (size_t i = 0; i < table->by_count; i++)
    if (table->by[i] == column) return true;
  return false;
}

/* Returns the run of a line by the columns of --by: one of those from `first` on, or a new one. */
static ImportRun *find_run(Import *import, size_t first, const char *path, const Table *table,
                           const ProgramCsvFields *fields) {
  CoreText label = {0};
  core_text_append(&label, path);
  for (size_t i = 0; i < table->by_count; i++) {
    const char *value = table->by[i] < fields->count ? fields->items[table->by[i]] : "";
    core_text_appendf(&label, "%s%s=%s", i ? "," : ": ", table->names.items[table->by[i]], value);
  }

  ImportRun *run = NULL;
  for (size_t r = import->count; r > first && !run; r--) /* lines of a run are often together */
    if (strcmp(import->runs[r - 1].label, core_text_string(&label)) == 0) run = &import->runs[r - 1];
  if (!run) {
    run = import_add_run(import, path, core_text_string(&label));
    for (size_t i = 0; i < table->by_count; i++) {
      const char *name = table->names.items[table->by[i]];
      import_set(run, name, strlen(name), table->by[i] < fields->count ? fields->items[table->by[i]] : "", false);
    }
  }
  core_text_free(&label);
  return run;
}

static void add_line(ImportRun *run, long offset) {
  if (run->line_count == run->line_capacity) {
    run->line_capacity = run->line_capacity ? 2 * run->line_capacity : 64;
    run->lines = core_memory_resize(run->lines, run->line_capacity * sizeof *run->lines);
  }
  run->lines[run->line_count++] = offset;
}

/* Reads which lines belong to which run, and the names of columns with numbers. */
static int find_lines(Import *import, const char *path, const char *operand, Table *table) {
  const size_t first = import->count;
  for (;;) {
    const long offset = ftell(table->file);
    const ssize_t length = next_line(table);
    if (length < 0) break;

    ProgramCsvFields fields = program_csv_split(table->line, (size_t)length, table->separator);
    const size_t count = import->count;
    ImportRun *run = find_run(import, first, path, table, &fields);
    add_line(run, offset);
    for (size_t i = 0; i < fields.count && i < table->names.count; i++) {
      double number;
      const char *name = table->names.items[i];
      if (!is_by(table, i) && program_number_parse(fields.items[i], strlen(fields.items[i]), &number))
        program_names_add(&import->names, name, strlen(name));
    }
    program_csv_fields_free(&fields);
    if (import->count > count) TRY(import_set_by_path(import->options, path, operand, run));
  }
  return CORE_OK;
}

typedef struct Search { Import *import; const char *operand; } Search;

static int find_table(void *context, const char *path) {
  const Search *search = context;
  Table table = {0};
  int code = open_table(search->import->options, path, &table);
  if (code == CORE_OK) code = find_lines(search->import, path, search->operand, &table);
  close_table(&table);
  return code;
}

static int find(Import *import, const char *operand) {
  Search search = {import, operand};
  return import_walk(operand, ".csv", "table", find_table, &search);
}

static void emit_line(const Table *table, const ProgramCsvFields *fields, ProgramSeries *series, ProgramSink *sink) {
  double value;
  program_record_clear(&sink->record);
  for (size_t i = 0; i < fields->count && i < table->names.count; i++) {
    const char *name = table->names.items[i], *field = fields->items[i];
    if (is_by(table, i)) continue;
    if (program_number_parse(field, strlen(field), &value))
      program_record_add(&sink->record, name, strlen(name), value);
    else
      program_ignored_add(&sink->ignored, name, strlen(name), field, strlen(field));
  }
  program_sink_emit(sink, series);
}

static int read_run(const Import *import, const ImportRun *run, const char *home, ProgramSink *sink) {
  Table table = {0};
  ProgramSeries series = {0};
  (void)home;
  int code = open_table(import->options, run->path, &table);
  for (size_t i = 0; i < run->line_count && code == CORE_OK; i++) {
    if (ftell(table.file) != run->lines[i] && fseek(table.file, run->lines[i], SEEK_SET) != 0)
      code = core_error_errno(CORE_FAIL, "cannot read %s", run->path);
    const ssize_t length = code == CORE_OK ? next_line(&table) : -1;
    if (length < 0) continue;
    ProgramCsvFields fields = program_csv_split(table.line, (size_t)length, table.separator);
    emit_line(&table, &fields, &series, sink);
    program_csv_fields_free(&fields);
  }
  program_series_free(&series);
  close_table(&table);
  return code;
}

const ImportReader import_csv = {"csv", "table", find, read_run};
