/* The program's first process, started without a shell (except for the lines of `setup`) in its own process group. */
#ifndef SWEEP_PROGRAM_CHILD_H
#define SWEEP_PROGRAM_CHILD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "core/config/config.h"
#include "core/config/script.h"
#include "sweep/program/reason.h"
#include "sweep/program/tail.h"

/* ---- code_watch.c ------------------------------------------------------------------------------------------------ */

/* Watches the files of a program's code that others can change, while the program starts. An interpreter opens a script
 * by its name, after the script was hashed, and no copy can take its place: `$0`, `__file__`, relative imports and
 * files next to it would change. So a program is started only if its files have been left alone for a while and have
 * their hashes, is not executed if one has changed since, and is ended if one changes while the interpreter opens
 * it. */

typedef struct ProgramCodeFile ProgramCodeFile; /* a file and its identity when it had its hash */

typedef struct ProgramCodeWatch { ProgramCodeFile *files; size_t count; } ProgramCodeWatch;

/* Begins to watch the files of a configuration's code that others can change; there may be none. Waits until no one
 * has changed them for a moment. CORE_FAIL: one changes all the time, or is not the one that was hashed; CORE_USAGE: as
 * store_code_find. */
int program_code_watch_begin(const CoreConfig *config, ProgramCodeWatch *watch);
/* Returns the path of a file that has changed since, or NULL. Neither allocates nor locks: safe after a fork. */
const char *program_code_watch_find_changed(const ProgramCodeWatch *watch);
void program_code_watch_free(ProgramCodeWatch *watch);

/* ---- child.c ----------------------------------------------------------------------------------------------------- */

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
