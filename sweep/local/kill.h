/* Meaning of a signal that killed a trainer. */
#ifndef SWEEP_LOCAL_KILL_H
#define SWEEP_LOCAL_KILL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* Writes the reason: "killed (SIGKILL), possibly out of memory (its processes had 512 MB)". Returns whether a restart
 * may help: not after a limit of CPU time or file size (ulimit), which the trainer has inherited. usage: that of the
 * trainer and its children. is_program: the process was a program's supervisor, which has told the program's CPU time
 * apart. peak_mb: memory of the run; 0: unknown. */
bool sweep_kill_describe(int signal, const struct rusage *usage, bool is_program, int64_t peak_mb, char *reason,
                         size_t size);

#endif
