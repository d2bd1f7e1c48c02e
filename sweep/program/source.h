/* Sources of a program's metrics ([program] metrics): files that grow while it runs, or its output. Files are read
 * from where the last look ended; a torn line waits for its end; lines that are no records are counted. */
#ifndef SWEEP_PROGRAM_SOURCE_H
#define SWEEP_PROGRAM_SOURCE_H
#include "core/config/script.h"
#include "core/files.h"
#include "sweep/program/record.h"

/* Called with each record, in the order of the source. */
typedef void (*ProgramOnRecord)(void *context, const ProgramRecord *record);

typedef struct ProgramSink {
  ProgramOnRecord take;
  void *context;
  ProgramRecord record;         /* its names live as long as the sink */
  ProgramNames names;
  int64_t damaged;              /* lines and events that could not be read */
  char step_name[CORE_SCRIPT_NAME]; /* name for the step of an event file */
  void (*echo)(void *context, const char *line, size_t length); /* called with each line of standard output */
} ProgramSink;
void program_sink_free(ProgramSink *sink);

typedef struct ProgramSource ProgramSource;

/* Makes the source of one attempt of a run. folder: where the program runs; the attempt's own files are
 * `home`/metrics.<attempt>.*. CORE_USAGE as core_script_argv. */
int program_source_open(const CoreScript *program, const CoreScriptRun *run, const char *folder, const char *home,
                        int attempt, ProgramSource **source);
/* The file that the program appends JSON lines to, SWEEP_METRICS; it is there whatever the source is. */
const char *program_source_metrics(const ProgramSource *source);
/* Reads what is new. last: the program has ended, so a last line without its end counts if it is whole. CORE_FAIL: a
 * file cannot be read; it is tried again. */
int program_source_read(ProgramSource *source, bool last, ProgramSink *sink);
/* File that standard output is to be written to, where metrics are read from it: what a pipe holds is lost when its
 * reader dies. NULL: metrics are read elsewhere. */
const char *program_source_output(const ProgramSource *source);
/* Whether the order of records depends on when the source was looked at: several event files that grow side by side. */
bool program_source_is_mixed(const ProgramSource *source);
void program_source_close(ProgramSource **source);

#endif
