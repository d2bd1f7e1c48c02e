/* Sources of a program's metrics ([program] metrics): files that grow while it runs, or its output. Each read continues
 * where the last one ended, leaves an incomplete line for the next, and counts lines that are not records. */
#ifndef SWEEP_PROGRAM_SOURCE_H
#define SWEEP_PROGRAM_SOURCE_H
#include "core/config/script.h"
#include "core/files.h"
#include "sweep/program/record.h"

/* Called with each record, in the order of the source. */
typedef void (*ProgramOnRecord)(void *context, const ProgramRecord *record);

typedef struct ProgramSink {
  ProgramOnRecord on_record;
  void *context;
  ProgramRecord record;         /* the current record */
  ProgramNames names;
  int64_t damaged;              /* number of lines and events that could not be read */
  char step_name[CORE_SCRIPT_NAME]; /* name of the metric for the steps of event files; "": none */
  void (*echo)(void *context, const char *line, size_t length); /* called with each line of standard output; optional */
} ProgramSink;
void program_sink_free(ProgramSink *sink);

typedef struct ProgramSource ProgramSource;

/* Opens the source of an attempt. directory: the program's working directory; the attempt's own files are
 * `home`/metrics.<attempt>.*. CORE_USAGE: as core_script_argv. */
int program_source_open(const CoreScript *program, const CoreScriptRun *run, const char *directory, const char *home,
                        int attempt, ProgramSource **source);
/* Returns the file that the program appends JSON lines to (SWEEP_METRICS), which is read with every kind of source. */
const char *program_source_metrics(const ProgramSource *source);
/* Reads new records. last: the program has ended, so a last line without a newline is complete. CORE_FAIL: a file
 * cannot be read; the next call retries. */
int program_source_read(ProgramSource *source, bool last, ProgramSink *sink);
/* Returns the file that standard output must be written to if it contains the metrics, since the content of a pipe is
 * lost if its reader dies. NULL: the metrics are elsewhere. */
const char *program_source_output(const ProgramSource *source);
/* Whether the order of records depends on the times of the reads: several event files that grow concurrently. */
bool program_source_is_mixed(const ProgramSource *source);
void program_source_close(ProgramSource **source);

#endif
