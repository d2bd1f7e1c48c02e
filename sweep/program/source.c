/* Sources of metrics: JSON lines, standard output, CSV and TensorBoard (source.h). */
#include "sweep/program/source.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/program/events.h"
#include "sweep/program/csv.h"
#include "sweep/program/tail.h"

enum { GROUPS_MAX = 32 }; /* maximum groups of the regular expression */

struct ProgramSource {
  CoreScriptSource kind;
  char metrics[CORE_PATH_MAX];  /* SWEEP_METRICS */
  ProgramTail lines;            /* lines of that file, which is read for every kind */
  ProgramCsv *table;          /* CSV; NULL otherwise */
  ProgramEvents *events;        /* TensorBoard; NULL otherwise */
  regex_t regex;                /* for standard output */
  char *names;                  /* "return,loss", one per group; NULL: no regex */
  ProgramTail output;           /* file of standard output */
  ProgramSink *sink;            /* during a read */
};

void program_sink_free(ProgramSink *sink) {
  program_record_free(&sink->record);
  program_names_free(&sink->names);
}

/* Expands the path of [program] metrics, relative to the program's directory. */
static int expand_path(const CoreScript *program, const CoreScriptRun *run, const char *directory,
                       const char *location, char path[CORE_PATH_MAX]) {
  char **arguments;
  size_t count;
  TRY(core_script_argv(program, location, run, &arguments, &count));
  const bool is_absolute = count == 1 && *arguments[0] == '/';
  const int code = is_absolute ? core_files_path(path, "%s", arguments[0])
                               : core_files_path(path, "%s/%s", directory, count > 0 ? arguments[0] : ".");
  core_script_argv_free(&arguments);
  return code;
}

static int open_regex(ProgramSource *source, const char *location) {
  const char *equals = strchr(location, '=');
  if (!equals || regcomp(&source->regex, equals + 1, REG_EXTENDED) != 0)
    return core_error(CORE_USAGE, "metrics = stdout:%.80s: invalid regular expression", location);
  source->names = core_memory_zero_allocate(1, (size_t)(equals - location) + 1);
  memcpy(source->names, location, (size_t)(equals - location));
  return CORE_OK;
}

int program_source_open(const CoreScript *program, const CoreScriptRun *run, const char *directory, const char *home,
                        int attempt, ProgramSource **result) {
  ProgramSource *source = core_memory_zero_allocate(1, sizeof *source);
  char path[CORE_PATH_MAX];
  const char *location;
  *result = source;
  int code = core_script_source(core_script_text(program, CORE_SCRIPT_metrics), &source->kind, &location);
  if (code == CORE_OK) code = core_files_path(source->metrics, "%s/metrics.%d.jsonl", home, attempt);
  if (code == CORE_OK) memcpy(source->lines.path, source->metrics, sizeof source->metrics);
  if (code == CORE_OK && source->kind == CORE_SCRIPT_STDOUT) code = open_regex(source, location);
  if (code == CORE_OK) code = core_files_path(source->output.path, "%s/metrics.%d.out", home, attempt);
  const bool has_path = source->kind == CORE_SCRIPT_CSV || source->kind == CORE_SCRIPT_TENSORBOARD;
  if (code == CORE_OK && has_path) code = expand_path(program, run, directory, location, path);
  if (code == CORE_OK && source->kind == CORE_SCRIPT_CSV) source->table = program_csv_open(path);
  if (code == CORE_OK && source->kind == CORE_SCRIPT_TENSORBOARD) {
    /* In a directory that runs share, a file belongs to the run whose processes write it. */
    const bool is_private = strstr(location, "{dir}") || strstr(location, "{run}");
    char list[CORE_PATH_MAX];
    code = core_files_path(list, "%s/metrics.%d.files", home, attempt);
    if (code == CORE_OK) code = program_events_open(path, is_private ? NULL : run->id, list, &source->events);
  }
  if (code != CORE_OK) program_source_close(result);
  return code;
}

const char *program_source_metrics(const ProgramSource *source) { return source->metrics; }

const char *program_source_output(const ProgramSource *source) {
  return source->names ? source->output.path : NULL;
}

static void read_json_line(void *context, const char *line, size_t length) {
  ProgramSink *sink = context;
  if (length == 1 && *line == '\r') return;
  if (program_record_read_json(line, length, &sink->record)) sink->on_record(sink->context, &sink->record);
  else sink->damaged++;
}

/* Emits the groups of a match, in the order of the names. Groups that are not numbers are skipped. */
static void read_output_line(void *context, const char *line, size_t length) {
  ProgramSource *source = context;
  ProgramSink *sink = source->sink;
  regmatch_t groups[GROUPS_MAX];
  char *text = core_memory_allocate(length + 1);
  memcpy(text, line, length);
  text[length] = '\0';
  if (sink->echo) sink->echo(sink->context, line, length);
  if (regexec(&source->regex, text, GROUPS_MAX, groups, 0) == 0) {
    program_record_clear(&sink->record);
    const char *name = source->names;
    for (size_t g = 1; g < GROUPS_MAX && g <= source->regex.re_nsub && *name; g++) {
      const size_t name_length = strcspn(name, ",");
      char *end, *start = groups[g].rm_so >= 0 ? text + groups[g].rm_so : NULL;
      if (start) text[groups[g].rm_eo] = '\0';
      const double value = start ? strtod(start, &end) : NAN;
      if (start && end != start) program_record_add(&sink->record, name, name_length, value);
      name += name_length + (name[name_length] == ',');
    }
    if (sink->record.count > 0) sink->on_record(sink->context, &sink->record);
  }
  free(text);
}

int program_source_read(ProgramSource *source, bool last, ProgramSink *sink) {
  sink->record.names = &sink->names;
  const int64_t skipped = source->lines.skipped;
  TRY(program_tail_read(&source->lines, last, read_json_line, sink));
  sink->damaged += source->lines.skipped - skipped;
  source->sink = sink;
  if (source->names) return program_tail_read(&source->output, last, read_output_line, source);
  if (source->table) return program_csv_read(source->table, last, sink);
  if (source->events) return program_events_read(source->events, last, sink);
  return CORE_OK;
}

bool program_source_is_mixed(const ProgramSource *source) {
  return source->events && program_events_files(source->events) > 1;
}

void program_source_close(ProgramSource **result) {
  ProgramSource *source = *result;
  if (!source) return;
  if (source->names) regfree(&source->regex);
  free(source->names);
  program_csv_close(&source->table);
  program_events_close(&source->events);
  program_tail_free(&source->lines);
  program_tail_free(&source->output);
  free(source);
  *result = NULL;
}
