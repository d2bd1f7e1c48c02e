/* The program's process, started without a shell (except for the lines of `setup`) in its own process group, which is
 * killed when it ends. */
#ifndef SWEEP_PROGRAM_CHILD_H
#define SWEEP_PROGRAM_CHILD_H
#include <stdint.h>
#include <sys/types.h>

#include "core/config/config.h"
#include "core/config/script.h"

typedef struct ProgramStart {
  const CoreConfig *config;
  CoreScriptRun run;
  const char *directory;           /* working directory */
  const char *metrics, *output; /* SWEEP_METRICS; file for standard output, NULL: the pipe */
  int attempt;
  bool continues;               /* resumes an earlier attempt: `resume` is appended */
  int64_t threads;              /* OMP_NUM_THREADS unless the user has set it; 0: unknown */
  char *const *launcher;        /* arguments before the command, e.g. srun; NULL-terminated. NULL: none */
} ProgramStart;

typedef struct ProgramChild {
  pid_t process;                /* process id, and id of its process group */
  int out, error;               /* read ends of its pipes, non-blocking; -1: closed */
} ProgramChild;

/* Writes the attempt and its command line, quoted for a shell, into the log. */
int program_child_log(const ProgramStart *start);
/* Starts the program. CORE_FAIL: the process cannot be started. A command that does not exist gives exit code 127 and a
 * line of standard error. */
int program_child_start(const ProgramStart *start, ProgramChild *child);
/* Kills what is left of its process group, and closes the pipes. */
void program_child_kill(ProgramChild *child);

#endif
