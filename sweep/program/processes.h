/* Processes of a run on this machine: those of this user whose environment has SWEEP_RUN. */
#ifndef SWEEP_PROGRAM_PROCESSES_H
#define SWEEP_PROGRAM_PROCESSES_H
#include <sys/types.h>

/* Calls `take` with each file that a process of the run has open. */
void program_processes_list_files(const char *run, void (*take)(void *context, const char *path), void *context);

/* Ends processes of the run that an earlier attempt has left, by SIGKILL: its program's children that outlived it. This
 * process and those above it stay. Returns how many there were. */
int program_processes_kill(const char *run);

#endif
