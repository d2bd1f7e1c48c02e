/* Sources of metrics: JSON lines, standard output, CSV and TensorBoard (source.h). */
#include "sweep/program/source.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/pattern.h"
#include "core/memory.h"
#include "sweep/program/csv.h"
#include "sweep/program/events.h"
#include "sweep/program/file.h"
#include "sweep/program/tail.h"

enum { GROUPS_MAX = 32 }; /* maximum groups of the regular expression */

/* A file of JSON objects. */
typedef struct JsonLines {
  ProgramFile file;
  ProgramTail tail;
  ProgramSeries *series;
  CoreText object;              /* lines of an object that is not complete yet (json.dump with indent) */
  int depth;                    /* number of its open brackets */
  ProgramSink *sink;            /* during a read */
} JsonLines;

/* Output with a regular expression. */
typedef struct Output {
  ProgramFile file;
  ProgramTail tail;
  ProgramSeries series;
  regex_t regex;
  char *names;                  /* "return,loss", one per group; NULL: metrics are not read from the output */
  ProgramSink *sink;            /* during a read */
} Output;

struct ProgramSource {
  JsonLines metrics;            /* SWEEP_METRICS, which is read for every kind */
  ProgramSeries metrics_series;
  JsonLines *own;               /* jsonl:FILE; NULL otherwise */
  Output output;                /* stdout */
  ProgramCsv *table;            /* csv:FILE; NULL otherwise */
  ProgramSeries series;         /* records of FILE */
  ProgramStarts starts;         /* FILE and what it was rotated to, at the attempt's start */
  ProgramPrefix *rotated;       /* [rotated_count] files that were rotated away and have been read */
  size_t rotated_count;
  ProgramEvents *events;        /* tensorboard:DIR; NULL otherwise */
};

/* ---- sinks and series -------------------------------------------------------------------------------------------- */

void program_sink_emit(ProgramSink *sink, ProgramSeries *series) {
  if (sink->record.count > 0) sink->on_record(sink->context, series, &sink->record);
  else sink->ignored.empty++;
}

void program_sink_free(ProgramSink *sink) {
  program_record_free(&sink->record);
  program_names_free(&sink->names);
  program_ignored_free(&sink->ignored);
}

void program_series_restart(ProgramSeries *series) {
  for (size_t i = 0; i < series->place_count; i++) series->places[i] = (struct ProgramPlace){NAN, 0};
  series->is_restarted = series->is_begun;
  series->has_step = false;
}

void program_series_free(ProgramSeries *series) {
  free(series->places);
  free(series->first);
  *series = (ProgramSeries){0};
}

/* ---- JSON lines -------------------------------------------------------------------------------------------------- */

/* Passes the records of a text on. Returns whether all of it could be read. */
static bool read_objects(JsonLines *lines, const char *text, size_t length) {
  const char *next = text, *end = text + length;
  ProgramSink *sink = lines->sink;
  while (program_record_read_json(&next, end, &sink->record, &sink->ignored)) program_sink_emit(sink, lines->series);
  return next == end;
}

/* Returns the number of brackets that are opened and not closed, outside of strings. */
static int open_brackets(const char *text, size_t length) {
  int depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < length; i++) {
    if (is_string && text[i] == '\\') i++;
    else if (text[i] == '"') is_string = !is_string;
    else if (!is_string) depth += (text[i] == '{' || text[i] == '[') - (text[i] == '}' || text[i] == ']');
  }
  return depth;
}

/* Whether the line begins an object of several lines: it has no key yet. */
static bool begins_object(const char *line, size_t length) {
  size_t brackets = 0;
  for (size_t i = 0; i < length; i++) {
    if (!strchr("{[ \t,", line[i])) return false;
    brackets += line[i] == '{';
  }
  return brackets > 0;
}

static void read_json_line(void *context, const char *line, size_t length) {
  JsonLines *lines = context;
  CoreText *object = &lines->object;
  const bool is_record = length > 1 && line[0] == '{' && line[1] == '"';
  if (object->length > 0 && (is_record || object->length + length > PROGRAM_LINE_MAX)) { /* it was torn */
    lines->sink->damaged++;
    core_text_clear(object);
  }

  if (object->length == 0 && !begins_object(line, length)) {
    if (!read_objects(lines, line, length)) lines->sink->damaged++;
    return;
  }
  const char *brace = object->length == 0 ? memchr(line, '{', length) : line; /* not the bracket of a list around it */
  lines->depth = (object->length == 0 ? 0 : lines->depth) + open_brackets(brace, length - (size_t)(brace - line));
  core_text_append_bytes(object, brace, length - (size_t)(brace - line));
  core_text_append(object, "\n");

  if (lines->depth > 0) return;
  if (!read_objects(lines, object->data, object->length)) lines->sink->damaged++;
  core_text_clear(object);
}

static void restart_lines(void *context) {
  JsonLines *lines = context;
  program_tail_reset(&lines->tail);
  core_text_clear(&lines->object);
  program_series_restart(lines->series);
}

static void read_json_bytes(void *context, const char *bytes, size_t count) {
  JsonLines *lines = context;
  program_tail_bytes(&lines->tail, bytes, count, read_json_line, lines);
}

static int read_lines(JsonLines *lines, ProgramReading reading, ProgramSink *sink) {
  const ProgramReader reader = {.on_restart = restart_lines, .on_bytes = read_json_bytes, .context = lines};
  const bool ends = reading != PROGRAM_RUNNING; /* a torn line is not an object */
  lines->sink = sink;
  return program_file_read_lines(&lines->file, &reader, &lines->tail, read_json_line, ends, &sink->damaged);
}

static JsonLines *open_lines(const char *path, const ProgramPrefix *start, ProgramSeries *series) {
  JsonLines *lines = core_memory_zero_allocate(1, sizeof *lines);
  program_file_init(&lines->file, path, start);
  lines->series = series;
  return lines;
}

static void free_lines(JsonLines *lines) {
  program_file_close(&lines->file);
  program_tail_free(&lines->tail);
  core_text_free(&lines->object);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Removes terminal control sequences in place. */
static void remove_escapes(char *text) {
  char *out = text;
  for (const char *c = text; *c;) {
    const size_t escape = program_escape_length(c);
    if (escape == 0) *out++ = *c;
    c += escape ? escape : 1;
  }
  *out = '\0';
}

/* Characters that stand within a number: separators of decimals and thousands in several languages. */
static const char *const separators[] = {".",      ",",      "'",      "_",      "\u00a0",
                                         "\u202f", "\u2009", "\u2019", "\u066b", "\u066c"};
enum { SEPARATORS = sizeof separators / sizeof *separators };

/* Return the length of the separator at `c`, or before it; 0: none. */
static size_t separator_at(const char *c) {
  for (size_t i = 0; i < SEPARATORS; i++)
    if (strncmp(c, separators[i], strlen(separators[i])) == 0) return strlen(separators[i]);
  return 0;
}
static size_t separator_before(const char *text, const char *c) {
  for (size_t i = 0; i < SEPARATORS; i++) {
    const size_t length = strlen(separators[i]);
    if ((size_t)(c - text) >= length && strncmp(c - length, separators[i], length) == 0) return length;
  }
  return 0;
}

static bool is_digit(char c) { return isdigit((unsigned char)c) != 0; }

/* Whether a number begins before the group: "000" of "10,000", "0.5" of "-0.5". previous: end of the group before,
 * which a comma may separate. */
static bool begins_before(const char *text, const regmatch_t *group, regoff_t previous) {
  static const char minus[] = "\u2212";
  const char *from = text + group->rm_so;
  const size_t separator = separator_before(text, from);
  const bool is_separated = previous >= 0 && previous == group->rm_so - 1;
  const char before = from > text ? from[-1] : ' ', earlier = from > text + 1 ? from[-2] : ' ';
  if (!is_digit(*from) && *from != '.') return false;

  if (is_digit(before)) return true;
  if (separator > 0 && from - separator > text && is_digit(from[-(ptrdiff_t)separator - 1]) && !is_separated)
    return true;
  if ((size_t)(from - text) >= strlen(minus) && strncmp(from - strlen(minus), minus, strlen(minus)) == 0) return true;
  if (before == '-' && !is_separated && !isalnum((unsigned char)earlier)) return true;
  return strchr("+-", before) && strchr("eE", earlier) && from > text + 2 && is_digit(from[-3]);
}

/* Whether a number continues after the group: "10" of "10,000", "1" of "1.0M" and "1e5", "63" of "63%". next: start of
 * the group after; end: of the whole match, in which a % is meant. */
static bool continues_after(const char *text, const regmatch_t *group, regoff_t next, regoff_t end) {
  const char *to = text + group->rm_eo, *unit = to + strspn(to, " ");
  const size_t separator = separator_at(to);
  const bool is_separated = next >= 0 && next == group->rm_eo + 1;
  if (is_digit(*to) || (separator > 0 && is_digit(to[separator]) && !is_separated)) return true;
  if (*unit == '%' && unit - text >= end) return true;
  if (*unit && strchr("kKMGT", *unit) && (unit == to || !isalpha((unsigned char)unit[1]))) return true;
  if (*to && strchr("bBmgt", *to) && !isalpha((unsigned char)to[1])) return true;
  if ((*to == 'x' || *to == 'X') && isxdigit((unsigned char)to[1])) return true;
  return (*to == 'e' || *to == 'E') && (is_digit(to[1]) || (to[1] && strchr("+-", to[1]) && is_digit(to[2])));
}

/* Reads the numbers of a match, in the order of the names. */
static void read_match(Output *output, const char *text, const regmatch_t *groups) {
  ProgramSink *sink = output->sink;
  const char *name = output->names;
  regoff_t previous = -1;
  program_record_clear(&sink->record);

  for (size_t g = 1; g < GROUPS_MAX && g <= output->regex.re_nsub && *name; g++) {
    const regmatch_t *group = &groups[g];
    const size_t name_length = strcspn(name, ",");
    const regoff_t next = g + 1 < GROUPS_MAX && g < output->regex.re_nsub ? groups[g + 1].rm_so : -1;
    const size_t length = group->rm_so >= 0 ? (size_t)(group->rm_eo - group->rm_so) : 0;
    const char *start = text + (length > 0 ? group->rm_so : 0);
    double value;
    const bool is_number = length > 0 && program_number_parse(start, length, &value) &&
                           !begins_before(text, group, previous) &&
                           !continues_after(text, group, next, groups[0].rm_eo);
    if (is_number) program_record_add(&sink->record, name, name_length, value);
    else if (length > 0) program_ignored_add(&sink->ignored, name, name_length, start, strcspn(start, " \t"));
    if (group->rm_so >= 0) previous = group->rm_eo;
    name += name_length + (name[name_length] == ',');
  }
  program_sink_emit(sink, &output->series);
}

static void read_output_line(void *context, const char *line, size_t length) {
  Output *output = context;
  regmatch_t groups[GROUPS_MAX];
  char *text = core_memory_allocate(length + 1);
  memcpy(text, line, length);
  text[length] = '\0';

  remove_escapes(text);
  if (strlen(text) > CORE_PATTERN_LINE_MAX) { /* ends between words, since half of a number is another one */
    size_t end = CORE_PATTERN_LINE_MAX;
    while (end > 0 && !isspace((unsigned char)text[end])) end--;
    text[end] = '\0';
  }

  if (regexec(&output->regex, text, GROUPS_MAX, groups, 0) == 0) read_match(output, text, groups);
  free(text);
}

static void restart_output(void *context) {
  Output *output = context;
  program_tail_reset(&output->tail);
  program_series_restart(&output->series);
}

static void read_output_bytes(void *context, const char *bytes, size_t count) {
  Output *output = context;
  if (output->sink->on_output) output->sink->on_output(output->sink->context, bytes, count);
  program_tail_bytes(&output->tail, bytes, count, read_output_line, output);
}

static int read_output(Output *output, ProgramReading reading, ProgramSink *sink) {
  const ProgramReader reader = {.on_restart = restart_output, .on_bytes = read_output_bytes, .context = output};
  output->sink = sink;
  return program_file_read_lines(&output->file, &reader, &output->tail, read_output_line, reading == PROGRAM_ENDED,
                                 &sink->damaged);
}

static int open_regex(Output *output, const char *location) {
  const char *equals = strchr(location, '=');
  if (!equals) return core_error(CORE_USAGE, "metrics = stdout:%.80s: expected NAME=REGEX", location);
  TRY(core_pattern_compile(equals + 1, &output->regex));
  output->names = core_memory_zero_allocate(1, (size_t)(equals - location) + 1);
  memcpy(output->names, location, (size_t)(equals - location));
  return CORE_OK;
}

/* ---- all sources ------------------------------------------------------------------------------------------------- */

/* Finds what lay in the file, and in those that it was rotated to, at the start of the attempt; records it for a new
 * one. */
static int find_starts(const char *list, const char *path, ProgramStarts *starts) {
  char **rotated;
  size_t count;
  if (program_starts_read(list, starts)) return CORE_OK;

  program_starts_add(starts, path, false);
  TRY(program_file_list_rotated(path, &rotated, &count));
  for (size_t i = 0; i < count; i++) {
    program_starts_add(starts, rotated[i], false);
    free(rotated[i]);
  }
  free(rotated);
  return program_starts_write(list, starts);
}

/* Opens the file or directory that the user named. */
static int open_location(ProgramSource *source, CoreScriptSource kind, const char *location, const char *path,
                         const char *list, const CoreScriptRun *run) {
  if (kind == CORE_SCRIPT_TENSORBOARD) {
    /* In a directory that runs share, a file belongs to the run whose processes write it. */
    const bool is_private = strstr(location, "{dir}") || strstr(location, "{run}");
    return program_events_open(path, is_private ? NULL : run->id, list, &source->events);
  }
  TRY(find_starts(list, path, &source->starts));
  const struct ProgramStartEntry *entry = program_starts_find(&source->starts, path);
  const ProgramPrefix *start = entry ? &entry->prefix : NULL;
  if (kind == CORE_SCRIPT_CSV) {
    source->table = program_csv_open(path, start, &source->series);
    return CORE_OK;
  }
  source->own = open_lines(path, start, &source->series);
  return CORE_OK;
}

int program_source_open(const CoreScript *program, const CoreScriptRun *run, const char *directory, const char *home,
                        int attempt, ProgramSource **result) {
  ProgramSource *source = core_memory_zero_allocate(1, sizeof *source);
  char path[CORE_PATH_MAX], list[CORE_PATH_MAX];
  const char *location;
  CoreScriptSource kind;
  *result = source;
  source->metrics.file.fd = source->output.file.fd = -1;
  source->metrics.series = &source->metrics_series;

  int code = core_script_source(core_script_text(program, CORE_SCRIPT_metrics), &kind, &location);
  if (code == CORE_OK) code = core_files_path(path, "%s/metrics.%d.jsonl", home, attempt);
  if (code == CORE_OK) program_file_init(&source->metrics.file, path, NULL);
  if (code == CORE_OK && kind == CORE_SCRIPT_STDOUT) {
    code = core_files_path(path, "%s/metrics.%d.out", home, attempt);
    program_file_init(&source->output.file, path, NULL);
    if (code == CORE_OK) code = open_regex(&source->output, location);
  } else if (code == CORE_OK && *location) {
    code = core_files_path(list, "%s/metrics.%d.files", home, attempt);
    if (code == CORE_OK) code = core_script_metrics_path(program, run, directory, location, path);
    if (code == CORE_OK) code = open_location(source, kind, location, path, list, run);
  }

  if (code != CORE_OK) program_source_close(result);
  return code;
}

const char *program_source_metrics(const ProgramSource *source) { return source->metrics.file.path; }

const char *program_source_output(const ProgramSource *source) {
  return source->output.names ? source->output.file.path : NULL;
}

void program_source_add_process(ProgramSource *source, pid_t process) {
  if (source->events) program_events_add_process(source->events, process);
}

static bool is_rotated_read(const ProgramSource *source, const ProgramPrefix *prefix) {
  for (size_t i = 0; i < source->rotated_count; i++)
    if (source->rotated[i].inode == prefix->inode && program_prefix_equals(&source->rotated[i], prefix)) return true;
  return false;
}

static void note_rotated(ProgramSource *source, const ProgramPrefix *prefix) {
  source->rotated = core_memory_resize(source->rotated, (source->rotated_count + 1) * sizeof *source->rotated);
  source->rotated[source->rotated_count++] = *prefix;
}

/* Reads a file that was rotated away before it was seen, or after its reader was killed. */
static int read_rotated_file(ProgramSource *source, const ProgramFile *file, const char *path, ProgramSink *sink) {
  const ProgramPrefix start = program_starts_match(&source->starts, file->path, path);
  int code;
  program_series_restart(&source->series);
  if (source->table) {
    ProgramCsv *table = program_csv_open(path, &start, &source->series);
    code = program_csv_read(table, PROGRAM_ENDED, sink);
    program_csv_close(&table);
  } else {
    JsonLines *lines = open_lines(path, &start, &source->series);
    code = read_lines(lines, PROGRAM_ENDED, sink);
    free_lines(lines);
    free(lines);
  }
  return code;
}

/* Reads the files that FILE was rotated to and that have not been read. */
static int read_rotated(ProgramSource *source, ProgramFile *file, ProgramSink *sink) {
  char **paths;
  size_t count;
  if (file->rotated.size > 0) note_rotated(source, &file->rotated);
  file->rotated.size = 0;
  int code = program_file_list_rotated(file->path, &paths, &count);

  for (size_t i = 0; i < count; i++) {
    const ProgramPrefix prefix = program_file_prefix(paths[i]);
    if (code == CORE_OK && prefix.size > 0 && !is_rotated_read(source, &prefix)) {
      code = read_rotated_file(source, file, paths[i], sink);
      note_rotated(source, &prefix);
    }
    free(paths[i]);
  }
  free(paths);
  return code;
}

/* Reads FILE, and what it was rotated to. */
static int read_file(ProgramSource *source, ProgramReading reading, ProgramSink *sink) {
  ProgramFile *file = source->table ? program_csv_file(source->table) : &source->own->file;
  const bool is_first = file->inode == 0;
  if (source->table) TRY(program_csv_read(source->table, reading, sink));
  else TRY(read_lines(source->own, reading, sink));
  return is_first || file->rotated.size > 0 || reading != PROGRAM_RUNNING ? read_rotated(source, file, sink) : CORE_OK;
}

int program_source_read(ProgramSource *source, ProgramReading reading, ProgramSink *sink) {
  sink->record.names = &sink->names;
  TRY(read_lines(&source->metrics, reading, sink));
  if (source->own || source->table) return read_file(source, reading, sink);
  if (source->output.names) return read_output(&source->output, reading, sink);
  if (source->events) return program_events_read(source->events, reading != PROGRAM_RUNNING, sink);
  return CORE_OK;
}

void program_source_close(ProgramSource **result) {
  ProgramSource *source = *result;
  if (!source) return;
  free_lines(&source->metrics);
  if (source->own) free_lines(source->own);
  free(source->own);

  if (source->output.names) regfree(&source->output.regex);
  free(source->output.names);
  program_file_close(&source->output.file);
  program_tail_free(&source->output.tail);
  program_series_free(&source->output.series);

  program_csv_close(&source->table);
  program_series_free(&source->series);
  program_series_free(&source->metrics_series);
  program_starts_free(&source->starts);
  free(source->rotated);
  program_events_close(&source->events);
  free(source);
  *result = NULL;
}
