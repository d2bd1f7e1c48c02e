/* Sources of a program's metrics ([program] metrics): files that grow while it runs, or its output. Each read continues
 * where the last one ended, leaves an incomplete line for the next, and counts lines that are not records. */
#ifndef SWEEP_PROGRAM_SOURCE_H
#define SWEEP_PROGRAM_SOURCE_H
#include <sys/types.h>

#include "core/config/script.h"
#include "core/files.h"
#include "sweep/program/record.h"

/* Records of one file in their order. logs.h places them; a source restarts the series when it reads the file from its
 * beginning. Zero-initialize. */
typedef struct ProgramSeries {
  struct ProgramPlace { double step; int64_t index; } *places; /* [place_count] by metric: latest step, and which of its
                                                                  rows */
  size_t place_count;
  bool is_begun, has_step;
  double step;                  /* latest step */
  int64_t number, number_base;  /* records without a step since the beginning, and before it */
  double sum, sum_base;         /* step = sum of NAME: sum since the beginning, and before it */
  ProgramValue *first;          /* [first_count] first record: tells a rewritten log from a new one */
  size_t first_count;
  bool is_restarted;            /* the next record is the first again */
} ProgramSeries;

void program_series_restart(ProgramSeries *series);
void program_series_free(ProgramSeries *series);

typedef struct ProgramSink {
  /* Called with each record, in the order of its series. */
  void (*on_record)(void *context, ProgramSeries *series, const ProgramRecord *record);
  /* Called when a metric gets other names (equal tags in several folders): its values of the attempt are removed and
   * read again. */
  void (*on_renamed)(void *context, const char *name);
  /* Called with the program's output as it was read from a file; optional. */
  void (*on_output)(void *context, const char *bytes, size_t count);
  void *context;
  ProgramRecord record;         /* the current record */
  ProgramNames names;
  ProgramIgnored ignored;       /* values that are not numbers */
  int64_t damaged;              /* number of lines and events that could not be read */
  char step_name[CORE_SCRIPT_NAME]; /* name of the metric for the steps of event files; "": none */
} ProgramSink;
/* Passes the current record on, or counts it if it has no value. */
void program_sink_emit(ProgramSink *sink, ProgramSeries *series);
void program_sink_free(ProgramSink *sink);

/* State of the program during a read. */
typedef enum ProgramReading {
  PROGRAM_RUNNING,
  PROGRAM_KILLED,               /* its last line may be torn */
  PROGRAM_ENDED,                /* a last line without a newline is complete */
} ProgramReading;

typedef struct ProgramSource ProgramSource;

/* Opens the source of an attempt. directory: the program's working directory; the attempt's own files are
 * `home`/metrics.<attempt>.*. What lies in the files of a new attempt belongs to earlier ones, and is recorded in
 * metrics.<attempt>.files. CORE_USAGE: as core_script_argv. */
int program_source_open(const CoreScript *program, const CoreScriptRun *run, const char *directory, const char *home,
                        int attempt, ProgramSource **source);
/* Returns the file that the program appends JSON lines to (SWEEP_METRICS), which is read with every kind of source. */
const char *program_source_metrics(const ProgramSource *source);
/* Tells the source the program's process, which may end before it is seen among the running ones. */
void program_source_add_process(ProgramSource *source, pid_t process);
/* Reads new records. CORE_FAIL: a file cannot be read; the next call retries. */
int program_source_read(ProgramSource *source, ProgramReading reading, ProgramSink *sink);
/* Returns the file that standard output must be written to if it contains the metrics, since the content of a pipe is
 * lost if its reader dies. NULL: the metrics are elsewhere. */
const char *program_source_output(const ProgramSource *source);
void program_source_close(ProgramSource **source);

#endif
