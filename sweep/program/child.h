/* The program's process: started without a shell (except for the lines of `setup`), in a process group of its own,
 * which ends with it. */
#ifndef SWEEP_PROGRAM_CHILD_H
#define SWEEP_PROGRAM_CHILD_H
#include <stdint.h>
#include <sys/types.h>

#include "core/config/config.h"
#include "core/config/script.h"

typedef struct ProgramStart {
  const CoreConfig *config;
  CoreScriptRun run;
  const char *folder;           /* working directory */
  const char *metrics, *output; /* SWEEP_METRICS; file of standard output, NULL: the pipe */
  int attempt;
  bool continues;               /* an attempt went before: `resume` is appended */
  int64_t threads;              /* OMP_NUM_THREADS, where the user has not set it; 0: not known */
  char *const *launcher;        /* words before the command, as srun; ends with NULL. NULL: none */
} ProgramStart;

typedef struct ProgramChild {
  pid_t process;                /* and its process group */
  int out, error;               /* read ends of its pipes, not blocking */
} ProgramChild;

/* CORE_FAIL: it cannot be started. A command that is not there shows as exit code 127 and a line of standard error. */
int program_child_start(const ProgramStart *start, ProgramChild *child);
/* Ends what is left of its process group. */
void program_child_kill(ProgramChild *child);

#endif
