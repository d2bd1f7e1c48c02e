/* Meaning of a program's end for its run: finished, stopped, diverged or failed, and why. */
#ifndef SWEEP_PROGRAM_ENDING_H
#define SWEEP_PROGRAM_ENDING_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "core/config/script.h"
#include "store/workspace/run.h"
#include "sweep/program/child.h"

typedef struct ProgramEnding {
  const ProgramChild *child;
  const CoreConfig *config;
  const CoreScriptRun *run;
  const char *directory;        /* the program's working directory */
  const char *reason;           /* explanation in its standard error (reason.h) */
  double step;                  /* last step; NaN: none */
  bool was_stopped;             /* it was asked to stop before it ended */
  bool is_stalled;              /* it was ended since it logged nothing */
  const char *changed_code;     /* file whose change while the program started ended it; NULL: none */
  bool has_left_processes;           /* its first process ended by itself, and others had to be ended */
} ProgramEnding;

/* Returns the status of the run. A program that was asked to stop is stopped, whatever its exit code, since many do not
 * know 75, unless it has reached its known last step. */
StoreStatus program_ending_status(const ProgramEnding *ending);
/* Whether another process killed the program, e.g. out of memory, so that a restart may help. */
bool program_ending_is_kill(const ProgramEnding *ending);
/* Writes why a run has failed or diverged. */
void program_ending_describe(const ProgramEnding *ending, char *message, size_t size);

#endif
