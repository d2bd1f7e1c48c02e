/* The four sources of metrics (source.h). */
#include "sweep/program/source.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/program/events.h"
#include "sweep/program/table.h"
#include "sweep/program/tail.h"

enum { GROUPS_MAX = 32 };

struct ProgramSource {
  CoreScriptSource kind;
  char metrics[CORE_PATH_MAX];  /* SWEEP_METRICS */
  ProgramTail lines;            /* lines of that file; read whatever the kind is */
  ProgramTable *table;          /* CSV */
  ProgramEvents *events;        /* TensorBoard */
  regex_t regex;                /* standard output */
  char *names;                  /* "return,loss": NULL without a regex */
  ProgramTail output;           /* the file of standard output */
  ProgramSink *sink;            /* during a read */
};

void program_sink_free(ProgramSink *sink) {
  program_record_free(&sink->record);
  program_names_free(&sink->names);
}

static int path_of(const CoreScript *program, const CoreScriptRun *run, const char *folder, const char *place,
                   char path[CORE_PATH_MAX]) {
  char **words;
  size_t count;
  TRY(core_script_argv(program, place, run, &words, &count));
  const int code = count == 1 && *words[0] == '/' ? core_files_path(path, "%s", words[0])
                   : core_files_path(path, "%s/%s", folder, count > 0 ? words[0] : ".");
  core_script_argv_free(&words);
  return code;
}

static int open_regex(ProgramSource *source, const char *place) {
  const char *equals = strchr(place, '=');
  if (!equals || regcomp(&source->regex, equals + 1, REG_EXTENDED) != 0)
    return core_error(CORE_USAGE, "metrics = stdout:%.80s: no regular expression", place);
  source->names = core_memory_zero_allocate(1, (size_t)(equals - place) + 1);
  memcpy(source->names, place, (size_t)(equals - place));
  return CORE_OK;
}

int program_source_open(const CoreScript *program, const CoreScriptRun *run, const char *folder, const char *home,
                        int attempt, ProgramSource **result) {
  ProgramSource *source = core_memory_zero_allocate(1, sizeof *source);
  char path[CORE_PATH_MAX];
  const char *place;
  *result = source;
  int code = core_script_source(core_script_text(program, CORE_SCRIPT_metrics), &source->kind, &place);
  if (code == CORE_OK) code = core_files_path(source->metrics, "%s/metrics.%d.jsonl", home, attempt);
  if (code == CORE_OK) memcpy(source->lines.path, source->metrics, sizeof source->metrics);
  if (code == CORE_OK && source->kind == CORE_SCRIPT_STDOUT) code = open_regex(source, place);
  if (code == CORE_OK) code = core_files_path(source->output.path, "%s/metrics.%d.out", home, attempt);
  const bool has_path = source->kind == CORE_SCRIPT_CSV || source->kind == CORE_SCRIPT_TENSORBOARD;
  if (code == CORE_OK && has_path) code = path_of(program, run, folder, place, path);
  if (code == CORE_OK && source->kind == CORE_SCRIPT_CSV) source->table = program_table_open(path);
  if (code == CORE_OK && source->kind == CORE_SCRIPT_TENSORBOARD) {
    /* Files of a directory that runs share belong to who has them open. */
    const bool is_own = strstr(place, "{dir}") || strstr(place, "{run}");
    char list[CORE_PATH_MAX];
    code = core_files_path(list, "%s/metrics.%d.files", home, attempt);
    if (code == CORE_OK) code = program_events_open(path, is_own ? NULL : run->id, list, &source->events);
  }
  if (code != CORE_OK) program_source_close(result);
  return code;
}

const char *program_source_metrics(const ProgramSource *source) { return source->metrics; }

const char *program_source_output(const ProgramSource *source) {
  return source->names ? source->output.path : NULL;
}

static void take_json(void *context, const char *line, size_t length) {
  ProgramSink *sink = context;
  if (length == 1 && *line == '\r') return;
  if (program_record_read_json(line, length, &sink->record)) sink->take(sink->context, &sink->record);
  else sink->damaged++;
}

/* A group each, in the order of the names; what is not a number is left out. */
static void take_output(void *context, const char *line, size_t length) {
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
    if (sink->record.count > 0) sink->take(sink->context, &sink->record);
  }
  free(text);
}

int program_source_read(ProgramSource *source, bool last, ProgramSink *sink) {
  sink->record.names = &sink->names;
  const int64_t skipped = source->lines.skipped;
  TRY(program_tail_read(&source->lines, last, take_json, sink));
  sink->damaged += source->lines.skipped - skipped;
  source->sink = sink;
  if (source->names) return program_tail_read(&source->output, last, take_output, source);
  if (source->table) return program_table_read(source->table, last, sink);
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
  program_table_close(&source->table);
  program_events_close(&source->events);
  program_tail_free(&source->lines);
  program_tail_free(&source->output);
  free(source);
  *result = NULL;
}
