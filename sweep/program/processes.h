/* Processes of runs on this machine: those of this user with a run's id in SWEEP_RUN. */
#ifndef SWEEP_PROGRAM_PROCESSES_H
#define SWEEP_PROGRAM_PROCESSES_H
#include <sys/types.h>

#define SWEEP_RUN_VARIABLE "SWEEP_RUN"

/* Calls `visit` with each process of this user that has a run, by a walk through /proc. */
void program_processes_visit(void (*visit)(void *context, pid_t process, const char *run), void *context);

/* Calls `on_process` with each process of the run, and `on_file` with each file that it has open. */
void program_processes_list(const char *run, void (*on_process)(void *context, pid_t process),
                            void (*on_file)(void *context, const char *path), void *context);

/* Kills processes that an earlier attempt of the run has left, i.e. children of its program that outlived it, except
 * this process and its ancestors. Returns their number. */
int program_processes_kill(const char *run);

#endif
