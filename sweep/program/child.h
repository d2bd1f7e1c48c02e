/* The program's first process, started without a shell (except for the lines of `setup`) in its own process group. */
#ifndef SWEEP_PROGRAM_CHILD_H
#define SWEEP_PROGRAM_CHILD_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/config/config.h"
#include "core/config/script.h"
#include "sweep/program/code_watch.h"
#include "sweep/program/reason.h"
#include "sweep/program/tail.h"

typedef struct ProgramStart {
  const CoreConfig *config;
  CoreScriptRun run;
  const char *directory;           /* working directory */
  const char *metrics, *output; /* SWEEP_METRICS; file for standard output, NULL: the pipe */
  int attempt;
  bool continues;               /* resumes an earlier attempt: `resume` is appended */
  int64_t threads;              /* OMP_NUM_THREADS unless the user has set it; 0: unknown */
  const ProgramCodeWatch *code; /* files that must not have changed when it is executed */
  char *const *launcher;        /* arguments before the command, e.g. srun; NULL-terminated. NULL: none */
} ProgramStart;

typedef struct ProgramChild {
  pid_t process;                /* process id, and id of its process group */
  int out, error;               /* read ends of its pipes, non-blocking; -1: closed */
  bool has_ended;
  int status;                   /* its wait status */
  double cpu_s, cpu_limit_s;    /* its CPU time and that of its children, and its limit (RLIMIT_CPU); INFINITY: none */
} ProgramChild;

/* Writes the attempt and its command line, quoted for a shell, into the log. */
int program_child_log(const ProgramStart *start);
/* Starts the program. CORE_FAIL: the process cannot be started. A command that does not exist gives exit code 127 and a
 * line of standard error. */
int program_child_start(const ProgramStart *start, ProgramChild *child);
/* Reaps processes that have ended, and notes the end of the first one. Returns whether the program has any process
 * left, provided that this process adopts orphans (program_tree_adopt). */
bool program_child_reap(ProgramChild *child);
/* Closes the pipes. */
void program_child_close(ProgramChild *child);

/* Returns the signal that ended it, also if a shell or another launcher reports that by its own exit code (137, or 247
 * from Python, for SIGKILL); 0: none. */
int program_child_signal(const ProgramChild *child);
/* Whether it was killed because its CPU time reached its limit (ulimit -t). */
bool program_child_has_used_cpu(const ProgramChild *child);

/* ---- its output -------------------------------------------------------------------------------------------------- */

/* The program's output: copied to the run's log up to a limit. Standard error is scanned for the reason of a
 * failure. */
typedef struct ProgramOutput {
  FILE *log;
  int64_t logged_bytes;         /* bytes of the program's output in the log */
  ProgramTail error;            /* standard error, split into lines */
  ProgramReason reason;         /* explanation of a failure in standard error */
} ProgramOutput;

/* Copies bytes to the log. */
void program_output_add(ProgramOutput *output, const char *bytes, size_t count);
/* Reads and logs what is in the program's pipes. Closes a pipe at its end, which is not an error. */
void program_output_read(ProgramOutput *output, ProgramChild *child);
/* Ends an incomplete last line of standard error. */
void program_output_end(ProgramOutput *output);

#endif
