/* Processes of runs on this machine: those of this user with a run's id in SWEEP_RUN. The same run may be
 * in several workspaces; SWEEP_DIR tells which. */
#ifndef SWEEP_PROCESSES_H
#define SWEEP_PROCESSES_H
#include <sys/types.h>

#define SWEEP_RUN_VARIABLE "SWEEP_RUN"
#define SWEEP_DIR_VARIABLE "SWEEP_DIR"

/* Calls `visit` with each process of this user that has a run, by a walk through /proc. directory: its SWEEP_DIR, the
 * run's own directory in its workspace; NULL: none, e.g. a trainer. */
typedef void (*SweepProcessVisit)(void *context, pid_t process, const char *run, const char *directory);
void sweep_processes_visit(SweepProcessVisit visit, void *context);

/* Calls `on_process` with each process of the run, and `on_file` with each file that it has open. Processes of the same
 * run in another workspace, i.e. whose SWEEP_DIR differs from that of this process, do not count. */
void sweep_processes_list(const char *run, void (*on_process)(void *context, pid_t process),
                          void (*on_file)(void *context, const char *path), void *context);

/* Kills processes that an earlier attempt of the run in `directory` (SWEEP_DIR) has left, i.e. descendants of its
 * program that outlived it and its supervisor, except this process and its ancestors. Returns their number. */
int sweep_processes_kill(const char *run, const char *directory);

#endif
