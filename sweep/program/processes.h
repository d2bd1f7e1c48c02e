/* Processes of a run on this machine: those of this user whose environment has SWEEP_RUN. */
#ifndef SWEEP_PROGRAM_PROCESSES_H
#define SWEEP_PROGRAM_PROCESSES_H
#include <sys/types.h>

/* Calls `take_process` with each process of the run, and `take_file` with each file that it has open. */
void program_processes_list(const char *run, void (*take_process)(void *context, pid_t process),
                            void (*take_file)(void *context, const char *path), void *context);

/* Ends processes of the run that an earlier attempt has left, by SIGKILL: its program's children that outlived it. This
 * process and those above it stay. Returns how many there were. */
int program_processes_kill(const char *run);

#endif
