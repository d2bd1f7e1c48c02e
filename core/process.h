/* Runs a program with arguments (never a shell), feeds it, listens, and gives up after a time. */
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H
#include <stdbool.h>

#include "core/text.h"

typedef struct CoreProcessOutput {
  CoreText out, error;   /* what it printed; at most 256 MB each */
  int exit_code;         /* 128 + n when it was killed by signal n */
  bool timed_out;        /* it was killed after timeout_s, also when it had closed its outputs before */
} CoreProcessOutput;

/* Finds arguments[0] in PATH. `environment` ends with NULL; NULL itself: that of this process. `input` (may be NULL) is
 * its standard input. It has a process group of its own, which is killed with it. CORE_FAIL only when it can not be
 * started. Caller frees with core_process_output_free. */
int core_process_run(const char *const *arguments, char *const *environment, const char *input, int timeout_s,
                     CoreProcessOutput *output);
void core_process_output_free(CoreProcessOutput *output);

/* Is there such a program in PATH? */
bool core_process_exists(const char *name);

#endif
