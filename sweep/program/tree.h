/* All processes of a program: the descendants of its supervisor. The supervisor adopts orphans, so a process cannot
 * leave the tree by a fork, a group or a session of its own. Ranks that srun starts are not part of it, since their
 * parent is Slurm's daemon: they get signals through srun.
 *
 * A stop reaches each process at most once, since many programs take a second SIGTERM for "end at once":
 *
 * - A process that handles the signal is told, and is responsible for those below it: a trainer for its workers, which
 *   it needs until it has saved, torchrun for its ranks.
 * - A process that does not handle it, such as a shell, `conda run` or xvfb-run, is told, and so are those below it. Of
 *   several, those that handle the signal come first; the others (`tee`, an X server) are told when these have ended.
 * - A shell handles a signal only after its foreground process, which is therefore told, too.
 * - Those left to a process that has ended without them are told at half of the time, and the rest at three quarters.
 */
#ifndef SWEEP_PROGRAM_TREE_H
#define SWEEP_PROGRAM_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct ProgramTold ProgramTold; /* a process that was considered when the stop began */

/* A stop in progress. Zero-initialize; `told` is owned. */
typedef struct ProgramTreeStop {
  int signal;
  double start_s, killed_s;     /* its start, and the first SIGKILL; monotonic, 0: not yet */
  ProgramTold *told;            /* [count] */
  size_t count;
} ProgramTreeStop;

/* Makes this process adopt the orphans among its descendants. */
void program_tree_adopt(void);
/* Starts a stop by `signal`, unless one is in progress. are_told: all processes have just got it from Slurm. */
void program_tree_tell(ProgramTreeStop *stop, int signal, bool are_told);
/* Continues a stop: tells further processes, and after the grace time kills all. False: they cannot be killed. */
bool program_tree_continue(ProgramTreeStop *stop, double grace_s);
void program_tree_stop_free(ProgramTreeStop *stop);
/* Whether a signal's sender is slurmstepd, which without control groups signals all processes of a job. */
bool program_tree_is_slurm(pid_t sender);
/* Returns the number of processes, and the name of one of them. */
size_t program_tree_count(char *name, size_t capacity);

#endif
